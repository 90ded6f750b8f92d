#include "offline/partition_repair.h"

#include <algorithm>
#include <array>
#include <set>

#include "offline/file_copy.h"
#include "storage/checkpoint_file.h"
#include "storage/directory_files.h"
#include "storage/index_builder.h"
#include "storage/segment_file_name.h"
#include "storage/txn_index.h"

namespace cordwood::offline {
namespace {

using storage::RecoveryFinding;
using storage::segment_file_name;

constexpr ByteCount kWholeFile{INT64_MAX};
constexpr std::string_view kTemporary = ".tmp";
constexpr std::size_t kCopyPiece = 1 * MiB;

bool is_log(std::string_view name) { return name.ends_with(storage::kLogSuffix); }

Result<void> append_range(const io::File& from, FilePosition start, FilePosition end, io::File& to, FilePosition at) {
  ByteVector window(std::min<std::size_t>(kCopyPiece, static_cast<std::size_t>((end - start).value)));
  while (start < end) {
    const std::size_t wanted = std::min<std::size_t>(window.size(), static_cast<std::size_t>((end - start).value));
    const std::size_t count = TRY(from.read_at(start, MutableBytesView(window).first(wanted)));
    if (count != wanted) return Error{Errc::io, fmt::format("{} became shorter", from.path())};
    TRY(to.write_at(at, BytesView(window).first(count)));
    start += ByteCount{static_cast<std::int64_t>(count)};
    at += ByteCount{static_cast<std::int64_t>(count)};
  }
  return {};
}

Result<void> write_segment(io::FileSystem& fs, const io::Path& directory, const storage::SalvagedSegment& segment) {
  const io::Path path = io::join(directory, segment_file_name(segment.base, storage::kLogSuffix)) + std::string(kTemporary);
  const auto target = TRY(fs.open(path, io::OpenMode::truncate));
  FilePosition at{0};
  for (const storage::SalvagedRun& run : segment.runs) {
    const auto source = TRY(fs.open(io::join(directory, segment_file_name(run.file, storage::kLogSuffix)), io::OpenMode::read));
    TRY(append_range(*source, run.start, run.end, *target, at));
    if (run.is_corrected) {
      std::array<std::byte, 8> base_offset;
      store_be<std::int64_t>(base_offset, 0, run.first_offset.value);
      TRY(target->write_at(at, base_offset));
    }
    at += run.end - run.start;
  }
  TRY(target->sync());
  return target->close();
}

Result<void> remove_if_there(io::FileSystem& fs, const io::Path& path) {
  const auto removed = fs.remove_file(path);
  if (!removed && removed.error().code != Errc::not_found) return removed.error();
  return {};
}

class Repairer {
 public:
  Repairer(const PartitionRepair& plan, const RepairSettings& settings)
      : plan_(plan), settings_(settings), fs_(*settings.environment.fs), directory_(plan.directory) {}

  Result<Repaired> run() {
    TRY(keep_originals());
    TRY(write_logs());
    for (const std::string& name : plan_.set_aside) {
      if (!is_log(name)) TRY(remove_if_there(fs_, io::join(directory_, name)));
    }
    TRY(replace_logs());
    return make_anew();
  }

 private:
  Result<void> keep_originals() {
    if (!settings_.quarantine) return {};
    TRY(fs_.create_directories(*settings_.quarantine));
    std::set<std::string> names(plan_.set_aside.begin(), plan_.set_aside.end());
    for (std::string& name : plan_.written()) {
      if (TRY(fs_.exists(io::join(directory_, name)))) names.insert(std::move(name));
    }
    for (const std::string& name : names) {
      const io::Path from = io::join(directory_, name);
      const io::Path to = io::join(*settings_.quarantine, name);
      TRY(copy_file(fs_, from, to, kWholeFile));
      const io::FileStatus status = TRY(fs_.status(from));
      TRY(fs_.set_modified(to, status.modified));
    }
    TRY(fs_.sync_directory(*settings_.quarantine));
    return fs_.sync_directory(io::Path(io::parent_of(*settings_.quarantine)));
  }

  // Under other names, beside the ones that they are made of.
  Result<void> write_logs() {
    for (const storage::SalvagedSegment& segment : plan_.salvage.segments) {
      if (segment.is_as_it_was) continue;
      const Result<void> written = write_segment(fs_, directory_, segment);
      if (written) continue;
      for (const std::string& name : plan_.written()) (void)fs_.remove_file(io::join(directory_, name) + std::string(kTemporary));
      return written.error();
    }
    return {};
  }

