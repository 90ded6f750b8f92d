#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "broker/configs/topic_configs.h"
#include "broker/metadata/features.h"
#include "broker/metadata/topic_decisions.h"
#include "broker/metadata/topic_name.h"

namespace cordwood::broker::metadata {
namespace {

using protocol::ErrorCode;
using RequestedTopic = protocol::CreateTopicsRequest::Topic;

constexpr std::int32_t kDefault = -1;  // partition count or replication factor left to the broker
constexpr const char* kMinInsyncReplicas = "min.insync.replicas";

// Existing names by what they collide as. Names of one request do not collide with each other (seen on Kafka 4.4.0).
using CollisionKeys = std::map<std::string, std::set<std::string>>;

std::optional<Refusal> check_name(const Image& image, const std::string& name, const CollisionKeys& collisions) {
  if (name == kClusterMetadata) {
    return Refusal{ErrorCode::INVALID_REQUEST,
                   fmt::format("Creation of internal topic {} is prohibited.", kClusterMetadata)};
  }
  if (auto fault = topic_name_fault(name)) return Refusal{ErrorCode::INVALID_TOPIC_EXCEPTION, *fault};
  if (image.topics.contains(name)) {
    return Refusal{ErrorCode::TOPIC_ALREADY_EXISTS, fmt::format("Topic '{}' already exists.", name)};
  }
  auto at = collisions.find(collision_key(name));
  if (at != collisions.end()) {
    return Refusal{ErrorCode::INVALID_TOPIC_EXCEPTION,
                   fmt::format("Topic '{}' collides with existing topic: {}", name, *at->second.begin())};
  }
  return std::nullopt;
}

// Creates one topic; `records` grows by its records when it is not refused.
class Creation {
 public:
  Creation(const Image& image, const RequestedTopic& topic, const TopicRules& rules, Placement& placement)
      : image_(image), topic_(topic), rules_(rules), placement_(placement) {
    result_.name = topic.name;
  }

  CreatedTopic run(std::vector<MetadataRecord>& records) {
    if (auto refusal = decide()) {
      result_.refusal = *refusal;
      result_.overrides.clear();
      return std::move(result_);
    }
    result_.id = id_;
    std::ranges::move(records_, std::back_inserter(records));
    return std::move(result_);
  }

 private:
  std::optional<Refusal> decide() {
    std::vector<std::pair<std::string, std::optional<std::string>>> given;
    for (const auto& config : topic_.configs) given.emplace_back(config.name, config.value);
    if (auto fault = configs::validate_new_topic_configs(*rules_.config, image_, given)) {
      return Refusal{ErrorCode::INVALID_CONFIG, *fault};
    }
    id_ = Uuid::random(*rules_.random);
    add(TopicRecord{topic_.name, id_});
    for (const auto& config : topic_.configs) {
      result_.overrides[config.name] = *config.value;
      add(ConfigRecord{static_cast<std::int8_t>(ResourceType::topic), topic_.name, config.name, config.value});
    }
    // What was eligible under another minimum says nothing any more.
    if (image_.feature(std::string(kElrVersion)) >= 1 && result_.overrides.contains(kMinInsyncReplicas)) {
      add(ClearElrRecord{topic_.name});
    }
    return topic_.assignments.empty() ? place_automatically() : place_as_told();
  }

