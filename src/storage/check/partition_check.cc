#include "storage/check/partition_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "record/record_walk.h"
#include "record/walk.h"
#include "storage/checkpoint_file.h"
#include "storage/directory_files.h"
#include "storage/forward_reader.h"
#include "storage/index_check.h"
#include "storage/producer_snapshots.h"
#include "storage/producer_state.h"
#include "storage/readable_batches.h"
#include "storage/segment_file_name.h"
#include "storage/txn_index.h"

namespace cordwood::storage {
namespace {

constexpr std::size_t kOffsetIndexEntrySize = 8;
constexpr std::size_t kTimeIndexEntrySize = 12;
constexpr ByteCount kLongestSmallFile{2 * GiB};

// Why an index does not fit its .log, the first reason.
struct IndexFault {
  FilePosition position;  // in the index file
  std::string why;
};

// Follows the entries of an offset index while the batches pass by.
class OffsetIndexFollower {
 public:
  OffsetIndexFollower(ByteVector bytes, Offset base) : bytes_(std::move(bytes)), base_(base) {
    count_ = bytes_.size() / kOffsetIndexEntrySize;
    // What was made at full length and never written is zeros.
    while (count_ > 0 && entry(count_ - 1) == IndexEntry{base_, FilePosition{0}}) --count_;
    if (bytes_.size() % kOffsetIndexEntrySize != 0) refuse(bytes_.size(), "its length is no multiple of 8");
  }

  void see(const BatchInfo& batch) {
    while (next_ < count_ && !fault_) {
      const IndexEntry at = entry(next_);
      if (at.position > batch.position) return;
      if (at.position < batch.position) {
        refuse(next_ * kOffsetIndexEntrySize, fmt::format("no batch begins at {}, where offset {} should be", at.position, at.offset));
        return;
      }
      if (!fits(at, batch, base_)) {
        refuse(next_ * kOffsetIndexEntrySize,
               fmt::format("offset {} is told for {}, where the batch of {} to {} lies", at.offset, at.position, batch.base_offset, batch.last_offset));
        return;
      }
      if (next_ > 0 && at.offset <= entry(next_ - 1).offset) {
        refuse(next_ * kOffsetIndexEntrySize, fmt::format("offset {} does not follow {}", at.offset, entry(next_ - 1).offset));
        return;
      }
      ++next_;
    }
  }
  // After damage in the .log entries into it are no fault of the index.
  void skip_to(FilePosition position) {
    while (next_ < count_ && entry(next_).position < position) ++next_;
  }
  void finish() {
    if (next_ < count_ && !fault_) {
      refuse(next_ * kOffsetIndexEntrySize, fmt::format("offset {} is told for {}, behind the last batch", entry(next_).offset, entry(next_).position));
    }
  }
  const std::optional<IndexFault>& fault() const { return fault_; }

 private:
  IndexEntry entry(std::size_t n) const {
    return {{record::add_wrapping(base_.value, load_be<std::int32_t>(bytes_, n * kOffsetIndexEntrySize))},
            FilePosition{load_be<std::int32_t>(bytes_, n * kOffsetIndexEntrySize + 4)}};
  }
  void refuse(std::size_t at, std::string why) {
    if (!fault_) fault_ = {FilePosition{static_cast<std::int64_t>(at)}, std::move(why)};
  }

  ByteVector bytes_;
  Offset base_;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::optional<IndexFault> fault_;
};

class TimeIndexFollower {
 public:
  TimeIndexFollower(ByteVector bytes, Offset base) : bytes_(std::move(bytes)), base_(base) {
    count_ = bytes_.size() / kTimeIndexEntrySize;
    while (count_ > 0 && entry(count_ - 1).timestamp == TimestampMs{0} && entry(count_ - 1).offset == base_) --count_;
    if (bytes_.size() % kTimeIndexEntrySize != 0) refuse(bytes_.size(), "its length is no multiple of 12");
  }

