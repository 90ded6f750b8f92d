#include "client/log_dirs.h"

#include "client/call.h"
#include "protocol/messages/describe_log_dirs.h"

namespace cordwood::client {

Outcome<std::vector<LogDir>> describe_log_dirs(Cluster& cluster, std::int32_t broker) {
  protocol::DescribeLogDirsRequest request;  // of all partitions
  auto answer = ATTEMPT(ask_broker<protocol::DescribeLogDirsResponse>(cluster, broker, "describeLogDirs", request));
  if (answer->error_code != protocol::ErrorCode::NONE) return failure_of(answer->error_code);
  std::vector<LogDir> directories;
  for (const auto& result : answer->results) {
    LogDir& directory = directories.emplace_back(result.log_dir, result.error_code, std::vector<LogDir::Replica>());
    for (const auto& topic : result.topics) {
      for (const auto& partition : topic.partitions) {
        directory.replicas.push_back({{topic.name, partition.partition_index}, partition.partition_size, partition.offset_lag,
                                      partition.is_future_key});
      }
    }
  }
  return directories;
}

}  // namespace cordwood::client
