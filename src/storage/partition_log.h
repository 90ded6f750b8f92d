// storage/partition_log.h — the log of one partition: its segments, indexes, producer state and leader epochs.
//
// Durability: append() writes to the page cache; flush() makes it durable and moves the recovery point. Where flush.messages
// makes a flush due, the append carries it out or tells its caller to, and readers see the records no sooner. After an unclean
// stop everything from the recovery point on is checked, the torn tail cut, indexes and snapshots rebuilt.
// Threads: append(), truncate and the setters exclude each other by the log's own lock; readers (read, lookups, the
// offsets) take none of it: they load an immutable list of segments and an atomic end offset.
// Rules: docs/formats/partition_log.md; each was seen on Apache Kafka 4.4.0.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_range.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "record/batch.h"
#include "storage/leader_epoch_cache.h"
#include "storage/log_config.h"
#include "storage/producer_state.h"
#include "storage/recovery_verdict.h"
#include "storage/retention.h"

namespace cordwood::storage {

class LookupTrace;
class OpenFiles;
class Segment;
using SegmentList = std::vector<std::shared_ptr<Segment>>;

// What a pass of the cleaner works on: the segments as they are now, and a mark by which the log knows later whether
// something but appends has happened to them. See replace_segments().
struct CleaningView {
  std::shared_ptr<const SegmentList> segments;
  std::uint64_t truncations = 0;
};

struct CleanableFacts;
struct LogCopy;

// What a log needs from the world; all must outlive it.
struct LogEnvironment {
  io::FileSystem* fs = nullptr;
  Clock* clock = nullptr;
  Random* random = nullptr;
  Logger* logger = nullptr;
  std::shared_ptr<OpenFiles> open_files = nullptr;  // LogManager's; without, what was opened stays open
};

// Whether the directory was stopped cleanly: then nothing is checked.
enum class StopKind { clean, unclean };

// Looks on while a log recovers, and may end it: at the next segment, as a crash would.
class LoadWatch {
 public:
  virtual ~LoadWatch() = default;
  virtual bool stop_requested() const = 0;
  virtual void checked(ByteCount bytes) = 0;  // of a segment that is through
};

struct OpenOptions {
  LogConfig config;
  ProducerStateConfig producer;
  Offset log_start_checkpoint{0};
  Offset recovery_point_checkpoint{0};
  Offset high_watermark_checkpoint{0};
  StopKind last_stop = StopKind::unclean;
  // The metadata log: batches carry the leader's own offsets and epochs, index files are never trimmed.
  bool is_metadata_log = false;
  LoadWatch* watch = nullptr;  // during open() only
};

// What recovery did to one log, for the log line, `explain` and the tests.
struct RecoveryReport {
  std::int64_t segments_recovered = 0;
  ByteCount bytes_cut;
  Offset cut_at;                          // first offset that is gone, when bytes_cut > 0
  std::string cut_reason;
  std::vector<std::string> removed_files;  // later segments, strays
  std::vector<std::string> rebuilt_files;
  std::vector<RecoveryVerdict> verdicts;  // what was wrong, in the order in which it was found
};

// Who carries out the flush that an append makes due (flush.messages): the append itself, waiting for the disk, or its
// caller, who has the log flushed up to AppendResult::flush_to and acknowledges then.
enum class DueFlush { by_append, by_caller };

enum class AppendFault {
  none,
  record_list_too_large,           // 18: larger than segment.bytes
  out_of_order_sequence,           // 45
  invalid_producer_epoch,          // 47
  invalid_txn_state,               // 48
  transaction_coordinator_fenced,  // 52
  storage_error,                   // 56: `error` says what. no_space: nothing was written, the log goes on when there is
                                   // room again; anything else: the log directory must go offline
  offsets_out_of_order,            // replication: the batch starts below the log end
};

struct AppendResult {
  AppendFault fault = AppendFault::none;
  std::optional<Error> error;
  Offset base_offset{-1};
  Offset last_offset{-1};
  bool duplicate = false;               // nothing was written; the offsets are the first append's
  TimestampMs duplicate_timestamp = kNoTimestamp;  // max timestamp of the original batch
  Offset log_start_offset{-1};
  bool rolled = false;
  // With DueFlush::by_caller: acknowledged only when the log is flushed up to here. Of a duplicate, too.
  std::optional<Offset> flush_to;
};

enum class ReadLimit { log_end, high_watermark, last_stable };

struct AbortedTransaction {
  std::int64_t producer_id = -1;
  Offset first_offset;
  bool operator==(const AbortedTransaction&) const = default;
};

struct ReadOptions {
  Offset from;
  ByteCount max_bytes;
  bool at_least_one_batch = false;  // the first batch is given whole even when larger than max_bytes
  ReadLimit limit = ReadLimit::high_watermark;
};

struct ReadResult {
  FileRange range;                   // whole batches, starting with the one that holds `from`; size 0 when none
  Offset high_watermark;
  Offset last_stable_offset;
  Offset log_start_offset;
  Offset log_end_offset;
  bool in_older_segment = false;     // the read position lies in an older segment than the log end
  bool first_entry_incomplete = false;  // a batch is there, but larger than max_bytes
  std::vector<AbortedTransaction> aborted;  // read_committed only, ascending by first offset
};

struct FoundRecord {
  Offset offset;
  TimestampMs timestamp;
  std::optional<LeaderEpoch> epoch;
};

// Immutable facts of a segment for tools, DescribeLogDirs and the inspector.
struct SegmentInfo {
  Offset base_offset;
  Offset next_offset;
  ByteCount size;
  TimestampMs largest_timestamp = kNoTimestamp;
  bool active = false;
};

// Files that left a log: renamed to *.deleted, and to be deleted once their time has come.
struct RetiredFiles {
  std::vector<std::string> names;  // in the directory of the log
  MonotonicNs due;
};

class PartitionLog : public std::enable_shared_from_this<PartitionLog> {
 public:
  // Opens the directory (made when absent), recovers when needed. Errors: io; no_space when records that recovery must cut
  // off cannot be kept; corrupt for a .log file longer than 2^31-1 bytes; closed when the watch asked to stop.
  static Result<std::shared_ptr<PartitionLog>> open(LogEnvironment environment, io::Path directory, TopicPartition partition,
                                                    OpenOptions options, RecoveryReport* report = nullptr);
  virtual ~PartitionLog();

