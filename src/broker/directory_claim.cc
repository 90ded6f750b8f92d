#include "broker/directory_claim.h"

#include <algorithm>

namespace cordwood::broker {

storage::DirectoryClaim claim_of(const metadata::Image& image, NodeId us, const TopicPartition& partition,
                                 std::optional<Uuid> topic_id) {
  auto topic = topic_id ? image.topic(*topic_id) : image.topic(partition.topic);
  if (!topic || topic->name != partition.topic) return storage::DirectoryClaim::stray;
  auto state = topic->partitions.find(partition.partition);
  if (state == topic->partitions.end()) return storage::DirectoryClaim::stray;
  const auto& replicas = state->second.replicas;
  bool ours = std::find(replicas.begin(), replicas.end(), us) != replicas.end();
  return ours ? storage::DirectoryClaim::ours : storage::DirectoryClaim::stray;
}

}  // namespace cordwood::broker
