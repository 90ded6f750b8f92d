#include "offline/commands.h"

#include <array>

namespace cordwood::offline {

extern const cli::Command dump_log_command;
extern const cli::Command storage_command;
extern const cli::Command verify_command;

std::span<const cli::Command* const> commands() {
  static constexpr std::array all = {
      &dump_log_command,
      &storage_command,
      &verify_command,
  };
  return all;
}

}  // namespace cordwood::offline
