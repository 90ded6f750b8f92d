#include "storage/cleaner/batch_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "record/builder.h"
#include "record/compression.h"
#include "record/legacy.h"
#include "record/walk.h"
#include "storage/cleaner/record_rewriter.h"

namespace cordwood::storage {

LastOfProducers last_of_producers(const std::vector<ProducerEntry>& active) {
  LastOfProducers last;
  for (const ProducerEntry& entry : active) {
    LastOfProducer& of = last[entry.producer_id];
    of.epoch = entry.epoch;
    if (!entry.batches.empty() && entry.batches.back().last_offset >= Offset{0}) {
      of.last_data_offset = entry.batches.back().last_offset;
    }
  }
  return last;
}

const char* to_string(BatchFate fate) {
  switch (fate) {
    case BatchFate::copied: return "copied";
    case BatchFate::rewritten: return "rewritten";
    case BatchFate::emptied: return "emptied";
    case BatchFate::removed: return "removed";
  }
  return "unknown";
}

namespace {

BatchInfo info_of(const record::BatchHeader& header, ByteCount size) {
  BatchInfo info;
  info.size = size;
  info.base_offset = header.base_offset;
  info.last_offset = header.last_offset();
  info.max_timestamp = header.max_timestamp;
  info.leader_epoch = header.partition_leader_epoch;
  return info;
}

Offset offset_of(const record::BatchHeader& header, const record::RecordShape& shape) {
  return {record::add_wrapping(header.base_offset.value, shape.offset_delta)};
}

ByteCount size_of(BytesView bytes) { return {static_cast<std::int64_t>(bytes.size())}; }

}  // namespace

bool BatchFilter::must_stay(const record::BatchHeader& header) const {
  if (header.next_offset() == settings.high_watermark) return true;
  if (!header.has_producer_id()) return false;
  const auto it = producers_.find(header.producer_id);
  if (it == producers_.end()) return false;
  if (it->second.last_data_offset) return header.last_offset() == *it->second.last_data_offset;
  return header.is_control() && header.producer_epoch == it->second.epoch;
}

bool BatchFilter::is_last_of_key(const record::RecordShape& shape, Offset offset, const KeyHash& hash) const {
  if (!shape.has_key()) return false;
  switch (map_.standing(offset)) {
    case LastOffsets::Standing::superseded: return false;
    case LastOffsets::Standing::last: break;
    case LastOffsets::Standing::unknown:
      // A key that the dirty part does not have was cleaned before: what is here is its last value.
      if (const std::optional<Offset> last = map_.find(hash); last && offset < *last) return false;
  }
  return true;
}

BatchFilter::Kept BatchFilter::choose(const record::BatchHeader& header, FilteredBatch& result) {
  const bool tombstones_stay = !header.has_delete_horizon() || settings.now < header.base_timestamp;
  hashes_.resize(shapes_.size());
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (!shapes_[i].has_key() || map_.standing(offset_of(header, shapes_[i])) != LastOffsets::Standing::unknown) continue;
    hashes_[i] = map_.hash(BytesView(shapes_[i].key, static_cast<std::size_t>(shapes_[i].key_size)));
    map_.prefetch(hashes_[i]);
  }
  Kept kept;
  kept_.resize(shapes_.size());
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Offset offset = offset_of(header, shapes_[i]);
    const bool is_covered = !header.is_control() && offset <= map_.latest();
    const bool is_last = !is_covered || is_last_of_key(shapes_[i], offset, hashes_[i]);
    const bool is_over = is_covered && shapes_[i].value_size < 0 && !tombstones_stay;
    kept_[i] = is_last && !is_over ? 1 : 0;
    if (kept_[i] != 0) {
      ++kept.count;
      if (shapes_[i].value_size < 0) kept.tombstone = true;
    } else {
      kept.all = false;
      if (!shapes_[i].has_key()) ++result.records_without_key;
      if (is_last) ++result.tombstones_removed;
    }
  }
  return kept;
}

void BatchFilter::rewrite(const record::BatchHeader& header, std::optional<TimestampMs> horizon, ByteVector& out,
                          FilteredBatch& result) {
  RecordRewriter rewriter(header, horizon);
  const std::size_t start = out.size();
  const std::optional<record::Codec> codec = record::codec_from_bits(header.codec_bits());
  const bool compressed = codec && *codec != record::Codec::none;
  ByteVector& records = compressed ? plain_ : out;
  if (compressed) plain_.clear();
  out.resize(start + record::kHeaderSize);
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (kept_[i] != 0) rewriter.append(shapes_[i], records);
  }
  if (compressed) record::compress({*codec, {}}, plain_, out);
  record::BatchHeader written = header;
  written.base_timestamp = rewriter.base_timestamp();
  written.max_timestamp = rewriter.max_timestamp();
  written.record_count = rewriter.count();
  written.attributes = static_cast<std::int16_t>(header.attributes & 0x3f);
  if (horizon) written.attributes |= 0x40;
  record::write_header(MutableBytesView(out).subspan(start), written);
  result.fate = BatchFate::rewritten;
  result.info = info_of(written, {static_cast<std::int64_t>(out.size() - start)});
}

