// server/run_command.h — the commands of this binary, by whichever name it was started.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordwood::server {

// When the program's own name (argv[0]: a link kafka-topics) or its first word (`cordwood topics`) is that of a command,
// runs it and answers its exit code; --help is the command help. Nothing when neither is: then the words are the broker's.
// SIGINT and SIGTERM ask the command to end; a second one ends the process.
std::optional<int> run_command(const std::string& program, const std::vector<std::string>& words);

// The names of commands nearest to a misspelt one, best first; `broker` and `version` among them.
std::vector<std::string> commands_near(std::string_view misspelt);

}  // namespace cordwood::server
