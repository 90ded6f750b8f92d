// kafka-configs: settings of topics, brokers, loggers, groups and metrics subscriptions, and limits of users, clients and addresses.
#include <fmt/format.h>

#include <algorithm>

#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/configs_words.h"
#include "cli/kafka_tool.h"
#include "cli/quota_lines.h"
#include "client/call.h"
#include "client/configs.h"
#include "client/java_order.h"
#include "client/topics.h"
#include "protocol/messages/list_groups.h"

namespace cordwood::cli {
namespace {

using client::ConfigResourceType;
using client::ConfigSource;
using Done = std::monostate;

bool has_limits(std::string_view type) { return type == "users" || type == "clients" || type == "ips"; }

// What Kafka's tool waits for AlterConfigs, whatever default.api.timeout.ms is.
constexpr DurationMs kAlterTimeout{30'000};

ConfigResourceType resource_type(std::string_view type) {
  if (type == "topics") return ConfigResourceType::topic;
  if (type == "brokers") return ConfigResourceType::broker;
  if (type == "broker-loggers") return ConfigResourceType::broker_logger;
  return type == "groups" ? ConfigResourceType::group : ConfigResourceType::client_metrics;
}

// Where the settings that are the entity's own come from; nothing where all of them are shown.
std::optional<ConfigSource> own_source(ConfigResourceType type, std::string_view name) {
  switch (type) {
    case ConfigResourceType::topic: return ConfigSource::dynamic_topic;
    case ConfigResourceType::broker: return name.empty() ? ConfigSource::dynamic_default_broker : ConfigSource::dynamic_broker;
    case ConfigResourceType::broker_logger: return {};
    case ConfigResourceType::client_metrics: return ConfigSource::dynamic_client_metrics;
    case ConfigResourceType::group: return ConfigSource::dynamic_group;
  }
  return {};
}

// "topics" -> "topic".
std::string_view one_of(std::string_view type) { return type.substr(0, type.size() - 1); }

// What Kafka's admin client says of requests that it sends to brokers alone; none when `cluster` is one of brokers.
std::optional<client::Failure> only_for_brokers(const client::Cluster& cluster) {
  if (cluster.options().endpoints == client::Endpoints::brokers) return {};
  return client::Failure{protocol::ErrorCode::UNSUPPORTED_ENDPOINT_TYPE,
                         "This Admin API is not yet supported when communicating directly with the controller quorum."};
}

Tried<std::vector<std::string>> group_names(client::Cluster& cluster) {
  if (const auto refused = only_for_brokers(cluster)) {
    const JavaError cause = with_cause({"org.apache.kafka.common.KafkaException", "Failed to find brokers to send ListGroups"}, java_error(*refused));
    return std::unexpected(with_cause({"java.util.concurrent.ExecutionException", cause.to_string()}, cause));
  }
  std::vector<std::string> names;
  MonotonicNs deadline = cluster.deadline();
  NEED(tried_get(cluster.metadata(std::vector<std::string>(), "listGroups", deadline)));
  for (const auto& [id, node] : std::map(cluster.nodes())) {
    auto answer = NEED(tried_get(
        client::ask_broker<protocol::ListGroupsResponse>(cluster, id, "listGroups", protocol::ListGroupsRequest())));
    for (const auto& group : answer->groups) names.push_back(group.group_id);
  }
  return names;
}

// What has a name of this type, in the order in which Kafka's tool goes through it.
Tried<std::vector<std::string>> all_names(client::Cluster& cluster, ConfigResourceType type) {
  std::vector<std::string> names;
  switch (type) {
    case ConfigResourceType::topic:
      for (const auto& topic : NEED(tried_get(client::list_topics(cluster)))) names.push_back(topic.name);
      client::order_as_java(names, [](const std::string& name) { return client::java_hash_code(name); });
      return names;
    case ConfigResourceType::broker:
    case ConfigResourceType::broker_logger:
      NEED(tried_get(cluster.metadata(std::vector<std::string>(), "listNodes", cluster.deadline())));
      for (const auto& [id, node] : cluster.nodes()) names.push_back(fmt::format("{}", id));
      return names;
    case ConfigResourceType::group: names = NEED(group_names(cluster)); [[fallthrough]];
    case ConfigResourceType::client_metrics:
      if (const auto refused = only_for_brokers(cluster)) return std::unexpected(execution_exception(*refused));
      auto listed = client::list_config_resources(cluster, type);
      // A broker that does not know the request has no such settings but those of groups.
      bool unknown = !listed && listed.failure().code == protocol::ErrorCode::UNSUPPORTED_VERSION && type == ConfigResourceType::group;
      if (!listed && !unknown) return std::unexpected(execution_exception(listed.failure()));
      if (listed) names.insert(names.end(), listed->begin(), listed->end());
      break;
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  client::order_as_java(names, [](const std::string& name) { return client::java_hash_code(name); });
  return names;
}

std::string entry_line(const client::ConfigEntry& entry) {
  std::vector<std::string> synonyms;
  for (const auto& synonym : entry.synonyms) {
    synonyms.push_back(fmt::format("{}:{}={}", client::name_of(synonym.source), synonym.name, synonym.value.value_or("null")));
  }
  return fmt::format("  {}={} sensitive={} synonyms={{{}}}\n", entry.name, entry.value.value_or("null"), entry.is_sensitive,
                     fmt::join(synonyms, ", "));
}

boost::json::object entry_json(const client::ConfigEntry& entry) {
  auto text_or_null = [](const std::optional<std::string>& text) { return text ? boost::json::value(*text) : boost::json::value(); };
  boost::json::array synonyms;
  for (const auto& synonym : entry.synonyms) {
    synonyms.push_back({{"source", client::name_of(synonym.source)}, {"name", synonym.name}, {"value", text_or_null(synonym.value)}});
  }
  return {{"name", entry.name}, {"value", text_or_null(entry.value)}, {"source", client::name_of(entry.source)},
          {"isSensitive", entry.is_sensitive}, {"synonyms", std::move(synonyms)}};
}

enum class Show { own, all };

Tried<std::vector<client::ConfigEntry>> entries_of(client::Cluster& cluster, const client::ConfigResource& resource, Show show) {
  auto described = NEED(tried_get(client::describe_configs(cluster, {resource}, client::Synonyms::yes)));
  client::DescribedConfig& config = described.front();
  if (config.failure.code != protocol::ErrorCode::NONE) return std::unexpected(execution_exception(config.failure));
  auto source = own_source(resource.type, resource.name);
  if (show == Show::own && source) std::erase_if(config.entries, [&](const auto& entry) { return entry.source != *source; });
  std::ranges::sort(config.entries, {}, &client::ConfigEntry::name);
  return std::move(config.entries);
}

Tried<Done> describe_resources(const Options& options, const ConfigEntities& entities, client::Cluster& cluster, Session& session) {
  const std::string& type_name = entities.types.front();
  ConfigResourceType type = resource_type(type_name);
  Show show = options.has("all") ? Show::all : Show::own;
  std::vector<std::string> names;
  if (!entities.names.empty()) {
    names.push_back(entities.names.front());
    if (show == Show::own && !names.front().empty()) {
      auto known = NEED(all_names(cluster, type));
      bool is_there = std::ranges::find(known, names.front()) != known.end();
      // A broker that does not list the groups that have settings may tell them when asked for one.
      if (!is_there && type == ConfigResourceType::group) is_there = !NEED(entries_of(cluster, {type, names.front()}, Show::own)).empty();
      if (!is_there) {
        session.out.print("The {} '{}' doesn't exist and doesn't have dynamic config.\n", one_of(type_name), names.front());
        return Done{};
      }
    }
  } else {
    names = NEED(all_names(cluster, type));
    if (type == ConfigResourceType::broker) names.emplace_back();
  }
  boost::json::array array;
  for (const std::string& name : names) {
    bool json = options.has("json");
    if (!json && name.empty() && type == ConfigResourceType::broker) {
      session.out.write("Default configs for brokers in the cluster are:\n");
    } else if (!json) {
      session.out.print("{} configs for {} {} are:\n", show == Show::all ? "All" : "Dynamic", one_of(type_name), name);
    }
    session.out.flush();
    boost::json::array configs;
    for (const auto& entry : NEED(entries_of(cluster, {type, name}, show))) {
      if (json) configs.push_back(entry_json(entry));
      else session.out.write(entry_line(entry));
    }
    if (json) array.push_back({{"type", one_of(type_name)}, {"name", name}, {"configs", std::move(configs)}});
  }
  if (options.has("json")) session.out.print("{}\n", boost::json::serialize(array));
  return Done{};
}

Tried<Settings> added_settings(const Options& options, Session& session) {
  if (auto file = NEED(tried(options.value("add-config-file")))) {
    auto read = read_properties_file(session, *file);
    if (!read && read.error().code == Errc::not_found) {
      return std::unexpected(JavaError{"java.nio.file.NoSuchFileException", *file});
    }
    if (!read) return std::unexpected(JavaError{"java.io.IOException", read.error().message()});
    Settings settings;
    for (const auto& [name, value] : *read) {
      NEED(check_config_name(name));
      settings[name] = value;
    }
    return settings;
  }
  auto text = NEED(tried(options.value("add-config")));
  return text ? parse_added_configs(*text) : Settings();
}

Tried<std::vector<std::string>> deleted_settings(const Options& options) {
  std::vector<std::string> names;
  auto text = NEED(tried(options.value("delete-config")));
  if (!text) return names;
  for (const std::string& word : split_as_java(*text, ',')) {
    std::string_view name = java_trimmed(word);
    NEED(check_config_name(name));
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  return names;
}

Tried<Done> check_loggers(client::Cluster& cluster, const std::string& broker, const Settings& added,
                          const std::vector<std::string>& deleted) {
  auto known = NEED(entries_of(cluster, {ConfigResourceType::broker_logger, broker}, Show::all));
  auto is_known = [&](const std::string& name) { return std::ranges::find(known, name, &client::ConfigEntry::name) != known.end(); };
  std::vector<std::string> unknown;
  for (const std::string& name : deleted) {
    if (!is_known(name)) unknown.push_back(name);
  }
  for (const auto& [name, level] : added) {
    if (!is_known(name)) unknown.push_back(name);
  }
  if (unknown.empty()) return Done{};
  return std::unexpected(JavaError{"org.apache.kafka.common.errors.InvalidConfigurationException",
                                   fmt::format("Invalid broker logger(s): {}", fmt::join(unknown, ","))});
}

Tried<Done> alter_entity(const Options& options, const ConfigEntities& entities, client::Cluster& cluster, Session& session) {
  Settings added = NEED(added_settings(options, session));
  std::vector<std::string> deleted = NEED(deleted_settings(options));
  const std::string& type = entities.types.front();
  std::string name = entities.names.empty() ? "" : entities.names.front();
  if (has_limits(type)) {
    NEED(alter_quota_entities(cluster, entities, added, deleted, session.random));
  } else {
    if (type == "broker-loggers") NEED(check_loggers(cluster, name, added, deleted));
    std::vector<client::ConfigChange> changes;
    for (const auto& [key, value] : added) changes.push_back({key, client::ConfigChange::Operation::set, value});
    for (const std::string& key : deleted) changes.push_back({key, client::ConfigChange::Operation::remove, {}});
    NEED(tried_get(client::alter_configs(cluster, {resource_type(type), name}, changes)));
  }
  if (name.empty()) session.out.print("Completed updating default config for {} in the cluster.\n", type);
  else session.out.print("Completed updating config for {} {}.\n", one_of(type), name);
  return Done{};
}

Tried<Done> manage_configs(const Options& options, const ConfigEntities& entities, Session& session) {
  NEED(check_configs_words(options, entities));
  auto config = NEED(tried(options.value("command-config")));
  client::ClusterOptions defaults;
  if (options.has("bootstrap-controller")) defaults.endpoints = client::Endpoints::controllers;
  if (options.has("alter") && !has_limits(entities.types.front())) defaults.api_timeout = kAlterTimeout;
  const auto servers = NEED(tried(options.value(options.has("bootstrap-server") ? "bootstrap-server" : "bootstrap-controller")));
  auto admin = NEED(make_admin_client(session, *servers, config.value_or(""), defaults));
  if (const auto refused = only_for_brokers(admin->cluster); refused && has_limits(entities.types.front())) {
    return std::unexpected(execution_exception(*refused));
  }
  if (options.has("alter")) return alter_entity(options, entities, admin->cluster, session);
  if (has_limits(entities.types.front())) return describe_quota_entities(admin->cluster, entities, session);
  return describe_resources(options, entities, admin->cluster, session);
}

bool is_plain_mistake(const JavaError& error) {
  return error.java_class == illegal_argument("").java_class || error.java_class.starts_with("joptsimple.") ||
         error.java_class == "org.apache.kafka.common.errors.InvalidConfigurationException";
}

int run_configs(const Command& self, const Words& words, Session& session) {
  constexpr std::string_view kAbout =
      "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip, client-metrics or group";
  if (words.empty()) return usage_and_exit_code(self, session, kAbout);
  auto options = parse_options(*self.grammar, words);
  if (!options) {
    session.err.print("{}\n", options.mistake().message);
    suggest_option(self, session, options.mistake());
    return 1;
  }
  if (auto code = help_or_version(self, *options, session, kAbout)) return *code;
  if (options->has("describe") == options->has("alter")) {
    return usage_and_exit_code(self, session, "Command must include exactly one action: --describe, --alter");
  }
  constexpr std::string_view kNotWithDescribe[] = {"alter", "add-config", "delete-config"};
  constexpr std::string_view kNotWithAlter[] = {"describe", "json"};
  if (auto code = check_invalid(self, *options, session, "alter", kNotWithAlter)) return *code;
  if (auto code = check_invalid(self, *options, session, "describe", kNotWithDescribe)) return *code;
  auto done = manage_configs(*options, config_entities(*options, words), session);
  if (done) return 0;
  if (is_plain_mistake(done.error())) {
    session.err.print("{}\n", done.error().message);
  } else {
    session.err.print("Error while executing config command with args '{}'\n{}", fmt::join(words, " "), done.error().stack_trace());
  }
  return 1;
}

}  // namespace

extern const Command configs_command{
    .name = "configs",
    .kafka_name = "kafka-configs",
    .summary = "describe and change settings of topics, brokers, groups and others",
    .details = "--json prints for topics, brokers, loggers, groups and client metrics an array of {type, name, configs: [{name, value, source, "
               "isSensitive, synonyms: [{source, name, value}]}]}.",
    .grammar = &configs_grammar,
    .run = run_configs,
};

}  // namespace cordwood::cli
