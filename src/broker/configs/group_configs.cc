#include "broker/configs/group_configs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "broker/configs/broker_configs.h"

namespace cordwood::broker::configs {
namespace {

using metadata::ConfigValues;
using metadata::Image;
using protocol::ErrorCode;

constexpr GroupKey make_group_key(std::string_view name, ConfigType type, const char* default_value, ValueRule rule,
                            const char* broker_key, bool shown) {
  GroupKey key;
  key.name = name;
  key.type = type;
  key.default_value = default_value;
  key.rule = rule;
  key.broker_key = broker_key;
  key.shown = shown;
  return key;
}

namespace group_table {
using namespace rules;
using enum ConfigType;
constexpr const char* kNoDefault = nullptr;
constexpr bool shown = true;
constexpr bool hidden = false;
constexpr GroupKey kKeys[] = {
#define GROUP_CONFIG(...) make_group_key(__VA_ARGS__),
#include "broker/configs/group_config_table.inc"
#undef GROUP_CONFIG
};
}  // namespace group_table
constexpr std::span<const GroupKey> kGroupTable = group_table::kKeys;

constexpr KeyDefinition kClientMetrics[] = {
    {"metrics", ConfigType::list, "", rules::any_list()},
    {"interval.ms", ConfigType::int32, "300000", rules::anything()},
    {"match", ConfigType::list, "", rules::any_list()},
};
constexpr std::int64_t kShortestPushMs = 100;
constexpr std::int64_t kLongestPushMs = 3'600'000;

// Kafka's hash table of group settings has this many slots.
constexpr std::size_t kGroupDescribeBuckets = 32;

// The broker's limits for what a group may choose; an absent name is no limit.
struct Limits {
  std::string_view key;
  const char* least;
  const char* most;
};
constexpr Limits kLimits[] = {
    {"consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
    {"consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
    {"consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
    {"share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
    {"share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"},
    {"share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"},
    {"share.delivery.count.limit", "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"},
    {"share.partition.max.record.locks", "group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"},
    {"share.assignment.interval.ms", "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"},
    {"streams.heartbeat.interval.ms", "group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
    {"streams.session.timeout.ms", "group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"},
    {"streams.num.standby.replicas", nullptr, "group.streams.max.standby.replicas"},
    {"streams.assignment.interval.ms", "group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
    {"streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms", nullptr},
    {"streams.num.warmup.replicas", nullptr, "group.streams.max.warmup.replicas"},
};

const GroupKey* find_group_key(std::string_view name) {
  auto at = std::ranges::find(kGroupTable, name, &GroupKey::name);
  return at == kGroupTable.end() ? nullptr : &*at;
}

std::string shown_value(const KeyDefinition& key, const std::string& text) {
  auto value = read_config_value(key, text);
  return value ? value->text : text;
}

std::optional<std::string> check_limits(const Config& config, const Image& image, std::string_view key,
                                        std::int64_t value) {
  auto limits = std::ranges::find(kLimits, key, &Limits::key);
  if (limits == std::end(kLimits)) return {};
  auto bound = [&](const char* name, std::int64_t otherwise) {
    if (name == nullptr) return otherwise;
    auto given = effective_broker_value(config, image, name);
    return given ? given->integer : otherwise;
  };
  std::int64_t least = bound(limits->least, INT64_MIN);
  std::int64_t most = bound(limits->most, INT64_MAX);
  if (value >= least && value <= most) return {};
  if (limits->least == nullptr) return fmt::format("{} must be less than or equal to {}", key, most);
  if (limits->most == nullptr) return fmt::format("{} must be greater than or equal to {}", key, least);
  return fmt::format("{} must be in the range {} to {} inclusive.", key, least, most);
}

// The group's own value or what the broker gives it.
std::int64_t integer_in_force(const Config& config, const Image& image, const ConfigValues& own, std::string_view name) {
  const GroupKey* key = find_group_key(name);
  if (auto at = own.find(std::string(name)); at != own.end()) {
    if (auto value = read_config_value(*key, at->second)) return value->integer;
  }
  auto value = effective_broker_value(config, image, key->broker_key);
  return value ? value->integer : 0;
}

std::optional<std::string> check_assignor(const Config& config, const Image& image, const std::string& wanted) {
  auto registered = effective_broker_value(config, image, "group.streams.assignors");
  if (registered && std::ranges::count(registered->items, wanted) > 0) return {};
  return fmt::format("streams.assignor.name '{}' is not a registered task assignor. Registered assignors are: [{}].",
                     wanted, fmt::join(registered ? registered->items : std::vector<std::string>{}, ", "));
}

// Whether brackets close, quantifiers have something to repeat and no backslash ends it: what a slip gets wrong. Nothing is
// compiled, since a pattern comes from outside and is not matched with anything yet.
bool is_regular_expression(std::string_view pattern) {
  std::int64_t open_groups = 0;
  bool in_class = false;
  bool repeatable = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    bool quantifier = c == '*' || c == '+' || c == '?';
    if (c == '\\') {
      if (++i == pattern.size()) return false;
    } else if (in_class) {
      in_class = c != ']' || pattern[i - 1] == '[';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      ++open_groups;
      if (pattern.substr(i + 1).starts_with('?')) ++i;
    } else if (c == ')') {
      if (--open_groups < 0) return false;
    } else if (quantifier && !repeatable) {
      return false;
    }
    repeatable = c != '(' && c != '|';
  }
  return open_groups == 0 && !in_class;
}

bool is_pattern(const std::string& text) {
  auto equals = text.find('=');
  if (equals == std::string::npos) return false;
  std::string_view parameter = trim(std::string_view(text).substr(0, equals));
  bool known = parameter == "client_instance_id" || parameter == "client_id" || parameter == "client_software_name" ||
               parameter == "client_software_version" || parameter == "client_source_address" ||
               parameter == "client_source_port";
  return known && is_regular_expression(trim(std::string_view(text).substr(equals + 1)));
}

}  // namespace

std::span<const GroupKey> group_keys() { return kGroupTable; }
std::span<const KeyDefinition> client_metrics_keys() { return kClientMetrics; }

std::vector<ConfigEntry> describe_group_configs(const Config& config, const Image& image, const ConfigValues& own) {
  std::vector<std::string> names;
  for (const GroupKey& key : kGroupTable) {
    if (key.shown || own.contains(std::string(key.name))) names.emplace_back(key.name);
  }
  std::vector<ConfigEntry> entries;
  for (const std::string& name : in_hash_order(std::move(names), kGroupDescribeBuckets)) {
    const GroupKey& key = *find_group_key(name);
    ConfigEntry entry;
    entry.name = name;
    entry.type = key.type;
    if (key.broker_key != nullptr) {
      entry.synonyms = broker_synonyms(config, image, key.broker_key);
    } else {
      entry.synonyms.push_back({name, key.default_value, ConfigSource::default_value});
    }
    if (auto at = own.find(name); at != own.end()) {
      entry.synonyms.insert(entry.synonyms.begin(), {name, shown_value(key, at->second), ConfigSource::group});
    }
    entry.source = entry.synonyms.front().source;
    if (auto value = entry.synonyms.front().value) entry.value = shown_value(key, *value);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<ConfigEntry> describe_client_metrics_configs(const ConfigValues& own) {
  std::vector<std::string> names;
  for (const KeyDefinition& key : kClientMetrics) names.emplace_back(key.name);
  std::vector<ConfigEntry> entries;
  for (const std::string& name : in_hash_order(std::move(names))) {
    const KeyDefinition& key = *std::ranges::find(kClientMetrics, name, &KeyDefinition::name);
    ConfigEntry entry;
    entry.name = name;
    entry.type = key.type;
    entry.value = key.default_value;
    if (auto at = own.find(name); at != own.end()) {
      entry.value = shown_value(key, at->second);
      entry.source = ConfigSource::client_metrics;
      entry.synonyms.push_back({name, entry.value, ConfigSource::client_metrics});
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::optional<std::string> validate_group_configs(const Config& config, const Image& image, const ConfigValues& own) {
  for (const auto& [name, text] : own) {
    if (find_group_key(name) == nullptr) return fmt::format("Unknown group config name: {}", name);
  }
  if (auto at = own.find("streams.rack.aware.assignment.tags"); at != own.end()) {
    std::vector<std::string> tags = split_list(at->second);
    std::ranges::sort(tags);
    if (std::ranges::adjacent_find(tags) != tags.end()) {
      return "streams.rack.aware.assignment.tags must not contain duplicate tag keys.";
    }
  }
  for (const GroupKey& key : kGroupTable) {
    auto at = own.find(std::string(key.name));
    if (at == own.end()) continue;
    if (auto value = read_config_value(key, at->second); !value) return value.error().what;
  }
  for (const Limits& limits : kLimits) {
    if (!own.contains(std::string(limits.key))) continue;
    std::int64_t value = integer_in_force(config, image, own, limits.key);
    if (auto fault = check_limits(config, image, limits.key, value)) return fault;
  }
  if (auto at = own.find("streams.assignor.name"); at != own.end()) {
    if (auto fault = check_assignor(config, image, std::string(trim(at->second)))) return fault;
  }
  for (std::string_view kind : {"consumer", "share", "streams"}) {
    std::string session = fmt::format("{}.session.timeout.ms", kind);
    std::string heartbeat = fmt::format("{}.heartbeat.interval.ms", kind);
    if (!own.contains(session) && !own.contains(heartbeat)) continue;
    if (integer_in_force(config, image, own, session) <= integer_in_force(config, image, own, heartbeat)) {
      return fmt::format("{} must be greater than {}", session, heartbeat);
    }
  }
  if (auto at = own.find("errors.deadletterqueue.topic.name"); at != own.end() && trim(at->second).starts_with("__")) {
    return "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'";
  }
  return {};
}

std::optional<ClientMetricsFault> validate_client_metrics_configs(const ConfigValues& own) {
  for (const auto& [name, text] : own) {
    if (std::ranges::find(kClientMetrics, name, &KeyDefinition::name) == std::end(kClientMetrics)) {
      return ClientMetricsFault{ErrorCode::INVALID_REQUEST, fmt::format("Unknown client metrics configuration: {}", name)};
    }
  }
  for (const KeyDefinition& key : kClientMetrics) {
    auto at = own.find(std::string(key.name));
    if (at == own.end()) continue;
    auto value = read_config_value(key, at->second);
    if (!value) return ClientMetricsFault{ErrorCode::INVALID_CONFIG, value.error().what};
    if (key.name == "interval.ms" && (value->integer < kShortestPushMs || value->integer > kLongestPushMs)) {
      return ClientMetricsFault{ErrorCode::INVALID_REQUEST,
                                fmt::format("Invalid value {} for interval.ms, interval must be between {} and {} (1 hour)",
                                            value->integer, kShortestPushMs, kLongestPushMs)};
    }
    if (key.name != "match") continue;
    for (const std::string& pattern : value->items) {
      if (is_pattern(pattern)) continue;
      return ClientMetricsFault{ErrorCode::INVALID_CONFIG,
                                fmt::format("Illegal client matching pattern: {}", pattern)};
    }
  }
  return {};
}

}  // namespace cordwood::broker::configs
