#include "cli/command.h"
#include "cli/refused_tools.h"

namespace cordwood::cli {

extern const Command broker_api_versions_command;
extern const Command cluster_command;
extern const Command completion_command;
extern const Command configs_command;
extern const Command console_consumer_command;
extern const Command console_producer_command;
extern const Command consumer_groups_command;
extern const Command consumer_perf_test_command;
extern const Command delete_records_command;
extern const Command e2e_latency_command;
extern const Command features_command;
extern const Command get_offsets_command;
extern const Command groups_command;
extern const Command help_command;
extern const Command install_links_command;
extern const Command leader_election_command;
extern const Command log_dirs_command;
extern const Command man_command;
extern const Command metadata_quorum_command;
extern const Command producer_perf_test_command;
extern const Command reassign_partitions_command;
extern const Command topics_command;
extern const Command transactions_command;

std::span<const Command* const> commands() {
  static constexpr const Command* kAll[] = {
      &broker_api_versions_command,
      &cluster_command,
      &completion_command,
      &configs_command,
      &console_consumer_command,
      &console_producer_command,
      &consumer_groups_command,
      &consumer_perf_test_command,
      &delete_records_command,
      &e2e_latency_command,
      &features_command,
      &get_offsets_command,
      &groups_command,
      &help_command,
      &install_links_command,
      &leader_election_command,
      &log_dirs_command,
      &man_command,
      &metadata_quorum_command,
      &producer_perf_test_command,
      &reassign_partitions_command,
      &topics_command,
      &transactions_command,
  };
  static const std::vector<const Command*> all = [] {
    std::vector<const Command*> list(std::begin(kAll), std::end(kAll));
    for (const Command& command : refused_commands()) list.push_back(&command);
    return list;
  }();
  return all;
}

}  // namespace cordwood::cli
