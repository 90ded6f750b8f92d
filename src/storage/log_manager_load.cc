// The part of LogManager that opens what the directories hold.

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "storage/log_manager_impl.h"

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
Result<CheckpointContents> LogManager::Impl::prepare_directory(std::size_t directory, bool& clean) {
  const io::Path& path = managed[directory]->path;
  clean = TRY(read_clean_shutdown(*env.fs, path)).has_value();
  TRY(remove_clean_shutdown(*env.fs, path));
  for (const char* name : {kRecoveryPointCheckpoint, kLogStartCheckpoint, kReplicationCheckpoint, kCleanerCheckpoint}) {
    TRY(env.fs->open(io::join(path, name), io::OpenMode::create));
  }
  CheckpointContents contents;
  contents.recovery_points = TRY(read_checkpoint(*env.fs, *env.logger, io::join(path, kRecoveryPointCheckpoint)));
  contents.log_starts = TRY(read_checkpoint(*env.fs, *env.logger, io::join(path, kLogStartCheckpoint)));
  contents.high_watermarks = TRY(read_checkpoint(*env.fs, *env.logger, io::join(path, kReplicationCheckpoint)));
  return contents;
}

Result<std::vector<LogManager::Impl::LoadJob>> LogManager::Impl::list_jobs(std::size_t directory) {
  std::vector<LoadJob> jobs;
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
      case PartitionDirectoryName::Kind::current: jobs.push_back({entry.name, name->partition}); break;
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
  return jobs;
}

Result<void> LogManager::Impl::settle_moves(const std::map<TopicPartition, io::Path>& logs_found,
                                            const std::function<void(std::size_t, LoadJob)>& load_too) {
  const bool all_online = std::ranges::none_of(managed, [](const auto& directory) { return directory->offline.load(); });
  std::vector<UnfinishedMove> left;
  for (UnfinishedMove& move : unfinished_moves) {
    if (logs_found.contains(move.partition)) {
      env.logger->info("{}: the move of {} begins anew", move.future, move.partition.to_string());
      left.push_back(std::move(move));
    } else if (!all_online) {
      // The log itself may lie in the directory that is missing, and be longer than this copy.
      env.logger->warn("{} is a copy on its way between directories, of a log that is not here; it is kept and not served",
                       move.future);
    } else {
      // The old log has lost its name already, so the copy was complete.
      const io::Path& parent = managed[move.to]->path;
      env.logger->info("{} becomes {}", move.future, io::join(parent, move.partition.to_string()));
      TRY(env.fs->rename(move.future, io::join(parent, move.partition.to_string())));
      TRY(env.fs->sync_directory(parent));
      load_too(move.to, {move.partition.to_string(), move.partition});
    }
  }
  unfinished_moves = std::move(left);
  return {};
}

Result<void> LogManager::Impl::load_one(std::size_t directory, const LoadJob& job,
                                        const CheckpointContents& checkpoints, bool clean,
                                        const LoadCallbacks& callbacks) {
  const io::Path path = io::join(managed[directory]->path, job.name);
  if (callbacks.claim) {
    Result<std::optional<Uuid>> topic_id = read_partition_metadata(*env.fs, path);
    if (!topic_id && topic_id.error().code != Errc::corrupt) return topic_id.error();
    Uuid directory_id;
    {
      MutexLock lock(directories_mu);
      directory_id = directories.back()[directory].id;
    }
    if (callbacks.claim(job.partition, topic_id ? *topic_id : std::nullopt, directory_id) == DirectoryClaim::stray) {
      const io::Path stray =
          io::join(managed[directory]->path, stray_directory_name(job.partition, Uuid::random(*env.random)));
      env.logger->warn("{} is not known to the cluster; it becomes {} and is not served", path, stray);
      TRY(env.fs->rename(path, stray));
      return env.fs->sync_directory(managed[directory]->path);
    }
  }
  OpenOptions open_options;
  if (callbacks.config_of) open_options.config = callbacks.config_of(job.partition.topic);
  open_options.producer = options.producer;
  open_options.log_start_checkpoint = offset_in(checkpoints.log_starts, job.partition);
  open_options.recovery_point_checkpoint = offset_in(checkpoints.recovery_points, job.partition);
  open_options.high_watermark_checkpoint = offset_in(checkpoints.high_watermarks, job.partition);
  open_options.last_stop = clean ? StopKind::clean : StopKind::unclean;
  std::shared_ptr<PartitionLog> log = TRY(PartitionLog::open(env, path, job.partition, std::move(open_options)));
  if (log->recovery().segments_recovered > 0) {
    env.logger->info("{} recovered: {} segments checked, {} bytes cut, log end {}", path,
                     log->recovery().segments_recovered, log->recovery().bytes_cut, log->log_end_offset());
  }
  CHECK(add(std::move(log), directory) != nullptr, "{} loaded twice", job.partition.to_string());
  return {};
}

