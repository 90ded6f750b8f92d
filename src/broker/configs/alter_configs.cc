#include "broker/configs/alter_configs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "broker/configs/broker_configs.h"
#include "broker/configs/group_configs.h"
#include "broker/configs/topic_config_keys.h"
#include "broker/configs/topic_configs.h"
#include "broker/metadata/features.h"
#include "broker/metadata/topic_name.h"

namespace cordwood::broker::configs {
namespace {

using metadata::ConfigRecord;
using metadata::ConfigResource;
using metadata::ConfigValues;
using metadata::Image;
using metadata::invalid_config;
using metadata::invalid_request;
using metadata::Refusal;
using metadata::ResourceType;
using protocol::ErrorCode;

constexpr std::string_view kMinInsyncReplicas = "min.insync.replicas";

bool is_refused(const Refusal& refusal) { return refusal.code != ErrorCode::NONE; }

bool is(std::int8_t type, ResourceType wanted) { return type == static_cast<std::int8_t>(wanted); }

std::vector<std::string> names_of(const std::vector<ConfigChange>& changes) {
  std::vector<std::string> names;
  for (const ConfigChange& change : changes) names.push_back(change.name);
  return names;
}

// What holds for resources of every kind.
Refusal check_form(const ResourceChange& resource, bool appears_once, Alteration alteration) {
  if (!appears_once) return invalid_request("Each resource must appear at most once.");
  std::vector<std::string> names = names_of(resource.changes);
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end()) return invalid_request("Error due to duplicate config keys");
  std::vector<std::string> without_value;
  for (const ConfigChange& change : resource.changes) {
    bool takes_value =
        alteration == Alteration::complete || change.operation != static_cast<std::int8_t>(ConfigOperation::remove);
    if (takes_value && !change.value) without_value.push_back(change.name);
  }
  if (!without_value.empty()) {
    return invalid_request(fmt::format("Null value not supported for : {}", fmt::join(without_value, ", ")));
  }
  return {};
}

// The text between commas as it stands, without the empty end that a trailing comma leaves.
std::vector<std::string> split_plain(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (true) {
    auto comma = text.find(',', from);
    parts.push_back(text.substr(from, comma == std::string::npos ? std::string::npos : comma - from));
    if (comma == std::string::npos) break;
    from = comma + 1;
  }
  while (parts.size() > 1 && parts.back().empty()) parts.pop_back();
  return parts;
}

// A list with the elements of `change` added that it does not have, or taken out.
std::string changed_list(const std::string& present, const ConfigChange& change) {
  std::vector<std::string> parts = present.empty() ? std::vector<std::string>{} : split_plain(present);
  for (const std::string& part : split_plain(*change.value)) {
    bool has = std::ranges::count(parts, part) > 0;
    if (change.operation == static_cast<std::int8_t>(ConfigOperation::subtract)) {
      std::erase(parts, part);
    } else if (!has) {
      parts.push_back(part);
    }
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

// The definition of a key of topics and brokers; null for unknown ones and for other resources, whose lists are not
// known as such to Kafka's controller.
const KeyDefinition* definition_of(const ResourceChange& resource, const std::string& name) {
  if (is(resource.type, ResourceType::topic)) return find_topic_key(name);
  if (is(resource.type, ResourceType::broker)) return find_broker_key_of_any_listener(name);
  return nullptr;
}

Refusal check_list_operation(const ResourceChange& resource, const ConfigChange& change) {
  const KeyDefinition* key = definition_of(resource, change.name);
  bool append = change.operation == static_cast<std::int8_t>(ConfigOperation::append);
  if (key != nullptr && key->type == ConfigType::list) return {};
  if (is(resource.type, ResourceType::broker)) {
    if (key == nullptr) return invalid_config(fmt::format("Unknown config name: {}", change.name));
    return invalid_config(fmt::format("Config value {} is not allowed for config key: {}", append ? "append" : "subtract",
                                      change.name));
  }
  return invalid_config(fmt::format("Can't {} to key {} because its type is not LIST.", append ? "APPEND" : "SUBTRACT",
                                    change.name));
}

// `values` with the changes made.
Refusal apply_changes(const ResourceChange& resource, ConfigValues& values) {
  for (const ConfigChange& change : resource.changes) {
    switch (static_cast<ConfigOperation>(change.operation)) {
      case ConfigOperation::set: values[change.name] = *change.value; continue;
      case ConfigOperation::remove: values.erase(change.name); continue;
      case ConfigOperation::append:
      case ConfigOperation::subtract: {
        if (Refusal refusal = check_list_operation(resource, change); is_refused(refusal)) return refusal;
        const char* otherwise = definition_of(resource, change.name)->default_value;
        auto at = values.try_emplace(change.name, otherwise == nullptr ? "" : otherwise).first;
        at->second = changed_list(at->second, change);
        continue;
      }
    }
    if (is(resource.type, ResourceType::broker)) {
      return invalid_request(fmt::format("Unknown operations type {}", change.operation));
    }
    return {ErrorCode::UNKNOWN_SERVER_ERROR, std::nullopt};
  }
  return {};
}

// The name under which the settings of a broker are kept: its number in plain form, or "" for all brokers.
Refusal resolve_broker(const Config& config, std::string& name) {
  if (name.empty()) return {};
  std::int32_t id = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc{} || end != name.data() + name.size()) {
    return invalid_request(fmt::format("Node id must be an integer, but it is: {}", name));
  }
  if (NodeId{id} != config.node_id) {
    return invalid_request(fmt::format("Unexpected broker id, expected {}, but received {}", config.node_id, id));
  }
  name = fmt::format("{}", id);
  return {};
}

// With eligible leader replicas the controller needs one min.insync.replicas for the whole cluster.
Refusal check_min_insync_replicas(const Image& image, const ResourceChange& resource, const ConfigValues& before,
                                  const ConfigValues& after) {
  if (image.feature(std::string(metadata::kElrVersion)) < 1) return {};
  std::string key(kMinInsyncReplicas);
  bool named = std::ranges::count(names_of(resource.changes), key) > 0;
  if (!resource.name.empty() && (named || before.contains(key) != after.contains(key))) {
    return invalid_config("Broker-level min.insync.replicas cannot be altered while ELR is enabled.");
  }
  if (resource.name.empty() && !after.contains(key) && (named || before.contains(key))) {
    return invalid_config("Cluster-level min.insync.replicas cannot be removed while ELR is enabled.");
  }
  return {};
}

Refusal validate(const Config& config, const Image& image, const ResourceChange& resource, const ConfigValues& before,
                 const ConfigValues& after) {
  switch (static_cast<ResourceType>(resource.type)) {
    case ResourceType::topic:
      if (resource.name.empty()) return invalid_request("Default topic resources are not allowed.");
      if (auto fault = metadata::topic_name_fault(resource.name)) {
        return {ErrorCode::INVALID_TOPIC_EXCEPTION, *fault};
      }
      if (auto fault = validate_topic_configs(config, image, after)) return invalid_config(*fault);
      if (!image.topic(resource.name)) {
        return {ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("The topic '{}' does not exist.", resource.name)};
      }
      return {};
    case ResourceType::broker:
      if (auto fault = validate_dynamic_broker_configs(config, image, after, resource.name.empty())) {
        return invalid_request(*fault);
      }
      return check_min_insync_replicas(image, resource, before, after);
    case ResourceType::group:
      if (resource.name.empty()) return invalid_request("Default group resources are not allowed.");
      if (auto fault = validate_group_configs(config, image, after)) return invalid_config(*fault);
      return {};
    case ResourceType::client_metrics:
      if (resource.name.empty()) return invalid_request("Subscription name can't be empty");
      if (auto fault = validate_client_metrics_configs(after)) return {fault->code, fault->message};
      return {};
    case ResourceType::broker_logger: return {};
  }
  return {};
}

bool is_known_type(std::int8_t type, Alteration alteration) {
  if (is(type, ResourceType::broker_logger)) return alteration == Alteration::incremental;
  return is(type, ResourceType::topic) || is(type, ResourceType::broker) || is(type, ResourceType::group) ||
         is(type, ResourceType::client_metrics);
}

ResourceOutcome decide_one(const Config& config, const Image& image, ResourceChange resource, bool appears_once,
                           Alteration alteration) {
  ResourceOutcome outcome;
  outcome.refusal = check_form(resource, appears_once, alteration);
  if (is_refused(outcome.refusal)) return outcome;
  if (!is_known_type(resource.type, alteration)) {
    outcome.refusal = invalid_request(fmt::format("Unknown resource type {}", resource.type));
    return outcome;
  }
  if (is(resource.type, ResourceType::broker_logger)) return outcome;
  if (is(resource.type, ResourceType::broker)) {
    outcome.refusal = resolve_broker(config, resource.name);
    if (is_refused(outcome.refusal)) return outcome;
  }
  const ConfigValues& before = image.config({static_cast<ResourceType>(resource.type), resource.name});
  ConfigValues after;
  if (alteration == Alteration::complete) {
    for (const ConfigChange& change : resource.changes) after[change.name] = *change.value;
  } else {
    after = before;
    outcome.refusal = apply_changes(resource, after);
  }
  if (!is_refused(outcome.refusal)) outcome.refusal = validate(config, image, resource, before, after);
  if (is_refused(outcome.refusal)) return outcome;
  auto add_record = [&](const std::string& name, std::optional<std::string> value) {
    ConfigRecord& record = outcome.records.emplace_back();
    record.resource_type = resource.type;
    record.resource_name = resource.name;
    record.name = name;
    record.value = std::move(value);
  };
  for (const auto& [name, value] : after) {
    auto at = before.find(name);
    if (at == before.end() || at->second != value) add_record(name, value);
  }
  for (const auto& [name, value] : before) {
    if (!after.contains(name)) add_record(name, std::nullopt);
  }
  return outcome;
}

}  // namespace

std::vector<ResourceOutcome> decide_alter_configs(const Config& config, const Image& image,
                                                  const std::vector<ResourceChange>& resources, Alteration alteration) {
  std::map<std::pair<std::int8_t, std::string>, int> count;
  for (const ResourceChange& resource : resources) ++count[{resource.type, resource.name}];
  std::vector<ResourceOutcome> outcomes;
  for (const ResourceChange& resource : resources) {
    bool appears_once = count[{resource.type, resource.name}] == 1;
    outcomes.push_back(decide_one(config, image, resource, appears_once, alteration));
  }
  return outcomes;
}

}  // namespace cordwood::broker::configs
