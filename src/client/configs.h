// client/configs.h — settings as an administrator asks for them: described and changed one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cluster.h"

namespace cordwood::client {

enum class ConfigResourceType : std::int8_t { topic = 2, broker = 4, broker_logger = 8, client_metrics = 16, group = 32 };

struct ConfigResource {
  ConfigResourceType type;
  std::string name;  // empty: the default of all brokers
  bool operator==(const ConfigResource&) const = default;
};

enum class ConfigSource : std::int8_t {
  dynamic_topic = 1,
  dynamic_broker = 2,
  dynamic_default_broker = 3,
  static_broker = 4,
  built_in = 5,
  dynamic_broker_logger = 6,
  dynamic_client_metrics = 7,
  dynamic_group = 8,
};
// "DYNAMIC_TOPIC_CONFIG"; "UNKNOWN" for one that we do not know.
std::string_view name_of(ConfigSource source);

struct ConfigEntry {
  struct Synonym {
    std::string name;
    std::optional<std::string> value;
    ConfigSource source;
  };
  std::string name;
  std::optional<std::string> value;
  ConfigSource source;
  bool is_sensitive = false;
  bool is_read_only = false;
  std::vector<Synonym> synonyms;
};

struct DescribedConfig {
  ConfigResource resource;
  Failure failure;  // code NONE when there is none
  std::vector<ConfigEntry> entries;  // as the broker tells them
};

enum class Synonyms { no, yes };

// Brokers and their loggers are asked themselves, everything else is asked of any broker. In the order of `resources`.
Outcome<std::vector<DescribedConfig>> describe_configs(Cluster& cluster, const std::vector<ConfigResource>& resources,
                                                       Synonyms synonyms);

struct ConfigChange {
  enum class Operation : std::int8_t { set = 0, remove = 1 };
  std::string name;
  Operation operation = Operation::set;
  std::optional<std::string> value;
};

Outcome<Nothing> alter_configs(Cluster& cluster, const ConfigResource& resource, const std::vector<ConfigChange>& changes,
                               bool validate_only = false);

// The names of what has settings of this type.
Outcome<std::vector<std::string>> list_config_resources(Cluster& cluster, ConfigResourceType type);

}  // namespace cordwood::client
