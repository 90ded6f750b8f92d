#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/crc32c.h"
#include "inspector/views/partition_files.h"
#include "inspector/views/views.h"
#include "offline/rendering.h"
#include "record/legacy.h"
#include "record/record_walk.h"
#include "record/walk.h"
#include "storage/directory_files.h"
#include "storage/retention.h"
#include "storage/segment_file_name.h"

namespace cordwood::inspector {
namespace {

constexpr std::size_t kShownHex = 4096;

class FieldList {
 public:
  explicit FieldList(BytesView bytes) : bytes_(bytes) {}
  void add(const char* name, std::size_t at, std::size_t size, std::string value, std::string says) {
    if (at + size > bytes_.size()) return;
    fields.push_back({name, static_cast<std::int64_t>(at), static_cast<std::int64_t>(size), hex_of(bytes_.subspan(at, size), size),
                      std::move(value), std::move(says)});
  }
  std::vector<api::Field> fields;

 private:
  BytesView bytes_;
};

std::string attribute_bits(const record::BatchHeader& header) {
  const std::optional<record::Codec> codec = record::codec_from_bits(header.codec_bits());
  std::string text = fmt::format("bits 0-2 = {}: ", header.codec_bits());
  if (!codec) {
    text += "no codec that exists";
  } else if (*codec == record::Codec::none) {
    text += "the records are not compressed";
  } else {
    text += fmt::format("the records are compressed together with {}", record::to_string(*codec));
  }
  text += header.timestamp_type() == record::TimestampType::create_time
              ? "; bit 3 = 0: records have the time that the producer gave them (CreateTime)"
              : "; bit 3 = 1: all records have the time at which the broker appended them (LogAppendTime), which is the max timestamp";
  text += header.is_transactional() ? "; bit 4 = 1: part of a transaction" : "; bit 4 = 0: part of no transaction";
  text += header.is_control() ? "; bit 5 = 1: a control batch: it speaks to readers and brokers, no consumer is given its record"
                              : "; bit 5 = 0: it carries data";
  text += header.has_delete_horizon() ? "; bit 6 = 1: the base timestamp is a delete horizon: the time from which on compaction drops its tombstones"
                                      : "; bit 6 = 0: no delete horizon";
  if ((header.attributes & ~0x7f) != 0) text += "; bits 7-15 are set, which nothing uses";
  return text + ".";
}

std::string time_value(TimestampMs time) {
  return time < TimestampMs{0} ? fmt::format("{}", time) : fmt::format("{} ({})", time, storage::describe_time(time));
}

std::vector<api::Field> batch_fields(BytesView bytes, const record::BatchHeader& header, const api::Batch& batch, std::optional<std::uint32_t> computed) {
  FieldList list(bytes);
  list.add("baseOffset", record::kBaseOffset, 8, fmt::format("{}", header.base_offset),
           "The offset of the first record. The broker writes it when it appends; the producer sent 0.");
  list.add("batchLength", record::kBatchLength, 4, fmt::format("{}", header.batch_length),
           fmt::format("So many bytes follow this field: with the 12 before them the batch takes {}.", batch.size_bytes));
  list.add("partitionLeaderEpoch", record::kPartitionLeaderEpoch, 4, fmt::format("{}", header.partition_leader_epoch),
           header.partition_leader_epoch < 0 ? "No leader epoch." : "Which leadership of the partition wrote it; the broker sets it, outside of the checksum.");
  list.add("magic", record::kMagic, 1, fmt::format("{}", header.magic), "The version of the format: 2, in use since Kafka 0.11.");
  std::string crc = "CRC-32C of everything from the attributes to the end.";
  if (computed) {
    crc += *computed == header.crc ? fmt::format(" Computed over these bytes it is 0x{:08x} as well: they are what was written.", *computed)
                                   : fmt::format(" Computed over these bytes it is 0x{:08x}: they are not what was written.", *computed);
  }
  list.add("crc", record::kCrc, 4, fmt::format("0x{:08x}", header.crc), std::move(crc));
  list.add("attributes", record::kAttributes, 2, fmt::format("0x{:04x}", static_cast<std::uint16_t>(header.attributes)), attribute_bits(header));
  list.add("lastOffsetDelta", record::kLastOffsetDelta, 4, fmt::format("{}", header.last_offset_delta),
           fmt::format("The last offset is the base offset and this: {}. Compaction keeps it even when that record goes.", header.last_offset()));
  list.add("baseTimestamp", record::kBaseTimestamp, 8, time_value(header.base_timestamp),
           header.has_delete_horizon() ? "The delete horizon (attribute bit 6): tombstones in the batch go in the first compaction behind this time."
                                       : "The time of the first record; each record stores its distance from it.");
  list.add("maxTimestamp", record::kMaxTimestamp, 8, time_value(header.max_timestamp),
           "The latest time of its records: what the time index and retention.ms go by.");
  list.add("producerId", record::kProducerId, 8, fmt::format("{}", header.producer_id),
           header.producer_id < 0 ? "None: the producer is not idempotent, so a batch sent twice would be here twice."
                                  : "The idempotent producer that sent it; the broker knows its last batches and drops repeated ones.");
  list.add("producerEpoch", record::kProducerEpoch, 2, fmt::format("{}", header.producer_epoch),
           header.producer_epoch < 0 ? "None." : "Which life of that producer: batches of an older epoch are refused.");
  list.add("baseSequence", record::kBaseSequence, 4, fmt::format("{}", header.base_sequence),
           header.base_sequence < 0 ? "None."
                                    : fmt::format("The producer's number for the first record; the last one has {}, and its next batch must go on behind that.",
                                                  header.last_sequence()));
  list.add("recordsCount", record::kRecordCount, 4, fmt::format("{}", header.record_count),
           header.record_count == 0 ? "No record is left: compaction keeps the header alone, for the producer's sequence or the log end."
           : header.record_count < 0 ? "A negative count: no writer does that."
                                     : "How many records follow.");
  return list.fields;
}

std::vector<api::Field> legacy_fields(BytesView bytes, const record::LegacyMessage& message, std::int64_t size) {
  FieldList list(bytes);
  list.add("offset", 0, 8, fmt::format("{}", message.offset), "The offset of the message; of a compressed set, of the last one inside.");
  list.add("messageSize", 8, 4, fmt::format("{}", size - 12), "So many bytes follow this field.");
  list.add("crc", record::kLegacyCrc, 4, fmt::format("0x{:08x}", message.crc), "CRC-32 of everything from the magic to the end.");
  list.add("magic", record::kMagic, 1, fmt::format("{}", message.magic), "An old version of the format, before record batches: one message an entry.");
  const std::optional<record::Codec> codec = record::codec_from_bits(message.codec_bits());
  list.add("attributes", record::kLegacyAttributes, 1, fmt::format("0x{:02x}", message.attributes),
           fmt::format("bits 0-2: {}.", codec ? record::to_string(*codec) : "no codec that exists"));
  std::size_t at = record::kLegacyBodyV0;
  if (message.magic == 1) {
    list.add("timestamp", record::kLegacyTimestamp, 8, time_value(message.timestamp), "The time of the message, or the latest of a compressed set.");
    at = record::kLegacyBodyV1;
  }
  if (at + 4 <= bytes.size()) {
    list.add("keyLength", at, 4, fmt::format("{}", load_be<std::int32_t>(bytes, at)), "The key and then the value follow, each behind its length; -1 is null.");
  }
  return list.fields;
}

bool is_indexed(const PartitionAt& at, const OpenSegment& open, FilePosition position) {
  const auto index = open_offset_index(at, open.at.base);
  if (!index || !*index) return false;
  const auto before = (*index)->count_before([&](BytesView entry) { return load_be<std::int32_t>(entry, 4) < position.value; });
  if (!before) return false;
  const auto entry = (*index)->read(*before, 1);
  return entry && !entry->empty() && offset_entry_of(*entry, open.at.base).position == position;
}

std::string batch_sentence(const record::BatchHeader& header, const api::Batch& batch) {
  std::string text = header.base_offset == header.last_offset() ? fmt::format("Offset {}", header.base_offset)
                                                                : fmt::format("Offsets {} to {}", header.base_offset, header.last_offset());
  text += fmt::format(", {} in {} bytes", records_words(std::max(header.record_count, 0)), batch.size_bytes);
  if (header.is_control()) {
    text += ": a control batch";
    if (!batch.records.empty() && batch.records.front().kind == api::RecordKind::commit) text += ", the marker that commits a transaction";
    if (!batch.records.empty() && batch.records.front().kind == api::RecordKind::abort) text += ", the marker that aborts a transaction";
    text += fmt::format(" of producer {}", header.producer_id);
  } else if (header.is_transactional()) {
    text += fmt::format(", of a transaction of producer {}{}", header.producer_id, batch.aborted ? " that was aborted: read_committed consumers pass over it" : "");
  } else if (header.has_producer_id()) {
    text += fmt::format(", of the idempotent producer {}", header.producer_id);
  }
  if (!batch.checksum_ok) text += "; its checksum is wrong";
  return text + ".";
}

}  // namespace

Result<api::Batch> view_batch(const PartitionAt& at, const api::BatchQuery& query) {
  const std::int64_t from = query.from.value_or(0);
  const std::int64_t limit = query.limit.value_or(50);
  if (from < 0) return Error{Errc::invalid, "from: must be 0 or more"};
  if (limit < 1 || limit > 200) return Error{Errc::invalid, "limit: must be 1 to 200"};
  const ExtentAt extent = TRY(extent_of(at));
  const OpenSegment open = TRY(open_segment(at, extent, Offset{query.base}));
  const FoundBatch found = TRY(batch_holding(at, open, FilePosition{query.position}));
  const storage::BatchInfo& info = found.info;

  api::Batch batch;
  batch.position = info.position.value;
  batch.size_bytes = info.size.value;
  batch.base = info.base_offset.value;
  batch.last = info.last_offset.value;
  if (found.previous) batch.previous_position = found.previous->value;
  if (info.end() < open.end) batch.next_position = info.end().value;
  batch.indexed = is_indexed(at, open, info.position);

  const bool is_whole = info.size <= kLargestShownBatch;
  ByteVector bytes(static_cast<std::size_t>(is_whole ? info.size.value : static_cast<std::int64_t>(kShownHex)));
  bytes.resize(TRY(open.file->read_at(info.position, bytes)));
  batch.hex = hex_of(bytes, kShownHex);
  if (!is_whole) batch.problem = fmt::format("it is longer than {}: its records are not looked at", offline::human_size(kLargestShownBatch));
  if (is_whole && static_cast<std::int64_t>(bytes.size()) < info.size.value) {
    return Error{Errc::not_found, fmt::format("{} became shorter while it was read", open.name)};
  }

  RecordPlace place{open.at.base, info.position, false, false};
  record::BatchHeader header;
  if (info.magic >= 2) {
    header = TRY(record::read_header(bytes));
    place.control = header.is_control();
    if (header.is_transactional()) {
      place.aborted = AbortedTransactions::around(at, extent, info.base_offset, next(info.last_offset)).covers(header);
    }
    batch.aborted = place.aborted;
    std::optional<std::uint32_t> computed;
    if (is_whole) computed = record::BatchView(bytes).computed_crc();
    batch.checksum_ok = computed == header.crc;
    batch.fields = batch_fields(bytes, header, batch, computed);
    batch.compressed_bytes = info.size.value - static_cast<std::int64_t>(record::kHeaderSize);
    batch.records_total = header.record_count;
    if (is_whole) {
      record::ScratchBuffer scratch;
      const auto plain = record::plain_records(record::BatchView(bytes), header, kInspectorLimits, scratch);
      if (plain) {
        batch.inflated_bytes = static_cast<std::int64_t>(plain->size());
      } else {
        batch.problem = plain.error().message();
      }
    }
    if (is_whole && !batch.checksum_ok) {
      batch.problem = fmt::format("its checksum is 0x{:08x}, computed 0x{:08x}: some of its bytes changed after they were written", header.crc, *computed);
    }
  } else if (is_whole) {
    const auto checked = record::check_entry(bytes);
    batch.checksum_ok = checked.has_value();
    if (!checked) batch.problem = checked.error().message();
    const auto message = record::parse_legacy(bytes);
    if (message) {
      batch.fields = legacy_fields(bytes, *message, info.size.value);
      if (message->value) batch.compressed_bytes = static_cast<std::int64_t>(message->value->size());
    } else if (!batch.problem) {
      batch.problem = message.error().message();
    }
  }
  if (is_whole) {
    std::int64_t seen = 0;
    std::int64_t inflated = 0;
    const bool is_legacy = info.magic < 2;
    const auto walked = each_record(bytes, info.magic, [&](const RecordInEntry& record) {
      if (is_legacy && seen == 0) batch.base = record.record.offset.value;
      inflated += record.size.value;
      if (seen >= from && static_cast<std::int64_t>(batch.records.size()) < limit) batch.records.push_back(shown_record(at, record, place));
      ++seen;
      // Of the old formats nobody counted them.
      return !is_legacy && static_cast<std::int64_t>(batch.records.size()) == limit ? record::Walk::stop : record::Walk::go_on;
    });
    if (is_legacy) {
      batch.records_total = seen;
      if (walked) batch.inflated_bytes = inflated;
    }
    if (!walked && !batch.problem) batch.problem = walked.error().message();
  }
  batch.says = info.magic >= 2 ? batch_sentence(header, batch)
                               : fmt::format("An entry of the old format {} with {}, offsets {} to {}.", info.magic, records_words(batch.records_total),
                                             batch.base, batch.last);
  return batch;
}

}  // namespace cordwood::inspector
