// io/posix_calls_testing.h — the system calls of a test program, interrupted, cut short or refused on purpose.
//
// Linking posix_calls_testing.cc defines open, pread, pwritev, ftruncate, fallocate, fdatasync, fsync and close in the program itself,
// so that PosixFileSystem reaches these and not libc's. Without a DisturbedCalls alive they do what they always do.
//
// One at a time; calls of any thread are disturbed and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace cordwood::io {

struct Disturbance {
  // Each call answers EINTR so often before it is let through (close(2) does its work and answers EINTR, as Linux would).
  int interruptions = 0;
  // So many bytes of a pread or pwritev are done at most; 0 has pwritev answer that it wrote nothing.
  std::size_t at_most = SIZE_MAX;
  // The calls from this one on (the first that is let through is 1) are refused with `sys_errno`. 0: none.
  std::int64_t fail_from = 0;
  int sys_errno = 0;
  std::string only;  // the name of the one function that is refused, counted alone; empty: all
};

class DisturbedCalls {
 public:
  explicit DisturbedCalls(Disturbance disturbance);
  ~DisturbedCalls();
  DisturbedCalls(const DisturbedCalls&) = delete;
  DisturbedCalls& operator=(const DisturbedCalls&) = delete;

  // By function: how often it was called, interrupted ones included.
  std::map<std::string, std::int64_t> calls() const;
  bool has_refused() const;
};

}  // namespace cordwood::io
