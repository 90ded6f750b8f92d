// storage/log_manager_impl.h — the insides of LogManager, shared by its parts: directories and the table of logs
// (log_manager.cc), loading (log_manager_load.cc), checkpoints, background work and the end (log_manager_background.cc).
// Nobody else includes it.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "storage/checkpoint_file.h"
#include "storage/log_manager.h"

namespace cordwood::storage {

// What load() needs of a checkpoint, and what was last written of it: a file is rewritten only when it would change.
struct CheckpointContents {
  OffsetsByPartition recovery_points;
  OffsetsByPartition log_starts;
  OffsetsByPartition high_watermarks;
};

// A directory of log.dirs.
struct ManagedDirectory {
  io::Path path;
  std::unique_ptr<io::FileLock> lock;
  bool loaded = false;             // every log in it was opened
  std::atomic<bool> offline{false};
  std::atomic<bool> short_of_space{false};
  Mutex checkpoint_mu;             // one writer of its checkpoint files
  std::map<std::string, OffsetsByPartition> written GUARDED_BY(checkpoint_mu);
};

struct LogManager::Impl {
  struct Entry {
    std::shared_ptr<PartitionLog> log;
    std::size_t directory = 0;
  };
  // Shared with the functions given to the executor, which may outlive the manager.
  struct Tasks {
    Mutex mu;  // held while one of them runs
    bool stopped GUARDED_BY(mu) = false;
  };

  Impl(LogEnvironment log_environment, LogManagerOptions manager_options)
      : env(log_environment), options(std::move(manager_options)) {}

  // --- log_manager.cc ---
  Result<void> take_directories();
  Result<void> check_identities(const std::vector<LogDirectory>& found) const;
  void change_directories(const std::function<void(std::vector<LogDirectory>&)>& change);
  std::optional<std::size_t> directory_index(const io::Path& path) const;
  std::shared_ptr<PartitionLog> add(std::shared_ptr<PartitionLog> log, std::size_t directory);
  std::vector<Entry> entries() const;
  std::vector<std::size_t> directories_for_new_log(std::optional<Uuid> wanted) const;
  void set_offline(std::size_t directory, const Error& why);
  bool any_online() const;
  bool is_short_of_space(const io::Path& directory) const;
  bool has_vanished(std::size_t directory);

  // --- log_manager_load.cc ---
  struct LoadJob {
    std::string name;
    TopicPartition partition;
  };
  Result<CheckpointContents> prepare_directory(std::size_t directory, bool& clean);
  Result<std::vector<LoadJob>> list_jobs(std::size_t directory);
  Result<void> load_one(std::size_t directory, const LoadJob& job, const CheckpointContents& checkpoints, bool clean,
                        const LoadCallbacks& callbacks);

  // What becomes of the copies of unfinished moves, once all logs are known.
  Result<void> settle_moves(const std::map<TopicPartition, io::Path>& logs_found,
                            const std::function<void(std::size_t directory, LoadJob job)>& load_too);

  // --- log_manager_moves.cc ---
  bool is_moving_to(const TopicPartition& partition, std::size_t directory) const;

  // --- log_manager_cleaning.cc ---
  void make_cleaner();
  std::vector<LogCleaner::ManagedLog> logs_for_cleaner() const;
  Result<void> truncate(const TopicPartition& partition, const std::function<Result<void>(PartitionLog&)>& how,
                        std::optional<Offset> only_below_active);

  // --- log_manager_background.cc ---
  void watch(const std::shared_ptr<PartitionLog>& log);
  void remove_retired_later(const std::shared_ptr<PartitionLog>& log);
  void repeat(DurationMs first, DurationMs every, std::function<void()> work);
  void run_later(DurationMs delay, std::function<void()> work);
  void schedule_removal(const io::Path& deleted_directory, DurationMs delay);
  void flush_overdue();
  void check_retention_of(const Entry& entry);
  Result<void> write_offsets(bool recovery_points, bool high_watermarks);
  Result<void> write_directory_offsets(std::size_t directory, bool recovery_points, bool high_watermarks);
  void stop_tasks();

  LogEnvironment env;
  LogManagerOptions options;
  std::vector<std::unique_ptr<ManagedDirectory>> managed;
  std::vector<std::string> foreign;

  // Versions of what directories() shows; the last one counts, earlier ones stay for whoever still holds a reference.
  mutable Mutex directories_mu;
  std::deque<std::vector<LogDirectory>> directories GUARDED_BY(directories_mu);

  mutable std::shared_mutex table_mu;
  std::unordered_map<TopicPartition, Entry> table;  // guarded by table_mu

  Mutex create_mu;  // one creation or removal at a time, before table_mu
  // Removed since the checkpoint files were written: their old lines must be gone before the name is used again.
  std::set<TopicPartition> stale_checkpoints GUARDED_BY(create_mu);

  Mutex executor_mu;
  Executor* executor GUARDED_BY(executor_mu) = nullptr;
  std::vector<std::pair<io::Path, DurationMs>> pending_removals GUARDED_BY(executor_mu);
  std::shared_ptr<Tasks> tasks = std::make_shared<Tasks>();
  std::unique_ptr<LogCleaner> cleaner;  // made once the directories are known
  std::atomic<bool> ended{false};
  // The one log that is just about to change its directory, and where to: the checkpoints there must know it before.
  mutable Mutex moving_mu;
  std::optional<std::pair<TopicPartition, std::size_t>> moving GUARDED_BY(moving_mu);
  std::vector<UnfinishedMove> unfinished_moves;  // filled by load()
  Mutex failure_mu;
  std::function<void(std::size_t)> failure_callback GUARDED_BY(failure_mu);
};

}  // namespace cordwood::storage
