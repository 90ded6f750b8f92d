// AlterReplicaLogDirs (key 34), versions 1-2: v2 flexible.
//
// Each partition is to lie in the log directory that it is named under. The answer says that the move has begun; how far it
// is DescribeLogDirs tells (is_future_key). To name the directory where the partition lies gives an earlier move up.
#include <map>
#include <string>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/partition_lookup.h"
#include "protocol/messages/alter_replica_log_dirs.h"

namespace cordwood::broker {
namespace {

using protocol::AlterReplicaLogDirsRequest;
using protocol::AlterReplicaLogDirsResponse;
using protocol::ErrorCode;

// A directory that was configured by a relative path has an absolute one too.
bool names(Broker& broker, const std::string& path, const io::Path& directory) {
  if (path == directory) return true;
  if (!path.starts_with('/') || directory.starts_with('/')) return false;
  Result<io::Path> canonical = broker.environment().fs->canonical(directory);
  return canonical && *canonical == path;
}

ErrorCode move(Broker& broker, const std::string& path, const TopicPartition& name) {
  const std::vector<storage::LogDirectory> directories = broker.logs().directories();
  std::size_t index = 0;
  while (index < directories.size() && !names(broker, path, directories[index].path)) ++index;
  if (index == directories.size()) return ErrorCode::LOG_DIR_NOT_FOUND;
  if (directories[index].offline) return ErrorCode::KAFKA_STORAGE_ERROR;
  const Located located = locate(broker, name.topic, name.partition);
  if (!located.partition) {
    // Another broker has it.
    if (located.error == ErrorCode::NOT_LEADER_OR_FOLLOWER) return ErrorCode::REPLICA_NOT_AVAILABLE;
    return located.error;
  }
  Result<void> begun = broker.log_mover().move(name, index);
  if (begun) return ErrorCode::NONE;
  switch (begun.error().code) {
    case Errc::limit: return ErrorCode::INVALID_TOPIC_EXCEPTION;
    default: return ErrorCode::KAFKA_STORAGE_ERROR;
  }
}

}  // namespace

void handle_alter_replica_log_dirs(Broker& broker, Exchange exchange) {
  AlterReplicaLogDirsRequest request;
  if (!exchange.decode(request)) return;
  const bool denied = authorise(exchange, Operation::alter, Resource::cluster, kClusterResource) == Verdict::denied;
  // A partition that is named under several directories goes to the last of them, and is answered once.
  std::map<std::string, std::map<std::int32_t, std::string>> wanted;
  for (const auto& dir : request.dirs) {
    for (const auto& topic : dir.topics) {
      for (std::int32_t partition : topic.partitions) wanted[topic.name][partition] = dir.path;
    }
  }
  AlterReplicaLogDirsResponse response;
  for (const auto& [topic, partitions] : wanted) {
    auto& answer = response.results.emplace_back();
    answer.topic_name = topic;
    for (const auto& [index, path] : partitions) {
      auto& result = answer.partitions.emplace_back();
      result.partition_index = index;
      result.error_code = denied ? ErrorCode::CLUSTER_AUTHORIZATION_FAILED : move(broker, path, {topic, PartitionId{index}});
    }
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
