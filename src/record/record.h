// record/record.h — one record inside a batch v2, and the walk over a batch's records.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "record/batch.h"

namespace cordwood::record {

struct HeaderView {
  std::string_view key;
  std::optional<BytesView> value;
};

// Views point into the batch, or into the decompressed bytes that the walk holds, and live until the next record.
struct RecordView {
  Offset offset;             // base offset + offset delta
  TimestampMs timestamp;     // the batch's max timestamp when its type is log append time
  std::int32_t offset_delta = 0;
  std::int64_t timestamp_delta = 0;
  std::int8_t attributes = 0;
  std::optional<BytesView> key;    // absent is null
  std::optional<BytesView> value;  // absent is null: a tombstone in a compacted topic
  std::vector<HeaderView> headers;
};

// Caps for bytes that claim to be compressed. Compressed data may be a bomb, so both are checked while inflating.
struct DecompressionLimits {
  ByteCount largest_batch{1 * GiB};                  // all records of a batch
  ByteCount largest_record{2'147'483'639};           // max.decompressed.message.bytes: > is refused
};

enum class Walk { go_on, stop };

// Calls `visit` for each record in order. Checks each record's structure and that exactly record_count records fill the
// payload. Errors: corrupt with the index of the record; unsupported for codec bits 5-7; limit for a bomb.
// The records before a bad one have been visited by then.
Result<void> for_each_record(const BatchView& batch, const std::function<Walk(const RecordView&)>& visit,
                             const DecompressionLimits& limits = {});

}  // namespace cordwood::record
