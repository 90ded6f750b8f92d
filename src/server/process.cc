#include "server/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/check.h"

namespace cordwood::server {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGHUP);
  return set;
}

void end_at_once(int) { ::_exit(130); }

}  // namespace

void take_over_signals() {
  sigset_t set = stop_signals();
  CHECK(::pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0, "pthread_sigmask");
  ::signal(SIGPIPE, SIG_IGN);
}

int wait_for_stop_signal() {
  sigset_t set = stop_signals();
  int number = 0;
  CHECK(::sigwait(&set, &number) == 0, "sigwait");

  struct sigaction action{};
  action.sa_handler = end_at_once;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  sigset_t impatient;
  ::sigemptyset(&impatient);
  ::sigaddset(&impatient, SIGTERM);
  ::sigaddset(&impatient, SIGINT);
  ::pthread_sigmask(SIG_UNBLOCK, &impatient, nullptr);
  return number;
}

const char* signal_name(int number) { return number == SIGTERM ? "SIGTERM" : number == SIGINT ? "SIGINT" : "SIGHUP"; }

bool stop_signal_is_pending() {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return false;
  return ::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1 ||
         ::sigismember(&pending, SIGHUP) == 1;
}

std::size_t segments_that_may_be_open() {
  constexpr std::size_t kMappingsOfASegment = 2;
  std::size_t mappings = 65'530;  // the kernel's default
  std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
  std::size_t segments = mappings / 4 * 3 / kMappingsOfASegment;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
    segments = std::min<std::size_t>(segments, files.rlim_cur / 2);
  }
  return std::max<std::size_t>(segments, 16);
}

void halt() { ::_exit(1); }

void raise_open_files_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  // Refused, the broker runs with what it has.
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace cordwood::server
