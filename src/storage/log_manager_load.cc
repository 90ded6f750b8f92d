// The part of LogManager that finds what a directory holds and opens one log of it.

#include <fmt/format.h>

#include <algorithm>

#include "storage/log_manager_impl.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

// A checkpoint that cannot be read counts as empty: everything is then checked from the start of the log.
Result<OffsetsByPartition> read_checkpoint(io::FileSystem& fs, Logger& logger, const io::Path& path) {
  Result<OffsetsByPartition> offsets = read_offset_checkpoint(fs, path);
  if (offsets || (offsets.error().code != Errc::corrupt && offsets.error().code != Errc::limit)) return offsets;
  logger.warn("{}; every offset in it is taken to be 0", offsets.error().message());
  return OffsetsByPartition();
}

Offset offset_in(const OffsetsByPartition& offsets, const TopicPartition& partition) {
  const auto it = offsets.find(partition);
  return it == offsets.end() ? Offset{0} : std::max(it->second, Offset{0});
}

}  // namespace

// Takes the clean mark away before anything else: a crash while loading is an unclean stop.
Result<void> LogManager::Impl::prepare_directory(std::size_t directory) {
  ManagedDirectory& target = *managed[directory];
  target.clean = TRY(read_clean_shutdown(*env.fs, target.path)).has_value();
  TRY(remove_clean_shutdown(*env.fs, target.path));
  for (const char* name : {kRecoveryPointCheckpoint, kLogStartCheckpoint, kReplicationCheckpoint, kCleanerCheckpoint}) {
    TRY(env.fs->open(io::join(target.path, name), io::OpenMode::create));
  }
  const auto read = [&](const char* name) { return read_checkpoint(*env.fs, *env.logger, io::join(target.path, name)); };
  target.found.recovery_points = TRY(read(kRecoveryPointCheckpoint));
  target.found.log_starts = TRY(read(kLogStartCheckpoint));
  target.found.high_watermarks = TRY(read(kReplicationCheckpoint));
  target.prepared = true;
  return {};
}

Result<std::vector<LogManager::Impl::PendingPtr>> LogManager::Impl::list_logs(std::size_t directory) {
  std::vector<PendingPtr> logs;
  const io::Path& path = managed[directory]->path;
  for (const io::DirectoryEntry& entry : TRY(env.fs->list(path))) {
    if (entry.kind != io::DirectoryEntry::Kind::directory &&
        entry.kind != io::DirectoryEntry::Kind::symlink_to_directory) {
      continue;
    }
    const std::optional<PartitionDirectoryName> name = parse_partition_directory(entry.name);
    if (!name) continue;
    if (name->partition.topic == "__cluster_metadata" && name->partition.partition == PartitionId{0}) continue;
    switch (name->kind) {
      case PartitionDirectoryName::Kind::current: {
        auto pending = std::make_shared<PendingLog>();
        pending->directory = directory;
        pending->name = entry.name;
        pending->partition = name->partition;
        logs.push_back(std::move(pending));
        break;
      }
      case PartitionDirectoryName::Kind::deleted:
        schedule_removal(io::join(path, entry.name), LogConfig().file_delete_delay_ms);
        break;
      case PartitionDirectoryName::Kind::stray:
        env.logger->warn("{} is a stray log; it is kept and not served", io::join(path, entry.name));
        break;
      case PartitionDirectoryName::Kind::future:
        unfinished_moves.push_back({name->partition, directory, io::join(path, entry.name)});
        break;
    }
  }
  return logs;
}

// What becomes of the copies of unfinished moves, once all logs are known.
Result<void> LogManager::Impl::settle_moves(std::vector<PendingPtr>& found) {
  const bool all_online = std::ranges::none_of(managed, [](const auto& directory) { return directory->offline.load(); });
  std::vector<UnfinishedMove> left;
  for (UnfinishedMove& move : unfinished_moves) {
    if (loading.contains(move.partition)) {
      env.logger->info("{}: the move of {} begins anew", move.future, move.partition.to_string());
      left.push_back(std::move(move));
    } else if (!all_online || !TRY(env.fs->exists(io::join(move.future, kPartitionMetadata)))) {
      // The log itself may lie in the directory that is missing, and be longer than this copy; or in one that log.dirs does not
      // name any more, when the copy is not complete.
      env.logger->warn("{} is a copy on its way between directories, of a log that is not here; it is kept and not served",
                       move.future);
    } else {
      // The old log has lost its name already, so the copy was complete.
      const io::Path& parent = managed[move.to]->path;
      auto pending = std::make_shared<PendingLog>();
      pending->directory = move.to;
      pending->name = move.partition.to_string();
      pending->partition = move.partition;
      env.logger->info("{} becomes {}", move.future, io::join(parent, pending->name));
      TRY(env.fs->rename(move.future, io::join(parent, pending->name)));
      TRY(env.fs->sync_directory(parent));
      managed[move.to]->not_loaded.fetch_add(1, std::memory_order_release);
      loading.emplace(pending->partition, pending);
      found.push_back(std::move(pending));
    }
  }
  unfinished_moves = std::move(left);
  return {};
}

