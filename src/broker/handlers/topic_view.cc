#include "broker/handlers/topic_view.h"

#include <algorithm>

namespace cordwood::broker {

using protocol::ErrorCode;

bool is_alive(const metadata::Image& image, NodeId node) {
  auto at = image.brokers.find(node);
  return at != image.brokers.end() && !at->second.fenced;
}

std::vector<std::int32_t> node_ids(const std::vector<NodeId>& nodes) {
  std::vector<std::int32_t> ids;
  ids.reserve(nodes.size());
  for (NodeId node : nodes) ids.push_back(node.value);
  return ids;
}

PartitionView view_of(const metadata::Image& image, const metadata::PartitionState& partition) {
  PartitionView view;
  view.replicas = node_ids(partition.replicas);
  view.isr = node_ids(partition.isr);
  for (std::size_t i = 0; i < partition.replicas.size(); ++i) {
    NodeId replica = partition.replicas[i];
    bool offline = !is_alive(image, replica);
    if (!offline && i < partition.directories.size() && !partition.directories[i].is_reserved()) {
      const std::vector<Uuid>& online = image.brokers.at(replica).log_dirs;
      offline = !online.empty() && std::ranges::find(online, partition.directories[i]) == online.end();
    }
    if (offline) view.offline.push_back(replica.value);
  }
  if (partition.leader && is_alive(image, *partition.leader)) {
    view.leader = partition.leader->value;
  } else {
    view.error = ErrorCode::LEADER_NOT_AVAILABLE;
  }
  return view;
}

PartitionView view_of(Broker& broker, const metadata::Image& image, std::string_view topic, PartitionId id,
                      const metadata::PartitionState& partition) {
  PartitionView view = view_of(image, partition);
  if (view.leader == broker.config().node_id.value && broker.partitions().is_loading(topic, id)) {
    view.leader = -1;
    view.error = ErrorCode::LEADER_NOT_AVAILABLE;
  }
  return view;
}

}  // namespace cordwood::broker
