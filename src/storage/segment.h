// storage/segment.h — one segment of a log: its .log file and the indexes beside it.
//
// Batches from base_offset on, in one file, with a sparse index by offset and one by time. What was not needed yet was
// not opened either, and what is not needed any more is closed again (storage/open_files.h): a log of many segments costs
// a descriptor and two mappings only for those in use. The index files of a segment that
// a roll made come with its first append (as Kafka's do); those of a new log at once.
//
// Threads: one writer (append, become_inactive, recover's steps, truncate), excluded by the log's lock; the read side
// (marked below) may run beside it. Rules: docs/formats/partition_log.md.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/batch_scan.h"
#include "storage/index_builder.h"
#include "storage/index_check.h"
#include "storage/log_config.h"
#include "storage/offset_index.h"
#include "storage/open_files.h"
#include "storage/published.h"
#include "storage/roll_rules.h"
#include "storage/time_index.h"
#include "storage/txn_index.h"

namespace cordwood::storage {

// The largest timestamp of a segment and the last offset of the first batch that reached it; {-1, base} for none.
using MaxTimestamp = TimeEntry;

class LookupTrace;
enum class ScanStart : std::uint8_t;

class Segment final : public OpenFiles::Holder, public std::enable_shared_from_this<Segment> {
 public:
  // Taken over when the segment object is made; a later change of the config holds for the next segment.
  struct Settings {
    ByteCount segment_bytes;
    ByteCount index_bytes;
    ByteCount index_interval_bytes;
    DurationMs jitter;
    bool preallocate = false;
    std::shared_ptr<OpenFiles> open_files;  // null: nothing is ever closed
    static Settings from(const LogConfig& config, Random& random, std::shared_ptr<OpenFiles> open_files);
  };
  enum class IndexFiles { at_once, with_first_append };
  // Which companions of an existing .log the directory holds.
  struct Companions {
    bool offset_index = false;
    bool time_index = false;
    bool txn_index = false;
  };

  // A new, empty segment. Files of an earlier one under the same names are removed first. With a suffix all its names end
  // in that (".cleaned"), until change_suffix().
  static Result<std::shared_ptr<Segment>> create(io::FileSystem& fs, const io::Path& directory, Offset base_offset,
                                                 const Settings& settings, TimestampMs now, IndexFiles index_files,
                                                 std::string_view name_suffix = {});
  // A segment that is there already. A .log file that is missing is made; one longer than 2^31-1 bytes is refused
  // (corrupt).
  static Result<std::shared_ptr<Segment>> open(io::FileSystem& fs, const io::Path& directory, Offset base_offset,
                                               const Settings& settings, TimestampMs now, Companions companions);

  Offset base_offset() const { return base_offset_; }
  // Bytes in the .log file. Read side.
  ByteCount size() const { return {size_.load(std::memory_order_acquire)}; }
  bool empty() const { return size() == ByteCount{0}; }
  // Behind the last whole batch: the size, or less where a clean stop left a torn tail and the load found it. Read side.
  FilePosition valid_end() const {
    return std::min(FilePosition{size().value}, FilePosition{torn_at_.load(std::memory_order_acquire)});
  }
  void mark_torn(FilePosition valid_end) { torn_at_.store(valid_end.value, std::memory_order_release); }
  bool has_txn_index() const { return has_txn_index_.load(std::memory_order_acquire); }
  io::Path path_of(std::string_view suffix) const;
  void set_directory(const io::Path& directory);
  // Renames every file of the segment that is there: their names end in `suffix` (".deleted") from now on instead of what
  // they ended in so far. What is open stays open, and what is opened later is found under the new name. Errors: io.
  Result<void> change_suffix(std::string_view suffix);
  // The last step of a swap: ".swap" goes. The .log's new name is durable before the others change, because a load that
  // finds a .swap of the .log takes the other files of this base for those of the segment that was replaced.
  Result<void> drop_swap_suffix();

