// Retention of a PartitionLog: the rule of retention.h over its segments, and what follows from it.

#include <fmt/format.h>

#include <algorithm>

#include "storage/partition_log_impl.h"

namespace cordwood::storage {
namespace {

RetentionSegment facts_of(const SegmentList& list, std::size_t index, Offset log_end) {
  RetentionSegment facts;
  facts.base_offset = list[index]->base_offset();
  facts.active = index + 1 == list.size();
  facts.next_offset = facts.active ? std::max(log_end, facts.base_offset) : list[index + 1]->base_offset();
  facts.size = list[index]->size();
  return facts;
}

ByteCount size_of(const SegmentList& list) {
  ByteCount total{0};
  for (const auto& segment : list) total += segment->size();
  return total;
}

}  // namespace

RetentionLimits PartitionLog::Impl::retention_limits() const {
  MutexLock lock(mu);
  return RetentionLimits::of(config);
}

Result<void> PartitionLog::Impl::fill_timestamp(RetentionSegment& facts, const Segment& segment) const {
  const MaxTimestamp max = TRY(segment.max_timestamp());
  facts.largest_timestamp = max.timestamp;
  if (max.timestamp >= TimestampMs{0}) return {};
  facts.timestamp_source = TimestampSource::file;
  facts.largest_timestamp = TRY(segment.file_time());
  return {};
}

Result<PartitionLog::Impl::RetentionFinding> PartitionLog::Impl::judge(const SegmentList& list, Offset log_end,
                                                                       const RetentionLimits& limits, TimestampMs now,
                                                                       std::vector<RetentionVerdict>* going) const {
  RetentionFinding finding;
  const bool sized = limits.deletes && limits.retention_bytes >= ByteCount{0};
  RetentionWalk walk(limits, log_start.load(std::memory_order_acquire), high_watermark.load(std::memory_order_acquire),
                     sized ? size_of(list) : ByteCount{0}, now);
  for (; finding.going < list.size(); ++finding.going) {
    RetentionSegment facts = facts_of(list, finding.going, log_end);
    if (walk.needs_timestamp(facts)) TRY(fill_timestamp(facts, *list[finding.going]));
    RetentionVerdict verdict = walk.judge(facts);
    if (!verdict.goes) {
      finding.first_to_stay = verdict;
      break;
    }
    if (going != nullptr) going->push_back(std::move(verdict));
  }
  return finding;
}

Result<bool> PartitionLog::retention_due(TimestampMs now) {
  if (const std::optional<Error> refusal = impl_->refusal()) return *refusal;
  const Offset log_end = impl_->end.load().offset;
  const auto list = impl_->segments_view.load();
  const Impl::RetentionFinding finding =
      TRY(impl_->judge(*list, log_end, impl_->retention_limits(), now, nullptr));
  if (finding.first_to_stay && finding.going == 0) {
    const RetentionHold hold = finding.first_to_stay->hold;
    if (hold == RetentionHold::future_timestamp || hold == RetentionHold::above_high_watermark) {
      impl_->complain(*finding.first_to_stay);
    }
  }
  return finding.going > 0;
}

// A segment that the size or time rule would take but for the high watermark, or that a timestamp pins, holds up all that
// come behind it.
void PartitionLog::Impl::complain(const RetentionVerdict& verdict) {
  {
    const MonotonicNs now = env.clock->monotonic();
    MutexLock lock(retired_mu);
    Complaint& last = last_complaint;
    const bool same = last.hold == verdict.hold && last.segment == verdict.segment.base_offset;
    if (same && now - last.at < to_ns(kComplaintInterval)) return;
    last = {now, verdict.segment.base_offset, verdict.hold};
  }
  env.logger->warn("retention: {}: {}", partition.to_string(), describe(verdict));
}

// The decision is made again under the lock: the list, the end and the settings are now those that are changed.
Result<PartitionLog::Impl::Removal> PartitionLog::Impl::take_out(TimestampMs now) {
  Removal removal;
  MutexLock lock(mu);
  if (closed) return Error{Errc::closed, fmt::format("{} is closed", partition.to_string())};
  const RetentionFinding finding =
      TRY(judge(segments, end.load().offset, RetentionLimits::of(config), now, &removal.verdicts));
  if (finding.going == 0) return removal;
  if (finding.going == segments.size()) {
    const Offset log_end = end.load().offset;
    TRY(roll(log_end));
    removal.rolled_to = log_end;
  }
  const auto first_kept = segments.begin() + static_cast<std::ptrdiff_t>(finding.going);
  removal.gone.assign(segments.begin(), first_kept);
  // Readers see the start before the segments go, so that none of them looks for what is no longer there.
  TRY(move_log_start((*first_kept)->base_offset()));
  segments.erase(segments.begin(), first_kept);
  publish_segments();
  removal.snapshots = forget_snapshots(removal.gone);
  removal.delay = config.file_delete_delay_ms;
  return removal;
}

Result<std::vector<RetentionVerdict>> PartitionLog::apply_retention(TimestampMs now) {
  if (const std::optional<Error> refusal = impl_->refusal()) return *refusal;
  const auto act = [&]() -> Result<Impl::Removal> {
    MutexLock flush_lock(impl_->flush_mu);
    Impl::Removal removal = TRY(impl_->take_out(now));
    TRY(impl_->retire(removal.gone, removal.snapshots, removal.delay));
    return removal;
  };
  Result<Impl::Removal> removal = act();
  if (!removal && removal.error().code == Errc::closed) return removal.error();
  std::function<void(Offset)> on_rolled;
  std::function<void(const Error&)> on_failed;
  if (!removal) impl_->fail(removal.error());
  {
    MutexLock lock(impl_->mu);
    if (!removal) on_failed = impl_->failure_callback;
    if (removal && removal->rolled_to) on_rolled = impl_->roll_callback;
  }
  if (on_failed) on_failed(removal.error());
  if (!removal) return removal.error();
  if (on_rolled) on_rolled(*removal->rolled_to);
  for (const RetentionVerdict& verdict : removal->verdicts) {
    impl_->env.logger->info("retention: {}: {}", impl_->partition.to_string(), describe(verdict));
  }
  if (!removal->gone.empty()) {
    impl_->env.logger->info("retention: {} now starts at offset {}", impl_->partition.to_string(), log_start_offset());
  }
  return std::move(removal->verdicts);
}

Result<std::vector<RetentionVerdict>> PartitionLog::explain_retention(TimestampMs now) const {
  const Offset log_end = impl_->end.load().offset;
  const auto list = impl_->segments_view.load();
  RetentionWalk walk(impl_->retention_limits(), log_start_offset(), high_watermark(), size_of(*list), now);
  std::vector<RetentionVerdict> verdicts;
  for (std::size_t i = 0; i < list->size(); ++i) {
    RetentionSegment facts = facts_of(*list, i, log_end);
    if (facts.size > ByteCount{0}) TRY(impl_->fill_timestamp(facts, *(*list)[i]));
    verdicts.push_back(walk.judge(facts));
  }
  return verdicts;
}

}  // namespace cordwood::storage
