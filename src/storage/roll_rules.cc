#include "storage/roll_rules.h"

#include <algorithm>

namespace cordwood::storage {

const char* to_string(RollReason reason) {
  switch (reason) {
    case RollReason::none: return "none";
    case RollReason::size: return "size";
    case RollReason::time: return "time";
    case RollReason::offset_index_full: return "offset index full";
    case RollReason::time_index_full: return "time index full";
    case RollReason::relative_offset_overflow: return "relative offset overflow";
  }
  return "?";
}

DurationMs effective_segment_ms(const LogConfig& config) {
  return config.cleanup_compact ? std::min(config.segment_ms, config.max_compaction_lag_ms) : config.segment_ms;
}

RollReason should_roll(const RollCandidate& segment, const RollAppend& append, const LogConfig& config,
                       TimestampMs now) {
  if (segment.size > config.segment_bytes - append.size) return RollReason::size;
  if (segment.size > ByteCount{0}) {
    // Record time where records carry one, wall clock where they do not.
    // A time before 1970 counts as none: the difference must not overflow.
    const DurationMs waited = segment.rolling_timestamp >= TimestampMs{0}
                                  ? std::max(append.max_timestamp, kNoTimestamp) - segment.rolling_timestamp
                                  : now - segment.created;
    if (waited > effective_segment_ms(config) - segment.jitter) return RollReason::time;
  }
  if (segment.offset_index_entries >= segment.offset_index_max_entries) return RollReason::offset_index_full;
  if (segment.time_index_entries >= segment.time_index_max_entries - 1) return RollReason::time_index_full;
  const OffsetDelta relative = append.last_offset - segment.base_offset;
  if (relative < OffsetDelta{0} || relative > OffsetDelta{INT32_MAX}) return RollReason::relative_offset_overflow;
  return RollReason::none;
}

}  // namespace cordwood::storage
