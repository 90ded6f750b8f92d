// What PartitionLog has for the cleaner: facts, and the swap of segments for their cleaned successors.

#include <fmt/format.h>

#include <algorithm>

#include "storage/cleaner/cleanable.h"
#include "storage/partition_log_impl.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {

Result<CleanableFacts> PartitionLog::cleanable_facts(std::optional<Offset> checkpoint) const {
  const LogConfig config = this->config();
  CleanableFacts facts;
  facts.checkpoint = checkpoint;
  // The end before the list: segments that a roll adds in between lie above it.
  facts.log_start = log_start_offset();
  facts.log_end = log_end_offset();
  facts.last_stable = last_stable_offset();
  const auto list = impl_->segments_view.load();
  if (list->empty()) return Error{Errc::closed, fmt::format("{} is closed", impl_->partition.to_string())};
  const Offset first_dirty = std::clamp(checkpoint.value_or(facts.log_start), facts.log_start, facts.log_end);
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Segment& segment = *(*list)[i];
    CleanableSegment fact;
    fact.base_offset = segment.base_offset();
    fact.size = segment.size();
    const bool is_dirty = i + 1 < list->size() && (*list)[i + 1]->base_offset() > first_dirty;
    if (is_dirty && config.min_compaction_lag_ms > DurationMs{0}) {
      fact.largest_timestamp = TRY(segment.largest_timestamp());
    }
    if (is_dirty && config.max_compaction_lag_ms != DurationMs{INT64_MAX}) {
      fact.first_timestamp = TRY(segment.first_batch_timestamp());
    }
    facts.segments.push_back(fact);
  }
  return facts;
}

CleaningView PartitionLog::view_for_cleaning() const {
  MutexLock lock(impl_->mu);
  return {impl_->segments_view.load(), impl_->truncations};
}

// Answers the producer snapshots that go with the bases that vanish.
Result<std::vector<Offset>> PartitionLog::Impl::swap_list(const CleaningView& view, const SegmentList& old,
                                                          const SegmentList& fresh) {
  MutexLock lock(mu);
  if (closed || renamed) return Error{Errc::closed, fmt::format("{} is closed", partition.to_string())};
  const auto at = std::ranges::find(segments, old.front());
  const auto left = static_cast<std::size_t>(segments.end() - at);
  // The active segment is never among them.
  const bool in_place = left > old.size() && std::ranges::equal(std::span(at, old.size()), old);
  if (truncations != view.truncations || !in_place) {
    return Error{Errc::closed, fmt::format("{} was truncated while it was cleaned", partition.to_string())};
  }
  const auto behind = segments.erase(at, at + static_cast<std::ptrdiff_t>(old.size()));
  segments.insert(behind, fresh.begin(), fresh.end());
  publish_segments();
  SegmentList vanished;
  for (const auto& segment : old) {
    const auto has_its_base = [&](const auto& other) { return other->base_offset() == segment->base_offset(); };
    if (std::ranges::none_of(fresh, has_its_base)) vanished.push_back(segment);
  }
  return forget_snapshots(vanished);
}

Result<void> PartitionLog::replace_segments(const CleaningView& view, const SegmentList& old, const SegmentList& fresh) {
  CHECK(!old.empty() && !fresh.empty(), "{}: {} segments for {}", directory(), fresh.size(), old.size());
  if (std::optional<Error> refusal = impl_->refusal()) return *refusal;
  Impl& impl = *impl_;
  MutexLock flush_lock(impl.flush_mu);
  {
    MutexLock lock(impl.mu);
    if (impl.closed || impl.renamed || impl.truncations != view.truncations) {
      return Error{Errc::closed, fmt::format("{} was changed while it was cleaned", impl.partition.to_string())};
    }
  }
  const auto swap = [&]() REQUIRES(impl.flush_mu) -> Result<void> {
    const io::Path& where = directory();
    // From the last one back, each durable before the next: a load that finds a .cleaned file left drops the .swap files at
    // and above it, so none below it may be complete.
    for (auto segment = fresh.rbegin(); segment != fresh.rend(); ++segment) {
      TRY((*segment)->change_suffix(kSwapSuffix));
      TRY(impl.env.fs->sync_directory(where));
    }
    Result<std::vector<Offset>> snapshots_gone = impl.swap_list(view, old, fresh);
    if (!snapshots_gone) {
      // Nobody but a truncation or the end of the log comes in between. Without the .swap files the old data stays.
      for (auto segment = fresh.rbegin(); segment != fresh.rend(); ++segment) TRY((*segment)->change_suffix(kCleanedSuffix));
      return snapshots_gone.error();
    }
    DurationMs delay;
    {
      MutexLock lock(impl.mu);
      delay = impl.config.file_delete_delay_ms;
    }
    TRY(impl.retire(old, *snapshots_gone, delay));
    TRY(impl.env.fs->sync_directory(where));
    for (const auto& segment : fresh) TRY(segment->drop_swap_suffix());
    return {};
  };
  Result<void> swapped = swap();
  if (!swapped && swapped.error().code != Errc::closed) impl.fail(swapped.error());
  return swapped;
}

}  // namespace cordwood::storage
