#include "storage/cleaner/cleanable.h"

#include <fmt/format.h>

#include <algorithm>

namespace cordwood::storage {
namespace {

// The place of the last segment at or below `offset`; 0 when all lie above.
std::size_t floor_place(const std::vector<CleanableSegment>& segments, Offset offset) {
  const auto above = std::ranges::upper_bound(segments, offset, {}, &CleanableSegment::base_offset);
  return above == segments.begin() ? 0 : static_cast<std::size_t>(above - segments.begin()) - 1;
}

// The dirty segments but the active one: from the one that holds `first_dirty` on.
std::pair<std::size_t, std::size_t> dirty_range(const CleanableFacts& facts, Offset first_dirty) {
  const std::size_t active = facts.segments.size() - 1;
  if (first_dirty > facts.segments.back().base_offset) return {active, active};
  return {std::min(floor_place(facts.segments, first_dirty), active), active};
}

ByteCount bytes_between(const std::vector<CleanableSegment>& segments, std::size_t first, std::size_t end) {
  ByteCount sum{0};
  for (std::size_t i = first; i < end; ++i) sum += segments[i].size;
  return sum;
}

// Segments that reach into [from, to): what Kafka calls the log segments of a range.
std::pair<std::size_t, std::size_t> places(const std::vector<CleanableSegment>& segments, Offset from, Offset to) {
  if (from >= to) return {0, 0};
  const auto end = std::ranges::lower_bound(segments, to, {}, &CleanableSegment::base_offset);
  const std::size_t last = static_cast<std::size_t>(end - segments.begin());
  return {std::min(floor_place(segments, from), last), last};
}

void find_first_dirty(const CleanableFacts& facts, CleaningVerdict& verdict) {
  verdict.first_dirty = facts.log_start;
  if (!facts.checkpoint) {
    verdict.dirty_start = DirtyStart::none;
  } else if (*facts.checkpoint < facts.log_start) {
    verdict.dirty_start = DirtyStart::below_log_start;
  } else if (*facts.checkpoint > facts.log_end) {
    verdict.dirty_start = DirtyStart::above_log_end;
  } else {
    verdict.dirty_start = DirtyStart::checkpoint;
    verdict.first_dirty = *facts.checkpoint;
  }
}

Offset first_uncleanable(const CleanableFacts& facts, const LogConfig& config, Offset first_dirty, TimestampMs now) {
  Offset bound = std::min(facts.last_stable, facts.segments.back().base_offset);
  if (config.min_compaction_lag_ms > DurationMs{0}) {
    const auto [first, end] = dirty_range(facts, first_dirty);
    for (std::size_t i = first; i < end; ++i) {
      if (facts.segments[i].largest_timestamp > now - config.min_compaction_lag_ms) {
        bound = std::min(bound, facts.segments[i].base_offset);
        break;
      }
    }
  }
  bound = std::max(bound, first_dirty);
  // Whole segments only: an undecided transaction in the middle of one keeps all of it.
  const std::size_t active = facts.segments.size() - 1;
  if (bound > facts.segments[active].base_offset) return facts.segments[active].base_offset;
  return facts.segments[floor_place(facts.segments, bound)].base_offset;
}

DurationMs overdue_by(const CleanableFacts& facts, const LogConfig& config, Offset first_dirty, TimestampMs now) {
  const auto [first, end] = dirty_range(facts, first_dirty);
  TimestampMs earliest{INT64_MAX};
  for (std::size_t i = first; i < end; ++i) {
    const TimestampMs timestamp = facts.segments[i].first_timestamp;
    if (timestamp > TimestampMs{0}) earliest = std::min(earliest, timestamp);
  }
  const TimestampMs until = now - std::max(config.max_compaction_lag_ms, DurationMs{0});
  return earliest < until ? until - earliest : DurationMs{0};
}

}  // namespace

const char* to_string(CleaningDecision decision) {
  switch (decision) {
    case CleaningDecision::due_by_ratio: return "due_by_ratio";
    case CleaningDecision::due_by_lag: return "due_by_lag";
    case CleaningDecision::not_compacted: return "not_compacted";
    case CleaningDecision::empty: return "empty";
    case CleaningDecision::nothing_dirty: return "nothing_dirty";
    case CleaningDecision::not_dirty_enough: return "not_dirty_enough";
    case CleaningDecision::waits_after_fault: return "waits_after_fault";
  }
  return "unknown";
}

CleaningVerdict judge(const CleanableFacts& facts, const LogConfig& config, TimestampMs now) {
  CleaningVerdict verdict;
  verdict.wanted_ratio = config.min_cleanable_dirty_ratio;
  if (!config.cleanup_compact) {
    verdict.decision = CleaningDecision::not_compacted;
    return verdict;
  }
  find_first_dirty(facts, verdict);
  verdict.first_uncleanable = first_uncleanable(facts, config, verdict.first_dirty, now);
  verdict.overdue = overdue_by(facts, config, verdict.first_dirty, now);

  const auto [clean_first, clean_end] = places(facts.segments, Offset{INT64_MIN}, verdict.first_dirty);
  const Offset from = std::min(verdict.first_dirty, verdict.first_uncleanable);
  const auto [dirty_first, dirty_end] = places(facts.segments, from, verdict.first_uncleanable);
  verdict.clean_bytes = bytes_between(facts.segments, clean_first, clean_end);
  verdict.cleanable_bytes = bytes_between(facts.segments, dirty_first, dirty_end);
  const ByteCount total = verdict.clean_bytes + verdict.cleanable_bytes;
  if (total > ByteCount{0}) {
    verdict.dirty_ratio = static_cast<double>(verdict.cleanable_bytes.value) / static_cast<double>(total.value);
  }

  if (total == ByteCount{0}) {
    verdict.decision = CleaningDecision::empty;
  } else if (verdict.dirty_ratio > verdict.wanted_ratio) {
    verdict.decision = CleaningDecision::due_by_ratio;
  } else if (verdict.overdue > DurationMs{0} && verdict.cleanable_bytes > ByteCount{0}) {
    verdict.decision = CleaningDecision::due_by_lag;
  } else if (verdict.cleanable_bytes == ByteCount{0}) {
    verdict.decision = CleaningDecision::nothing_dirty;
  } else {
    verdict.decision = CleaningDecision::not_dirty_enough;
  }
  return verdict;
}

std::string explain(const CleaningVerdict& verdict) {
  const std::string ratio = fmt::format("dirty ratio {:.3g} ({} of {} bytes)", verdict.dirty_ratio, verdict.cleanable_bytes,
                                        verdict.clean_bytes + verdict.cleanable_bytes);
  switch (verdict.decision) {
    case CleaningDecision::due_by_ratio:
      return fmt::format("{} is above min.cleanable.dirty.ratio {:.3g}: offsets {} to {} are cleaned", ratio,
                         verdict.wanted_ratio, verdict.first_dirty, verdict.first_uncleanable);
    case CleaningDecision::due_by_lag:
      return fmt::format("a record waits {} ms beyond max.compaction.lag.ms: offsets {} to {} are cleaned, {}",
                         verdict.overdue, verdict.first_dirty, verdict.first_uncleanable, ratio);
    case CleaningDecision::not_compacted: return "cleanup.policy has no compact";
    case CleaningDecision::empty: return fmt::format("nothing lies below offset {}", verdict.first_uncleanable);
    case CleaningDecision::nothing_dirty:
      return fmt::format("everything below offset {} is clean", verdict.first_uncleanable);
    case CleaningDecision::not_dirty_enough:
      return fmt::format("{} is not above min.cleanable.dirty.ratio {:.3g}", ratio, verdict.wanted_ratio);
    case CleaningDecision::waits_after_fault:
      return fmt::format("the last run failed; the next one is at {}", verdict.retry_at);
  }
  return "";
}

std::optional<std::size_t> filthiest(const std::vector<CleaningVerdict>& verdicts) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (!verdicts[i].is_due()) continue;
    if (!best || verdicts[i].dirty_ratio > verdicts[*best].dirty_ratio) best = i;
  }
  return best;
}

}  // namespace cordwood::storage
