// ListPartitionReassignments (key 46), version 0: partitions whose replicas change, among those named or (null) of all topics. What
// is not there, and what does not change, is left out.
#include <set>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/metadata/reassignment.h"
#include "protocol/messages/list_partition_reassignments.h"

namespace cordwood::broker {
namespace {

using protocol::ListPartitionReassignmentsRequest;
using protocol::ListPartitionReassignmentsResponse;

std::vector<std::int32_t> ids_of(const std::vector<NodeId>& nodes) {
  std::vector<std::int32_t> result;
  for (NodeId node : nodes) result.push_back(node.value);
  return result;
}

// `only`: null for all partitions of the topic.
void add_topic(const metadata::TopicState& topic, const std::vector<std::int32_t>* only, ListPartitionReassignmentsResponse& response) {
  std::set<std::int32_t> wanted;
  if (only != nullptr) wanted.insert(only->begin(), only->end());
  ListPartitionReassignmentsResponse::Topic entry;
  entry.name = topic.name;
  for (const auto& [index, partition] : topic.partitions) {
    if (!metadata::is_reassigned(partition) || (only != nullptr && !wanted.contains(index.value))) continue;
    entry.partitions.push_back(
        {index.value, ids_of(partition.replicas), ids_of(partition.adding_replicas), ids_of(partition.removing_replicas)});
  }
  if (!entry.partitions.empty()) response.topics.push_back(std::move(entry));
}

}  // namespace

void handle_list_partition_reassignments(Broker& broker, Exchange exchange) {
  ListPartitionReassignmentsRequest request;
  if (!exchange.decode(request)) return;
  ListPartitionReassignmentsResponse response;
  if (authorise(exchange, Operation::describe, Resource::cluster, kClusterResource) == Verdict::denied) {
    response.error_code = protocol::ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
    exchange.answer(response);
    return;
  }
  std::shared_ptr<const metadata::Image> image = broker.image();
  if (request.topics) {
    for (const auto& wanted : *request.topics) {
      if (auto topic = image->topic(wanted.name)) add_topic(*topic, &wanted.partition_indexes, response);
    }
  } else {
    for (const auto& [name, topic] : image->topics) add_topic(*topic, nullptr, response);
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
