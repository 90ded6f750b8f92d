#include "cli/session.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace cordwood::cli {

void Output::write(std::string_view text) {
  if (text.size() >= kPiece) {
    flush();
    if (!failed_) failed_ = !deliver(text);
    return;
  }
  pending_ += text;
  if (pending_.size() >= kPiece) flush();
}

void Output::flush() {
  if (!failed_ && !pending_.empty()) failed_ = !deliver(pending_);
  pending_.clear();
}

bool DescriptorOutput::deliver(std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool DescriptorOutput::is_terminal() const { return ::isatty(fd_) == 1; }

std::size_t DescriptorOutput::columns() const {
  winsize size{};
  if (::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

Result<std::size_t> DescriptorInput::read(MutableBytesView into) {
  for (;;) {
    ssize_t got = ::read(fd_, into.data(), into.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return system_error("read from standard input", errno);
  }
}

bool DescriptorInput::is_terminal() const { return ::isatty(fd_) == 1; }

Result<std::size_t> MemoryInput::read(MutableBytesView into) {
  std::size_t count = std::min(into.size(), text_.size() - position_);
  std::memcpy(into.data(), text_.data() + position_, count);
  position_ += count;
  return count;
}

void log_line(Session& session, Level level, std::string_view text, std::string_view logger) {
  std::int64_t now = session.clock.now().value;
  std::time_t seconds = now / 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  session.err.print("[{:04}-{:02}-{:02} {:02}:{:02}:{:02},{:03}] {} {} ({})\n", local.tm_year + 1900, local.tm_mon + 1,
                    local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, now % 1000,
                    level == Level::warn ? "WARN" : "ERROR", text, logger);
}

}  // namespace cordwood::cli