  void see(const BatchInfo& batch) {
    while (next_ < count_ && !fault_) {
      const TimeEntry at = entry(next_);
      if (at.offset > batch.last_offset) return;
      if (!skipped_ && !fits(at, batch)) {
        refuse(next_ * kTimeIndexEntrySize,
               fmt::format("time {} is told for offset {}, whose batch has {}", at.timestamp, at.offset, batch.max_timestamp));
        return;
      }
      if (next_ > 0 && at.timestamp <= entry(next_ - 1).timestamp) {
        refuse(next_ * kTimeIndexEntrySize, fmt::format("time {} does not follow {}", at.timestamp, entry(next_ - 1).timestamp));
        return;
      }
      ++next_;
    }
    skipped_ = false;
  }
  void skip_damage() { skipped_ = true; }
  void finish() {
    if (next_ < count_ && !fault_ && !skipped_) {
      refuse(next_ * kTimeIndexEntrySize, fmt::format("offset {} lies behind the last batch", entry(next_).offset));
    }
  }
  const std::optional<IndexFault>& fault() const { return fault_; }

 private:
  TimeEntry entry(std::size_t n) const {
    return {{load_be<std::int64_t>(bytes_, n * kTimeIndexEntrySize)},
            {record::add_wrapping(base_.value, load_be<std::int32_t>(bytes_, n * kTimeIndexEntrySize + 8))}};
  }
  void refuse(std::size_t at, std::string why) {
    if (!fault_) fault_ = {FilePosition{static_cast<std::int64_t>(at)}, std::move(why)};
  }

  ByteVector bytes_;
  Offset base_;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  bool skipped_ = false;
  std::optional<IndexFault> fault_;
};

// Compares the transaction index of each segment with the transactions that its batches abort. What open transactions there were
// at a segment's begin a producer snapshot knows better than the batches before it, of which some may be lost.
class TransactionFollower {
 public:
  Result<void> begin_segment(io::FileSystem& fs, const io::Path& directory, Offset base, bool there) {
    base_ = base;
    fault_.reset();
    aborted_.clear();
    entries_.clear();
    markers_.clear();
    is_torn_ = false;
    const auto snapshot = read_producer_snapshot(fs, io::join(directory, segment_file_name(base, kSnapshotSuffix)));
    if (snapshot) {
      state_.clear();
      // As of the beginning of time: nobody has expired.
      for (const ProducerEntry& entry : *snapshot) state_.restore(entry, TimestampMs{0});
    }
    if (!there) return {};
    const ByteVector bytes = TRY(io::read_file(fs, io::join(directory, segment_file_name(base, kTxnIndexSuffix)), kLongestSmallFile));
    decode(bytes);
    return {};
  }

  void see(const record::BatchHeader& header, BytesView bytes) {
    if (first_batches_.size() < kMostRemembered && header.is_transactional() && !header.is_control()) {
      first_batches_.emplace(header.producer_id, header.base_offset);
    }
    if (header.is_control()) markers_.emplace(header.base_offset, header.producer_id);
    const Result<std::optional<CompletedTransaction>> completed = note_batch(state_, header, bytes);
    if (!completed || !*completed) return;
    // The data of some transactions went with compaction, or lies below the log start: then there is nothing to hide.
    const auto first = first_batches_.find((*completed)->producer_id);
    const bool has_data = first != first_batches_.end() && first->second == (*completed)->first_offset;
    if (first != first_batches_.end()) first_batches_.erase(first);
    if ((*completed)->aborted && has_data) {
      aborted_.push_back({(*completed)->producer_id, (*completed)->first_offset, (*completed)->last_offset, state_.last_stable_offset_after(**completed)});
    }
  }
  void skip_damage() { is_torn_ = true; }
  void note_gap() { has_gaps_ = true; }