Result<void> LogManager::load(const LoadCallbacks& callbacks) {
  struct Work {
    std::size_t directory = 0;
    bool clean = false;
    CheckpointContents checkpoints;
    std::vector<Impl::LoadJob> jobs;
    std::atomic<std::size_t> next{0};
  };
  Impl& impl = *impl_;
  std::vector<std::unique_ptr<Work>> works;
  std::map<TopicPartition, io::Path> where;
  std::size_t total = 0;
  for (std::size_t i = 0; i < impl.managed.size(); ++i) {
    if (impl.managed[i]->offline.load()) continue;
    auto work = std::make_unique<Work>();
    work->directory = i;
    const auto prepare = [&]() -> Result<void> {
      work->checkpoints = TRY(impl.prepare_directory(i, work->clean));
      work->jobs = TRY(impl.list_jobs(i));
      return {};
    };
    if (Result<void> prepared = prepare(); !prepared) {
      impl.set_offline(i, prepared.error());
      continue;
    }
    for (const Impl::LoadJob& job : work->jobs) {
      const auto [it, fresh] = where.emplace(job.partition, impl.managed[i]->path);
      if (!fresh) {
        return Error{Errc::invalid, fmt::format("{} is found in both {} and {}", job.partition.to_string(), it->second,
                                                impl.managed[i]->path)};
      }
    }
    works.push_back(std::move(work));
  }
  TRY(impl.settle_moves(where, [&](std::size_t directory, Impl::LoadJob job) {
    for (const auto& work : works) {
      if (work->directory == directory) work->jobs.push_back(std::move(job));
    }
  }));
  for (const auto& work : works) total += work->jobs.size();

  Mutex mu;
  std::size_t done = 0;
  std::optional<Error> fatal;
  const auto run = [&](Work& work) {
    while (true) {
      const std::size_t number = work.next.fetch_add(1);
      if (number >= work.jobs.size() || impl.managed[work.directory]->offline.load()) return;
      Result<void> loaded =
          impl.load_one(work.directory, work.jobs[number], work.checkpoints, work.clean, callbacks);
      if (!loaded && (loaded.error().code == Errc::io || loaded.error().code == Errc::no_space)) {
        impl.set_offline(work.directory, loaded.error());
      }
      MutexLock lock(mu);
      if (!loaded && loaded.error().code != Errc::io && loaded.error().code != Errc::no_space && !fatal) {
        fatal = loaded.error();
        fatal->what = fmt::format("{}: {}", io::join(impl.managed[work.directory]->path, work.jobs[number].name),
                                  fatal->what);
      }
      if (fatal) return;
      ++done;
      if (callbacks.progress) callbacks.progress(done, total);
    }
  };
  std::vector<std::thread> threads;
  for (const auto& work : works) {
    const auto wanted = static_cast<std::size_t>(std::max(impl.options.recovery_threads_per_dir, 1));
    for (std::size_t i = 0; i < std::min(wanted, work->jobs.size()); ++i) {
      threads.emplace_back([&run, one = work.get()] { run(*one); });
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (fatal) return *fatal;
  for (const auto& work : works) impl.managed[work->directory]->loaded = true;
  if (!impl.any_online()) return *directories().front().offline;
  return {};
}

}  // namespace cordwood::storage
