#include "broker/topic_creation.h"

#include <charconv>
#include <utility>

#include "broker/broker.h"
#include "broker/metadata/topic_name.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;

// A whole number from server.properties for a key that Config has no field for.
template <class Number>
Number given_number(const Config& config, const char* key, Number otherwise) {
  auto at = config.given.find(key);
  if (at == config.given.end()) return otherwise;
  const std::string& text = at->second;
  Number value{};
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

}  // namespace

metadata::TopicRules topic_rules(Broker& broker) {
  return {&broker.config(), broker.config().node_id, broker.controller().online_directories(), &broker.random()};
}

protocol::CreateTopicsRequest::Topic automatic_topic(const Config& config, const std::string& name) {
  protocol::CreateTopicsRequest::Topic topic;
  topic.name = name;
  topic.num_partitions = -1;
  topic.replication_factor = -1;
  auto set = [&](const char* key, std::string value) {
    auto& entry = topic.configs.emplace_back();
    entry.name = key;
    entry.value = std::move(value);
  };
  if (name == metadata::kConsumerOffsets) {
    topic.num_partitions = config.offsets_topic_num_partitions;
    topic.replication_factor = config.offsets_topic_replication_factor;
    set("compression.type", "producer");
    set("cleanup.policy", "compact");
    set("segment.bytes", std::to_string(config.offsets_topic_segment_bytes.value));
  } else if (name == metadata::kTransactionState) {
    topic.num_partitions = given_number(config, "transaction.state.log.num.partitions", 50);
    topic.replication_factor = given_number<std::int16_t>(config, "transaction.state.log.replication.factor", 1);
    set("compression.type", "uncompressed");
    set("cleanup.policy", "compact");
    set("min.insync.replicas", std::to_string(given_number(config, "transaction.state.log.min.isr", 1)));
    set("segment.bytes", std::to_string(given_number(config, "transaction.state.log.segment.bytes", 104'857'600)));
    set("unclean.leader.election.enable", "false");
  } else if (name == metadata::kShareGroupState) {
    topic.num_partitions = given_number(config, "share.coordinator.state.topic.num.partitions", 50);
    topic.replication_factor = given_number<std::int16_t>(config, "share.coordinator.state.topic.replication.factor", 1);
    set("compression.type", "producer");
    set("cleanup.policy", "delete");
    set("min.insync.replicas", std::to_string(given_number(config, "share.coordinator.state.topic.min.isr", 1)));
    set("segment.bytes", std::to_string(given_number(config, "share.coordinator.state.topic.segment.bytes", 104'857'600)));
    set("retention.ms", "-1");
  }
  return topic;
}

void create_topic(Broker& broker, const std::string& name, std::function<void(ErrorCode)> done) {
  broker.controller().submit([&broker, name, done = std::move(done)](const metadata::Image& image) {
    metadata::Controller::Decision decision;
    ErrorCode refused = ErrorCode::NONE;
    if (!image.topics.contains(name)) {
      metadata::CreateTopicsDecision created =
          metadata::decide_create_topics(image, {automatic_topic(broker.config(), name)}, topic_rules(broker));
      decision.records = std::move(created.records);
      const metadata::Refusal& refusal = created.topics.front().refusal;
      refused = refusal.code;
      if (refused != ErrorCode::NONE) {
        broker.logger().warn("Topic {} is not created: {}", name, refusal.message.value_or("refused"));
      }
    }
    decision.done = [done, refused](const Result<std::shared_ptr<const metadata::Image>>& outcome) {
      if (done) done(outcome ? refused : ErrorCode::KAFKA_STORAGE_ERROR);
    };
    return decision;
  });
}

}  // namespace cordwood::broker
