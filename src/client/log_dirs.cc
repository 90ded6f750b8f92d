#include "client/log_dirs.h"

#include "client/call.h"
#include "protocol/messages/alter_replica_log_dirs.h"
#include "protocol/messages/describe_log_dirs.h"

namespace cordwood::client {

Outcome<std::vector<LogDir>> describe_log_dirs(Cluster& cluster, std::int32_t broker, std::string_view call) {
  protocol::DescribeLogDirsRequest request;  // of all partitions
  auto answer = ATTEMPT(ask_broker<protocol::DescribeLogDirsResponse>(cluster, broker, call, request));
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

Outcome<std::map<PartitionKey, protocol::ErrorCode>> alter_replica_log_dirs(Cluster& cluster, std::int32_t broker,
                                                                            const std::map<PartitionKey, std::string>& directories) {
  protocol::AlterReplicaLogDirsRequest request;
  std::map<std::string, std::map<std::string, std::vector<std::int32_t>>> by_path;
  for (const auto& [key, path] : directories) by_path[path][key.first].push_back(key.second);
  for (auto& [path, topics] : by_path) {
    auto& directory = request.dirs.emplace_back();
    directory.path = path;
    for (auto& [topic, partitions] : topics) directory.topics.push_back({topic, std::move(partitions)});
  }
  auto answer = ATTEMPT(ask_broker<protocol::AlterReplicaLogDirsResponse>(cluster, broker, "alterReplicaLogDirs", request));
  std::map<PartitionKey, protocol::ErrorCode> codes;
  for (const auto& topic : answer->results) {
    for (const auto& partition : topic.partitions) codes[{topic.topic_name, partition.partition_index}] = partition.error_code;
  }
  return codes;
}

}  // namespace cordwood::client