  // The first thing that is wrong with the index of the segment.
  std::optional<IndexFault> end_segment() {
    // What a damaged log holds of a transaction may be less than the index rightly tells.
    if (is_torn_) return fault_;
    for (const AbortedEntry& transaction : aborted_) {
      const auto entry = std::ranges::find(entries_, transaction.last_offset, &AbortedEntry::last_offset);
      const bool is_told = entry != entries_.end() && entry->producer_id == transaction.producer_id &&
                           (has_gaps_ ? entry->first_offset <= transaction.first_offset : entry->first_offset == transaction.first_offset) &&
                           entry->last_stable_offset <= transaction.last_stable_offset;
      if (is_told) continue;
      refuse(static_cast<std::size_t>(entry - entries_.begin()),
             fmt::format("the transaction of producer {}, offsets {} to {}, was aborted, and the file does not say so", transaction.producer_id,
                         transaction.first_offset, transaction.last_offset));
    }
    // Compaction takes markers away and leaves their entries.
    for (std::size_t i = 0; i < entries_.size() && !has_gaps_; ++i) {
      const auto marker = markers_.find(entries_[i].last_offset);
      if (marker != markers_.end() && marker->second == entries_[i].producer_id) continue;
      refuse(i, fmt::format("at offset {} no transaction of producer {} ends", entries_[i].last_offset, entries_[i].producer_id));
    }
    return fault_;
  }

 private:
  static constexpr std::size_t kMostRemembered = 1'000'000;

  void decode(BytesView bytes) {
    constexpr auto kEntrySize = static_cast<std::size_t>(TxnIndex::kEntrySize);
    std::size_t at = 0;
    for (; at + kEntrySize <= bytes.size(); at += kEntrySize) {
      ByteReader in(bytes.subspan(at, kEntrySize));
      const std::int16_t version = in.i16();
      AbortedEntry entry;
      entry.producer_id = in.i64();
      entry.first_offset = Offset{in.i64()};
      entry.last_offset = Offset{in.i64()};
      entry.last_stable_offset = Offset{in.i64()};
      if (version != 0) refuse(entries_.size(), fmt::format("version {}", version));
      const bool follows = entries_.empty() || entry.last_offset > entries_.back().last_offset;
      if (!follows || entry.last_offset < base_ || entry.first_offset < Offset{0} || entry.first_offset > entry.last_offset || entry.producer_id < 0) {
        refuse(entries_.size(), fmt::format("a transaction of {} to {}", entry.first_offset, entry.last_offset));
      }
      entries_.push_back(entry);
    }
    if (at != bytes.size()) refuse(entries_.size(), fmt::format("{} bytes at the end are no entry", bytes.size() - at));
  }
  void refuse(std::size_t entry, std::string why) {
    if (!fault_) fault_ = {FilePosition{static_cast<std::int64_t>(entry) * TxnIndex::kEntrySize}, std::move(why)};
  }

  ProducerState state_{DurationMs{INT64_MAX}};
  std::map<std::int64_t, Offset> first_batches_;  // of open transactions, as the batches tell; by producer
  Offset base_;
  std::vector<AbortedEntry> entries_;         // of the segment's file
  std::vector<AbortedEntry> aborted_;         // by its batches
  std::map<Offset, std::int64_t> markers_;    // of the segment, with their producers
  bool has_gaps_ = false;                     // offsets are missing: it was compacted, or repaired
  bool is_torn_ = false;
  std::optional<IndexFault> fault_;
};

struct SegmentFiles {
  bool log = false;
  bool offset_index = false;
  bool time_index = false;
  bool txn_index = false;
};

class PartitionChecker {
 public:
  PartitionChecker(io::FileSystem& fs, const io::Path& directory, const CheckContext& context)
      : fs_(fs), directory_(directory), context_(context) {}

  Result<PartitionCheck> run() {
    TRY(take_inventory());
    // As the loader: the base of the segment that holds the recovery point.
    auto behind = segments_.upper_bound(context_.recovery_point);
    first_unflushed_ = behind == segments_.begin() ? Offset{0} : std::prev(behind)->first;
    if (!segments_.empty()) {
      check_.log_start = check_.log_end = segments_.begin()->first;
    }
    for (const auto& [base, files] : segments_) TRY(segment(base, files));
    TRY(epochs());
    TRY(topic_id());
    check_.epochs = std::move(epochs_);
    return std::move(check_);
  }

