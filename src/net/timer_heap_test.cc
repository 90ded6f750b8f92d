#include "net/timer_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "base/random.h"

namespace cordwood::net {
namespace {

TEST(TimerHeap, GivesTimersInOrderOfDeadlineAndThenOfAdding) {
  TimerHeap timers;
  std::string seen;
  timers.add({30}, [&] { seen += 'd'; });
  timers.add({10}, [&] { seen += 'a'; });
  timers.add({20}, [&] { seen += 'b'; });
  timers.add({20}, [&] { seen += 'c'; });
  while (auto due = timers.take_due({30})) (*due)();
  EXPECT_EQ(seen, "abcd");
}

TEST(TimerHeap, GivesNothingBeforeItsTime) {
  TimerHeap timers;
  timers.add({10}, [] {});
  EXPECT_FALSE(timers.take_due({9}));
  EXPECT_EQ(timers.earliest(), MonotonicNs{10});
  EXPECT_TRUE(timers.take_due({10}));
  EXPECT_FALSE(timers.earliest());
}

TEST(TimerHeap, AnOldIdDoesNotCancelTheNextUserOfItsSlot) {
  TimerHeap timers;
  TimerId first = timers.add({1}, [] {});
  EXPECT_TRUE(timers.cancel(first));
  TimerId second = timers.add({1}, [] {});
  EXPECT_NE(first, second);
  EXPECT_FALSE(timers.cancel(first));
  EXPECT_FALSE(timers.cancel(0));
  EXPECT_FALSE(timers.cancel(77));
  EXPECT_EQ(timers.size(), 1u);
  EXPECT_TRUE(timers.take_due({1}));
  EXPECT_FALSE(timers.cancel(second));
}

TEST(TimerHeap, AgreesWithASortedMapOverManyRandomSteps) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    TimerHeap timers;
    std::map<std::pair<std::int64_t, int>, TimerId> model;
    int number = 0;
    int seen = -1;
    for (int step = 0; step < 2000; ++step) {
      switch (random.below(3)) {
        case 0: {
          std::int64_t deadline = static_cast<std::int64_t>(random.below(50));
          int mine = number++;
          model[{deadline, mine}] = timers.add({deadline}, [&seen, mine] { seen = mine; });
          break;
        }
        case 1: {
          if (model.empty()) break;
          auto victim = std::next(model.begin(), static_cast<std::ptrdiff_t>(random.below(model.size())));
          EXPECT_TRUE(timers.cancel(victim->second));
          model.erase(victim);
          break;
        }
        default: {
          std::int64_t now = static_cast<std::int64_t>(random.below(50));
          auto due = timers.take_due({now});
          bool expected = !model.empty() && model.begin()->first.first <= now;
          ASSERT_EQ(due.has_value(), expected);
          if (!due) break;
          (*due)();
          EXPECT_EQ(seen, model.begin()->first.second);
          model.erase(model.begin());
        }
      }
      ASSERT_EQ(timers.size(), model.size());
    }
  }
}

}  // namespace
}  // namespace cordwood::net
