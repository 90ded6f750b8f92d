#include "cli/command.h"

namespace cordwood::cli {

extern const Command install_links_command;
extern const Command topics_command;

std::span<const Command* const> commands() {
  static constexpr const Command* kAll[] = {
      &install_links_command,
      &topics_command,
  };
  return kAll;
}

}  // namespace cordwood::cli
