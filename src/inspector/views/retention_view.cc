#include <fmt/format.h>

#include <algorithm>

#include "inspector/engine_values.h"
#include "broker/metadata/topic_name.h"
#include "inspector/settings_text.h"
#include "inspector/views/partition_files.h"
#include "inspector/views/retention_walk.h"
#include "inspector/views/views.h"
#include "offline/rendering.h"
#include "storage/directory_files.h"
#include "storage/segment_file_name.h"

namespace cordwood::inspector {
namespace {


// A comma-separated list of "delete" and "compact", or nothing.
Result<std::pair<bool, bool>> parse_policy(std::string_view text) {
  bool deletes = false;
  bool compacts = false;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (word == "delete") {
      deletes = true;
    } else if (word == "compact") {
      compacts = true;
    } else {
      return Error{Errc::invalid, fmt::format("cleanup_policy: '{}' is neither delete nor compact", word)};
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return std::pair(deletes, compacts);
}

std::string limit_words(const char* name, const std::string& value, storage::SettingSource source, bool is_asked) {
  const auto from = [&]() -> const char* {
    if (is_asked) return "as you ask";
    switch (source) {
      case storage::SettingSource::default_value: return "by default";
      case storage::SettingSource::static_broker: return "from server.properties";
      case storage::SettingSource::dynamic_cluster: return "from the dynamic setting of all brokers";
      case storage::SettingSource::dynamic_broker: return "from the dynamic setting of this broker";
      case storage::SettingSource::topic: return "from the topic";
    }
    return "";
  };
  return fmt::format("{} is {}, {}", name, value, from());
}

std::string time_limit_words(const storage::RetentionLimits& limits, const WhatIf& what_if) {
  if (limits.retention_ms < DurationMs{0}) return limit_words("retention.ms", "no limit", limits.retention_ms_source, what_if.retention_ms);
  return limit_words("retention.ms", duration_words(limits.retention_ms), limits.retention_ms_source, what_if.retention_ms);
}

std::string size_limit_words(const storage::RetentionLimits& limits, const WhatIf& what_if) {
  if (limits.retention_bytes < ByteCount{0}) return limit_words("retention.bytes", "no limit", limits.retention_bytes_source, what_if.retention_bytes);
  return limit_words("retention.bytes", offline::human_size(limits.retention_bytes), limits.retention_bytes_source, what_if.retention_bytes);
}

std::string age_words(const storage::RetentionVerdict& verdict, TimestampMs now) {
  const storage::RetentionSegment& segment = verdict.segment;
  const std::int64_t age = record::subtract_wrapping(now.value, segment.largest_timestamp.value);
  if (segment.timestamp_source == storage::TimestampSource::file) {
    return fmt::format("no record has a time, and its file was last written {} ago", duration_words({age}));
  }
  if (segment.largest_timestamp < TimestampMs{0}) return "nobody knows how old its newest record is";
  if (age < 0) return fmt::format("its newest record is {} in the future", duration_words({age}));
  return fmt::format("its newest record is {} old", duration_words({age}));
}

std::string when_words(const storage::RetentionVerdict& verdict, TimestampMs now) {
  std::string text;
  if (verdict.goes_at && verdict.goes_at->value > now.value) {
    text += fmt::format("; it goes in {}, at {}", duration_words(*verdict.goes_at - now), storage::describe_time(*verdict.goes_at));
  }
  if (verdict.goes_after && *verdict.goes_after > ByteCount{0}) {
    text += fmt::format("; it goes once {} more were written", offline::human_size(*verdict.goes_after));
  }
  return text;
}

}  // namespace

std::string plain_words(const storage::RetentionVerdict& verdict, TimestampMs now, const WhatIf& what_if) {
  const storage::RetentionLimits& limits = verdict.limits;
  if (verdict.goes) {
    switch (verdict.rule) {
      case storage::RetentionRule::log_start:
        return fmt::format("This segment goes: all of it lies below the log start {}.", verdict.log_start);
      case storage::RetentionRule::size:
        return fmt::format("This segment goes: {}, and {} are left without it.", size_limit_words(limits, what_if),
                           offline::human_size(verdict.log_size_left));
      default: return fmt::format("This segment goes: {}, {}.", age_words(verdict, now), time_limit_words(limits, what_if));
    }
  }
  const std::string when = when_words(verdict, now);
  switch (verdict.hold) {
    case storage::RetentionHold::unlimited:
      return fmt::format("This segment stays: {}, and {}.", time_limit_words(limits, what_if), size_limit_words(limits, what_if));
    case storage::RetentionHold::policy:
      return fmt::format("This segment stays: {}.",
                         limit_words("cleanup.policy", "without delete", limits.cleanup_policy_source, what_if.cleanup_policy));
    case storage::RetentionHold::within_limits:
    case storage::RetentionHold::future_timestamp: {
      std::string why = limits.retention_ms >= DurationMs{0} ? fmt::format("{}, {}", age_words(verdict, now), time_limit_words(limits, what_if))
                                                             : size_limit_words(limits, what_if);
      if (verdict.unit == storage::TimestampUnit::seconds) why += " (its timestamps look like seconds, not milliseconds)";
      if (verdict.unit == storage::TimestampUnit::microseconds) why += " (its timestamps look like microseconds, not milliseconds)";
      if (verdict.unit == storage::TimestampUnit::nanoseconds) why += " (its timestamps look like nanoseconds, not milliseconds)";
      return fmt::format("This segment stays: {}{}.", why, when);
    }
    case storage::RetentionHold::behind_older:
      return fmt::format("This segment stays: an older one does, and segments go from the oldest on{}.", when);
    case storage::RetentionHold::above_high_watermark:
      return fmt::format("This segment stays, though the {} rule would take it: not all of it is replicated, for the high watermark is {}.",
                         storage::to_string(verdict.rule), verdict.high_watermark);
    case storage::RetentionHold::empty: return "This segment stays: it is empty, and new records are appended here.";
    case storage::RetentionHold::none: break;
  }
  return "This segment stays.";
}

std::vector<ByteCount> sizes_of(const PartitionAt& at, const ExtentAt& extent) {
  std::vector<ByteCount> sizes;
  sizes.reserve(extent.segments.size());
  for (const SegmentAt& segment : extent.segments) {
    if (segment.segment) {
      sizes.push_back(segment.segment->size());
      continue;
    }
    const auto status = at.fs->status(io::join(at.directory, storage::segment_file_name(segment.base, storage::kLogSuffix)));
    sizes.push_back(status ? status->size : ByteCount{0});
  }
  return sizes;
}

void fill_timestamp(const PartitionAt& at, const SegmentAt& segment, storage::RetentionSegment& facts) {
  if (segment.segment) {
    if (const auto max = segment.segment->max_timestamp()) facts.largest_timestamp = max->timestamp;
  } else if (const auto index = open_time_index(at, segment.base); index && *index && (*index)->entries() > 0) {
    const Result<ByteVector> last = (*index)->read((*index)->entries() - 1, 1);
    if (last && !last->empty()) facts.largest_timestamp = time_entry_of(*last, segment.base).timestamp;
  }
  if (facts.largest_timestamp >= TimestampMs{0}) return;
  const auto status = at.fs->status(io::join(at.directory, storage::segment_file_name(segment.base, storage::kLogSuffix)));
  if (!status) return;
  facts.timestamp_source = storage::TimestampSource::file;
  facts.largest_timestamp = status->modified;
}

JudgedSegments judge_segments(const PartitionAt& at, const ExtentAt& extent, const std::vector<ByteCount>& sizes,
                              const storage::RetentionLimits& limits, TimestampMs now, std::size_t from, std::size_t end) {
  JudgedSegments judged;
  ByteCount total{0};
  for (const ByteCount size : sizes) total += size;
  storage::RetentionWalk walk(limits, extent.log_start, extent.high_watermark, total, now);
  int reads = 0;
  for (std::size_t i = 0; i < extent.segments.size() && i < sizes.size(); ++i) {
    const SegmentAt& segment = extent.segments[i];
    const bool shown = i >= from && i < end;
    storage::RetentionSegment facts;
    facts.base_offset = segment.base;
    facts.next_offset = std::max(segment.next, segment.base);
    facts.size = sizes[i];
    facts.active = segment.active;
    if (facts.size > ByteCount{0}) {
      const auto known = segment.segment ? segment.segment->known_max_timestamp() : std::nullopt;
      if (known && known->timestamp >= TimestampMs{0}) {
        facts.largest_timestamp = known->timestamp;
      } else if (reads < kMostTimestampsRead) {
        ++reads;
        fill_timestamp(at, segment, facts);
      } else {
        judged.complete = false;
      }
    }
    storage::RetentionVerdict verdict = walk.judge(facts);
    if (verdict.goes) {
      ++judged.goes_segments;
      judged.goes_bytes += facts.size;
      judged.goes_records += (facts.next_offset - facts.base_offset).value;
    }
    if (shown) judged.verdicts.push_back(std::move(verdict));
  }
  return judged;
}

Result<api::Retention> view_retention(const PartitionAt& at, const api::RetentionQuery& query, TimestampMs now) {
  constexpr std::size_t kMostVerdicts = 2000;
  const ExtentAt extent = TRY(extent_of(at));
  storage::LogConfig config = at.config;
  api::Retention answer;
  if (query.retention_ms) {
    if (*query.retention_ms < -1) return Error{Errc::invalid, "retention_ms: must be -1 or more"};
    config.retention_ms = DurationMs{*query.retention_ms};
  }
  if (query.retention_bytes) {
    if (*query.retention_bytes < -1) return Error{Errc::invalid, "retention_bytes: must be -1 or more"};
    config.retention_bytes = ByteCount{*query.retention_bytes};
  }
  if (query.cleanup_policy) {
    const auto policy = TRY(parse_policy(*query.cleanup_policy));
    config.cleanup_delete = policy.first;
    config.cleanup_compact = policy.second;
  }
  if (query.at_ms) {
    if (*query.at_ms < 0) return Error{Errc::invalid, "at_ms: must be 0 or more"};
    now = TimestampMs{*query.at_ms};
  }
  answer.now_ms = now.value;
  answer.what_if = query.retention_ms || query.retention_bytes || query.cleanup_policy || query.at_ms;
  const WhatIf what_if{query.retention_ms.has_value(), query.retention_bytes.has_value(), query.cleanup_policy.has_value()};
  answer.check_interval_ms = at.retention_check_interval.value;
  const auto setting = [&](const char* name, std::string value, storage::SettingSource source, bool is_callers) {
    api::Setting shown{name, std::move(value), source_words(source), {}, {}};
    const auto known = std::ranges::find(at.settings, name, &api::Setting::name);
    if (known != at.settings.end()) shown.says = known->says;
    if (is_callers) {
      shown.source = "what if";
    } else if (known != at.settings.end()) {
      shown.given_as = known->given_as;
    }
    return shown;
  };
  answer.retention_ms =
      setting("retention.ms", fmt::format("{}", config.retention_ms), config.retention_ms_source, query.retention_ms.has_value());
  answer.retention_bytes = setting("retention.bytes", fmt::format("{}", config.retention_bytes), config.retention_bytes_source,
                                   query.retention_bytes.has_value());
  answer.cleanup_policy =
      setting("cleanup.policy", cleanup_policy_of(config), config.cleanup_policy_source, query.cleanup_policy.has_value());
  const std::vector<ByteCount> sizes = sizes_of(at, extent);
  const JudgedSegments judged =
      judge_segments(at, extent, sizes, storage::RetentionLimits::of(config), now, 0, kMostVerdicts);
  for (const storage::RetentionVerdict& verdict : judged.verdicts) {
    answer.verdicts.push_back(shown_verdict(verdict, plain_words(verdict, now, what_if)));
  }
  answer.goes_segments = judged.goes_segments;
  answer.goes_bytes = judged.goes_bytes.value;
  answer.goes_records = judged.goes_records;
  const std::size_t total = extent.segments.size();
  answer.says = judged.goes_segments == 0
                    ? fmt::format("{} of {} segments goes now", answer.what_if ? "With these values none" : "None", total)
                    : fmt::format("{}{} of {} segments go, with {} and {} offsets", answer.what_if ? "With these values " : "",
                                  judged.goes_segments, total, offline::human_size(judged.goes_bytes), judged.goes_records);
  answer.says += fmt::format("; the broker looks every {}.", duration_words(at.retention_check_interval));
  if (at.partition.topic == broker::metadata::kClusterMetadata) {
    answer.says = "The metadata log knows no such rules: a segment goes once a snapshot that is kept holds all that it tells (metadata.max.retention.bytes, "
                  "metadata.max.retention.ms).";
  }
  if (total > kMostVerdicts) answer.says += fmt::format(" The oldest {} are listed.", kMostVerdicts);
  if (!judged.complete) answer.says += " The ages of some are not known yet; ask again.";
  return answer;
}

}  // namespace cordwood::inspector
