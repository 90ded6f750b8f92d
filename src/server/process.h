// server/process.h — what belongs to the process as a whole: signals and limits.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace cordwood::server {

// Blocks the stop signals in this thread and in all that it makes, so that wait_for_stop_signal() gets them; ignores
// SIGPIPE (writes to a peer that is gone answer EPIPE). To be called before the first thread is made.
void take_over_signals();

// Sleeps until SIGTERM, SIGINT or SIGHUP, and answers its number. From then on another SIGTERM or SIGINT ends the process
// at once with exit code 130.
int wait_for_stop_signal();
const char* signal_name(int number);

// Whether one of these signals waits; it is not taken.
bool stop_signal_is_pending();

// How many segments may hold descriptors and mappings at a time: what takes half of the descriptors, the other half being for
// connections and everything else, and three quarters of the mappings (vm.max_map_count).
std::size_t segments_that_may_be_open();

// Ends the process now, with exit code 1: no destructor runs, nothing more is written.
[[noreturn]] void halt();

// The soft limit on open files goes up to the hard one: partitions and connections need one or more each.
void raise_open_files_limit();

}  // namespace cordwood::server
