// broker/configs/broker_configs.h — the settings of a broker: the table of all keys, and which value of one is in force.
//
// A dynamic value of this broker goes before a cluster-wide dynamic one, that before server.properties, that before the
// default. The table (broker_config_table.inc) is Apache Kafka 4.4.0's, with one column of our own: what we do with it.
// Threads: pure functions, safe for all.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/config.h"
#include "broker/configs/config_entry.h"
#include "broker/configs/config_value.h"
#include "broker/metadata/image.h"

namespace cordwood::broker::configs {

enum class Scope : std::uint8_t { read_only, per_broker, cluster_wide };
enum class Visibility : std::uint8_t { shown, hidden };
enum class Effect : std::uint8_t { acted, quiet, ignored };

struct BrokerKey : KeyDefinition {
  Scope scope = Scope::read_only;
  Visibility visibility = Visibility::shown;
  Effect effect = Effect::ignored;
};

std::span<const BrokerKey> broker_keys();                  // in the order of the table
const BrokerKey* find_broker_key(std::string_view name);   // null when there is none
// The same for "listener.name.<listener>.<key>" too, which gives the definition of <key>.
const BrokerKey* find_broker_key_of_any_listener(std::string_view name);
// "ssl.key.password" of "listener.name.internal.ssl.key.password"; nothing for other names.
std::optional<std::string_view> without_listener_prefix(std::string_view name);
// What an absent key means here: Kafka's default, or ours where the two differ (docs/compat.md). Null: nothing.
const char* default_of(const BrokerKey& key);

// The names under which a key's value may be given, the most specific first: "log.retention.ms" is also set by
// "log.retention.minutes" and "log.retention.hours".
std::vector<std::string> broker_synonym_names(std::string_view name);

// Everything that stands behind a broker key, the one in force first, with the texts as they were given. Empty when the
// first of them was given under a less specific name only (what a default of log.retention.hours is to log.retention.ms).
std::vector<ConfigSynonym> broker_synonyms(const Config& config, const metadata::Image& image, std::string_view name);

// The value in force of exactly this key; nothing when there is none. A stored value that cannot be read is passed over.
std::optional<ConfigValue> effective_broker_value(const Config& config, const metadata::Image& image,
                                                  std::string_view name);

// Everything of this broker, and of the cluster-wide dynamic settings, in the order in which Kafka sends them.
std::vector<ConfigEntry> describe_broker_configs(const Config& config, const metadata::Image& image);
std::vector<ConfigEntry> describe_broker_defaults(const Config& config, const metadata::Image& image);

// What is wrong with these as the complete dynamic settings of one broker (or, `cluster_wide`, of all), as
// INVALID_REQUEST (42) says it; nothing when they are fine.
std::optional<std::string> validate_dynamic_broker_configs(const Config& config, const metadata::Image& image,
                                                           const metadata::ConfigValues& values, bool cluster_wide);

}  // namespace cordwood::broker::configs
