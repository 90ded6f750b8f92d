#include "broker/metadata/reassignment.h"

#include <fmt/format.h>

#include <algorithm>

namespace cordwood::broker::metadata {
namespace {

using protocol::ErrorCode;
using Request = protocol::AlterPartitionReassignmentsRequest;
using Nodes = std::vector<NodeId>;

bool among(const Nodes& nodes, NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); }

Nodes those_in(const Nodes& nodes, const Nodes& wanted) {
  Nodes result;
  std::ranges::copy_if(nodes, std::back_inserter(result), [&](NodeId node) { return among(wanted, node); });
  return result;
}

Nodes those_not_in(const Nodes& nodes, const Nodes& unwanted) {
  Nodes result;
  std::ranges::copy_if(nodes, std::back_inserter(result), [&](NodeId node) { return !among(unwanted, node); });
  return result;
}

std::vector<std::int32_t> wire_ids(const Nodes& nodes) {
  std::vector<std::int32_t> result;
  for (NodeId node : nodes) result.push_back(node.value);
  return result;
}

// The lists of a partition's replicas: before and after.
struct Replicas {
  Nodes replicas;
  Nodes isr;
  Nodes adding;
  Nodes removing;
};

// `target` is reached when all that come are in sync, and somebody who stays is.
Replicas on_the_way_to(const Nodes& target, const PartitionState& partition) {
  Nodes original = those_not_in(partition.replicas, partition.adding_replicas);
  Replicas next{target, those_in(partition.isr, target), those_not_in(target, original), those_not_in(original, target)};
  bool reached = !next.isr.empty() && those_not_in(next.adding, partition.isr).empty();
  if (reached) {
    next.adding.clear();
    next.removing.clear();
    return next;
  }
  std::ranges::sort(next.adding);
  std::ranges::sort(next.removing);
  next.replicas.insert(next.replicas.end(), next.removing.begin(), next.removing.end());
  next.isr = partition.isr;
  return next;
}

std::optional<PartitionChangeRecord> change_to(const Replicas& next, const TopicState& topic, PartitionId index,
                                               const PartitionState& partition) {
  PartitionChangeRecord change;
  change.partition_id = index.value;
  change.topic_id = topic.id;
  bool changes = false;
  auto set = [&](std::optional<std::vector<std::int32_t>>& field, const Nodes& now, const Nodes& then) {
    if (now == then) return;
    field = wire_ids(then);
    changes = true;
  };
  set(change.replicas, partition.replicas, next.replicas);
  set(change.isr, partition.isr, next.isr);
  set(change.adding_replicas, partition.adding_replicas, next.adding);
  set(change.removing_replicas, partition.removing_replicas, next.removing);
  set(change.eligible_leader_replicas, partition.eligible_leader_replicas, those_in(partition.eligible_leader_replicas, next.replicas));
  set(change.last_known_elr, partition.last_known_elr, those_in(partition.last_known_elr, next.replicas));
  if (!changes) return std::nullopt;
  // Who lost a replica must learn of it: a new leader epoch. A leader that goes hands over to one in sync.
  bool shrinks = !those_not_in(partition.replicas, next.replicas).empty();
  if (partition.leader && (shrinks || !among(next.isr, *partition.leader))) {
    change.leader = among(next.isr, *partition.leader) ? partition.leader->value : next.isr.front().value;
  }
  return change;
}

std::optional<Refusal> reassign(const Request& request, const Request::Partition& wanted, const Image& image,
                                const TopicState& topic, const Placement& placement, std::vector<MetadataRecord>& records) {
  PartitionId index{wanted.partition_index};
  auto at = topic.partitions.find(index);
  if (at == topic.partitions.end()) {
    return Refusal{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("Unable to find partition {}:{}.", topic.name, index)};
  }
  const PartitionState& partition = at->second;
  Nodes original = those_not_in(partition.replicas, partition.adding_replicas);
  Replicas next;
  if (wanted.replicas) {
    if (auto refusal = placement.check_manual(*wanted.replicas, std::nullopt)) return refusal;
    Nodes target;
    for (std::int32_t id : *wanted.replicas) target.push_back(NodeId{id});
    if (!request.allow_replication_factor_change && target.size() != original.size()) {
      return Refusal{ErrorCode::INVALID_REPLICATION_FACTOR,
                     fmt::format("The replication factor is changed from {} to {}", original.size(), target.size())};
    }
    next = on_the_way_to(target, partition);
  } else {
    if (!is_reassigned(partition)) return Refusal{ErrorCode::NO_REASSIGNMENT_IN_PROGRESS, std::nullopt};
    next = {original, those_in(partition.isr, original), {}, {}};
    if (next.isr.empty() && !partition.isr.empty()) {
      return Refusal{ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                     fmt::format("Unable to revert partition assignment for {}:{} because it would require an unclean leader election.",
                                 topic.name, index)};
    }
  }
  if (auto change = change_to(next, topic, index, partition)) records.push_back(record_for(image.metadata_version(), *std::move(change)));
  return std::nullopt;
}

}  // namespace

ReassignmentDecision decide_reassignment(const Image& image, const Request& request, NodeId us) {
  ReassignmentDecision decision;
  Placement placement(image, us, {});
  for (const auto& wanted : request.topics) {
    ReassignedTopic& answer = decision.topics.emplace_back(wanted.name, std::vector<ReassignedTopic::Partition>());
    auto topic = image.topic(wanted.name);
    for (const auto& partition : wanted.partitions) {
      std::optional<Refusal> refusal;
      if (topic == nullptr) {
        refusal = Refusal{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("Unable to find a topic named {}.", wanted.name)};
      } else {
        refusal = reassign(request, partition, image, *topic, placement, decision.records);
      }
      answer.partitions.push_back({partition.partition_index, refusal.value_or(Refusal{})});
    }
  }
  return decision;
}

}  // namespace cordwood::broker::metadata
