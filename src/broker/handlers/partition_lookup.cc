#include "broker/handlers/partition_lookup.h"

#include <algorithm>

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;

// For a partition that the metadata knows and the table does not hold. While its log is loading a client does best to
// ask for metadata again, and finds no leader there: as with a broker of Kafka that has not started yet. The same with one
// whose log directory was not there at the start, which nobody leads.
ErrorCode why_not_here(Broker& broker, std::string_view topic, PartitionId partition,
                       const metadata::PartitionState& state) {
  bool ours = std::ranges::find(state.replicas, broker.config().node_id) != state.replicas.end();
  if (!ours || !state.leader || broker.partitions().is_loading(topic, partition)) return ErrorCode::NOT_LEADER_OR_FOLLOWER;
  return ErrorCode::KAFKA_STORAGE_ERROR;
}

}  // namespace

Located locate(Broker& broker, std::string_view topic, PartitionId partition) {
  if (auto found = broker.partitions().find(topic, partition)) return {std::move(found), ErrorCode::NONE};
  auto image = broker.image();
  const metadata::PartitionState* state = image->partition({std::string(topic), partition});
  if (state == nullptr) return {nullptr, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION};
  return {nullptr, why_not_here(broker, topic, partition, *state)};
}

Located locate(Broker& broker, Uuid topic_id, PartitionId partition) {
  if (auto found = broker.partitions().find(topic_id, partition)) return {std::move(found), ErrorCode::NONE};
  auto image = broker.image();
  auto topic = image->topic(topic_id);
  if (!topic) return {nullptr, ErrorCode::UNKNOWN_TOPIC_ID};
  auto state = topic->partitions.find(partition);
  if (state == topic->partitions.end()) return {nullptr, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION};
  return {nullptr, why_not_here(broker, topic->name, partition, state->second)};
}

LeaderHint leader_hint(Broker& broker, const TopicPartition& partition) {
  auto image = broker.image();
  const metadata::PartitionState* state = image->partition(partition);
  if (state == nullptr) return {};
  return {state->leader ? state->leader->value : -1, state->leader_epoch};
}

LeaderHint leader_hint(Broker& broker, Uuid topic_id, PartitionId partition) {
  auto topic = broker.image()->topic(topic_id);
  return topic ? leader_hint(broker, {topic->name, partition}) : LeaderHint{};
}

std::optional<std::pair<std::string, std::int32_t>> endpoint_of(Broker& broker, const protocol::Peer& peer, NodeId node) {
  if (node == broker.config().node_id) return broker.advertised_for(peer);
  auto image = broker.image();
  auto registration = image->brokers.find(node);
  if (registration == image->brokers.end() || registration->second.fenced) return {};
  for (const metadata::Endpoint& endpoint : registration->second.endpoints) {
    if (endpoint.name == peer.listener_name) return std::pair(endpoint.host, std::int32_t{endpoint.port});
  }
  return {};
}

}  // namespace cordwood::broker