  // --- read side ---
  // The .log file; stays open for the life of whoever holds the pointer, and is not to be kept by others.
  Result<std::shared_ptr<io::File>> file() const;
  // The first batch in [0, end) whose last offset is at or above `target`, nothing when there is none.
  Result<std::optional<BatchInfo>> find_batch(Offset target, FilePosition end, LookupTrace* trace = nullptr) const;
  // The last batch boundary in [from, limit], where `from` is one.
  Result<FilePosition> last_boundary(FilePosition from, FilePosition limit) const;
  // The smallest indexed offset whose position is at or above `position`.
  std::optional<Offset> indexed_offset_at_or_after(FilePosition position) const;
  Result<MaxTimestamp> max_timestamp() const;
  // The same, where it was read before or the segment was written in this life.
  std::optional<MaxTimestamp> known_max_timestamp() const {
    if (!max_timestamp_known_.load(std::memory_order_acquire)) return std::nullopt;
    return max_timestamp_.load();
  }
  // max_timestamp(), or the modification time of the file where no record carries a time.
  Result<TimestampMs> largest_timestamp() const;
  Result<TimestampMs> file_time() const;  // when the .log was last written
  // The largest timestamp of the first batch, -1 when there is none. Of a closed segment, read once.
  Result<TimestampMs> first_batch_timestamp() const;
  // What the entries of the index files take; of a closed segment these are the files' lengths.
  struct IndexSizes {
    ByteCount offset_index;
    ByteCount time_index;
  };
  Result<IndexSizes> index_sizes() const;
  // Where a search for records at or after `target` (and `from`) may start: nothing before can match.
  Result<FilePosition> search_start(TimestampMs target, Offset from, LookupTrace* trace = nullptr) const;
  Result<std::vector<AbortedEntry>> aborted_entries() const;
  // Whether a search met an entry of an index that does not fit the batches, or far too few of them. What it answered is
  // right all the same; rebuild_indexes() makes the next ones fast again.
  bool index_is_suspect() const { return index_suspect_.load(std::memory_order_relaxed); }
  // Whether the transaction index is known to be complete: it was made in this life, or compared with the batches.
  bool txn_index_is_trusted() const { return txn_trusted_.load(std::memory_order_acquire); }
  // The first offset of the earliest transaction that is open at the end of the segment, the largest offset for none; the
  // smallest when that is not known.
  Offset first_open_at_end() const { return {first_open_at_end_.load(std::memory_order_relaxed)}; }
  void trust_txn_index(Offset first_open_at_end) {
    first_open_at_end_.store(first_open_at_end.value, std::memory_order_relaxed);
    txn_trusted_.store(true, std::memory_order_release);
  }

  struct End {
    Offset next_offset;       // base_offset when there is no batch
    FilePosition valid_end;   // behind the last whole batch; below size() when the tail is torn
    std::string fault;        // why the walk ended before the end of the file, empty for an incomplete batch
    std::optional<BatchInfo> last;
  };
  // Walks from the last indexed batch to the end. Read side, but made for loading.
  Result<End> find_end() const;

  // --- write side ---
  // Opens or creates both index files at full length. Before append, should_roll and recovery.
  Result<void> prepare_for_append();
  // Writes `bytes` at the end and indexes the batches in it (positions are those in the file). Errors: no_space, with nothing
  // of them left in the file; io, after which the file holds who knows what. No room for an index entry is no error.
  Result<void> append(BytesView bytes, std::span<const BatchInfo> batches) { return append(std::span(&bytes, 1), batches); }
  // The same of bytes that lie in several places: one write.
  Result<void> append(std::span<const BytesView> pieces, std::span<const BatchInfo> batches);
  bool is_prepared_for_append() const { return prepared_; }
  Result<RollCandidate> roll_candidate();
  Result<void> append_aborted(const AbortedEntry& entry);
  // Has the disk keep room for so many of them, before the markers are written. As long as the answer is held the file stays
  // open, so that append_aborted() needs neither room nor a descriptor. Errors: io, no_space.
  Result<std::shared_ptr<TxnIndex>> reserve_aborted(std::int64_t entries);
  // The closing time entry; index files as long as their entries; the .log as long as its batches.
  Result<void> become_inactive();
  // Removes batches from the first one that reaches `target`; returns how many bytes went.
  Result<ByteCount> truncate_to(Offset target, TimestampMs now);

  // Recovery: forget all index entries; note a batch that was found good; cut the file behind the last good one and
  // close the indexes.
  // The .log is untouched while only its indexes are made anew.
  Result<void> begin_rebuild();
  void rebuild_with(const BatchInfo& batch);
  Result<void> end_rebuild(FilePosition valid_end);

  // Makes both index files anew from the headers of the batches, while readers go on; the first bad ones are kept below
  // damaged/. `is_active`: the files get room for appends. Errors: io, no_space: the old ones stay.
  Result<void> rebuild_indexes(bool is_active);
  // The transaction index with exactly these entries. Durable when it returns. Errors: io, no_space: the old one stays.
  Result<void> replace_aborted(std::span<const AbortedEntry> entries);

  // Waits until the batches and index entries made since the last call are on the disk; nothing to do otherwise. May run
  // beside the writer.
  Result<void> sync();
  // Of batches and aborted transactions alone.
  Result<void> sync_records();
  // Its batches may not be on the disk, whoever wrote them.
  void mark_unsynced() { data_dirty_.store(true, std::memory_order_release); }
  // Whether sync() has something to do or is at it.
  bool needs_sync() const;
  Result<void> remove_files();

  // --- OpenFiles::Holder ---
  bool take_used() override { return used_.exchange(false, std::memory_order_relaxed); }
  bool has_unsynced() const override {
    return data_dirty_.load(std::memory_order_acquire) || txn_dirty_.load(std::memory_order_acquire);
  }
  bool close_files() override;

 private:
  Segment(io::FileSystem& fs, io::Path directory, Offset base_offset, const Settings& settings, TimestampMs created)
      : fs_(fs), base_offset_(base_offset), settings_(settings), directory_(std::move(directory)), created_(created) {}

