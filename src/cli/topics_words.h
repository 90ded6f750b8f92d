// cli/topics_words.h — the words of kafka-topics: its options, and which of them go together.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/java_error.h"

namespace cordwood::cli {

extern const Grammar topics_grammar;

// What Kafka's tool looks at before it does anything. An exit code, nothing when all is well, or the exception that it ends with.
Tried<std::optional<int>> check_topics_words(const Command& self, const Options& options, Session& session);

using ReplicaAssignment = std::map<std::int32_t, std::vector<std::int32_t>>;

// "0:1,1:2" as replicas by partition.
Tried<ReplicaAssignment> parse_replica_assignment(std::string_view text);
// "name=value" each.
Tried<std::vector<std::pair<std::string, std::string>>> parse_topic_configs(const std::vector<std::string>& texts);

}  // namespace cordwood::cli
