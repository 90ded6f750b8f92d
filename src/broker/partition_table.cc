#include "broker/partition_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "broker/metadata/broker_lifecycle.h"

namespace cordwood::broker {
namespace {

bool holds_replica(const metadata::PartitionState& state, NodeId node) {
  return std::ranges::find(state.replicas, node) != state.replicas.end();
}

// The log directory that the metadata assigned to our replica; absent while it is unassigned.
std::optional<Uuid> assigned_directory(const metadata::PartitionState& state, NodeId node) {
  for (std::size_t i = 0; i < state.replicas.size() && i < state.directories.size(); ++i) {
    if (state.replicas[i] == node && !state.directories[i].is_reserved()) return state.directories[i];
  }
  return {};
}

}  // namespace

PartitionTable::PartitionTable(NodeId this_node, storage::LogManager& logs, ConfigOf config_of, Logger& logger)
    : this_node_(this_node), logs_(logs), config_of_(std::move(config_of)), logger_(logger) {}

void PartitionTable::begin_with(const std::shared_ptr<const metadata::Image>& image) {
  follow(metadata::Image{}, image, IsNew::no);
}

void PartitionTable::apply_image(const metadata::Image& before, const std::shared_ptr<const metadata::Image>& after) {
  follow(before, after, IsNew::yes);
}

void PartitionTable::follow(const metadata::Image& before, const std::shared_ptr<const metadata::Image>& after,
                            IsNew what_is_added) {
  // Topics are shared between images as long as they are the same: comparing pointers finds what changed.
  for (const auto& [id, old] : before.topics_by_id) {
    std::shared_ptr<const metadata::TopicState> present = after->topic(id);
    if (present == old) continue;
    for (const auto& [partition_id, state] : old->partitions) {
      bool kept = present && present->partitions.contains(partition_id) &&
                  holds_replica(present->partitions.at(partition_id), this_node_);
      if (kept) continue;
      if (std::shared_ptr<Partition> partition = find(id, partition_id)) {
        remove(partition);
      } else if (const TopicPartition name{old->name, partition_id}; is_loading(name.topic, partition_id)) {
        set_loading(name, false);
        remove_log(name);
      }
    }
  }
  for (const auto& [id, topic] : after->topics_by_id) {
    if (before.topic(id) == topic) continue;
    for (const auto& [partition_id, state] : topic->partitions) {
      if (!holds_replica(state, this_node_)) continue;
      std::shared_ptr<Partition> partition = find(id, partition_id);
      const auto known = before.topic(id);
      const auto old = known ? known->partitions.find(partition_id) : topic->partitions.end();
      const bool is_known = known && old != known->partitions.end();
      if (!partition) {
        add(*topic, partition_id, state, *after, is_known ? IsNew::no : what_is_added);
        continue;
      }
      if (is_known && old->second == state) continue;
      if (Result<void> applied = partition->apply(state); !applied) {
        logger_.error("{}: {}", partition->name().to_string(), applied.error().message());
      }
    }
  }
  apply_configs(before, *after);
}

std::optional<std::string> PartitionTable::why_no_log(const metadata::PartitionState& state) const {
  std::vector<Uuid> ours;
  std::string offline;
  for (const storage::LogDirectory& directory : logs_.directories()) {
    if (directory.offline) {
      offline = directory.path;
    } else {
      ours.push_back(directory.id);
    }
  }
  const std::optional<Uuid> named = assigned_directory(state, this_node_);
  if (!metadata::may_lie_elsewhere(named, ours, !offline.empty())) return std::nullopt;
  if (!offline.empty()) return fmt::format("it may lie in {}, which is offline", offline);
  return fmt::format("it lies in the log directory with the id {}, which log.dirs does not name", named->to_string());
}

void PartitionTable::add(const metadata::TopicState& topic, PartitionId id, const metadata::PartitionState& state,
                         const metadata::Image& image, IsNew is_new) {
  TopicPartition name{topic.name, id};
  if (logs_.is_loading(name)) return set_loading(name, true);
  if (is_new == IsNew::no && !logs_.find(name)) {
    if (const std::optional<std::string> why = why_no_log(state)) {
      logger_.error("{} is not served: its log is not here, {}", name.to_string(), *why);
      return;
    }
  }
  auto log = logs_.get_or_create(name, topic.id, config_of_(image, topic.name), assigned_directory(state, this_node_));
  if (!log) {
    // Answered as not led by us, like a partition whose directory is offline.
    logger_.error("cannot make the log of {}: {}", name.to_string(), log.error().message());
    return;
  }
  auto partition = std::make_shared<Partition>(name, topic.id, this_node_, *log);
  if (Result<void> applied = partition->apply(state); !applied) {
    logger_.error("{}: {}", name.to_string(), applied.error().message());
  }
  std::unique_lock lock(mu_);
  // A key points into the partition that it leads to, so an entry left by an earlier one goes first.
  by_name_.erase({partition->name().topic, id});
  by_name_.emplace(ByName{partition->name().topic, id}, partition);
  by_id_.emplace(ById{topic.id, id}, partition);
}

void PartitionTable::remove(const std::shared_ptr<Partition>& partition) {
  {
    std::unique_lock lock(mu_);
    auto named = by_name_.find({partition->name().topic, partition->name().partition});
    if (named != by_name_.end() && named->second == partition) by_name_.erase(named);
    by_id_.erase({partition->topic_id(), partition->name().partition});
  }
  partition->retire();
  remove_log(partition->name());
}

void PartitionTable::remove_log(const TopicPartition& partition) {
  if (Result<void> removed = logs_.remove(partition); !removed) {
    logger_.error("cannot remove the log of {}: {}", partition.to_string(), removed.error().message());
  }
}

void PartitionTable::set_loading(const TopicPartition& partition, bool loading) {
  std::unique_lock lock(mu_);
  if (loading) {
    loading_.insert(partition);
  } else {
    loading_.erase(partition);
  }
  loading_count_.store(loading_.size(), std::memory_order_release);
}

bool PartitionTable::is_loading(std::string_view topic, PartitionId partition) const {
  if (loading() == 0) return false;
  std::shared_lock lock(mu_);
  return loading_.contains({std::string(topic), partition});
}

void PartitionTable::log_loaded(const TopicPartition& partition, const metadata::Image& image) {
  if (!is_loading(partition.topic, partition.partition)) return;
  auto topic = image.topic(partition.topic);
  const metadata::PartitionState* state = image.partition(partition);
  if (topic && state != nullptr && holds_replica(*state, this_node_)) {
    // Settings that changed meanwhile did not reach it.
    if (auto log = logs_.find(partition)) log->update_config(config_of_(image, partition.topic));
    add(*topic, partition.partition, *state, image, IsNew::no);
    // A topic that was deleted and made again has two logs of one name to wait for.
    if (!find(partition) && logs_.is_loading(partition)) return;
  }
  set_loading(partition, false);
}

void PartitionTable::apply_configs(const metadata::Image& before, const metadata::Image& after) {
  if (before.configs == after.configs) return;
  bool broker_configs_changed = false;
  std::set<std::string> topics;
  auto note = [&](const metadata::ConfigResource& resource) {
    if (resource.type == metadata::ResourceType::topic) topics.insert(resource.name);
    if (resource.type == metadata::ResourceType::broker) broker_configs_changed = true;
  };
  for (const auto& [resource, values] : before.configs) {
    if (after.config(resource) != values) note(resource);
  }
  for (const auto& [resource, values] : after.configs) {
    if (!before.configs.contains(resource)) note(resource);
  }
  // A topic's default comes from the broker's settings, so those touch every topic.
  for (const auto& [name, topic] : after.topics) {
    if (!broker_configs_changed && !topics.contains(name)) continue;
    storage::LogConfig config = config_of_(after, name);
    for (const auto& [id, state] : topic->partitions) {
      if (std::shared_ptr<Partition> partition = find(name, id)) partition->log()->update_config(config);
    }
  }
}

std::shared_ptr<Partition> PartitionTable::find(const TopicPartition& partition) const {
  return find(partition.topic, partition.partition);
}

std::shared_ptr<Partition> PartitionTable::find(std::string_view topic, PartitionId partition) const {
  std::shared_lock lock(mu_);
  auto at = by_name_.find({topic, partition});
  return at == by_name_.end() ? nullptr : at->second;
}

std::shared_ptr<Partition> PartitionTable::find(Uuid topic_id, PartitionId partition) const {
  std::shared_lock lock(mu_);
  auto at = by_id_.find({topic_id, partition});
  return at == by_id_.end() ? nullptr : at->second;
}

std::vector<std::shared_ptr<Partition>> PartitionTable::all() const {
  std::shared_lock lock(mu_);
  std::vector<std::shared_ptr<Partition>> partitions;
  partitions.reserve(by_name_.size());
  for (const auto& [key, partition] : by_name_) partitions.push_back(partition);
  return partitions;
}

}  // namespace cordwood::broker
