// client/log_dirs.h — the log directories of a broker and what lies in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

Outcome<std::vector<LogDir>> describe_log_dirs(Cluster& cluster, std::int32_t broker);

}  // namespace cordwood::client
