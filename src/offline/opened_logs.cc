#include "offline/opened_logs.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/configs/cleaner_options.h"
#include "broker/directory_claim.h"

namespace cordwood::offline {

Result<std::unique_ptr<OpenedLogs>> OpenedLogs::open(io::FileSystem& fs, cli::Session& session, const DataDirectory& data,
                                                     Wish wish) {
  std::unique_ptr<OpenedLogs> opened(new OpenedLogs(session, data));
  opened->environment_ = {.fs = &fs, .clock = &opened->clock_, .random = &session.random, .logger = &opened->logger_};
  storage::LogManagerOptions options;
  for (const LogDirOnDisk& log_dir : data.log_dirs) {
    if (!log_dir.is_whole) return Error{Errc::invalid, fmt::format("a whole log directory is needed: {}", log_dir.path)};
    options.log_dirs.push_back(log_dir.path);
  }
  options.producer.expiration_ms = data.config.producer_id_expiration_ms;
  options.recovery_threads_per_dir = data.config.num_recovery_threads_per_data_dir;
  options.cleaner = broker::configs::make_cleaner_options(data.config, *data.image);
  options.min_free = ByteCount{0};
  // Without it, LogManager would write the directory's first files: a mistyped path would look like a new one.
  for (const LogDirOnDisk& log_dir : data.log_dirs) {
    if (!log_dir.meta) return Error{Errc::invalid, fmt::format("{} is no formatted log directory: it has no meta.properties", log_dir.path)};
  }
  opened->manager_ = TRY(storage::LogManager::open(opened->environment_, std::move(options)));
  if (wish.before_load) TRY(wish.before_load(*opened->manager_, opened->environment_));
  storage::LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [&data](const std::string& topic) {
    storage::LogConfig config = data.config_of(topic);
    // Nobody reads these files any more.
    config.file_delete_delay_ms = DurationMs{0};
    return config;
  };
  const bool judges = wish.judge_strays && data.has_metadata;
  callbacks.claim = [&data, judges](const TopicPartition& partition, std::optional<Uuid> topic_id, Uuid) {
    if (!judges) return storage::DirectoryClaim::ours;
    return broker::claim_of(*data.image, data.config.node_id, partition, topic_id);
  };
  callbacks.stop_requested = [&session] { return session.interrupted.load(); };
  TRY(opened->manager_->load(std::move(callbacks)));
  return opened;
}

OpenedLogs::~OpenedLogs() {
  if (manager_) manager_->abandon();
}

Result<std::shared_ptr<storage::PartitionLog>> OpenedLogs::find(const TopicPartition& partition) {
  auto log = manager_->find(partition);
  if (log == nullptr) return Error{Errc::not_found, fmt::format("{} could not be opened", partition.to_string())};
  const broker::metadata::PartitionState* state = data_.image->partition(partition);
  if (state != nullptr && state->replicas.size() == 1) log->set_high_watermark(log->log_end_offset());
  return log;
}

std::vector<std::string> OpenedLogs::complaints() const {
  std::vector<std::string> complaints;
  for (const std::string& line : logger_.lines()) {
    const bool matters = line.starts_with("WARN") || line.starts_with("ERROR");
    if (matters && std::ranges::find(complaints, line) == complaints.end()) complaints.push_back(line);
  }
  return complaints;
}

Result<void> OpenedLogs::close() {
  std::int64_t epoch = -1;
  for (const storage::LogDirectory& directory : manager_->directories()) {
    if (directory.clean_shutdown) epoch = std::max(epoch, directory.clean_shutdown->broker_epoch);
  }
  const Result<void> closed = manager_->shut_down(epoch);
  manager_.reset();
  return closed;
}

}  // namespace cordwood::offline
