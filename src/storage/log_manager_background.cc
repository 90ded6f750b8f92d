// The part of LogManager that runs beside the requests: checkpoints, expiry, flush, removal; and its end.

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "storage/log_manager_impl.h"

namespace cordwood::storage {

// --- checkpoints ---

Result<void> LogManager::Impl::write_directory_offsets(std::size_t directory, bool recovery_points,
                                                       bool high_watermarks) {
  ManagedDirectory& target = *managed[directory];
  MutexLock lock(target.checkpoint_mu);
  // What was not read must not be overwritten.
  if (target.offline.load() || !target.prepared) return {};
  CheckpointContents now;
  // What was found of logs that are not open yet stays; those that are by now overwrite it.
  for (const PendingPtr& pending : pending_in(directory)) {
    const auto keep = [&](const OffsetsByPartition& found, OffsetsByPartition& kept) {
      if (const auto it = found.find(pending->partition); it != found.end()) kept.insert(*it);
    };
    keep(target.found.recovery_points, now.recovery_points);
    keep(target.found.log_starts, now.log_starts);
    keep(target.found.high_watermarks, now.high_watermarks);
  }
  for (const Entry& entry : entries()) {
    if (entry.directory != directory && !is_moving_to(entry.log->partition(), directory)) continue;
    const TopicPartition& partition = entry.log->partition();
    now.recovery_points[partition] = entry.log->recovery_point_to_checkpoint();
    now.high_watermarks[partition] = entry.log->high_watermark();
    // A start that the first segment's name tells needs no line.
    const std::optional<Offset> first_base = entry.log->first_segment_base();
    const Offset start = entry.log->log_start_offset();
    if (first_base && start > *first_base) {
      now.log_starts[partition] = start;
    } else {
      now.log_starts.erase(partition);
    }
  }
  const auto write = [&](const char* name, const OffsetsByPartition& offsets) REQUIRES(target.checkpoint_mu) -> Result<void> {
    const auto it = target.written.find(name);
    if (it != target.written.end() && it->second == offsets) return {};
    TRY(write_offset_checkpoint(*env.fs, io::join(target.path, name), offsets));
    target.written[name] = offsets;
    return {};
  };
  if (recovery_points) {
    TRY(write(kRecoveryPointCheckpoint, now.recovery_points));
    TRY(write(kLogStartCheckpoint, now.log_starts));
  }
  if (high_watermarks) TRY(write(kReplicationCheckpoint, now.high_watermarks));
  return {};
}

Result<void> LogManager::Impl::write_offsets(bool recovery_points, bool high_watermarks) {
  Result<void> result;
  for (std::size_t i = 0; i < managed.size(); ++i) {
    if (managed[i]->offline.load()) continue;
    Result<void> written = write_directory_offsets(i, recovery_points, high_watermarks);
    if (written) continue;
    result = written.error();
    // What is there stays right: at worst more is checked after an unclean stop.
    if (written.error().code == Errc::no_space) continue;
    set_offline(i, written.error());
  }
  return result;
}

Result<void> LogManager::write_checkpoints() { return impl_->write_offsets(true, true); }

// --- background work ---

namespace {
// Of idle segments with unsynced records, a minute: enough to keep up, and little for a disk.
constexpr std::size_t kIdleSyncs = 100;
}  // namespace

// A roll asks for a flush of what it closed; a failed write takes the directory offline.
// What is captured fits into a std::function without a place of its own on the heap: there are many logs.
void LogManager::Impl::watch(const std::shared_ptr<PartitionLog>& watched) {
  PartitionLog* const log = watched.get();
  log->on_roll([this, log](Offset new_base) {
    MutexLock lock(executor_mu);
    if (executor == nullptr) return;
    executor->post([weak = log->weak_from_this(), shared_tasks = tasks, new_base] {
      MutexLock running(shared_tasks->mu);
      if (shared_tasks->stopped) return;
      // A failure is reported through on_failure.
      if (std::shared_ptr<PartitionLog> alive = weak.lock()) alive->flush_up_to(new_base).has_value();
    });
  });
  log->on_failure([this, log](const Error& why) {
    if (ended.load()) return;
    if (const std::optional<std::size_t> index = directory_index(log->directory())) set_offline(*index, why);
  });
  log->on_index_damage([this, log] {
    run_later(DurationMs{0}, [this, weak = log->weak_from_this()] {
      const std::shared_ptr<PartitionLog> alive = weak.lock();
      if (!alive) return;
      const Result<void> repaired = alive->repair_indexes();
      if (repaired || repaired.error().code == Errc::closed) return;
      env.logger->warn("{}: an index cannot be made anew: {}", alive->directory(), repaired.error().message());
    });
  });
  remove_retired_later(watched);
}

void LogManager::Impl::remove_retired_later(const std::shared_ptr<PartitionLog>& watched) {
  watched->on_retired([this, log = watched.get()](DurationMs delay) {
    run_later(delay, [this, weak = log->weak_from_this()] {
      std::shared_ptr<PartitionLog> alive = weak.lock();
      if (!alive) return;
      Result<void> removed = alive->remove_retired_files();
      if (removed) return;
      if (const std::optional<std::size_t> index = directory_index(alive->directory())) set_offline(*index, removed.error());
    });
  });
}

void LogManager::Impl::run_later(DurationMs delay, std::function<void()> work) {
  MutexLock lock(executor_mu);
  if (executor == nullptr) return;
  executor->schedule(env.clock->monotonic() + to_ns(delay), [shared_tasks = tasks, work = std::move(work)] {
    MutexLock running(shared_tasks->mu);
    if (!shared_tasks->stopped) work();
  });
}

void LogManager::Impl::repeat(DurationMs first, DurationMs every, std::function<void()> work) {
  // An interval of years is "never", and must not overflow as nanoseconds.
  constexpr DurationMs kNever{INT64_MAX / 4'000'000};
  if (every >= kNever || first >= kNever) return;
  run_later(first, [this, every, work = std::move(work)] {
    work();
    repeat(every, every, work);
  });
}

void LogManager::Impl::schedule_removal(const io::Path& deleted_directory, DurationMs delay) {
  {
    MutexLock lock(executor_mu);
    if (executor == nullptr) {
      pending_removals.emplace_back(deleted_directory, delay);
      return;
    }
  }
  run_later(delay, [this, deleted_directory] {
    Result<void> removed = env.fs->remove_directory_tree(deleted_directory);
    if (removed) return;
    if (const std::optional<std::size_t> index = directory_index(deleted_directory)) set_offline(*index, removed.error());
  });
}

void LogManager::Impl::flush_overdue() {
  const TimestampMs now = env.clock->now();
  for (const Entry& entry : entries()) {
    if (now - entry.log->last_flush_time() < entry.log->config().flush_ms) continue;
    if (entry.log->recovery_point() < entry.log->log_end_offset()) entry.log->flush().has_value();
  }
}

void LogManager::Impl::check_retention_of(const Entry& entry) {
  if (managed[entry.directory]->offline.load()) return;
  const TimestampMs now = env.clock->now();
  const auto check = [&]() -> Result<void> {
    if (TRY(entry.log->retention_due(now))) TRY(entry.log->apply_retention(now));
    return {};
  };
  Result<void> checked = check();
  if (checked || checked.error().code == Errc::closed) return;
  if (checked.error().code == Errc::no_space) return env.logger->warn("{}: {}", entry.log->directory(), checked.error().message());
  set_offline(entry.directory, checked.error());
}

void LogManager::check_retention() {
  // Segments of a compacted log go between two runs of the cleaner, never under one: the run would be for nothing.
  const bool compacted_too = !impl_->cleaner->is_enabled();
  const std::vector<Impl::Entry> logs = impl_->entries();
  for (std::size_t i = 0; i < logs.size(); ++i) {
    // Most of the time of a check goes into waiting for memory: of the next logs it is asked for early.
    constexpr std::size_t kAhead = 8;
    if (i + kAhead < logs.size()) __builtin_prefetch(logs[i + kAhead].log.get());
    if (compacted_too || !logs[i].log->config().cleanup_compact) impl_->check_retention_of(logs[i]);
  }
}

void LogManager::start_background(Executor& executor) {
  Impl& impl = *impl_;
  std::vector<std::pair<io::Path, DurationMs>> removals;
  {
    MutexLock lock(impl.executor_mu);
    impl.executor = &executor;
    removals.swap(impl.pending_removals);
  }
  for (const auto& [path, delay] : removals) impl.schedule_removal(path, delay);
  for (const Impl::Entry& entry : impl.entries()) impl.flush_in_background(entry.log, entry.directory);
  // What loading has opened, most logs will not need for long; once to forget the use, and once to close.
  impl.run_later(DurationMs{0}, [&impl] {
    for (int i = 0; i < 2; ++i) impl.env.open_files->close_idle(0);
  });
  const DurationMs first = impl.options.initial_task_delay;
  impl.repeat(first, impl.options.retention_check_interval, [this] { check_retention(); });
  const auto recovery_points = [&impl] { impl.write_offsets(true, false).has_value(); };
  impl.repeat(first, std::min(impl.options.recovery_point_checkpoint_interval, impl.options.log_start_checkpoint_interval),
              recovery_points);
  const DurationMs watermarks = impl.options.high_watermark_checkpoint_interval;
  impl.repeat(watermarks, watermarks, [&impl] { impl.write_offsets(false, true).has_value(); });
  const DurationMs expiry = impl.options.producer_expiration_check_interval;
  impl.repeat(expiry, expiry, [&impl] {
    for (const Impl::Entry& entry : impl.entries()) entry.log->expire_producers();
  });
  impl.repeat(first, impl.options.flush_scheduler_interval, [&impl] { impl.flush_overdue(); });
  constexpr DurationMs kSpaceInterval{1000};
  impl.repeat(DurationMs{0}, kSpaceInterval, [this] { check_space(); });
  impl.repeat(kIdleCheckInterval, kIdleCheckInterval, [&impl] { impl.env.open_files->close_idle(kIdleSyncs); });
}

void LogManager::Impl::stop_tasks() {
  {
    MutexLock lock(executor_mu);
    executor = nullptr;
  }
  MutexLock lock(tasks->mu);
  tasks->stopped = true;
}

// --- the end ---

Result<void> LogManager::shut_down(std::int64_t broker_epoch) {
  Impl& impl = *impl_;
  if (impl.cleaner) impl.cleaner->stop();
  stop_loading();
  impl.stop_tasks();
  if (impl.ended.exchange(true)) return {};
  MutexLock create_lock(impl.create_mu);
  impl.drop_removed();

  const std::vector<Impl::Entry> entries = impl.entries();
  std::vector<std::atomic<bool>> closed_well(impl.managed.size());
  for (auto& well : closed_well) well.store(true);
  Mutex mu;
  std::optional<Error> first_error;
  const auto note = [&](std::size_t directory, const Error& error) {
    closed_well[directory].store(false);
    MutexLock lock(mu);
    if (!first_error) first_error = error;
  };
  impl.sync_all(entries.size(), [&](std::size_t i) {
    Result<void> closed = entries[i].log->close_cleanly();
    if (closed) return;
    impl.env.logger->error("{} was not closed cleanly: {}", entries[i].log->directory(), closed.error().message());
    note(entries[i].directory, closed.error());
  });

  for (std::size_t i = 0; i < impl.managed.size(); ++i) {
    ManagedDirectory& directory = *impl.managed[i];
    if (directory.offline.load()) continue;
    const auto finish = [&]() -> Result<void> {
      TRY(impl.write_directory_offsets(i, true, true));
      if (closed_well[i].load() && directory.is_loaded()) TRY(write_clean_shutdown(*impl.env.fs, directory.path, {broker_epoch}));
      return {};
    };
    if (Result<void> finished = finish(); !finished) note(i, finished.error());
  }
  for (const Impl::Entry& entry : entries) entry.log->close_abruptly();
  {
    std::unique_lock lock(impl.table_mu);
    impl.table.clear();
  }
  for (const auto& directory : impl.managed) {
    if (!directory->lock) continue;
    if (!directory->offline.load()) impl.env.fs->remove_file(io::join(directory->path, kLockFile)).has_value();
    directory->lock.reset();
  }
  if (first_error) return *first_error;
  return {};
}

void LogManager::abandon() {
  Impl& impl = *impl_;
  if (impl.cleaner) impl.cleaner->stop();
  stop_loading();
  impl.stop_tasks();
  impl.ended.store(true);
  for (const Impl::Entry& entry : impl.entries()) entry.log->close_abruptly();
  {
    std::unique_lock lock(impl.table_mu);
    impl.table.clear();
  }
  for (const auto& directory : impl.managed) directory->lock.reset();
}

}  // namespace cordwood::storage
