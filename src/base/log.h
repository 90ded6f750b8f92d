// base/log.h — the log of the process: one line per event, passed down as an object.
//
// Safe for all threads. Nothing is logged per request. An error is logged once, where it is handled.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace cordwood {

enum class Severity { debug, info, warn, error };

class Logger {
 public:
  virtual ~Logger() = default;
  virtual void write(Severity severity, std::string_view line) = 0;

  template <class... Args>
  void debug(fmt::format_string<Args...> text, Args&&... args) {
    if (minimum_ <= Severity::debug) write(Severity::debug, fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> text, Args&&... args) {
    if (minimum_ <= Severity::info) write(Severity::info, fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) {
    if (minimum_ <= Severity::warn) write(Severity::warn, fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> text, Args&&... args) {
    write(Severity::error, fmt::format(text, std::forward<Args>(args)...));
  }
  // What is less severe is dropped. May change while others log.
  void set_minimum(Severity minimum) { minimum_ = minimum; }
  Severity minimum() const { return minimum_; }

 private:
  std::atomic<Severity> minimum_ = Severity::info;
};

// "2026-01-31 23:59:59.123 WARN  text" on a file descriptor, one write(2) a line.
class StderrLogger final : public Logger {
 public:
  explicit StderrLogger(const Clock& clock, int fd = 2) : clock_(clock), fd_(fd) {}
  void write(Severity severity, std::string_view line) override;

 private:
  const Clock& clock_;
  int fd_;
};

// Keeps the lines, for tests that look at them; also the logger that says nothing.
class MemoryLogger final : public Logger {
 public:
  void write(Severity severity, std::string_view line) override;
  std::vector<std::string> lines() const;  // "WARN text"
  bool contains(std::string_view part) const;

 private:
  mutable Mutex mu_;
  std::vector<std::string> lines_ GUARDED_BY(mu_);
};

}  // namespace cordwood
