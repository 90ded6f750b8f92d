#include "offline/dump/kafka_records.h"

#include <fmt/format.h>

#include "base/crc32c.h"
#include "offline/dump/java_text.h"
#include "record/codecs.h"
#include "record/compression.h"
#include "record/legacy.h"

namespace cordwood::offline {
namespace {

constexpr ByteCount kMostInflated{1 * GiB};

Error invalid_record(std::string message) {
  return kafka_error("org.apache.kafka.common.InvalidRecordException: " + std::move(message));
}
// Within a record these two become one exception with a cause.
Error underflow() { return Error{Errc::out_of_range, "java.nio.BufferUnderflowException"}; }
Error illegal(std::string message) { return Error{Errc::invalid, "java.lang.IllegalArgumentException: " + std::move(message)}; }

// Reads as ByteUtils does of a buffer that ends at `end`.
class JavaCursor {
 public:
  JavaCursor(BytesView bytes, std::size_t& at, std::size_t end) : bytes_(bytes), at_(at), end_(end) {}

  std::size_t left() const { return end_ - at_; }

  Result<std::int32_t> varint() {
    if (at_ < end_ && static_cast<std::uint8_t>(bytes_[at_]) < 0x80) return zigzag_decode(static_cast<std::uint32_t>(bytes_[at_++]));
    std::uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      if (at_ == end_) return underflow();
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= static_cast<std::uint32_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return zigzag_decode(value);
    }
    return illegal("Varint is too long, the most significant bit in the 5th byte is set, converted value: " + java_hex(value));
  }

  Result<std::int64_t> varlong() {
    if (at_ < end_ && static_cast<std::uint8_t>(bytes_[at_]) < 0x80) return zigzag_decode(static_cast<std::uint64_t>(bytes_[at_++]));
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) return underflow();
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return zigzag_decode(value);
    }
    return illegal("Varlong is too long, most significant bit in the 10th byte is set, converted value: " + java_hex(value));
  }

  Result<void> skip_byte() {
    if (at_ == end_) return underflow();
    ++at_;
    return {};
  }

  Result<std::optional<BytesView>> sized() {
    const std::int32_t size = TRY(varint());
    if (size < 0) return std::optional<BytesView>();
    if (static_cast<std::size_t>(size) > left()) return illegal(fmt::format("newLimit > capacity: ({} > {})", size, left()));
    const BytesView view = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return std::optional<BytesView>(view);
  }

 private:
  BytesView bytes_;
  std::size_t& at_;
  std::size_t end_;
};

}  // namespace

Error kafka_error(std::string exception_and_message) { return Error{Errc::corrupt, std::move(exception_and_message)}; }

std::int32_t increment_sequence(std::int32_t sequence, std::int32_t increment) {
  const auto wrapped = [](std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); };
  if (sequence > wrapped(std::int64_t{INT32_MAX} - increment)) return wrapped(increment - (std::int64_t{INT32_MAX} - sequence) - 1);
  return wrapped(std::int64_t{sequence} + increment);
}

Result<KafkaRecordWalk> KafkaRecordWalk::begin(BytesView batch, record::ScratchBuffer& scratch) {
  KafkaRecordWalk walk;
  const record::BatchHeader header = record::BatchView(batch).header();
  walk.count_ = header.record_count;
  if (walk.count_ == 0) return walk;
  walk.is_compressed_ = header.codec_bits() != 0;
  walk.base_offset_ = header.base_offset.value;
  walk.base_timestamp_ = header.base_timestamp.value;
  walk.base_sequence_ = header.base_sequence;
  if (header.timestamp_type() == record::TimestampType::log_append_time) walk.append_time_ = header.max_timestamp.value;
  walk.bytes_ = batch.subspan(record::kHeaderSize);
  const std::optional<record::Codec> codec = record::codec_from_bits(header.codec_bits());
  if (!codec) return kafka_error(fmt::format("java.lang.IllegalArgumentException: Unknown compression type id: {}", header.codec_bits()));
  if (walk.count_ < 0) {
    return invalid_record(fmt::format("Found invalid record count {} in magic v2 batch", walk.count_));
  }
  if (walk.is_compressed_) {
    scratch.bytes().clear();
    if (Result<void> inflated = record::decompress(*codec, walk.bytes_, kMostInflated, scratch.bytes()); !inflated) {
      return kafka_error("org.apache.kafka.common.KafkaException: Failed to decompress record stream\nCaused by: " + inflated.error().what);
    }
    walk.bytes_ = scratch.bytes();
  }
  return walk;
}

Result<bool> KafkaRecordWalk::next(KafkaRecord& record) {
  if (done_ == count_) return false;
  TRY(read(record));
  ++done_;
  if (done_ == count_ && at_ != bytes_.size()) {
    return invalid_record("Incorrect declared batch size, records still remaining in file");
  }
  return true;
}

