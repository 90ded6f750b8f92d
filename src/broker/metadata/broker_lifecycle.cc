#include "broker/metadata/broker_lifecycle.h"

#include <algorithm>

#include "broker/metadata/features.h"
#include "broker/metadata/wire_values.h"

namespace cordwood::broker::metadata {
namespace {

constexpr std::int8_t kRecovering = 1;

bool contains(const std::vector<NodeId>& nodes, NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); }

std::vector<NodeId> without(const std::vector<NodeId>& nodes, NodeId node) {
  std::vector<NodeId> result;
  std::ranges::copy_if(nodes, std::back_inserter(result), [&](NodeId other) { return other != node; });
  return result;
}

bool elr_is_on(const Image& image) { return image.feature(std::string(kElrVersion)) >= 1; }

PartitionChangeRecord change_of(const TopicState& topic, PartitionId partition) {
  PartitionChangeRecord change;
  change.partition_id = partition.value;
  change.topic_id = topic.id;
  return change;
}

std::vector<Uuid> with_directory(const PartitionState& partition, std::size_t place, Uuid directory) {
  std::vector<Uuid> directories = partition.directories;
  directories.resize(partition.replicas.size(), kUnassignedDirectory);
  directories[place] = directory;
  return directories;
}

// What a partition that `node` leads, or is in sync with, becomes without it. With ELR the ISR may become empty, and the
// last one that left stays eligible; without, the last one stays in the ISR.
std::optional<PartitionChangeRecord> lose(const TopicState& topic, PartitionId index, const PartitionState& partition,
                                          NodeId node, bool elr) {
  bool leads = partition.leader == node;
  if (!leads && !(elr && contains(partition.isr, node))) return std::nullopt;
  PartitionChangeRecord change = change_of(topic, index);
  if (leads) change.leader = kNoLeader;
  if (elr && contains(partition.isr, node)) {
    std::vector<NodeId> isr = without(partition.isr, node);
    change.isr = ids(isr);
    if (isr.empty()) {
      std::vector<NodeId> eligible = without(partition.eligible_leader_replicas, node);
      eligible.push_back(node);
      change.eligible_leader_replicas = ids(eligible);
      change.last_known_elr = std::vector{node.value};
      if (!leads && partition.leader) change.leader = kNoLeader;
    }
  }
  return change;
}

// How we come to lead a partition, when we may.
std::optional<PartitionChangeRecord> elect(const TopicState& topic, PartitionId index, const PartitionState& partition,
                                           NodeId us) {
  PartitionChangeRecord change = change_of(topic, index);
  change.leader = us.value;
  auto only_us = std::vector{us.value};
  bool has_elr_fields = !partition.eligible_leader_replicas.empty() || !partition.last_known_elr.empty();
  auto clear_elr = [&] {
    change.eligible_leader_replicas = std::vector<std::int32_t>{};
    change.last_known_elr = std::vector<std::int32_t>{};
  };
  if (contains(partition.isr, us)) {
    // Nobody else is alive to stay in sync.
    if (partition.isr.size() > 1) change.isr = only_us;
    if (has_elr_fields) clear_elr();
    return change;
  }
  if (!partition.isr.empty()) return std::nullopt;
  change.isr = only_us;
  if (contains(partition.eligible_leader_replicas, us)) {
    clear_elr();
    return change;
  }
  // Nobody in sync, nobody eligible: only the last known leader may take over, and what it has counts. When we are the
  // only replica there is nobody whose data could be lost.
  bool last_known = partition.eligible_leader_replicas.empty() && partition.last_known_elr == std::vector{us};
  if (!last_known && partition.replicas != std::vector{us}) return std::nullopt;
  change.leader_recovery_state = kRecovering;
  if (has_elr_fields) clear_elr();
  return change;
}

MetadataRecord registration_change(const Image& image, const BrokerRegistration& broker, std::int8_t fenced,
                                   std::int8_t in_controlled_shutdown = 0) {
  BrokerRegistrationChangeRecord change;
  change.broker_id = broker.id.value;
  change.broker_epoch = broker.epoch;
  change.fenced = fenced;
  change.in_controlled_shutdown = in_controlled_shutdown;
  return record_for(image.metadata_version(), std::move(change));
}

// Calls `visit(topic, index, partition)` for every partition.
template <class Visit>
void for_each_partition(const Image& image, Visit&& visit) {
  for (const auto& [name, topic] : image.topics) {
    for (const auto& [index, partition] : topic->partitions) visit(*topic, index, partition);
  }
}

template <class EndPoint>
void put_endpoint(const Endpoint& endpoint, std::vector<EndPoint>& into) {
  EndPoint& entry = into.emplace_back();
  entry.name = endpoint.name;
  entry.host = endpoint.host;
  entry.port = endpoint.port;
  entry.security_protocol = endpoint.security_protocol;
}

template <class Feature>
void put_supported_features(std::vector<Feature>& into) {
  for (const SupportedFeature& feature : supported_features()) {
    Feature& entry = into.emplace_back();
    entry.name = std::string(feature.name);
    entry.min_supported_version = feature.min;
    entry.max_supported_version = feature.max;
  }
}

}  // namespace

