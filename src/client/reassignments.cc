#include "client/reassignments.h"

#include "client/call.h"
#include "protocol/messages/alter_partition_reassignments.h"
#include "protocol/messages/list_partition_reassignments.h"

namespace cordwood::client {

Outcome<std::map<PartitionKey, Reassignment>> list_reassignments(Cluster& cluster,
                                                                 const std::optional<std::vector<PartitionKey>>& partitions) {
  protocol::ListPartitionReassignmentsRequest request;
  if (partitions) {
    std::map<std::string, std::vector<std::int32_t>> by_topic;
    for (const auto& [topic, partition] : *partitions) by_topic[topic].push_back(partition);
    request.topics.emplace();
    for (auto& [topic, numbers] : by_topic) request.topics->push_back({topic, std::move(numbers)});
  }
  auto answer = ATTEMPT(
      ask_controller<protocol::ListPartitionReassignmentsResponse>(cluster, "listPartitionReassignments", request));
  if (answer->error_code != protocol::ErrorCode::NONE) return failure_of(answer->error_code, answer->error_message);
  std::map<PartitionKey, Reassignment> found;
  for (const auto& topic : answer->topics) {
    for (const auto& partition : topic.partitions) {
      found[{topic.name, partition.partition_index}] = {partition.replicas, partition.adding_replicas, partition.removing_replicas};
    }
  }
  return found;
}

Outcome<std::map<PartitionKey, Failure>> alter_reassignments(Cluster& cluster, const ReassignmentTargets& targets,
                                                             ReplicationFactor factor) {
  protocol::AlterPartitionReassignmentsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(cluster.options().request_timeout.value);
  request.allow_replication_factor_change = factor == ReplicationFactor::may_change;
  for (const auto& [key, replicas] : targets) {
    if (request.topics.empty() || request.topics.back().name != key.first) request.topics.push_back({key.first, {}});
    request.topics.back().partitions.push_back({key.second, replicas});
  }
  auto answer = ATTEMPT(
      ask_controller<protocol::AlterPartitionReassignmentsResponse>(cluster, "alterPartitionReassignments", request));
  if (answer->error_code != protocol::ErrorCode::NONE) return failure_of(answer->error_code, answer->error_message);
  std::map<PartitionKey, Failure> refused;
  for (const auto& topic : answer->responses) {
    for (const auto& partition : topic.partitions) {
      if (partition.error_code == protocol::ErrorCode::NONE) continue;
      refused[{topic.name, partition.partition_index}] = failure_of(partition.error_code, partition.error_message);
    }
  }
  return refused;
}

}  // namespace cordwood::client
