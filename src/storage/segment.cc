#include "storage/segment.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/directory_files.h"
#include "storage/lookup_trace.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

constexpr FilePosition kStart{0};

// Counted for as long as it lives.
struct SyncUnderWay {
  explicit SyncUnderWay(std::atomic<int>& counted) : count(counted) { count.fetch_add(1, std::memory_order_acq_rel); }
  ~SyncUnderWay() { count.fetch_sub(1, std::memory_order_acq_rel); }
  SyncUnderWay(const SyncUnderWay&) = delete;
  SyncUnderWay& operator=(const SyncUnderWay&) = delete;
  std::atomic<int>& count;
};

Result<void> remove_if_there(io::FileSystem& fs, const io::Path& path) {
  Result<void> removed = fs.remove_file(path);
  if (!removed && removed.error().code != Errc::not_found) return removed.error();
  return {};
}

}  // namespace

Segment::Settings Segment::Settings::from(const LogConfig& config, Random& random,
                                          std::shared_ptr<OpenFiles> open_files) {
  Settings settings;
  settings.open_files = std::move(open_files);
  settings.segment_bytes = config.segment_bytes;
  settings.index_bytes = config.segment_index_bytes;
  settings.index_interval_bytes = config.index_interval_bytes;
  const DurationMs bound = std::min(config.segment_jitter_ms, config.segment_ms);
  if (bound > DurationMs{0}) {
    settings.jitter = {static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound.value)))};
  }
  settings.preallocate = config.preallocate;
  return settings;
}

// --- making and opening ---

Result<std::shared_ptr<Segment>> Segment::create(io::FileSystem& fs, const io::Path& directory, Offset base_offset,
                                                 const Settings& settings, TimestampMs now, IndexFiles index_files,
                                                 std::string_view name_suffix) {
  std::shared_ptr<Segment> segment(new Segment(fs, directory, base_offset, settings, now));
  {
    MutexLock lock(segment->mu_);
    segment->name_suffix_ = name_suffix;
  }
  for (std::string_view suffix : {kOffsetIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix}) {
    TRY(remove_if_there(fs, segment->path_of(suffix)));
  }
  const std::shared_ptr<io::File> file =
      TRY(segment->with_room([&] { return fs.open(segment->path_of(kLogSuffix), io::OpenMode::truncate); }));
  {
    MutexLock lock(segment->mu_);
    segment->file_ = file;
  }
  segment->note_use();
  segment->data_dirty_.store(true, std::memory_order_relaxed);
  if (settings.preallocate) TRY(file->reserve(settings.segment_bytes));
  segment->max_timestamp_.store({kNoTimestamp, base_offset});
  segment->max_timestamp_known_.store(true, std::memory_order_release);
  if (index_files == IndexFiles::at_once) TRY(segment->prepare_for_append());
  return segment;
}

Result<std::shared_ptr<Segment>> Segment::open(io::FileSystem& fs, const io::Path& directory, Offset base_offset,
                                               const Settings& settings, TimestampMs now, Companions companions) {
  std::shared_ptr<Segment> segment(new Segment(fs, directory, base_offset, settings, now));
  const io::Path path = segment->path_of(kLogSuffix);
  ByteCount size{0};
  Result<io::FileStatus> status = fs.status(path);
  if (status) {
    size = status->size;
  } else if (status.error().code == Errc::not_found) {
    TRY(fs.open(path, io::OpenMode::create));
  } else {
    return status.error();
  }
  if (size > ByteCount{INT32_MAX}) {
    return Error{Errc::corrupt, fmt::format("{} has {} bytes, more than a segment can have", path, size)};
  }
  segment->size_.store(size.value, std::memory_order_release);
  segment->has_offset_index_.store(companions.offset_index, std::memory_order_release);
  segment->has_txn_index_.store(companions.txn_index, std::memory_order_release);
  segment->txn_trusted_.store(size == ByteCount{0}, std::memory_order_release);
  return segment;
}

