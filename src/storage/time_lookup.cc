// Finding records of a PartitionLog by time. Takes no lock.

#include <fmt/format.h>

#include "record/legacy.h"
#include "record/record.h"
#include "storage/directory_files.h"
#include "storage/lookup_trace.h"
#include "storage/partition_log_impl.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

// The first record of a batch at or behind `from` for which `matches` holds.
template <class Matches>
Result<std::optional<FoundRecord>> first_record(const ByteSource& log, const BatchInfo& batch, Offset from,
                                                const record::DecompressionLimits& limits, Matches matches) {
  ByteVector bytes(static_cast<std::size_t>(batch.size.value));
  bytes.resize(TRY(log.read_at(batch.position, bytes)));
  std::optional<FoundRecord> found;
  const auto look = [&](Offset offset, TimestampMs timestamp) {
    if (offset < from || !matches(timestamp)) return record::Walk::go_on;
    found = FoundRecord{offset, timestamp, {}};
    if (batch.leader_epoch >= 0) found->epoch = LeaderEpoch{batch.leader_epoch};
    return record::Walk::stop;
  };
  if (batch.magic < 2) {
    TRY(record::for_each_legacy_record(
        bytes, [&](const record::LegacyRecord& record) { return look(record.offset, record.timestamp); }, limits));
  } else {
    const record::BatchView view = TRY(record::BatchView::parse(bytes));
    TRY(record::for_each_record(
        view, [&](const record::RecordView& record) { return look(record.offset, record.timestamp); }, limits));
  }
  return found;
}

record::DecompressionLimits limits_of(const LogConfig& config) {
  record::DecompressionLimits limits;
  limits.largest_record = config.max_decompressed_message_bytes;
  return limits;
}

void trace_answer(LookupTrace& trace, std::optional<Offset> segment, const std::optional<FoundRecord>& found) {
  LookupStep& step = trace.add(LookupStepKind::answer, segment);
  if (!found) return;
  step.offset = found->offset;
  step.timestamp = found->timestamp;
  step.hit = true;
}

// The first record of one segment that is late enough, in [start, end).
Result<std::optional<FoundRecord>> first_at_or_after(const ByteSource& log, FilePosition start, FilePosition end, TimestampMs target,
                                                     Offset log_start, const record::DecompressionLimits& limits, Offset segment,
                                                     LookupTrace* trace) {
  BatchScan scan(log, start, end);
  while (const std::optional<BatchInfo> batch = TRY(scan.next())) {
    const bool is_candidate = batch->max_timestamp >= target;
    if (trace != nullptr) trace->scanned(segment, batch, is_candidate);
    if (!is_candidate) continue;
    std::int64_t looked_at = 0;
    const std::optional<FoundRecord> found = TRY(first_record(log, *batch, log_start, limits, [&](TimestampMs timestamp) {
      ++looked_at;
      return timestamp >= target;
    }));
    if (trace != nullptr) {
      LookupStep& step = trace->add(LookupStepKind::records, segment, segment_file_name(segment, kLogSuffix));
      step.from = batch->position;
      step.to = batch->end();
      step.records = looked_at;
      step.hit = found.has_value();
      if (found) step.offset = found->offset;
    }
    if (found) return found;
  }
  return std::optional<FoundRecord>();
}

}  // namespace

Result<std::optional<FoundRecord>> PartitionLog::find_by_timestamp(TimestampMs target, LookupTrace* trace) const {
  if (const std::optional<Error> refusal = impl_->refusal()) return *refusal;
  const LogEnd log_end = impl_->end.load();
  const std::shared_ptr<const SegmentList> list = impl_->segments_view.load();
  const Offset log_start = log_start_offset();
  const record::DecompressionLimits limits = limits_of(config());
  if (trace != nullptr) {
    LookupStep& step = trace->add(LookupStepKind::bounds);
    step.timestamp = target;
    step.log_start = log_start;
    step.log_end = log_end.offset;
    step.hit = true;
  }
  std::int64_t passed_over = 0;
  for (const auto& segment : *list) {
    const TimestampMs largest = TRY(segment->largest_timestamp());
    if (segment->index_is_suspect()) impl_->ask_for_repair();
    if (largest < target) {
      ++passed_over;
      continue;
    }
    if (trace != nullptr) {
      LookupStep& step = trace->add(LookupStepKind::segment, segment->base_offset());
      step.timestamp = largest;
      step.batches = passed_over;
      step.hit = true;
    }
    // Only this one is searched: as Kafka, also when what made it a candidate lies below the log start.
    const FilePosition end = impl_->segment_end(*segment, log_end);
    const FilePosition start = TRY(segment->search_start(target, log_start, trace));
    if (segment->index_is_suspect()) impl_->ask_for_repair();
    const std::shared_ptr<io::File> log = TRY(segment->file());
    if (trace == nullptr) return first_at_or_after(*log, start, end, target, log_start, limits, segment->base_offset(), nullptr);
    const CountedSource counted(*log);
    Result<std::optional<FoundRecord>> found =
        first_at_or_after(counted, start, end, target, log_start, limits, segment->base_offset(), trace);
    trace->note_reads(counted);
    if (found) trace_answer(*trace, segment->base_offset(), *found);
    return found;
  }
  if (trace != nullptr) {
    LookupStep& step = trace->add(LookupStepKind::segment);
    step.timestamp = target;
    step.batches = passed_over;
    trace_answer(*trace, {}, {});
  }
  return std::optional<FoundRecord>();
}

Result<std::optional<FoundRecord>> PartitionLog::find_max_timestamp() const {
  if (const std::optional<Error> refusal = impl_->refusal()) return *refusal;
  const LogEnd log_end = impl_->end.load();
  const std::shared_ptr<const SegmentList> list = impl_->segments_view.load();
  std::shared_ptr<Segment> newest;
  MaxTimestamp max{kNoTimestamp, Offset{0}};
  for (const auto& segment : *list) {
    const MaxTimestamp candidate = TRY(segment->max_timestamp());
    if (newest && candidate.timestamp <= max.timestamp) continue;
    newest = segment;
    max = candidate;
  }
  if (!newest) return std::optional<FoundRecord>();
  const FilePosition end = impl_->segment_end(*newest, log_end);
  const std::optional<BatchInfo> start = TRY(newest->find_batch(max.offset, end));
  if (!start) return std::optional<FoundRecord>();
  const std::shared_ptr<io::File> log = TRY(newest->file());
  BatchScan scan(*log, start->position, end);
  while (const std::optional<BatchInfo> batch = TRY(scan.next())) {
    if (batch->max_timestamp != max.timestamp) continue;
    if (batch->magic == 0) return std::optional<FoundRecord>();  // carries no time
    return first_record(*log, *batch, Offset{INT64_MIN}, limits_of(config()),
                        [&](TimestampMs timestamp) { return timestamp == max.timestamp; });
  }
  return std::optional<FoundRecord>();
}

}  // namespace cordwood::storage
