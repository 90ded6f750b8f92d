#include "cli/configs_words.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>

#include "cli/kafka_tool.h"

namespace cordwood::cli {
namespace {

constexpr OptionSpec kConfigsOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from"},
    {.name = "bootstrap-controller", .argument = "HOST:PORT,…", .help = "controllers to start from: instead of brokers"},
    {.name = "command-config", .argument = "FILE", .help = "properties of the client"},
    {.name = "describe", .help = "print settings"},
    {.name = "alter", .help = "change settings"},
    {.name = "all", .help = "with --describe: those that come from files and those that are built in, too"},
    {.name = "entity-type", .argument = "TYPE", .help = "topics, clients, users, brokers, broker-loggers, ips, client-metrics, groups; users and clients may be given together", .repeatable = true},
    {.name = "entity-name", .argument = "NAME", .help = "name of a topic, client, user, group; id of a broker; address", .repeatable = true},
    {.name = "entity-default", .help = "the default of clients, users, brokers or ips"},
    {.name = "topic", .argument = "NAME", .help = "a topic"},
    {.name = "client", .argument = "NAME", .help = "a client id"},
    {.name = "user", .argument = "NAME", .help = "a user's principal"},
    {.name = "broker", .argument = "ID", .help = "a broker"},
    {.name = "broker-logger", .argument = "ID", .help = "the loggers of a broker"},
    {.name = "ip", .argument = "ADDRESS", .help = "an address"},
    {.name = "client-metrics", .argument = "NAME", .help = "a subscription to metrics of clients"},
    {.name = "group", .argument = "NAME", .help = "a group"},
    {.name = "client-defaults", .help = "the default of all clients"},
    {.name = "user-defaults", .help = "the default of all users"},
    {.name = "broker-defaults", .help = "the default of all brokers"},
    {.name = "ip-defaults", .help = "the default of all addresses"},
    {.name = "add-config", .argument = "K=V,K2=[A,B]", .help = "settings to set; brackets around values with commas"},
    {.name = "add-config-file", .argument = "FILE", .help = "a properties file of settings to set"},
    {.name = "delete-config", .argument = "K,K2", .help = "settings to remove"},
    {.name = "json", .help = "with --describe: one JSON array instead of lines (Cordwood's own)"},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};

// The short forms in Kafka's order: option and type.
constexpr std::pair<std::string_view, std::string_view> kEntityOptions[] = {
    {"topic", "topics"},   {"client", "clients"},    {"user", "users"},          {"broker", "brokers"}, {"broker-logger", "broker-loggers"},
    {"ip", "ips"},         {"client-metrics", "client-metrics"}, {"group", "groups"},
};
constexpr std::pair<std::string_view, std::string_view> kDefaultOptions[] = {
    {"client-defaults", "clients"}, {"user-defaults", "users"}, {"broker-defaults", "brokers"}, {"ip-defaults", "ips"}};
constexpr std::string_view kEntityTypes[] = {"broker-loggers", "topics", "clients", "users", "brokers", "ips", "client-metrics", "groups"};

bool contains(const std::vector<std::string>& list, std::string_view text) { return std::ranges::find(list, text) != list.end(); }

bool is_address(const std::string& name) {
  addrinfo hints{};
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

std::optional<std::string> wrong_types(const ConfigEntities& entities) {
  const auto& types = entities.types;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (std::ranges::count(types, types[i]) > 1) return fmt::format("Duplicate entity type(s) specified: {}", types[i]);
  }
  for (const std::string& type : types) {
    if (std::ranges::find(kEntityTypes, type) != std::end(kEntityTypes)) continue;
    return fmt::format("Invalid entity type {}, the entity type must be one of {} with a --bootstrap-server or "
                       "--bootstrap-controller argument",
                       type, fmt::join(kEntityTypes, ", "));
  }
  if (types.empty()) return "At least one entity type must be specified";
  if (types.size() > 1 && !(types.size() == 2 && contains(types, "users") && contains(types, "clients"))) {
    return "Only 'users' and 'clients' entity types may be specified together";
  }
  return {};
}

std::optional<std::string> wrong_names(const Options& options, const ConfigEntities& entities) {
  const std::string& type = entities.types.front();
  bool has_name = std::ranges::any_of(entities.names, [](const auto& name) { return !name.empty(); });
  bool has_default = contains(entities.names, "");
  for (const std::string& name : entities.names) {
    if (name.empty()) continue;
    if (contains(entities.types, "ips") && !is_address(name)) {
      return fmt::format("The entity name for ips must be a valid IP or resolvable host, but it is: {}", name);
    }
    if ((type == "brokers" || type == "broker-loggers") && !parse_java_int(name)) {
      return fmt::format("The entity name for {} must be a valid integer broker id, but it is: {}", type, name);
    }
  }
  bool may_default = type == "users" || type == "clients" || type == "brokers" || type == "ips";
  std::string_view action = options.has("describe") ? "describe" : "alter";
  if (!may_default && has_default) return fmt::format("--entity-default must not be specified with --{} of {}", action, type);
  if (options.has("describe")) {
    if (type == "broker-loggers" && !has_name) return "An entity name must be specified with --describe of broker-loggers";
    return {};
  }
  if (may_default && !has_name && !has_default) {
    return "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips";
  }
  if (!may_default && !has_name) return fmt::format("An entity name must be specified with --alter of {}", type);
  return {};
}

}  // namespace

