// FindCoordinator (key 10), versions 0-6: v1 key types, v4 several keys, v6 share coordinators.
//
// With one broker the coordinator of every group is this one. As in Kafka the question makes __consumer_offsets when it is
// missing; but where Kafka answers COORDINATOR_NOT_AVAILABLE at once and clients ask again after their back-off, we answer
// when the topic is there. While the group's partition of it has no leader (its log directory has failed): 15. Transaction and share coordinators do not exist yet: 15.
#include <algorithm>
#include <memory>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "broker/topic_creation.h"
#include "protocol/messages/find_coordinator.h"

namespace cordwood::broker {

using protocol::ErrorCode;

namespace {

enum KeyType : std::int8_t { kGroup = 0, kTransaction = 1, kShare = 2 };

// "group:topicId:partition"
bool is_share_key(const std::string& key) {
  auto last = key.rfind(':');
  if (last == std::string::npos || last == 0) return false;
  auto middle = key.rfind(':', last - 1);
  if (middle == std::string::npos || middle == 0) return false;
  std::string_view partition = std::string_view(key).substr(last + 1);
  return Uuid::parse(std::string_view(key).substr(middle + 1, last - middle - 1)).has_value() && !partition.empty() &&
         partition.size() <= 10 && std::ranges::all_of(partition, [](char c) { return c >= '0' && c <= '9'; });
}

ErrorCode check(std::int8_t type, const std::string& key, std::int16_t version) {
  switch (type) {
    case kGroup: return ErrorCode::NONE;
    case kTransaction: return ErrorCode::COORDINATOR_NOT_AVAILABLE;
    case kShare:
      if (version < 6 || !is_share_key(key)) return ErrorCode::INVALID_REQUEST;
      return ErrorCode::COORDINATOR_NOT_AVAILABLE;
    default: return ErrorCode::INVALID_REQUEST;
  }
}

// As long as the topic exists.
ErrorCode check_leader(const metadata::Image& image, const std::string& group) {
  const auto topic = image.topic(groups::kOffsetsTopic);
  if (!topic) return ErrorCode::NONE;
  const auto at = topic->partitions.find(groups::partition_of(group, static_cast<std::int32_t>(topic->partitions.size())));
  return at != topic->partitions.end() && at->second.leader ? ErrorCode::NONE : ErrorCode::COORDINATOR_NOT_AVAILABLE;
}

void answer(Broker& broker, Exchange& exchange, const protocol::FindCoordinatorRequest& request, ErrorCode groups) {
  auto [host, port] = broker.advertised_for(exchange.peer());
  const auto image = broker.image();
  protocol::FindCoordinatorResponse response;
  auto fill = [&](auto& entry, const std::string& key) {
    ErrorCode error = check(request.key_type, key, exchange.version());
    if (request.key_type == kGroup && authorise(exchange, Operation::describe, Resource::group, key) == Verdict::denied) {
      error = ErrorCode::GROUP_AUTHORIZATION_FAILED;
    }
    if (error == ErrorCode::NONE && request.key_type == kGroup) error = groups;
    if (error == ErrorCode::NONE && request.key_type == kGroup) error = check_leader(*image, key);
    entry.error_code = error;
    entry.error_message = "";
    entry.node_id = error == ErrorCode::NONE ? broker.config().node_id.value : -1;
    entry.host = error == ErrorCode::NONE ? host : "";
    entry.port = error == ErrorCode::NONE ? port : -1;
  };
  if (exchange.version() < 4) {
    fill(response, request.key);
  } else {
    for (const auto& key : request.coordinator_keys) {
      auto& entry = response.coordinators.emplace_back();
      entry.key = key;
      fill(entry, key);
    }
  }
  exchange.answer(response);
}

}  // namespace

void handle_find_coordinator(Broker& broker, Exchange exchange) {
  protocol::FindCoordinatorRequest request;
  if (!exchange.decode(request)) return;
  const bool asks_for_groups =
      request.key_type == kGroup && (exchange.version() < 4 || !request.coordinator_keys.empty());
  if (!asks_for_groups || broker.image()->topic(groups::kOffsetsTopic)) {
    return answer(broker, exchange, request, ErrorCode::NONE);
  }
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  create_internal_topic(broker, groups::kOffsetsTopic, [&broker, waiting, request](ErrorCode error) {
    answer(broker, *waiting, request, error == ErrorCode::NONE ? error : ErrorCode::COORDINATOR_NOT_AVAILABLE);
  });
}

}  // namespace cordwood::broker