io::Path Segment::path_locked(std::string_view suffix) const {
  io::Path path = io::join(directory_, segment_file_name(base_offset_, suffix));
  path += name_suffix_;
  return path;
}

io::Path Segment::path_of(std::string_view suffix) const {
  MutexLock lock(mu_);
  return path_locked(suffix);
}

void Segment::set_directory(const io::Path& directory) {
  MutexLock lock(mu_);
  directory_ = directory;
  follow_names();
}

void Segment::follow_names() {
  if (offset_index_) offset_index_->moved_to(path_locked(kOffsetIndexSuffix));
  if (time_index_) time_index_->moved_to(path_locked(kTimeIndexSuffix));
}

Result<void> Segment::change_suffix(std::string_view suffix) {
  MutexLock lock(mu_);
  std::array<io::Path, kSegmentSuffixes.size()> old_names;
  for (std::size_t i = 0; i < old_names.size(); ++i) old_names[i] = path_locked(kSegmentSuffixes[i]);
  name_suffix_ = suffix;
  Result<void> result;
  for (std::size_t i = 0; i < old_names.size(); ++i) {
    Result<void> renamed = fs_.rename(old_names[i], path_locked(kSegmentSuffixes[i]));
    if (!renamed && renamed.error().code != Errc::not_found && result) result = renamed;
  }
  // A look-up that comes between finds no index file and scans instead.
  follow_names();
  return result;
}

Result<void> Segment::drop_swap_suffix() {
  io::Path from;
  io::Path directory;
  {
    MutexLock lock(mu_);
    from = path_locked(kLogSuffix);
    directory = directory_;
  }
  TRY(fs_.rename(from, io::join(directory, segment_file_name(base_offset_, kLogSuffix))));
  TRY(fs_.sync_directory(directory));
  // The .log is no longer where its old name says, which is fine.
  TRY(change_suffix({}));
  return fs_.sync_directory(directory);
}

// --- opening on demand, and closing again ---

void Segment::note_use() const {
  if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
  if (registered_.load(std::memory_order_acquire) || settings_.open_files == nullptr) return;
  if (registered_.exchange(true, std::memory_order_acq_rel)) return;
  settings_.open_files->opened(std::const_pointer_cast<Segment>(shared_from_this()));
}

Result<std::shared_ptr<io::File>> Segment::file() const {
  Result<std::shared_ptr<io::File>> file = with_room([&]() -> Result<std::shared_ptr<io::File>> {
    MutexLock lock(mu_);
    if (!file_) file_ = TRY(fs_.open(path_locked(kLogSuffix), io::OpenMode::read_write));
    return file_;
  });
  note_use();
  return file;
}

Result<OffsetIndex*> Segment::offset_index(OffsetIndex::Growth growth) const {
  note_use();
  if (OffsetIndex* open = offset_index_open_.load(std::memory_order_acquire)) return open;
  return with_room([&]() -> Result<OffsetIndex*> {
    MutexLock lock(mu_);
    if (!offset_index_) {
      offset_index_ =
          TRY(OffsetIndex::open(fs_, path_locked(kOffsetIndexSuffix), base_offset_, settings_.index_bytes, growth));
      offset_index_open_.store(offset_index_.get(), std::memory_order_release);
    }
    return offset_index_.get();
  });
}

Result<TimeIndex*> Segment::time_index(OffsetIndex::Growth growth) const {
  note_use();
  if (TimeIndex* open = time_index_open_.load(std::memory_order_acquire)) return open;
  return with_room([&]() -> Result<TimeIndex*> {
    MutexLock lock(mu_);
    if (!time_index_) {
      time_index_ = TRY(TimeIndex::open(fs_, path_locked(kTimeIndexSuffix), base_offset_, settings_.index_bytes, growth));
      time_index_open_.store(time_index_.get(), std::memory_order_release);
    }
    return time_index_.get();
  });
}

