// broker/handlers/parked_fetches.h — the fetches that wait for data, by connection.
//
// Threads: safe for all; the fetches themselves live on their loops.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "base/mutex.h"

namespace cordwood::broker {

// Both functions are called on the fetch's loop and do nothing the second time.
class ParkedFetch {
 public:
  virtual ~ParkedFetch() = default;
  virtual Executor& loop() const = 0;
  // Lets go of the request without an answer: its connection is gone.
  virtual void give_up() = 0;
  // Answers with what there is: the broker stops.
  virtual void answer_now() = 0;
};

class ParkedFetches {
 public:
  void add(std::uint64_t connection_id, std::shared_ptr<ParkedFetch> fetch) {
    MutexLock lock(mu_);
    parked_.emplace(connection_id, std::move(fetch));
  }
  void remove(std::uint64_t connection_id, const ParkedFetch* fetch) {
    MutexLock lock(mu_);
    auto [at, end] = parked_.equal_range(connection_id);
    for (; at != end; ++at) {
      if (at->second.get() != fetch) continue;
      parked_.erase(at);
      return;
    }
  }
  // On the connection's loop.
  void give_up(std::uint64_t connection_id) {
    for (const auto& fetch : of(connection_id)) fetch->give_up();
  }
  // From any thread.
  void answer_all() {
    for (const auto& fetch : all()) {
      fetch->loop().post([fetch] { fetch->answer_now(); });
    }
  }
  std::size_t size() const {
    MutexLock lock(mu_);
    return parked_.size();
  }

 private:
  std::vector<std::shared_ptr<ParkedFetch>> of(std::uint64_t connection_id) const {
    MutexLock lock(mu_);
    std::vector<std::shared_ptr<ParkedFetch>> fetches;
    auto [at, end] = parked_.equal_range(connection_id);
    for (; at != end; ++at) fetches.push_back(at->second);
    return fetches;
  }
  std::vector<std::shared_ptr<ParkedFetch>> all() const {
    MutexLock lock(mu_);
    std::vector<std::shared_ptr<ParkedFetch>> fetches;
    for (const auto& [id, fetch] : parked_) fetches.push_back(fetch);
    return fetches;
  }

  mutable Mutex mu_;
  std::unordered_multimap<std::uint64_t, std::shared_ptr<ParkedFetch>> parked_ GUARDED_BY(mu_);
};

}  // namespace cordwood::broker
