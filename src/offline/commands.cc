#include "offline/commands.h"

namespace cordwood::offline {

extern const cli::Command dump_log_command;
extern const cli::Command find_command;

std::span<const cli::Command* const> commands() {
  static constexpr const cli::Command* kAll[] = {
      &dump_log_command,
      &find_command,
  };
  return kAll;
}

}  // namespace cordwood::offline
