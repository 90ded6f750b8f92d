// net/event_loop.h — one thread's event loop: descriptors that became ready, functions posted, timers due.
//
// Raw epoll, edge-triggered for those who ask for it; why not a library: docs/decisions/0001-own-epoll-loop.md.
// A loop is run by a thread (run()) or, in tests, stepped by hand (step()). Time comes from the Clock alone, so that a
// stepped loop with a ManualClock is deterministic.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "base/result.h"
#include "net/timer_heap.h"
#include "net/unique_fd.h"

namespace cordwood::net {

// Threads: post(), schedule(), cancel(), stop() and on_loop_thread() are safe for all. watch(), change() and unwatch()
// belong to the loop's thread, or to any one thread while nobody runs the loop.
class EventLoop final : public Executor {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void on_events(std::uint32_t epoll_events) = 0;
  };
  using WatchId = std::uint64_t;  // 0 is no watch

  // `clock` must outlive the loop. Errors: io (no descriptors left).
  static Result<std::unique_ptr<EventLoop>> open(const Clock& clock);
  // What is still posted or scheduled is destroyed without being run. Nobody may be running the loop.
  ~EventLoop() override;

  // Runs on the loop's thread in a later turn, in the order of posting. After stop() has taken effect functions are
  // destroyed at once instead.
  void post(std::function<void()> function) override;
  TimerId schedule(MonotonicNs deadline, std::function<void()> function) override;
  void cancel(TimerId id) override;

  // Calls `handler` when `fd` has one of `epoll_events`. The handler must be unwatched before it or the descriptor goes;
  // once unwatched it is not called again, not even for events of the turn that is under way.
  Result<WatchId> watch(int fd, std::uint32_t epoll_events, Handler& handler);
  Result<void> change(WatchId id, std::uint32_t epoll_events);
  void unwatch(WatchId id);

  // Turns until stop(). The turn that is under way is finished.
  void run();
  // One turn: waits at most `at_most` for something to do, does what is there, and answers how many functions and
  // handlers ran.
  std::size_t step(DurationMs at_most);
  void stop();

  // True inside of run() and step() of this loop.
  bool on_loop_thread() const { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

 private:
  struct Watch {
    int fd = -1;
    std::uint32_t generation = 0;
    Handler* handler = nullptr;
  };

  EventLoop(const Clock& clock, UniqueFd epoll, UniqueFd wake);
  std::size_t turn(std::int64_t wait_at_most_ms);
  Watch* find(WatchId id);
  int wait_ms(std::int64_t at_most_ms);
  std::size_t run_due_timers();
  void refuse_and_drop();
  void wake();

  const Clock& clock_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::atomic<std::thread::id> thread_{};
  std::atomic<bool> stopping_{false};

  std::vector<Watch> watches_;
  std::vector<std::uint32_t> free_watches_;
  std::vector<std::function<void()>> running_;

  Mutex mu_;
  std::vector<std::function<void()>> posted_ GUARDED_BY(mu_);
  TimerHeap timers_ GUARDED_BY(mu_);
  bool wake_written_ GUARDED_BY(mu_) = false;
  bool closed_ GUARDED_BY(mu_) = false;
};

}  // namespace cordwood::net
