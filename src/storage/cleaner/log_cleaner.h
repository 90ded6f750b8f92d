// storage/cleaner/log_cleaner.h — compaction of all logs whose cleanup.policy has "compact": which one is next, its pass,
// the checkpoint of how far it came, and what there is to say about each.
//
// Works on executors of its own, whose threads have low priority; a fault in one log stops the cleaning of that log, is
// kept to be shown, and is tried again later. Rules: docs/formats/cleaner.md (seen on Kafka 4.4.0). Safe for all threads.
#pragma once

#include <atomic>
#include <cfloat>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/types.h"
#include "storage/cleaner/cleanable.h"
#include "storage/cleaner/cleaner_checkpoints.h"
#include "storage/cleaner/cleaning_pass.h"
#include "storage/cleaner/io_throttle.h"
#include "storage/cleaner/offset_map.h"
#include "storage/partition_log.h"

namespace cordwood::storage {

struct CleanerOptions {
  bool enable = true;                          // log.cleaner.enable
  int threads = 1;                             // log.cleaner.threads
  ByteCount dedupe_buffer_size{128 * MiB};     // log.cleaner.dedupe.buffer.size, of all threads together
  double load_factor = 0.9;                    // log.cleaner.io.buffer.load.factor
  ByteCount io_buffer_size{512 * KiB};         // log.cleaner.io.buffer.size, of all threads together
  double io_max_bytes_per_second = DBL_MAX;    // log.cleaner.io.max.bytes.per.second
  DurationMs backoff{15'000};                  // log.cleaner.backoff.ms
  bool operator==(const CleanerOptions&) const = default;
};

// What there is to say about one compacted log.
struct CleanerStatus {
  enum class State { idle, cleaning, paused };
  struct Run {
    TimestampMs started;
    DurationMs took;
    Offset from;
    Offset to;  // clean up to here now
    PassStatistics statistics;
  };
  TopicPartition partition;
  State state = State::idle;
  CleaningVerdict verdict;                 // as of the last look
  TimestampMs looked_at = kNoTimestamp;
  std::optional<Run> last_run;
  ByteCount saved_bytes;                   // by all runs since the start
  std::optional<Error> last_error;         // of the last run, if that failed
  std::int32_t faults_in_a_row = 0;
  TimestampMs retry_at = kNoTimestamp;     // when it failed: not before
};
const char* to_string(CleanerStatus::State state);

class LogCleaner {
 public:
  struct ManagedLog {
    std::shared_ptr<PartitionLog> log;
    std::size_t directory = 0;
  };
  // What the owner of the logs does for the cleaner; all may be called by any of its threads.
  struct Owner {
    std::function<std::vector<ManagedLog>()> logs;
    // Of a log that is not among them yet; its line in the checkpoint stays. May be empty.
    std::function<bool(const TopicPartition&)> is_pending;
    std::function<void(std::size_t directory, const Error& why)> directory_failed;
    // Retention of a compacted log: while the cleaner is enabled nobody else runs it. May be empty.
    std::function<void(const ManagedLog&)> apply_retention;
    // Waits, at most as long and no longer than until the function says so. Empty: waits in real time.
    std::function<void(DurationNs)> wait;
  };
  LogCleaner(LogEnvironment environment, std::vector<io::Path> directories, CleanerOptions options, Owner owner);
  ~LogCleaner();

  // Makes as many executors as there are threads, and cleans on them until stop(). They die with stop().
  using ExecutorFactory = std::function<std::unique_ptr<Executor>(int index)>;
  void start(ExecutorFactory factory);
  // A run under way ends at its next step, and its log stays as it was.
  void stop();
  // New values act at once; the threads are started anew where their number or memory changes.
  void reconfigure(const CleanerOptions& options);

  // One round on this thread: the dirtiest log that is due, then retention of the compacted ones. True when one was cleaned.
  bool clean_once();

  // A run over this log now, on this thread, however dirty it is. Answers the run; nothing when there is nothing to clean. Errors:
  // not_found; invalid where cleanup.policy has no compact; locked while another run works on it or it is paused; what the run
  // failed with.
  Result<std::optional<CleanerStatus::Run>> clean_now(const TopicPartition& partition);

  // Whether retention of the compacted logs is the cleaner's.
  bool is_enabled() const;

  // --- what others do to a log meanwhile ---
  // When this returns, no run works on the log, and none begins until resume() was called as often.
  void abort_and_pause(const TopicPartition& partition);
  void resume(const TopicPartition& partition);
  // The log is gone: its line in the checkpoint too.
  void forget(const TopicPartition& partition, std::size_t directory);
  // The log was truncated while paused; `active_base` is the base of its active segment now.
  void truncated(const TopicPartition& partition, std::size_t directory, Offset active_base);
  void moved(const TopicPartition& partition, std::size_t from, std::size_t to);
  void forget_directory(std::size_t directory);

  // --- looking ---
  std::vector<CleanerStatus> statuses() const;
  std::optional<CleanerStatus> status(const TopicPartition& partition) const;
  std::optional<Offset> checkpoint(std::size_t directory, const TopicPartition& partition) {
    return checkpoints_.find(directory, partition);
  }

 private:
  struct Worker;
  struct Claim {  // of a log by what works on it
    std::atomic<bool> aborted{false};
    int pauses = 0;        // of those that wait for its end, or hold it
    bool running = false;  // a run, or retention
  };
  struct Candidate {
    ManagedLog managed;
    CleaningVerdict verdict;
  };

  std::vector<Candidate> look_at_logs();
  std::optional<CleaningVerdict> look_at(const ManagedLog& managed);
  void note_verdict(const TopicPartition& partition, const CleaningVerdict& verdict, TimestampMs now);
  std::shared_ptr<Claim> claim(const TopicPartition& partition);
  void release(const TopicPartition& partition);
  bool clean(const Candidate& candidate, const std::shared_ptr<Claim>& claim, OffsetMap& map);
  Result<void> between(const Claim& claim, ByteCount bytes);
  void wait(DurationNs how_long, const Claim& claim);
  void finish_run(const Candidate& candidate, const CleanerStatus::Run& run);
  void finish_fault(const Candidate& candidate, const Error& error, bool was_aborted);
  void write_checkpoint(const ManagedLog& managed, Offset offset);
  void delete_from_compacted();
  bool is_live(const TopicPartition& partition) const;
  bool round(OffsetMap& map);
  void run_worker(const std::shared_ptr<Worker>& worker);
  void start_workers() REQUIRES(workers_mu_);
  void stop_workers() REQUIRES(workers_mu_);

  const LogEnvironment env_;
  const Owner owner_;
  CleanerCheckpoints checkpoints_;
  IoThrottle throttle_;
  std::atomic<bool> stopping_{false};

  mutable Mutex mu_;  // nothing is read or written under it
  ConditionVariable changed_;
  CleanerOptions options_ GUARDED_BY(mu_);
  std::map<TopicPartition, std::shared_ptr<Claim>> claims_ GUARDED_BY(mu_);
  std::map<TopicPartition, CleanerStatus> statuses_ GUARDED_BY(mu_);

  Mutex workers_mu_;  // before mu_
  ExecutorFactory factory_ GUARDED_BY(workers_mu_);
  std::vector<std::shared_ptr<Worker>> workers_ GUARDED_BY(workers_mu_);
};

}  // namespace cordwood::storage
