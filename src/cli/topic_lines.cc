#include "cli/topic_lines.h"

#include <algorithm>

#include "cli/kafka_tool.h"

namespace cordwood::cli {
namespace {

using client::PartitionDescription;

bool is_default(const client::ConfigEntry& entry) { return entry.source == client::ConfigSource::built_in; }

std::size_t min_isr(const DescribedTopic& topic) {
  auto found = std::ranges::find(topic.configs, "min.insync.replicas", &client::ConfigEntry::name);
  if (found == topic.configs.end() || !found->value) return 1;
  return static_cast<std::size_t>(parse_java_int(*found->value).value_or(1));
}

const client::Reassignment* reassignment_of(const DescribedTopic& topic, const PartitionDescription& partition,
                                            const TopicSurroundings& surroundings) {
  auto found = surroundings.reassignments.find({topic.description.name, partition.partition});
  return found == surroundings.reassignments.end() ? nullptr : &found->second;
}

// Replicas that are only on their way do not count as missing ones.
std::size_t replication_factor(const PartitionDescription& partition, const client::Reassignment* moving) {
  if (moving == nullptr || moving->adding.empty()) return partition.replicas.size();
  return moving->replicas.size() - std::min(moving->adding.size(), moving->replicas.size());
}

bool passes(const DescribedTopic& topic, const PartitionDescription& partition, const TopicFilters& filters,
            const TopicSurroundings& surroundings) {
  std::size_t isr = partition.isr.size();
  const client::Reassignment* moving = reassignment_of(topic, partition, surroundings);
  if (filters.under_replicated && replication_factor(partition, moving) <= isr) return false;
  if (filters.unavailable && partition.leader && surroundings.live_brokers.contains(*partition.leader)) return false;
  if (filters.under_min_isr && isr >= min_isr(topic)) return false;
  return !filters.at_min_isr || isr == min_isr(topic);
}

bool shows_topic(const DescribedTopic& topic, const TopicFilters& filters) {
  if (filters.of_partitions()) return false;
  return !filters.with_overrides || !std::ranges::all_of(topic.configs, is_default);
}

std::string overrides(const DescribedTopic& topic) {
  std::vector<std::string> texts;
  for (const client::ConfigEntry& entry : topic.configs) {
    if (!is_default(entry)) texts.push_back(fmt::format("{}={}", entry.name, entry.value.value_or("null")));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string partition_line(const DescribedTopic& topic, const PartitionDescription& partition, const TopicSurroundings& surroundings) {
  auto or_na = [](const std::optional<std::vector<std::int32_t>>& ids) { return ids ? joined(*ids) : std::string("N/A"); };
  std::string line = fmt::format("\tTopic: {}\tPartition: {}\tLeader: {}\tReplicas: {}\tIsr: {}", topic.description.name,
                                 partition.partition, partition.leader ? fmt::format("{}", *partition.leader) : "none",
                                 joined(partition.replicas), joined(partition.isr));
  if (const client::Reassignment* moving = reassignment_of(topic, partition, surroundings)) {
    line += fmt::format("\tAdding Replicas: {}\tRemoving Replicas: {}", joined(moving->adding), joined(moving->removing));
  }
  return line + fmt::format("\tElr: {}\tLastKnownElr: {}\n", or_na(partition.eligible_leaders),
                            or_na(partition.last_known_eligible_leaders));
}

boost::json::array ids_json(const std::vector<std::int32_t>& ids) { return boost::json::array(ids.begin(), ids.end()); }

boost::json::object partition_json(const PartitionDescription& partition) {
  boost::json::object object{{"partition", partition.partition},
                             {"leader", nullptr},
                             {"replicas", ids_json(partition.replicas)},
                             {"isr", ids_json(partition.isr)}};
  if (partition.leader) object["leader"] = *partition.leader;
  if (partition.eligible_leaders) object["eligibleLeaderReplicas"] = ids_json(*partition.eligible_leaders);
  if (partition.last_known_eligible_leaders) {
    object["lastKnownElr"] = ids_json(*partition.last_known_eligible_leaders);
  }
  return object;
}

}  // namespace

TopicFilters TopicFilters::from(const Options& options) {
  return {options.has("under-replicated-partitions"), options.has("unavailable-partitions"),
          options.has("under-min-isr-partitions"), options.has("at-min-isr-partitions"), options.has("topics-with-overrides")};
}

std::string topic_lines(const DescribedTopic& topic, const TopicFilters& filters, const TopicSurroundings& surroundings) {
  const client::TopicDescription& description = topic.description;
  std::string lines;
  if (shows_topic(topic, filters)) {
    std::size_t replicas = 0;
    if (!description.partitions.empty()) {
      const PartitionDescription& first = description.partitions.front();
      replicas = replication_factor(first, reassignment_of(topic, first, surroundings));
    }
    lines += fmt::format("Topic: {}\tTopicId: {}\tPartitionCount: {}\tReplicationFactor: {}\tConfigs: {}\n", description.name,
                         description.id.to_string(), description.partitions.size(), replicas, overrides(topic));
  }
  if (filters.with_overrides) return lines;
  for (const PartitionDescription& partition : description.partitions) {
    if (passes(topic, partition, filters, surroundings)) lines += partition_line(topic, partition, surroundings);
  }
  return lines;
}

boost::json::value topic_json(const DescribedTopic& topic, const TopicFilters& filters, const TopicSurroundings& surroundings) {
  boost::json::object configs;
  for (const client::ConfigEntry& entry : topic.configs) {
    if (is_default(entry)) continue;
    if (entry.value) configs[entry.name] = *entry.value;
    else configs[entry.name] = nullptr;
  }
  boost::json::object object{{"topic", topic.description.name},
                             {"topicId", topic.description.id.to_string()},
                             {"isInternal", topic.description.is_internal},
                             {"configs", std::move(configs)}};
  if (filters.with_overrides) return shows_topic(topic, filters) ? boost::json::value(std::move(object)) : nullptr;
  boost::json::array partitions;
  for (const PartitionDescription& partition : topic.description.partitions) {
    if (passes(topic, partition, filters, surroundings)) partitions.push_back(partition_json(partition));
  }
  if (filters.of_partitions() && partitions.empty()) return nullptr;
  object["partitions"] = std::move(partitions);
  return object;
}

}  // namespace cordwood::cli
