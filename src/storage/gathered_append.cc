// PartitionLog::append_all_as_leader: batches that came together, in as few writes as Kafka's rules allow.
//
// What is plain is gathered into a run: no roll before it, not refused, no duplicate, no marker. A run is checked as a whole
// before anything is written, each batch against the log as the ones before it will leave it. Whatever is not plain ends the
// run and is left to an append of its own, whose rules these are; so no batch fares differently for the company it came in.
#include <algorithm>

#include "storage/partition_log_impl.h"
#include "storage/roll_rules.h"

namespace cordwood::storage {
namespace {

// As many pieces as one pwritev of io/posix_file.cc takes.
constexpr std::size_t kMostGathered = 64;

}  // namespace

std::vector<BatchToAppend> PartitionLog::Impl::gather(std::span<const MutableBytesView> batches, LeaderEpoch leader_epoch,
                                                      AppendOrigin origin) {
  std::vector<BatchToAppend> run;
  // The first append into a segment makes its index files and says when it began.
  if (closed || torn_tail || active().empty() || !active().is_prepared_for_append()) return run;
  Result<RollCandidate> segment = active().roll_candidate();
  if (!segment) return run;
  const TimestampMs now = env.clock->now();
  ProducerState ahead(producer_expiration);
  Offset base_offset = end.load().offset;
  for (const MutableBytesView batch : batches.first(std::min(batches.size(), kMostGathered))) {
    const BatchToAppend entry = stamp_batch(batch, base_offset, leader_epoch);
    if (entry.header.is_control()) break;
    const RollAppend append{entry.info.size, std::max(kNoTimestamp, entry.info.max_timestamp), entry.info.last_offset};
    if (should_roll(*segment, append, config, now) != RollReason::none) break;
    if (entry.header.has_producer_id()) {
      ahead.look_ahead_from(producers, entry.header.producer_id);
      if (origin == AppendOrigin::client && ahead.find_duplicate(entry.header)) break;
      if (ahead.check(entry.header, origin) != ProducerFault::none) break;
      ahead.update(entry.header);
    }
    run.push_back(entry);
    base_offset = next(entry.info.last_offset);
    segment->size += entry.info.size;
    // It makes an entry in each index at most.
    ++segment->offset_index_entries;
    ++segment->time_index_entries;
  }
  return run;
}

std::size_t PartitionLog::Impl::append_gathered(std::span<const MutableBytesView> batches, LeaderEpoch leader_epoch,
                                                AppendOrigin origin, std::span<AppendResult> results) {
  if (refusal()) return 0;
  AppendResult whole;
  std::vector<BatchToAppend> run;
  std::int64_t flush_messages = 0;
  {
    MutexLock lock(mu);
    run = gather(batches, leader_epoch, origin);
    if (run.size() < 2 || !note_epochs(std::span(run).first(1))) return 0;
    std::vector<BytesView> pieces;
    pieces.reserve(run.size());
    for (const BatchToAppend& batch : run) pieces.push_back(batch.bytes);
    whole.log_start_offset = log_start.load(std::memory_order_relaxed);
    whole = write(pieces, run, std::move(whole));
    flush_messages = config.flush_messages;
  }
  if (whole.fault == AppendFault::storage_error) finish_append(whole, Offset{0}, DueFlush::by_caller);
  const Offset flushed = flushed_end();
  for (std::size_t i = 0; i < run.size(); ++i) {
    results[i] = whole;
    if (whole.fault != AppendFault::none) continue;
    results[i].base_offset = run[i].info.base_offset;
    results[i].last_offset = run[i].info.last_offset;
    // The first ones may have come before the flush was due.
    const Offset own_end = next(run[i].info.last_offset);
    const bool is_due = whole.flush_to && own_end - flushed >= OffsetDelta{flush_messages};
    results[i].flush_to = is_due ? std::optional(own_end) : std::nullopt;
  }
  return run.size();
}

void PartitionLog::append_all_as_leader(std::span<const MutableBytesView> batches, LeaderEpoch leader_epoch,
                                        AppendOrigin origin, std::vector<AppendResult>& results) {
  results.assign(batches.size(), {});
  for (std::size_t done = 0; done < batches.size();) {
    const std::span<const MutableBytesView> left = batches.subspan(done);
    std::size_t count = 0;
    if (left.size() > 1) count = impl_->append_gathered(left, leader_epoch, origin, std::span(results).subspan(done));
    if (count == 0) {
      results[done] = append_as_leader(left.front(), leader_epoch, origin, {}, DueFlush::by_caller);
      count = 1;
    }
    done += count;
    const AppendResult last = results[done - 1];
    if (last.fault != AppendFault::storage_error) continue;
    std::fill(results.begin() + static_cast<std::ptrdiff_t>(done), results.end(), last);
    return;
  }
}

}  // namespace cordwood::storage
