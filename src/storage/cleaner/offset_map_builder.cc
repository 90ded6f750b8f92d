#include "storage/cleaner/offset_map_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "record/legacy.h"
#include "record/walk.h"
#include "storage/cleaner/batch_chunks.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {

Result<std::vector<AbortedEntry>> aborted_between(const SegmentList& segments, Offset from, Offset to) {
  std::vector<AbortedEntry> found;
  std::size_t i = floor_segment(segments, from);
  if (i == segments.size()) i = 0;
  for (; i < segments.size(); ++i) {
    for (const AbortedEntry& entry : TRY(segments[i]->aborted_entries())) {
      if (entry.last_offset >= from && entry.first_offset < to) found.push_back(entry);
      // Nothing behind this one began below `to`.
      if (entry.last_stable_offset >= to) return found;
    }
  }
  return found;
}

Result<void> OffsetMapBuilder::run() {
  const SegmentList& all = *segments_;
  transactions_.add(TRY(aborted_between(all, range_.first_dirty, range_.end)));
  std::size_t i = floor_segment(all, range_.first_dirty);
  if (i == all.size()) i = 0;
  for (; i < all.size() && all[i]->base_offset() < range_.end; ++i) {
    const bool is_last = i + 1 == all.size() || all[i + 1]->base_offset() >= range_.end;
    Result<Goes> taken = take_segment(*all[i], is_last ? range_.end : all[i + 1]->base_offset());
    if (!taken) return taken.error();
    if (*taken == Goes::full) break;
  }
  return {};
}

Result<OffsetMapBuilder::Goes> OffsetMapBuilder::take_segment(const Segment& segment, Offset next_base) {
  const std::shared_ptr<io::File> file = TRY(segment.file());
  const FilePosition end{segment.size().value};
  FilePosition from{0};
  if (segment.base_offset() < range_.first_dirty) {
    const std::optional<BatchInfo> first = TRY(segment.find_batch(range_.first_dirty, end));
    from = first ? first->position : end;
  }
  BatchChunks chunks(*file, from, end, window_);
  while (true) {
    BytesView rest = TRY(chunks.next());
    if (rest.empty()) break;
    TRY(between_(ByteCount{static_cast<std::int64_t>(rest.size())}));
    while (!rest.empty()) {
      const BytesView entry = first_entry(rest);
      Result<Goes> taken = take_entry(entry);
      if (!taken) {
        return Error{taken.error().code, fmt::format("{}: {}", segment.path_of(kLogSuffix), taken.error().what)};
      }
      if (*taken == Goes::full) return Goes::full;
      rest = rest.subspan(entry.size());
    }
  }
  // Offsets between the last batch and the next segment hold nothing.
  map_.set_latest(Offset{next_base.value - 1});
  return Goes::on;
}

Result<OffsetMapBuilder::Goes> OffsetMapBuilder::take_entry(BytesView entry) {
  const record::EntryInfo info = TRY(record::check_entry(entry));
  if (info.header) {
    const record::BatchView batch(entry);
    if (info.header->is_control()) {
      TRY(transactions_.on_control(batch, *info.header));
      ++records_read_;
    } else if (transactions_.is_aborted(*info.header)) {
      records_read_ += info.header->record_count;
    } else if (TRY(take_batch(batch, *info.header)) == Goes::full) {
      return Goes::full;
    }
  } else if (TRY(take_legacy(entry)) == Goes::full) {
    return Goes::full;
  }
  if (info.last_offset >= range_.first_dirty) map_.set_latest(info.last_offset);
  return Goes::on;
}

OffsetMapBuilder::Goes OffsetMapBuilder::put(const KeyHash& key, Offset offset) {
  if (map_.is_full()) return Goes::full;
  map_.put(key, offset);
  return Goes::on;
}

Result<OffsetMapBuilder::Goes> OffsetMapBuilder::take_batch(const record::BatchView& batch,
                                                            const record::BatchHeader& header) {
  record::ScratchBuffer scratch;
  const BytesView plain = TRY(record::plain_records(batch, header, limits, scratch));
  const std::int64_t largest = header.codec_bits() == 0 ? INT64_MAX : limits.largest_record.value;
  // First all hashes, then all puts: the slots come into the cache side by side instead of one after the other.
  keys_.clear();
  const record::WalkEnd end = record::walk_shapes(
      plain, header.record_count, largest, [&](std::int32_t, const record::RecordShape& shape) {
        const Offset offset{record::add_wrapping(header.base_offset.value, shape.offset_delta)};
        if (shape.has_key() && offset >= range_.first_dirty) {
          keys_.push_back({map_.hash(BytesView(shape.key, static_cast<std::size_t>(shape.key_size))), offset});
          map_.prefetch(keys_.back().key);
        }
        return record::Walk::go_on;
      });
  if (!end.ok()) return record::structure_error(end);
  records_read_ += header.record_count;
  for (const KeyAt& entry : keys_) {
    if (put(entry.key, entry.offset) == Goes::full) return Goes::full;
  }
  return Goes::on;
}

Result<OffsetMapBuilder::Goes> OffsetMapBuilder::take_legacy(BytesView entry) {
  Goes goes = Goes::on;
  TRY(record::for_each_legacy_record(
      entry,
      [&](const record::LegacyRecord& record) {
        ++records_read_;
        if (record.key && record.offset >= range_.first_dirty) goes = put(map_.hash(*record.key), record.offset);
        return goes == Goes::full ? record::Walk::stop : record::Walk::go_on;
      },
      limits));
  return goes;
}

}  // namespace cordwood::storage
