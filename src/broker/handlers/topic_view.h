// broker/handlers/topic_view.h — what Metadata and DescribeTopicPartitions tell of brokers and partitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "broker/broker.h"
#include "broker/metadata/image.h"

namespace cordwood::broker {

// Bits of the operations that may be done, when nobody forbids any (Kafka without an authorizer).
inline constexpr std::int32_t kAllTopicOperations = 0xdf8;
inline constexpr std::int32_t kAllClusterOperations = 0x1fa0;
inline constexpr std::int32_t kOperationsNotAsked = INT32_MIN;

// Registered and not fenced.
bool is_alive(const metadata::Image& image, NodeId node);

struct PartitionView {
  protocol::ErrorCode error = protocol::ErrorCode::NONE;
  std::int32_t leader = -1;  // -1 when nobody leads or the leader is not alive
  std::vector<std::int32_t> replicas;
  std::vector<std::int32_t> isr;
  std::vector<std::int32_t> offline;  // replicas on brokers that are not alive, or in directories that failed
};
PartitionView view_of(const metadata::Image& image, const metadata::PartitionState& partition);
// The same, with no leader while the log of the partition is still loading here.
PartitionView view_of(Broker& broker, const metadata::Image& image, std::string_view topic, PartitionId id,
                      const metadata::PartitionState& partition);

std::vector<std::int32_t> node_ids(const std::vector<NodeId>& nodes);

}  // namespace cordwood::broker
