// ListConfigResources (key 74), versions 0-1: v0 subscriptions of client metrics only, v1 every type.
//
// As Kafka 4.4.0: an empty list of types means all; a type that is none gives 35 and nothing else; groups and subscriptions are
// those that have settings, brokers stand as brokers and as their loggers, all topics are there; the order is that of the types below.
#include <algorithm>
#include <array>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/list_config_resources.h"

namespace cordwood::broker {
namespace {

using metadata::Image;
using metadata::ResourceType;
using protocol::ErrorCode;
using protocol::ListConfigResourcesRequest;
using protocol::ListConfigResourcesResponse;

constexpr std::int16_t kOfClientMetrics = 0;  // the version that knows nothing else
constexpr std::array kListedTypes = {ResourceType::group, ResourceType::client_metrics, ResourceType::broker_logger, ResourceType::broker,
                                     ResourceType::topic};

bool is_listed_type(std::int8_t type) { return std::ranges::count(kListedTypes, static_cast<ResourceType>(type)) > 0; }

void list_type(const Image& image, ResourceType type, ListConfigResourcesResponse& response) {
  const auto add = [&](const std::string& name) {
    auto& listed = response.config_resources.emplace_back();
    listed.resource_name = name;
    listed.resource_type = static_cast<std::int8_t>(type);
  };
  switch (type) {
    case ResourceType::topic:
      for (const auto& [name, topic] : image.topics) add(name);
      return;
    case ResourceType::broker:
    case ResourceType::broker_logger:
      for (const auto& [id, registration] : image.brokers) {
        if (!registration.fenced) add(std::to_string(id.value));
      }
      return;
    case ResourceType::client_metrics:
    case ResourceType::group:
      for (const auto& [resource, values] : image.configs) {
        if (resource.type == type && !values.empty()) add(resource.name);
      }
      return;
  }
}

}  // namespace

void handle_list_config_resources(Broker& broker, Exchange exchange) {
  ListConfigResourcesRequest request;
  if (!exchange.decode(request)) return;
  ListConfigResourcesResponse response;
  if (authorise(exchange, Operation::describe_configs, Resource::cluster, kClusterResource) != Verdict::allowed) {
    response.error_code = ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
    exchange.answer(response);
    return;
  }
  std::vector<std::int8_t> wanted = request.resource_types;
  if (exchange.version() == kOfClientMetrics) wanted = {static_cast<std::int8_t>(ResourceType::client_metrics)};
  if (!std::ranges::all_of(wanted, is_listed_type)) {
    response.error_code = ErrorCode::UNSUPPORTED_VERSION;
    exchange.answer(response);
    return;
  }
  const auto image = broker.image();
  for (const ResourceType type : kListedTypes) {
    if (wanted.empty() || std::ranges::count(wanted, static_cast<std::int8_t>(type)) > 0) list_type(*image, type, response);
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
