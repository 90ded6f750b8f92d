#include "storage/log_manager.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/log_manager_impl.h"

namespace cordwood::storage {
namespace {

// Directories that are no partitions of ours and no surprise either.
constexpr std::string_view kMetadataLog = "__cluster_metadata-0";
constexpr std::string_view kRemoteIndexCache = "remote-log-index-cache";

bool is_directory(const io::DirectoryEntry& entry) {
  return entry.kind == io::DirectoryEntry::Kind::directory ||
         entry.kind == io::DirectoryEntry::Kind::symlink_to_directory;
}

// Trouble with one directory takes that one offline; anything else is the operator's to mend.
bool is_disk_trouble(const Error& error) {
  return error.code == Errc::io || error.code == Errc::no_space || error.code == Errc::not_found;
}

}  // namespace

LogManager::LogManager(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LogManager::~LogManager() {
  if (impl_) abandon();
}

// --- directories ---

Result<std::unique_ptr<LogManager>> LogManager::open(LogEnvironment environment, LogManagerOptions options) {
  auto impl = std::make_unique<Impl>(environment, std::move(options));
  TRY(impl->take_directories());
  impl->make_cleaner();
  return std::unique_ptr<LogManager>(new LogManager(std::move(impl)));
}

Result<void> LogManager::Impl::take_directories() {
  std::vector<LogDirectory> found;
  std::map<io::Path, io::Path> by_canonical;
  for (const io::Path& path : options.log_dirs) {
    auto directory = std::make_unique<ManagedDirectory>();
    directory->path = path;
    LogDirectory info;
    info.path = path;
    const auto take = [&]() -> Result<void> {
      TRY(env.fs->create_directories(path));
      const io::Path canonical = TRY(env.fs->canonical(path));
      if (const auto [it, fresh] = by_canonical.emplace(canonical, path); !fresh) {
        return Error{Errc::invalid, fmt::format("log.dirs names the same directory twice: {} and {}", it->second, path)};
      }
      Result<std::unique_ptr<io::FileLock>> lock = env.fs->lock(io::join(path, kLockFile));
      if (!lock && lock.error().code == Errc::locked) {
        return Error{Errc::locked,
                     fmt::format("log directory {} is in use by another process (its .lock is held)", path)};
      }
      if (!lock) return lock.error();
      directory->lock = std::move(*lock);
      info.meta = TRY(read_meta_properties(*env.fs, path));
      info.id = info.meta && info.meta->directory_id ? *info.meta->directory_id : kZeroUuid;
      info.clean_shutdown = TRY(read_clean_shutdown(*env.fs, path));
      for (const io::DirectoryEntry& entry : TRY(env.fs->list(path))) {
        if (!is_directory(entry) || entry.name == kMetadataLog || entry.name == kRemoteIndexCache) continue;
        if (parse_partition_directory(entry.name)) continue;
        foreign.push_back(io::join(path, entry.name));
        env.logger->warn("{} is no directory of a partition and is left alone", foreign.back());
      }
      return {};
    };
    if (Result<void> taken = take(); !taken) {
      // What exists there already is no directory.
      if (!is_disk_trouble(taken.error()) && taken.error().code != Errc::exists) return taken.error();
      env.logger->error("log directory {} is not served: {}", path, taken.error().message());
      info.offline = taken.error();
      directory->offline.store(true);
    }
    managed.push_back(std::move(directory));
    found.push_back(std::move(info));
  }
  TRY(check_identities(found));
  if (!any_online()) {
    return found.empty() ? Error{Errc::invalid, "log.dirs names no directory"} : *found.front().offline;
  }
  MutexLock lock(directories_mu);
  directories.push_back(std::move(found));
  return {};
}

Result<void> LogManager::Impl::check_identities(const std::vector<LogDirectory>& found) const {
  const LogDirectory* first = nullptr;
  std::map<Uuid, io::Path> by_id;
  for (const LogDirectory& directory : found) {
    if (!directory.meta) continue;
    if (!directory.id.is_zero()) {
      if (const auto [it, fresh] = by_id.emplace(directory.id, directory.path); !fresh) {
        return Error{Errc::invalid, fmt::format("{} and {} have the same directory.id {}", it->second, directory.path,
                                                directory.id.to_string())};
      }
    }
    if (first == nullptr) {
      first = &directory;
      continue;
    }
    if (first->meta->cluster_id != directory.meta->cluster_id) {
      return Error{Errc::invalid,
                   fmt::format("{} belongs to cluster {} and {} to cluster {}", first->path, first->meta->cluster_id,
                               directory.path, directory.meta->cluster_id)};
    }
    if (first->meta->node_id != directory.meta->node_id) {
      return Error{Errc::invalid, fmt::format("{} belongs to node {} and {} to node {}", first->path,
                                              first->meta->node_id, directory.path, directory.meta->node_id)};
    }
  }
  return {};
}

const std::vector<LogDirectory>& LogManager::directories() const {
  MutexLock lock(impl_->directories_mu);
  return impl_->directories.back();
}

std::vector<std::string> LogManager::foreign_entries() const { return impl_->foreign; }

void LogManager::Impl::change_directories(const std::function<void(std::vector<LogDirectory>&)>& change) {
  MutexLock lock(directories_mu);
  directories.push_back(directories.back());
  change(directories.back());
}

Result<void> LogManager::format(const std::string& cluster_id, NodeId node_id) {
  for (std::size_t i = 0; i < impl_->managed.size(); ++i) {
    const LogDirectory directory = directories()[i];
    if (directory.meta || directory.offline) continue;
    const MetaProperties meta{cluster_id, node_id, Uuid::random(*impl_->env.random)};
    TRY(write_meta_properties(*impl_->env.fs, directory.path, meta, impl_->env.clock->now()));
    impl_->change_directories([&](std::vector<LogDirectory>& all) {
      all[i].meta = meta;
      all[i].id = *meta.directory_id;
    });
  }
  return impl_->check_identities(directories());
}

std::optional<std::size_t> LogManager::Impl::directory_index(const io::Path& path) const {
  for (std::size_t i = 0; i < managed.size(); ++i) {
    if (managed[i]->path == path || managed[i]->path == io::parent_of(path)) return i;
  }
  return std::nullopt;
}

bool LogManager::Impl::any_online() const {
  return std::ranges::any_of(managed, [](const auto& directory) { return !directory->offline.load(); });
}

// No fault of the disk: what failed is tried again when it is asked for again, and by then something may be closed.
void LogManager::Impl::complain_of_descriptors(const Error& why) {
  constexpr DurationNs kInterval = to_ns({10'000});
  const MonotonicNs now = env.clock->monotonic();
  MonotonicNs last = complained_of_descriptors.load();
  if (now - last < kInterval || !complained_of_descriptors.compare_exchange_strong(last, now)) return;
  env.logger->error("{}; this process has no descriptor or mapping left (ulimit -n, vm.max_map_count), {} segments are open",
                    why.message(), env.open_files->count());
}

void LogManager::Impl::set_offline(std::size_t directory, const Error& why) {
  if (is_out_of_descriptors(why)) return complain_of_descriptors(why);
  if (managed[directory]->offline.exchange(true)) return;
  env.logger->error("log directory {} goes offline: {}", managed[directory]->path, why.message());
  change_directories([&](std::vector<LogDirectory>& all) { all[directory].offline = why; });
  std::vector<std::shared_ptr<PartitionLog>> dropped;
  {
    std::unique_lock lock(table_mu);
    std::erase_if(table, [&](const auto& item) {
      if (item.second.directory != directory) return false;
      dropped.push_back(item.second.log);
      return true;
    });
    managed[directory]->logs = 0;
  }
  for (const auto& log : dropped) log->close_abruptly();
  if (cleaner) cleaner->forget_directory(directory);
  std::function<void(std::size_t)> tell;
  {
    MutexLock lock(failure_mu);
    tell = failure_callback;
  }
  if (tell) tell(directory);
}

void LogManager::on_directory_failure(std::function<void(std::size_t directory)> callback) {
  MutexLock lock(impl_->failure_mu);
  impl_->failure_callback = std::move(callback);
}

void LogManager::mark_offline(const io::Path& directory, const Error& why) {
  if (const std::optional<std::size_t> index = impl_->directory_index(directory)) impl_->set_offline(*index, why);
}

// --- the table of logs ---

std::size_t LogManager::open_segments() const { return impl_->env.open_files->count(); }

std::shared_ptr<PartitionLog> LogManager::find(const TopicPartition& partition) const {
  std::shared_lock lock(impl_->table_mu);
  const auto it = impl_->table.find(partition);
  return it == impl_->table.end() ? nullptr : it->second.log;
}

std::vector<LogManager::Impl::Entry> LogManager::Impl::entries() const {
  std::shared_lock lock(table_mu);
  std::vector<Entry> all;
  all.reserve(table.size());
  for (const auto& [partition, entry] : table) all.push_back(entry);
  return all;
}

std::vector<std::shared_ptr<PartitionLog>> LogManager::all() const {
  std::vector<std::shared_ptr<PartitionLog>> logs;
  for (Impl::Entry& entry : impl_->entries()) logs.push_back(std::move(entry.log));
  std::ranges::sort(logs, {}, [](const auto& log) { return log->partition(); });
  return logs;
}

std::optional<Uuid> LogManager::directory_of(const TopicPartition& partition) const {
  std::shared_lock lock(impl_->table_mu);
  const auto it = impl_->table.find(partition);
  if (it == impl_->table.end()) return std::nullopt;
  return directories()[it->second.directory].id;
}

// Null when another log has the name already.
std::shared_ptr<PartitionLog> LogManager::Impl::add(std::shared_ptr<PartitionLog> log, std::size_t directory) {
  {
    std::unique_lock lock(table_mu);
    if (!table.emplace(log->partition(), Entry{log, directory}).second) return nullptr;
    ++managed[directory]->logs;
  }
  watch(log);
  return log;
}

std::vector<std::size_t> LogManager::Impl::directories_for_new_log(std::optional<Uuid> wanted) const {
  std::vector<std::size_t> logs_in(managed.size());
  for (std::size_t i = 0; i < managed.size(); ++i) logs_in[i] = pending_in(i).size();
  {
    std::shared_lock lock(table_mu);
    for (std::size_t i = 0; i < managed.size(); ++i) logs_in[i] += managed[i]->logs;
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < managed.size(); ++i) {
    if (!managed[i]->offline.load()) order.push_back(i);
  }
  std::vector<Uuid> ids;
  {
    MutexLock lock(directories_mu);
    for (const LogDirectory& directory : directories.back()) ids.push_back(directory.id);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::pair(wanted && !wanted->is_zero() && ids[i] == *wanted ? 0 : 1, logs_in[i]);
  });
  return order;
}

Result<std::shared_ptr<PartitionLog>> LogManager::get_or_create(const TopicPartition& partition, Uuid topic_id,
                                                                const LogConfig& config,
                                                                std::optional<Uuid> directory_id) {
  if (std::shared_ptr<PartitionLog> log = find(partition)) {
    TRY(log->set_topic_id(topic_id));
    return log;
  }
  MutexLock create_lock(impl_->create_mu);
  if (std::shared_ptr<PartitionLog> log = find(partition)) {
    TRY(log->set_topic_id(topic_id));
    return log;
  }
  if (impl_->ended.load()) return Error{Errc::closed, "the log manager has shut down"};
  // A new, empty log in its place would lose what lies there.
  if (const Impl::PendingPtr pending = impl_->pending_log(partition)) {
    return Error{Errc::closed, fmt::format("the log of {} {}", partition.to_string(),
                                           pending->failed.load() ? "could not be opened" : "is still loading")};
  }
  if (impl_->stale_checkpoints.contains(partition)) {
    TRY(impl_->write_offsets(true, true));
    impl_->stale_checkpoints.clear();
  }
  Error last_error{Errc::closed, "every log directory is offline"};
  for (std::size_t index : impl_->directories_for_new_log(directory_id)) {
    if (impl_->has_vanished(index)) continue;  // it must not come back empty
    OpenOptions options;
    options.config = config;
    options.producer = impl_->options.producer;
    options.last_stop = StopKind::clean;
    const io::Path path = io::join(impl_->managed[index]->path, partition.to_string());
    Result<std::shared_ptr<PartitionLog>> log = PartitionLog::open(impl_->env, path, partition, options);
    if (log) {
      Result<void> named = (*log)->set_topic_id(topic_id);
      if (named) {
        if (std::shared_ptr<PartitionLog> added = impl_->add(*log, index)) return added;
        return Error{Errc::exists, fmt::format("{} was created twice", partition.to_string())};
      }
      log = named.error();
    }
    last_error = log.error();
    if (!is_disk_trouble(last_error)) return last_error;
    if (last_error.code != Errc::no_space) impl_->set_offline(index, last_error);
  }
  return last_error;
}

Result<void> LogManager::remove(const TopicPartition& partition) {
  MutexLock create_lock(impl_->create_mu);
  if (impl_->remove_pending(partition)) return {};
  Impl::Entry entry;
  {
    std::unique_lock lock(impl_->table_mu);
    const auto it = impl_->table.find(partition);
    if (it == impl_->table.end()) return {};
    entry = it->second;
    impl_->table.erase(it);
    --impl_->managed[entry.directory]->logs;
  }
  impl_->stale_checkpoints.insert(partition);
  // A run on it ends first: its files must not come back under a directory that was renamed.
  impl_->cleaner->abort_and_pause(partition);
  const io::Path target = io::join(impl_->managed[entry.directory]->path,
                                   deleted_directory_name(partition, Uuid::random(*impl_->env.random)));
  Result<void> renamed = entry.log->rename_directory(target);
  const DurationMs delay = entry.log->config().file_delete_delay_ms;
  entry.log->close_abruptly();
  impl_->cleaner->resume(partition);
  if (!renamed) {
    impl_->set_offline(entry.directory, renamed.error());
    return renamed;
  }
  impl_->schedule_removal(target, delay);
  impl_->cleaner->forget(partition, entry.directory);
  return {};
}

}  // namespace cordwood::storage
