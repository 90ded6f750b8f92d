#include "offline/dump/segment_dump.h"

#include <fmt/format.h>

#include "base/crc32c.h"
#include "offline/dump/kafka_records.h"
#include "record/legacy.h"
#include "storage/forward_reader.h"

namespace cordwood::offline {
namespace {

class SegmentDump {
 public:
  // Headers are read beyond `end` when they must.
  SegmentDump(const io::File& file, const std::string& path, ByteCount size, FilePosition end, const SegmentDumpOptions& options,
              const RecordDecoder& decoder, OffsetPairs& gaps, TextWriter& out)
      : reader_(file, FilePosition{size.value}), path_(path), end_(end), options_(options), decoder_(decoder), gaps_(gaps), out_(out) {}

  Result<void> run() {
    while (!out_.failed()) {
      if (position_ + ByteCount{record::kMagicPrefix} >= end_) break;
      const std::optional<BytesView> prefix = TRY(reader_.bytes_at(position_, record::kMagicPrefix));
      if (!prefix) break;
      const auto length = load_be<std::int32_t>(*prefix, record::kBatchLength);
      if (length < record::kSmallestLength) {
        return kafka_error(fmt::format("org.apache.kafka.common.errors.CorruptRecordException: Found record size {} smaller than minimum "
                                       "record overhead ({}) in file {}.", length, record::kSmallestLength, path_));
      }
      const std::size_t size = static_cast<std::size_t>(length) + record::kLogOverhead;
      if (position_ + ByteCount{static_cast<std::int64_t>(size)} > end_) break;
      const std::optional<BytesView> entry = TRY(reader_.bytes_at(position_, size));
      if (!entry) break;
      if (load_be<std::int8_t>(*entry, record::kMagic) < 2) {
        TRY(legacy_entry(*entry));
      } else {
        TRY(batch(*entry));
      }
      position_ += ByteCount{static_cast<std::int64_t>(size)};
    }
    return {};
  }

  FilePosition position() const { return position_; }

 private:
  Result<void> batch(BytesView entry) {
    // The header is read from the file, whatever the length says of the batch.
    std::byte copy[record::kHeaderSize];
    BytesView header_bytes = entry;
    if (entry.size() < record::kHeaderSize) {
      const std::optional<BytesView> longer = TRY(reader_.bytes_at(position_, record::kHeaderSize));
      if (!longer) {
        return kafka_error(fmt::format("org.apache.kafka.common.KafkaException: Failed to load record batch at position {} from {}", position_, path_));
      }
      std::memcpy(copy, longer->data(), sizeof copy);
      header_bytes = copy;
    }
    const record::BatchHeader header = record::BatchView(header_bytes).header();
    out_.text("baseOffset: ");
    out_.number(header.base_offset.value);
    out_.text(" lastOffset: ");
    out_.number(header.last_offset().value);
    out_.text(" count: ");
    out_.number(header.record_count);
    out_.text(" baseSequence: ");
    out_.number(header.base_sequence);
    out_.text(" lastSequence: ");
    out_.number(header.base_sequence == -1 ? -1 : increment_sequence(header.base_sequence, header.last_offset_delta));
    out_.text(" producerId: ");
    out_.number(header.producer_id);
    out_.text(" producerEpoch: ");
    out_.number(header.producer_epoch);
    out_.text(" partitionLeaderEpoch: ");
    out_.number(header.partition_leader_epoch);
    out_.text(header.is_transactional() ? " isTransactional: true" : " isTransactional: false");
    out_.text(header.is_control() ? " isControl: true" : " isControl: false");
    if (header.has_delete_horizon()) {
      out_.text(" deleteHorizonMs: OptionalLong[");
      out_.number(header.base_timestamp.value);
      out_.character(']');
    } else {
      out_.text(" deleteHorizonMs: OptionalLong.empty");
    }
    const bool append_time = header.timestamp_type() == record::TimestampType::log_append_time;
    const bool is_whole = entry.size() >= record::kHeaderSize;
    const bool is_valid = is_whole && record::BatchView(entry).crc_is_valid();
    TRY(second_half(append_time ? "LogAppendTime" : "CreateTime", header.max_timestamp.value, entry.size(), header.magic,
                    header.codec_bits(), header.crc, is_valid));
    if (!options_.records) return {};
    if (!is_whole) {
      return kafka_error("java.lang.IndexOutOfBoundsException");
    }
    record::ScratchBuffer scratch;
    KafkaRecordWalk walk = TRY(KafkaRecordWalk::begin(entry, scratch));
    const std::string_view time_type = append_time ? "LogAppendTime" : "CreateTime";
    while (TRY(walk.next(record_))) TRY(record(time_type, 2, header.is_control()));
    return {};
  }

  Result<void> legacy_entry(BytesView entry) {
    const auto magic = load_be<std::int8_t>(entry, record::kMagic);
    out_.text("offset: ");
    out_.number(load_be<std::int64_t>(entry, record::kBaseOffset));
    if (magic < 0) {
      return kafka_error(fmt::format("java.lang.IllegalArgumentException: Invalid magic used in LegacyRecord: {}", magic));
    }
    const auto attributes = load_be<std::uint8_t>(entry, record::kLegacyAttributes);
    std::int64_t timestamp = -1;
    std::string_view time_type = "NoTimestampType";
    if (magic == 1) {
      time_type = (attributes & 8) != 0 ? "LogAppendTime" : "CreateTime";
      if (entry.size() >= record::kLegacyBodyV1) timestamp = load_be<std::int64_t>(entry, record::kLegacyTimestamp);
    }
    const auto crc = load_be<std::uint32_t>(entry, record::kLegacyCrc);
    const bool is_valid = crc32_ieee(entry.subspan(record::kMagic)) == crc;
    TRY(second_half(time_type, timestamp, entry.size(), magic, attributes & 7, crc, is_valid));
    if (!options_.records) return {};
    record::ScratchBuffer scratch;
    for (KafkaRecord& one : TRY(read_legacy_records(entry, scratch))) {
      record_ = std::move(one);
      TRY(record(time_type, magic, false));
    }
    return {};
  }

