#include "offline/commands.h"

namespace cordwood::offline {

std::span<const cli::Command* const> commands() { return {}; }

}  // namespace cordwood::offline