std::vector<MetadataRecord> controller_registration(const Image& image, const BrokerIdentity& us) {
  if (image.metadata_version() < kRegisterControllerFrom) return {};
  RegisterControllerRecord record;
  record.controller_id = us.node_id.value;
  record.incarnation_id = us.incarnation;
  put_endpoint(us.controller_listener, record.end_points);
  put_supported_features(record.features);
  return {record_for(image.metadata_version(), std::move(record))};
}

std::vector<MetadataRecord> fence_the_dead(const Image& image, NodeId us) {
  std::vector<MetadataRecord> records;
  bool elr = elr_is_on(image);
  for (const auto& [id, broker] : image.brokers) {
    if (broker.fenced) continue;
    for_each_partition(image, [&](const TopicState& topic, PartitionId index, const PartitionState& partition) {
      // A partition that two of the dead hold is changed for its leader alone; elect() looks at the rest.
      bool counts = id == us || partition.leader == id;
      if (!counts) return;
      if (auto change = lose(topic, index, partition, id, elr && id == us)) {
        records.push_back(record_for(image.metadata_version(), std::move(*change)));
      }
    });
    records.push_back(registration_change(image, broker, kFence));
  }
  return records;
}

std::vector<MetadataRecord> broker_registration(const Image& image, const BrokerIdentity& us, LastStop last_stop) {
  std::vector<MetadataRecord> records;
  bool elr = elr_is_on(image);
  for_each_partition(image, [&](const TopicState& topic, PartitionId index, const PartitionState& partition) {
    PartitionChangeRecord change = change_of(topic, index);
    bool changed = false;
    if (partition.leader == us.node_id) {
      change.leader = kNoLeader;
      changed = true;
    }
    if (elr && last_stop == LastStop::unclean && contains(partition.eligible_leader_replicas, us.node_id)) {
      change.eligible_leader_replicas = ids(without(partition.eligible_leader_replicas, us.node_id));
      changed = true;
    }
    if (changed) records.push_back(record_for(image.metadata_version(), std::move(change)));
  });

  RegisterBrokerRecord record;
  record.broker_id = us.node_id.value;
  record.incarnation_id = us.incarnation;
  record.broker_epoch = image.next_offset.value;
  for (const Endpoint& listener : us.listeners) put_endpoint(listener, record.end_points);
  put_supported_features(record.features);
  record.rack = us.rack;
  record.fenced = true;
  if (image.metadata_version() >= kDirectoryIdsFrom) {
    record.log_dirs = us.log_dirs;
    std::ranges::sort(record.log_dirs);
  }
  records.push_back(record_for(image.metadata_version(), std::move(record)));
  return records;
}

bool may_lie_elsewhere(std::optional<Uuid> named, const std::vector<Uuid>& ours, bool any_offline) {
  if (any_offline) return true;
  return named && !named->is_reserved() && !ours.empty() && std::ranges::find(ours, *named) == ours.end();
}

