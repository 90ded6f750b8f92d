// server/server_commands.h — kafka-server-start and kafka-server-stop, which only the program itself can be.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace cordwood::server {

std::span<const cli::Command* const> server_commands();

// Whether a process with this command line (its words, the program first) is a broker of Cordwood.
bool is_broker_command_line(const std::vector<std::string>& words);

}  // namespace cordwood::server
