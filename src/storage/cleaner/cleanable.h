// storage/cleaner/cleanable.h — how dirty a log is, what of it may be cleaned, whether it is due, and which log is next.
//
// Rules: docs/formats/cleaner.md, "which log, and how much of it" (seen on Kafka 4.4.0). Pure: facts in, a verdict out, and
// the same verdict is the log line, the status and what the tests look at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "storage/log_config.h"

namespace cordwood::storage {

struct CleanableSegment {
  Offset base_offset;
  ByteCount size;
  TimestampMs largest_timestamp = kNoTimestamp;  // or the time of the file, where no record has one
  TimestampMs first_timestamp = kNoTimestamp;    // the largest of its first batch
};

struct CleanableFacts {
  std::vector<CleanableSegment> segments;  // ascending, the active one last; never empty
  Offset log_start;
  Offset log_end;
  Offset last_stable;
  std::optional<Offset> checkpoint;  // where the last pass ended
};

// Whether the first dirty offset is the one of the checkpoint.
enum class DirtyStart { checkpoint, none, below_log_start, above_log_end };

enum class CleaningDecision {
  due_by_ratio,      // dirtier than min.cleanable.dirty.ratio
  due_by_lag,        // a record waits longer than max.compaction.lag.ms
  not_compacted,     // cleanup.policy has no compact
  empty,             // nothing below the first uncleanable offset
  nothing_dirty,     // everything there was cleaned
  not_dirty_enough,
  waits_after_fault,  // it failed not long ago
};
const char* to_string(CleaningDecision decision);

struct CleaningVerdict {
  CleaningDecision decision = CleaningDecision::empty;
  DirtyStart dirty_start = DirtyStart::none;
  Offset first_dirty;
  Offset first_uncleanable;  // the base of a segment
  ByteCount clean_bytes;
  ByteCount cleanable_bytes;
  double dirty_ratio = 0;
  double wanted_ratio = 0;           // min.cleanable.dirty.ratio
  DurationMs overdue;                // how long a dirty record waits beyond max.compaction.lag.ms; 0: none does
  TimestampMs retry_at = kNoTimestamp;  // waits_after_fault: when it is tried again

  bool is_due() const { return decision == CleaningDecision::due_by_ratio || decision == CleaningDecision::due_by_lag; }
  // The checkpoint names an offset that the log does not have, and must be set to the log start.
  bool corrects_checkpoint() const {
    return dirty_start == DirtyStart::below_log_start || dirty_start == DirtyStart::above_log_end;
  }
  bool operator==(const CleaningVerdict&) const = default;
};

CleaningVerdict judge(const CleanableFacts& facts, const LogConfig& config, TimestampMs now);

// "dirty ratio 0.75 (750 of 1000 bytes) is above min.cleanable.dirty.ratio 0.5: offsets 10 to 40 are cleaned"
std::string explain(const CleaningVerdict& verdict);

// The place of the dirtiest of the logs that are due; nothing when none is. Being overdue gives no precedence.
std::optional<std::size_t> filthiest(const std::vector<CleaningVerdict>& verdicts);

}  // namespace cordwood::storage