Result<std::shared_ptr<TxnIndex>> Segment::txn_index() const {
  note_use();
  return with_room([&]() -> Result<std::shared_ptr<TxnIndex>> {
    MutexLock lock(mu_);
    if (!txn_index_) txn_index_ = TRY(TxnIndex::open(fs_, path_locked(kTxnIndexSuffix)));
    return txn_index_;
  });
}

// Runs beside the writer and readers. A writer that has taken its file just before goes on with that, and marks the
// segment as unsynced after the write, as always.
bool Segment::close_files() {
  if (Result<void> synced = sync_records(); !synced) {
    MutexLock lock(mu_);
    if (!close_error_ && !is_out_of_descriptors(synced.error())) close_error_ = std::make_unique<const Error>(synced.error());
    return false;
  }
  MutexLock lock(mu_);
  // Whoever holds the transaction index is about to append to it: there must not be a second one of it meanwhile.
  if (has_unsynced() || txn_index_.use_count() > 1) return false;
  // First, so that who opens something from now on is known again.
  registered_.store(false, std::memory_order_release);
  file_.reset();
  txn_index_.reset();
  if (offset_index_) offset_index_->close_files();
  if (time_index_) time_index_->close_files();
  return true;
}

// --- read side ---

// The index is a hint: where it cannot be had, the search starts at the first batch.
IndexEntry Segment::offset_floor(Offset target, LookupTrace* trace) const {
  if (has_offset_index_.load(std::memory_order_acquire)) {
    if (Result<OffsetIndex*> index = offset_index(OffsetIndex::Growth::as_it_is)) return (*index)->lookup(target, trace);
  }
  return {base_offset_, kStart};
}

Result<FilePosition> Segment::start_for(const ByteSource& log, Offset target, FilePosition end, LookupTrace* trace) const {
  const IndexEntry entry = offset_floor(target, trace);
  if (entry.position == kStart) {
    if (trace != nullptr) trace_start(*trace, kStart, why_no_entry());
    return kStart;
  }
  if (entry.position < end) {
    BatchScan scan(log, entry.position, end);
    const Result<std::optional<BatchInfo>> batch = scan.next();
    if (batch && *batch && fits(entry, **batch, base_offset_)) {
      if (trace != nullptr) trace_start(*trace, entry.position, ScanStart::indexed);
      return entry.position;
    }
    suspect_index();
  } else if (entry.position >= FilePosition{size().value}) {
    suspect_index();
  }
  if (trace != nullptr) trace_start(*trace, kStart, ScanStart::entry_is_wrong);
  return kStart;
}

ScanStart Segment::why_no_entry() const {
  return has_offset_index_.load(std::memory_order_acquire) ? ScanStart::no_entry : ScanStart::no_index;
}

void Segment::trace_start(LookupTrace& trace, FilePosition at, ScanStart why) const {
  LookupStep& step = trace.add(LookupStepKind::start, base_offset_, segment_file_name(base_offset_, kLogSuffix));
  step.from = at;
  step.why = why;
}

// Of an index that lost entries, or all of them, no single one is wrong.
void Segment::suspect_when_far(FilePosition start, const std::optional<BatchInfo>& found) const {
  constexpr std::int64_t kFar = 1 * MiB;
  if (!found || index_rebuilt_.load(std::memory_order_relaxed)) return;
  if ((found->position - start).value > kFar + 16 * settings_.index_interval_bytes.value) suspect_index();
}

Result<std::optional<BatchInfo>> Segment::find_batch(Offset target, FilePosition end, LookupTrace* trace) const {
  if (trace != nullptr) return trace_batch(target, end, *trace);
  return find_batch_in(*TRY(file()), target, end, nullptr);
}

Result<std::optional<BatchInfo>> Segment::trace_batch(Offset target, FilePosition end, LookupTrace& trace) const {
  const std::shared_ptr<io::File> log = TRY(file());
  const CountedSource counted(*log);
  const Result<std::optional<BatchInfo>> found = find_batch_in(counted, target, end, &trace);
  trace.note_reads(counted);
  return found;
}

