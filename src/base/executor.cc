#include "base/executor.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <thread>

namespace cordwood {

void ManualExecutor::post(std::function<void()> function) {
  MutexLock lock(mu_);
  posted_.push_back(std::move(function));
}

TimerId ManualExecutor::schedule(MonotonicNs deadline, std::function<void()> function) {
  MutexLock lock(mu_);
  timers_.emplace(std::pair(deadline, ++last_id_), std::move(function));
  return last_id_;
}

void ManualExecutor::cancel(TimerId id) {
  MutexLock lock(mu_);
  std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
}

std::size_t ManualExecutor::run_ready() {
  std::size_t count = 0;
  for (;;) {
    std::function<void()> function;
    {
      MutexLock lock(mu_);
      if (!posted_.empty()) {
        function = std::move(posted_.front());
        posted_.erase(posted_.begin());
      } else if (!timers_.empty() && timers_.begin()->first.first <= clock_.monotonic()) {
        function = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
      } else {
        return count;
      }
    }
    function();
    ++count;
  }
}

struct ThreadExecutor::State {
  explicit State(const Clock& clock_in) : clock(clock_in) {}
  const Clock& clock;
  std::mutex mu;
  std::condition_variable wake;
  std::deque<std::function<void()>> posted;
  std::map<std::pair<MonotonicNs, TimerId>, std::function<void()>> timers;
  TimerId last_id = 0;
  bool stopping = false;
  std::thread thread;

  void run() {
    std::unique_lock lock(mu);
    while (!stopping) {
      std::function<void()> function;
      if (!posted.empty()) {
        function = std::move(posted.front());
        posted.pop_front();
      } else if (!timers.empty()) {
        auto left = timers.begin()->first.first - clock.monotonic();
        if (left.value > 0) {
          wake.wait_for(lock, std::chrono::nanoseconds(left.value));
          continue;
        }
        function = std::move(timers.begin()->second);
        timers.erase(timers.begin());
      } else {
        wake.wait(lock);
        continue;
      }
      lock.unlock();
      function();
      function = nullptr;
      lock.lock();
    }
  }
};

ThreadExecutor::ThreadExecutor(const Clock& clock, const char* thread_name, ThreadPriority priority)
    : state_(std::make_unique<State>(clock)) {
  state_->thread = std::thread([state = state_.get(), priority] {
    // Nice values are of threads on Linux. Where it is refused the thread is one like the others.
    if (priority == ThreadPriority::low) ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);
    state->run();
  });
  ::pthread_setname_np(state_->thread.native_handle(), thread_name);
}

ThreadExecutor::~ThreadExecutor() { stop(); }

void ThreadExecutor::stop() {
  {
    std::lock_guard lock(state_->mu);
    state_->stopping = true;
  }
  state_->wake.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

void ThreadExecutor::post(std::function<void()> function) {
  {
    std::lock_guard lock(state_->mu);
    state_->posted.push_back(std::move(function));
  }
  state_->wake.notify_all();
}

TimerId ThreadExecutor::schedule(MonotonicNs deadline, std::function<void()> function) {
  TimerId id = 0;
  {
    std::lock_guard lock(state_->mu);
    id = ++state_->last_id;
    state_->timers.emplace(std::pair(deadline, id), std::move(function));
  }
  state_->wake.notify_all();
  return id;
}

void ThreadExecutor::cancel(TimerId id) {
  std::lock_guard lock(state_->mu);
  std::erase_if(state_->timers, [id](const auto& timer) { return timer.first.second == id; });
}

}  // namespace cordwood
