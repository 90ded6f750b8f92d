// Metadata (key 3), versions 0-13: v1 null list for all topics, v4 auto-creation flag, v5 offline replicas, v7 leader
// epochs, v8 authorized operations, v10 topic ids, v12 requests by id, v13 a top-level error.
//
// As Kafka 4.4.0: an unknown topic that is created on the way is answered with 3 all the same, clients ask again; as soon
// as one id is given, names are not looked at; a null name below v12, or without an id, fails the whole request.
#include <algorithm>
#include <set>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/topic_view.h"
#include "broker/metadata/topic_name.h"
#include "broker/topic_creation.h"
#include "protocol/messages/metadata.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::MetadataRequest;
using protocol::MetadataResponse;
using TopicPtr = std::shared_ptr<const metadata::TopicState>;

constexpr std::int16_t kFirstWithFlag = 4;  // below, auto-creation is always allowed
constexpr std::int16_t kFirstById = 12;
constexpr std::int16_t kFirstWithIdField = 10;

class MetadataAnswer {
 public:
  MetadataAnswer(Broker& broker, const Exchange& exchange, const MetadataRequest& request)
      : broker_(broker), exchange_(exchange), request_(request), version_(exchange.version()), image_(broker.image()) {}

  MetadataResponse make() {
    if (auto failure = failure_of_all()) return failed(*failure);
    brokers();
    topics();
    if (request_.include_cluster_authorized_operations) response_.cluster_authorized_operations = kAllClusterOperations;
    return std::move(response_);
  }

 private:
  bool wants_all() const { return !request_.topics || (version_ == 0 && request_.topics->empty()); }

  bool asks_by_id() const {
    return std::ranges::any_of(*request_.topics, [](const auto& topic) { return !topic.topic_id.is_zero(); });
  }

  // Requests that Kafka fails as a whole.
  std::optional<ErrorCode> failure_of_all() const {
    if (version_ < kFirstWithIdField || wants_all()) return std::nullopt;
    bool by_id = asks_by_id();
    bool null_name = std::ranges::any_of(*request_.topics, [](const auto& topic) { return !topic.name; });
    if (version_ < kFirstById) {
      if (by_id || null_name) return ErrorCode::INVALID_REQUEST;
      return std::nullopt;
    }
    if (!by_id && null_name) return ErrorCode::UNKNOWN_SERVER_ERROR;
    return std::nullopt;
  }

  MetadataResponse failed(ErrorCode code) const {
    MetadataResponse response;
    response.error_code = code;
    for (const auto& asked : *request_.topics) {
      auto& topic = response.topics.emplace_back();
      topic.error_code = code;
      topic.name = asked.name.value_or("");
      topic.topic_id = asked.topic_id;
    }
    return response;
  }

  void brokers() {
    NodeId us = broker_.config().node_id;
    response_.cluster_id = broker_.controller().cluster_id();
    if (!is_alive(*image_, us)) return;
    auto& broker = response_.brokers.emplace_back();
    auto [host, port] = broker_.advertised_for(exchange_.peer());
    broker.node_id = us.value;
    broker.host = host;
    broker.port = port;
    broker.rack = broker_.config().rack;
    response_.controller_id = us.value;
  }

  void topics() {
    if (wants_all()) {
      for (const auto& [name, topic] : image_->topics) known(*topic);
      return;
    }
    if (version_ >= kFirstById && asks_by_id()) {
      by_id();
      return;
    }
    std::set<std::string_view> seen;
    for (const auto& asked : *request_.topics) {
      if (seen.insert(*asked.name).second) by_name(*asked.name);
    }
  }

  void by_id() {
    std::set<Uuid> seen;
    for (const auto& asked : *request_.topics) {
      if (asked.topic_id.is_zero() || !seen.insert(asked.topic_id).second) continue;
      if (TopicPtr topic = image_->topic(asked.topic_id)) {
        known(*topic);
        continue;
      }
      auto& unknown = response_.topics.emplace_back();
      unknown.error_code = ErrorCode::UNKNOWN_TOPIC_ID;
      unknown.name.reset();
      unknown.topic_id = asked.topic_id;
    }
  }

  void by_name(const std::string& name) {
    if (authorise(exchange_, Operation::describe, Resource::topic, name) == Verdict::denied) {
      without_partitions(name, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
      return;
    }
    if (TopicPtr topic = image_->topic(name)) {
      known(*topic);
      return;
    }
    if (metadata::topic_name_fault(name)) {
      without_partitions(name, ErrorCode::INVALID_TOPIC_EXCEPTION);
      return;
    }
    bool allowed = version_ < kFirstWithFlag || request_.allow_auto_topic_creation;
    if (allowed && broker_.config().auto_create_topics_enable && name != metadata::kClusterMetadata) {
      create_topic(broker_, name, {});
    }
    without_partitions(name, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  }

  void without_partitions(const std::string& name, ErrorCode code) {
    auto& topic = response_.topics.emplace_back();
    topic.error_code = code;
    topic.name = name;
    topic.is_internal = metadata::is_internal_topic(name);
    if (request_.include_topic_authorized_operations) topic.topic_authorized_operations = kAllTopicOperations;
  }

  void known(const metadata::TopicState& state) {
    if (authorise(exchange_, Operation::describe, Resource::topic, state.name) == Verdict::denied) {
      if (!wants_all()) without_partitions(state.name, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
      return;
    }
    auto& topic = response_.topics.emplace_back();
    topic.name = state.name;
    topic.topic_id = state.id;
    topic.is_internal = metadata::is_internal_topic(state.name);
    topic.partitions.reserve(state.partitions.size());
    for (const auto& [index, partition] : state.partitions) {
      PartitionView view = view_of(broker_, *image_, state.name, index, partition);
      auto& entry = topic.partitions.emplace_back();
      entry.error_code = view.error;
      entry.partition_index = index.value;
      entry.leader_id = view.leader;
      entry.leader_epoch = partition.leader_epoch;
      if (version_ == 0) {
        // There is no field for offline replicas: they are left out, and the partition says so.
        leave_out(view.replicas, view.offline);
        leave_out(view.isr, view.offline);
        if (!view.offline.empty() && view.error == ErrorCode::NONE) entry.error_code = ErrorCode::REPLICA_NOT_AVAILABLE;
      }
      entry.replica_nodes = std::move(view.replicas);
      entry.isr_nodes = std::move(view.isr);
      entry.offline_replicas = std::move(view.offline);
    }
    if (request_.include_topic_authorized_operations) topic.topic_authorized_operations = kAllTopicOperations;
  }

  static void leave_out(std::vector<std::int32_t>& nodes, const std::vector<std::int32_t>& offline) {
    std::erase_if(nodes, [&](std::int32_t node) { return std::ranges::find(offline, node) != offline.end(); });
  }

  Broker& broker_;
  const Exchange& exchange_;
  const MetadataRequest& request_;
  std::int16_t version_;
  std::shared_ptr<const metadata::Image> image_;
  MetadataResponse response_;
};

}  // namespace

void handle_metadata(Broker& broker, Exchange exchange) {
  MetadataRequest request;
  if (!exchange.decode(request)) return;
  exchange.answer(MetadataAnswer(broker, exchange, request).make());
}

}  // namespace cordwood::broker
