// DeleteTopics (key 20), versions 1-6: v3 error 73, v5 messages, v6 by name or id.
//
// The answer leaves when the records are durable and the partitions are gone from here; files follow after
// file.delete.delay.ms.
#include <memory>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/metadata/topic_decisions.h"
#include "protocol/messages/delete_topics.h"

namespace cordwood::broker {
namespace {

using metadata::DeletedTopic;
using metadata::DeletionTarget;
using protocol::DeleteTopicsRequest;
using protocol::DeleteTopicsResponse;
using protocol::ErrorCode;

constexpr std::int16_t kFirstWithIds = 6;
constexpr std::int16_t kFirstWithDeletionDisabled = 3;

std::vector<DeletionTarget> targets_of(const DeleteTopicsRequest& request, std::int16_t version) {
  std::vector<DeletionTarget> targets;
  if (version >= kFirstWithIds) {
    for (const auto& topic : request.topics) targets.push_back({topic.name, topic.topic_id});
  } else {
    for (const std::string& name : request.topic_names) targets.push_back({name, {}});
  }
  return targets;
}

DeleteTopicsResponse answer_of(const std::vector<DeletedTopic>& topics) {
  DeleteTopicsResponse response;
  for (const DeletedTopic& topic : topics) {
    auto& entry = response.responses.emplace_back();
    entry.name = topic.name;
    entry.topic_id = topic.id;
    entry.error_code = topic.refusal.code;
    entry.error_message = topic.refusal.message;
  }
  return response;
}

std::vector<DeletedTopic> all_failed(const std::vector<DeletionTarget>& targets, ErrorCode code) {
  std::vector<DeletedTopic> topics;
  for (const DeletionTarget& target : targets) topics.push_back({target.name, target.id, {code, std::nullopt}});
  return topics;
}

}  // namespace

void handle_delete_topics(Broker& broker, Exchange exchange) {
  DeleteTopicsRequest request;
  if (!exchange.decode(request)) return;
  std::vector<DeletionTarget> targets = targets_of(request, exchange.version());
  if (!broker.config().delete_topic_enable) {
    ErrorCode code = exchange.version() < kFirstWithDeletionDisabled ? ErrorCode::INVALID_REQUEST
                                                                     : ErrorCode::TOPIC_DELETION_DISABLED;
    exchange.answer(answer_of(all_failed(targets, code)));
    return;
  }
  if (request.timeout_ms <= 0) {
    exchange.answer(answer_of(all_failed(targets, ErrorCode::REQUEST_TIMED_OUT)));
    return;
  }
  auto forbidden = std::make_shared<std::vector<DeletedTopic>>();
  std::shared_ptr<const metadata::Image> present = broker.image();
  std::erase_if(targets, [&](const DeletionTarget& target) {
    std::shared_ptr<const metadata::TopicState> by_id = target.name ? nullptr : present->topic(target.id);
    std::string name = target.name ? *target.name : by_id ? by_id->name : "";
    if (authorise(exchange, Operation::remove, Resource::topic, name) == Verdict::allowed) return false;
    forbidden->push_back({target.name, target.id, {ErrorCode::TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."}});
    return true;
  });
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  broker.controller().submit([targets = std::move(targets), forbidden, waiting](const metadata::Image& image) {
    metadata::DeleteTopicsDecision decided = metadata::decide_delete_topics(image, targets);
    metadata::Controller::Decision decision;
    decision.records = std::move(decided.records);
    auto topics = std::make_shared<std::vector<DeletedTopic>>(std::move(decided.topics));
    topics->insert(topics->end(), forbidden->begin(), forbidden->end());
    decision.done = [targets, topics, waiting](const Result<std::shared_ptr<const metadata::Image>>& outcome) {
      waiting->answer(answer_of(outcome ? *topics : all_failed(targets, ErrorCode::KAFKA_STORAGE_ERROR)));
    };
    return decision;
  });
}

}  // namespace cordwood::broker