 private:
  Result<void> take_inventory() {
    std::map<Offset, SegmentFiles> found;
    for (const io::DirectoryEntry& entry : TRY(fs_.list(directory_))) {
      if (entry.kind != io::DirectoryEntry::Kind::file) continue;
      const SegmentFileName name = parse_segment_file_name(entry.name);
      if (is_odd(name)) {
        add({.weight = CheckFinding::Weight::note, .file = entry.name, .finding = RecoveryFinding::odd_name, .at_next_start = RecoveryAction::passed_over,
             .kafka = "refuses to start, or takes it for a segment"});
        continue;
      }
      if (!name.offset) continue;
      if (name.state != SegmentFileState::current) {
        add({.weight = CheckFinding::Weight::note, .file = entry.name, .finding = RecoveryFinding::odd_name,
             .why = "left over from a deletion, a cleaning or a swap", .at_next_start = RecoveryAction::removed});
        continue;
      }
      SegmentFiles& files = found[*name.offset];
      switch (name.kind) {
        case SegmentFileKind::log: files.log = true; break;
        case SegmentFileKind::offset_index: files.offset_index = true; break;
        case SegmentFileKind::time_index: files.time_index = true; break;
        case SegmentFileKind::txn_index: files.txn_index = true; break;
        case SegmentFileKind::snapshot: snapshots_.push_back(*name.offset); break;
        case SegmentFileKind::other: break;
      }
    }
    for (const auto& [base, files] : found) {
      if (files.log) {
        segments_.emplace(base, files);
        continue;
      }
      for (const auto& [there, suffix] : {std::pair(files.offset_index, kOffsetIndexSuffix), std::pair(files.time_index, kTimeIndexSuffix),
                                          std::pair(files.txn_index, kTxnIndexSuffix)}) {
        if (!there) continue;
        add({.weight = CheckFinding::Weight::damage, .file = segment_file_name(base, suffix), .finding = RecoveryFinding::missing,
             .why = "there is no .log file of this base", .at_next_start = RecoveryAction::removed});
      }
    }
    for (const Offset offset : snapshots_) {
      const std::string name = segment_file_name(offset, kSnapshotSuffix);
      const auto read = read_producer_snapshot(fs_, io::join(directory_, name));
      if (read || (read.error().code != Errc::corrupt && read.error().code != Errc::unsupported)) continue;
      CheckFinding finding{.file = name, .finding = RecoveryFinding::unreadable, .why = read.error().what};
      // A start reads the newest one, keeps those at segment bases, and removes the others.
      const bool is_newest = offset == *std::ranges::max_element(snapshots_);
      finding.at_next_start = is_newest || context_.last_stop == StopKind::unclean ? RecoveryAction::rebuilt
                              : segments_.contains(offset)                        ? RecoveryAction::passed_over
                                                                                  : RecoveryAction::removed;
      if (is_newest) finding.kafka = "deletes it and reads the batches instead";
      add(std::move(finding));
    }
    return {};
  }

  bool is_recovered(Offset base) const { return context_.last_stop == StopKind::unclean && base >= first_unflushed_; }
  bool is_active(Offset base) const { return base == segments_.rbegin()->first; }

