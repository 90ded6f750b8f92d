#include "broker/configs/broker_configs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace cordwood::broker::configs {
namespace {

using metadata::ConfigResource;
using metadata::ConfigValues;
using metadata::Image;
using metadata::ResourceType;

constexpr const char* kNoDefault = nullptr;

constexpr BrokerKey make_broker_key(std::string_view name, ConfigType type, const char* default_value, ValueRule rule,
                             Scope scope, Visibility visibility, Effect effect) {
  BrokerKey key;
  key.name = name;
  key.type = type;
  key.default_value = default_value;
  key.rule = rule;
  key.scope = scope;
  key.visibility = visibility;
  key.effect = effect;
  return key;
}

namespace broker_table {
using namespace rules;
using enum ConfigType;
using enum Scope;
using enum Visibility;
using enum Effect;
constexpr BrokerKey kKeys[] = {
#define BROKER_CONFIG(...) make_broker_key(__VA_ARGS__),
#include "broker/configs/broker_config_table.inc"
#undef BROKER_CONFIG
};
}  // namespace broker_table
constexpr std::span<const BrokerKey> kBrokerTable = broker_table::kKeys;

// Positions in kBrokerTable, ascending by name.
constexpr auto kByName = [] {
  std::array<std::uint16_t, std::size(broker_table::kKeys)> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
  std::ranges::sort(order, {}, [](std::uint16_t i) { return kBrokerTable[i].name; });
  return order;
}();

// Kafka's hash table of the shown settings has this many slots.
constexpr std::size_t kBrokerDescribeBuckets = 512;

// Where a broker that stands alone and listens to its own machine means something else by saying nothing.
struct OwnDefault {
  std::string_view name;
  const char* value;
};
constexpr OwnDefault kOwnDefaults[] = {
    {"node.id", "1"},
    {"broker.id", "1"},
    {"log.dir", "./cordwood-data"},
    {"listeners", "PLAINTEXT://127.0.0.1:9092"},
    {"num.network.threads", "0"},
    {"offsets.topic.replication.factor", "1"},
};

constexpr std::string_view kListenerPrefix = "listener.name.";

const ConfigValues& dynamic_of_this_broker(const Config& config, const Image& image) {
  return image.config({ResourceType::broker, fmt::format("{}", config.node_id)});
}
const ConfigValues& dynamic_defaults(const Image& image) { return image.config({ResourceType::broker, ""}); }

bool is_sensitive(const BrokerKey* key) { return key == nullptr || key->type == ConfigType::password; }

std::optional<std::string> shown_value(const BrokerKey* key, const std::string& text) {
  if (is_sensitive(key)) return {};
  auto value = read_config_value(*key, text);
  return value ? value->text : text;
}

std::optional<std::string> lookup(const ConfigValues& values, const std::string& name) {
  auto at = values.find(name);
  if (at == values.end()) return {};
  return at->second;
}

// The text in force of exactly this key.
std::optional<std::string> effective_text(const Config& config, const Image& image, const std::string& name) {
  for (const ConfigValues* values : {&dynamic_of_this_broker(config, image), &dynamic_defaults(image), &config.given}) {
    if (auto text = lookup(*values, name)) return text;
  }
  const BrokerKey* key = find_broker_key(name);
  if (key == nullptr || default_of(*key) == nullptr) return {};
  return default_of(*key);
}

ConfigEntry describe_one(const Config& config, const Image& image, const std::string& name) {
  const BrokerKey* key = find_broker_key_of_any_listener(name);
  ConfigEntry entry;
  entry.name = name;
  if (auto text = effective_text(config, image, name)) entry.value = shown_value(key, *text);
  entry.type = key == nullptr ? ConfigType::unknown : key->type;
  entry.sensitive = is_sensitive(key);
  entry.read_only = find_broker_key(name) == nullptr || key->scope == Scope::read_only;
  entry.synonyms = broker_synonyms(config, image, name);
  entry.source = entry.synonyms.empty() ? ConfigSource::default_value : entry.synonyms.front().source;
  return entry;
}

std::string in_brackets(const std::vector<std::string>& names) { return fmt::format("[{}]", fmt::join(names, ", ")); }

// Thread pools may be resized by no more than a factor of two at a time.
std::optional<std::string> check_thread_counts(const Config& config, const Image& image, const ConfigValues& values) {
  for (std::string_view name : {"num.io.threads", "num.network.threads", "num.replica.fetchers",
                                "num.recovery.threads.per.data.dir", "background.threads"}) {
    auto text = lookup(values, std::string(name));
    if (!text) continue;
    auto wanted = read_config_value(*find_broker_key(name), *text);
    auto present = effective_broker_value(config, image, name);
    if (!wanted || !present || present->integer <= 0) continue;
    const char* why = wanted->integer < present->integer / 2   ? "value should be at least half the current value"
                      : wanted->integer > present->integer * 2 ? "value should not be greater than double the current value"
                                                               : nullptr;
    if (why == nullptr) continue;
    return fmt::format("Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update "
                       "validation failed for {}={}, {} {} for configuration Invalid dynamic configuration",
                       name, wanted->integer, why, present->integer);
  }
  return {};
}

}  // namespace

