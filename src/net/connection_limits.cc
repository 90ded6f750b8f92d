#include "net/connection_limits.h"

#include <utility>

namespace cordwood::net {

bool ConnectionLimits::full() const {
  MutexLock lock(mu_);
  return count_ >= in_all_;
}

bool ConnectionLimits::admit(const std::string& address) {
  MutexLock lock(mu_);
  std::int64_t& here = by_address_[address];
  if (here >= per_address_) {
    if (here == 0) by_address_.erase(address);
    return false;
  }
  ++here;
  ++count_;
  return true;
}

void ConnectionLimits::leave(const std::string& address) {
  std::vector<std::function<void()>> waiters;
  {
    MutexLock lock(mu_);
    --count_;
    auto here = by_address_.find(address);
    if (here != by_address_.end() && --here->second == 0) by_address_.erase(here);
    std::swap(waiters, waiters_);
  }
  for (auto& wake : waiters) wake();
}

void ConnectionLimits::when_one_leaves(std::function<void()> wake) {
  MutexLock lock(mu_);
  waiters_.push_back(std::move(wake));
}

std::int64_t ConnectionLimits::count() const {
  MutexLock lock(mu_);
  return count_;
}

}  // namespace cordwood::net