  Result<void> segment(Offset base, const SegmentFiles& files) {
    ++check_.segments;
    const io::Path path = io::join(directory_, segment_file_name(base, kLogSuffix));
    const std::shared_ptr<io::File> log = TRY(fs_.open(path, io::OpenMode::read));
    const FilePosition end{TRY(log->size()).value};
    check_.bytes += end - FilePosition{0};
    OffsetIndexFollower offsets(TRY(small_file(files.offset_index, base, kOffsetIndexSuffix)), base);
    TimeIndexFollower times(TRY(small_file(files.time_index, base, kTimeIndexSuffix)), base);
    has_offset_index_ = files.offset_index;
    const auto following = std::next(segments_.find(base));
    next_base_ = following == segments_.end() ? Offset{INT64_MAX} : following->first;
    TRY(transactions_.begin_segment(fs_, directory_, base, files.txn_index));
    ForwardReader reader(*log, end);
    FilePosition position{0};
    Offset next_offset = base;
    bool is_whole = true;
    const std::int64_t batches_before = check_.batches;
    const std::int64_t records_before = check_.records;
    const std::size_t findings_before = check_.findings.size();
    std::optional<Offset> first_offset;
    std::int64_t reported = 0;
    while (position < end) {
      std::string why;
      const std::optional<BatchInfo> batch = TRY(read_batch(reader, position, end, base, next_offset, why));
      if (!batch) {
        is_whole = false;
        const FilePosition readable = TRY(damage(*log, base, position, end, next_offset, why));
        offsets.skip_to(readable);
        times.skip_damage();
        transactions_.skip_damage();
        position = readable;
        continue;
      }
      if (!first_offset) first_offset = batch->base_offset;
      if (batch->base_offset > next_offset) transactions_.note_gap();
      offsets.see(*batch);
      times.see(*batch);
      position = batch->end();
      next_offset = next(batch->last_offset);
      if (context_.bytes_done != nullptr && position.value - reported > 4 * MiB) {
        context_.bytes_done->fetch_add(position.value - reported, std::memory_order_relaxed);
        reported = position.value;
      }
    }
    if (context_.bytes_done != nullptr) context_.bytes_done->fetch_add(end.value - reported, std::memory_order_relaxed);
    check_.log_end = std::max(check_.log_end, next_offset);
    // Here findings are only of batches.
    check_.checked.push_back({base, end - FilePosition{0}, first_offset.value_or(base), next_offset, check_.batches - batches_before,
                              check_.records - records_before, is_whole && check_.findings.size() == findings_before});
    // What a running broker has not finished is no damage.
    if (context_.is_in_use && is_active(base)) return {};
    if (is_whole) {
      offsets.finish();
      times.finish();
    }
    index(base, kOffsetIndexSuffix, files.offset_index, end, offsets.fault());
    index(base, kTimeIndexSuffix, files.time_index, end, times.fault());
    transactions(base, files.txn_index);
    return {};
  }

  // The batch at `position`, checked. Nothing, and why, when it is not good.
  Result<std::optional<BatchInfo>> read_batch(ForwardReader& reader, FilePosition position, FilePosition end, Offset base, Offset next_offset,
                                              std::string& why) {
    lies_below_base_ = false;
    recovery_takes_it_ = false;
    const std::optional<BytesView> prefix = TRY(reader.bytes_at(position, record::kMagicPrefix));
    if (!prefix) {
      why = "incomplete batch at the end";
      return std::optional<BatchInfo>();
    }
    const Result<record::EntryPrefix> told = record::read_prefix(*prefix);
    if (!told) {
      why = told.error().what;
      return std::optional<BatchInfo>();
    }
    if (position + told->total_size() > end) {
      why = fmt::format("a batch of {} bytes, of which {} are there", told->total_size(), end - position);
      return std::optional<BatchInfo>();
    }
    const std::optional<BytesView> bytes = TRY(reader.bytes_at(position, static_cast<std::size_t>(told->total_size().value)));
    if (!bytes) {
      why = "the file became shorter";
      return std::optional<BatchInfo>();
    }
    const Result<record::EntryInfo> entry = record::check_entry(*bytes);
    if (!entry) {
      why = entry.error().what;
      return std::optional<BatchInfo>();
    }
    const std::int64_t relative = (entry->last_offset - base).value;
    lies_below_base_ = relative < 0;
    recovery_takes_it_ = relative >= 0 && relative <= INT32_MAX && entry->last_offset >= next_offset;
    if (relative < 0 || relative > INT32_MAX || entry->last_offset < next_offset || entry->base_offset < base) {
      why = fmt::format("offsets {} to {} do not follow {}", entry->base_offset, entry->last_offset, next_offset);
      return std::optional<BatchInfo>();
    }
    if (entry->last_offset >= next_base_) {
      why = fmt::format("offsets {} to {} reach into the next segment, which begins at {}", entry->base_offset, entry->last_offset, next_base_);
      return std::optional<BatchInfo>();
    }
    ++check_.batches;
    BatchInfo info;
    info.position = position;
    info.size = entry->size;
    info.magic = entry->magic;
    info.base_offset = entry->base_offset;
    info.last_offset = entry->last_offset;
    info.max_timestamp = entry->max_timestamp;
    if (!entry->header) return std::optional<BatchInfo>(info);
    info.leader_epoch = entry->header->partition_leader_epoch;
    check_.records += entry->header->record_count;
    if (info.leader_epoch >= 0 && (epochs_.empty() || info.leader_epoch > epochs_.back().epoch.value)) {
      epochs_.push_back({{info.leader_epoch}, info.base_offset});
    }
    if (entry->header->has_producer_id()) transactions_.see(*entry->header, *bytes);
    if (context_.depth == CheckDepth::records) records(*bytes, *entry->header, base, position);
    return std::optional<BatchInfo>(info);
  }