Result<FilteredBatch> BatchFilter::filter(BytesView entry, ByteVector& out) {
  const record::EntryInfo checked = TRY(record::check_entry(entry));
  if (!checked.header) return filter_legacy(entry, out);
  const record::BatchHeader& header = *checked.header;
  const record::BatchView batch(entry);
  FilteredBatch result;
  result.records_read = std::max(header.record_count, 0);

  bool empty_transaction = false;  // of a marker
  bool discard = false;            // all its records, whatever they hold
  if (header.is_control()) {
    TransactionTracker::Marker marker = TRY(transactions_.on_control(batch, header));
    empty_transaction = marker.transaction_is_empty;
    result.aborted_entry = marker.keep;
    discard = empty_transaction && header.has_delete_horizon() && header.base_timestamp <= settings.now;
  } else {
    discard = transactions_.is_aborted(header);
  }
  const bool stays = must_stay(header);

  Kept kept;
  shapes_.clear();
  record::ScratchBuffer scratch;
  if (discard) {
    kept.all = false;
  } else {
    const BytesView plain = TRY(record::plain_records(batch, header, settings.limits, scratch));
    const std::int64_t largest = header.codec_bits() == 0 ? INT64_MAX : settings.limits.largest_record.value;
    const record::WalkEnd end = record::walk_shapes(plain, header.record_count, largest,
                                                    [&](std::int32_t, const record::RecordShape& shape) {
                                                      shapes_.push_back(shape);
                                                      return record::Walk::go_on;
                                                    });
    if (!end.ok()) return record::structure_error(end);
    kept = choose(header, result);
  }
  result.records_kept = static_cast<std::int64_t>(kept.count);

  const std::size_t start = out.size();
  if (kept.count > 0) {
    const bool new_horizon = (kept.tombstone || empty_transaction) && !header.has_delete_horizon();
    if (kept.all && !new_horizon) {
      out.insert(out.end(), entry.begin(), entry.end());
      result.fate = BatchFate::copied;
      result.info = info_of(header, size_of(entry));
    } else {
      std::optional<TimestampMs> horizon;
      if (new_horizon) {
        horizon = TimestampMs{record::add_wrapping(settings.now.value, settings.delete_retention_ms.value)};
      } else if (header.has_delete_horizon()) {
        horizon = header.base_timestamp;
      }
      rewrite(header, horizon, out, result);
    }
  } else if (stays) {
    const ByteVector empty = record::make_empty_batch(header);
    out.insert(out.end(), empty.begin(), empty.end());
    result.fate = BatchFate::emptied;
    result.info = info_of(header, size_of(empty));
  }
  result.info.position = {static_cast<std::int64_t>(start)};
  return result;
}

bool BatchFilter::keeps_legacy(const record::LegacyRecord& record) const {
  if (record.offset > map_.latest()) return true;
  if (!record.key) return false;
  if (const std::optional<Offset> last = map_.find(map_.hash(*record.key)); last && record.offset < *last) return false;
  return record.value || settings.legacy_tombstones_stay;
}

// What stays of a message, or of those inside a wrapper, becomes a batch of the present format with the same codec.
Result<FilteredBatch> BatchFilter::filter_legacy(BytesView entry, ByteVector& out) {
  const record::EntryInfo info = TRY(record::check_entry(entry));
  const record::LegacyMessage original = TRY(record::parse_legacy(entry));
  FilteredBatch result;
  record::BatchOptions options;
  Offset last{-1};
  bool writable = true;
  TRY(record::for_each_legacy_record(
      entry,
      [&](const record::LegacyRecord& record) {
        ++result.records_read;
        if (!record.key && record.offset <= map_.latest()) ++result.records_without_key;
        if (!keeps_legacy(record)) return record::Walk::go_on;
        if (result.records_kept++ == 0) options.base_offset = record.offset;
        if (!record.value) {
          options.delete_horizon =
              TimestampMs{record::add_wrapping(settings.now.value, settings.delete_retention_ms.value)};
        }
        writable = writable && record.offset > last && record.timestamp >= kNoTimestamp &&
                   (record.offset - options.base_offset).value <= INT32_MAX;
        last = record.offset;
        return record::Walk::go_on;
      },
      settings.limits));
  const std::size_t start = out.size();
  result.info = {{static_cast<std::int64_t>(start)}, size_of(entry), info.magic, info.base_offset, info.last_offset,
                 info.max_timestamp, -1};
  if (result.records_kept == 0) {
    // The one that ends at the high watermark stays as it is: the old formats know no empty batch.
    if (next(info.last_offset) != settings.high_watermark) return result;
    result.fate = BatchFate::copied;
    result.records_kept = result.records_read;
    out.insert(out.end(), entry.begin(), entry.end());
    return result;
  }
  if (!writable) {
    return Error{Errc::corrupt, fmt::format("the messages at offset {} do not fit into a batch", info.last_offset)};
  }
  options.compression.codec = record::codec_from_bits(original.codec_bits()).value_or(record::Codec::none);
  options.timestamp_type = original.timestamp_type();
  record::BatchBuilder builder(options);
  TRY(record::for_each_legacy_record(
      entry,
      [&](const record::LegacyRecord& record) {
        if (keeps_legacy(record)) {
          builder.add_at(static_cast<std::int32_t>((record.offset - options.base_offset).value), record.timestamp, record.key,
                         record.value);
        }
        return record::Walk::go_on;
      },
      settings.limits));
  const ByteVector batch = builder.build();
  out.insert(out.end(), batch.begin(), batch.end());
  result.fate = BatchFate::rewritten;
  result.info = info_of(record::BatchView(batch).header(), size_of(batch));
  result.info.position = {static_cast<std::int64_t>(start)};
  return result;
}

}  // namespace cordwood::storage