  std::optional<Refusal> place_automatically() {
    if (topic_.replication_factor < kDefault || topic_.replication_factor == 0) {
      return Refusal{ErrorCode::INVALID_REPLICATION_FACTOR,
                     "Replication factor must be larger than 0, or -1 to use the default value."};
    }
    if (topic_.num_partitions < kDefault || topic_.num_partitions == 0) {
      return Refusal{ErrorCode::INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."};
    }
    std::int32_t partitions = topic_.num_partitions == kDefault ? rules_.config->num_partitions : topic_.num_partitions;
    std::int16_t factor =
        topic_.replication_factor == kDefault ? rules_.config->default_replication_factor : topic_.replication_factor;
    std::vector<NodeId> replicas;
    if (auto refusal = placement_.choose(factor, replicas)) return refusal;
    for (std::int32_t index = 0; index < partitions; ++index) {
      if (auto refusal = placement_.place(id_, PartitionId{index}, replicas, records_)) return refusal;
    }
    result_.partitions = partitions;
    result_.replication_factor = factor;
    return std::nullopt;
  }

  std::optional<Refusal> place_as_told() {
    if (topic_.replication_factor != kDefault) {
      return Refusal{ErrorCode::INVALID_REQUEST,
                     "A manual partition assignment was specified, but replication factor was not set to -1."};
    }
    if (topic_.num_partitions != kDefault) {
      return Refusal{ErrorCode::INVALID_REQUEST,
                     "A manual partition assignment was specified, but numPartitions was not set to -1."};
    }
    std::map<std::int32_t, std::vector<NodeId>> assigned;
    std::optional<std::size_t> factor;
    for (const auto& assignment : topic_.assignments) {
      if (assigned.contains(assignment.partition_index)) {
        return Refusal{ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                       fmt::format("Found multiple manual partition assignments for partition {}",
                                   assignment.partition_index)};
      }
      if (auto refusal = placement_.check_manual(assignment.broker_ids, factor)) return refusal;
      factor = assignment.broker_ids.size();
      std::vector<NodeId>& replicas = assigned[assignment.partition_index];
      for (std::int32_t broker : assignment.broker_ids) replicas.push_back(NodeId{broker});
    }
    std::int32_t expected = 0;
    for (const auto& [index, replicas] : assigned) {
      if (index != expected++) {
        return Refusal{ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                       "partitions should be a consecutive 0-based integer sequence"};
      }
      if (auto refusal = placement_.place(id_, PartitionId{index}, replicas, records_)) return refusal;
    }
    result_.partitions = static_cast<std::int32_t>(assigned.size());
    result_.replication_factor = static_cast<std::int16_t>(*factor);
    return std::nullopt;
  }

  template <class Record>
  void add(Record record) {
    records_.push_back(record_for(image_.metadata_version(), std::move(record)));
  }

  const Image& image_;
  const RequestedTopic& topic_;
  const TopicRules& rules_;
  Placement& placement_;
  CreatedTopic result_;
  Uuid id_;
  std::vector<MetadataRecord> records_;
};

std::int64_t wanted_partitions(const RequestedTopic& topic, const Config& config) {
  if (!topic.assignments.empty()) return static_cast<std::int64_t>(topic.assignments.size());
  return topic.num_partitions == kDefault ? config.num_partitions : std::max(topic.num_partitions, 0);
}

}  // namespace

CreateTopicsDecision decide_create_topics(const Image& image, const std::vector<RequestedTopic>& topics,
                                          const TopicRules& rules) {
  CreateTopicsDecision decision;
  std::map<std::string, int> times;
  std::int64_t wanted = 0;
  for (const RequestedTopic& topic : topics) {
    ++times[topic.name];
    wanted += wanted_partitions(topic, *rules.config);
  }
  bool too_many = wanted > kMostPartitionsPerRequest;

  CollisionKeys collisions;
  auto may_collide = [](const std::string& name) { return name.find_first_of("._") != std::string::npos; };
  if (std::ranges::any_of(topics, may_collide, &RequestedTopic::name)) {
    for (const auto& [name, topic] : image.topics) {
      if (may_collide(name)) collisions[collision_key(name)].insert(name);
    }
  }
  Placement placement(image, rules.us, rules.directories);
  std::set<std::string> answered;
  for (const RequestedTopic& topic : topics) {
    if (!answered.insert(topic.name).second) continue;
    std::optional<Refusal> refusal;
    if (times[topic.name] > 1) {
      refusal = Refusal{ErrorCode::INVALID_REQUEST, "Duplicate topic name."};
    } else if (too_many) {
      refusal = Refusal{ErrorCode::POLICY_VIOLATION, "Excessively large number of partitions per request."};
    } else {
      refusal = check_name(image, topic.name, collisions);
    }
    if (refusal) {
      CreatedTopic refused;
      refused.name = topic.name;
      refused.refusal = *refusal;
      decision.topics.push_back(std::move(refused));
      continue;
    }
    decision.topics.push_back(Creation(image, topic, rules, placement).run(decision.records));
  }
  return decision;
}

}  // namespace cordwood::broker::metadata
