#include "net/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace cordwood::net {
namespace {
constexpr int kEventsPerTurn = 128;
constexpr std::uint64_t kWakeToken = 0;  // watch ids are never 0
}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::open(const Clock& clock) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return system_error("epoll_create1", errno);
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return system_error("eventfd", errno);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // each write is an edge: the counter need never be read
  event.data.u64 = kWakeToken;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) return system_error("epoll_ctl", errno);
  return std::unique_ptr<EventLoop>(new EventLoop(clock, std::move(epoll), std::move(wake)));
}

EventLoop::EventLoop(const Clock& clock, UniqueFd epoll, UniqueFd wake)
    : clock_(clock), epoll_(std::move(epoll)), wake_(std::move(wake)) {}

EventLoop::~EventLoop() { refuse_and_drop(); }

void EventLoop::refuse_and_drop() {
  // Destroyed after the lock, and with closed_ set: destroying a function may post another one (a responder that closes
  // its connection).
  std::vector<std::function<void()>> posted;
  TimerHeap timers;
  MutexLock lock(mu_);
  closed_ = true;
  std::swap(posted, posted_);
  std::swap(timers, timers_);
}

void EventLoop::post(std::function<void()> function) {
  bool must_wake = false;
  {
    MutexLock lock(mu_);
    if (closed_) return;
    posted_.push_back(std::move(function));
    must_wake = !wake_written_ && !on_loop_thread();
    wake_written_ = wake_written_ || must_wake;
  }
  if (must_wake) wake();
}

TimerId EventLoop::schedule(MonotonicNs deadline, std::function<void()> function) {
  TimerId id = 0;
  bool must_wake = false;
  {
    MutexLock lock(mu_);
    if (closed_) return 0;
    auto before = timers_.earliest();
    id = timers_.add(deadline, std::move(function));
    must_wake = (!before || deadline < *before) && !wake_written_ && !on_loop_thread();
    wake_written_ = wake_written_ || must_wake;
  }
  if (must_wake) wake();
  return id;
}

void EventLoop::cancel(TimerId id) {
  std::function<void()> cancelled;  // destroyed after the lock
  MutexLock lock(mu_);
  cancelled = timers_.cancel(id);
}

Result<EventLoop::WatchId> EventLoop::watch(int fd, std::uint32_t epoll_events, Handler& handler) {
  std::uint32_t index;
  if (free_watches_.empty()) {
    index = static_cast<std::uint32_t>(watches_.size());
    watches_.emplace_back();
  } else {
    index = free_watches_.back();
    free_watches_.pop_back();
  }
  Watch& watch = watches_[index];
  watch.fd = fd;
  watch.handler = &handler;
  ++watch.generation;
  WatchId id = (static_cast<WatchId>(watch.generation) << 32) | (index + 1);
  epoll_event event{};
  event.events = epoll_events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    int failed = errno;
    watch.handler = nullptr;
    free_watches_.push_back(index);
    return system_error("epoll_ctl", failed);
  }
  return id;
}

EventLoop::Watch* EventLoop::find(WatchId id) {
  auto low = static_cast<std::uint32_t>(id);
  if (low == 0 || low > watches_.size()) return nullptr;
  Watch& watch = watches_[low - 1];
  if (watch.handler == nullptr || watch.generation != static_cast<std::uint32_t>(id >> 32)) return nullptr;
  return &watch;
}

Result<void> EventLoop::change(WatchId id, std::uint32_t epoll_events) {
  Watch* watch = find(id);
  CHECK(watch != nullptr, "change of a watch that is gone");
  epoll_event event{};
  event.events = epoll_events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, watch->fd, &event) != 0) return system_error("epoll_ctl", errno);
  return {};
}

void EventLoop::unwatch(WatchId id) {
  Watch* watch = find(id);
  if (watch == nullptr) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watch->fd, nullptr);
  watch->handler = nullptr;
  free_watches_.push_back(static_cast<std::uint32_t>(id) - 1);
}

void EventLoop::run() {
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  while (!stopping_.load(std::memory_order_acquire)) turn(INT64_MAX);
  thread_.store(std::thread::id(), std::memory_order_relaxed);
  refuse_and_drop();
}

std::size_t EventLoop::step(DurationMs at_most) {
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  std::size_t ran = turn(at_most.value);
  thread_.store(std::thread::id(), std::memory_order_relaxed);
  return ran;
}

void EventLoop::stop() {
  stopping_.store(true, std::memory_order_release);
  if (!on_loop_thread()) wake();
}

int EventLoop::wait_ms(std::int64_t at_most_ms) {
  MutexLock lock(mu_);
  if (!posted_.empty() || stopping_.load(std::memory_order_relaxed)) return 0;
  std::int64_t wait = at_most_ms;
  if (auto earliest = timers_.earliest()) {
    // Rounded up: a loop that woke too early would turn again and again until the deadline.
    std::int64_t left_ms = (*earliest - clock_.monotonic()).value;
    left_ms = left_ms <= 0 ? 0 : (left_ms - 1) / 1'000'000 + 1;
    wait = std::min(wait, left_ms);
  }
  if (wait == INT64_MAX) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(wait, 0, INT32_MAX));
}

std::size_t EventLoop::turn(std::int64_t wait_at_most_ms) {
  epoll_event events[kEventsPerTurn];
  int count = ::epoll_wait(epoll_.get(), events, kEventsPerTurn, wait_ms(wait_at_most_ms));
  CHECK(count >= 0 || errno == EINTR, "epoll_wait: errno {}", errno);

  std::size_t ran = 0;
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 == kWakeToken) continue;
    // Looked up anew for each event: a handler that ran before may have unwatched this one.
    if (Watch* watch = find(events[i].data.u64)) {
      watch->handler->on_events(events[i].events);
      ++ran;
    }
  }

  ran += run_due_timers();

  {
    MutexLock lock(mu_);
    wake_written_ = false;
    std::swap(running_, posted_);
  }
  for (auto& function : running_) {
    function();
    function = nullptr;
    ++ran;
  }
  running_.clear();
  return ran;
}

std::size_t EventLoop::run_due_timers() {
  MonotonicNs now = clock_.monotonic();
  std::size_t ran = 0;
  std::size_t most = 0;  // a function that schedules itself for now runs again in the next turn
  {
    MutexLock lock(mu_);
    most = timers_.size();
  }
  for (; ran < most; ++ran) {
    std::optional<std::function<void()>> due;
    {
      MutexLock lock(mu_);
      due = timers_.take_due(now);
    }
    if (!due) break;
    (*due)();
  }
  return ran;
}

void EventLoop::wake() {
  std::uint64_t one = 1;
  // Fails only when the counter is full, and then the loop has been woken often enough.
  [[maybe_unused]] auto written = ::write(wake_.get(), &one, sizeof one);
}

}  // namespace cordwood::net
