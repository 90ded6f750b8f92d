// offline/session_clock.h — a session's clock for a log's environment, which wants one that it may change.
#pragma once

#include "base/clock.h"

namespace cordwood::offline {

// `clock` must outlive it. Threads: as those of `clock`.
class SessionClock final : public Clock {
 public:
  explicit SessionClock(const Clock& clock) : clock_(clock) {}
  TimestampMs now() const override { return clock_.now(); }
  MonotonicNs monotonic() const override { return clock_.monotonic(); }

 private:
  const Clock& clock_;
};

}  // namespace cordwood::offline
