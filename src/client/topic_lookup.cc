#include "client/topic_lookup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "protocol/messages/metadata.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

// The last version that asks for topics by name alone.
constexpr std::int16_t kNewestMetadata = 12;
// A broker does not send more; whoever does is not followed.
constexpr std::int32_t kMostPartitions = 1'000'000;

std::optional<TopicPartitions> partitions_of(const protocol::MetadataResponse::Topic& topic) {
  TopicPartitions known;
  known.is_internal = topic.is_internal;
  for (const auto& partition : topic.partitions) {
    if (partition.partition_index < 0 || partition.partition_index >= kMostPartitions) return {};
    auto index = static_cast<std::size_t>(partition.partition_index);
    if (index >= known.partitions.size()) known.partitions.resize(index + 1);
    known.partitions[index] = {partition.leader_id, partition.leader_epoch};
    if (partition.leader_id >= 0) known.available.push_back(partition.partition_index);
  }
  return known;
}

}  // namespace

const Node* Lookup::leader_of(const TopicPartition& partition) const {
  auto topic = topics.find(partition.topic);
  if (topic == topics.end() || partition.partition.value < 0) return nullptr;
  auto index = static_cast<std::size_t>(partition.partition.value);
  if (index >= topic->second.partitions.size()) return nullptr;
  auto node = nodes.find(topic->second.partitions[index].leader);
  return node == nodes.end() ? nullptr : &node->second;
}

Outcome<Lookup> look_up(Cluster& cluster, const std::optional<std::vector<std::string>>& topics, bool create,
                        MonotonicNs deadline) {
  Link* link = ATTEMPT(cluster.any("metadata", deadline));
  protocol::MetadataRequest request;
  request.allow_auto_topic_creation = create;
  if (topics) {
    request.topics.emplace();
    for (const std::string& topic : *topics) request.topics->push_back({{}, topic});
  }
  auto answer = ATTEMPT(link->ask<protocol::MetadataResponse>(request, kNewestMetadata));
  Lookup lookup;
  // Ours count from 1.
  lookup.correlation_id = link->connection().last_correlation_id() - 1;
  if (answer->error_code != ErrorCode::NONE) return failure_of(answer->error_code);
  for (const auto& broker : answer->brokers) {
    lookup.nodes[broker.node_id] = {broker.node_id, broker.host, broker.port, broker.rack};
  }
  for (const auto& topic : answer->topics) {
    std::string name = topic.name.value_or("");
    auto partitions = partitions_of(topic);
    ErrorCode code = partitions ? topic.error_code : ErrorCode::UNKNOWN_SERVER_ERROR;
    if (code == ErrorCode::NONE) {
      lookup.topics[name] = *std::move(partitions);
    } else {
      lookup.mistakes.push_back({name, code});
    }
  }
  return lookup;
}

std::string to_text(const std::vector<TopicMistake>& mistakes) {
  std::vector<std::string> parts;
  for (const TopicMistake& mistake : mistakes) parts.push_back(fmt::format("{}={}", mistake.topic, protocol::name_of(mistake.code)));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace cordwood::client