std::span<const BrokerKey> broker_keys() { return kBrokerTable; }

const BrokerKey* find_broker_key(std::string_view name) {
  auto at = std::ranges::lower_bound(kByName, name, {}, [](std::uint16_t i) { return kBrokerTable[i].name; });
  return at != kByName.end() && kBrokerTable[*at].name == name ? &kBrokerTable[*at] : nullptr;
}

std::optional<std::string_view> without_listener_prefix(std::string_view name) {
  if (!name.starts_with(kListenerPrefix)) return {};
  auto dot = name.find('.', kListenerPrefix.size());
  if (dot == std::string_view::npos || dot == kListenerPrefix.size() || dot + 1 == name.size()) return {};
  return name.substr(dot + 1);
}

const BrokerKey* find_broker_key_of_any_listener(std::string_view name) {
  if (const BrokerKey* key = find_broker_key(name)) return key;
  auto base = without_listener_prefix(name);
  return base ? find_broker_key(*base) : nullptr;
}

const char* default_of(const BrokerKey& key) {
  for (const OwnDefault& own : kOwnDefaults) {
    if (own.name == key.name) return own.value;
  }
  return key.default_value;
}

std::vector<std::string> broker_synonym_names(std::string_view name) {
  if (name == "log.roll.ms") return {"log.roll.ms", "log.roll.hours"};
  if (name == "log.roll.jitter.ms") return {"log.roll.jitter.ms", "log.roll.jitter.hours"};
  if (name == "log.flush.interval.ms") return {"log.flush.interval.ms", "log.flush.scheduler.interval.ms"};
  if (name == "log.retention.ms") return {"log.retention.ms", "log.retention.minutes", "log.retention.hours"};
  std::vector<std::string> names{std::string(name)};
  if (auto base = without_listener_prefix(name)) names.emplace_back(*base);
  return names;
}

std::vector<ConfigSynonym> broker_synonyms(const Config& config, const Image& image, std::string_view name) {
  std::vector<ConfigSynonym> all;
  std::vector<std::string> names = broker_synonym_names(name);
  bool sensitive = is_sensitive(find_broker_key_of_any_listener(name));
  auto add = [&](const std::string& synonym, const std::string& value, ConfigSource source) {
    all.push_back({synonym, sensitive ? std::nullopt : std::optional(value), source});
  };
  auto add_all = [&](const ConfigValues& values, ConfigSource source) {
    for (const std::string& synonym : names) {
      if (auto value = lookup(values, synonym)) add(synonym, *value, source);
    }
  };
  add_all(dynamic_of_this_broker(config, image), ConfigSource::dynamic_broker);
  add_all(dynamic_defaults(image), ConfigSource::dynamic_default_broker);
  add_all(config.given, ConfigSource::static_broker);
  for (const std::string& synonym : names) {
    const BrokerKey* key = find_broker_key(synonym);
    if (key != nullptr && default_of(*key) != nullptr) add(synonym, default_of(*key), ConfigSource::default_value);
  }
  auto first = std::ranges::find(all, name, &ConfigSynonym::name);
  all.erase(all.begin(), first);
  return all;
}

