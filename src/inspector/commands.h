// inspector/commands.h — the command that shows a data directory as a page.
#pragma once

#include <span>

#include "cli/command.h"

namespace cordwood::inspector {

std::span<const cli::Command* const> commands();

}  // namespace cordwood::inspector
