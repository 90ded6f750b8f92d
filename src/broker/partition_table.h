// broker/partition_table.h — every partition this broker holds; follows the Image.
//
// Threads: lookups are safe for all and take a shared lock briefly; apply_image() comes from the controller's thread.
#pragma once

#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "broker/metadata/image.h"
#include "broker/partition.h"
#include "storage/log_manager.h"

namespace cordwood::broker {

class PartitionTable {
 public:
  // `config_of` gives a topic's log settings under an image (overrides over broker defaults).
  using ConfigOf = std::function<storage::LogConfig(const metadata::Image&, const std::string& topic)>;
  PartitionTable(NodeId this_node, storage::LogManager& logs, ConfigOf config_of, Logger& logger);

  // Makes logs for new partitions, applies leadership, updates configs, deletes logs of removed topics.
  void apply_image(const metadata::Image& before, const std::shared_ptr<const metadata::Image>& after);

  std::shared_ptr<Partition> find(const TopicPartition& partition) const;
  std::shared_ptr<Partition> find(Uuid topic_id, PartitionId partition) const;
  std::vector<std::shared_ptr<Partition>> all() const;

 private:
  NodeId this_node_;
  storage::LogManager& logs_;
  ConfigOf config_of_;
  Logger& logger_;
  mutable std::shared_mutex mu_;
  std::unordered_map<TopicPartition, std::shared_ptr<Partition>> partitions_;
};

}  // namespace cordwood::broker
