// broker/metadata/topic_decisions.h — what creating, deleting and growing topics comes to: records, and an answer each.
//
// Pure but for the ids of new topics. Checks, their order, codes and texts are Apache Kafka 4.4.0's (seen); a failed entry
// leaves no record, the others of its request go ahead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "broker/config.h"
#include "broker/metadata/image.h"
#include "broker/metadata/metadata_record.h"
#include "broker/metadata/placement.h"
#include "protocol/messages/create_partitions.h"
#include "protocol/messages/create_topics.h"

namespace cordwood::broker::metadata {

// More new partitions than this in one request are refused.
inline constexpr std::int64_t kMostPartitionsPerRequest = 10'000;

// What a decision needs of the broker besides the image. All must outlive it.
struct TopicRules {
  const Config* config = nullptr;
  NodeId us;
  std::vector<Uuid> directories;  // online ones
  Random* random = nullptr;
};

struct CreatedTopic {
  std::string name;
  Refusal refusal;               // NONE: created
  Uuid id;
  std::int32_t partitions = -1;
  std::int16_t replication_factor = -1;
  ConfigValues overrides;
};
struct CreateTopicsDecision {
  std::vector<MetadataRecord> records;
  std::vector<CreatedTopic> topics;  // one for every name of the request
};
CreateTopicsDecision decide_create_topics(const Image& image, const std::vector<protocol::CreateTopicsRequest::Topic>& topics,
                                          const TopicRules& rules);

// A topic to delete, by name or by id.
struct DeletionTarget {
  std::optional<std::string> name;
  Uuid id;
};
struct DeletedTopic {
  std::optional<std::string> name;
  Uuid id;
  Refusal refusal;
};
struct DeleteTopicsDecision {
  std::vector<MetadataRecord> records;
  std::vector<DeletedTopic> topics;
};
DeleteTopicsDecision decide_delete_topics(const Image& image, const std::vector<DeletionTarget>& targets);

struct GrownTopic {
  std::string name;
  Refusal refusal;
};
struct CreatePartitionsDecision {
  std::vector<MetadataRecord> records;
  std::vector<GrownTopic> topics;
};
CreatePartitionsDecision decide_create_partitions(const Image& image,
                                                  const std::vector<protocol::CreatePartitionsRequest::Topic>& topics,
                                                  const TopicRules& rules);

}  // namespace cordwood::broker::metadata