Result<std::optional<BatchInfo>> Segment::find_batch_in(const ByteSource& log, Offset target, FilePosition end,
                                                        LookupTrace* trace) const {
  const auto begin = [&](FilePosition at, ScanStart why) {
    if (trace != nullptr) trace_start(*trace, at, why);
  };
  // One for the batch at the start, and one for each that follows.
  const auto scanned = [&](const std::optional<BatchInfo>& batch) {
    if (trace != nullptr) trace->scanned(base_offset_, batch, batch && batch->last_offset >= target);
  };
  // Where one window holds the whole search the index would cost more than it saves.
  constexpr FilePosition kOneWindow{8 * KiB};
  ScanStart why = ScanStart::one_window;
  if (end > kOneWindow) {
    const IndexEntry entry = offset_floor(target, trace);
    why = entry.position > kStart ? ScanStart::entry_is_wrong : why_no_entry();
    if (entry.position > kStart && entry.position < end) {
      BatchScan scan(log, entry.position, end);
      Result<std::optional<BatchInfo>> first = scan.next();
      if (first && *first && fits(entry, **first, base_offset_)) {
        begin(entry.position, ScanStart::indexed);
        std::optional<BatchInfo> batch = *first;
        scanned(batch);
        while (batch && batch->last_offset < target) {
          batch = TRY(scan.next());
          scanned(batch);
        }
        suspect_when_far(entry.position, batch);
        return batch;
      }
      suspect_index();
    } else if (entry.position >= FilePosition{size().value}) {
      suspect_index();
    }
  }
  begin(kStart, why);
  BatchScan scan(log, kStart, end);
  std::optional<BatchInfo> batch;
  do {
    batch = TRY(scan.next());
    scanned(batch);
  } while (batch && batch->last_offset < target);
  suspect_when_far(kStart, batch);
  return batch;
}

Result<FilePosition> Segment::last_boundary(FilePosition from, FilePosition limit) const {
  const std::shared_ptr<io::File> log = TRY(file());
  FilePosition start = from;
  if (has_offset_index_.load(std::memory_order_acquire)) {
    if (Result<OffsetIndex*> opened = offset_index(OffsetIndex::Growth::as_it_is)) {
      const OffsetIndex& index = **opened;
      // The last entry whose position is at or below the limit.
      std::int64_t low = 0;
      std::int64_t high = index.entries();
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        const std::optional<IndexEntry> entry = index.entry(middle);
        if (entry && entry->position <= limit) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      const std::optional<IndexEntry> entry = low > 0 ? index.entry(low - 1) : std::nullopt;
      if (entry && entry->position > from) {
        BatchScan check(*log, entry->position, FilePosition{size().value});
        Result<std::optional<BatchInfo>> batch = check.next();
        if (batch && *batch && fits(*entry, **batch, base_offset_)) {
          start = entry->position;
        } else {
          suspect_index();
        }
      }
    }
  }
  BatchScan scan(*log, start, limit);
  while (TRY(scan.next())) {
  }
  return scan.position();
}

std::optional<Offset> Segment::indexed_offset_at_or_after(FilePosition position) const {
  if (!has_offset_index_.load(std::memory_order_acquire)) return std::nullopt;
  Result<OffsetIndex*> index = offset_index(OffsetIndex::Growth::as_it_is);
  if (!index) return std::nullopt;
  const std::optional<IndexEntry> entry = (*index)->first_at_or_after(position);
  if (!entry || entry->position < position) return std::nullopt;
  // Too low an answer would hide aborted transactions.
  const Result<std::shared_ptr<io::File>> log = file();
  if (!log) return std::nullopt;
  BatchScan scan(**log, entry->position, FilePosition{size().value});
  const Result<std::optional<BatchInfo>> batch = scan.next();
  if (batch && *batch && fits(*entry, **batch, base_offset_)) return entry->offset;
  suspect_index();
  return std::nullopt;
}

