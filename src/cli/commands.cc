#include "cli/command.h"

namespace cordwood::cli {

extern const Command consumer_groups_command;
extern const Command install_links_command;
extern const Command transactions_command;

std::span<const Command* const> commands() {
  static constexpr const Command* kAll[] = {
      &consumer_groups_command,
      &install_links_command,
      &transactions_command,
  };
  return kAll;
}

}  // namespace cordwood::cli
