// base/executor.h — something that runs functions, now or later: an event loop, a background thread, a test.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace cordwood {

using TimerId = std::uint64_t;  // 0 is no timer

// Safe for all threads. Functions of one executor never run at the same time.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void post(std::function<void()> function) = 0;
  // Runs `function` once at `deadline` or soon after.
  virtual TimerId schedule(MonotonicNs deadline, std::function<void()> function) = 0;
  // A function that already runs is not stopped; an unknown or expired id is ignored.
  virtual void cancel(TimerId id) = 0;
};

// Runs nothing by itself: a test calls run_ready() after posting or after moving the clock.
class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(const Clock& clock) : clock_(clock) {}
  void post(std::function<void()> function) override;
  TimerId schedule(MonotonicNs deadline, std::function<void()> function) override;
  void cancel(TimerId id) override;
  // Runs what is posted and due, also what that posts, and returns how many functions ran.
  std::size_t run_ready();

 private:
  const Clock& clock_;
  Mutex mu_;
  std::vector<std::function<void()>> posted_ GUARDED_BY(mu_);
  std::map<std::pair<MonotonicNs, TimerId>, std::function<void()>> timers_ GUARDED_BY(mu_);
  TimerId last_id_ GUARDED_BY(mu_) = 0;
};

enum class ThreadPriority { normal, low };

// A thread of its own. The destructor runs nothing more and joins.
class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(const Clock& clock, const char* thread_name, ThreadPriority priority = ThreadPriority::normal);
  ~ThreadExecutor() override;
  void post(std::function<void()> function) override;
  TimerId schedule(MonotonicNs deadline, std::function<void()> function) override;
  void cancel(TimerId id) override;
  // Refuses nothing, but runs nothing more; returns when the function that runs has ended. Idempotent.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cordwood