std::vector<MetadataRecord> unfencing(const Image& image, NodeId us, const DirectoryOf& directory_of,
                                      const std::set<Uuid>& offline) {
  std::vector<MetadataRecord> records;
  auto broker = image.brokers.find(us);
  if (broker == image.brokers.end()) return records;
  records.push_back(registration_change(image, broker->second, kUnfence));
  if (image.metadata_version() >= kCordonedDirectoriesFrom) {
    BrokerRegistrationChangeRecord change;
    change.broker_id = us.value;
    change.broker_epoch = broker->second.epoch;
    change.cordoned_log_dirs = std::vector<Uuid>{};
    records.push_back(record_for(image.metadata_version(), std::move(change)));
  }
  for_each_partition(image, [&](const TopicState& topic, PartitionId index, const PartitionState& partition) {
    auto at = std::ranges::find(partition.replicas, us);
    if (at == partition.replicas.end()) return;
    auto place = static_cast<std::size_t>(at - partition.replicas.begin());
    std::optional<Uuid> named;
    if (place < partition.directories.size()) named = partition.directories[place];
    std::optional<Uuid> actual = directory_of({topic.name, index});
    // An empty log in its place would lose the data.
    if (!actual && may_lie_elsewhere(named, broker->second.log_dirs, !offline.empty())) return;
    if (actual && offline.contains(*actual)) return;
    std::optional<PartitionChangeRecord> change = elect(topic, index, partition, us);
    if (image.metadata_version() >= kDirectoryIdsFrom && actual && !actual->is_reserved() &&
        named != actual) {
      if (!change) change = change_of(topic, index);
      change->directories = with_directory(partition, place, *actual);
    }
    if (change) records.push_back(record_for(image.metadata_version(), std::move(*change)));
  });
  return records;
}

std::vector<MetadataRecord> controlled_shutdown(const Image& image, NodeId us) {
  std::vector<MetadataRecord> records;
  auto broker = image.brokers.find(us);
  if (broker == image.brokers.end()) return records;
  records.push_back(registration_change(image, broker->second, 0, kEnterControlledShutdown));
  bool elr = elr_is_on(image);
  for_each_partition(image, [&](const TopicState& topic, PartitionId index, const PartitionState& partition) {
    if (auto change = lose(topic, index, partition, us, elr)) {
      records.push_back(record_for(image.metadata_version(), std::move(*change)));
    }
  });
  return records;
}

std::vector<MetadataRecord> final_fencing(const Image& image, NodeId us) {
  auto broker = image.brokers.find(us);
  if (broker == image.brokers.end() || broker->second.fenced) return {};
  return {registration_change(image, broker->second, kFence)};
}

std::vector<MetadataRecord> directory_change(const Image& image, NodeId us, const TopicPartition& partition, Uuid directory) {
  const PartitionState* state = image.partition(partition);
  if (state == nullptr || image.metadata_version() < kDirectoryIdsFrom) return {};
  const auto at = std::ranges::find(state->replicas, us);
  if (at == state->replicas.end()) return {};
  const auto place = static_cast<std::size_t>(at - state->replicas.begin());
  if (place < state->directories.size() && state->directories[place] == directory) return {};
  PartitionChangeRecord change = change_of(*image.topic(partition.topic), partition.partition);
  change.directories = with_directory(*state, place, directory);
  return {record_for(image.metadata_version(), std::move(change))};
}

std::vector<MetadataRecord> directory_failure(const Image& image, NodeId us, Uuid directory) {
  std::vector<MetadataRecord> records;
  auto broker = image.brokers.find(us);
  if (broker == image.brokers.end()) return records;
  bool elr = elr_is_on(image);
  for_each_partition(image, [&](const TopicState& topic, PartitionId index, const PartitionState& partition) {
    auto at = std::ranges::find(partition.replicas, us);
    auto place = static_cast<std::size_t>(at - partition.replicas.begin());
    if (place >= partition.directories.size() || at == partition.replicas.end()) return;
    if (partition.directories[place] != directory) return;
    if (auto change = lose(topic, index, partition, us, elr)) {
      records.push_back(record_for(image.metadata_version(), std::move(*change)));
    }
  });
  std::vector<Uuid> remaining = broker->second.log_dirs;
  if (std::erase(remaining, directory) > 0 && !remaining.empty()) {
    BrokerRegistrationChangeRecord change;
    change.broker_id = us.value;
    change.broker_epoch = broker->second.epoch;
    change.log_dirs = std::move(remaining);
    records.push_back(record_for(image.metadata_version(), std::move(change)));
  }
  return records;
}

}  // namespace cordwood::broker::metadata
