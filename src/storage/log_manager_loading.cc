// The part of LogManager that has a crew open all logs, and waits for them or does not.

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "storage/log_manager_impl.h"

namespace cordwood::storage {
namespace {

constexpr DurationNs kProgressLines = to_ns({5'000});
// A recovery that read as much is not to be done twice: the log is flushed, which moves its recovery point.
constexpr ByteCount kWorthFlushing{64 * MiB};
// Below this nobody waited.
constexpr ByteCount kWorthTelling{64 * MiB};
constexpr DurationNs kLongLoad = to_ns({1'000});

// Ends with the crew, or with the one log that was removed meanwhile.
class PendingWatch final : public LoadWatch {
 public:
  PendingWatch(LoadWatch& crew, const std::atomic<bool>& removed) : crew_(crew), removed_(removed) {}
  bool stop_requested() const override { return crew_.stop_requested() || removed_.load(); }
  void checked(ByteCount bytes) override { crew_.checked(bytes); }

 private:
  LoadWatch& crew_;
  const std::atomic<bool>& removed_;
};

}  // namespace

// Kafka's num.recovery.threads.per.data.dir is how many each directory has for itself. Here the threads belong to all
// directories together, and there are never fewer than cores: one large directory must not leave cores idle.
std::size_t LogManager::Impl::load_threads() const {
  const auto asked = static_cast<std::size_t>(std::max(options.recovery_threads_per_dir, 1)) * managed.size();
  return std::max<std::size_t>(asked, std::thread::hardware_concurrency());
}

// Not one a core: these threads wait, and a journal writes what many of them wait for at once. 2,000 new logs of an ext4 were
// closed in 10.4 s by two of them, in 2.2 s by eight and by thirty-two.
void LogManager::Impl::sync_all(std::size_t count, const std::function<void(std::size_t)>& sync) {
  constexpr std::size_t kThreads = 16;
  std::atomic<std::size_t> next{0};
  const auto sync_some = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) sync(i);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(kThreads, count); ++i) threads.emplace_back(sync_some);
  sync_some();
  for (std::thread& thread : threads) thread.join();
}

std::vector<LogManager::Impl::PendingPtr> LogManager::Impl::pending_in(std::size_t directory) const {
  std::vector<PendingPtr> pending;
  if (loading_count.load(std::memory_order_acquire) == 0) return pending;
  MutexLock lock(loading_mu);
  for (const auto& [partition, one] : loading) {
    if (one->directory == directory) pending.push_back(one);
  }
  return pending;
}

LogManager::Impl::PendingPtr LogManager::Impl::pending_log(const TopicPartition& partition) const {
  if (loading_count.load(std::memory_order_acquire) == 0) return nullptr;
  MutexLock lock(loading_mu);
  const auto it = loading.find(partition);
  return it == loading.end() ? nullptr : it->second;
}

bool LogManager::is_loading(const TopicPartition& partition) const {
  const Impl::PendingPtr pending = impl_->pending_log(partition);
  return pending && !pending->failed.load();
}

std::size_t LogManager::logs_loading() const { return impl_->loading_count.load(std::memory_order_acquire); }

void LogManager::Impl::settle(const PendingPtr& pending) {
  if (loading.erase(pending->partition) == 0) return;
  loading_count.fetch_sub(1, std::memory_order_release);
  managed[pending->directory]->not_loaded.fetch_sub(1, std::memory_order_release);
}

Result<std::vector<LogManager::Impl::PendingPtr>> LogManager::Impl::find_logs() {
  std::vector<PendingPtr> found;
  MutexLock lock(loading_mu);
  for (std::size_t i = 0; i < managed.size(); ++i) {
    if (managed[i]->offline.load()) continue;
    const auto find_in = [&]() -> Result<std::vector<PendingPtr>> {
      TRY(prepare_directory(i));
      return list_logs(i);
    };
    Result<std::vector<PendingPtr>> here = find_in();
    if (!here) {
      set_offline(i, here.error());
      continue;
    }
    managed[i]->not_loaded.store(here->size(), std::memory_order_release);
    for (PendingPtr& pending : *here) {
      const auto [it, fresh] = loading.emplace(pending->partition, pending);
      if (fresh) {
        found.push_back(std::move(pending));
      } else {
        TRY(settle_duplicate(it->second, pending, found));
      }
    }
  }
  TRY(settle_moves(found));
  loading_count.store(loading.size(), std::memory_order_release);
  return found;
}

// A topic was deleted and made again while one of the directories was not there.
Result<void> LogManager::Impl::settle_duplicate(const PendingPtr& earlier, const PendingPtr& later,
                                                std::vector<PendingPtr>& found) {
  const auto leaves = [&](const PendingLog& stray) -> Result<void> {
    managed[stray.directory]->not_loaded.fetch_sub(1, std::memory_order_release);
    return set_aside(stray);
  };
  if (TRY(is_stray(*later))) return leaves(*later);
  if (TRY(is_stray(*earlier))) {
    const PendingPtr stray = earlier;  // a reference into `loading`, which changes now
    std::erase(found, stray);
    loading[later->partition] = later;
    found.push_back(later);
    return leaves(*stray);
  }
  // No mark of a clean stop for either: the operator has to say which one counts.
  managed[earlier->directory]->not_loaded.fetch_add(1);
  managed[later->directory]->not_loaded.fetch_add(1);
  return Error{Errc::invalid, fmt::format("{} is found in both {} and {}", later->partition.to_string(),
                                          managed[earlier->directory]->path, managed[later->directory]->path)};
}

void LogManager::Impl::give_up(const PendingPtr& pending, const Error& why) {
  const io::Path path = io::join(managed[pending->directory]->path, pending->name);
  if (why.code == Errc::io || why.code == Errc::no_space) {
    set_offline(pending->directory, why);
  } else if (!managed[pending->directory]->offline.load()) {
    MutexLock lock(loading_mu);
    if (load_returned) env.logger->error("{} cannot be opened and is not served: {}", path, why.message());
    if (!load_failure) load_failure = Error{why.code, fmt::format("{}: {}", path, why.what), why.sys_errno};
  }
  pending->failed.store(true);
}

void LogManager::Impl::load_and_settle(const PendingPtr& pending, LoadWatch& crew_watch) {
  bool drop = false;
  {
    MutexLock lock(loading_mu);
    if (!loading.contains(pending->partition)) return;
    drop = pending->removed.load();
    pending->worked_on = true;
  }
  const auto is_offline = [&] { return managed[pending->directory]->offline.load(); };
  PendingWatch watch(crew_watch, pending->removed);
  if (!drop) {
    const Error offline{Errc::closed, "its log directory is offline"};
    Result<std::shared_ptr<PartitionLog>> loaded =
        is_offline() ? Result<std::shared_ptr<PartitionLog>>(offline) : load_one(*pending, watch);
    const bool stopped = !loaded && loaded.error().code == Errc::closed && crew_watch.stop_requested();
    if (!loaded && !stopped && !pending->removed.load()) give_up(pending, loaded.error());
    MutexLock lock(loading_mu);
    pending->worked_on = false;
    drop = pending->removed.load() && !crew_watch.stop_requested();
    if (stopped && !drop) return;
    if (loaded && !pending->removed.load()) {
      if (*loaded) {
        CHECK(add(*loaded, pending->directory) != nullptr, "{} loaded twice", pending->partition.to_string());
        flush_in_background(*loaded, pending->directory);
      }
      settle(pending);
      // Who took the directory offline may have come before the log was in the table.
      if (*loaded && is_offline()) {
        std::unique_lock table_lock(table_mu);
        if (table.erase(pending->partition) > 0) --managed[pending->directory]->logs;
        (*loaded)->close_abruptly();
      }
    }
  }
  if (drop) {
    MutexLock create_lock(create_mu);
    drop_pending(pending);
  }
  bool late = false;
  {
    MutexLock lock(loading_mu);
    late = load_returned;
  }
  if (late && load_callbacks.loaded_late) load_callbacks.loaded_late(pending->partition);
}

// --- removal of what is not open ---

bool LogManager::Impl::remove_pending(const TopicPartition& partition) {
  PendingPtr pending;
  {
    MutexLock lock(loading_mu);
    const auto it = loading.find(partition);
    if (it == loading.end()) return false;
    pending = it->second;
    pending->removed.store(true);
    // A thread that works on it stops, and takes it away.
    if (pending->worked_on) return true;
  }
  drop_pending(pending);
  return true;
}

void LogManager::Impl::drop_pending(const PendingPtr& pending) {
  ManagedDirectory& directory = *managed[pending->directory];
  if (!directory.offline.load()) {
    stale_checkpoints.insert(pending->partition);
    const io::Path target = io::join(directory.path, deleted_directory_name(pending->partition, Uuid::random(*env.random)));
    Result<void> renamed = env.fs->rename(io::join(directory.path, pending->name), target);
    if (renamed) renamed = env.fs->sync_directory(directory.path);
    if (renamed) {
      // As for one that an earlier life renamed: its topic's settings are gone.
      schedule_removal(target, LogConfig().file_delete_delay_ms);
    } else if (renamed.error().code != Errc::not_found) {
      set_offline(pending->directory, renamed.error());
    }
  }
  cleaner->forget(pending->partition, pending->directory);
  MutexLock lock(loading_mu);
  settle(pending);
}

void LogManager::Impl::drop_removed() {
  std::vector<PendingPtr> removed;
  {
    MutexLock lock(loading_mu);
    for (const auto& [partition, pending] : loading) {
      if (pending->removed.load() && !pending->worked_on) removed.push_back(pending);
    }
  }
  for (const PendingPtr& pending : removed) drop_pending(pending);
}

// --- the whole ---

Result<void> LogManager::load(LoadCallbacks callbacks) {
  Impl& impl = *impl_;
  impl.load_callbacks = std::move(callbacks);
  impl.load_queue = TRY(impl.find_logs());
  LoadCrew::Work work;
  work.survey = [&impl](std::size_t i) { return impl.survey(*impl.load_queue[i]); };
  work.load = [&impl](std::size_t i, LoadWatch& watch) { impl.load_and_settle(impl.load_queue[i], watch); };
  impl.crew = std::make_unique<LoadCrew>(impl.load_threads(), impl.load_queue.size(), std::move(work), *impl.env.clock);
  TRY(impl.wait_for_logs());
  if (!impl.any_online()) return *directories().front().offline;
  return {};
}

Result<void> LogManager::Impl::wait_for_logs() {
  const MonotonicNs began = env.clock->monotonic();
  MonotonicNs last_said = began;
  const auto failure = [&] {
    MutexLock lock(loading_mu);
    return load_failure;
  };
  for (bool through = false; !through;) {
    through = crew->wait_a_moment();
    if (failure()) {
      crew->stop();
      return *failure();
    }
    if (through) break;
    if (load_callbacks.progress) load_callbacks.progress(crew->progress());
    say_progress(last_said);
    if (load_callbacks.stop_requested && load_callbacks.stop_requested()) return interrupt_load();
    const bool patient = !load_callbacks.grace || env.clock->monotonic() - began < to_ns(*load_callbacks.grace);
    if (patient || !crew->quick_ones_are_done()) continue;
    {
      MutexLock lock(loading_mu);
      load_returned = true;
    }
    MutexLock lock(follower_mu);
    load_follower = std::thread([this, last_said]() mutable {
      while (!crew->wait_a_moment()) say_progress(last_said);
      if (!crew->is_stopping()) say_loaded();
      forget_what_was_found();
    });
    return {};
  }
  if (load_callbacks.progress) load_callbacks.progress(crew->progress());
  say_loaded();
  forget_what_was_found();
  return {};
}

// Once the crew is through: a map of ten thousand lines is memory that nobody needs any more.
void LogManager::Impl::forget_what_was_found() {
  load_queue = {};
  if (loading_count.load(std::memory_order_acquire) != 0) return;
  for (const auto& directory : managed) {
    MutexLock lock(directory->checkpoint_mu);
    directory->found = {};
  }
}

void LogManager::Impl::say_progress(MonotonicNs& last_said) {
  const MonotonicNs now = env.clock->monotonic();
  if (now - last_said < kProgressLines) return;
  last_said = now;
  env.logger->info("loading logs: {}", crew->progress().to_string());
}

void LogManager::Impl::say_loaded() {
  const LoadProgress progress = crew->progress();
  if (progress.bytes_total < kWorthTelling && progress.elapsed < kLongLoad) return;
  env.logger->info("logs loaded in {:.1f} s: {}", static_cast<double>(progress.elapsed.value) / 1e9, progress.to_string());
}

Error LogManager::Impl::interrupt_load() {
  crew->stop();
  flush_recovered();
  // A failure costs the next start the same recovery again, and was logged.
  write_offsets(true, true).has_value();
  const std::string reached = crew->progress().to_string();
  env.logger->info("loading stopped at {}; what was recovered is not checked again", reached);
  return Error{Errc::closed, fmt::format("stopped while the logs were loading ({})", reached)};
}

// Makes what recovery found durable, so that recovery points may lie behind it.
void LogManager::Impl::flush_recovered() {
  std::vector<Entry> recovered = entries();
  std::erase_if(recovered, [](const Entry& entry) { return entry.log->recovery().segments_recovered == 0; });
  // A failure takes the directory offline.
  sync_all(recovered.size(), [&](std::size_t i) { recovered[i].log->flush().has_value(); });
}

// Does nothing before there is an executor: start_background() then calls for all.
void LogManager::Impl::flush_in_background(const std::shared_ptr<PartitionLog>& log, std::size_t directory) {
  if (log->recovery().segments_recovered == 0 || log->size() < kWorthFlushing) return;
  run_later(DurationMs{0}, [this, weak = std::weak_ptr(log), directory] {
    const std::shared_ptr<PartitionLog> alive = weak.lock();
    if (!alive || !alive->flush()) return;
    Result<void> written = write_directory_offsets(directory, true, false);
    if (!written) set_offline(directory, written.error());
  });
}

void LogManager::finish_loading() {
  MutexLock lock(impl_->follower_mu);
  if (impl_->load_follower.joinable()) impl_->load_follower.join();
}

void LogManager::stop_loading() {
  if (impl_->crew) impl_->crew->stop();
  finish_loading();
}

}  // namespace cordwood::storage
