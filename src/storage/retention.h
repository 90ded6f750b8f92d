// storage/retention.h — which segments of a log may go, and why: the one rule behind the deletion, its log lines and the
// explanations.
//
// Pure. Segments are looked at from the oldest on, whole, by three rules one after the other: below the log start (every
// cleanup.policy), more than retention.bytes in all, older than retention.ms (cleanup.policy with `delete`). Each rule
// takes segments until the first that it does not take; nothing goes that is not wholly below the high watermark. The
// active segment goes like the others, but for an empty one: a new one is made behind it first. Comparators are
// Kafka's (docs/formats/partition_log.md, "retention"; seen on Kafka 4.4.0).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "storage/log_config.h"

namespace cordwood::storage {

enum class RetentionRule : std::uint8_t { none, log_start, size, time };

// Why a segment stays.
enum class RetentionHold : std::uint8_t {
  none,                  // it goes
  unlimited,             // neither retention.ms nor retention.bytes limits it
  policy,                // cleanup.policy has no `delete`
  within_limits,         // young enough, and the log without it would hold less than retention.bytes
  future_timestamp,      // within limits by a record that is from the future
  behind_older,          // an older segment stays
  above_high_watermark,  // a rule would take it, but not all of it is committed
  empty,                 // the active segment holds nothing
};

enum class TimestampSource : std::uint8_t { records, file };  // file: no record has a time, the .log's last change counts

// In which unit a number makes sense as a time of this century.
enum class TimestampUnit : std::uint8_t { milliseconds, seconds, microseconds, nanoseconds, unknown };
TimestampUnit likely_unit(TimestampMs timestamp, TimestampMs now);

struct RetentionSegment {
  Offset base_offset;
  Offset next_offset;  // the base of the next segment, or the log end
  ByteCount size;
  bool active = false;
  // Asked for by the time rule alone; the rest of the time it may be missing.
  TimestampMs largest_timestamp = kNoTimestamp;
  TimestampSource timestamp_source = TimestampSource::records;
};

// What the rule reads of a LogConfig.
struct RetentionLimits {
  DurationMs retention_ms;
  ByteCount retention_bytes;
  bool deletes = true;  // cleanup.policy contains delete
  SettingSource retention_ms_source = SettingSource::default_value;
  SettingSource retention_bytes_source = SettingSource::default_value;
  SettingSource cleanup_policy_source = SettingSource::default_value;
  static RetentionLimits of(const LogConfig& config);
};

struct RetentionVerdict {
  RetentionSegment segment;
  bool goes = false;
  RetentionRule rule = RetentionRule::none;  // that takes it; of one that stays, the first that will or would
  RetentionHold hold = RetentionHold::none;
  TimestampUnit unit = TimestampUnit::milliseconds;  // of its largest timestamp, as it looks
  // Of one that stays: when the time rule takes it, should nothing else change. Absent: never, or not known.
  std::optional<TimestampMs> goes_at;
  // Of one that stays: once so many bytes more were appended, the size rule takes it. Absent: never.
  std::optional<ByteCount> goes_after;
  ByteCount log_size_left;  // by the size rule: what the log holds without this one and the older ones
  RetentionLimits limits;   // in force
  Offset log_start;
  Offset high_watermark;
};

// One sentence: the segment, its offsets and bytes, the rule, its setting and where that comes from.
std::string describe(const RetentionVerdict& verdict);
const char* to_string(RetentionRule rule);
const char* to_string(RetentionHold hold);
const char* to_string(SettingSource source);
// "2026-01-31T23:59:59.123Z", or the number where no calendar has it.
std::string describe_time(TimestampMs time);

// The walk over one log: judge() is asked for each segment from the oldest on. Allocates nothing.
class RetentionWalk {
 public:
  RetentionWalk(const RetentionLimits& limits, Offset log_start, Offset high_watermark, ByteCount log_size,
                TimestampMs now)
      : limits_(limits), log_start_(log_start), high_watermark_(high_watermark), left_(log_size), now_(now) {}

  // Whether the segment's largest timestamp matters to the next verdict, given all but that.
  bool needs_timestamp(const RetentionSegment& segment) const;
  RetentionVerdict judge(const RetentionSegment& segment);

 private:
  bool takes(RetentionRule rule, const RetentionSegment& segment) const;
  RetentionVerdict verdict_of(const RetentionSegment& segment) const;
  void explain_stay(RetentionVerdict& verdict);

  const RetentionLimits limits_;
  const Offset log_start_;
  const Offset high_watermark_;
  ByteCount left_;  // of this segment and those behind it
  const TimestampMs now_;
  RetentionRule rule_ = RetentionRule::log_start;  // the one that takes at the moment; none once a segment stayed
  std::optional<TimestampMs> older_go_at_{TimestampMs{INT64_MIN}};  // the latest of those that stay; absent: never
};

}  // namespace cordwood::storage
