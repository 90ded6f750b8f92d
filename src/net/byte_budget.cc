#include "net/byte_budget.h"

#include <utility>

namespace cordwood::net {

ByteBudget::Taken ByteBudget::try_take(ByteCount bytes, const void* taker) {
  std::int64_t used = used_.load();
  while (used + bytes.value <= limit_.value) {
    if (used_.compare_exchange_weak(used, used + bytes.value)) return Taken::yes;
  }
  MutexLock lock(mu_);
  if (overdraft_ != nullptr && overdraft_ != taker) return Taken::no;
  overdraft_ = taker;
  used_.fetch_add(bytes.value);
  return Taken::overdrawn;
}

void ByteBudget::give_back(ByteCount bytes) {
  used_.fetch_sub(bytes.value);
  if (somebody_waits_.load()) wake_those_with_a_chance();
}

void ByteBudget::end_overdraft(const void* taker) {
  {
    MutexLock lock(mu_);
    if (overdraft_ != taker) return;
    overdraft_ = nullptr;
  }
  wake_those_with_a_chance();
}

void ByteBudget::wait(ByteCount bytes, std::function<void()> wake) {
  {
    MutexLock lock(mu_);
    waiters_.push_back({bytes, std::move(wake)});
    somebody_waits_.store(true);
  }
  // What was given back between the failed try_take() and here has woken nobody.
  wake_those_with_a_chance();
}

void ByteBudget::forget_waiters() {
  std::vector<Waiter> forgotten;  // destroyed after the lock
  MutexLock lock(mu_);
  std::swap(forgotten, waiters_);
  somebody_waits_.store(false);
}

void ByteBudget::wake_those_with_a_chance() {
  std::vector<Waiter> chosen;
  {
    MutexLock lock(mu_);
    std::int64_t used = used_.load();
    bool overdraft_free = overdraft_ == nullptr;
    std::erase_if(waiters_, [&](Waiter& waiter) {
      bool fits = used + waiter.bytes.value <= limit_.value;
      if (!fits && !overdraft_free) return false;
      if (fits) {
        used += waiter.bytes.value;
      } else {
        overdraft_free = false;
      }
      chosen.push_back(std::move(waiter));
      return true;
    });
    somebody_waits_.store(!waiters_.empty());
  }
  for (auto& waiter : chosen) waiter.wake();
}

}  // namespace cordwood::net