Result<MaxTimestamp> Segment::max_timestamp() const {
  if (!max_timestamp_known_.load(std::memory_order_acquire)) {
    const CheckedMaxTimestamp checked = TRY(check_max_timestamp(
        fs_, {path_of(kLogSuffix), path_of(kOffsetIndexSuffix), path_of(kTimeIndexSuffix)}, base_offset_, valid_end()));
    if (!checked.index_fits) suspect_index();
    MutexLock lock(mu_);
    if (!max_timestamp_known_.load(std::memory_order_relaxed)) {
      max_timestamp_.store(checked.max);
      max_timestamp_known_.store(true, std::memory_order_release);
    }
  }
  return max_timestamp_.load();
}

Result<TimestampMs> Segment::largest_timestamp() const {
  const MaxTimestamp max = TRY(max_timestamp());
  if (max.timestamp >= TimestampMs{0}) return max.timestamp;
  return file_time();
}

Result<TimestampMs> Segment::file_time() const { return TRY(fs_.status(path_of(kLogSuffix))).modified; }

Result<TimestampMs> Segment::first_batch_timestamp() const {
  const std::int64_t known = first_batch_timestamp_.load(std::memory_order_relaxed);
  if (known != kNotRead) return TimestampMs{known};
  if (empty()) return kNoTimestamp;
  const std::shared_ptr<io::File> log = TRY(file());
  BatchScan scan(*log, kStart, FilePosition{size().value});
  const std::optional<BatchInfo> first = TRY(scan.next());
  const TimestampMs timestamp = first ? first->max_timestamp : kNoTimestamp;
  first_batch_timestamp_.store(timestamp.value, std::memory_order_relaxed);
  return timestamp;
}

Result<Segment::IndexSizes> Segment::index_sizes() const {
  IndexSizes sizes;
  if (has_offset_index_.load(std::memory_order_acquire)) {
    sizes.offset_index = {TRY(offset_index(OffsetIndex::Growth::as_it_is))->entries() * OffsetIndex::kEntrySize};
  }
  sizes.time_index = {TRY(time_index(OffsetIndex::Growth::as_it_is))->entries() * TimeIndex::kEntrySize};
  return sizes;
}

Result<FilePosition> Segment::search_start(TimestampMs target, Offset from, LookupTrace* trace) const {
  if (empty()) return kStart;
  TimeIndex* times = TRY(time_index(OffsetIndex::Growth::as_it_is));
  const TimeEntry entry = times->lookup(target, trace);
  const std::shared_ptr<io::File> log = TRY(file());
  if (trace == nullptr) return search_start_in(*log, entry, from, nullptr);
  const CountedSource counted(*log);
  const Result<FilePosition> start = search_start_in(counted, entry, from, trace);
  trace->note_reads(counted);
  return start;
}

Result<FilePosition> Segment::search_start_in(const ByteSource& log, const TimeEntry& entry, Offset from, LookupTrace* trace) const {
  const FilePosition end = valid_end();
  if (entry.timestamp >= TimestampMs{0} && entry.offset >= from) {
    const FilePosition start = TRY(start_for(log, entry.offset, end, trace));
    const Result<std::optional<BatchInfo>> batch = first_batch_reaching(log, entry.offset, start, end);
    if (!batch && batch.error().code != Errc::corrupt) return batch.error();
    if (batch && *batch && fits(entry, **batch)) return start;
    suspect_index();
  }
  return start_for(log, from, end, trace);
}

Result<std::vector<AbortedEntry>> Segment::aborted_entries() const {
  if (!has_txn_index()) return std::vector<AbortedEntry>();
  return TRY(txn_index())->entries();
}

