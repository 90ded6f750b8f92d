// The part of LogManager that joins the logs and their cleaner.

#include <fmt/format.h>

#include "storage/log_manager_impl.h"

namespace cordwood::storage {

void LogManager::Impl::make_cleaner() {
  std::vector<io::Path> paths;
  for (const auto& directory : managed) paths.push_back(directory->path);
  LogCleaner::Owner owner;
  owner.logs = [this] { return logs_for_cleaner(); };
  owner.is_pending = [this](const TopicPartition& partition) { return pending_log(partition) != nullptr; };
  owner.directory_failed = [this](std::size_t directory, const Error& why) {
    if (!ended.load()) set_offline(directory, why);
  };
  owner.apply_retention = [this](const LogCleaner::ManagedLog& one) { check_retention_of({one.log, one.directory}); };
  cleaner = std::make_unique<LogCleaner>(env, std::move(paths), options.cleaner, std::move(owner));
}

std::vector<LogCleaner::ManagedLog> LogManager::Impl::logs_for_cleaner() const {
  std::vector<LogCleaner::ManagedLog> logs;
  for (Entry& entry : entries()) logs.push_back({std::move(entry.log), entry.directory});
  return logs;
}

void LogManager::start_cleaner(LogCleaner::ExecutorFactory factory) { impl_->cleaner->start(std::move(factory)); }

LogCleaner& LogManager::cleaner() { return *impl_->cleaner; }

// Only a truncation into a closed segment concerns the cleaner.
Result<void> LogManager::Impl::truncate(const TopicPartition& partition,
                                        const std::function<Result<void>(PartitionLog&)>& how,
                                        std::optional<Offset> only_below_active) {
  Entry entry;
  {
    std::shared_lock lock(table_mu);
    const auto it = table.find(partition);
    if (it == table.end()) return Error{Errc::not_found, fmt::format("no log of {}", partition.to_string())};
    entry = it->second;
  }
  const std::vector<SegmentInfo> before = entry.log->segments();
  const bool stops_cleaner = !only_below_active || (!before.empty() && *only_below_active < before.back().base_offset);
  if (stops_cleaner) cleaner->abort_and_pause(partition);
  Result<void> truncated = how(*entry.log);
  if (truncated && stops_cleaner && entry.log->config().cleanup_compact) {
    const std::vector<SegmentInfo> after = entry.log->segments();
    if (!after.empty()) cleaner->truncated(partition, entry.directory, after.back().base_offset);
  }
  if (stops_cleaner) cleaner->resume(partition);
  if (!truncated) return truncated;
  return write_directory_offsets(entry.directory, true, false);
}

Result<void> LogManager::truncate_to(const TopicPartition& partition, Offset offset) {
  return impl_->truncate(partition, [offset](PartitionLog& log) { return log.truncate_to(offset); }, offset);
}

Result<void> LogManager::truncate_fully_and_start_at(const TopicPartition& partition, Offset offset) {
  return impl_->truncate(partition, [offset](PartitionLog& log) { return log.truncate_fully_and_start_at(offset); }, {});
}

}  // namespace cordwood::storage
