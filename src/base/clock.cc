#include "base/clock.h"

#include <ctime>

namespace cordwood {
namespace {
std::int64_t read_ns(clockid_t id) {
  timespec ts{};
  ::clock_gettime(id, &ts);
  return ts.tv_sec * 1'000'000'000LL + ts.tv_nsec;
}
}  // namespace

TimestampMs SystemClock::now() const { return {read_ns(CLOCK_REALTIME) / 1'000'000}; }
MonotonicNs SystemClock::monotonic() const { return {read_ns(CLOCK_MONOTONIC)}; }

}  // namespace cordwood