  const TopicPartition& partition() const;
  const io::Path& directory() const;
  std::optional<Uuid> topic_id() const;  // from partition.metadata
  // Writes partition.metadata when it has none yet; synced by the first flush. A crash before that leaves a log without a
  // topic id, and the metadata log knows it by its name. Errors: invalid for another id.
  Result<void> set_topic_id(Uuid id);

  // --- append ---
  // One validated batch of a leader: assigns offsets from the log end, sets the leader epoch, rewriting both in place in
  // `batch`, then checks producers, rolls when due, writes, indexes. The end offset moves before this returns, the high
  // watermark does not (see set_high_watermark). A coordinator's batch, which no validation has seen, gets the time of the
  // append where the log wants it. `rules`: of the transaction version that the coordinator or the verified producer uses.
  AppendResult append_as_leader(MutableBytesView batch, LeaderEpoch leader_epoch, AppendOrigin origin,
                                const TransactionRules& rules = {}, DueFlush due_flush = DueFlush::by_append);
  // The same for several batches, one after the other, as with DueFlush::by_caller: each gets the result that it would get
  // alone, but as many as can go to the file in one write (gathered_append.cc). When that fails none of them is in the log,
  // and those behind are not tried: all get the failure's result. `results` becomes as long as `batches`.
  void append_all_as_leader(std::span<const MutableBytesView> batches, LeaderEpoch leader_epoch, AppendOrigin origin,
                            std::vector<AppendResult>& results);
  // Several batches that already have offsets and epochs: a follower's, or the metadata log's.
  AppendResult append_as_follower(BytesView batches);
  // Becoming leader: notes (epoch, log end offset) at once.
  Result<void> begin_leader_epoch(LeaderEpoch epoch);
  // A new segment at the log end, unless the active one is empty. Errors: io, closed.
  Result<void> roll();

  // --- offsets ---
  Offset log_start_offset() const;
  Offset log_end_offset() const;
  Offset high_watermark() const;
  Offset last_stable_offset() const;
  Offset recovery_point() const;
  // How far the high watermark may go: the log end, or, while a flush that was due is under way, what is flushed. As in
  // Kafka, where the flush is a part of the append, nobody reads what is not as durable as flush.messages wants it.
  Offset settled_end() const;
  // Clamped to [log start, log end]; returns the new value. Never moves back but by truncation.
  Offset set_high_watermark(Offset to);
  // DeleteRecords and retention. Errors: out_of_range above the high watermark. At or below the present start: nothing.
  Result<void> advance_log_start(Offset to);

  // --- retention (retention.h has the rule; partition_log_retention.cc) ---
  // Whether the rule would remove something at `now`. Takes no lock that waits for a disk and allocates nothing; what
  // keeps a log that is over its limit is logged, once in kComplaintInterval and whenever it changes. Errors: io.
  Result<bool> retention_due(TimestampMs now);
  // Removes what the rule takes: whole segments, oldest first, by the log start offset first and then by retire().
  // Answers a verdict for each that went; logs them too. Errors: io, closed.
  Result<std::vector<RetentionVerdict>> apply_retention(TimestampMs now);
  // A verdict for every segment, oldest first. Changes nothing. Errors: io.
  Result<std::vector<RetentionVerdict>> explain_retention(TimestampMs now) const;
  static constexpr DurationMs kComplaintInterval{3'600'000};

  // --- reading ---
  // Errors: out_of_range below the log start or above the log end.
  // `trace`, when there is one, is told the steps of the search.
  Result<ReadResult> read(const ReadOptions& options, LookupTrace* trace = nullptr) const;
  // First record with timestamp >= target at or after the log start. Not limited by the high watermark: the caller is.
  Result<std::optional<FoundRecord>> find_by_timestamp(TimestampMs target, LookupTrace* trace = nullptr) const;
  // The record with the largest timestamp (the first one of equals, as Kafka finds it).
  Result<std::optional<FoundRecord>> find_max_timestamp() const;
  EpochEndOffset end_offset_for_epoch(std::int32_t epoch) const;
  std::optional<EpochEntry> latest_epoch() const;
  std::optional<EpochEntry> earliest_epoch() const;
  std::vector<EpochEntry> epochs() const;

