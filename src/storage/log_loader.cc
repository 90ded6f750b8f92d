#include "storage/log_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "storage/damaged_files.h"
#include "storage/directory_files.h"
#include "storage/index_builder.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

// What a listing of the directory holds, by what it is for.
struct Inventory {
  std::map<Offset, Segment::Companions> logs;
  std::vector<Offset> snapshots;
  std::vector<std::string> orphans;  // index files without a .log
  std::vector<std::string> odd;
  bool damaged = false;  // something was kept
  bool epochs = false;
  bool partition_metadata = false;
};

Inventory take_inventory(const std::vector<io::DirectoryEntry>& entries) {
  Inventory inventory;
  std::map<Offset, Segment::Companions> companions;
  std::vector<std::pair<Offset, std::string>> index_files;
  for (const io::DirectoryEntry& entry : entries) {
    if (entry.name == kDamagedDirectory) inventory.damaged = true;
    if (entry.kind != io::DirectoryEntry::Kind::file) continue;
    if (entry.name == kLeaderEpochCheckpoint) inventory.epochs = true;
    if (entry.name == kPartitionMetadata) inventory.partition_metadata = true;
    const SegmentFileName parsed = parse_segment_file_name(entry.name);
    if (is_odd(parsed)) inventory.odd.push_back(entry.name);
    if (!parsed.offset || parsed.state != SegmentFileState::current) continue;
    const Offset offset = *parsed.offset;
    switch (parsed.kind) {
      case SegmentFileKind::log: inventory.logs[offset]; break;
      case SegmentFileKind::offset_index: companions[offset].offset_index = true; break;
      case SegmentFileKind::time_index: companions[offset].time_index = true; break;
      case SegmentFileKind::txn_index: companions[offset].txn_index = true; break;
      case SegmentFileKind::snapshot: inventory.snapshots.push_back(offset); break;
      case SegmentFileKind::other: break;
    }
    if (parsed.kind != SegmentFileKind::log && parsed.kind != SegmentFileKind::snapshot) {
      index_files.emplace_back(offset, entry.name);
    }
  }
  for (auto& [base, found] : inventory.logs) {
    if (auto it = companions.find(base); it != companions.end()) found = it->second;
  }
  for (auto& [base, name] : index_files) {
    if (!inventory.logs.contains(base)) inventory.orphans.push_back(name);
  }
  return inventory;
}

class Loader {
 public:
  Loader(const LogEnvironment& environment, const io::Path& directory, const OpenOptions& options,
         RecoveryReport& report)
      : environment_(environment), fs_(*environment.fs), directory_(directory), options_(options), report_(report) {}

  Result<LoadedLog> run() {
    while (true) {
      Result<LoadedLog> loaded = load();
      if (loaded || !overflowed_) return loaded;
      TRY(split_segment(environment_, directory_, options_, *std::exchange(overflowed_, std::nullopt), report_));
      report_.segments_recovered = 0;
    }
  }

 private:
  Result<LoadedLog> load() {
    std::vector<io::DirectoryEntry> entries = TRY(list_or_create());
    if (TRY(clean_up_unfinished(fs_, directory_, entries, report_))) entries = TRY(fs_.list(directory_));
    const Inventory inventory = take_inventory(entries);
    for (const std::string& name : inventory.odd) {
      note({.file = name, .finding = RecoveryFinding::odd_name, .action = RecoveryAction::passed_over});
    }

    // Opened before the aggregate begins: an error that leaves half an aggregate would leak its first half.
    LeaderEpochCache epochs = TRY(open_epochs(inventory.epochs));
    LoadedLog log{{},
                  ProducerState(options_.producer.expiration_ms),
                  ProducerSnapshots(fs_, *environment_.logger, directory_, inventory.snapshots),
                  std::move(epochs),
                  {}, {}, {}, {}, {}, false};
    log.epochs.defer_writes();
    log.directory_is_new = directory_is_new_;
    if (inventory.partition_metadata) log.topic_id = TRY(topic_id());

    TRY(open_segments(log, inventory));
    if (!clean()) TRY(recover_unflushed(log));
    TRY(find_log_end(log));
    // A log without a record has no epoch to lose.
    if (epochs_lost_ && options_.log_start_checkpoint < log.log_end) TRY(restore_epochs(log, inventory.epochs));
    TRY(log.epochs.truncate_from_end(log.log_end));
    log.log_start = std::max(options_.log_start_checkpoint, log.segments.front()->base_offset());
    // Retention may have moved the start further than what was written of it before the process died.
    TRY(log.epochs.truncate_from_start(log.log_start));
    TRY(reload_producers(log));
    if (inventory.damaged) TRY(finish_interrupted(fs_, directory_));
    return log;
  }

