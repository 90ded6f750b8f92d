// storage/partition_log_impl.h — the insides of PartitionLog, shared by its parts: append and life (partition_log.cc),
// appends together (gathered_append.cc), reading (log_reader.cc), times (time_lookup.cc), flush and truncation (log_durability.cc), retention
// (partition_log_retention.cc), removal (segment_removal.cc), repair (index_repair.cc), moving (log_move.cc).
// Nobody else includes it.
//
// What readers see is three things, stored in this order when all change: the list of segments, the end (offset, segment,
// position: one value), the high watermark. A reader loads them the other way round, so that its end lies in its list and
// its high watermark at or below its end.
#pragma once

#include <algorithm>
#include <forward_list>
#include <string>
#include <vector>

#include "storage/log_loader.h"
#include "storage/partition_log.h"
#include "storage/producer_snapshots.h"
#include "storage/published.h"
#include "storage/segment.h"

namespace cordwood::storage {

// Where the log ends.
struct LogEnd {
  Offset offset;          // the next one to be assigned
  Offset segment_base;    // of the active segment
  FilePosition position;  // behind the last whole batch of the active segment
};

// One batch of an append.
struct BatchToAppend {
  BatchInfo info;              // position: in the file
  record::BatchHeader header;  // magic 2 only
  BytesView bytes;
};

// `batch` at its place in the log, which is written into its header.
BatchToAppend stamp_batch(MutableBytesView batch, Offset base_offset, LeaderEpoch leader_epoch);

struct PartitionLog::Impl {
  Impl(LogEnvironment log_environment, TopicPartition name, const OpenOptions& options, LoadedLog loaded);

  // --- append (partition_log.cc) ---
  AppendResult append(BytesView bytes, std::span<BatchToAppend> batches, AppendOrigin origin, const TransactionRules& rules)
      REQUIRES(mu);
  // What has passed all checks goes to the file and then into the state. `pieces`: the bytes of `batches`, one behind the
  // other, however they lie in memory. All are in the log afterwards, or none. Completes `result`.
  AppendResult write(std::span<const BytesView> pieces, std::span<const BatchToAppend> batches, AppendResult result)
      REQUIRES(mu);
  AppendResult failed_append(const Error& why, bool rolled);
  Result<void> note_epochs(std::span<const BatchToAppend> batches) REQUIRES(mu);
  std::int64_t aborted_entries_of(std::span<const BatchToAppend> batches) const REQUIRES(mu);
  bool refused_by_producers(std::span<const BatchToAppend> batches, AppendOrigin origin, const TransactionRules& rules,
                            AppendResult& result) REQUIRES(mu);
  Result<bool> roll_when_due(std::span<const BatchToAppend> batches, ByteCount size) REQUIRES(mu);
  Result<void> roll(Offset new_base) REQUIRES(mu);
  void finish_append(AppendResult& result, Offset rolled_to, DueFlush due_flush);
  // (gathered_append.cc) The first of `batches` that go into one write.
  std::vector<BatchToAppend> gather(std::span<const MutableBytesView> batches, LeaderEpoch leader_epoch, AppendOrigin origin)
      REQUIRES(mu);
  // Appends those, and answers how many they are; 0 when they are fewer than two.
  std::size_t append_gathered(std::span<const MutableBytesView> batches, LeaderEpoch leader_epoch, AppendOrigin origin,
                              std::span<AppendResult> results) EXCLUDES(mu);
  void publish_unstable() REQUIRES(mu);
  void publish_segments() REQUIRES(mu) { segments_view.store(std::make_shared<const SegmentList>(segments)); }
  Segment& active() REQUIRES(mu) { return *segments.back(); }

  // The log takes nothing more after a failed write or fsync: what the page cache holds can no longer be trusted.
  void fail(const Error& why) EXCLUDES(failure_mu);
  // What an advance of the log start has given up needs no recovery, whether it was flushed or not.
  Offset reported_recovery_point() const {
    return std::max(recovery_point.load(std::memory_order_acquire), given_up.load(std::memory_order_acquire));
  }
  std::optional<Error> refusal() const;  // why no append is taken, if so
  AppendResult storage_failure(const Error& why);

