// storage/cleaner/io_throttle.h — how long the cleaner has to wait so that it reads and writes no more than it may.
//
// log.cleaner.io.max.bytes.per.second, over all cleaner threads together. Safe for all threads.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/types.h"

namespace cordwood::storage {

class IoThrottle {
 public:
  // `clock` must outlive the throttle.
  IoThrottle(const Clock& clock, double bytes_per_second) : clock_(clock), bytes_per_second_(bytes_per_second) {}

  void set_rate(double bytes_per_second) {
    MutexLock lock(mu_);
    bytes_per_second_ = bytes_per_second;
    free_at_ = MonotonicNs{0};
  }

  // Bytes that were read or written just now; the answer is how long the caller waits before it goes on, 0 for not at all.
  DurationNs note(ByteCount bytes) {
    MutexLock lock(mu_);
    if (bytes_per_second_ >= kUnlimited || bytes.value <= 0) return {0};
    const MonotonicNs now = clock_.monotonic();
    const double takes = static_cast<double>(bytes.value) * 1e9 / std::max(bytes_per_second_, 1.0);
    free_at_ = std::max(free_at_, now) + DurationNs{static_cast<std::int64_t>(std::min(takes, 1e18))};
    // Waits of less would be lost in the noise of the scheduler.
    constexpr DurationNs kShortest{1'000'000};
    const DurationNs wait = free_at_ - now;
    return wait < kShortest ? DurationNs{0} : wait;
  }

 private:
  static constexpr double kUnlimited = 1e15;
  const Clock& clock_;
  Mutex mu_;
  double bytes_per_second_ GUARDED_BY(mu_);
  MonotonicNs free_at_ GUARDED_BY(mu_){0};
};

}  // namespace cordwood::storage
