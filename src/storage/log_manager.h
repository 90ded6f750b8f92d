// storage/log_manager.h — all logs of all log.dirs: locks, identity, loading, checkpoints, deletion.
//
// Threads: safe for all. Logs are opened and closed by as many threads as there are cores, of all directories together;
// periodic work runs on the executor given.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "storage/cleaner/log_cleaner.h"
#include "storage/directory_files.h"
#include "storage/load_crew.h"
#include "storage/partition_log.h"

namespace cordwood::storage {

struct LogManagerOptions {
  std::vector<io::Path> log_dirs;
  int recovery_threads_per_dir = 2;                        // num.recovery.threads.per.data.dir; see load_threads()
  DurationMs recovery_point_checkpoint_interval{60'000};   // log.flush.offset.checkpoint.interval.ms
  DurationMs log_start_checkpoint_interval{60'000};        // log.flush.start.offset.checkpoint.interval.ms
  DurationMs high_watermark_checkpoint_interval{5'000};    // replica.high.watermark.checkpoint.interval.ms
  DurationMs producer_expiration_check_interval{600'000};  // producer.id.expiration.check.interval.ms
  DurationMs flush_scheduler_interval{INT64_MAX};          // log.flush.scheduler.interval.ms
  DurationMs retention_check_interval{300'000};            // log.retention.check.interval.ms
  DurationMs initial_task_delay{30'000};                   // log.initial.task.delay.ms
  ProducerStateConfig producer;
  CleanerOptions cleaner;                                  // log.cleaner.*
  // cordwood.min.free.bytes: below it, and below a twentieth of the disk, leaders take no records. 0: never.
  ByteCount min_free{64 * MiB};
  std::size_t max_open_segments = 4096;                    // see storage/open_files.h
};

struct LogDirectory {
  io::Path path;                    // as configured
  std::optional<MetaProperties> meta;  // absent: not formatted
  Uuid id;                          // zero until formatted
  std::optional<CleanShutdown> clean_shutdown;  // how it was left
  std::optional<Error> offline;     // why it is not served
};

// What the metadata says of a partition directory that was found on disk.
enum class DirectoryClaim { ours, stray };

class LogManager {
 public:
  // Takes the .lock of every directory and reads identities; opens no log. Directories are made when absent.
  // Errors: locked ("... is in use by another process"), invalid (same directory twice, different clusters), io.
  static Result<std::unique_ptr<LogManager>> open(LogEnvironment environment, LogManagerOptions options);
  ~LogManager();

  const std::vector<LogDirectory>& directories() const;
  // Writes meta.properties into every directory that has none, with a fresh directory id each.
  Result<void> format(const std::string& cluster_id, NodeId node_id);
  // Foreign entries of the log directories (lost+found, dot folders): skipped, one warning each.
  std::vector<std::string> foreign_entries() const;

  // How every partition directory is loaded. Kept until the last one is; all but the first may be empty.
  struct LoadCallbacks {
    // A topic's settings.
    std::function<LogConfig(const std::string& topic)> config_of;
    // Whether the cluster knows this directory's partition under this topic id. Strays are renamed and kept.
    std::function<DirectoryClaim(const TopicPartition&, std::optional<Uuid> topic_id, Uuid directory_id)> claim;
    // Now and then while load() waits, and at its end.
    std::function<void(const LoadProgress&)> progress;
    // How long load() waits for recoveries. Logs that need none are waited for in any case.
    std::optional<DurationMs> grace;
    // Of every log that was not open when load() returned: it is now, or never will be (its directory failed, it was
    // removed meanwhile). On a thread of the crew.
    std::function<void(const TopicPartition&)> loaded_late;
    // Asked while load() waits; true makes it stop the recoveries, save what they achieved, and answer Errc::closed.
    std::function<bool()> stop_requested;
  };
  // Opens the logs of all directories; deletes .kafka_cleanshutdown first. Returns when all are open or, with `grace`
  // over, when those are that need no recovery: the others follow, each as soon as it is ready.
  Result<void> load(LoadCallbacks callbacks);
  // Still to be opened by load(): find() knows it not yet, get_or_create() refuses it, remove() takes it from the disk.
  bool is_loading(const TopicPartition& partition) const;
  std::size_t logs_loading() const;
  // Waits until nothing loads any more, or stops what does. Idempotent.
  void finish_loading();
  void stop_loading();

  // Safe for all threads, lock-free in effect. Null when there is none.
  std::shared_ptr<PartitionLog> find(const TopicPartition& partition) const;
  std::vector<std::shared_ptr<PartitionLog>> all() const;
  // The log of the partition, made when absent: in `directory_id` when given and online, else in the directory with the
  // fewest logs. Errors: closed while its log is loading, or when that failed; those of PartitionLog::open.
  Result<std::shared_ptr<PartitionLog>> get_or_create(const TopicPartition& partition, Uuid topic_id,
                                                      const LogConfig& config, std::optional<Uuid> directory_id = {});
  // Renames to "-delete" at once (a log that is loading: as soon as that has stopped) and removes after
  // file.delete.delay.ms. Absent is fine.
  Result<void> remove(const TopicPartition& partition);
  // Which directory holds it.
  std::optional<Uuid> directory_of(const TopicPartition& partition) const;
  // Marks the directory of the failed log offline, once; its logs answer Errc::closed from then on.
  void mark_offline(const io::Path& directory, const Error& why);
  // Called once for each directory that goes offline, with its index, on the thread that noticed, whatever locks it holds.
  void on_directory_failure(std::function<void(std::size_t directory)> callback);
  // Takes directories offline that are not there any more, looks how much room the others have, and tells their logs
  // (PartitionLog::set_short_of_space). Every second of the background work.
  void check_space();

  // --- moves between log directories (log_mover.h has their pace) ---
  // The log goes on in the directory with the index `to`, of which `copy` has nearly all; its checkpoints and the cleaner's go
  // along, the old directory becomes a -delete one. Errors: limit when the copy must catch up first; not_found; closed when
  // that directory is offline; those of PartitionLog::move_into.
  Result<void> relocate(const TopicPartition& partition, std::size_t to, LogCopy& copy);
  // Copies that load() found beside their log: moves to begin anew.
  struct UnfinishedMove {
    TopicPartition partition;
    std::size_t to = 0;
    io::Path future;  // the directory of the copy
  };
  std::vector<UnfinishedMove> unfinished_moves() const;

  // Truncation with all that belongs to it: no run of the cleaner meanwhile, its checkpoint lowered, recovery points
  // written. Errors: not_found; those of PartitionLog.
  Result<void> truncate_to(const TopicPartition& partition, Offset offset);
  Result<void> truncate_fully_and_start_at(const TopicPartition& partition, Offset offset);

  // How many segments hold descriptors and mappings. Idle ones let them go within a minute or two of background work.
  std::size_t open_segments() const;
  static constexpr DurationMs kIdleCheckInterval{60'000};

  void start_background(Executor& executor);
  // What log.retention.check.interval.ms repeats: one log after the other, without the compacted ones while the cleaner is
  // enabled, which sees to them. A log that fails takes its directory offline and the others go on.
  void check_retention();
  // The cleaner cleans on executors of its own from now on. Nothing happens where log.cleaner.enable is off.
  void start_cleaner(LogCleaner::ExecutorFactory factory);
  LogCleaner& cleaner();
  Result<void> write_checkpoints();  // recovery points, log starts and high watermarks, of every directory
  // Stops background work, closes every log cleanly, writes checkpoints, then .kafka_cleanshutdown. Idempotent.
  Result<void> shut_down(std::int64_t broker_epoch);
  // Lets go of locks and handles without writing anything (after a fault, or a test's crash).
  void abandon();

 private:
  struct Impl;
  explicit LogManager(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cordwood::storage