  Result<std::vector<io::DirectoryEntry>> list_or_create() {
    Result<std::vector<io::DirectoryEntry>> entries = fs_.list(directory_);
    if (entries || entries.error().code != Errc::not_found) return entries;
    TRY(fs_.create_directories(directory_));
    directory_is_new_ = true;
    return std::vector<io::DirectoryEntry>();
  }

  void note(RecoveryVerdict verdict) { storage::note(environment_, directory_, report_, std::move(verdict)); }

  // `later` are the segments that go when this one is cut.
  Result<ByteCount> recover(LoadedLog& log, Segment& segment, std::span<const std::shared_ptr<Segment>> later) {
    RecoveryContext context{environment_, options_, log.snapshots, log.epochs, report_, [&](const FoundCut& cut) {
                              return keep_what_a_cut_takes(environment_, directory_, report_, cut, later);
                            }};
    Result<ByteCount> cut = recover_segment(context, segment, log.segments);
    if (context.overflowed) overflowed_ = segment.base_offset();
    return cut;
  }
  Segment::Settings settings() {
    return Segment::Settings::from(options_.config, *environment_.random, environment_.open_files);
  }
  bool clean() const { return options_.last_stop == StopKind::clean; }

  // The base of the segment that holds the recovery point.
  Offset first_unflushed_base(const Inventory& inventory) const {
    auto behind = inventory.logs.upper_bound(options_.recovery_point_checkpoint);
    return behind == inventory.logs.begin() ? Offset{0} : std::prev(behind)->first;
  }

  Result<LeaderEpochCache> open_epochs(bool there) {
    const io::Path path = io::join(directory_, kLeaderEpochCheckpoint);
    if (!there) TRY(fs_.open(path, io::OpenMode::create));
    Result<LeaderEpochCache> epochs = LeaderEpochCache::open(fs_, path);
    if (!epochs && (epochs.error().code == Errc::corrupt || epochs.error().code == Errc::limit)) {
      const std::string kept = TRY(keep_aside(fs_, directory_, kLeaderEpochCheckpoint));
      note({.file = kLeaderEpochCheckpoint, .finding = RecoveryFinding::unreadable, .action = RecoveryAction::rebuilt,
            .why = epochs.error().what, .kept_as = kept});
      TRY(fs_.open(path, io::OpenMode::create));
      epochs = LeaderEpochCache::open(fs_, path);
    }
    if (epochs) epochs_lost_ = epochs->entries().empty();
    return epochs;
  }

  // A file without an entry is right only where no batch has an epoch. Where it cannot be, every batch is asked: followers
  // that truncate by these entries would otherwise cut too much.
  Result<void> restore_epochs(LoadedLog& log, bool there) {
    const auto first = std::ranges::find_if(log.segments, [](const auto& segment) { return !segment->empty(); });
    if (first == log.segments.end()) return {};
    const Result<std::optional<BatchInfo>> batch = (*first)->find_batch((*first)->base_offset(), log.segments.back() == *first
                                                                            ? log.active_end
                                                                            : FilePosition{(*first)->size().value});
    if (!batch && batch.error().code != Errc::corrupt) return batch.error();
    if (!batch || !*batch || (*batch)->magic < 2 || (*batch)->leader_epoch < 0) return {};
    const std::optional<EpochEntry> earliest = log.epochs.earliest();
    if (!epochs_wrong_ && earliest && earliest->start_offset <= (*batch)->base_offset) return {};
    if (std::ranges::none_of(report_.verdicts, [](const auto& v) { return v.file == kLeaderEpochCheckpoint; })) {
      const bool is_missing = !there || !earliest;
      std::string kept;
      if (!is_missing) kept = TRY(keep_copy(fs_, directory_, kLeaderEpochCheckpoint));
      note({.file = kLeaderEpochCheckpoint,
            .finding = is_missing ? RecoveryFinding::missing : RecoveryFinding::wrong_entries,
            .action = RecoveryAction::rebuilt,
            .why = is_missing ? "no entry" : "the last batch is of another epoch",
            .kept_as = kept});
    }
    TRY(log.epochs.clear());
    for (const EpochEntry& entry : TRY(epochs_in(log.segments))) TRY(log.epochs.assign(entry.epoch, entry.start_offset));
    return {};
  }

  // Of a file that tells none the caller knows better: it writes the file anew.
  Result<std::optional<Uuid>> topic_id() {
    Result<std::optional<Uuid>> id = read_partition_metadata(fs_, directory_);
    if (id || id.error().code != Errc::corrupt) return id;
    const std::string kept = TRY(keep_aside(fs_, directory_, kPartitionMetadata));
    note({.file = kPartitionMetadata, .finding = RecoveryFinding::unreadable, .action = RecoveryAction::rebuilt,
          .why = id.error().what, .kept_as = kept});
    return std::optional<Uuid>();
  }

