// storage/load_crew.h — the threads that open the logs at a start: first those that need no recovery, in the order given,
// then the others, the longest recovery first, so that no thread is left alone with the largest one at the end.
//
// Knows nothing of logs: a job is a number, looked at by `survey` and done by `load`, each on a thread of the crew and
// each log by itself. Threads: safe for all.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/types.h"
#include "storage/partition_log.h"

namespace cordwood::storage {

struct LoadProgress {
  std::size_t logs_done = 0;
  std::size_t logs_total = 0;
  ByteCount bytes_done;        // checked past recovery points
  ByteCount bytes_total;       // to be checked, as far as known
  bool all_surveyed = false;   // bytes_total is final
  DurationNs elapsed;

  // "37 of 1000 logs, 1.2 of 40.0 GB checked, 512 MB/s, 76 s to go". The end is told once it can be.
  std::string to_string() const;
};

class LoadCrew {
 public:
  // What a job costs.
  struct Survey {
    ByteCount bytes;     // that recovery will read
    bool urgent = false;  // goes before longer ones: others wait for it
  };
  struct Work {
    std::function<Survey(std::size_t job)> survey;
    std::function<void(std::size_t job, LoadWatch& watch)> load;
  };
  // A log with no more than this to check is opened at once; that takes less than a millisecond.
  static constexpr ByteCount kQuick{256 * KiB};

  // Begins at once. `clock` must outlive the crew.
  LoadCrew(std::size_t threads, std::size_t jobs, Work work, const Clock& clock);
  ~LoadCrew();  // stops

  // Waits until nothing is left to do, but no longer than a moment (50 ms); true when the crew is through.
  bool wait_a_moment();
  bool quick_ones_are_done() const { return quick_left_.load(std::memory_order_acquire) == 0; }
  LoadProgress progress() const;
  // What runs ends at its next step, what waits never begins; returns when all threads have ended. Idempotent.
  void stop();
  bool is_stopping() const { return stopping_.load(std::memory_order_acquire); }

 private:
  struct Long {
    Survey survey;
    std::size_t job;
    // The top of the heap is what comes next.
    friend bool operator<(const Long& a, const Long& b) {
      return std::pair(a.survey.urgent, a.survey.bytes) < std::pair(b.survey.urgent, b.survey.bytes);
    }
  };
  void run();
  void do_job(std::size_t job, ByteCount bytes);

  const std::size_t jobs_;
  const Work work_;
  const Clock& clock_;
  const MonotonicNs began_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> quick_left_;  // not surveyed yet, or quick and not open yet
  std::atomic<std::size_t> not_surveyed_;
  std::atomic<std::size_t> done_{0};
  std::atomic<std::int64_t> bytes_total_{0};
  std::atomic<std::int64_t> bytes_done_{0};

  mutable Mutex mu_;
  ConditionVariable changed_;
  std::priority_queue<Long> long_ GUARDED_BY(mu_);
  std::size_t running_ GUARDED_BY(mu_) = 0;
  Mutex join_mu_;
  std::vector<std::thread> threads_ GUARDED_BY(join_mu_);
};

}  // namespace cordwood::storage
