// broker/partition_table.h — every partition this broker holds; follows the Image.
//
// Threads: lookups are safe for all and take a shared lock briefly; apply_image() comes from the controller's thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
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

  // The image of the start. What it knows has a log already: where none is found, and a log directory is missing, none is made
  // in its place, and the partition is not served.
  void begin_with(const std::shared_ptr<const metadata::Image>& image);
  // Makes logs for new partitions, applies leadership, updates configs, deletes logs of removed topics. A partition whose
  // log is still loading comes into the table with log_loaded().
  void apply_image(const metadata::Image& before, const std::shared_ptr<const metadata::Image>& after);
  // The log of the partition has been opened, or never will be.
  void log_loaded(const TopicPartition& partition, const metadata::Image& image);

  // Null when this broker holds no such partition.
  std::shared_ptr<Partition> find(const TopicPartition& partition) const;
  std::shared_ptr<Partition> find(std::string_view topic, PartitionId partition) const;
  std::shared_ptr<Partition> find(Uuid topic_id, PartitionId partition) const;
  std::vector<std::shared_ptr<Partition>> all() const;
  // Whether it is ours and its log is still loading: it answers soon.
  bool is_loading(std::string_view topic, PartitionId partition) const;
  std::size_t loading() const { return loading_count_.load(std::memory_order_acquire); }

 private:
  // Looked up without making a string first.
  struct ByName {
    std::string_view topic;
    PartitionId partition;
    friend bool operator==(const ByName&, const ByName&) = default;
  };
  struct ById {
    Uuid topic_id;
    PartitionId partition;
    friend bool operator==(const ById&, const ById&) = default;
  };
  struct Hash {
    std::size_t operator()(const ByName& key) const noexcept {
      return std::hash<std::string_view>{}(key.topic) * 31 + static_cast<std::size_t>(key.partition.value);
    }
    std::size_t operator()(const ById& key) const noexcept {
      return std::hash<Uuid>{}(key.topic_id) * 31 + static_cast<std::size_t>(key.partition.value);
    }
  };

  enum class IsNew { no, yes };
  void add(const metadata::TopicState& topic, PartitionId id, const metadata::PartitionState& state,
           const metadata::Image& image, IsNew is_new);
  void follow(const metadata::Image& before, const std::shared_ptr<const metadata::Image>& after, IsNew what_is_added);
  // Why a partition that is not new must not get an empty log; nothing when it may have one.
  std::optional<std::string> why_no_log(const metadata::PartitionState& state) const;
  void remove(const std::shared_ptr<Partition>& partition);
  void remove_log(const TopicPartition& partition);
  void set_loading(const TopicPartition& partition, bool loading);
  // Gives the logs of every topic whose effective settings changed the new ones.
  void apply_configs(const metadata::Image& before, const metadata::Image& after);

  NodeId this_node_;
  storage::LogManager& logs_;
  ConfigOf config_of_;
  Logger& logger_;
  mutable std::shared_mutex mu_;
  // Each key's text points into its Partition's name.
  std::unordered_map<ByName, std::shared_ptr<Partition>, Hash> by_name_;
  std::unordered_map<ById, std::shared_ptr<Partition>, Hash> by_id_;
  std::set<TopicPartition> loading_;  // by mu_
  std::atomic<std::size_t> loading_count_{0};
};

}  // namespace cordwood::broker
