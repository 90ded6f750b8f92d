#include "io/posix_calls_testing.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/check.h"

namespace cordwood::io {
namespace {

struct Plan {
  std::mutex mu;
  bool active = false;
  Disturbance disturbance;
  std::map<std::string, std::int64_t> calls;
  std::map<std::string, int> interrupted;  // of the call that is being repeated
  std::int64_t let_through = 0;
  bool refused = false;
};

Plan& plan() {
  static Plan the_plan;
  return the_plan;
}

// Whether the call is answered here, with errno set.
bool is_disturbed(const char* name) {
  Plan& p = plan();
  std::lock_guard lock(p.mu);
  if (!p.active) return false;
  ++p.calls[name];
  int& interrupted = p.interrupted[name];
  if (interrupted < p.disturbance.interruptions) {
    ++interrupted;
    errno = EINTR;
    return true;
  }
  interrupted = 0;
  if (p.disturbance.fail_from == 0 || (!p.disturbance.only.empty() && p.disturbance.only != name)) return false;
  if (++p.let_through < p.disturbance.fail_from) return false;
  p.refused = true;
  errno = p.disturbance.sys_errno;
  return true;
}

std::size_t at_most(std::size_t size) {
  Plan& p = plan();
  std::lock_guard lock(p.mu);
  return p.active ? std::min(size, p.disturbance.at_most) : size;
}

int open_file(const char* path, int flags, va_list more) {
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

}  // namespace

DisturbedCalls::DisturbedCalls(Disturbance disturbance) {
  Plan& p = plan();
  std::lock_guard lock(p.mu);
  CHECK(!p.active, "one disturbance at a time");
  p.active = true;
  p.disturbance = std::move(disturbance);
  p.calls.clear();
  p.interrupted.clear();
  p.let_through = 0;
  p.refused = false;
}

DisturbedCalls::~DisturbedCalls() {
  Plan& p = plan();
  std::lock_guard lock(p.mu);
  p.active = false;
}

std::map<std::string, std::int64_t> DisturbedCalls::calls() const {
  std::lock_guard lock(plan().mu);
  return plan().calls;
}

bool DisturbedCalls::has_refused() const {
  std::lock_guard lock(plan().mu);
  return plan().refused;
}

}  // namespace cordwood::io

using cordwood::io::at_most;
using cordwood::io::is_disturbed;

extern "C" {

int open(const char* path, int flags, ...) {
  if (is_disturbed("open")) return -1;
  va_list more;
  va_start(more, flags);
  const int fd = cordwood::io::open_file(path, flags, more);
  va_end(more);
  return fd;
}

ssize_t pread(int fd, void* into, size_t size, off_t at) {
  if (is_disturbed("pread")) return -1;
  return ::syscall(SYS_pread64, fd, into, at_most(size), at);
}

ssize_t pwritev(int fd, const iovec* pieces, int count, off_t at) {
  if (is_disturbed("pwritev")) return -1;
  size_t size = 0;
  for (int i = 0; i < count; ++i) size += pieces[i].iov_len;
  const size_t limit = at_most(size);
  if (limit == size) return ::syscall(SYS_pwritev, fd, pieces, count, at, 0);
  ssize_t written = 0;
  for (int i = 0; i < count && static_cast<size_t>(written) < limit; ++i) {
    const ssize_t one = ::syscall(SYS_pwrite64, fd, pieces[i].iov_base,
                                  std::min(pieces[i].iov_len, limit - static_cast<size_t>(written)), at + written);
    if (one < 0) return written > 0 ? written : one;
    written += one;
  }
  return written;
}

int ftruncate(int fd, off_t size) noexcept {
  return is_disturbed("ftruncate") ? -1 : static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}

int fallocate(int fd, int mode, off_t from, off_t size) {
  return is_disturbed("fallocate") ? -1 : static_cast<int>(::syscall(SYS_fallocate, fd, mode, from, size));
}

int fdatasync(int fd) { return is_disturbed("fdatasync") ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd)); }

int fsync(int fd) { return is_disturbed("fsync") ? -1 : static_cast<int>(::syscall(SYS_fsync, fd)); }

int close(int fd) {
  const bool disturbed = is_disturbed("close");
  const int failure = errno;
  const int answer = static_cast<int>(::syscall(SYS_close, fd));
  if (!disturbed) return answer;
  errno = failure;
  return -1;
}

}  // extern "C"
