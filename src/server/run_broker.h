// server/run_broker.h — the stand-alone broker: makes every object, joins them, and takes them down in order.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "server/command_line.h"

namespace cordwood::server {

// Starts a broker, prints one line on stdout when requests succeed, and returns after a stop signal and a clean stop.
// `began` is when the process did. Answers the exit code: 0, or 128 plus the signal that stopped it while it was still
// loading. Errors: why it could not start, or why the stop was not clean.
Result<int> run_broker(const RunBroker& command, Clock& clock, MonotonicNs began);

}  // namespace cordwood::server
