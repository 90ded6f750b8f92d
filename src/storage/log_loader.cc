#include "storage/log_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "storage/directory_files.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

// What a listing of the directory holds, by what it is for.
struct Inventory {
  std::map<Offset, Segment::Companions> logs;
  std::vector<Offset> snapshots;
  std::vector<std::string> orphans;  // index files without a .log
  bool epochs = false;
  bool partition_metadata = false;
};

Result<Inventory> take_inventory(const std::vector<io::DirectoryEntry>& entries) {
  Inventory inventory;
  std::map<Offset, Segment::Companions> companions;
  std::vector<std::pair<Offset, std::string>> index_files;
  for (const io::DirectoryEntry& entry : entries) {
    if (entry.kind != io::DirectoryEntry::Kind::file) continue;
    if (entry.name == kLeaderEpochCheckpoint) inventory.epochs = true;
    if (entry.name == kPartitionMetadata) inventory.partition_metadata = true;
    const SegmentFileName parsed = parse_segment_file_name(entry.name);
    if (parsed.kind == SegmentFileKind::other) continue;
    const Offset offset = TRY(required_offset(parsed, entry.name));
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
    std::vector<io::DirectoryEntry> entries = TRY(list_or_create());
    if (TRY(clean_up_unfinished(fs_, directory_, entries, report_))) entries = TRY(fs_.list(directory_));
    const Inventory inventory = TRY(take_inventory(entries));

    const io::Path epoch_path = io::join(directory_, kLeaderEpochCheckpoint);
    if (!inventory.epochs) TRY(fs_.open(epoch_path, io::OpenMode::create));
    // Opened before the aggregate begins: an error that leaves half an aggregate would leak its first half.
    LeaderEpochCache epochs = TRY(LeaderEpochCache::open(fs_, epoch_path));
    LoadedLog log{{},
                  ProducerState(options_.producer.expiration_ms),
                  ProducerSnapshots(fs_, *environment_.logger, directory_, inventory.snapshots),
                  std::move(epochs),
                  {}, {}, {}, {}, {}, false};
    log.epochs.defer_writes();
    log.directory_is_new = directory_is_new_;
    if (inventory.partition_metadata) log.topic_id = TRY(read_partition_metadata(fs_, directory_));

    TRY(open_segments(log, inventory));
    if (!clean()) TRY(recover_unflushed(log));
    TRY(find_log_end(log));
    TRY(log.epochs.truncate_from_end(log.log_end));
    log.log_start = std::max(options_.log_start_checkpoint, log.segments.front()->base_offset());
    // Retention may have moved the start further than what was written of it before the process died.
    TRY(log.epochs.truncate_from_start(log.log_start));
    TRY(reload_producers(log));
    return log;
  }

 private:
  Result<std::vector<io::DirectoryEntry>> list_or_create() {
    Result<std::vector<io::DirectoryEntry>> entries = fs_.list(directory_);
    if (entries || entries.error().code != Errc::not_found) return entries;
    TRY(fs_.create_directories(directory_));
    directory_is_new_ = true;
    return std::vector<io::DirectoryEntry>();
  }

  RecoveryContext context(LoadedLog& log) { return {environment_, options_, log.snapshots, log.epochs, report_}; }
  Segment::Settings settings() { return Segment::Settings::from(options_.config, *environment_.random); }
  bool clean() const { return options_.last_stop == StopKind::clean; }

  // The base of the segment that holds the recovery point.
  Offset first_unflushed_base(const Inventory& inventory) const {
    auto behind = inventory.logs.upper_bound(options_.recovery_point_checkpoint);
    return behind == inventory.logs.begin() ? Offset{0} : std::prev(behind)->first;
  }

  Result<void> open_segments(LoadedLog& log, const Inventory& inventory) {
    for (const std::string& orphan : inventory.orphans) {
      environment_.logger->warn("{}/{} has no .log file and is removed", directory_, orphan);
      TRY(fs_.remove_file(io::join(directory_, orphan)));
      report_.removed_files.push_back(orphan);
    }
    const Offset first_unflushed = first_unflushed_base(inventory);
    for (const auto& [base, companions] : inventory.logs) {
      std::shared_ptr<Segment> segment =
          TRY(Segment::open(fs_, directory_, base, settings(), environment_.clock->now(), companions));
      if (!companions.time_index) {
        // Comes back empty: nothing in the file says that there should be entries.
        TRY(fs_.open(segment->path_of(kTimeIndexSuffix), io::OpenMode::create));
      }
      // What is recovered anyway gets its index then, after the segments before it were found good.
      if (!companions.offset_index && (clean() || base < first_unflushed)) {
        environment_.logger->warn("{} is missing and made anew", segment->path_of(kOffsetIndexSuffix));
        RecoveryContext rebuild = context(log);
        TRY(recover_segment(rebuild, *segment, log.segments));
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
      RecoveryContext recovery = context(log);
      const ByteCount cut = TRY(recover_segment(recovery, *log.segments[i], log.segments));
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
      if (end->next_offset < options_.log_start_checkpoint) {
        environment_.logger->warn("{}: the log ends at {}, below its start {}: all segments are removed", directory_,
                                  end->next_offset, options_.log_start_checkpoint);
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
      environment_.logger->warn("{}: {} bytes at the end hold no whole batch{}{}; they stay, and the next append goes "
                                "into a new segment",
                                log.segments.back()->path_of(kLogSuffix),
                                log.segments.back()->size() - (end->valid_end - FilePosition{0}),
                                end->fault.empty() ? "" : ": ", end->fault);
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
    return rebuild_producer_state(log.producers, log.snapshots, log.segments, log.log_start, log.log_end,
                                  environment_.clock->now(), clean() ? Reload::after_clean_stop : Reload::replay);
  }

  const LogEnvironment& environment_;
  io::FileSystem& fs_;
  const io::Path& directory_;
  const OpenOptions& options_;
  RecoveryReport& report_;
  bool directory_is_new_ = false;
};

}  // namespace

Result<LoadedLog> load_log(const LogEnvironment& environment, const io::Path& directory, const OpenOptions& options,
                           RecoveryReport& report) {
  return Loader(environment, directory, options, report).run();
}

}  // namespace cordwood::storage
