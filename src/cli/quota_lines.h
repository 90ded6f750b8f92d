// cli/quota_lines.h — users, clients and addresses of kafka-configs: limits and SCRAM credentials.
#pragma once

#include "cli/configs_words.h"
#include "cli/session.h"
#include "client/cluster.h"

namespace cordwood::cli {

// Prints the limits of `entities`, and for users alone their SCRAM credentials.
Tried<std::monostate> describe_quota_entities(client::Cluster& cluster, const ConfigEntities& entities, Session& session);

// Errors: IllegalArgumentException and InvalidConfigurationException for what is no limit; what the broker says.
Tried<std::monostate> alter_quota_entities(client::Cluster& cluster, const ConfigEntities& entities, const Settings& added,
                                           const std::vector<std::string>& deleted, Random& random);

}  // namespace cordwood::cli