Result<Segment::End> Segment::find_end() const {
  End end{base_offset_, kStart, {}, {}};
  const FilePosition file_end{size().value};
  if (file_end == kStart) return end;
  const std::shared_ptr<io::File> log = TRY(file());
  FilePosition from = kStart;
  if (file_end > FilePosition{8 * KiB}) {
    const IndexEntry entry = offset_floor(Offset{INT64_MAX});
    if (entry.position > kStart && entry.position < file_end) {
      BatchScan check(*log, entry.position, file_end);
      Result<std::optional<BatchInfo>> batch = check.next();
      if (batch && *batch && fits(entry, **batch, base_offset_)) {
        from = entry.position;
      } else {
        suspect_index();
      }
    } else if (entry.position >= file_end) {
      suspect_index();
    }
  }
  BatchScan scan(*log, from, file_end);
  while (true) {
    Result<std::optional<BatchInfo>> batch = scan.next();
    if (!batch) {
      if (batch.error().code != Errc::corrupt) return batch.error();
      end.fault = batch.error().what;
      break;
    }
    if (!*batch) break;
    end.next_offset = next((*batch)->last_offset);
    end.last = *batch;
  }
  end.valid_end = scan.position();
  return end;
}

// --- write side ---

Result<void> Segment::prepare_for_append() {
  if (prepared_) return {};
  if (settings_.index_bytes < ByteCount{TimeIndex::kEntrySize}) {
    return Error{Errc::invalid, fmt::format("segment.index.bytes {} leaves no room for an index entry", settings_.index_bytes)};
  }
  TRY(max_timestamp());  // by the last entry, which the room for new ones would hide
  OffsetIndex* offsets = TRY(offset_index(OffsetIndex::Growth::full));
  TimeIndex* times = TRY(time_index(OffsetIndex::Growth::full));
  // Grows what a reader had opened as it was; costs nothing where it is at full length.
  TRY(with_room([&] { return offsets->resize_to_capacity(); }));
  TRY(with_room([&] { return times->resize_to_capacity(); }));
  index_dirty_.store(true, std::memory_order_release);
  has_offset_index_.store(true, std::memory_order_release);
  prepared_ = true;
  return {};
}

Result<TimestampMs> Segment::rolling_timestamp() {
  if (rolling_timestamp_) return *rolling_timestamp_;
  if (empty()) return kNoTimestamp;
  const std::shared_ptr<io::File> log = TRY(file());
  BatchScan scan(*log, kStart, FilePosition{size().value});
  const std::optional<BatchInfo> first = TRY(scan.next());
  rolling_timestamp_ = first ? first->max_timestamp : kNoTimestamp;
  return *rolling_timestamp_;
}

Result<RollCandidate> Segment::roll_candidate() {
  RollCandidate candidate;
  candidate.base_offset = base_offset_;
  candidate.size = size();
  candidate.offset_index_entries = offset_index_->entries();
  candidate.offset_index_max_entries = offset_index_->max_entries();
  candidate.time_index_entries = time_index_->entries();
  candidate.time_index_max_entries = time_index_->max_entries();
  candidate.rolling_timestamp = TRY(rolling_timestamp());
  candidate.created = created_;
  candidate.jitter = settings_.jitter;
  return candidate;
}

// An entry is made only where it goes up and fits: files from elsewhere may hold anything, and a hint that is missing
// costs a longer scan and nothing else.
Result<void> Segment::offer_time_entry(TimeIndex::Slot slot) {
  const MaxTimestamp max = max_timestamp_.load();
  const TimeEntry last = time_index_->last_or_none();
  if (max.timestamp <= last.timestamp || max.offset < last.offset) return {};
  if (slot == TimeIndex::Slot::ordinary ? time_index_->is_full() : time_index_->entries() >= time_index_->max_entries()) {
    return {};
  }
  index_dirty_.store(true, std::memory_order_release);
  return with_room([&] { return time_index_->maybe_append(max.timestamp, max.offset, slot); });
}

Result<void> Segment::index_batch(const BatchInfo& batch) {
  const std::optional<IndexEntry> last = offset_index_->last();
  if (!offset_index_->is_full() && (!last || batch.last_offset > last->offset)) {
    TRY(with_room([&] { return offset_index_->append(batch.last_offset, batch.position); }));
    index_dirty_.store(true, std::memory_order_release);
  }
  return offer_time_entry(TimeIndex::Slot::ordinary);
}