// What cannot be read here is found again, and reported, when the log is opened.
LoadCrew::Survey LogManager::Impl::survey(const PendingLog& pending) const {
  LoadCrew::Survey survey;
  // Groups and transactions wait for these.
  survey.urgent = pending.partition.topic == "__consumer_offsets" || pending.partition.topic == "__transaction_state";
  const ManagedDirectory& directory = *managed[pending.directory];
  if (directory.clean || directory.offline.load()) return survey;
  const io::Path path = io::join(directory.path, pending.name);
  const Result<std::vector<io::DirectoryEntry>> entries = env.fs->list(path);
  if (!entries) return survey;
  std::map<Offset, std::string> logs;
  for (const io::DirectoryEntry& entry : *entries) {
    const SegmentFileName name = parse_segment_file_name(entry.name);
    if (name.kind == SegmentFileKind::log && name.offset) logs.emplace(*name.offset, entry.name);
  }
  auto first = logs.upper_bound(offset_in(directory.found.recovery_points, pending.partition));
  if (first != logs.begin()) --first;
  for (; first != logs.end(); ++first) {
    if (const Result<io::FileStatus> status = env.fs->status(io::join(path, first->second))) survey.bytes += status->size;
  }
  return survey;
}

Result<bool> LogManager::Impl::is_stray(const PendingLog& pending) const {
  if (!load_callbacks.claim) return false;
  const io::Path path = io::join(managed[pending.directory]->path, pending.name);
  Result<std::optional<Uuid>> topic_id = read_partition_metadata(*env.fs, path);
  if (!topic_id && topic_id.error().code != Errc::corrupt) return topic_id.error();
  Uuid directory_id;
  {
    MutexLock lock(directories_mu);
    directory_id = directories.back()[pending.directory].id;
  }
  return load_callbacks.claim(pending.partition, topic_id ? *topic_id : std::nullopt, directory_id) == DirectoryClaim::stray;
}

Result<void> LogManager::Impl::set_aside(const PendingLog& pending) {
  const io::Path& parent = managed[pending.directory]->path;
  const io::Path path = io::join(parent, pending.name);
  const io::Path stray = io::join(parent, stray_directory_name(pending.partition, Uuid::random(*env.random)));
  env.logger->warn("{} is not known to the cluster; it becomes {} and is not served", path, stray);
  TRY(env.fs->rename(path, stray));
  return env.fs->sync_directory(parent);
}

Result<std::shared_ptr<PartitionLog>> LogManager::Impl::load_one(const PendingLog& pending, LoadWatch& watch) {
  const ManagedDirectory& directory = *managed[pending.directory];
  const io::Path path = io::join(directory.path, pending.name);
  if (TRY(is_stray(pending))) {
    TRY(set_aside(pending));
    return std::shared_ptr<PartitionLog>();
  }
  OpenOptions open_options;
  if (load_callbacks.config_of) open_options.config = load_callbacks.config_of(pending.partition.topic);
  open_options.producer = options.producer;
  open_options.log_start_checkpoint = offset_in(directory.found.log_starts, pending.partition);
  open_options.recovery_point_checkpoint = offset_in(directory.found.recovery_points, pending.partition);
  open_options.high_watermark_checkpoint = offset_in(directory.found.high_watermarks, pending.partition);
  open_options.last_stop = directory.clean ? StopKind::clean : StopKind::unclean;
  open_options.watch = &watch;
  std::shared_ptr<PartitionLog> log = TRY(PartitionLog::open(env, path, pending.partition, std::move(open_options)));
  if (log->recovery().segments_recovered > 0) {
    env.logger->info("{} recovered: {} segments checked, {} bytes cut, log end {}", path,
                     log->recovery().segments_recovered, log->recovery().bytes_cut, log->log_end_offset());
  }
  return log;
}

}  // namespace cordwood::storage