Result<void> KafkaRecordWalk::read(KafkaRecord& record) {
  constexpr const char* kEnd = "Incorrect declared batch size, premature EOF reached";
  JavaCursor cursor(bytes_, at_, bytes_.size());
  Result<std::int32_t> size = cursor.varint();
  if (!size) return size.error().code == Errc::out_of_range ? invalid_record(kEnd) : kafka_error(size.error().what);
  if (!is_compressed_) {
    if (*size > 0 && static_cast<std::size_t>(*size) > cursor.left()) {
      return invalid_record(fmt::format("Invalid record size: expected {} bytes in record payload, but instead the buffer has only {} "
                                        "remaining bytes.", *size, cursor.left()));
    }
    return read_inside(at_, bytes_.size(), *size, record);
  }
  // Of a stream each record is read into a buffer of its own first.
  if (*size < 0) return invalid_record(fmt::format("Invalid record size: {} is negative.", *size));
  if (static_cast<std::size_t>(*size) > cursor.left()) {
    return invalid_record(fmt::format("Invalid record size: expected {} bytes in record payload, but the record payload reached EOF.", *size));
  }
  const std::size_t end = at_ + static_cast<std::size_t>(*size);
  return read_inside(at_, end, *size, record);
}

Result<void> KafkaRecordWalk::read_inside(std::size_t& at, std::size_t end, std::int32_t size, KafkaRecord& record) {
  const std::size_t start = at;
  JavaCursor cursor(bytes_, at, end);
  const auto body = [&]() -> Result<void> {
    TRY(cursor.skip_byte());
    const std::int64_t timestamp_delta = TRY(cursor.varlong());
    const std::int32_t offset_delta = TRY(cursor.varint());
    record.offset = record::add_wrapping(base_offset_, offset_delta);
    record.timestamp = append_time_ ? *append_time_ : record::add_wrapping(base_timestamp_, timestamp_delta);
    record.sequence = base_sequence_ >= 0 ? increment_sequence(base_sequence_, offset_delta) : -1;
    record.key = TRY(cursor.sized());
    record.value = TRY(cursor.sized());
    record.header_keys.clear();
    const std::int32_t headers = TRY(cursor.varint());
    if (headers < 0) return invalid_record(fmt::format("Found invalid number of record headers {}", headers));
    if (static_cast<std::size_t>(headers) > cursor.left()) {
      return invalid_record(fmt::format("Found invalid number of record headers. {} is larger than the remaining size of the buffer", headers));
    }
    for (std::int32_t i = 0; i < headers; ++i) {
      const std::int32_t key_size = TRY(cursor.varint());
      if (key_size < 0) return invalid_record(fmt::format("Invalid negative header key size {}", key_size));
      if (static_cast<std::size_t>(key_size) > cursor.left()) {
        return illegal(fmt::format("newLimit > capacity: ({} > {})", key_size, cursor.left()));
      }
      record.header_keys.push_back(bytes_.subspan(at, static_cast<std::size_t>(key_size)));
      at += static_cast<std::size_t>(key_size);
      TRY(cursor.sized());
    }
    return {};
  };
  if (Result<void> read = body(); !read) {
    if (read.error().code == Errc::corrupt) return read.error();
    return invalid_record("Found invalid record structure\nCaused by: " + read.error().what);
  }
  const auto taken = static_cast<std::int64_t>(at - start);
  if (taken != size) {
    return invalid_record(fmt::format("Invalid record size: expected to read {} bytes in record payload, but instead read {}", size, taken));
  }
  return {};
}

namespace {

struct LegacyFields {
  std::int8_t magic = 0;
  std::uint8_t attributes = 0;
  KafkaRecord record;
};

// `message` starts behind offset and length. A size that lies beyond the message is a fault of sizes, one that reaches beyond
// it one of contents.
LegacyFields read_legacy_fields(BytesView message) {
  LegacyFields fields;
  ByteReader in(message);
  KafkaRecord& record = fields.record;
  record.crc = in.u32();
  fields.magic = in.i8();
  fields.attributes = static_cast<std::uint8_t>(in.i8());
  record.timestamp = fields.magic == 1 ? in.i64() : -1;
  record.is_valid = message.size() >= record::kSmallestLegacyLengthV0 && crc32_ieee(message.subspan(4)) == record.crc;
  const auto size_at = [&](std::int64_t at) -> std::optional<std::int32_t> {
    if (at + 4 > static_cast<std::int64_t>(message.size())) return {};
    return load_be<std::int32_t>(message, static_cast<std::size_t>(at));
  };
  const auto contents_at = [&](std::int64_t at, std::int32_t size) -> std::optional<BytesView> {
    if (size < 0) return {};
    const std::int64_t left = static_cast<std::int64_t>(message.size()) - at;
    if (size > left) {
      if (record.contents_fault.empty()) {
        record.contents_fault = fmt::format("java.lang.IllegalArgumentException: newLimit > capacity: ({} > {})", size, left);
      }
      return {};
    }
    return message.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
  };
  const std::int64_t key_at = fields.magic == 0 ? 6 : 14;
  const std::optional<std::int32_t> key_size = size_at(key_at);
  const std::int64_t value_at = key_at + 4 + std::max(0, key_size.value_or(0));
  const std::optional<std::int32_t> value_size = key_size ? size_at(value_at) : std::nullopt;
  if (!key_size || !value_size) record.sizes_fault = "java.lang.IndexOutOfBoundsException";
  record.key_size = key_size.value_or(-1);
  record.value_size = value_size.value_or(-1);
  if (key_size) record.key = contents_at(key_at + 4, *key_size);
  if (value_size) record.value = contents_at(value_at + 4, *value_size);
  return fields;
}

}  // namespace

