// storage/roll_rules.h — when the active segment ends and a new one begins.
//
// Pure, evaluated before each append. Comparators and the meaning of time are Kafka's (docs/formats/partition_log.md,
// "rolling"; each seen on Kafka 4.4.0).
#pragma once

#include <optional>

#include "base/types.h"
#include "storage/log_config.h"

namespace cordwood::storage {

enum class RollReason { none, size, time, offset_index_full, time_index_full, relative_offset_overflow };
const char* to_string(RollReason reason);

// The active segment as it is.
struct RollCandidate {
  Offset base_offset;
  ByteCount size;
  std::int64_t offset_index_entries = 0;
  std::int64_t offset_index_max_entries = 0;
  std::int64_t time_index_entries = 0;
  std::int64_t time_index_max_entries = 0;  // one of them is kept for the closing entry
  // Max timestamp of the first batch; kNoTimestamp when there is none or it carries no time.
  TimestampMs rolling_timestamp = kNoTimestamp;
  TimestampMs created;  // when the segment object was made, or was emptied
  DurationMs jitter;    // chosen once per segment
};

// What is about to be appended.
struct RollAppend {
  ByteCount size;
  TimestampMs max_timestamp = kNoTimestamp;
  Offset last_offset;
};

// segment.ms, or max.compaction.lag.ms where that is shorter and the log is compacted.
DurationMs effective_segment_ms(const LogConfig& config);

RollReason should_roll(const RollCandidate& segment, const RollAppend& append, const LogConfig& config, TimestampMs now);

}  // namespace cordwood::storage
