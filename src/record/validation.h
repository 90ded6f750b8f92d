// record/validation.h — what a broker checks and rewrites before it appends a produced batch.
//
// Follows Kafka's order of checks, its codes and its texts (docs/formats/record_batch.md, "append on the leader"; each
// seen on Kafka 4.4.0). Runs outside any lock. Pure but for the bytes it may rewrite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/types.h"
#include "record/batch.h"
#include "record/compression.h"
#include "record/record.h"

namespace cordwood::record {

// The topic's settings that validation needs, and the request's.
struct ValidationRules {
  std::string topic_partition;                           // "topic-0", for messages
  bool compacted = false;                                // cleanup.policy contains compact: keys are required
  TimestampType timestamp_type = TimestampType::create_time;
  DurationMs timestamp_before_max{9'223'372'036'854'775'807};  // message.timestamp.before.max.ms
  DurationMs timestamp_after_max{3'600'000};                   // message.timestamp.after.max.ms
  ByteCount max_message_bytes{1'048'588};                // max.message.bytes, of the whole batch, strict >
  std::optional<CompressionSettings> target_compression; // absent: compression.type=producer, keep the batch's codec
  int gzip_level = -1;                                   // levels used when target_compression has none
  DecompressionLimits limits;
  bool zstd_allowed = true;                              // produce v7 and later
  TimestampMs now;
};

// The verdict, in the terms of the protocol without knowing it: broker/ maps each to an error code.
enum class ProduceFault {
  none,
  invalid_record,             // 87
  corrupt_message,            // 2
  message_too_large,          // 10
  invalid_timestamp,          // 32
  unsupported_compression,    // 76
  unknown_server_error,       // -1: bytes that do not decompress, codec ids 5-7 (seen on 4.4.0)
};

struct RecordFault {
  std::int32_t batch_index = 0;
  std::string message;
};

struct ValidatedBatch {
  ProduceFault fault = ProduceFault::none;
  std::optional<std::string> message;       // ErrorMessage, as Kafka words it
  std::vector<RecordFault> record_faults;   // RecordErrors

  // When there is no fault: exactly one batch. Either a part of the request's own bytes (rewritten in place where
  // needed), or `rebuilt`, when the broker had to compress anew. Base offset and leader epoch are not yet set.
  MutableBytesView batch;
  ByteVector rebuilt;
  BatchHeader header;  // of `batch`
};

// Validates the records field of one partition of a Produce request. `records` is the field as it arrived; it is
// rewritten in place (timestamp type, max timestamp, CRC) when the rules demand it.
ValidatedBatch validate_produce(MutableBytesView records, const ValidationRules& rules);

}  // namespace cordwood::record