  void records(BytesView bytes, const record::BatchHeader& header, Offset base, FilePosition position) {
    record::ScratchBuffer scratch;
    const Result<BytesView> plain = record::plain_records(record::BatchView(bytes), header, {}, scratch);
    std::string why;
    if (!plain) {
      why = plain.error().what;
    } else {
      const record::WalkEnd end = record::walk_shapes(*plain, header.record_count, INT64_MAX, [](std::int32_t, const record::RecordShape&) { return record::Walk::go_on; });
      if (!end.ok()) why = record::structure_error(end).what;
    }
    if (why.empty()) return;
    add({.file = segment_file_name(base, kLogSuffix), .finding = RecoveryFinding::hole, .position = position,
         .bytes = ByteCount{static_cast<std::int64_t>(bytes.size())}, .first_offset = header.base_offset, .end_offset = header.next_offset(),
         .why = "the checksum is right and the records are not: " + why, .at_next_start = RecoveryAction::passed_over});
  }

  // Notes bad bytes from `position` on and answers where the next batch can be read, or the end.
  Result<FilePosition> damage(const io::File& log, Offset base, FilePosition position, FilePosition end, Offset next_offset, const std::string& why) {
    FilePosition readable = end;
    std::optional<Offset> goes_on_at;
    // What begins before the offset that is due cannot be served behind it.
    FilePosition from = position;
    while (from < end && !goes_on_at) {
      const std::vector<ReadableRun> runs = TRY(find_readable(log, from, end, base, Survey::first_batch_only));
      if (runs.empty()) break;
      // What was just refused is no end of the damage, and neither is an offset that fits no file of this base.
      const bool fits_here = runs[0].start > position && (runs[0].last_offset - base).value <= INT32_MAX;
      if (fits_here && runs[0].first_offset >= next_offset && runs[0].last_offset < next_base_) {
        readable = runs[0].start;
        goes_on_at = runs[0].first_offset;
      }
      from = runs[0].end;
    }
    if (context_.is_in_use && is_active(base) && !goes_on_at) return end;
    const bool is_last = is_active(base);
    const bool something_follows = goes_on_at || !is_last;
    CheckFinding finding{.file = segment_file_name(base, kLogSuffix),
                         .finding = goes_on_at ? RecoveryFinding::hole : RecoveryFinding::torn_tail,
                         .position = position,
                         .bytes = readable - position,
                         .first_offset = next_offset,
                         .end_offset = goes_on_at,
                         .why = why};
    if (recovery_takes_it_) {
      finding.at_next_start = RecoveryAction::passed_over;
      finding.kafka = "serves it, where a search does not miss it";
    } else if (is_recovered(base)) {
      // The first cut takes what lies behind it along.
      if (cut_) return readable;
      cut_ = true;
      finding.at_next_start = something_follows ? RecoveryAction::kept : RecoveryAction::cut;
      if (something_follows) finding.kafka = "cuts the log here and deletes what lies behind";
    } else if (!has_offset_index_) {
      // Both brokers recover a segment without one.
      finding.at_next_start = TRY(action_of_cut(log, base, position, end));
      finding.kafka = "cuts the segment here and deletes what lies behind";
    } else if (is_last) {
      TRY(judge_active(log, base, position, end, finding));
    } else {
      finding.at_next_start = RecoveryAction::passed_over;
      finding.kafka = "serves it: clients find the damage";
    }
    if (lies_below_base_) finding.kafka = "serves it, and refuses to start while an index of this segment is missing";
    add(std::move(finding));
    return readable;
  }