Result<void> Segment::append(std::span<const BytesView> pieces, std::span<const BatchInfo> batches) {
  const std::shared_ptr<io::File> log = TRY(file());
  // Before as well: nobody may close the file as one without unsynced records while they are being written.
  data_dirty_.store(true, std::memory_order_relaxed);
  if (Result<void> written = log->write_at(FilePosition{size_.load(std::memory_order_relaxed)}, pieces); !written) {
    if (written.error().code != Errc::no_space) return written;
    // A full disk may have taken the first part. Cutting it off needs no room; where that fails the disk is to blame.
    Result<void> cut = log->truncate(size());
    if (!cut) return Error{Errc::io, cut.error().what, cut.error().sys_errno};
    return written;
  }
  data_dirty_.store(true, std::memory_order_release);
  for (const BatchInfo& batch : batches) {
    if (!rolling_timestamp_ && batch.position == kStart) rolling_timestamp_ = batch.max_timestamp;
    if (batch.max_timestamp > max_timestamp_.load().timestamp) {
      max_timestamp_.store({batch.max_timestamp, batch.last_offset});
    }
    if (bytes_since_index_entry_ > settings_.index_interval_bytes.value) {
      Result<void> indexed = index_batch(batch);
      // The next batch tries again: a hint that is missing costs a longer scan and nothing else.
      const bool may_be_missing =
          indexed || indexed.error().code == Errc::no_space || is_out_of_descriptors(indexed.error());
      if (!may_be_missing) return indexed;
      if (indexed) bytes_since_index_entry_ = 0;
    }
    bytes_since_index_entry_ += batch.size.value;
  }
  std::size_t added = 0;
  for (const BytesView piece : pieces) added += piece.size();
  size_.fetch_add(static_cast<std::int64_t>(added), std::memory_order_release);
  return {};
}

Result<std::shared_ptr<TxnIndex>> Segment::reserve_aborted(std::int64_t entries) {
  std::shared_ptr<TxnIndex> index = TRY(txn_index());
  TRY(index->reserve(entries));
  return index;
}

Result<void> Segment::append_aborted(const AbortedEntry& entry) {
  const std::shared_ptr<TxnIndex> index = TRY(txn_index());
  txn_dirty_.store(true, std::memory_order_release);
  TRY(index->append(entry));
  txn_dirty_.store(true, std::memory_order_release);
  has_txn_index_.store(true, std::memory_order_release);
  return {};
}

Result<void> Segment::become_inactive() {
  OffsetIndex* offsets = TRY(offset_index(OffsetIndex::Growth::as_it_is));
  TimeIndex* times = TRY(time_index(OffsetIndex::Growth::as_it_is));
  const MaxTimestamp max = TRY(max_timestamp());
  if (max.timestamp > times->last_or_none().timestamp) {
    TRY(with_room([&] { return times->resize_to_capacity(); }));
    TRY(offer_time_entry(TimeIndex::Slot::closing));
  }
  TRY(with_room([&] { return offsets->trim(); }));
  TRY(with_room([&] { return times->trim(); }));
  if (prepared_) index_dirty_.store(true, std::memory_order_release);
  has_offset_index_.store(true, std::memory_order_release);
  prepared_ = false;
  // Gives back what was reserved beyond the last batch.
  if (settings_.preallocate) {
    const std::shared_ptr<io::File> log = TRY(file());
    TRY(log->truncate(size()));
  }
  return {};
}

Result<MaxTimestamp> Segment::recompute_max_timestamp() const {
  MaxTimestamp max = time_index_->last_or_none();
  const std::shared_ptr<io::File> log = TRY(file());
  BatchScan scan(*log, offset_floor(max.offset).position, FilePosition{size().value});
  while (const std::optional<BatchInfo> batch = TRY(scan.next())) {
    if (batch->max_timestamp > max.timestamp) max = {batch->max_timestamp, batch->last_offset};
  }
  return max;
}