  io::Path path_locked(std::string_view suffix) const REQUIRES(mu_);
  void follow_names() REQUIRES(mu_);  // tells the open indexes where their files are now
  Result<OffsetIndex*> offset_index(OffsetIndex::Growth growth) const;
  Result<TimeIndex*> time_index(OffsetIndex::Growth growth) const;
  Result<std::shared_ptr<TxnIndex>> txn_index() const;
  // Something was opened, or is about to be used: it is known to open_files from now on. Not with mu_ held.
  void note_use() const;
  template <class Action>
  auto with_room(Action action) const {
    return storage::with_room(settings_.open_files.get(), std::move(action));
  }
  IndexEntry offset_floor(Offset target, LookupTrace* trace = nullptr) const;
  // Where a search for `target` in [0, end) may start, by the index when it fits.
  Result<FilePosition> start_for(const ByteSource& log, Offset target, FilePosition end, LookupTrace* trace = nullptr) const;
  ScanStart why_no_entry() const;
  void trace_start(LookupTrace& trace, FilePosition at, ScanStart why) const;
  Result<std::optional<BatchInfo>> trace_batch(Offset target, FilePosition end, LookupTrace& trace) const;
  Result<std::optional<BatchInfo>> find_batch_in(const ByteSource& log, Offset target, FilePosition end, LookupTrace* trace) const;
  Result<FilePosition> search_start_in(const ByteSource& log, const TimeEntry& entry, Offset from, LookupTrace* trace) const;
  void suspect_index() const { index_suspect_.store(true, std::memory_order_relaxed); }
  void suspect_when_far(FilePosition start, const std::optional<BatchInfo>& found) const;
  Result<void> index_batch(const BatchInfo& batch);
  Result<void> offer_time_entry(TimeIndex::Slot slot);
  Result<MaxTimestamp> recompute_max_timestamp() const;
  Result<TimestampMs> rolling_timestamp();

  io::FileSystem& fs_;
  // What retention asks of ten thousand segments lies side by side.
  const Offset base_offset_;
  std::atomic<std::int64_t> size_{0};
  mutable PublishedValue<MaxTimestamp> max_timestamp_;
  mutable std::atomic<bool> max_timestamp_known_{false};
  const Settings settings_;

  // Guards what is opened on demand. Held over open(2) and close(2) only, which a reader may have to wait for.
  mutable Mutex mu_;
  io::Path directory_ GUARDED_BY(mu_);
  std::string name_suffix_ GUARDED_BY(mu_);
  mutable std::shared_ptr<io::File> file_ GUARDED_BY(mu_);
  mutable std::shared_ptr<TxnIndex> txn_index_ GUARDED_BY(mu_);
  std::unique_ptr<const Error> close_error_ GUARDED_BY(mu_);  // of an fsync before a close: what sync() answers from then on
  // Each is set once, under mu_, and then constant: `..._open_` is its release flag. They open and map by themselves.
  mutable std::unique_ptr<OffsetIndex> offset_index_;
  mutable std::atomic<OffsetIndex*> offset_index_open_{nullptr};
  mutable std::unique_ptr<TimeIndex> time_index_;
  mutable std::atomic<TimeIndex*> time_index_open_{nullptr};
  mutable std::atomic<bool> used_{false};
  mutable std::atomic<bool> registered_{false};  // with open_files

  std::atomic<std::int64_t> torn_at_{INT64_MAX};
  static constexpr std::int64_t kNotRead = INT64_MIN;
  mutable std::atomic<std::int64_t> first_batch_timestamp_{kNotRead};

  std::atomic<bool> has_offset_index_{false};
  std::atomic<bool> has_txn_index_{false};
  mutable std::atomic<bool> index_suspect_{false};
  mutable std::atomic<bool> index_rebuilt_{false};  // in this life; what is sparse then is so by its settings
  std::atomic<bool> txn_trusted_{true};
  bool prepared_ = false;  // write side only
  std::atomic<std::int64_t> first_open_at_end_{INT64_MIN};

  // Write side only.
  std::int64_t bytes_since_index_entry_ = 0;
  TimestampMs created_;
  std::optional<TimestampMs> rolling_timestamp_;
  std::unique_ptr<IndexBuilder> rebuilding_;  // between begin_rebuild() and end_rebuild()

  Mutex syncing_;  // a second caller must not return before the first one's fsync is done
  // What sync() has still to do. Set after the write: a sync that clears it has the bytes, one that came before them leaves
  // it standing. Those of records also before it: they keep their file open.
  std::atomic<bool> data_dirty_{false};
  std::atomic<bool> index_dirty_{false};
  std::atomic<bool> txn_dirty_{false};
  std::atomic<int> syncs_under_way_{0};
};

// The segments of a log, ascending by base offset, never empty once a log is open. Immutable when published.
using SegmentList = std::vector<std::shared_ptr<Segment>>;

// The last segment whose base is at or below `offset`; segments.size() when there is none.
std::size_t floor_segment(const SegmentList& segments, Offset offset);

}  // namespace cordwood::storage
