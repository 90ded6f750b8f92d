#include "client/topics.h"

#include <algorithm>

#include "client/call.h"
#include "protocol/messages/create_partitions.h"
#include "protocol/messages/create_topics.h"
#include "protocol/messages/delete_topics.h"
#include "protocol/messages/describe_topic_partitions.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

std::optional<std::int32_t> leader_of(std::int32_t id) {
  if (id < 0) return {};
  return id;
}

void sort_partitions(TopicDescription& topic) { std::ranges::sort(topic.partitions, {}, &PartitionDescription::partition); }

template <class Topic>
TopicDescription from_metadata(const Topic& topic) {
  TopicDescription description{topic.name.value_or(""), topic.topic_id, topic.is_internal, {}};
  for (const auto& partition : topic.partitions) {
    description.partitions.push_back(
        {partition.partition_index, leader_of(partition.leader_id), partition.replica_nodes, partition.isr_nodes, {}, {}});
  }
  sort_partitions(description);
  return description;
}

Outcome<std::vector<TopicDescription>> by_metadata(Cluster& cluster, const std::vector<std::string>& names) {
  auto metadata = ATTEMPT(cluster.metadata(names, "describeTopics", cluster.deadline()));
  std::vector<TopicDescription> found;
  for (const std::string& name : names) {
    auto topic = std::ranges::find_if(metadata.topics, [&](const auto& each) { return each.name == name; });
    if (topic == metadata.topics.end()) {
      return Failure{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("Topic {} not found.", name)};
    }
    if (topic->error_code != ErrorCode::NONE) return failure_of(topic->error_code);
    found.push_back(from_metadata(*topic));
  }
  return found;
}

}  // namespace

Outcome<std::vector<TopicListing>> list_topics(Cluster& cluster) {
  auto metadata = ATTEMPT(cluster.metadata({}, "listTopics", cluster.deadline()));
  std::vector<TopicListing> topics;
  for (const auto& topic : metadata.topics) topics.push_back({topic.name.value_or(""), topic.topic_id, topic.is_internal});
  return topics;
}

Outcome<std::vector<TopicDescription>> describe_topics(Cluster& cluster, const std::vector<std::string>& names,
                                                       std::int32_t partitions_per_page) {
  std::map<std::string, TopicDescription> found;
  protocol::DescribeTopicPartitionsRequest request;
  request.response_partition_limit = partitions_per_page;
  for (const std::string& name : names) request.topics.push_back({name});
  std::ranges::sort(request.topics, {}, &protocol::DescribeTopicPartitionsRequest::Topic::name);
  do {
    auto answer = ask_any<protocol::DescribeTopicPartitionsResponse>(cluster, "describeTopicPartitions", request);
    if (!answer && answer.failure().code == ErrorCode::UNSUPPORTED_VERSION) return by_metadata(cluster, names);
    if (!answer) return answer.failure();
    for (const auto& topic : (*answer)->topics) {
      if (topic.error_code != ErrorCode::NONE) return failure_of(topic.error_code);
      TopicDescription& description = found[topic.name.value_or("")];
      description.name = topic.name.value_or("");
      description.id = topic.topic_id;
      description.is_internal = topic.is_internal;
      for (const auto& partition : topic.partitions) {
        description.partitions.push_back({partition.partition_index, leader_of(partition.leader_id), partition.replica_nodes,
                                          partition.isr_nodes,
                                          partition.eligible_leader_replicas.value_or(std::vector<std::int32_t>()),
                                          partition.last_known_elr.value_or(std::vector<std::int32_t>())});
      }
    }
    request.cursor.reset();
    if ((*answer)->next_cursor) {
      request.cursor = {(*answer)->next_cursor->topic_name, (*answer)->next_cursor->partition_index};
      std::erase_if(request.topics, [&](const auto& topic) { return topic.name < request.cursor->topic_name; });
    }
  } while (request.cursor);
  std::vector<TopicDescription> topics;
  for (const std::string& name : names) {
    if (!found.contains(name)) return failure_of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    sort_partitions(found[name]);
    topics.push_back(found[name]);
  }
  return topics;
}

Outcome<std::vector<TopicDescription>> describe_topics(Cluster& cluster, const std::vector<Uuid>& ids) {
  protocol::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  request.topics.emplace();
  for (const Uuid& id : ids) request.topics->push_back({id, {}});
  auto answer = ATTEMPT(ask_any<protocol::MetadataResponse>(cluster, "describeTopicsWithIds", request));
  std::vector<TopicDescription> found;
  for (const auto& topic : answer->topics) {
    if (topic.error_code != ErrorCode::NONE) return failure_of(topic.error_code);
    found.push_back(from_metadata(topic));
  }
  return found;
}

Outcome<Nothing> create_topic(Cluster& cluster, const NewTopic& topic) {
  if (topic.name.empty()) {
    return Failure{ErrorCode::INVALID_TOPIC_EXCEPTION, "The given topic name '' cannot be represented in a request."};
  }
  protocol::CreateTopicsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(cluster.options().request_timeout.value);
  auto& asked = request.topics.emplace_back();
  asked.name = topic.name;
  asked.num_partitions = topic.assignment.empty() ? topic.partitions.value_or(-1) : -1;
  asked.replication_factor = topic.assignment.empty() ? topic.replication_factor.value_or(std::int16_t{-1}) : std::int16_t{-1};
  for (const auto& [partition, replicas] : topic.assignment) asked.assignments.push_back({partition, replicas});
  for (const auto& [name, value] : topic.configs) asked.configs.push_back({name, value});
  auto answer = ATTEMPT(ask_controller<protocol::CreateTopicsResponse>(cluster, "createTopics", request));
  for (const auto& made : answer->topics) {
    if (made.error_code != ErrorCode::NONE) return failure_of(made.error_code, made.error_message);
  }
  return Nothing{};
}

Outcome<Nothing> create_partitions(Cluster& cluster, const std::vector<MorePartitions>& topics) {
  protocol::CreatePartitionsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(cluster.options().request_timeout.value);
  for (const MorePartitions& topic : topics) {
    auto& asked = request.topics.emplace_back();
    asked.name = topic.topic;
    asked.count = topic.total;
    if (!topic.assignment.empty()) asked.assignments.emplace();
    for (const auto& replicas : topic.assignment) asked.assignments->push_back({replicas});
  }
  auto answer = ATTEMPT(ask_controller<protocol::CreatePartitionsResponse>(cluster, "createPartitions", request));
  for (const auto& result : answer->results) {
    if (result.error_code != ErrorCode::NONE) return failure_of(result.error_code, result.error_message);
  }
  return Nothing{};
}

Outcome<Nothing> delete_topics(Cluster& cluster, const std::vector<std::string>& names) {
  protocol::DeleteTopicsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(cluster.options().request_timeout.value);
  for (const std::string& name : names) {
    request.topics.push_back({.name = name});  // from version 6 on
    request.topic_names.push_back(name);
  }
  auto answer = ATTEMPT(ask_controller<protocol::DeleteTopicsResponse>(cluster, "deleteTopics", request));
  for (const auto& result : answer->responses) {
    if (result.error_code != ErrorCode::NONE) return failure_of(result.error_code, result.error_message);
  }
  return Nothing{};
}

}  // namespace cordwood::client
