#include "broker/metadata/adoption.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "broker/metadata/features.h"
#include "broker/metadata/image.h"
#include "storage/checkpoint_file.h"
#include "storage/directory_files.h"

namespace cordwood::broker::metadata {
namespace {

struct FoundPartition {
  io::Path path;
  Uuid directory;
  std::int32_t leader_epoch = 0;
};

struct FoundTopic {
  Uuid id;
  std::map<std::int32_t, FoundPartition> partitions;
};

}  // namespace

Result<std::vector<MetadataRecord>> adopted_records(io::FileSystem& fs, const storage::LogManager& logs, NodeId node_id) {
  std::map<std::string, FoundTopic> topics;
  for (const storage::LogDirectory& directory : logs.directories()) {
    if (directory.offline) continue;
    for (const auto& entry : TRY(fs.list(directory.path))) {
      if (entry.kind != io::DirectoryEntry::Kind::directory) continue;
      auto name = storage::parse_partition_directory(entry.name);
      if (!name || name->kind != storage::PartitionDirectoryName::Kind::current) continue;
      io::Path path = io::join(directory.path, entry.name);
      std::optional<Uuid> id = TRY(storage::read_partition_metadata(fs, path));
      if (!id) return Error{Errc::invalid, fmt::format("{} has no {}, so its topic has no id", path, storage::kPartitionMetadata)};
      auto [topic, fresh] = topics.try_emplace(name->partition.topic);
      if (fresh) topic->second.id = *id;
      if (topic->second.id != *id) {
        return Error{Errc::invalid, fmt::format("{} belongs to topic id {}, another partition of {} to {}", path, id->to_string(),
                                                name->partition.topic, topic->second.id.to_string())};
      }
      FoundPartition found{path, directory.id, 0};
      auto epochs = TRY(storage::read_epoch_checkpoint(fs, io::join(path, storage::kLeaderEpochCheckpoint)));
      if (!epochs.empty()) found.leader_epoch = epochs.back().epoch.value;
      auto [at, first] = topic->second.partitions.try_emplace(name->partition.partition.value, found);
      if (!first) return Error{Errc::invalid, fmt::format("{} and {} are the same partition", at->second.path, path)};
    }
  }

  std::vector<MetadataRecord> records;
  for (const auto& [name, topic] : topics) {
    auto add = [&](RecordBody body) { records.push_back(record_for(kDefaultMetadataVersion, std::move(body))); };
    auto config = [&](const char* key, const char* value) {
      add(ConfigRecord{static_cast<std::int8_t>(ResourceType::topic), name, key, value});
    };
    add(TopicRecord{name, topic.id});
    if (name == "__consumer_offsets" || name == "__transaction_state") {
      config("cleanup.policy", "compact");
      config("segment.bytes", "104857600");
      config("compression.type", name == "__consumer_offsets" ? "producer" : "uncompressed");
    } else {
      // Nobody knows what the topic was told to keep, so nothing of it is removed by age until somebody says so.
      config("retention.ms", "-1");
    }
    const std::int32_t count = topic.partitions.rbegin()->first + 1;
    for (std::int32_t index = 0; index < count; ++index) {
      auto found = topic.partitions.find(index);
      PartitionRecord partition;
      partition.partition_id = index;
      partition.topic_id = topic.id;
      partition.replicas = {node_id.value};
      partition.isr = {node_id.value};
      partition.leader = -1;  // elected when the broker is unfenced, as after a clean stop
      partition.leader_epoch = found == topic.partitions.end() ? 0 : found->second.leader_epoch;
      partition.partition_epoch = 0;
      partition.directories = {found == topic.partitions.end() ? kUnassignedDirectory : found->second.directory};
      add(std::move(partition));
    }
  }
  return records;
}

}  // namespace cordwood::broker::metadata
