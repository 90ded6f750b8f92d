#include "server/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

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

const char* wait_for_stop_signal() {
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
  return number == SIGTERM ? "SIGTERM" : number == SIGINT ? "SIGINT" : "SIGHUP";
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
