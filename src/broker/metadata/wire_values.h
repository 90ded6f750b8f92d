// broker/metadata/wire_values.h — what some fields of metadata records say by a number. Internal to metadata/.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.h"

namespace cordwood::broker::metadata {

inline constexpr std::int32_t kNoLeader = -1;
// BrokerRegistrationChangeRecord: fenced, and in_controlled_shutdown. 0 leaves either as it is.
inline constexpr std::int8_t kFence = 1;
inline constexpr std::int8_t kUnfence = -1;
inline constexpr std::int8_t kEnterControlledShutdown = 1;

inline std::vector<std::int32_t> ids(const std::vector<NodeId>& nodes) {
  std::vector<std::int32_t> result;
  result.reserve(nodes.size());
  for (NodeId node : nodes) result.push_back(node.value);
  return result;
}

}  // namespace cordwood::broker::metadata
