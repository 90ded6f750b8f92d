// offline/commands.h — the commands that read, and some that write, data directories without a broker.
#pragma once

#include <span>

#include "cli/command.h"

namespace cordwood::offline {

// Each lies in a file of its own, as `const cli::Command <name>_command`.
std::span<const cli::Command* const> commands();

}  // namespace cordwood::offline
