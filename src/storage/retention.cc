#include "storage/retention.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace cordwood::storage {
namespace {

// 2000-01-01, and ten years from now: what lies between is taken for a time in milliseconds.
constexpr std::int64_t kFirstPlausible = 946'684'800'000;
constexpr std::int64_t kTenYears = 315'576'000'000;

// Behind retention.ms of `timestamp`, when there is such a moment.
std::optional<TimestampMs> expiry(TimestampMs timestamp, DurationMs retention) {
  std::int64_t at = 0;
  if (__builtin_add_overflow(timestamp.value, retention.value, &at) || at == INT64_MAX) return std::nullopt;
  return TimestampMs{at + 1};
}

std::string setting(std::string_view name, std::int64_t value, SettingSource source) {
  return fmt::format("{}={} ({})", name, value, to_string(source));
}

const char* unit_name(TimestampUnit unit) {
  switch (unit) {
    case TimestampUnit::milliseconds: return "milliseconds";
    case TimestampUnit::seconds: return "seconds";
    case TimestampUnit::microseconds: return "microseconds";
    case TimestampUnit::nanoseconds: return "nanoseconds";
    case TimestampUnit::unknown: return "no unit";
  }
  return "";
}

std::string newest(const RetentionVerdict& verdict) {
  const RetentionSegment& segment = verdict.segment;
  if (segment.timestamp_source == TimestampSource::file) {
    return fmt::format("no record has a time, the file was last written {}", describe_time(segment.largest_timestamp));
  }
  std::string text = fmt::format("newest record {}", describe_time(segment.largest_timestamp));
  if (verdict.unit == TimestampUnit::milliseconds || verdict.unit == TimestampUnit::unknown) return text;
  return fmt::format("{}, whose timestamp {} looks like {} and not milliseconds", text, segment.largest_timestamp,
                     unit_name(verdict.unit));
}

}  // namespace

const char* to_string(RetentionRule rule) {
  switch (rule) {
    case RetentionRule::none: return "none";
    case RetentionRule::log_start: return "log start";
    case RetentionRule::size: return "size";
    case RetentionRule::time: return "time";
  }
  return "";
}

const char* to_string(RetentionHold hold) {
  switch (hold) {
    case RetentionHold::none: return "none";
    case RetentionHold::unlimited: return "unlimited";
    case RetentionHold::policy: return "policy";
    case RetentionHold::within_limits: return "within limits";
    case RetentionHold::future_timestamp: return "future timestamp";
    case RetentionHold::behind_older: return "behind older";
    case RetentionHold::above_high_watermark: return "above high watermark";
    case RetentionHold::empty: return "empty";
  }
  return "";
}

const char* to_string(SettingSource source) {
  switch (source) {
    case SettingSource::default_value: return "default";
    case SettingSource::static_broker: return "server.properties";
    case SettingSource::dynamic_cluster: return "dynamic, all brokers";
    case SettingSource::dynamic_broker: return "dynamic, this broker";
    case SettingSource::topic: return "topic";
  }
  return "";
}

std::string describe_time(TimestampMs time) {
  constexpr TimestampMs kFirst{-62'167'219'200'000};   // 0000-01-01
  constexpr TimestampMs kLast{253'402'300'799'999};    // 9999-12-31
  if (time < kFirst || time > kLast) return fmt::format("{} ms", time);
  const std::int64_t milliseconds = (time.value % 1000 + 1000) % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime((time.value - milliseconds) / 1000), milliseconds);
}

TimestampUnit likely_unit(TimestampMs timestamp, TimestampMs now) {
  const std::int64_t last = now.value > INT64_MAX - kTenYears ? INT64_MAX : now.value + kTenYears;
  const auto plausible = [&](std::int64_t ms) { return ms >= kFirstPlausible && ms <= last; };
  if (plausible(timestamp.value)) return TimestampUnit::milliseconds;
  if (timestamp.value > 0 && timestamp.value < INT64_MAX / 1000 && plausible(timestamp.value * 1000)) {
    return TimestampUnit::seconds;
  }
  if (plausible(timestamp.value / 1000)) return TimestampUnit::microseconds;
  if (plausible(timestamp.value / 1'000'000)) return TimestampUnit::nanoseconds;
  return TimestampUnit::unknown;
}

