#include "base/log.h"

#include <unistd.h>

#include <ctime>

namespace cordwood {
namespace {
const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::debug: return "DEBUG";
    case Severity::info: return "INFO";
    case Severity::warn: return "WARN";
    case Severity::error: return "ERROR";
  }
  return "";
}
}  // namespace

void StderrLogger::write(Severity severity, std::string_view line) {
  TimestampMs now = clock_.now();
  std::time_t seconds = now.value / 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::string text = fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} {:<5} {}\n", local.tm_year + 1900,
                                 local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                                 now.value % 1000, name_of(severity), line);
  // A log that cannot be written must not stop the broker; there is nobody left to tell.
  [[maybe_unused]] auto written = ::write(fd_, text.data(), text.size());
}

void MemoryLogger::write(Severity severity, std::string_view line) {
  MutexLock lock(mu_);
  lines_.push_back(fmt::format("{} {}", name_of(severity), line));
}

std::vector<std::string> MemoryLogger::lines() const {
  MutexLock lock(mu_);
  return lines_;
}

bool MemoryLogger::contains(std::string_view part) const {
  MutexLock lock(mu_);
  for (const auto& line : lines_) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace cordwood
