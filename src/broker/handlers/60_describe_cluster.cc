// DescribeCluster (key 60), versions 0-2: v1 endpoint types, v2 fenced brokers on request.
//
// Served on broker listeners, so that only endpoint type 1 can be answered.
#include <algorithm>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/topic_view.h"
#include "protocol/messages/describe_cluster.h"

namespace cordwood::broker {
namespace {

using protocol::DescribeClusterRequest;
using protocol::DescribeClusterResponse;
using protocol::ErrorCode;

constexpr std::int8_t kBrokers = 1;
constexpr std::int8_t kControllers = 2;

std::optional<DescribeClusterResponse> wrong_endpoint(std::int8_t type) {
  if (type == kBrokers) return std::nullopt;
  DescribeClusterResponse response;
  if (type == kControllers) {
    response.error_code = ErrorCode::MISMATCHED_ENDPOINT_TYPE;
    response.error_message =
        "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER";
  } else {
    response.error_code = ErrorCode::UNSUPPORTED_ENDPOINT_TYPE;
    response.error_message = fmt::format("Unsupported endpoint type {}", type);
  }
  return response;
}

}  // namespace

void handle_describe_cluster(Broker& broker, Exchange exchange) {
  DescribeClusterRequest request;
  if (!exchange.decode(request)) return;
  if (auto wrong = wrong_endpoint(request.endpoint_type)) {
    exchange.answer(*wrong);
    return;
  }
  std::shared_ptr<const metadata::Image> image = broker.image();
  NodeId us = broker.config().node_id;
  DescribeClusterResponse response;
  response.cluster_id = broker.controller().cluster_id();
  if (is_alive(*image, us)) response.controller_id = us.value;
  for (const auto& [id, registration] : image->brokers) {
    if (registration.fenced && !request.include_fenced_brokers) continue;
    std::pair<std::string, std::int32_t> address;
    if (id == us) {
      address = broker.advertised_for(exchange.peer());
    } else {
      auto at = std::ranges::find(registration.endpoints, exchange.peer().listener_name, &metadata::Endpoint::name);
      if (at == registration.endpoints.end()) continue;
      address = {at->host, at->port};
    }
    auto& entry = response.brokers.emplace_back();
    entry.broker_id = id.value;
    entry.host = address.first;
    entry.port = address.second;
    entry.rack = registration.rack;
    entry.is_fenced = registration.fenced;
  }
  if (request.include_cluster_authorized_operations) response.cluster_authorized_operations = kAllClusterOperations;
  exchange.answer(response);
}

}  // namespace cordwood::broker
