#include "net/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <string>
#include <thread>

namespace cordwood::net {
namespace {

class CountingHandler final : public EventLoop::Handler {
 public:
  explicit CountingHandler(std::function<void()> then = [] {}) : then_(std::move(then)) {}
  void on_events(std::uint32_t) override {
    ++calls;
    then_();
  }
  int calls = 0;

 private:
  std::function<void()> then_;
};

TEST(EventLoop, RunsPostedFunctionsInOrderAndWhatTheyPostInALaterTurn) {
  ManualClock clock;
  auto loop = EventLoop::open(clock).value();
  std::string seen;
  loop->post([&] {
    seen += 'a';
    loop->post([&] { seen += 'c'; });
  });
  loop->post([&] { seen += 'b'; });
  EXPECT_EQ(loop->step({0}), 2u);
  EXPECT_EQ(seen, "ab");
  EXPECT_EQ(loop->step({0}), 1u);
  EXPECT_EQ(seen, "abc");
  EXPECT_EQ(loop->step({0}), 0u);
}

TEST(EventLoop, RunsATimerWhenTheClockReachesItAndNotWhenCancelled) {
  ManualClock clock;
  auto loop = EventLoop::open(clock).value();
  int fired = 0;
  loop->schedule(clock.monotonic() + to_ns({100}), [&] { fired += 1; });
  TimerId cancelled = loop->schedule(clock.monotonic() + to_ns({100}), [&] { fired += 10; });
  loop->step({0});
  EXPECT_EQ(fired, 0);
  loop->cancel(cancelled);
  clock.advance({99});
  loop->step({0});
  EXPECT_EQ(fired, 0);
  clock.advance({1});
  loop->step({0});
  EXPECT_EQ(fired, 1);
}

TEST(EventLoop, ATimerThatSchedulesItselfForNowLeavesTheOthersTheirTurn) {
  ManualClock clock;
  auto loop = EventLoop::open(clock).value();
  int fired = 0;
  std::function<void()> again = [&] {
    ++fired;
    loop->schedule(clock.monotonic(), again);
  };
  loop->schedule(clock.monotonic(), again);
  loop->step({0});
  EXPECT_EQ(fired, 1);
  loop->step({0});
  EXPECT_EQ(fired, 2);
}

TEST(EventLoop, WakesForAPostFromAnotherThread) {
  SystemClock clock;
  auto loop = EventLoop::open(clock).value();
  std::thread runner([&] { loop->run(); });
  std::atomic<bool> on_loop{false};
  std::atomic<int> ran{0};
  for (int i = 0; i < 1000; ++i) {
    loop->post([&] {
      on_loop = loop->on_loop_thread();
      ++ran;
    });
  }
  EXPECT_FALSE(loop->on_loop_thread());
  loop->post([&] { loop->stop(); });
  runner.join();
  EXPECT_EQ(ran, 1000);
  EXPECT_TRUE(on_loop);
}

TEST(EventLoop, WakesForAnEarlierTimerFromAnotherThread) {
  SystemClock clock;
  auto loop = EventLoop::open(clock).value();
  loop->schedule(clock.monotonic() + to_ns({3'600'000}), [] {});
  std::thread runner([&] { loop->run(); });
  loop->schedule(clock.monotonic() + to_ns({5}), [&] { loop->stop(); });
  runner.join();
}

TEST(EventLoop, StopsFromAnotherThread) {
  SystemClock clock;
  auto loop = EventLoop::open(clock).value();
  std::thread runner([&] { loop->run(); });
  loop->stop();
  runner.join();
}

TEST(EventLoop, DestroysWhatIsPostedAfterItHasStopped) {
  SystemClock clock;
  auto loop = EventLoop::open(clock).value();
  loop->stop();
  loop->run();
  auto token = std::make_shared<int>(1);
  loop->post([token] { ADD_FAILURE() << "must not run"; });
  EXPECT_EQ(loop->schedule(clock.monotonic(), [token] {}), 0u);
  EXPECT_EQ(token.use_count(), 1);
}

TEST(EventLoop, DestroyingAFunctionMayPostAnother) {
  ManualClock clock;
  auto loop = EventLoop::open(clock).value();
  struct PostsWhenDestroyed {
    EventLoop* loop;
    explicit PostsWhenDestroyed(EventLoop* to) : loop(to) {}
    ~PostsWhenDestroyed() { loop->post([] {}); }
  };
  loop->post([keep = std::make_shared<PostsWhenDestroyed>(loop.get())] {});
  loop->schedule({INT64_MAX}, [keep = std::make_shared<PostsWhenDestroyed>(loop.get())] {});
  loop.reset();
}

TEST(EventLoop, CallsTheHandlerOfAReadyDescriptor) {
  ManualClock clock;
  auto loop = EventLoop::open(clock).value();
  UniqueFd fd(::eventfd(0, EFD_NONBLOCK));
  CountingHandler handler;
  auto watch = loop->watch(fd.get(), EPOLLIN, handler).value();
  loop->step({0});
  EXPECT_EQ(handler.calls, 0);
  ::eventfd_write(fd.get(), 1);
  loop->step({1000});
  EXPECT_EQ(handler.calls, 1);
  loop->change(watch, 0).value();
  loop->step({0});
  EXPECT_EQ(handler.calls, 1);
  loop->change(watch, EPOLLIN).value();
  loop->step({0});
  EXPECT_EQ(handler.calls, 2);
  loop->unwatch(watch);
  loop->step({0});
  EXPECT_EQ(handler.calls, 2);
}

TEST(EventLoop, AHandlerUnwatchedInTheSameTurnIsNotCalled) {
  ManualClock clock;
  auto loop = EventLoop::open(clock).value();
  UniqueFd fds[2] = {UniqueFd(::eventfd(1, EFD_NONBLOCK)), UniqueFd(::eventfd(1, EFD_NONBLOCK))};
  EventLoop::WatchId watches[2] = {0, 0};
  // Whichever of the two comes first unwatches the other, and a newcomer takes the freed place.
  CountingHandler newcomer;
  UniqueFd quiet(::eventfd(0, EFD_NONBLOCK));
  CountingHandler first([&] {
    loop->unwatch(watches[1]);
    loop->watch(quiet.get(), EPOLLIN, newcomer).value();
  });
  CountingHandler second([&] {
    loop->unwatch(watches[0]);
    loop->watch(quiet.get(), EPOLLIN, newcomer).value();
  });
  watches[0] = loop->watch(fds[0].get(), EPOLLIN, first).value();
  watches[1] = loop->watch(fds[1].get(), EPOLLIN, second).value();
  loop->step({1000});
  EXPECT_EQ(first.calls + second.calls, 1);
  EXPECT_EQ(newcomer.calls, 0);
}

TEST(EventLoop, SaysWhenADescriptorCannotBeWatched) {
  ManualClock clock;
  auto loop = EventLoop::open(clock).value();
  CountingHandler handler;
  auto watch = loop->watch(-1, EPOLLIN, handler);
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().sys_errno, EBADF);
}

}  // namespace
}  // namespace cordwood::net
