#include "cli/command.h"

namespace cordwood::cli {

extern const Command console_consumer_command;
extern const Command console_producer_command;
extern const Command consumer_perf_test_command;
extern const Command install_links_command;
extern const Command producer_perf_test_command;

std::span<const Command* const> commands() {
  static constexpr const Command* kAll[] = {
      &console_consumer_command,
      &console_producer_command,
      &consumer_perf_test_command,
      &install_links_command,
      &producer_perf_test_command,
  };
  return kAll;
}

}  // namespace cordwood::cli