constinit const Grammar configs_grammar{.habit = Habit::joptsimple, .options = kConfigsOptions};

ConfigEntities config_entities(const Options& options, const Words& words) {
  ConfigEntities entities{options.values("entity-type"), {}};
  // Names and defaults stand in the order of their types, which the parsed options no longer tell.
  std::vector<std::string> names = options.values("entity-name");
  std::size_t next = 0;
  for (const std::string& word : words) {
    if ((word == "--entity-name" || word.starts_with("--entity-name=")) && next < names.size()) {
      entities.names.push_back(names[next++]);
    } else if (word == "--entity-default") {
      entities.names.emplace_back();
    }
  }
  for (const auto& [option, type] : kEntityOptions) {
    for (const std::string& name : options.values(option)) {
      entities.types.emplace_back(type);
      entities.names.push_back(name);
    }
  }
  for (const auto& [option, type] : kDefaultOptions) {
    if (!options.has(option)) continue;
    entities.types.emplace_back(type);
    entities.names.emplace_back();
  }
  return entities;
}

Tried<std::monostate> check_configs_words(const Options& options, const ConfigEntities& entities) {
  auto wrong = [](std::string message) { return std::unexpected(illegal_argument(std::move(message))); };
  if (!options.has("bootstrap-server") && !options.has("bootstrap-controller")) {
    return wrong("Either --bootstrap-server or --bootstrap-controller must be specified.");
  }
  if (options.has("bootstrap-server") && options.has("bootstrap-controller")) {
    return wrong("Only one of --bootstrap-server or --bootstrap-controller can be specified");
  }
  if (auto text = wrong_types(entities)) return wrong(*text);
  if (auto text = wrong_names(options, entities)) return wrong(*text);
  if (!options.has("alter")) return std::monostate{};
  bool adds = options.has("add-config");
  bool adds_file = options.has("add-config-file");
  if (!adds && !adds_file && !options.has("delete-config")) {
    return wrong("At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter");
  }
  if (adds && adds_file) return wrong("Only one of --add-config or --add-config-file must be specified");
  return std::monostate{};
}

Tried<std::monostate> check_config_name(std::string_view name) {
  bool good = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
  if (good) return std::monostate{};
  return std::unexpected(illegal_argument(fmt::format("Invalid character found for config key: {}", name)));
}

Tried<Settings> parse_added_configs(std::string_view text) {
  // A comma or '=' counts unless a ']' follows before the next '['.
  auto inside_brackets = [&](std::size_t at) {
    auto bracket = text.find_first_of("[]", at + 1);
    return bracket != std::string_view::npos && text[bracket] == ']';
  };
  Settings settings;
  std::size_t from = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && (text[at] != ',' || inside_brackets(at))) continue;
    std::string_view pair = text.substr(from, at - from);
    std::optional<std::size_t> equals;
    std::size_t count = 0;
    for (std::size_t i = from; i < at; ++i) {
      if (text[i] != '=' || inside_brackets(i)) continue;
      if (!equals) equals = i - from;
      ++count;
    }
    if (count != 1) {
      return std::unexpected(illegal_argument("Invalid entity config: all configs to be added must be in the format \"key=val\" or  "
                                              "\"key=[val1,val2]\" to group values which contain commas."));
    }
    std::string value(pair.substr(*equals + 1));
    std::erase_if(value, [](char c) { return c == '[' || c == ']'; });
    std::string name(java_trimmed(pair.substr(0, *equals)));
    NEED(check_config_name(name));
    settings[name] = java_trimmed(value);
    from = at + 1;
  }
  return settings;
}

}  // namespace cordwood::cli
