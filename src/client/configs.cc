#include "client/configs.h"

#include <algorithm>
#include <charconv>

#include "client/call.h"
#include "protocol/messages/describe_configs.h"
#include "protocol/messages/incremental_alter_configs.h"
#include "protocol/messages/list_config_resources.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

// The broker that alone can answer for this resource.
std::optional<std::int32_t> broker_of(const ConfigResource& resource) {
  if (resource.type != ConfigResourceType::broker && resource.type != ConfigResourceType::broker_logger) return {};
  std::int32_t id = 0;
  auto [end, error] = std::from_chars(resource.name.data(), resource.name.data() + resource.name.size(), id);
  if (error != std::errc() || end != resource.name.data() + resource.name.size()) return {};
  return id;
}

Outcome<std::vector<DescribedConfig>> describe_at(Cluster& cluster, std::optional<std::int32_t> broker,
                                                  const std::vector<ConfigResource>& resources, Synonyms synonyms) {
  constexpr std::string_view kCall = "describeConfigs";
  protocol::DescribeConfigsRequest request;
  request.include_synonyms = synonyms == Synonyms::yes;
  for (const ConfigResource& resource : resources) {
    request.resources.push_back({static_cast<std::int8_t>(resource.type), resource.name, {}});
  }
  auto answer = ATTEMPT(broker ? ask_broker<protocol::DescribeConfigsResponse>(cluster, *broker, kCall, request)
                               : ask_any<protocol::DescribeConfigsResponse>(cluster, kCall, request));
  std::vector<DescribedConfig> described;
  for (const auto& result : answer->results) {
    DescribedConfig& config = described.emplace_back();
    config.resource = {static_cast<ConfigResourceType>(result.resource_type), result.resource_name};
    config.failure = {ErrorCode::NONE, ""};
    if (result.error_code != ErrorCode::NONE) config.failure = failure_of(result.error_code, result.error_message);
    for (const auto& entry : result.configs) {
      ConfigEntry& told = config.entries.emplace_back();
      told.name = entry.name;
      told.value = entry.value;
      told.source = static_cast<ConfigSource>(entry.config_source);
      told.is_sensitive = entry.is_sensitive;
      told.is_read_only = entry.read_only;
      for (const auto& synonym : entry.synonyms) {
        told.synonyms.push_back({synonym.name, synonym.value, static_cast<ConfigSource>(synonym.source)});
      }
    }
  }
  return described;
}

}  // namespace

std::string_view name_of(ConfigSource source) {
  switch (source) {
    case ConfigSource::dynamic_topic: return "DYNAMIC_TOPIC_CONFIG";
    case ConfigSource::dynamic_broker: return "DYNAMIC_BROKER_CONFIG";
    case ConfigSource::dynamic_default_broker: return "DYNAMIC_DEFAULT_BROKER_CONFIG";
    case ConfigSource::static_broker: return "STATIC_BROKER_CONFIG";
    case ConfigSource::built_in: return "DEFAULT_CONFIG";
    case ConfigSource::dynamic_broker_logger: return "DYNAMIC_BROKER_LOGGER_CONFIG";
    case ConfigSource::dynamic_client_metrics: return "DYNAMIC_CLIENT_METRICS_CONFIG";
    case ConfigSource::dynamic_group: return "DYNAMIC_GROUP_CONFIG";
  }
  return "UNKNOWN";
}

Outcome<std::vector<DescribedConfig>> describe_configs(Cluster& cluster, const std::vector<ConfigResource>& resources,
                                                       Synonyms synonyms) {
  std::vector<ConfigResource> of_any;
  std::vector<DescribedConfig> all;
  auto add = [&](std::vector<DescribedConfig> more) { std::ranges::move(more, std::back_inserter(all)); };
  for (const ConfigResource& resource : resources) {
    if (auto broker = broker_of(resource)) {
      add(ATTEMPT(describe_at(cluster, broker, {resource}, synonyms)));
    } else {
      of_any.push_back(resource);
    }
  }
  if (!of_any.empty()) add(ATTEMPT(describe_at(cluster, {}, of_any, synonyms)));
  std::vector<DescribedConfig> ordered;
  for (const ConfigResource& resource : resources) {
    auto found = std::ranges::find(all, resource, &DescribedConfig::resource);
    if (found == all.end()) {
      return Failure{ErrorCode::UNKNOWN_SERVER_ERROR, fmt::format("The broker said nothing of {}", resource.name)};
    }
    ordered.push_back(*found);
  }
  return ordered;
}

Outcome<Nothing> alter_configs(Cluster& cluster, const ConfigResource& resource, const std::vector<ConfigChange>& changes,
                               bool validate_only) {
  constexpr std::string_view kCall = "incrementalAlterConfigs";
  protocol::IncrementalAlterConfigsRequest request;
  request.validate_only = validate_only;
  auto& asked = request.resources.emplace_back();
  asked.resource_type = static_cast<std::int8_t>(resource.type);
  asked.resource_name = resource.name;
  for (const ConfigChange& change : changes) {
    asked.configs.push_back({change.name, static_cast<std::int8_t>(change.operation), change.value});
  }
  auto broker = broker_of(resource);
  auto answer = ATTEMPT(broker ? ask_broker<protocol::IncrementalAlterConfigsResponse>(cluster, *broker, kCall, request)
                               : ask_controller<protocol::IncrementalAlterConfigsResponse>(cluster, kCall, request));
  for (const auto& result : answer->responses) {
    if (result.error_code != ErrorCode::NONE) return failure_of(result.error_code, result.error_message);
  }
  return Nothing{};
}

Outcome<std::vector<std::string>> list_config_resources(Cluster& cluster, ConfigResourceType type) {
  protocol::ListConfigResourcesRequest request;
  request.resource_types.push_back(static_cast<std::int8_t>(type));
  auto answer = ATTEMPT(ask_any<protocol::ListConfigResourcesResponse>(cluster, "listConfigResources", request));
  if (answer->error_code != ErrorCode::NONE) return failure_of(answer->error_code);
  std::vector<std::string> names;
  for (const auto& resource : answer->config_resources) {
    if (resource.resource_type == static_cast<std::int8_t>(type)) names.push_back(resource.resource_name);
  }
  return names;
}

}  // namespace cordwood::client
