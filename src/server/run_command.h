// server/run_command.h — the commands of this binary, by whichever name it was started.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cordwood::server {

// When the program's own name (argv[0]: a link kafka-topics) or its first word (`cordwood topics`) is that of a command,
// runs it and answers its exit code. Nothing when neither is: then the words are the broker's.
// SIGINT and SIGTERM ask the command to end; a second one ends the process.
std::optional<int> run_command(const std::string& program, const std::vector<std::string>& words);

}  // namespace cordwood::server
