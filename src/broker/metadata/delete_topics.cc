#include <fmt/format.h>

#include <map>
#include <set>

#include "broker/metadata/topic_decisions.h"

namespace cordwood::broker::metadata {

using protocol::ErrorCode;

DeleteTopicsDecision decide_delete_topics(const Image& image, const std::vector<DeletionTarget>& targets) {
  DeleteTopicsDecision decision;
  std::map<std::string, int> times_named;
  std::map<Uuid, int> times_by_id;
  for (const DeletionTarget& target : targets) {
    if (target.name) ++times_named[*target.name];
    if (!target.id.is_zero()) ++times_by_id[target.id];
  }
  auto remove = [&](const TopicState& topic) {
    RemoveTopicRecord record;
    record.topic_id = topic.id;
    decision.records.push_back(record_for(image.metadata_version(), std::move(record)));
    decision.topics.push_back({topic.name, topic.id, {}});
  };
  auto refuse = [&](const DeletionTarget& target, ErrorCode code, std::string message) {
    decision.topics.push_back({target.name, target.id, {code, std::move(message)}});
  };
  std::set<std::string> names_answered;
  std::set<Uuid> ids_answered;
  for (const DeletionTarget& target : targets) {
    bool by_id = !target.id.is_zero();
    if (target.name && by_id) {
      refuse(target, ErrorCode::INVALID_REQUEST, "You may not specify both topic name and topic id.");
      continue;
    }
    if (!target.name && !by_id) {
      refuse(target, ErrorCode::INVALID_REQUEST, "Neither topic name nor id were specified.");
      continue;
    }
    if (by_id) {
      if (!ids_answered.insert(target.id).second) continue;
      if (times_by_id[target.id] > 1) {
        refuse(target, ErrorCode::INVALID_REQUEST, "Duplicate topic id.");
      } else if (auto topic = image.topic(target.id)) {
        // Named as well: answered once, under the name.
        if (!times_named.contains(topic->name)) remove(*topic);
      } else {
        refuse(target, ErrorCode::UNKNOWN_TOPIC_ID, "This server does not host this topic ID.");
      }
      continue;
    }
    if (!names_answered.insert(*target.name).second) continue;
    auto topic = image.topic(*target.name);
    if (times_named[*target.name] > 1) {
      refuse(target, ErrorCode::INVALID_REQUEST, "Duplicate topic name.");
    } else if (topic == nullptr) {
      refuse(target, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.");
    } else if (times_by_id.contains(topic->id)) {
      refuse({topic->name, topic->id}, ErrorCode::INVALID_REQUEST,
             "The provided topic name maps to an ID that was already supplied.");
    } else {
      remove(*topic);
    }
  }
  return decision;
}

}  // namespace cordwood::broker::metadata
