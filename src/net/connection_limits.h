// net/connection_limits.h — how many connections there may be, in all (max.connections) and from one address
// (max.connections.per.ip).
//
// As Kafka: at the total limit the listener stops accepting until a connection ends, so that clients wait in the
// backlog; a connection beyond its address's limit is accepted and closed.
// Safe for all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace cordwood::net {

class ConnectionLimits {
 public:
  ConnectionLimits(std::int64_t in_all, std::int64_t per_address) : in_all_(in_all), per_address_(per_address) {}

  bool full() const;
  // False when the address has as many as it may have.
  bool admit(const std::string& address);
  void leave(const std::string& address);
  // Calls `wake` once, when a connection has left.
  void when_one_leaves(std::function<void()> wake);
  std::int64_t count() const;

 private:
  const std::int64_t in_all_;
  const std::int64_t per_address_;
  mutable Mutex mu_;
  std::int64_t count_ GUARDED_BY(mu_) = 0;
  std::map<std::string, std::int64_t> by_address_ GUARDED_BY(mu_);
  std::vector<std::function<void()>> waiters_ GUARDED_BY(mu_);
};

}  // namespace cordwood::net