  // From the headers alone: the batches are not in doubt.
  Result<void> make_time_index(const Segment& segment) {
    const std::shared_ptr<io::File> log = TRY(segment.file());
    const IndexBuilder builder =
        TRY(build_indexes(*log, FilePosition{segment.size().value}, segment.base_offset(),
                          options_.config.index_interval_bytes, options_.config.segment_index_bytes));
    const ByteVector content = builder.time_index(IndexBuilder::Closing::yes);
    if (!content.empty()) {
      note({.file = segment_file_name(segment.base_offset(), kTimeIndexSuffix), .finding = RecoveryFinding::missing,
            .action = RecoveryAction::rebuilt});
    }
    return io::write_file_atomically(fs_, segment.path_of(kTimeIndexSuffix), content);
  }

  Result<void> open_segments(LoadedLog& log, const Inventory& inventory) {
    for (const std::string& orphan : inventory.orphans) {
      note({.file = orphan, .finding = RecoveryFinding::missing, .action = RecoveryAction::removed,
            .why = "there is no .log file of this base"});
      TRY(fs_.remove_file(io::join(directory_, orphan)));
      report_.removed_files.push_back(orphan);
    }
    const Offset first_unflushed = first_unflushed_base(inventory);
    for (const auto& [base, companions] : inventory.logs) {
      std::shared_ptr<Segment> segment =
          TRY(Segment::open(fs_, directory_, base, settings(), environment_.clock->now(), companions));
      const bool is_trusted = clean() || base < first_unflushed;
      if (!companions.time_index && is_trusted) TRY(make_time_index(*segment));
      // What is recovered anyway gets its index then, after the segments before it were found good.
      if (!companions.offset_index && is_trusted) {
        note({.file = segment_file_name(base, kOffsetIndexSuffix), .finding = RecoveryFinding::missing,
              .action = RecoveryAction::rebuilt});
        TRY(recover(log, *segment, {}));
      }
      log.segments.push_back(std::move(segment));
    }
    return {};
  }

  // Removes the segments from `first` on, the last one first: what a crash leaves is a shorter log and no hole.
  Result<void> remove_segments(LoadedLog& log, std::size_t first) {
    while (log.segments.size() > first) {
      Segment& last = *log.segments.back();
      report_.removed_files.push_back(segment_file_name(last.base_offset(), kLogSuffix));
      TRY(last.remove_files());
      TRY(log.snapshots.remove(last.base_offset()));  // as Kafka: it is written again if it is still right
      log.segments.pop_back();
    }
    return {};
  }

  Result<void> recover_unflushed(LoadedLog& log) {
    std::size_t first = floor_segment(log.segments, options_.recovery_point_checkpoint);
    if (first == log.segments.size()) first = 0;
    for (std::size_t i = first; i < log.segments.size(); ++i) {
      if (options_.watch != nullptr && options_.watch->stop_requested()) {
        return Error{Errc::closed, fmt::format("the recovery of {} was stopped", directory_)};
      }
      const ByteCount size = log.segments[i]->size();
      const ByteCount cut = TRY(recover(log, *log.segments[i], std::span(log.segments).subspan(i + 1)));
      if (options_.watch != nullptr) options_.watch->checked(size);
      if (cut == ByteCount{0}) continue;
      if (i + 1 < log.segments.size()) {
        environment_.logger->warn("{}: the {} segments behind the cut at offset {} are removed", directory_,
                                  log.segments.size() - i - 1, report_.cut_at);
      }
      return remove_segments(log, i + 1);
    }
    return {};
  }

