// cli/refused_tools.h — Kafka's scripts that have no counterpart here.
#pragma once

#include <span>

#include "cli/command.h"

namespace cordwood::cli {

// Each runs to a sentence on stderr and the exit code 1.
std::span<const Command> refused_commands();

}  // namespace cordwood::cli
