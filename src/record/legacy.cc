#include "record/legacy.h"

#include "base/crc32c.h"
#include "record/codecs.h"
#include "record/compression.h"
#include "record/record_walk.h"
#include "record/walk.h"

namespace cordwood::record {
namespace {

// One message out of the inside of a wrapper, with the offset as it stands there.
struct InnerMessage {
  std::int64_t relative_offset = 0;
  LegacyMessage message;
};

Result<std::optional<BytesView>> nullable(ByteReader& reader, const char* field) {
  std::int32_t size = reader.i32();
  if (size < 0) return std::optional<BytesView>{};
  BytesView bytes = reader.bytes(size);
  if (!reader.ok()) return Error{Errc::corrupt, fmt::format("a message's {} reaches beyond it", field)};
  return std::optional<BytesView>(bytes);
}

Result<void> inflate(const LegacyMessage& wrapper, const DecompressionLimits& limits, ByteVector& out) {
  std::optional<Codec> codec = codec_from_bits(wrapper.codec_bits());
  if (!codec) return Error{Errc::unsupported, fmt::format("compression id {} is no codec", wrapper.codec_bits())};
  if (*codec == Codec::zstd) return Error{Errc::corrupt, "zstd in a message of an old format"};
  if (wrapper.magic == 0 && *codec == Codec::lz4)
    return decompress_lz4(*wrapper.value, static_cast<std::size_t>(limits.largest_batch.value), out,
                          Lz4HeaderChecksum::ignored);
  return decompress(*codec, *wrapper.value, limits.largest_batch, out);
}

// The messages inside a wrapper. An incomplete one at the end is dropped, as Kafka does.
Result<std::vector<InnerMessage>> read_inner(const LegacyMessage& wrapper, BytesView plain) {
  std::vector<InnerMessage> inner;
  while (plain.size() >= kLogOverhead) {
    auto length = load_be<std::int32_t>(plain, kBatchLength);
    if (length < kSmallestLength) return Error{Errc::corrupt, fmt::format("an inner message of length {}", length)};
    std::size_t size = static_cast<std::size_t>(length) + kLogOverhead;
    if (size > plain.size()) break;
    LegacyMessage message = TRY(parse_legacy(plain.first(size)));
    if (message.magic != wrapper.magic)
      return Error{Errc::corrupt,
                   fmt::format("a message of magic {} inside one of magic {}", message.magic, wrapper.magic)};
    if (message.codec_bits() != 0) return Error{Errc::corrupt, "an inner message is itself compressed"};
    inner.push_back({message.offset.value, message});
    plain = plain.subspan(size);
  }
  if (inner.empty()) return Error{Errc::corrupt, "a compressed message holds no messages"};
  return inner;
}

}  // namespace

Result<LegacyMessage> parse_legacy_header(BytesView entry) {
  if (entry.size() < kMagicPrefix) return Error{Errc::corrupt, fmt::format("a message of {} bytes", entry.size())};
  LegacyMessage message;
  message.offset = {load_be<std::int64_t>(entry, kBaseOffset)};
  message.magic = load_be<std::int8_t>(entry, kMagic);
  if (message.magic != 0 && message.magic != 1)
    return Error{Errc::unsupported, fmt::format("magic {} is no old message format", message.magic)};
  auto length = load_be<std::int32_t>(entry, kBatchLength);
  std::int32_t smallest = message.magic == 0 ? kSmallestLegacyLengthV0 : kSmallestLegacyLengthV1;
  if (length < smallest)
    return Error{Errc::corrupt, fmt::format("a message of length {}, at least {}", length, smallest)};
  if (static_cast<std::size_t>(length) > entry.size() - kLogOverhead)
    return Error{Errc::corrupt, fmt::format("a message of length {}, {} bytes are there", length, entry.size())};
  entry = entry.first(static_cast<std::size_t>(length) + kLogOverhead);
  message.crc = load_be<std::uint32_t>(entry, kLegacyCrc);
  if (std::uint32_t computed = crc32_ieee(entry.subspan(kMagic)); computed != message.crc)
    return Error{Errc::corrupt, fmt::format("a message's CRC is {:#010x}, computed {:#010x}", message.crc, computed)};
  message.attributes = load_be<std::uint8_t>(entry, kLegacyAttributes);
  if (message.magic == 1) message.timestamp = {load_be<std::int64_t>(entry, kLegacyTimestamp)};
  return message;
}

Result<LegacyMessage> parse_legacy(BytesView entry) {
  LegacyMessage message = TRY(parse_legacy_header(entry));
  entry = entry.first(static_cast<std::size_t>(load_be<std::int32_t>(entry, kBatchLength)) + kLogOverhead);
  ByteReader body(entry.subspan(message.magic == 0 ? kLegacyBodyV0 : kLegacyBodyV1));
  message.key = TRY(nullable(body, "key"));
  message.value = TRY(nullable(body, "value"));
  if (!body.ok()) return Error{Errc::corrupt, "a message ends inside its fields"};
  return message;
}

Result<void> for_each_legacy_record(BytesView entry, const std::function<Walk(const LegacyRecord&)>& visit,
                                    const DecompressionLimits& limits) {
  LegacyMessage outer = TRY(parse_legacy(entry));
  if (outer.codec_bits() == 0) {
    visit({outer.offset, outer.timestamp, outer.key, outer.value});
    return {};
  }
  if (!outer.value) return Error{Errc::corrupt, "a compressed message has no value"};
  ScratchBuffer scratch;
  TRY(inflate(outer, limits, scratch.bytes()));
  std::vector<InnerMessage> inner = TRY(read_inner(outer, scratch.bytes()));

  // Magic 0 writes absolute offsets inside, magic 1 relative ones; the wrapper has the last record's absolute offset. A
  // wrapper at 0 is taken for a base of 0, because an old client wrote that.
  std::int64_t base = 0;
  if (outer.magic == 1 && outer.offset.value != 0) {
    std::int64_t last = inner.back().relative_offset;
    if (last < 0 || outer.offset.value < last)
      return Error{Errc::corrupt, fmt::format("wrapper offset {} below its last inner offset {}", outer.offset, last)};
    base = outer.offset.value - last;
  }
  for (const InnerMessage& message : inner) {
    LegacyRecord record;
    record.offset = {add_wrapping(base, message.relative_offset)};
    record.timestamp =
        outer.timestamp_type() == TimestampType::log_append_time ? outer.timestamp : message.message.timestamp;
    record.key = message.message.key;
    record.value = message.message.value;
    if (visit(record) == Walk::stop) return {};
  }
  return {};
}

Result<Offset> legacy_base_offset(BytesView entry, const DecompressionLimits& limits) {
  Offset first{0};
  TRY(for_each_legacy_record(
      entry,
      [&](const LegacyRecord& record) {
        first = record.offset;
        return Walk::stop;
      },
      limits));
  return first;
}

}  // namespace cordwood::record