  Result<void> second_half(std::string_view time_type, std::int64_t max_timestamp, std::size_t size, std::int8_t magic,
                           std::uint8_t codec_bits, std::uint32_t crc, bool is_valid) {
    const std::optional<record::Codec> codec = record::codec_from_bits(codec_bits);
    if (!codec) return kafka_error(fmt::format("java.lang.IllegalArgumentException: Unknown compression type id: {}", codec_bits));
    out_.text(" position: ");
    out_.number(position_.value);
    out_.character(' ');
    out_.text(time_type);
    out_.text(": ");
    out_.number(max_timestamp);
    out_.text(" size: ");
    out_.number(static_cast<std::int64_t>(size));
    out_.text(" magic: ");
    out_.number(magic);
    out_.text(" compresscodec: ");
    out_.text(record::to_string(*codec));
    out_.text(" crc: ");
    out_.number(crc);
    out_.text(is_valid ? " isvalid: true\n" : " isvalid: false\n");
    return {};
  }

  Result<void> record(std::string_view time_type, std::int8_t magic, bool is_control) {
    if (last_offset_ + 1 != record_.offset) gaps_[last_offset_] = record_.offset;
    last_offset_ = record_.offset;
    if (options_.record_metadata) {
      if (!record_.sizes_fault.empty()) return kafka_error(record_.sizes_fault);
      out_.text("| offset: ");
      out_.number(record_.offset);
      out_.character(' ');
      out_.text(time_type);
      out_.text(": ");
      out_.number(record_.timestamp);
      out_.text(" keySize: ");
      out_.number(magic < 2 ? record_.key_size : size_of(record_.key));
      out_.text(" valueSize: ");
      out_.number(magic < 2 ? record_.value_size : size_of(record_.value));
      if (magic >= 2) {
        out_.text(" sequence: ");
        out_.number(record_.sequence);
        out_.text(" headerKeys: [");
        for (std::size_t i = 0; i < record_.header_keys.size(); ++i) {
          if (i > 0) out_.character(',');
          utf8(record_.header_keys[i]);
        }
        out_.character(']');
      } else {
        out_.text(record_.is_valid ? " isValid: true crc: " : " isValid: false crc: ");
        out_.number(record_.crc);
      }
      if (is_control) out_.text(TRY(control_record_text({Offset{record_.offset}, record_.key, record_.value})));
    }
    if (options_.contents && !is_control) TRY(contents());
    out_.character('\n');
    return {};
  }

  Result<void> contents() {
    if (!record_.contents_fault.empty()) return kafka_error(record_.contents_fault);
    if (!record_.sizes_fault.empty()) return kafka_error(record_.sizes_fault);
    std::string_view before = options_.record_metadata ? " " : "| ";
    if (decoder_.is_plain_text()) {
      if (record_.key) {
        out_.text(before);
        out_.text("key: ");
        utf8(*record_.key);
        before = " ";
      }
      if (record_.value) {
        out_.text(before);
        out_.text("payload: ");
        utf8(*record_.value);
      }
      return {};
    }
    TRY(decoder_.decode({Offset{record_.offset}, record_.key, record_.value}, shown_));
    if (shown_.key) {
      out_.text(before);
      out_.text("key: ");
      out_.text(*shown_.key);
      before = " ";
    }
    if (shown_.value) {
      out_.text(before);
      out_.text("payload: ");
      out_.text(*shown_.value);
    }
    return {};
  }

  void utf8(BytesView bytes) {
    if (is_ascii(bytes)) {
      out_.text(as_text(bytes));
      return;
    }
    decoded_.clear();
    append_utf8(decoded_, bytes);
    out_.text(decoded_);
  }

  static std::int64_t size_of(const std::optional<BytesView>& part) { return part ? static_cast<std::int64_t>(part->size()) : -1; }

  storage::ForwardReader reader_;
  const std::string& path_;
  FilePosition end_;
  FilePosition position_{0};
  const SegmentDumpOptions& options_;
  const RecordDecoder& decoder_;
  OffsetPairs& gaps_;
  TextWriter& out_;
  std::int64_t last_offset_ = -1;
  KafkaRecord record_;
  ShownRecord shown_;
  std::string decoded_;
};

}  // namespace

Result<void> dump_segment(io::File& file, const std::string& path, const SegmentDumpOptions& options,
                          const RecordDecoder& decoder, OffsetPairs& gaps, TextWriter& out) {
  const ByteCount size = TRY(file.size());
  const FilePosition end{std::min<std::int64_t>(size.value, options.max_bytes)};
  SegmentDump dump(file, path, size, end, options, decoder, gaps, out);
  TRY(dump.run());
  if (end > dump.position() && options.max_bytes == INT32_MAX) {
    out.text("Found ");
    out.number((end - dump.position()).value);
    out.text(" invalid bytes at the end of ");
    out.text(io::file_name(path));
    out.character('\n');
  }
  return {};
}

}  // namespace cordwood::offline
