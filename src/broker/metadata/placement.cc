#include "broker/metadata/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "broker/metadata/features.h"

namespace cordwood::broker::metadata {

using protocol::ErrorCode;

Placement::Placement(const Image& image, NodeId us, const std::vector<Uuid>& directories) : image_(image), us_(us) {
  for (Uuid directory : directories) partitions_in_[directory] = 0;
  if (directories.size() < 2) return;
  for (const auto& [name, topic] : image.topics) {
    for (const auto& [index, partition] : topic->partitions) {
      for (std::size_t i = 0; i < partition.replicas.size() && i < partition.directories.size(); ++i) {
        auto at = partitions_in_.find(partition.directories[i]);
        if (partition.replicas[i] == us && at != partitions_in_.end()) ++at->second;
      }
    }
  }
}

Uuid Placement::next_directory() {
  CHECK(!partitions_in_.empty());
  auto fewest = std::ranges::min_element(partitions_in_, {}, [](const auto& entry) { return entry.second; });
  ++fewest->second;
  return fewest->first;
}

std::optional<Refusal> Placement::choose(std::int32_t replication_factor, std::vector<NodeId>& replicas) const {
  auto registered = static_cast<std::int32_t>(image_.brokers.size());
  if (replication_factor > registered) {
    return Refusal{ErrorCode::INVALID_REPLICATION_FACTOR,
                   fmt::format("Unable to replicate the partition {0} time(s): The target replication factor of {0} cannot be "
                               "reached because only {1} broker(s) are registered or some brokers have all their log "
                               "directories cordoned.",
                               replication_factor, registered)};
  }
  replicas = {us_};
  for (const auto& [id, broker] : image_.brokers) {
    if (static_cast<std::int32_t>(replicas.size()) == replication_factor) break;
    if (id != us_) replicas.push_back(id);
  }
  return std::nullopt;
}

std::optional<Refusal> Placement::check_manual(const std::vector<std::int32_t>& brokers,
                                               std::optional<std::size_t> replication_factor) const {
  auto refuse = [](std::string text) {
    return Refusal{ErrorCode::INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes " + text};
  };
  if (brokers.empty()) return refuse("an empty replica list.");
  std::vector<std::int32_t> sorted = brokers;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!image_.brokers.contains(NodeId{sorted[i]})) {
      return refuse(fmt::format("broker {}, but no such broker is registered.", sorted[i]));
    }
    if (i > 0 && sorted[i] == sorted[i - 1]) return refuse(fmt::format("the broker {} more than once.", sorted[i]));
  }
  if (replication_factor && *replication_factor != brokers.size()) {
    return refuse(fmt::format("a partition with {} replica(s), but this is not consistent with previous partitions, which "
                              "have {} replica(s).",
                              brokers.size(), *replication_factor));
  }
  return std::nullopt;
}

std::optional<Refusal> Placement::place(Uuid topic_id, PartitionId partition, const std::vector<NodeId>& replicas,
                                        std::vector<MetadataRecord>& records) {
  bool has_directories = image_.metadata_version() >= kDirectoryIdsFrom;
  if (has_directories && partitions_in_.empty() && std::ranges::find(replicas, us_) != replicas.end()) {
    return Refusal{ErrorCode::KAFKA_STORAGE_ERROR, "No log directory is online."};
  }
  PartitionRecord record;
  record.partition_id = partition.value;
  record.topic_id = topic_id;
  for (NodeId replica : replicas) {
    record.replicas.push_back(replica.value);
    auto broker = image_.brokers.find(replica);
    bool alive = broker != image_.brokers.end() && !broker->second.fenced && !broker->second.in_controlled_shutdown;
    if (alive) record.isr.push_back(replica.value);
    if (has_directories) record.directories.push_back(replica == us_ ? next_directory() : kUnassignedDirectory);
  }
  if (record.isr.empty()) {
    return Refusal{ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                   fmt::format("All brokers specified in the manual partition assignment for partition {} are fenced or in "
                               "controlled shutdown.",
                               partition)};
  }
  record.leader = record.isr.front();
  record.leader_epoch = 0;
  record.partition_epoch = 0;
  records.push_back(record_for(image_.metadata_version(), std::move(record)));
  return std::nullopt;
}

}  // namespace cordwood::broker::metadata
