// broker/handlers/partition_lookup.h — from what a request names to a partition of ours, or the code that says why not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "broker/broker.h"
#include "broker/exchange.h"
#include "broker/partition.h"
#include "protocol/error_code.h"

namespace cordwood::broker {

struct Located {
  std::shared_ptr<Partition> partition;  // null when there is an error
  protocol::ErrorCode error = protocol::ErrorCode::NONE;
};

// UNKNOWN_TOPIC_OR_PARTITION (3); KAFKA_STORAGE_ERROR (56) when it should be here and its log could not be opened;
// NOT_LEADER_OR_FOLLOWER (6) when it lives elsewhere, is still loading, or has no leader. Of one that is here it is not looked at whether
// we lead it.
Located locate(Broker& broker, std::string_view topic, PartitionId partition);
// Likewise; UNKNOWN_TOPIC_ID (100) for an id that no topic has.
Located locate(Broker& broker, Uuid topic_id, PartitionId partition);

// Who leads, for a client that asked the wrong broker (KIP-951).
struct LeaderHint {
  std::int32_t leader_id = -1;
  std::int32_t leader_epoch = -1;
};
LeaderHint leader_hint(Broker& broker, const TopicPartition& partition);
LeaderHint leader_hint(Broker& broker, Uuid topic_id, PartitionId partition);

// Host and port of a broker on the listener of this connection. Nothing when it has none.
std::optional<std::pair<std::string, std::int32_t>> endpoint_of(Broker& broker, const protocol::Peer& peer, NodeId node);

// Adds the hinted leader to an answer's list of nodes, once.
template <class NodeEndpoint>
void add_node_endpoint(Broker& broker, const protocol::Peer& peer, std::int32_t node_id,
                       std::vector<NodeEndpoint>& nodes) {
  if (node_id < 0) return;
  for (const NodeEndpoint& node : nodes) {
    if (node.node_id == node_id) return;
  }
  auto endpoint = endpoint_of(broker, peer, NodeId{node_id});
  if (!endpoint) return;
  NodeEndpoint& node = nodes.emplace_back();
  node.node_id = node_id;
  node.host = std::move(endpoint->first);
  node.port = endpoint->second;
  auto image = broker.image();
  auto at = image->brokers.find(NodeId{node_id});
  if (at != image->brokers.end()) node.rack = at->second.rack;
}

}  // namespace cordwood::broker
