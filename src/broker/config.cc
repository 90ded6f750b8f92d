#include "broker/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/edit_distance.h"
#include "base/properties.h"
#include "broker/configs/broker_configs.h"
#include "broker/configs/config_bindings.h"
#include "broker/configs/listeners.h"
#include "broker/metadata/image.h"

namespace cordwood::broker {
namespace {

using configs::BrokerKey;
using configs::ConfigValue;
using configs::Effect;
using Given = std::map<std::string, std::string>;

// A misspelling changes few letters of a name: at most this many, and never more than a third of it.
constexpr std::size_t kMostWrongLetters = 3;

// The known key that `name` most probably means; null when none is near.
const BrokerKey* nearest_key(std::string_view name) {
  const BrokerKey* nearest = nullptr;
  std::size_t least = std::min(kMostWrongLetters, name.size() / 3) + 1;
  for (const BrokerKey& key : configs::broker_keys()) {
    std::size_t lengths_apart =
        std::max(key.name.size(), name.size()) - std::min(key.name.size(), name.size());
    if (lengths_apart >= least) continue;
    std::size_t distance = edit_distance(name, key.name);
    if (distance < least) {
      least = distance;
      nearest = &key;
    }
  }
  return nearest;
}

// Settings that are handed to listeners and plug-ins under a prefix: their names are free.
bool has_free_name(std::string_view key) {
  for (std::string_view prefix : {"listener.name.", "rsm.config.", "rlmm.config.", "config.providers.", "confluent."}) {
    if (key.starts_with(prefix)) return true;
  }
  return false;
}

std::string place_of(const Property& property, std::string_view file_name) {
  return property.line == 0 ? std::string() : fmt::format(" in {} line {}", file_name, property.line);
}

Result<void> check_names(const std::vector<Property>& properties, std::string_view file_name, Logger& logger) {
  std::set<std::string> told;
  for (const Property& property : properties) {
    const BrokerKey* key = configs::find_broker_key(property.key);
    if (key != nullptr && key->effect != Effect::ignored) continue;
    std::string place = place_of(property, file_name);
    if (key == nullptr && !has_free_name(property.key)) {
      if (const BrokerKey* near = nearest_key(property.key)) {
        return Error{Errc::invalid, fmt::format("unknown key '{}'{}; did you mean '{}'?", property.key, place, near->name)};
      }
    }
    if (!told.insert(property.key).second) continue;
    if (key == nullptr) {
      logger.warn("unknown key '{}'{} is ignored", property.key, place);
    } else {
      logger.warn("key '{}'{} has no effect: Cordwood does not act on it", property.key, place);
    }
  }
  return {};
}

// node.id and broker.id are one setting with two names.
Result<void> join_node_id_and_broker_id(Given& given) {
  auto node = given.find("node.id");
  auto broker = given.find("broker.id");
  if (node != given.end() && broker != given.end()) {
    if (configs::trim(node->second) == configs::trim(broker->second)) return {};
    return Error{Errc::invalid, fmt::format("You must set `node.id` to the same value as `broker.id`, not to {} and {}.",
                                            node->second, broker->second)};
  }
  if (node != given.end()) given.emplace("broker.id", node->second);
  if (broker != given.end()) given.emplace("node.id", broker->second);
  return {};
}

Result<void> check_values(const Given& given) {
  for (const BrokerKey& key : configs::broker_keys()) {
    auto at = given.find(std::string(key.name));
    if (at == given.end()) continue;
    TRY(configs::read_config_value(key, at->second));
  }
  return {};
}

// The value of a given key that has passed check_values; nothing when it was not given.
std::optional<ConfigValue> value_of(const Given& given, const std::string& name) {
  auto at = given.find(name);
  if (at == given.end()) return {};
  auto value = configs::read_config_value(*configs::find_broker_key(name), at->second);
  CHECK(value.has_value(), "{} was checked", name);
  return std::move(*value);
}

Result<void> check_that_it_stands_alone(const Given& given) {
  if (auto roles = value_of(given, "process.roles"); roles && roles->items.size() != 2) {
    return Error{Errc::unsupported, fmt::format("process.roles={}: Cordwood is a broker and its own controller; it joins "
                                                "no other cluster yet (process.roles=broker,controller)",
                                                roles->text)};
  }
  for (const char* name : {"controller.quorum.voters", "controller.quorum.bootstrap.servers"}) {
    if (auto servers = value_of(given, name); servers && servers->items.size() > 1) {
      return Error{Errc::unsupported, fmt::format("{}={}: Cordwood is a cluster of one node and joins no quorum of {}", name,
                                                  servers->text, servers->items.size())};
    }
  }
  return {};
}

// Rules that look at more than one key, with Kafka's texts.
Result<void> check_together(const Config& config) {
  metadata::Image nothing_dynamic;
  auto integer = [&](std::string_view key) {
    auto value = configs::effective_broker_value(config, nothing_dynamic, key);
    return value ? value->integer : 0;
  };
  for (const char* key : {"log.retention.ms", "log.retention.minutes", "log.retention.hours"}) {
    auto retention = configs::effective_broker_value(config, nothing_dynamic, key);
    if (!retention) continue;
    if (retention->integer == 0) {
      return Error{Errc::invalid, "log.retention.ms must be unlimited (-1) or, equal or greater than 1"};
    }
    break;
  }
  if (integer("log.cleaner.min.compaction.lag.ms") > integer("log.cleaner.max.compaction.lag.ms")) {
    return Error{Errc::invalid,
                 fmt::format("conflict topic config setting min.compaction.lag.ms ({}) > max.compaction.lag.ms ({})",
                             integer("log.cleaner.min.compaction.lag.ms"), integer("log.cleaner.max.compaction.lag.ms"))};
  }
  if (config.group_min_session_timeout_ms > config.group_max_session_timeout_ms) {
    return Error{Errc::invalid,
                 fmt::format("group.min.session.timeout.ms ({}) must not exceed group.max.session.timeout.ms ({})",
                             config.group_min_session_timeout_ms, config.group_max_session_timeout_ms)};
  }
  return {};
}

Result<Config> make_config(const std::vector<Property>& properties, std::string_view file_name, Logger& logger) {
  TRY(check_names(properties, file_name, logger));
  Config config;
  for (const Property& property : properties) config.given[property.key] = property.value;
  TRY(join_node_id_and_broker_id(config.given));
  TRY(check_values(config.given));
  TRY(check_that_it_stands_alone(config.given));
  for (const configs::Binding& binding : configs::config_bindings()) {
    if (auto value = value_of(config.given, std::string(binding.key))) binding.assign(config, *value);
  }
  if (auto dirs = value_of(config.given, "log.dirs")) {
    config.log_dirs = dirs->items;
  } else if (auto dir = value_of(config.given, "log.dir")) {
    config.log_dirs = dir->items;
  }
  TRY(configs::read_listeners(config.given, config));
  TRY(check_together(config));
  return config;
}

}  // namespace

Result<Config> Config::from_properties(const std::vector<std::pair<std::string, std::string>>& properties,
                                       Logger& logger) {
  std::vector<Property> listed;
  for (const auto& [key, value] : properties) listed.push_back({key, value, 0});
  return make_config(listed, "", logger);
}

Result<Config> Config::from_file(std::string_view text, std::string_view file_name,
                                 const std::vector<std::pair<std::string, std::string>>& overrides, Logger& logger) {
  auto properties = read_properties(text);
  if (!properties) return Error{Errc::invalid, fmt::format("{} {}", file_name, properties.error().what)};
  for (const auto& [key, value] : overrides) properties->push_back({key, value, 0});
  return make_config(*properties, file_name, logger);
}

void Config::set_bound_port(const std::string& listener_name, std::uint16_t port) {
  const auto settle = [&](std::vector<ListenerAddress>& addresses) {
    for (ListenerAddress& address : addresses) {
      if (address.name == listener_name && address.port == 0) address.port = port;
    }
  };
  settle(listeners);
  if (advertised_listeners) settle(*advertised_listeners);
}

}  // namespace cordwood::broker
