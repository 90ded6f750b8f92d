// AlterPartitionReassignments (key 45), versions 0-1: v1 whether the number of replicas may change.
#include <memory>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/metadata/reassignment.h"
#include "protocol/messages/alter_partition_reassignments.h"

namespace cordwood::broker {
namespace {

using protocol::AlterPartitionReassignmentsRequest;
using protocol::AlterPartitionReassignmentsResponse;
using protocol::ErrorCode;

AlterPartitionReassignmentsResponse reassignment_refused(const AlterPartitionReassignmentsRequest& request, ErrorCode code) {
  AlterPartitionReassignmentsResponse response;
  response.allow_replication_factor_change = request.allow_replication_factor_change;
  response.error_code = code;
  return response;
}

AlterPartitionReassignmentsResponse reassignment_answer(const AlterPartitionReassignmentsRequest& request,
                                              const std::vector<metadata::ReassignedTopic>& topics) {
  AlterPartitionReassignmentsResponse response;
  response.allow_replication_factor_change = request.allow_replication_factor_change;
  for (const auto& topic : topics) {
    auto& entry = response.responses.emplace_back();
    entry.name = topic.name;
    for (const auto& partition : topic.partitions) {
      entry.partitions.push_back({partition.index, partition.refusal.code, partition.refusal.message});
    }
  }
  return response;
}

}  // namespace

void handle_alter_partition_reassignments(Broker& broker, Exchange exchange) {
  auto request = std::make_shared<AlterPartitionReassignmentsRequest>();
  if (!exchange.decode(*request)) return;
  if (authorise(exchange, Operation::alter, Resource::cluster, kClusterResource) == Verdict::denied) {
    exchange.answer(reassignment_refused(*request, ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
    return;
  }
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  broker.controller().submit([&broker, request, waiting](const metadata::Image& image) {
    auto decided = metadata::decide_reassignment(image, *request, broker.config().node_id);
    metadata::Controller::Decision decision;
    decision.records = std::move(decided.records);
    decision.done = [request, topics = std::move(decided.topics),
                     waiting](const Result<std::shared_ptr<const metadata::Image>>& outcome) {
      waiting->answer(outcome ? reassignment_answer(*request, topics) : reassignment_refused(*request, ErrorCode::KAFKA_STORAGE_ERROR));
    };
    return decision;
  });
}

}  // namespace cordwood::broker