  // After a clean stop both brokers look for the end of the active segment by headers alone.
  Result<void> judge_active(const io::File& log, Offset base, FilePosition position, FilePosition end, CheckFinding& finding) {
    BatchScan scan(log, position, end);
    bool has_fault = false;
    Offset log_end = *finding.first_offset;
    while (true) {
      const Result<std::optional<BatchInfo>> batch = scan.next();
      if (!batch && batch.error().code != Errc::corrupt) return batch.error();
      has_fault = !batch.has_value();
      if (!batch || !*batch) break;
      log_end = next((*batch)->last_offset);
    }
    finding.kafka = has_fault              ? "refuses to start"
                    : scan.position() < end ? "appends behind the torn batch, or cuts it after an unclean stop"
                                            : "serves it: clients find the damage";
    finding.at_next_start = RecoveryAction::passed_over;
    // Nothing could be appended behind it: the start recovers the segment.
    if (scan.position() > FilePosition{0} && log_end >= base) return {};
    finding.at_next_start = TRY(action_of_cut(log, base, position, end));
    return {};
  }

  Result<RecoveryAction> action_of_cut(const io::File& log, Offset base, FilePosition position, FilePosition end) {
    const std::vector<ReadableRun> runs = TRY(find_readable(log, position, end, base, Survey::first_batch_only));
    return runs.empty() ? RecoveryAction::cut : RecoveryAction::kept;
  }

  Result<ByteVector> small_file(bool there, Offset base, std::string_view suffix) {
    if (!there) return ByteVector();
    return io::read_file(fs_, io::join(directory_, segment_file_name(base, suffix)), kLongestSmallFile);
  }

  void index(Offset base, std::string_view suffix, bool there, FilePosition end, const std::optional<IndexFault>& fault) {
    if (!there && end > FilePosition{0}) {
      add({.file = segment_file_name(base, suffix), .finding = RecoveryFinding::missing, .at_next_start = RecoveryAction::rebuilt});
    }
    if (fault) {
      add({.file = segment_file_name(base, suffix), .finding = RecoveryFinding::wrong_entries, .position = fault->position, .why = fault->why,
           .at_next_start = RecoveryAction::rebuilt, .kafka = is_recovered(base) ? "" : "believes it"});
    }
  }

  void transactions(Offset base, bool there) {
    const std::optional<IndexFault> fault = transactions_.end_segment();
    if (!fault) return;
    add({.file = segment_file_name(base, kTxnIndexSuffix), .finding = there ? RecoveryFinding::wrong_entries : RecoveryFinding::missing,
         .position = there ? std::optional(fault->position) : std::nullopt, .why = fault->why, .at_next_start = RecoveryAction::rebuilt,
         .kafka = "shows aborted records as committed, or fails reads"});
  }