  Result<void> find_log_end(LoadedLog& log) {
    std::optional<Segment::End> end;
    if (!log.segments.empty()) {
      end = TRY(log.segments.back()->find_end());
      const bool starts_wrong = end->valid_end == FilePosition{0} && !log.segments.back()->empty();
      if (starts_wrong || end->next_offset < log.segments.back()->base_offset()) {
        // Torn from its first byte on, or batches of another segment: no other segment could start here, and nothing could
        // be appended behind them.
        TRY(recover(log, *log.segments.back(), {}));
        end = TRY(log.segments.back()->find_end());
      }
      if (end->next_offset < options_.log_start_checkpoint) {
        environment_.logger->warn("{}: the log ends at {}, below its start {}: all segments are removed", directory_,
                                  end->next_offset, options_.log_start_checkpoint);
        TRY(keep_what_lies_below_the_start(environment_, directory_, report_, log.segments, end->next_offset,
                                           options_.log_start_checkpoint));
        TRY(remove_segments(log, 0));
        TRY(log.epochs.clear());
        TRY(log.snapshots.truncate_fully(log.producers, options_.log_start_checkpoint));
        end.reset();
      }
    }
    if (!end) {
      log.segments.push_back(TRY(Segment::create(fs_, directory_, options_.log_start_checkpoint, settings(),
                                                 environment_.clock->now(), Segment::IndexFiles::at_once)));
      log.log_end = options_.log_start_checkpoint;
      log.active_end = FilePosition{0};
      log.recovery_point = std::min(options_.recovery_point_checkpoint, log.log_end);
      return {};
    }
    log.log_end = end->next_offset;
    log.active_end = end->valid_end;
    if (end->valid_end < FilePosition{log.segments.back()->size().value}) {
      log.segments.back()->mark_torn(end->valid_end);
      const ByteCount torn = log.segments.back()->size() - (end->valid_end - FilePosition{0});
      note({.file = segment_file_name(log.segments.back()->base_offset(), kLogSuffix), .position = end->valid_end,
            .finding = RecoveryFinding::torn_tail, .action = RecoveryAction::passed_over,
            .why = fmt::format("{} bytes at the end hold no whole batch{}{}; they stay, and the next append goes into a new "
                               "segment", torn, end->fault.empty() ? "" : ": ", end->fault)});
    }
    if (options_.recovery_point_checkpoint > log.log_end && report_.bytes_cut == ByteCount{0}) {
      note({.file = segment_file_name(log.segments.back()->base_offset(), kLogSuffix), .finding = RecoveryFinding::missing,
            .action = RecoveryAction::passed_over, .offset = log.log_end,
            .why = fmt::format("the log was flushed up to offset {} and ends at {}", options_.recovery_point_checkpoint,
                               log.log_end)});
    }
    // What the last batch says costs nothing to compare, and an entry that lost its place shows there first.
    const bool is_served = end->last && end->last->last_offset >= options_.log_start_checkpoint;
    if (clean() && is_served && end->last->magic >= 2 && end->last->leader_epoch >= 0) {
      const std::optional<LeaderEpoch> told = log.epochs.epoch_of(end->last->last_offset);
      if (told != LeaderEpoch{end->last->leader_epoch}) epochs_lost_ = epochs_wrong_ = true;
    }
    log.recovery_point = clean() ? log.log_end : std::min(options_.recovery_point_checkpoint, log.log_end);
    return {};
  }

  Result<void> reload_producers(LoadedLog& log) {
    std::vector<Offset> bases;
    for (const auto& segment : log.segments) bases.push_back(segment->base_offset());
    for (std::string& name : TRY(log.snapshots.remove_strays(bases))) report_.removed_files.push_back(std::move(name));
    log.producers = ProducerState(options_.producer.expiration_ms);
    log.snapshots.start_over();
    TRY(rebuild_producer_state(log.producers, log.snapshots, log.segments, log.log_start, log.log_end,
                               environment_.clock->now(), clean() ? Reload::after_clean_stop : Reload::replay));
    for (RecoveryVerdict& verdict : log.snapshots.take_verdicts()) report_.verdicts.push_back(std::move(verdict));
    return {};
  }

  const LogEnvironment& environment_;
  io::FileSystem& fs_;
  const io::Path& directory_;
  const OpenOptions& options_;
  RecoveryReport& report_;
  bool directory_is_new_ = false;
  bool epochs_lost_ = false;   // or wrong: to be read from the batches
  bool epochs_wrong_ = false;
  std::optional<Offset> overflowed_;  // the base of a segment that must be split
};

}  // namespace

void note(const LogEnvironment& environment, const io::Path& directory, RecoveryReport& report, RecoveryVerdict verdict) {
  environment.logger->warn("{}: {}", directory, describe(verdict));
  report.verdicts.push_back(std::move(verdict));
}

Result<std::vector<EpochEntry>> epochs_in(const SegmentList& segments) {
  std::vector<EpochEntry> found;
  for (const auto& segment : segments) {
    const std::shared_ptr<io::File> log = TRY(segment->file());
    BatchScan scan(*log, FilePosition{0}, segment->valid_end());
    while (true) {
      const Result<std::optional<BatchInfo>> batch = scan.next();
      if (!batch && batch.error().code != Errc::corrupt) return batch.error();
      if (!batch || !*batch) break;
      if ((*batch)->leader_epoch < 0 || (*batch)->magic < 2) continue;
      if (!found.empty() && (*batch)->leader_epoch <= found.back().epoch.value) continue;
      found.push_back({{(*batch)->leader_epoch}, (*batch)->base_offset});
    }
  }
  return found;
}

Result<LoadedLog> load_log(const LogEnvironment& environment, const io::Path& directory, const OpenOptions& options,
                           RecoveryReport& report) {
  return Loader(environment, directory, options, report).run();
}

}  // namespace cordwood::storage
