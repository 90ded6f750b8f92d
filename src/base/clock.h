// base/clock.h — time, passed down as an object so that a test can move it.
#pragma once

#include <atomic>

#include "base/types.h"

namespace cordwood {

// Safe for all threads.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimestampMs now() const = 0;        // wall clock: goes into records and files
  virtual MonotonicNs monotonic() const = 0;  // for deadlines and measuring; its zero means nothing
};

class SystemClock final : public Clock {
 public:
  TimestampMs now() const override;
  MonotonicNs monotonic() const override;
};

// Moves only when told; both clocks move together.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimestampMs start = {1'700'000'000'000}) : now_ms_(start.value) {}
  TimestampMs now() const override { return {now_ms_.load()}; }
  MonotonicNs monotonic() const override { return {now_ms_.load() * 1'000'000}; }
  void advance(DurationMs by) { now_ms_ += by.value; }
  void set(TimestampMs to) { now_ms_ = to.value; }

 private:
  std::atomic<std::int64_t> now_ms_;
};

constexpr DurationNs to_ns(DurationMs d) { return {d.value * 1'000'000}; }

}  // namespace cordwood
