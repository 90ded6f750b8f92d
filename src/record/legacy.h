// record/legacy.h — messages of the formats before batches (magic 0 and 1), for reading old segments. Never written.
//
// An entry is one message, or a wrapper: a message without key whose value holds compressed messages.
// Format, offsets and timestamps of inner messages: docs/formats/record_batch.md, "legacy"
#pragma once

#include <functional>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "record/record.h"

namespace cordwood::record {

// Positions in a message; key and value follow as i32 length (-1 is null) and bytes.
inline constexpr std::size_t kLegacyCrc = kMagic - 4;                   // u32, CRC-32 of kMagic..end
inline constexpr std::size_t kLegacyAttributes = kMagic + 1;            // bits 0-2 codec, bit 3 timestamp type (v1)
inline constexpr std::size_t kLegacyTimestamp = kLegacyAttributes + 1;  // i64, v1 only
inline constexpr std::size_t kLegacyBodyV0 = kLegacyAttributes + 1;     // key length
inline constexpr std::size_t kLegacyBodyV1 = kLegacyTimestamp + 8;
inline constexpr std::int32_t kSmallestLegacyLengthV0 = 14;
inline constexpr std::int32_t kSmallestLegacyLengthV1 = 22;
static_assert(kLegacyCrc == 12 && kLegacyBodyV0 == 18 && kLegacyBodyV1 == 26);

// A message as its fields stand, a wrapper as itself.
struct LegacyMessage {
  Offset offset;
  std::int8_t magic = 0;
  std::uint32_t crc = 0;
  std::uint8_t attributes = 0;
  TimestampMs timestamp = kNoTimestamp;  // kNoTimestamp for magic 0
  std::optional<BytesView> key;
  std::optional<BytesView> value;

  std::uint8_t codec_bits() const { return attributes & 7; }
  TimestampType timestamp_type() const {
    return magic == 1 && (attributes & 8) != 0 ? TimestampType::log_append_time : TimestampType::create_time;
  }
};

// The message at the start of `entry` without key and value, with size and CRC-32 checked: what recovery asks of it.
// Errors: corrupt; unsupported for other magics.
Result<LegacyMessage> parse_legacy_header(BytesView entry);

// The whole message. Errors: also corrupt when key or value reach beyond it.
Result<LegacyMessage> parse_legacy(BytesView entry);

// A record of an entry, with its absolute offset and the timestamp that readers see. Views live until the next.
struct LegacyRecord {
  Offset offset;
  TimestampMs timestamp = kNoTimestamp;
  std::optional<BytesView> key;
  std::optional<BytesView> value;
};

// Calls `visit` for the message, or for each message inside the wrapper. Errors: as parse_legacy; corrupt also for a
// wrapper without value, one whose value does not decompress or holds no message, another magic or a wrapper inside, or
// an offset that makes inner ones negative; limit for a bomb.
Result<void> for_each_legacy_record(BytesView entry, const std::function<Walk(const LegacyRecord&)>& visit,
                                    const DecompressionLimits& limits = {});

// The offset of the entry's first record; decompresses a wrapper. Errors: as for_each_legacy_record.
Result<Offset> legacy_base_offset(BytesView entry, const DecompressionLimits& limits = {});

}  // namespace cordwood::record
