// client/partition_leaders.h — what only a partition's leader can answer, asked of the leaders of many partitions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/cluster.h"

namespace cordwood::client {

using PartitionKey = std::pair<std::string, std::int32_t>;

// Asks one leader about these partitions of its own, and answers an error code for each (NONE: done); a failure is that of all.
using AskLeader = std::function<Outcome<std::map<PartitionKey, protocol::ErrorCode>>(Link&, const std::vector<PartitionKey>&)>;

// What became of each partition: code NONE, or why not. Leaders are looked up, and partitions that moved or do not exist yet are
// asked for again, until the time is over.
std::map<PartitionKey, Failure> ask_leaders(Cluster& cluster, std::string_view call, const std::vector<PartitionKey>& partitions,
                                            const AskLeader& ask);

}  // namespace cordwood::client
