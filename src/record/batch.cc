#include "record/batch.h"

#include "base/crc32c.h"

namespace cordwood::record {
namespace {

constexpr std::int32_t kLargestSequence = 2'147'483'647;
constexpr std::int16_t kTimestampTypeBit = 8;
// The attribute bits that have a meaning; the others are lost when a header is rewritten.
constexpr std::int16_t kKnownAttributes = 0x7f;

}  // namespace

const char* to_string(Codec codec) {
  switch (codec) {
    case Codec::none:
      return "none";
    case Codec::gzip:
      return "gzip";
    case Codec::snappy:
      return "snappy";
    case Codec::lz4:
      return "lz4";
    case Codec::zstd:
      return "zstd";
  }
  return "unknown";
}

std::optional<Codec> codec_from_name(std::string_view name) {
  if (name == "none" || name == "uncompressed") return Codec::none;
  if (name == "gzip") return Codec::gzip;
  if (name == "snappy") return Codec::snappy;
  if (name == "lz4") return Codec::lz4;
  if (name == "zstd") return Codec::zstd;
  return std::nullopt;
}

std::optional<Codec> codec_from_bits(std::uint8_t bits) {
  if (bits > static_cast<std::uint8_t>(Codec::zstd)) return std::nullopt;
  return static_cast<Codec>(bits);
}

std::int32_t add_sequence(std::int32_t sequence, std::int32_t delta) {
  // One step past the largest sequence is 0, hence a period of 2^31.
  std::int64_t sum = static_cast<std::int64_t>(sequence) + delta;
  return static_cast<std::int32_t>(sum > kLargestSequence ? sum - kLargestSequence - 1 : sum);
}

std::int32_t subtract_sequence(std::int32_t sequence, std::int32_t delta) {
  std::int64_t difference = static_cast<std::int64_t>(sequence) - delta;
  return static_cast<std::int32_t>(difference < 0 ? difference + kLargestSequence + 1 : difference);
}

std::int32_t BatchHeader::last_sequence() const {
  return base_sequence == -1 ? -1 : add_sequence(base_sequence, last_offset_delta);
}

Result<BatchView> BatchView::parse(BytesView bytes) {
  if (bytes.size() < kMagicPrefix)
    return Error{Errc::corrupt, fmt::format("a batch needs {} bytes, there are {}", kHeaderSize, bytes.size())};
  auto magic = load_be<std::int8_t>(bytes, kMagic);
  if (magic == 0 || magic == 1) return Error{Errc::unsupported, fmt::format("message format {} is no batch v2", magic)};
  if (magic != 2) return Error{Errc::corrupt, fmt::format("magic {} is none of 0, 1 and 2", magic)};
  auto length = load_be<std::int32_t>(bytes, kBatchLength);
  if (length < static_cast<std::int32_t>(kHeaderSize - kLogOverhead))
    return Error{Errc::corrupt, fmt::format("batch length {} leaves no room for the header", length)};
  std::size_t size = static_cast<std::size_t>(length) + kLogOverhead;
  if (size > bytes.size())
    return Error{Errc::corrupt, fmt::format("the batch has {} bytes, there are {}", size, bytes.size())};
  return BatchView(bytes.first(size));
}

BatchHeader BatchView::header() const {
  BatchHeader header;
  header.base_offset = base_offset();
  header.batch_length = load_be<std::int32_t>(bytes_, kBatchLength);
  header.partition_leader_epoch = load_be<std::int32_t>(bytes_, kPartitionLeaderEpoch);
  header.magic = load_be<std::int8_t>(bytes_, kMagic);
  header.crc = stored_crc();
  header.attributes = attributes();
  header.last_offset_delta = load_be<std::int32_t>(bytes_, kLastOffsetDelta);
  header.base_timestamp = {load_be<std::int64_t>(bytes_, kBaseTimestamp)};
  header.max_timestamp = max_timestamp();
  header.producer_id = load_be<std::int64_t>(bytes_, kProducerId);
  header.producer_epoch = load_be<std::int16_t>(bytes_, kProducerEpoch);
  header.base_sequence = load_be<std::int32_t>(bytes_, kBaseSequence);
  header.record_count = record_count();
  return header;
}

std::uint32_t BatchView::computed_crc() const {
  return crc32c(bytes_.subspan(kAttributes));
}

Result<BatchHeader> read_header(BytesView bytes) {
  if (bytes.size() < kHeaderSize)
    return Error{Errc::corrupt, fmt::format("a batch header needs {} bytes, there are {}", kHeaderSize, bytes.size())};
  return BatchView(bytes).header();
}

void write_header(MutableBytesView batch, const BatchHeader& header) {
  store_be<std::int64_t>(batch, kBaseOffset, header.base_offset.value);
  store_be<std::int32_t>(batch, kBatchLength, static_cast<std::int32_t>(batch.size() - kLogOverhead));
  store_be<std::int32_t>(batch, kPartitionLeaderEpoch, header.partition_leader_epoch);
  store_be<std::int8_t>(batch, kMagic, 2);
  store_be<std::int16_t>(batch, kAttributes, header.attributes);
  store_be<std::int32_t>(batch, kLastOffsetDelta, header.last_offset_delta);
  store_be<std::int64_t>(batch, kBaseTimestamp, header.base_timestamp.value);
  store_be<std::int64_t>(batch, kMaxTimestamp, header.max_timestamp.value);
  store_be<std::int64_t>(batch, kProducerId, header.producer_id);
  store_be<std::int16_t>(batch, kProducerEpoch, header.producer_epoch);
  store_be<std::int32_t>(batch, kBaseSequence, header.base_sequence);
  store_be<std::int32_t>(batch, kRecordCount, header.record_count);
  update_crc(batch);
}

void set_last_offset(MutableBytesView batch, Offset last_offset) {
  std::int64_t delta = load_be<std::int32_t>(batch, kLastOffsetDelta);
  store_be<std::int64_t>(batch, kBaseOffset, subtract_wrapping(last_offset.value, delta));
}

void set_leader_epoch(MutableBytesView batch, std::int32_t epoch) {
  store_be<std::int32_t>(batch, kPartitionLeaderEpoch, epoch);
}

void set_max_timestamp(MutableBytesView batch, TimestampType type, TimestampMs max_timestamp) {
  auto attributes = load_be<std::int16_t>(batch, kAttributes);
  bool is_append_time = (attributes & kTimestampTypeBit) != 0;
  bool wants_append_time = type == TimestampType::log_append_time;
  if (is_append_time == wants_append_time && load_be<std::int64_t>(batch, kMaxTimestamp) == max_timestamp.value) return;
  attributes = static_cast<std::int16_t>(attributes & kKnownAttributes & ~kTimestampTypeBit);
  if (wants_append_time) attributes = static_cast<std::int16_t>(attributes | kTimestampTypeBit);
  store_be<std::int16_t>(batch, kAttributes, attributes);
  store_be<std::int64_t>(batch, kMaxTimestamp, max_timestamp.value);
  update_crc(batch);
}

void update_crc(MutableBytesView batch) {
  store_be<std::uint32_t>(batch, kCrc, crc32c(batch.subspan(kAttributes)));
}

}  // namespace cordwood::record