  Result<void> epochs() {
    const auto told = read_epoch_checkpoint(fs_, io::join(directory_, kLeaderEpochCheckpoint));
    if (!told && told.error().code != Errc::corrupt && told.error().code != Errc::limit) return told.error();
    CheckFinding finding{.file = kLeaderEpochCheckpoint, .finding = RecoveryFinding::unreadable, .at_next_start = RecoveryAction::rebuilt};
    if (!told) {
      finding.why = told.error().what;
      finding.kafka = "takes the log directory offline";
      add(std::move(finding));
      return {};
    }
    if (epochs_.empty() || context_.is_in_use) return {};
    if (told->empty()) {
      finding.finding = RecoveryFinding::missing;
      finding.why = "no entry";
      add(std::move(finding));
      return {};
    }
    for (const EpochEntry& seen : epochs_) {
      const auto entry = std::ranges::find(*told, seen.epoch, &EpochEntry::epoch);
      // The first one may have been raised to the log start.
      if (entry != told->end() && (entry->start_offset <= seen.start_offset || entry == told->begin())) continue;
      if (seen.epoch < told->front().epoch) continue;
      if (context_.last_stop == StopKind::unclean && seen.epoch > told->back().epoch) continue;  // found again by recovery
      finding.finding = RecoveryFinding::wrong_entries;
      finding.why = fmt::format("epoch {} begins at offset {}, and the file does not say so", seen.epoch.value, seen.start_offset);
      finding.kafka = "believes it";
      add(std::move(finding));
      return {};
    }
    return {};
  }

  Result<void> topic_id() {
    const auto id = read_partition_metadata(fs_, directory_);
    if (id) return {};
    if (id.error().code != Errc::corrupt) return id.error();
    add({.file = kPartitionMetadata, .finding = RecoveryFinding::unreadable, .why = id.error().what, .at_next_start = RecoveryAction::rebuilt,
         .kafka = "takes the log directory offline"});
    return {};
  }

  void add(CheckFinding finding) { check_.findings.push_back(std::move(finding)); }

  io::FileSystem& fs_;
  const io::Path& directory_;
  const CheckContext& context_;
  PartitionCheck check_;
  std::map<Offset, SegmentFiles> segments_;
  std::vector<Offset> snapshots_;
  std::vector<EpochEntry> epochs_;  // as the batches tell them
  TransactionFollower transactions_;
  Offset next_base_{INT64_MAX};  // of the segment behind the one that is looked at
  Offset first_unflushed_{0};
  bool cut_ = false;
  bool has_offset_index_ = false;  // of the segment that is looked at
  bool recovery_takes_it_ = false;  // a batch with a last offset that fits and a first one that does not
  bool lies_below_base_ = false;  // the batch that was refused last
};

}  // namespace

bool PartitionCheck::is_damaged() const {
  return std::ranges::any_of(findings, [](const CheckFinding& finding) { return finding.weight == CheckFinding::Weight::damage; });
}

Result<PartitionCheck> check_partition(io::FileSystem& fs, const io::Path& directory, const CheckContext& context) {
  return PartitionChecker(fs, directory, context).run();
}

std::string describe(const CheckFinding& finding, Describe how_much) {
  std::string text = fmt::format("{}: {}", finding.file, to_string(finding.finding));
  if (finding.position) text += fmt::format(" at {}", *finding.position);
  if (finding.bytes > ByteCount{0}) text += fmt::format(", {} bytes", finding.bytes);
  if (finding.first_offset) {
    text += finding.end_offset ? fmt::format(", offsets {} to {}", *finding.first_offset, Offset{finding.end_offset->value - 1})
                               : fmt::format(", from offset {} on", *finding.first_offset);
  }
  if (!finding.why.empty()) text += fmt::format(" ({})", finding.why);
  if (how_much == Describe::finding) return text;
  // Index files of closed segments are hints, and compared with the batches only where they are used.
  const bool is_lazy = finding.at_next_start == RecoveryAction::rebuilt && (finding.finding == RecoveryFinding::wrong_entries || finding.file.ends_with(kTxnIndexSuffix));
  text += fmt::format("; {}: {}", is_lazy ? "at the next start, or the first look-up that meets it" : "at the next start", to_string(finding.at_next_start));
  if (!finding.kafka.empty()) text += fmt::format("; Kafka {}", finding.kafka);
  return text;
}

}  // namespace cordwood::storage
