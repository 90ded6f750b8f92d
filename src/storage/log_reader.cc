// Reading a PartitionLog by offset. Takes no lock: see partition_log_impl.h for what is loaded in which order.

#include <fmt/format.h>

#include <algorithm>

#include "storage/directory_files.h"
#include "storage/lookup_trace.h"
#include "storage/partition_log_impl.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
Offset PartitionLog::Impl::last_stable(Offset high_watermark_now) const {
  const Offset unstable = first_unstable.load(std::memory_order_acquire);
  return unstable >= Offset{0} && unstable < high_watermark_now ? unstable : high_watermark_now;
}

// A segment behind the one where `end` lies was made later: none of its batches is part of what this reader sees.
FilePosition PartitionLog::Impl::segment_end(const Segment& segment, const LogEnd& log_end) const {
  if (segment.base_offset() == log_end.segment_base) return log_end.position;
  if (segment.base_offset() > log_end.segment_base) return FilePosition{0};
  return segment.valid_end();
}

Result<FilePosition> PartitionLog::Impl::upper_position(const SegmentList& list, std::size_t index, const LogEnd& log_end,
                                                        Offset limit) const {
  const Segment& segment = *list[index];
  const FilePosition whole = segment_end(segment, log_end);
  if (limit >= log_end.offset) return whole;
  if (index + 1 < list.size() && list[index + 1]->base_offset() <= limit) return whole;
  const std::optional<BatchInfo> first_hidden = TRY(segment.find_batch(limit, whole));
  return first_hidden ? first_hidden->position : whole;
}

// Kafka's rule: every aborted transaction that may touch the range, found through the markers behind its start. The
// range's end as an offset comes from the sparse index and may lie beyond the real one; more than needed is allowed.
Result<std::vector<AbortedTransaction>> PartitionLog::Impl::aborted_in(const SegmentList& list, std::size_t index,
                                                                       Offset from, FilePosition range_end,
                                                                       const LogEnd& log_end) const {
  std::vector<AbortedTransaction> aborted;
  if (std::ranges::none_of(list.begin() + static_cast<std::ptrdiff_t>(index), list.end(), [](const auto& segment) {
        return segment->has_txn_index() || !segment->txn_index_is_trusted();
      })) {
    return aborted;
  }
  const Offset behind_segment = index + 1 < list.size() ? list[index + 1]->base_offset() : log_end.offset;
  const Offset upper = list[index]->indexed_offset_at_or_after(range_end).value_or(behind_segment);
  for (std::size_t i = index; i < list.size(); ++i) {
    if (!list[i]->txn_index_is_trusted()) {
      // No marker behind a segment at whose end nothing below `upper` is open has anything to do with these records.
      if (i > index && list[i - 1]->first_open_at_end() >= upper) break;
      TRY(trust_txn_index(list, i));
    }
    for (const AbortedEntry& entry : TRY(list[i]->aborted_entries())) {
      if (entry.last_offset >= from && entry.first_offset < upper) aborted.push_back({entry.producer_id, entry.first_offset});
      if (entry.last_stable_offset >= upper) {
        std::ranges::stable_sort(aborted, {}, &AbortedTransaction::first_offset);
        return aborted;
      }
    }
  }
  std::ranges::stable_sort(aborted, {}, &AbortedTransaction::first_offset);
  return aborted;
}

Result<ReadResult> PartitionLog::read(const ReadOptions& options, LookupTrace* trace) const {
  if (const std::optional<Error> refusal = impl_->refusal()) return *refusal;
  while (true) {
    std::shared_ptr<const SegmentList> list;
    Result<ReadResult> result = impl_->read_once(options, list, trace);
    // A segment that nobody had opened may leave the log and the disk between the look at the list and the opening.
    const bool gone = !result && result.error().code == Errc::not_found && impl_->segments_view.load() != list;
    if (!gone) return result;
  }
}

Result<ReadResult> PartitionLog::Impl::read_once(const ReadOptions& wanted, std::shared_ptr<const SegmentList>& list,
                                                 LookupTrace* trace) const {
  ReadResult result;
  result.high_watermark = high_watermark.load(std::memory_order_acquire);
  result.last_stable_offset = last_stable(result.high_watermark);
  const LogEnd log_end = end.load();
  list = segments_view.load();
  result.log_start_offset = log_start.load(std::memory_order_acquire);
  result.log_end_offset = log_end.offset;
  // A truncation may have come between.
  result.high_watermark = std::min(result.high_watermark, log_end.offset);
  result.last_stable_offset = std::min(result.last_stable_offset, result.high_watermark);

  std::size_t index = floor_segment(*list, wanted.from);
  const bool is_within =
      wanted.from <= log_end.offset && wanted.from >= result.log_start_offset && index != list->size();
  if (trace != nullptr) {
    LookupStep& step = trace->add(LookupStepKind::bounds);
    step.offset = wanted.from;
    step.log_start = result.log_start_offset;
    step.log_end = log_end.offset;
    step.hit = is_within;
    if (is_within) trace->add(LookupStepKind::segment, (*list)[index]->base_offset()).hit = true;
  }
  if (!is_within) {
    return Error{Errc::out_of_range, fmt::format("{}: offset {} is not in [{}, {}]", partition.to_string(),
                                                 wanted.from, result.log_start_offset, log_end.offset)};
  }
  const Offset limit = wanted.limit == ReadLimit::log_end          ? log_end.offset
                       : wanted.limit == ReadLimit::high_watermark ? result.high_watermark
                                                                   : result.last_stable_offset;
  result.in_older_segment = (*list)[index]->base_offset() < log_end.segment_base;
  if (wanted.from >= limit) return result;

  // Batches may be missing at the end of a segment: then the next one holds what comes after `from`.
  std::optional<BatchInfo> first;
  for (; index < list->size(); ++index) {
    const Segment& segment = *(*list)[index];
    first = TRY(segment.find_batch(wanted.from, segment_end(segment, log_end), trace));
    if (first) break;
  }
  if (!first) {
    if (trace != nullptr) trace->add(LookupStepKind::answer);
    return result;
  }
  const Segment& segment = *(*list)[index];
  if (trace != nullptr) {
    LookupStep& step = trace->add(LookupStepKind::answer, segment.base_offset(), segment_file_name(segment.base_offset(), kLogSuffix));
    step.offset = first->base_offset;
    step.from = first->position;
    step.to = first->end();
    step.hit = true;
  }
  result.in_older_segment = segment.base_offset() < log_end.segment_base;
  const FilePosition upper = TRY(upper_position(*list, index, log_end, limit));
  if (first->position >= upper) return result;

  FilePosition range_end = upper;
  if (upper - first->position > wanted.max_bytes) {
    if (first->size > wanted.max_bytes) {
      result.first_entry_incomplete = true;
      if (!wanted.at_least_one_batch) return result;
      result.first_entry_incomplete = false;
      range_end = first->end();
    } else {
      range_end = TRY(segment.last_boundary(first->position, first->position + wanted.max_bytes));
    }
  }
  result.range = {TRY(segment.file()), first->position, range_end - first->position};
  if (wanted.limit == ReadLimit::last_stable) {
    result.aborted = TRY(aborted_in(*list, index, wanted.from, range_end, log_end));
  }
  if (segment.index_is_suspect()) ask_for_repair();
  return result;
}

}  // namespace cordwood::storage