RetentionLimits RetentionLimits::of(const LogConfig& config) {
  return {config.retention_ms,        config.retention_bytes,        config.cleanup_delete,
          config.retention_ms_source, config.retention_bytes_source, config.cleanup_policy_source};
}

bool RetentionWalk::takes(RetentionRule rule, const RetentionSegment& segment) const {
  switch (rule) {
    case RetentionRule::none: return false;
    // Never the last segment, even when all of it lies below the log start.
    case RetentionRule::log_start: return !segment.active && segment.next_offset <= log_start_;
    case RetentionRule::size:
      return limits_.deletes && limits_.retention_bytes >= ByteCount{0} && left_ - segment.size >= limits_.retention_bytes;
    case RetentionRule::time: {
      if (!limits_.deletes || limits_.retention_ms < DurationMs{0}) return false;
      const std::optional<TimestampMs> at = expiry(segment.largest_timestamp, limits_.retention_ms);
      return at && now_ >= *at;
    }
  }
  return false;
}

bool RetentionWalk::needs_timestamp(const RetentionSegment& segment) const {
  if (rule_ == RetentionRule::none || !limits_.deletes || limits_.retention_ms < DurationMs{0}) return false;
  if (segment.active && segment.size == ByteCount{0}) return false;
  return !(rule_ <= RetentionRule::log_start && takes(RetentionRule::log_start, segment)) &&
         !(rule_ <= RetentionRule::size && takes(RetentionRule::size, segment));
}

RetentionVerdict RetentionWalk::verdict_of(const RetentionSegment& segment) const {
  RetentionVerdict verdict;
  verdict.segment = segment;
  verdict.limits = limits_;
  verdict.log_start = log_start_;
  verdict.high_watermark = high_watermark_;
  verdict.log_size_left = left_ - segment.size;
  if (segment.timestamp_source == TimestampSource::records && segment.largest_timestamp >= TimestampMs{0}) {
    verdict.unit = likely_unit(segment.largest_timestamp, now_);
  }
  return verdict;
}

RetentionVerdict RetentionWalk::judge(const RetentionSegment& segment) {
  RetentionVerdict verdict = verdict_of(segment);
  const bool removable = high_watermark_ >= segment.next_offset && !(segment.active && segment.size == ByteCount{0});
  for (RetentionRule rule : {RetentionRule::log_start, RetentionRule::size, RetentionRule::time}) {
    if (rule_ == RetentionRule::none || rule < rule_) continue;
    if (removable && takes(rule, segment)) {
      rule_ = rule;
      verdict.goes = true;
      verdict.rule = rule;
      break;
    }
  }
  if (!verdict.goes) explain_stay(verdict);
  left_ = left_ - segment.size;
  return verdict;
}

