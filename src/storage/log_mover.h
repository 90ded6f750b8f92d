// storage/log_mover.h — moves logs between log directories, beside everything else (AlterReplicaLogDirs).
//
// One thread copies chunk by chunk, taking turns between the moves that are under way, and lets a log change over once its
// copy has caught up (LogManager::relocate). A copy whose move was given up is removed. After a restart the copies that are
// found are begun anew.
//
// Threads: safe for all.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/log_manager.h"
#include "storage/log_move.h"

namespace cordwood::storage {

class LogMover {
 public:
  // Called on the mover's thread after a log has moved.
  using Moved = std::function<void(const TopicPartition& partition, Uuid directory)>;
  // All must outlive the mover. Its thread starts with the first move.
  LogMover(LogEnvironment environment, LogManager& logs, Moved moved);
  ~LogMover();  // as stop()

  // Begins to move the log to the directory with this index, in the place of an earlier move of the same log. Where it
  // lies already nothing is moved, and an earlier move is given up. Errors: not_found; limit when the name of the copy's
  // directory would be too long.
  Result<void> move(const TopicPartition& partition, std::size_t directory);
  // Those that a restart interrupted.
  void go_on(const std::vector<LogManager::UnfinishedMove>& moves);
  // The log has been opened, or never will be: a move of it that waits for that goes on.
  void log_loaded(const TopicPartition& partition);

  struct Status {
    TopicPartition partition;
    std::size_t directory = 0;
    ByteCount copied;
    OffsetDelta lag;  // log end of the log less that of the copy, counted in whole segments
  };
  std::vector<Status> moves() const;

  // Ends the thread; copies stay where they are, for the next start. Idempotent.
  void stop();

 private:
  struct Move {
    TopicPartition partition;
    std::size_t directory = 0;
    LogCopy copy;
    ByteCount copied;
    OffsetDelta lag;
    bool given_up = false;
    bool awaits_log = false;  // until log_loaded()
    bool may_advance() const { return given_up || !awaits_log; }
  };

  void begin(const TopicPartition& partition, std::size_t directory, io::Path future) REQUIRES(mu_);
  void work();
  // False: it is over.
  bool advance(Move& move);
  // The log to move, null when there is none (any more). Nothing while it is loading; then the move is marked as waiting for it.
  std::optional<std::shared_ptr<PartitionLog>> find_log(Move& move);
  void drop(Move& move);

  const LogEnvironment env_;
  LogManager& logs_;
  const Moved moved_;
  mutable Mutex mu_;
  ConditionVariable wake_;
  std::vector<std::shared_ptr<Move>> moves_ GUARDED_BY(mu_);  // their copies belong to the thread
  std::optional<std::thread> thread_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
};

}  // namespace cordwood::storage
