// net/byte_budget.h — the memory that all unfinished and unanswered requests of a server may take together.
//
// Small requests are always let in (they are bounded by the number of connections); large ones wait for their next piece
// of memory. One waiting request at a time may go over the limit, the overdraft, until it is complete: without that,
// many half-received requests could fill the budget and wait for each other for ever.
// Safe for all threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/mutex.h"
#include "base/types.h"

namespace cordwood::net {

class ByteBudget {
 public:
  explicit ByteBudget(ByteCount limit) : limit_(limit) {}

  void take(ByteCount bytes) { used_.fetch_add(bytes.value); }
  enum class Taken { yes, overdrawn, no };
  // Takes the bytes when they fit, or when `taker` has or can get the overdraft, which then stays with the taker until
  // end_overdraft().
  Taken try_take(ByteCount bytes, const void* taker);
  void give_back(ByteCount bytes);
  void end_overdraft(const void* taker);

  // Calls `wake` once, from whichever thread, as soon as a try_take(bytes) has a chance; perhaps at once.
  void wait(ByteCount bytes, std::function<void()> wake);

  // Nobody is woken for what was waited for so far.
  void forget_waiters();

  ByteCount used() const { return {used_.load()}; }

 private:
  struct Waiter {
    ByteCount bytes;
    std::function<void()> wake;
  };
  void wake_those_with_a_chance();

  const ByteCount limit_;
  std::atomic<std::int64_t> used_{0};
  std::atomic<bool> somebody_waits_{false};
  mutable Mutex mu_;
  const void* overdraft_ GUARDED_BY(mu_) = nullptr;
  std::vector<Waiter> waiters_ GUARDED_BY(mu_);
};

}  // namespace cordwood::net