  Result<void> replace_logs() {
    for (const std::string& name : plan_.written()) {
      const io::Path path = io::join(directory_, name);
      // Retention looks at it where no record carries a time.
      const auto old = fs_.status(path);
      TRY(fs_.rename(path + std::string(kTemporary), path));
      if (old) TRY(fs_.set_modified(path, old->modified));
    }
    // Whatever they held is in other files by now.
    for (const std::string& name : plan_.set_aside) {
      if (is_log(name)) TRY(remove_if_there(fs_, io::join(directory_, name)));
    }
    return fs_.sync_directory(directory_);
  }

  // Both index files of each segment that lacks one: a start would make them too, but take the producer snapshots behind it away, and
  // those know more than the batches that are left.
  Result<void> make_indexes() {
    for (const storage::SalvagedSegment& segment : plan_.salvage.segments) {
      const io::Path offsets = io::join(directory_, segment_file_name(segment.base, storage::kOffsetIndexSuffix));
      const io::Path times = io::join(directory_, segment_file_name(segment.base, storage::kTimeIndexSuffix));
      const bool has_offsets = TRY(fs_.exists(offsets));
      const bool has_times = TRY(fs_.exists(times));
      if (has_offsets && has_times) continue;
      const auto log = TRY(fs_.open(io::join(directory_, segment_file_name(segment.base, storage::kLogSuffix)), io::OpenMode::read));
      const ByteCount size = TRY(log->size());
      const storage::IndexBuilder builder = TRY(storage::build_indexes(*log, FilePosition{size.value}, segment.base, settings_.config.index_interval_bytes,
                                                                       settings_.config.segment_index_bytes));
      if (!has_offsets) TRY(io::write_file_atomically(fs_, offsets, builder.offset_index()));
      if (!has_times) TRY(io::write_file_atomically(fs_, times, builder.time_index(storage::IndexBuilder::Closing::yes)));
    }
    return {};
  }

  // Entries whose marker is not there any more are of no use: nobody could say that they are right.
  Result<void> shorten_transaction_indexes() {
    for (const storage::SalvagedSegment& segment : plan_.salvage.segments) {
      const io::Path path = io::join(directory_, segment_file_name(segment.base, storage::kTxnIndexSuffix));
      const bool is_there = TRY(fs_.exists(path));
      if (segment.is_as_it_was || !is_there) continue;
      const auto index = TRY(storage::TxnIndex::open(fs_, path));
      const std::vector<storage::AbortedEntry> entries = TRY(index->entries());
      std::vector<storage::AbortedEntry> kept;
      std::ranges::copy_if(entries, std::back_inserter(kept), [&](const storage::AbortedEntry& entry) {
        return std::ranges::any_of(segment.runs, [&](const storage::SalvagedRun& run) { return run.first_offset <= entry.last_offset && entry.last_offset <= run.last_offset; });
      });
      if (kept.size() < entries.size()) TRY(io::write_file_atomically(fs_, path, storage::encode_txn_index(kept)));
    }
    return {};
  }

  // Whether the producers of the log end can be had from a snapshot, and nothing of the active segment is in doubt.
  Result<bool> is_end_known() {
    const std::vector<storage::SalvagedSegment>& segments = plan_.salvage.segments;
    if (segments.empty() || !segments.back().is_as_it_was) return false;
    if (std::ranges::binary_search(plan_.made_anew, segment_file_name(segments.back().base, storage::kTxnIndexSuffix))) return false;

    for (const io::DirectoryEntry& entry : TRY(fs_.list(directory_))) {
      const storage::SegmentFileName name = storage::parse_segment_file_name(entry.name);
      if (name.kind == storage::SegmentFileKind::snapshot && name.state == storage::SegmentFileState::current) return true;
    }
    return false;
  }