  // --- reading (log_reader.cc, time_lookup.cc) ---
  Result<ReadResult> read_once(const ReadOptions& wanted, std::shared_ptr<const SegmentList>& list, LookupTrace* trace) const;
  Offset last_stable(Offset high_watermark_now) const;
  // Where a read that may see offsets below `limit` must stop in segment `index`, as of `end`.
  Result<FilePosition> upper_position(const SegmentList& list, std::size_t index, const LogEnd& end, Offset limit) const;
  FilePosition segment_end(const Segment& segment, const LogEnd& end) const;
  Result<std::vector<AbortedTransaction>> aborted_in(const SegmentList& list, std::size_t index, Offset from,
                                                     FilePosition range_end, const LogEnd& end) const;

  // --- flush and truncation (log_durability.cc) ---
  enum class FlushScope { everything, records };
  Result<void> flush_up_to(Offset offset, FlushScope scope) EXCLUDES(flush_mu, mu);
  void report_failure(const Error& why) EXCLUDES(mu);
  // What needs no flush any more: it was flushed, or deleted.
  Offset flushed_end() const {
    return std::max(reported_recovery_point(), synced_to.load(std::memory_order_acquire));
  }
  // Writes leader-epoch-checkpoint when it is behind: always before the recovery point moves.
  Result<void> save_epochs() REQUIRES(flush_mu) EXCLUDES(mu);
  Result<void> truncate(Offset offset) REQUIRES(flush_mu) EXCLUDES(mu);
  Result<void> truncate_fully(Offset offset) REQUIRES(flush_mu, mu);
  Result<void> truncate_within(Offset offset) REQUIRES(flush_mu, mu);

  // --- retention (partition_log_retention.cc) ---
  // What a check finds: how many of the oldest segments go, and the verdict on the first that stays.
  struct RetentionFinding {
    std::size_t going = 0;
    std::optional<RetentionVerdict> first_to_stay;
  };
  RetentionLimits retention_limits() const EXCLUDES(mu);
  // Walks `list` until the first that stays; each verdict that takes one is given to `going`, when there is one.
  Result<RetentionFinding> judge(const SegmentList& list, Offset log_end, const RetentionLimits& limits, TimestampMs now,
                                 std::vector<RetentionVerdict>* going) const;
  Result<void> fill_timestamp(RetentionSegment& facts, const Segment& segment) const;
  void complain(const RetentionVerdict& verdict) EXCLUDES(retired_mu);
  // The log's own move of its start, in memory: at or below the present one nothing happens.
  Result<void> move_log_start(Offset to) REQUIRES(mu);
  struct Removal {
    std::vector<RetentionVerdict> verdicts;
    SegmentList gone;
    std::vector<Offset> snapshots;
    DurationMs delay;
    std::optional<Offset> rolled_to;
  };
  Result<Removal> take_out(TimestampMs now) REQUIRES(flush_mu) EXCLUDES(mu);

  // --- removal (segment_removal.cc) ---
  // The one way in which segments leave a log. The caller has put a list without them in the place of the old one and
  // published it; readers that hold the old list go on. Their files and the producer snapshots at `snapshots` are renamed
  // to *.deleted at once, in the order of `gone`, and deleted after file.delete.delay.ms (or at the next load).
  // `mu` may be held or not: renaming waits for the disk, so it is held by truncations alone.
  Result<void> retire(const SegmentList& gone, std::span<const Offset> snapshots_gone, DurationMs delay)
      REQUIRES(flush_mu) EXCLUDES(retired_mu);
  // The producer snapshots at the bases of `gone`, which the log forgets: to be handed to retire().
  std::vector<Offset> forget_snapshots(const SegmentList& gone) REQUIRES(mu);

  // --- indexes that do not fit (index_repair.cc) ---
  // Has repair_indexes() called soon, once.
  enum class RebuildWhich { suspect, all };
  Result<std::size_t> rebuild_indexes(RebuildWhich which);  // index_repair.cc; answers how many
  void ask_for_repair() const EXCLUDES(mu);
  // Compares the transaction index of list[index] with the batches, and makes it anew where it says less or something else.
  // Nothing to do for one that is trusted.
  Result<void> trust_txn_index(const SegmentList& list, std::size_t index) const EXCLUDES(flush_mu, mu);
  // The same for the active segment, before something is added to it.
  Result<void> trust_active_txn_index() const REQUIRES(mu);
  Result<void> compare_txn_index(const SegmentList& list, std::size_t index, bool has_markers, Offset open_at_end) const;

