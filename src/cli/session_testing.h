// cli/session_testing.h — a Session in memory: what a command reads, prints and sees is in the test's hands.
#pragma once

#include <atomic>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "cli/command.h"
#include "cli/session.h"
#include "io/memory_file_system.h"

namespace cordwood::cli {

struct TestSession {
  explicit TestSession(std::string stdin_text = "") : in(std::move(stdin_text)) {}

  ManualClock clock;
  SeededRandom random{1};
  io::MemFileSystem files;
  MemoryInput in;
  MemoryOutput out;
  MemoryOutput err;
  std::atomic<bool> interrupted = false;
  CommandList commands{{}};
  Session session{clock, random, files, in, out, err, [](std::string_view) { return std::optional<std::string>(); }, interrupted, "0", commands};
};

}  // namespace cordwood::cli
