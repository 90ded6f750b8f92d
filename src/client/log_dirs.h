// client/log_dirs.h — the log directories of a broker and what lies in them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cluster.h"
#include "client/partition_leaders.h"

namespace cordwood::client {

struct LogDir {
  struct Replica {
    PartitionKey partition;
    std::int64_t size = 0;
    std::int64_t offset_lag = 0;
    bool is_future = false;
  };
  std::string path;
  protocol::ErrorCode error = protocol::ErrorCode::NONE;
  std::vector<Replica> replicas;
};

// Of all partitions of the broker. `call` names what it is for.
Outcome<std::vector<LogDir>> describe_log_dirs(Cluster& cluster, std::int32_t broker, std::string_view call = "describeLogDirs");

// Has partitions moved to the directories of these paths; a code for each (NONE: the move has begun).
Outcome<std::map<PartitionKey, protocol::ErrorCode>> alter_replica_log_dirs(Cluster& cluster, std::int32_t broker,
                                                                            const std::map<PartitionKey, std::string>& directories);

}  // namespace cordwood::client