  // --- replacement by the cleaner (log_replacement.cc) ---
  Result<std::vector<Offset>> swap_list(const CleaningView& view, const SegmentList& old, const SegmentList& fresh)
      REQUIRES(flush_mu) EXCLUDES(mu);

  const LogEnvironment env;
  const TopicPartition partition;
  // Of the OpenOptions.
  const bool is_metadata_log;
  const bool was_compacted;
  const DurationMs producer_expiration;
  std::unique_ptr<const RecoveryReport> report;  // null: nothing was recovered or wrong

  // Lock order: flush_mu, then mu. fsync happens under flush_mu alone.
  mutable Mutex flush_mu;
  mutable Mutex mu;
  // What a check of ten thousand logs asks each one lies side by side: every line of the cache is a wait for the memory.
  LogConfig config GUARDED_BY(mu);
  std::atomic<bool> failed{false};
  PublishedPointer<SegmentList> segments_view;
  PublishedValue<LogEnd> end;
  std::atomic<Offset> log_start;
  std::atomic<Offset> high_watermark;

  std::forward_list<io::Path> directories GUARDED_BY(mu);  // all names so far, so that a reference stays good
  std::atomic<const io::Path*> directory{nullptr};
  std::optional<Uuid> topic_id GUARDED_BY(mu);
  SegmentList segments GUARDED_BY(mu);
  ProducerState producers GUARDED_BY(mu);
  ProducerSnapshots snapshots GUARDED_BY(mu);
  LeaderEpochCache epochs GUARDED_BY(mu);
  std::vector<Offset> unsynced_snapshots GUARDED_BY(mu);  // written by rolls
  std::function<void(Offset)> roll_callback GUARDED_BY(mu);
  std::function<void(const Error&)> failure_callback GUARDED_BY(mu);
  std::function<void()> repair_callback GUARDED_BY(mu);
  bool directory_unsynced GUARDED_BY(mu) = false;  // its name may not be durable: new, or made by a life that was cut off
  // After an unclean stop segments below the recovery point may lack a durable name: it covers deleted records
  // without a flush.
  bool names_unsynced GUARDED_BY(mu) = false;
  bool metadata_unsynced GUARDED_BY(mu) = false;  // partition.metadata was written and not synced yet
  bool torn_tail GUARDED_BY(mu) = false;  // bytes behind the last whole batch of the active segment
  bool closed GUARDED_BY(mu) = false;
  bool renamed GUARDED_BY(mu) = false;    // for deletion: nothing is written any more
  mutable std::atomic<bool> repair_asked{false};
  std::uint64_t truncations GUARDED_BY(mu) = 0;

  std::atomic<Offset> recovery_point;      // all below was flushed
  std::atomic<Offset> given_up{Offset{0}};  // all below was deleted
  // All records below are on the disk. Ahead of the recovery point only where a full disk did not let the epochs be written.
  std::atomic<Offset> synced_to{Offset{0}};
  std::atomic<Offset> flush_due{Offset{0}};  // the end of the last append that made a flush due
  std::atomic<bool> short_of_space{false};
  std::atomic<bool> closed_cleanly{false};
  std::atomic<TimestampMs> last_flush;
  std::atomic<Offset> first_unstable{Offset{-1}};  // -1: none

  mutable Mutex retired_mu;  // nothing is locked under it
  std::vector<RetiredFiles> retired GUARDED_BY(retired_mu);
  std::function<void(DurationMs)> retired_callback GUARDED_BY(retired_mu);
  // What was last said about a segment that cannot go.
  struct Complaint {
    MonotonicNs at;
    Offset segment;
    RetentionHold hold = RetentionHold::none;
  };
  Complaint last_complaint GUARDED_BY(retired_mu);

  mutable Mutex failure_mu;
  std::unique_ptr<const Error> failure GUARDED_BY(failure_mu);  // the first one
};

}  // namespace cordwood::storage
