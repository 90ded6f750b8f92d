// Finding records of a PartitionLog by time. Takes no lock.

#include <fmt/format.h>

#include "record/legacy.h"
#include "record/record.h"
#include "storage/partition_log_impl.h"

namespace cordwood::storage {
namespace {

// The first record of a batch at or behind `from` for which `matches` holds.
template <class Matches>
Result<std::optional<FoundRecord>> first_record(const io::File& log, const BatchInfo& batch, Offset from,
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

}  // namespace

Result<std::optional<FoundRecord>> PartitionLog::find_by_timestamp(TimestampMs target) const {
  if (const std::optional<Error> refusal = impl_->refusal()) return *refusal;
  const LogEnd log_end = impl_->end.load();
  const std::shared_ptr<const SegmentList> list = impl_->segments_view.load();
  const Offset log_start = log_start_offset();
  const record::DecompressionLimits limits = limits_of(config());
  for (const auto& segment : *list) {
    const TimestampMs largest = TRY(segment->largest_timestamp());
    if (segment->index_is_suspect()) impl_->ask_for_repair();
    if (largest < target) continue;
    // Only this one is searched: as Kafka, also when what made it a candidate lies below the log start.
    const FilePosition end = impl_->segment_end(*segment, log_end);
    const FilePosition start = TRY(segment->search_start(target, log_start));
    if (segment->index_is_suspect()) impl_->ask_for_repair();
    const std::shared_ptr<io::File> log = TRY(segment->file());
    BatchScan scan(*log, start, end);
    while (const std::optional<BatchInfo> batch = TRY(scan.next())) {
      if (batch->max_timestamp < target) continue;
      const std::optional<FoundRecord> found = TRY(
          first_record(*log, *batch, log_start, limits, [&](TimestampMs timestamp) { return timestamp >= target; }));
      if (found) return found;
    }
    return std::optional<FoundRecord>();
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