Result<std::vector<KafkaRecord>> read_legacy_records(BytesView entry, record::ScratchBuffer& scratch) {
  const auto outer_offset = load_be<std::int64_t>(entry, record::kBaseOffset);
  LegacyFields outer = read_legacy_fields(entry.subspan(record::kLogOverhead));
  const std::uint8_t codec_bits = outer.attributes & 7;
  outer.record.offset = outer_offset;
  if (codec_bits == 0) return std::vector<KafkaRecord>{std::move(outer.record)};
  const std::optional<record::Codec> codec = record::codec_from_bits(codec_bits);
  if (!codec) return kafka_error(fmt::format("java.lang.IllegalArgumentException: Unknown compression type id: {}", codec_bits));
  if (*codec == record::Codec::zstd) {
    return invalid_record(fmt::format("Invalid wrapper compressionType found in legacy deep record iterator {}", outer.magic));
  }
  if (!outer.record.sizes_fault.empty()) return kafka_error(outer.record.sizes_fault);
  if (!outer.record.value && outer.record.value_size >= 0) return kafka_error(outer.record.contents_fault);
  if (!outer.record.value) {
    return invalid_record(fmt::format("Found invalid compressed record set with null value (magic = {})", outer.magic));
  }
  scratch.bytes().clear();
  const Result<void> inflated =
      outer.magic == 0 && *codec == record::Codec::lz4
          ? record::decompress_lz4(*outer.record.value, static_cast<std::size_t>(kMostInflated.value), scratch.bytes(), record::Lz4HeaderChecksum::ignored)
          : record::decompress(*codec, *outer.record.value, kMostInflated, scratch.bytes());
  if (!inflated) {
    return kafka_error("org.apache.kafka.common.KafkaException: Failed to decompress record stream\nCaused by: " + inflated.error().what);
  }
  std::vector<KafkaRecord> records;
  BytesView plain = scratch.bytes();
  while (plain.size() >= record::kLogOverhead) {
    const auto length = load_be<std::int32_t>(plain, record::kBatchLength);
    if (length < record::kSmallestLength) {
      return kafka_error(fmt::format("org.apache.kafka.common.errors.CorruptRecordException: Record size {} is less than the minimum record overhead ({})",
                                     length, record::kSmallestLength));
    }
    const std::size_t size = static_cast<std::size_t>(length) + record::kLogOverhead;
    if (size > plain.size()) break;
    LegacyFields inner = read_legacy_fields(plain.subspan(record::kLogOverhead, static_cast<std::size_t>(length)));
    if (inner.magic != outer.magic) {
      return invalid_record(fmt::format("Compressed message magic {} does not match wrapper magic {}", inner.magic, outer.magic));
    }
    const bool append_time = outer.magic == 1 && (outer.attributes & 8) != 0;
    inner.record.offset = load_be<std::int64_t>(plain, record::kBaseOffset);
    if (append_time) inner.record.timestamp = outer.record.timestamp;
    records.push_back(std::move(inner.record));
    plain = plain.subspan(size);
  }
  if (records.empty()) return invalid_record("Found invalid compressed record set with no inner records");
  if (outer.magic == 1 && outer_offset != 0) {
    const std::int64_t last = records.back().offset;
    if (last < 0 || outer_offset < last) {
      return invalid_record("Found invalid wrapper offset in compressed v1 message set, wrapper offset '" +
                            fmt::format("{}' is less than the last inner message offset '{}' and it is not zero.", outer_offset, last));
    }
    for (KafkaRecord& record : records) record.offset = record::add_wrapping(outer_offset - last, record.offset);
  }
  return records;
}

}  // namespace cordwood::offline
