#include <fmt/format.h>

#include <map>
#include <set>

#include "broker/metadata/topic_decisions.h"

namespace cordwood::broker::metadata {
namespace {

using protocol::ErrorCode;
using GrowingTopic = protocol::CreatePartitionsRequest::Topic;

std::optional<Refusal> grow(const Image& image, const GrowingTopic& wanted, Placement& placement,
                            std::vector<MetadataRecord>& records) {
  auto topic = image.topic(wanted.name);
  if (topic == nullptr) return Refusal{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, std::nullopt};
  auto present = static_cast<std::int32_t>(topic->partitions.size());
  if (wanted.count == present) {
    return Refusal{ErrorCode::INVALID_PARTITIONS, fmt::format("Topic already has {} partition(s).", present)};
  }
  if (wanted.count < present) {
    return Refusal{ErrorCode::INVALID_PARTITIONS,
                   fmt::format("The topic {} currently has {} partition(s); {} would not be an increase.", wanted.name, present,
                               wanted.count)};
  }
  std::int32_t additional = wanted.count - present;
  if (wanted.assignments && static_cast<std::int64_t>(wanted.assignments->size()) != additional) {
    return Refusal{ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                   fmt::format("Attempted to add {} additional partition(s), but only {} assignment(s) were specified.",
                               additional, wanted.assignments->size())};
  }
  std::size_t factor = topic->partitions.empty() ? 1 : topic->partitions.begin()->second.replicas.size();
  std::vector<std::vector<NodeId>> replicas;
  if (wanted.assignments) {
    for (const auto& assignment : *wanted.assignments) {
      if (auto refusal = placement.check_manual(assignment.broker_ids, factor)) return refusal;
      std::vector<NodeId>& nodes = replicas.emplace_back();
      for (std::int32_t broker : assignment.broker_ids) nodes.push_back(NodeId{broker});
    }
  } else {
    std::vector<NodeId> chosen;
    if (auto refusal = placement.choose(static_cast<std::int32_t>(factor), chosen)) return refusal;
    replicas.assign(static_cast<std::size_t>(additional), chosen);
  }
  std::vector<MetadataRecord> added;
  std::int32_t index = present;
  for (const std::vector<NodeId>& nodes : replicas) {
    if (auto refusal = placement.place(topic->id, PartitionId{index++}, nodes, added)) return refusal;
  }
  for (MetadataRecord& record : added) records.push_back(std::move(record));
  return std::nullopt;
}

}  // namespace

CreatePartitionsDecision decide_create_partitions(const Image& image, const std::vector<GrowingTopic>& topics,
                                                  const TopicRules& rules) {
  CreatePartitionsDecision decision;
  std::map<std::string, int> times;
  std::int64_t additional = 0;
  for (const GrowingTopic& topic : topics) {
    ++times[topic.name];
    auto present = image.topic(topic.name);
    std::int64_t size = present ? static_cast<std::int64_t>(present->partitions.size()) : 0;
    if (present && topic.count > size) additional += topic.count - size;
  }
  Placement placement(image, rules.us, rules.directories);
  std::set<std::string> answered;
  for (const GrowingTopic& topic : topics) {
    if (!answered.insert(topic.name).second) continue;
    std::optional<Refusal> refusal;
    if (times[topic.name] > 1) {
      refusal = Refusal{ErrorCode::INVALID_REQUEST, "Duplicate topic name."};
    } else if (additional > kMostPartitionsPerRequest) {
      refusal = Refusal{ErrorCode::POLICY_VIOLATION, "Excessively large number of additional partitions per request."};
    } else {
      refusal = grow(image, topic, placement, decision.records);
    }
    decision.topics.push_back({topic.name, refusal.value_or(Refusal{})});
  }
  return decision;
}

}  // namespace cordwood::broker::metadata