Result<ByteCount> Segment::truncate_to(Offset target, TimestampMs now) {
  TRY(prepare_for_append());
  const std::optional<BatchInfo> first_gone = TRY(find_batch(target, FilePosition{size().value}));
  const ByteCount old_size = size();
  const ByteCount new_size = first_gone ? first_gone->position - kStart : old_size;
  size_.store(new_size.value, std::memory_order_release);
  TRY(offset_index_->truncate_to(target));
  TRY(time_index_->truncate_to(target));
  TRY(offset_index_->resize_to_capacity());
  TRY(time_index_->resize_to_capacity());
  index_dirty_.store(true, std::memory_order_release);
  if (has_txn_index()) {
    const std::shared_ptr<TxnIndex> aborted = TRY(txn_index());
    TRY(aborted->truncate_to(target));
    txn_dirty_.store(true, std::memory_order_release);
  }
  if (new_size < old_size) {
    const std::shared_ptr<io::File> log = TRY(file());
    data_dirty_.store(true, std::memory_order_relaxed);
    TRY(log->truncate(new_size));
  }
  if (new_size == ByteCount{0}) {
    first_batch_timestamp_.store(kNotRead, std::memory_order_relaxed);
    created_ = now;
    rolling_timestamp_.reset();
  }
  bytes_since_index_entry_ = 0;
  if (max_timestamp_.load().timestamp >= TimestampMs{0}) max_timestamp_.store(TRY(recompute_max_timestamp()));
  return old_size - new_size;
}

bool Segment::needs_sync() const {
  return data_dirty_.load(std::memory_order_acquire) || index_dirty_.load(std::memory_order_acquire) ||
         txn_dirty_.load(std::memory_order_acquire) || syncs_under_way_.load(std::memory_order_acquire) > 0;
}

Result<void> Segment::sync_records() {
  SyncUnderWay under_way(syncs_under_way_);
  MutexLock one_at_a_time(syncing_);
  {
    MutexLock lock(mu_);
    if (close_error_) return *close_error_;
  }
  // Opened before the mark goes: where that fails, all is still to be done.
  if (data_dirty_.load(std::memory_order_acquire)) {
    const std::shared_ptr<io::File> log = TRY(file());
    if (data_dirty_.exchange(false, std::memory_order_acq_rel)) TRY(log->sync_data());
  }
  if (txn_dirty_.load(std::memory_order_acquire)) {
    const std::shared_ptr<TxnIndex> index = TRY(txn_index());
    if (txn_dirty_.exchange(false, std::memory_order_acq_rel)) TRY(index->sync());
  }
  return {};
}

Result<void> Segment::sync() {
  SyncUnderWay under_way(syncs_under_way_);
  TRY(sync_records());
  if (!index_dirty_.exchange(false, std::memory_order_acq_rel)) return {};
  const auto sync_indexes = [&]() -> Result<void> {
    if (OffsetIndex* index = offset_index_open_.load(std::memory_order_acquire)) {
      TRY(with_room([&] { return index->sync(); }));
    }
    if (TimeIndex* index = time_index_open_.load(std::memory_order_acquire)) {
      TRY(with_room([&] { return index->sync(); }));
    }
    return {};
  };
  Result<void> synced = sync_indexes();
  if (!synced) index_dirty_.store(true, std::memory_order_release);
  return synced;
}

Result<void> Segment::remove_files() {
  for (std::string_view suffix : kSegmentSuffixes) TRY(remove_if_there(fs_, path_of(suffix)));
  return {};
}

std::size_t floor_segment(const SegmentList& segments, Offset offset) {
  const auto above = std::ranges::upper_bound(segments, offset, {}, [](const auto& s) { return s->base_offset(); });
  if (above == segments.begin()) return segments.size();
  return static_cast<std::size_t>(above - segments.begin()) - 1;
}

}  // namespace cordwood::storage
