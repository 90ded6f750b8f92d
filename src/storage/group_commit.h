// storage/group_commit.h — waits for the disk in place of those who may not wait.
//
// Whoever appended where flush.messages made a flush due asks here to be called once the log is flushed. Everything that was
// appended to a log by the time its flush begins is covered by that one flush; what comes later goes along with the next.
// Several logs are flushed at a time, by a few threads: most of an fdatasync is waiting, and a journal commits what
// they ask for together. The threads are started when they are first needed.
//
// Threads: safe for all.   Why: docs/decisions/0008-group-commit.md
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/types.h"
#include "storage/partition_log.h"

namespace cordwood::storage {

class GroupCommit {
 public:
  static constexpr std::size_t kThreads = 16;

  explicit GroupCommit(std::size_t most_threads = kThreads);
  ~GroupCommit();  // as stop()

  // Calls `done` on one of the threads after a flush of the log that began after this call, with its outcome: never called
  // with success before all that `log` held at the call is on the disk. A failed flush is not repeated. `done` must be
  // cheap and may call when_flushed().
  using Done = std::function<void(const Result<void>&)>;
  void when_flushed(std::shared_ptr<PartitionLog> log, Done done);

  // Flushes what is waited for, calls everybody, ends the threads. What is asked for afterwards is called at once, with
  // `closed`. Idempotent.
  void stop();

  std::int64_t flushes() const;  // so far

 private:
  struct Waiting {
    std::shared_ptr<PartitionLog> log;
    std::vector<Done> done;
    bool is_flushing = false;  // the flush under way is not theirs
  };

  void work();
  void make_ready(PartitionLog* log) REQUIRES(mu_);
  void flush_one() REQUIRES(mu_);

  const std::size_t most_threads_;
  mutable Mutex mu_;
  ConditionVariable wake_;
  std::unordered_map<PartitionLog*, Waiting> waiting_ GUARDED_BY(mu_);
  std::deque<PartitionLog*> ready_ GUARDED_BY(mu_);  // have somebody who waits, and no flush under way
  std::vector<std::thread> threads_ GUARDED_BY(mu_);
  std::size_t idle_ GUARDED_BY(mu_) = 0;
  std::int64_t flushes_ GUARDED_BY(mu_) = 0;
  bool stopping_ GUARDED_BY(mu_) = false;
};

}  // namespace cordwood::storage
