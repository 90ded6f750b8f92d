// storage/log_manager_impl.h — the insides of LogManager, shared by its parts: directories and the table of logs
// (log_manager.cc), loading (log_manager_load.cc, log_manager_loading.cc), checkpoints, background work and the end
// (log_manager_background.cc).
// Nobody else includes it.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "storage/checkpoint_file.h"
#include "storage/log_manager.h"
#include "storage/open_files.h"

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
  bool prepared = false;           // load() has read its checkpoints
  bool clean = false;              // how it was left
  CheckpointContents found;        // as load() found them; constant while logs are loading
  std::atomic<std::size_t> not_loaded{1};  // logs still to be opened, and one until they are counted
  std::atomic<bool> offline{false};
  std::atomic<bool> short_of_space{false};
  std::size_t logs = 0;            // in the table; guarded by table_mu
  bool is_loaded() const { return not_loaded.load(std::memory_order_acquire) == 0; }
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
      : env(std::move(log_environment)), options(std::move(manager_options)) {
    env.open_files = std::make_shared<OpenFiles>(options.max_open_segments);
  }

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
  void complain_of_descriptors(const Error& why);

  // A log that load() has found and not opened yet.
  struct PendingLog {
    std::size_t directory = 0;
    std::string name;
    TopicPartition partition;
    std::atomic<bool> removed{false};  // by remove(): it goes as soon as nobody works on it. Set under loading_mu
    std::atomic<bool> failed{false};   // will not be opened; what the checkpoints say of it stays
    bool worked_on = false;            // by a thread of the crew; under loading_mu
  };
  using PendingPtr = std::shared_ptr<PendingLog>;

  // --- log_manager_load.cc: one log ---
  Result<void> prepare_directory(std::size_t directory);
  Result<std::vector<PendingPtr>> list_logs(std::size_t directory);
  LoadCrew::Survey survey(const PendingLog& pending) const;
  // Whether the cluster does not know this directory's partition under its topic id.
  Result<bool> is_stray(const PendingLog& pending) const;
  // Gives it another name, under which it is kept.
  Result<void> set_aside(const PendingLog& pending);
  // The log, or null for a stray, which has another name then.
  Result<std::shared_ptr<PartitionLog>> load_one(const PendingLog& pending, LoadWatch& watch);

  // --- log_manager_loading.cc: all of them ---
  std::size_t load_threads() const;
  // Calls `sync` with each number below `count`, on several threads, and returns when all is done.
  static void sync_all(std::size_t count, const std::function<void(std::size_t)>& sync);
  Result<std::vector<PendingPtr>> find_logs();
  Result<void> settle_moves(std::vector<PendingPtr>& found) REQUIRES(loading_mu);
  // Two directories with the name of one partition: strays make way. Errors: invalid when both are ours.
  Result<void> settle_duplicate(const PendingPtr& earlier, const PendingPtr& later, std::vector<PendingPtr>& found)
      REQUIRES(loading_mu);
  void load_and_settle(const PendingPtr& pending, LoadWatch& watch);
  // Takes it out of `loading`: its log is in the table, or it has left the disk.
  void settle(const PendingPtr& pending) REQUIRES(loading_mu);
  void give_up(const PendingPtr& pending, const Error& why);
  Result<void> wait_for_logs();
  Error interrupt_load();
  void say_progress(MonotonicNs& last_said);
  void say_loaded();
  void forget_what_was_found();
  void flush_recovered();
  void flush_in_background(const std::shared_ptr<PartitionLog>& log, std::size_t directory);
  // Whether it is one that is not loaded; then it goes, now or as soon as nobody works on it.
  bool remove_pending(const TopicPartition& partition) REQUIRES(create_mu) EXCLUDES(loading_mu);
  void drop_pending(const PendingPtr& pending) REQUIRES(create_mu) EXCLUDES(loading_mu);
  void drop_removed() REQUIRES(create_mu) EXCLUDES(loading_mu);
  std::vector<PendingPtr> pending_in(std::size_t directory) const;
  PendingPtr pending_log(const TopicPartition& partition) const;

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

  // The logs that are not in the table yet. One leaves when it is, so that it is in one of them at any time.
  mutable Mutex loading_mu;
  std::map<TopicPartition, PendingPtr> loading GUARDED_BY(loading_mu);
  bool load_returned GUARDED_BY(loading_mu) = false;
  std::optional<Error> load_failure GUARDED_BY(loading_mu);
  std::atomic<std::size_t> loading_count{0};
  LoadCallbacks load_callbacks;
  std::vector<PendingPtr> load_queue;  // the crew's, while it works
  std::unique_ptr<LoadCrew> crew;
  std::thread load_follower;  // tells of the progress once load() has returned
  Mutex follower_mu;          // held over its join

  Mutex create_mu;  // one creation or removal at a time, before table_mu
  // Removed since the checkpoint files were written: their old lines must be gone before the name is used again.
  std::set<TopicPartition> stale_checkpoints GUARDED_BY(create_mu);

  Mutex executor_mu;
  Executor* executor GUARDED_BY(executor_mu) = nullptr;
  std::vector<std::pair<io::Path, DurationMs>> pending_removals GUARDED_BY(executor_mu);
  std::shared_ptr<Tasks> tasks = std::make_shared<Tasks>();
  std::unique_ptr<LogCleaner> cleaner;  // made once the directories are known
  std::atomic<MonotonicNs> complained_of_descriptors{MonotonicNs{INT64_MIN / 2}};
  std::atomic<bool> ended{false};
  // The one log that is just about to change its directory, and where to: the checkpoints there must know it before.
  mutable Mutex moving_mu;
  std::optional<std::pair<TopicPartition, std::size_t>> moving GUARDED_BY(moving_mu);
  std::vector<UnfinishedMove> unfinished_moves;  // filled by load()
  Mutex failure_mu;
  std::function<void(std::size_t)> failure_callback GUARDED_BY(failure_mu);
};

}  // namespace cordwood::storage
