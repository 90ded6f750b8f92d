// record/walk.h — walking the batches of a buffer, also legacy ones (magic 0 and 1), as Kafka walks a file.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "record/batch.h"

namespace cordwood::record {

// What the first 17 bytes of an entry in a log tell.
struct EntryPrefix {
  Offset offset;            // base offset for magic 2; offset of the last inner message for 0 and 1
  std::int32_t length = 0;  // bytes after the length field
  std::int8_t magic = 0;
  ByteCount total_size() const { return {static_cast<std::int64_t>(length) + static_cast<std::int64_t>(kLogOverhead)}; }
};

// Reads the prefix. `bytes` must hold 17 bytes (checked). Errors: corrupt when the length is below 14.
Result<EntryPrefix> read_prefix(BytesView bytes);

// A whole entry of any magic, as recovery, lookup and search need it. For magic 0 and 1: offsets and timestamps per
// docs/formats/record_batch.md, "legacy"; their records are read with legacy.h.
struct EntryInfo {
  std::int8_t magic = 2;
  Offset base_offset;       // of a compressed legacy entry: last_offset, as nothing is decompressed here; see legacy.h
  Offset last_offset;
  TimestampMs max_timestamp = kNoTimestamp;
  ByteCount size;
  std::optional<BatchHeader> header;  // magic 2 only
};

// Checks size and CRC (CRC-32C or, for legacy, CRC-32) and describes the entry. `entry` holds it whole; what follows it
// is not looked at. Nothing is decompressed. Errors: corrupt; unsupported for other
// magics.
Result<EntryInfo> check_entry(BytesView entry);

}  // namespace cordwood::record