  // --- life ---
  void update_config(const LogConfig& config);
  LogConfig config() const;
  Result<void> flush();                       // to the log end; fsync happens outside the append lock
  Result<void> flush_up_to(Offset offset);
  // flush() of what an acknowledgement stands for: not of the active segment's index files, which are made anew after an
  // unclean stop.
  Result<void> flush_records();
  TimestampMs last_flush_time() const;        // of the opening, when there was none yet
  std::size_t expire_producers();
  Result<void> truncate_to(Offset offset);
  Result<void> truncate_fully_and_start_at(Offset offset);
  // Closing entry, trim, flush, producer snapshot: the broker's clean stop. The log takes no appends afterwards.
  Result<void> close_cleanly();
  // Drops handles without flushing: the directory failed.
  void close_abruptly();
  // Whether its disk is nearly full: set by LogManager, and by an append that found no room. Leaders refuse records then.
  void set_short_of_space(bool is_short);
  bool is_short_of_space() const;
  // Renames the directory (for deletion); open descriptors go on.
  Result<void> rename_directory(const io::Path& to);

  ByteCount size() const;                     // of all .log files
  std::vector<SegmentInfo> segments() const;
  // The segments themselves, for their read side: nothing is read to know them. Empty once the log was closed abruptly.
  std::shared_ptr<const SegmentList> segment_list() const;
  std::optional<Offset> first_segment_base() const;  // absent once the log was closed abruptly
  std::vector<ProducerEntry> active_producers() const;
  const RecoveryReport& recovery() const;

  // Called after the log end or the recovery point moved because of a roll: LogManager flushes in the background.
  void on_roll(std::function<void(Offset new_base)> callback);
  // Called once a write or an fsync has failed, outside of all locks: LogManager takes the directory offline. Not for a full
  // disk, as long as nothing but the new records is missing on it.
  void on_failure(std::function<void(const Error& why)> callback);
  // Called once when a look-up met an index that does not fit its batches: LogManager calls repair_indexes() in the background.
  // Look-ups are right meanwhile, and slower.
  void on_index_damage(std::function<void()> callback);
  // Makes the indexes of every such segment anew. Errors: io, no_space: nothing has changed for that one.
  Result<void> repair_indexes();
  // The same for all segments, whatever their indexes hold; appends wait while those of the active one are made. Answers how many
  // segments there are. Errors: as above.
  Result<std::size_t> rebuild_indexes();
  // Called when files were renamed to *.deleted: LogManager calls remove_retired_files() when `delay` is over.
  void on_retired(std::function<void(DurationMs delay)> callback);
  // Deletes the retired files whose file.delete.delay.ms is over; one that is gone already is fine. Errors: io.
  Result<void> remove_retired_files();
  std::vector<RetiredFiles> retired_files() const;

  // --- cleaning (log_replacement.cc) ---
  // What decides whether the log is cleaned. `checkpoint`: where the last pass ended. Reads the first batch or the time of
  // a segment only where the settings ask for it.
  Result<CleanableFacts> cleanable_facts(std::optional<Offset> checkpoint) const;
  CleaningView view_for_cleaning() const;
  // Compares the transaction indexes below `end` with the batches where that was not done yet: what a lost one does not tell
  // as aborted would outlive what it must not replace. Errors: io, no_space.
  Result<void> trust_txn_indexes(const CleaningView& view, Offset end) const;
  // Puts `fresh`, complete and synced under .cleaned names, in the place of the neighbours `old`, which are retired. The
  // append lock is held for the swap of the list only, never over a call to the disk. A crash at any instant leaves one
  // or the other. Errors: closed when the log was closed, renamed or truncated since the view was taken, with nothing
  // changed and `fresh` the caller's to remove; any other is a failure of the log, whose next load repairs it.
  Result<void> replace_segments(const CleaningView& view, const SegmentList& old, const SegmentList& fresh);

  // --- moving to another directory (log_move.h) ---
  // Copies up to `at_most` bytes of what `copy` has not got yet, and answers how many are still missing. Errors: io, no_space,
  // closed. The log is not touched by an error of the copy's disk.
  Result<ByteCount> copy_into(LogCopy& copy, ByteCount at_most) const;
  // Lives on in `directory` from now on: takes the last bytes along, which no append may add to meanwhile, and renames its
  // old directory to `old_becomes` and that of the copy to `directory`, in this order, each name durable. Errors: limit, with
  // nothing changed, when more than `at_most` bytes are missing; io, no_space, closed.
  Result<void> move_into(LogCopy& copy, const io::Path& directory, const io::Path& old_becomes, ByteCount at_most);

  // recovery_point(), or one less while index files below it are, or could by a roll become, part of a segment that is
  // trusted and are not synced.
  Offset recovery_point_to_checkpoint() const;

 protected:
  PartitionLog();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cordwood::storage