  // A start after a clean stop: producers are read from the newest good snapshot on. Where that is not enough, one after an unclean stop:
  // it has the active segment to check, where nothing is cut any more.
  Result<Repaired> make_anew() {
    TRY(make_indexes());
    TRY(shorten_transaction_indexes());
    // A start looks for epochs only where the first batch has one, which those of old formats have not.
    if (std::ranges::binary_search(plan_.made_anew, std::string(storage::kLeaderEpochCheckpoint))) {
      std::vector<storage::EpochEntry> epochs = plan_.check.epochs;
      std::erase_if(epochs, [&](const storage::EpochEntry& entry) { return entry.start_offset >= plan_.salvage.log_end; });
      TRY(storage::write_epoch_checkpoint(fs_, io::join(directory_, storage::kLeaderEpochCheckpoint), epochs));
    }
    storage::OpenOptions options;
    options.config = settings_.config;
    options.config.file_delete_delay_ms = DurationMs{0};
    options.log_start_checkpoint = settings_.log_start;
    options.recovery_point_checkpoint = plan_.salvage.log_end;
    options.last_stop = TRY(is_end_known()) ? storage::StopKind::clean : storage::StopKind::unclean;
    const auto log = TRY(storage::PartitionLog::open(settings_.environment, directory_, plan_.partition, options));
    log->set_high_watermark(log->log_end_offset());
    TRY(log->trust_txn_indexes(log->view_for_cleaning(), log->log_end_offset()));
    if (log->log_start_offset() < log->log_end_offset()) {
      const Offset from = std::max(log->log_start_offset(), std::min(log->segments().back().base_offset, log->log_end_offset()));
      TRY(log->read({.from = from, .max_bytes = ByteCount{1}, .at_least_one_batch = true, .limit = storage::ReadLimit::last_stable}));
    }
    if (settings_.topic_id && !log->topic_id()) TRY(log->set_topic_id(*settings_.topic_id));
    TRY(log->remove_retired_files());
    Repaired repaired{log->log_start_offset(), log->log_end_offset(), {}};
    TRY(log->close_cleanly());
    storage::CheckContext context;
    context.recovery_point = repaired.log_end;
    repaired.check = TRY(storage::check_partition(fs_, directory_, context));
    return repaired;
  }

  const PartitionRepair& plan_;
  const RepairSettings& settings_;
  io::FileSystem& fs_;
  const io::Path& directory_;
};

}  // namespace

std::vector<std::string> PartitionRepair::written() const {
  std::vector<std::string> names;
  for (const storage::SalvagedSegment& segment : salvage.segments) {
    if (!segment.is_as_it_was) names.push_back(segment_file_name(segment.base, storage::kLogSuffix));
  }
  return names;
}

Result<PartitionRepair> plan_repair(io::FileSystem& fs, const io::Path& directory, const TopicPartition& partition,
                                    const storage::CheckContext& context) {
  PartitionRepair plan{partition, directory, TRY(storage::check_partition(fs, directory, context)), {}, {}, {}};
  if (!plan.is_needed()) return plan;
  plan.salvage = TRY(storage::plan_salvage(fs, directory, plan.check, context.depth));
  std::set<std::string> there;
  for (const io::DirectoryEntry& entry : TRY(fs.list(directory))) {
    if (entry.kind == io::DirectoryEntry::Kind::file) there.insert(entry.name);
  }
  std::set<std::string> aside;
  std::set<std::string> anew;
  const auto set_aside = [&](const std::string& name) {
    if (there.contains(name)) aside.insert(name);
  };
  const auto make_anew = [&](const std::string& name) {
    set_aside(name);
    anew.insert(name);
  };
  for (const storage::CheckFinding& finding : plan.check.findings) {
    if (finding.weight != storage::CheckFinding::Weight::damage || is_log(finding.file)) continue;
    if (finding.at_next_start == storage::RecoveryAction::removed || finding.file.ends_with(storage::kSnapshotSuffix)) {
      set_aside(finding.file);
    } else {
      make_anew(finding.file);
    }
  }
  for (const storage::SalvagedSegment& segment : plan.salvage.segments) {
    if (segment.is_as_it_was) continue;
    make_anew(segment_file_name(segment.base, storage::kOffsetIndexSuffix));
    make_anew(segment_file_name(segment.base, storage::kTimeIndexSuffix));
  }
  for (const Offset base : plan.salvage.gone) {
    for (const std::string_view suffix : storage::kSegmentSuffixes) {
      const std::string name = segment_file_name(base, suffix);
      set_aside(name);
      anew.erase(name);
    }
  }
  // They know of records that are not there any more.
  for (const std::string& name : there) {
    const storage::SegmentFileName parsed = storage::parse_segment_file_name(name);
    const bool is_snapshot = parsed.kind == storage::SegmentFileKind::snapshot && parsed.state == storage::SegmentFileState::current;
    if (is_snapshot && parsed.offset && *parsed.offset > plan.salvage.log_end) set_aside(name);
  }
  plan.set_aside.assign(aside.begin(), aside.end());
  plan.made_anew.assign(anew.begin(), anew.end());
  return plan;
}

Result<Repaired> carry_out(const PartitionRepair& plan, const RepairSettings& settings) { return Repairer(plan, settings).run(); }

}  // namespace cordwood::offline
