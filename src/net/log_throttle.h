// net/log_throttle.h — lines that a hostile or broken peer can cause at will: one a second, the others counted.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace cordwood::net {

// One thread. One object per kind of line.
class LogThrottle {
 public:
  LogThrottle(const Clock& clock, Logger& logger) : clock_(clock), logger_(logger) {}

  template <class... Args>
  void write(Severity severity, fmt::format_string<Args...> text, Args&&... args) {
    MonotonicNs now = clock_.monotonic();
    if (said_anything_ && now - last_ < to_ns({1000})) {
      ++suppressed_;
      return;
    }
    std::string line = fmt::format(text, std::forward<Args>(args)...);
    if (suppressed_ > 0) line += fmt::format(" ({} more like this since the line before)", suppressed_);
    switch (severity) {
      case Severity::debug: logger_.debug("{}", line); break;
      case Severity::info: logger_.info("{}", line); break;
      case Severity::warn: logger_.warn("{}", line); break;
      case Severity::error: logger_.error("{}", line); break;
    }
    said_anything_ = true;
    last_ = now;
    suppressed_ = 0;
  }

 private:
  const Clock& clock_;
  Logger& logger_;
  MonotonicNs last_;
  bool said_anything_ = false;
  std::uint64_t suppressed_ = 0;
};

}  // namespace cordwood::net
