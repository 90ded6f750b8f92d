// client/reassignments.h — replicas on their way from brokers to brokers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/types.h"
#include "client/cluster.h"
#include "client/partition_leaders.h"

namespace cordwood::client {

struct Reassignment {
  std::vector<std::int32_t> replicas;
  std::vector<std::int32_t> adding;
  std::vector<std::int32_t> removing;
};

// Those that go on among `partitions`, or (nothing) all of the cluster.
Outcome<std::map<PartitionKey, Reassignment>> list_reassignments(Cluster& cluster,
                                                                 const std::optional<std::vector<PartitionKey>>& partitions);

// Where replicas shall go; nothing gives up what goes on.
using ReassignmentTargets = std::map<PartitionKey, std::optional<std::vector<std::int32_t>>>;
enum class ReplicationFactor { may_change, stays };

// Begins them, and answers which were refused and why. UNSUPPORTED_VERSION for all where the factor must stay and the broker cannot
// see to it.
Outcome<std::map<PartitionKey, Failure>> alter_reassignments(Cluster& cluster, const ReassignmentTargets& targets,
                                                             ReplicationFactor factor);

}  // namespace cordwood::client
