// CreatePartitions (key 37), versions 0-3: the count is the new total; assignments, when given, are for the new ones only.
#include <memory>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/topic_creation.h"
#include "protocol/messages/create_partitions.h"

namespace cordwood::broker {
namespace {

using metadata::GrownTopic;
using protocol::CreatePartitionsRequest;
using protocol::CreatePartitionsResponse;
using protocol::ErrorCode;

CreatePartitionsResponse answer_of(const std::vector<GrownTopic>& topics) {
  CreatePartitionsResponse response;
  for (const GrownTopic& topic : topics) {
    auto& entry = response.results.emplace_back();
    entry.name = topic.name;
    entry.error_code = topic.refusal.code;
    entry.error_message = topic.refusal.message;
  }
  return response;
}

std::vector<GrownTopic> all_failed(const CreatePartitionsRequest& request, ErrorCode code) {
  std::vector<GrownTopic> topics;
  for (const auto& topic : request.topics) topics.push_back({topic.name, {code, std::nullopt}});
  return topics;
}

}  // namespace

void handle_create_partitions(Broker& broker, Exchange exchange) {
  auto request = std::make_shared<CreatePartitionsRequest>();
  if (!exchange.decode(*request)) return;
  if (request->timeout_ms <= 0) {
    exchange.answer(answer_of(all_failed(*request, ErrorCode::REQUEST_TIMED_OUT)));
    return;
  }
  auto forbidden = std::make_shared<std::vector<GrownTopic>>();
  std::erase_if(request->topics, [&](const CreatePartitionsRequest::Topic& topic) {
    if (authorise(exchange, Operation::alter, Resource::topic, topic.name) == Verdict::allowed) return false;
    forbidden->push_back({topic.name, {ErrorCode::TOPIC_AUTHORIZATION_FAILED, std::nullopt}});
    return true;
  });
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  broker.controller().submit([&broker, request, forbidden, waiting](const metadata::Image& image) {
    metadata::CreatePartitionsDecision decided =
        metadata::decide_create_partitions(image, request->topics, topic_rules(broker));
    metadata::Controller::Decision decision;
    if (!request->validate_only) decision.records = std::move(decided.records);
    auto topics = std::make_shared<std::vector<GrownTopic>>(std::move(decided.topics));
    topics->insert(topics->end(), forbidden->begin(), forbidden->end());
    decision.done = [request, topics, waiting](const Result<std::shared_ptr<const metadata::Image>>& outcome) {
      waiting->answer(answer_of(outcome ? *topics : all_failed(*request, ErrorCode::KAFKA_STORAGE_ERROR)));
    };
    return decision;
  });
}

}  // namespace cordwood::broker
