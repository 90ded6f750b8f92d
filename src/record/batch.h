// record/batch.h — record batch v2 read in place.
//
// A batch travels as the bytes it arrived in. BatchView reads its header fields where they lie; what an append must
// rewrite (base offset, leader epoch) lies outside the CRC. Layout and rules: docs/formats/record_batch.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood::record {

// Positions in the header, each computed from the one before.
inline constexpr std::size_t kBaseOffset = 0;                           // i64
inline constexpr std::size_t kBatchLength = kBaseOffset + 8;            // i32, bytes after this field
inline constexpr std::size_t kPartitionLeaderEpoch = kBatchLength + 4;  // i32
inline constexpr std::size_t kMagic = kPartitionLeaderEpoch + 4;        // i8, 2
inline constexpr std::size_t kCrc = kMagic + 1;                         // u32, CRC-32C of kAttributes..end
inline constexpr std::size_t kAttributes = kCrc + 4;                    // i16
inline constexpr std::size_t kLastOffsetDelta = kAttributes + 2;        // i32
inline constexpr std::size_t kBaseTimestamp = kLastOffsetDelta + 4;     // i64
inline constexpr std::size_t kMaxTimestamp = kBaseTimestamp + 8;        // i64
inline constexpr std::size_t kProducerId = kMaxTimestamp + 8;           // i64
inline constexpr std::size_t kProducerEpoch = kProducerId + 8;          // i16
inline constexpr std::size_t kBaseSequence = kProducerEpoch + 2;        // i32
inline constexpr std::size_t kRecordCount = kBaseSequence + 4;          // i32
inline constexpr std::size_t kHeaderSize = kRecordCount + 4;
inline constexpr std::size_t kLogOverhead = kBatchLength + 4;  // base offset and length
static_assert(kAttributes == 21 && kHeaderSize == 61 && kLogOverhead == 12);

// Bytes needed to know a batch's size and magic; a file walk stops when fewer are left (Kafka's rule).
inline constexpr std::size_t kMagicPrefix = kMagic + 1;
// A length field below this is corrupt whatever the magic.
inline constexpr std::int32_t kSmallestLength = 14;

enum class Codec : std::uint8_t { none = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4 };
const char* to_string(Codec codec);
std::optional<Codec> codec_from_name(std::string_view name);  // "none" or "uncompressed", "gzip", ...
std::optional<Codec> codec_from_bits(std::uint8_t bits);      // absent for 5 and above

enum class TimestampType : std::uint8_t { create_time = 0, log_append_time = 1 };

// Sums of fields that came from outside, which may be as hostile as they like: wraps as Java's do.
constexpr std::int64_t add_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

constexpr std::int64_t subtract_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// The header as values. producer_id, producer_epoch and base_sequence are the raw fields: -1 is none.
struct BatchHeader {
  Offset base_offset;
  std::int32_t batch_length = 0;
  std::int32_t partition_leader_epoch = -1;
  std::int8_t magic = 2;
  std::uint32_t crc = 0;
  std::int16_t attributes = 0;
  std::int32_t last_offset_delta = 0;
  TimestampMs base_timestamp;
  TimestampMs max_timestamp;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
  std::int32_t record_count = 0;
  bool operator==(const BatchHeader&) const = default;

  ByteCount total_size() const {
    return {static_cast<std::int64_t>(batch_length) + static_cast<std::int64_t>(kLogOverhead)};
  }
  Offset last_offset() const { return {add_wrapping(base_offset.value, last_offset_delta)}; }
  Offset next_offset() const { return {add_wrapping(last_offset().value, 1)}; }
  // 5 to 7 are no codec: the raw bits 0-2.
  std::uint8_t codec_bits() const { return static_cast<std::uint8_t>(attributes & 7); }
  TimestampType timestamp_type() const {
    return (attributes & 8) != 0 ? TimestampType::log_append_time : TimestampType::create_time;
  }
  bool is_transactional() const { return (attributes & 0x10) != 0; }
  bool is_control() const { return (attributes & 0x20) != 0; }
  bool has_delete_horizon() const { return (attributes & 0x40) != 0; }
  bool has_producer_id() const { return producer_id > -1; }
  std::int32_t last_sequence() const;  // -1 when base_sequence is -1; wraps from 2^31-1 to 0
};

// Sequence arithmetic: 0 ... 2^31-1, then 0 again.
std::int32_t add_sequence(std::int32_t sequence, std::int32_t delta);
std::int32_t subtract_sequence(std::int32_t sequence, std::int32_t delta);

// Points into bytes that hold at least the header of one v2 batch; valid as long as they are. The constructor trusts
// its caller: use parse() for bytes from outside.
class BatchView {
 public:
  BatchView() = default;
  explicit BatchView(BytesView batch) : bytes_(batch) {}

  // The batch at the start of `bytes`, cut to its own length.
  // Errors: corrupt when fewer than 61 bytes, length below 49 or beyond the bytes, magic other than 2 (unsupported for
  // 0 and 1). The CRC is not looked at.
  static Result<BatchView> parse(BytesView bytes);

  BatchHeader header() const;
  BytesView bytes() const { return bytes_; }
  BytesView payload() const { return bytes_.subspan(kHeaderSize); }  // the records, compressed or not
  Offset base_offset() const { return {load_be<std::int64_t>(bytes_, kBaseOffset)}; }
  Offset last_offset() const {
    return {add_wrapping(base_offset().value, load_be<std::int32_t>(bytes_, kLastOffsetDelta))};
  }
  TimestampMs max_timestamp() const { return {load_be<std::int64_t>(bytes_, kMaxTimestamp)}; }
  std::int16_t attributes() const { return load_be<std::int16_t>(bytes_, kAttributes); }
  std::int32_t record_count() const { return load_be<std::int32_t>(bytes_, kRecordCount); }
  std::uint32_t stored_crc() const { return load_be<std::uint32_t>(bytes_, kCrc); }
  std::uint32_t computed_crc() const;
  bool crc_is_valid() const { return stored_crc() == computed_crc(); }

 private:
  BytesView bytes_;
};

// The 61 bytes of a header. Errors: corrupt when `bytes` are fewer than 61.
Result<BatchHeader> read_header(BytesView bytes);

// Writes all 61 bytes over the front of `batch`, whose records are in place: the length is that of `batch`, the magic
// 2, the CRC computed; those three fields of `header` are not looked at.
void write_header(MutableBytesView batch, const BatchHeader& header);

// What an append rewrites in place: baseOffset = last_offset - lastOffsetDelta, and the leader epoch.
void set_last_offset(MutableBytesView batch, Offset last_offset);
void set_leader_epoch(MutableBytesView batch, std::int32_t epoch);
// Sets the type bit and the max timestamp and recomputes the CRC; does nothing when both already have the wanted value.
// When it writes, attribute bits 7-15 are cleared (seen on Kafka 4.4.0).
void set_max_timestamp(MutableBytesView batch, TimestampType type, TimestampMs max_timestamp);
void update_crc(MutableBytesView batch);

}  // namespace cordwood::record
