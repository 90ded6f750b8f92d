// DescribeConfigs (key 32), versions 1-4: v3 types and documentation.
//
// Answers for topics, this broker, the cluster-wide defaults (broker ""), its loggers, groups and client metrics. As Kafka
// 4.4.0: an unknown topic is 3 with an empty text; a good answer has an empty text too; groups and subscriptions of any
// name have their defaults; a list of keys without names means all of them, and unknown names give no entry.
// Documentation texts are Kafka's own prose and not repeated: a client that asks for them gets null.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/configs/broker_configs.h"
#include "broker/configs/group_configs.h"
#include "broker/configs/loggers.h"
#include "broker/configs/topic_configs.h"
#include "broker/handlers/api_table.h"
#include "broker/metadata/topic_name.h"
#include "protocol/messages/describe_configs.h"

namespace cordwood::broker {
namespace {

using configs::ConfigEntry;
using metadata::Image;
using metadata::Refusal;
using metadata::ResourceType;
using protocol::DescribeConfigsRequest;
using protocol::DescribeConfigsResponse;
using protocol::ErrorCode;

constexpr const char* kMalformedRequest =
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details.";

struct Described {
  Refusal refusal{ErrorCode::NONE, ""};
  std::vector<ConfigEntry> entries;
};

Described refused(ErrorCode code, std::string message) { return {{code, std::move(message)}, {}}; }

Described describe_topic(const Config& config, const Image& image, const std::string& name) {
  if (auto fault = metadata::topic_name_fault(name)) return refused(ErrorCode::INVALID_TOPIC_EXCEPTION, *fault);
  if (!image.topic(name)) return refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "");
  Described described;
  described.entries = configs::describe_topic_configs(config, image, image.config({ResourceType::topic, name}));
  return described;
}

// Nothing when `name` is this broker's id, else why it is not. `or_empty` is the part of the text that says what else
// would have been right.
std::optional<std::string> other_broker(const Config& config, const std::string& name, const char* or_empty) {
  std::int32_t id = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc{} || end != name.data() + name.size()) {
    return fmt::format("Broker id must be an integer, but it is: {}", name);
  }
  if (NodeId{id} == config.node_id) return {};
  return fmt::format("Unexpected broker id, expected {}{} but received {}", config.node_id, or_empty, id);
}

Described describe_broker(const Config& config, const Image& image, const std::string& name) {
  Described described;
  if (name.empty()) {
    described.entries = configs::describe_broker_defaults(config, image);
    return described;
  }
  if (auto fault = other_broker(config, name, " or empty string,")) return refused(ErrorCode::INVALID_REQUEST, *fault);
  described.entries = configs::describe_broker_configs(config, image);
  return described;
}

Described describe_loggers(const Broker& broker, const std::string& name) {
  if (name.empty()) return refused(ErrorCode::INVALID_REQUEST, "Broker id must not be empty");
  if (auto fault = other_broker(broker.config(), name, "")) return refused(ErrorCode::INVALID_REQUEST, *fault);
  Described described;
  described.entries = configs::describe_loggers(broker.logger());
  return described;
}

Described describe(const Broker& broker, const Image& image, const DescribeConfigsRequest::Resource& resource) {
  const std::string& name = resource.resource_name;
  const Config& config = broker.config();
  Described described;
  switch (static_cast<ResourceType>(resource.resource_type)) {
    case ResourceType::topic: return describe_topic(config, image, name);
    case ResourceType::broker: return describe_broker(config, image, name);
    case ResourceType::broker_logger: return describe_loggers(broker, name);
    case ResourceType::client_metrics:
      if (name.empty()) {
        return refused(ErrorCode::INVALID_REQUEST, "Client metrics subscription name must not be empty");
      }
      described.entries =
          configs::describe_client_metrics_configs(image.config({ResourceType::client_metrics, name}));
      return described;
    case ResourceType::group:
      if (name.empty()) return refused(ErrorCode::INVALID_REQUEST, "Group name must not be empty");
      described.entries = configs::describe_group_configs(config, image, image.config({ResourceType::group, name}));
      return described;
  }
  return refused(ErrorCode::INVALID_REQUEST, kMalformedRequest);
}

bool may_describe(const Exchange& exchange, const DescribeConfigsRequest::Resource& resource) {
  switch (static_cast<ResourceType>(resource.resource_type)) {
    case ResourceType::topic:
      return authorise(exchange, Operation::describe_configs, Resource::topic, resource.resource_name) ==
             Verdict::allowed;
    case ResourceType::group:
      return authorise(exchange, Operation::describe_configs, Resource::group, resource.resource_name) ==
             Verdict::allowed;
    default:
      return authorise(exchange, Operation::describe_configs, Resource::cluster, kClusterResource) == Verdict::allowed;
  }
}

ErrorCode code_of_denial(const DescribeConfigsRequest::Resource& resource) {
  switch (static_cast<ResourceType>(resource.resource_type)) {
    case ResourceType::topic: return ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    case ResourceType::group: return ErrorCode::GROUP_AUTHORIZATION_FAILED;
    default: return ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
  }
}

DescribeConfigsResponse::Config shown(ConfigEntry entry, bool with_synonyms) {
  DescribeConfigsResponse::Config config;
  config.name = std::move(entry.name);
  config.value = std::move(entry.value);
  config.read_only = entry.read_only;
  config.config_source = static_cast<std::int8_t>(entry.source);
  config.is_sensitive = entry.sensitive;
  config.config_type = static_cast<std::int8_t>(entry.type);
  if (!with_synonyms) return config;
  for (configs::ConfigSynonym& synonym : entry.synonyms) {
    auto& listed = config.synonyms.emplace_back();
    listed.name = std::move(synonym.name);
    listed.value = std::move(synonym.value);
    listed.source = static_cast<std::int8_t>(synonym.source);
  }
  return config;
}

bool is_wanted(const DescribeConfigsRequest::Resource& resource, const std::string& name) {
  const auto& keys = resource.configuration_keys;
  return !keys || keys->empty() || std::ranges::count(*keys, name) > 0;
}

}  // namespace

void handle_describe_configs(Broker& broker, Exchange exchange) {
  DescribeConfigsRequest request;
  if (!exchange.decode(request)) return;
  auto image = broker.image();
  DescribeConfigsResponse response;
  for (const auto& resource : request.resources) {
    auto& result = response.results.emplace_back();
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    Described described = may_describe(exchange, resource) ? describe(broker, *image, resource)
                                                           : refused(code_of_denial(resource), "Authorization failed.");
    result.error_code = described.refusal.code;
    result.error_message = described.refusal.message;
    for (ConfigEntry& entry : described.entries) {
      if (is_wanted(resource, entry.name)) result.configs.push_back(shown(std::move(entry), request.include_synonyms));
    }
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
