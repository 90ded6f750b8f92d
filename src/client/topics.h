// client/topics.h — topics as an administrator asks for them: listed, described, made, grown, deleted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "client/cluster.h"

namespace cordwood::client {

struct TopicListing {
  std::string name;
  Uuid id;
  bool is_internal = false;
};

struct PartitionDescription {
  std::int32_t partition = 0;
  std::optional<std::int32_t> leader;
  std::vector<std::int32_t> replicas;
  std::vector<std::int32_t> isr;
  // Not told by Metadata.
  std::optional<std::vector<std::int32_t>> eligible_leaders;
  std::optional<std::vector<std::int32_t>> last_known_eligible_leaders;
};

struct TopicDescription {
  std::string name;
  Uuid id;
  bool is_internal = false;
  std::vector<PartitionDescription> partitions;  // by number
};

struct NewTopic {
  std::string name;
  std::optional<std::int32_t> partitions;            // nothing: the broker's default
  std::optional<std::int16_t> replication_factor;    // the same
  std::map<std::int32_t, std::vector<std::int32_t>> assignment;  // replicas by partition; instead of both
  std::vector<std::pair<std::string, std::string>> configs;
};

struct MorePartitions {
  std::string topic;
  std::int32_t total = 0;
  std::vector<std::vector<std::int32_t>> assignment;  // of the new partitions; empty: the broker chooses
};

// All topics, internal ones included, in the order in which the broker tells them.
Outcome<std::vector<TopicListing>> list_topics(Cluster& cluster);

// In the order asked for. One that does not exist is the failure. DescribeTopicPartitions page by page, or Metadata where the
// broker does not know it.
Outcome<std::vector<TopicDescription>> describe_topics(Cluster& cluster, const std::vector<std::string>& names,
                                                       std::int32_t partitions_per_page = 2000);
Outcome<std::vector<TopicDescription>> describe_topics(Cluster& cluster, const std::vector<Uuid>& ids);

Outcome<Nothing> create_topic(Cluster& cluster, const NewTopic& topic);
// The first failure of those that there are.
Outcome<Nothing> create_partitions(Cluster& cluster, const std::vector<MorePartitions>& topics);
Outcome<Nothing> delete_topics(Cluster& cluster, const std::vector<std::string>& names);

}  // namespace cordwood::client