void RetentionWalk::explain_stay(RetentionVerdict& verdict) {
  const RetentionSegment& segment = verdict.segment;
  const bool first_to_stay = rule_ != RetentionRule::none;
  rule_ = RetentionRule::none;

  const bool limited_by_time = limits_.deletes && limits_.retention_ms >= DurationMs{0};
  const bool limited_by_size = limits_.deletes && limits_.retention_bytes >= ByteCount{0};
  if (limited_by_size) {
    verdict.goes_after = std::max(limits_.retention_bytes - verdict.log_size_left, ByteCount{0});
  }
  // An older one that stays longer holds this one too.
  if (limited_by_time && older_go_at_ && segment.largest_timestamp > kNoTimestamp) {
    const std::optional<TimestampMs> own = expiry(segment.largest_timestamp, limits_.retention_ms);
    if (own) verdict.goes_at = std::max(*own, *older_go_at_);
  }
  older_go_at_ = verdict.goes_at;

  for (RetentionRule rule : {RetentionRule::log_start, RetentionRule::size, RetentionRule::time}) {
    if (verdict.rule == RetentionRule::none && takes(rule, segment)) verdict.rule = rule;
  }
  if (segment.active && segment.size == ByteCount{0}) {
    verdict.hold = RetentionHold::empty;
    verdict.rule = RetentionRule::none;
    verdict.goes_at.reset();
    verdict.goes_after.reset();
  } else if (!first_to_stay) {
    verdict.hold = RetentionHold::behind_older;
  } else if (verdict.rule != RetentionRule::none) {
    verdict.hold = RetentionHold::above_high_watermark;
  } else if (!limits_.deletes) {
    verdict.hold = RetentionHold::policy;
  } else if (!limited_by_time && !limited_by_size) {
    verdict.hold = RetentionHold::unlimited;
  } else {
    const bool future = limited_by_time && segment.largest_timestamp > now_;
    verdict.hold = future ? RetentionHold::future_timestamp : RetentionHold::within_limits;
    if (limited_by_time) verdict.rule = RetentionRule::time;
    if (!limited_by_time) verdict.rule = RetentionRule::size;
  }
}

std::string describe(const RetentionVerdict& verdict) {
  const RetentionSegment& segment = verdict.segment;
  const RetentionLimits& limits = verdict.limits;
  const std::string offsets = segment.next_offset > segment.base_offset
                                  ? fmt::format("offsets {} to {}", segment.base_offset, segment.next_offset.value - 1)
                                  : std::string("no offset yet");
  const std::string what =
      fmt::format("{}segment {} ({}, {} bytes)", segment.active ? "active " : "", segment.base_offset, offsets, segment.size);
  const std::string by_time = setting("retention.ms", limits.retention_ms.value, limits.retention_ms_source);
  const std::string by_size = setting("retention.bytes", limits.retention_bytes.value, limits.retention_bytes_source);
  if (verdict.goes) {
    switch (verdict.rule) {
      case RetentionRule::log_start:
        return fmt::format("{} goes: it lies below the log start offset {}", what, verdict.log_start);
      case RetentionRule::size:
        return fmt::format("{} goes: {}, and {} bytes are left without it", what, by_size, verdict.log_size_left);
      default: return fmt::format("{} goes: {}, {}", what, by_time, newest(verdict));
    }
  }
  std::string when;
  if (verdict.goes_at) when += fmt::format("; by time it goes at {}", describe_time(*verdict.goes_at));
  if (verdict.goes_after && *verdict.goes_after > ByteCount{0}) {
    when += fmt::format("; by size it goes once {} bytes more were written", *verdict.goes_after);
  }
  switch (verdict.hold) {
    case RetentionHold::unlimited:
      return fmt::format("{} stays: neither {} nor {} limits it", what, by_time, by_size);
    case RetentionHold::policy:
      return fmt::format("{} stays: cleanup.policy ({}) has no delete", what, to_string(limits.cleanup_policy_source));
    case RetentionHold::above_high_watermark:
      return fmt::format("{} stays, though the {} rule would take it: the high watermark {} is below its end", what,
                         to_string(verdict.rule), verdict.high_watermark);
    case RetentionHold::future_timestamp:
      return fmt::format("{} stays: its newest record is from the future: {}; {}{}", what, newest(verdict), by_time, when);
    case RetentionHold::behind_older:
      return fmt::format("{} stays: an older segment does{}", what, when);
    case RetentionHold::empty: return fmt::format("{} stays: it is empty", what);
    case RetentionHold::within_limits:
      if (limits.retention_ms < DurationMs{0}) return fmt::format("{} stays: within {}{}", what, by_size, when);
      return fmt::format("{} stays: within {}, {}{}", what, by_time, newest(verdict), when);
    case RetentionHold::none: break;
  }
  return what;
}

}  // namespace cordwood::storage
