// CreateTopics (key 19), versions 2-7: v4 -1 for the broker's defaults, v5 counts and configs in the answer, v7 topic ids.
//
// The answer leaves when the records are durable and the partitions are led. As Kafka 4.4.0: a timeout of 0 or less is
// answered with 7 and nothing is created; a failed entry has counts of -1 and an empty list of configs.
#include <algorithm>
#include <memory>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/configs/topic_configs.h"
#include "broker/handlers/api_table.h"
#include "broker/topic_creation.h"
#include "protocol/messages/create_topics.h"

namespace cordwood::broker {
namespace {

using protocol::CreateTopicsRequest;
using protocol::CreateTopicsResponse;
using protocol::ErrorCode;

CreateTopicsResponse::Topic failed(const std::string& name, const metadata::Refusal& refusal) {
  CreateTopicsResponse::Topic topic;
  topic.name = name;
  topic.error_code = refusal.code;
  topic.error_message = refusal.message;
  topic.configs.emplace();
  return topic;
}

CreateTopicsResponse all_failed(const CreateTopicsRequest& request, ErrorCode code) {
  CreateTopicsResponse response;
  for (const auto& topic : request.topics) response.topics.push_back(failed(topic.name, {code, std::nullopt}));
  return response;
}

CreateTopicsResponse::Topic created(const Config& config, const metadata::Image& image,
                                    const metadata::CreatedTopic& made) {
  CreateTopicsResponse::Topic topic;
  topic.name = made.name;
  topic.topic_id = made.id;
  topic.num_partitions = made.partitions;
  topic.replication_factor = made.replication_factor;
  topic.configs.emplace();
  // By name here, unlike in DescribeConfigs.
  std::vector<configs::ConfigEntry> entries = configs::describe_topic_configs(config, image, made.overrides);
  std::ranges::sort(entries, {}, &configs::ConfigEntry::name);
  for (configs::ConfigEntry& entry : entries) {
    auto& shown = topic.configs->emplace_back();
    shown.name = std::move(entry.name);
    shown.value = std::move(entry.value);
    shown.read_only = entry.read_only;
    shown.config_source = static_cast<std::int8_t>(entry.source);
    shown.is_sensitive = entry.sensitive;
  }
  return topic;
}

// Takes out what the caller may not create; their answers.
std::vector<CreateTopicsResponse::Topic> forbid(const Exchange& exchange, CreateTopicsRequest& request) {
  std::vector<CreateTopicsResponse::Topic> forbidden;
  if (authorise(exchange, Operation::create, Resource::cluster, kClusterResource) == Verdict::allowed) return forbidden;
  std::erase_if(request.topics, [&](const CreateTopicsRequest::Topic& topic) {
    if (authorise(exchange, Operation::create, Resource::topic, topic.name) == Verdict::allowed) return false;
    forbidden.push_back(failed(topic.name, {ErrorCode::TOPIC_AUTHORIZATION_FAILED, "Authorization failed."}));
    return true;
  });
  return forbidden;
}

}  // namespace

void handle_create_topics(Broker& broker, Exchange exchange) {
  auto request = std::make_shared<CreateTopicsRequest>();
  if (!exchange.decode(*request)) return;
  if (request->timeout_ms <= 0) {
    exchange.answer(all_failed(*request, ErrorCode::REQUEST_TIMED_OUT));
    return;
  }
  auto response = std::make_shared<CreateTopicsResponse>();
  response->topics = forbid(exchange, *request);
  if (request->topics.empty()) {
    exchange.answer(*response);
    return;
  }
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  broker.controller().submit([&broker, request, response, waiting](const metadata::Image& image) {
    metadata::CreateTopicsDecision decided = metadata::decide_create_topics(image, request->topics, topic_rules(broker));
    for (const metadata::CreatedTopic& topic : decided.topics) {
      bool refused = topic.refusal.code != ErrorCode::NONE;
      response->topics.push_back(refused ? failed(topic.name, topic.refusal) : created(broker.config(), image, topic));
    }
    metadata::Controller::Decision decision;
    if (!request->validate_only) decision.records = std::move(decided.records);
    decision.done = [request, response, waiting](const Result<std::shared_ptr<const metadata::Image>>& outcome) {
      waiting->answer(outcome ? *response : all_failed(*request, ErrorCode::KAFKA_STORAGE_ERROR));
    };
    return decision;
  });
}

}  // namespace cordwood::broker