std::optional<ConfigValue> effective_broker_value(const Config& config, const Image& image, std::string_view name) {
  const BrokerKey* key = find_broker_key(name);
  if (key == nullptr) return {};
  std::string own_name(name);
  for (const ConfigValues* values : {&dynamic_of_this_broker(config, image), &dynamic_defaults(image), &config.given}) {
    auto text = lookup(*values, own_name);
    if (!text) continue;
    if (auto value = read_config_value(*key, *text)) return std::move(*value);
  }
  if (default_of(*key) == nullptr) return {};
  auto value = read_config_value(*key, default_of(*key));
  if (!value) return ConfigValue{.text = default_of(*key), .integer = 0, .real = 0, .items = {}};
  return std::move(*value);
}

std::vector<ConfigEntry> describe_broker_configs(const Config& config, const Image& image) {
  // What only somebody's value makes visible comes first, as it happens to in Kafka.
  std::set<std::string> extra;
  for (const ConfigValues* values : {&config.given, &dynamic_defaults(image), &dynamic_of_this_broker(config, image)}) {
    for (const auto& [name, value] : *values) {
      const BrokerKey* key = find_broker_key(name);
      if (key == nullptr || key->visibility == Visibility::hidden) extra.insert(name);
    }
  }
  std::vector<std::string> names;
  for (const BrokerKey& key : kBrokerTable) {
    if (key.visibility == Visibility::shown) names.emplace_back(key.name);
  }
  std::vector<ConfigEntry> entries;
  for (const std::string& name : extra) entries.push_back(describe_one(config, image, name));
  for (const std::string& name : in_hash_order(std::move(names), kBrokerDescribeBuckets)) {
    entries.push_back(describe_one(config, image, name));
  }
  return entries;
}

std::vector<ConfigEntry> describe_broker_defaults(const Config& config, const Image& image) {
  std::vector<std::string> names;
  for (const auto& [name, value] : dynamic_defaults(image)) names.push_back(name);
  std::vector<ConfigEntry> entries;
  for (const std::string& name : in_hash_order(std::move(names))) {
    ConfigEntry entry = describe_one(config, image, name);
    entry.value = shown_value(find_broker_key_of_any_listener(name), dynamic_defaults(image).at(name));
    std::erase_if(entry.synonyms, [](const ConfigSynonym& synonym) {
      return synonym.source != ConfigSource::dynamic_default_broker;
    });
    entry.source = ConfigSource::dynamic_default_broker;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::optional<std::string> validate_dynamic_broker_configs(const Config& config, const Image& image,
                                                           const ConfigValues& values, bool cluster_wide) {
  std::vector<std::string> fixed, unprefixed_security, per_broker;
  for (const auto& [name, value] : values) {
    const BrokerKey* key = find_broker_key_of_any_listener(name);
    if (key == nullptr) continue;
    bool prefixed = find_broker_key(name) == nullptr;
    if (key->scope == Scope::read_only && !prefixed) fixed.push_back(name);
    if (prefixed || key->scope == Scope::per_broker) per_broker.push_back(name);
    bool of_a_keystore =
        name.starts_with("ssl.keystore.") || name.starts_with("ssl.truststore.") || name == "ssl.key.password";
    if (of_a_keystore) unprefixed_security.push_back(name);
  }
  if (!fixed.empty()) {
    return "Cannot update these configs dynamically: " + in_brackets(in_hash_order(std::move(fixed)));
  }
  if (!unprefixed_security.empty()) {
    return "These security configs can be dynamically updated only per-listener using the listener prefix: " +
           in_brackets(in_hash_order(std::move(unprefixed_security)));
  }
  for (const BrokerKey& key : kBrokerTable) {
    for (const auto& [name, text] : values) {
      if (find_broker_key_of_any_listener(name) != &key) continue;
      if (auto value = read_config_value(key, text); !value) return value.error().what;
    }
  }
  if (cluster_wide && !per_broker.empty()) {
    return "Cannot update these configs at default cluster level, broker id must be specified: " +
           in_brackets(in_hash_order(std::move(per_broker)));
  }
  if (auto threads = lookup(values, "log.cleaner.threads"); threads && trim(*threads) == "0") {
    return "Invalid value 0 for configuration log.cleaner.threads: Value must be at least 1";
  }
  return check_thread_counts(config, image, values);
}

}  // namespace cordwood::broker::configs
