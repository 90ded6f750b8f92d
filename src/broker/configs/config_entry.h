// broker/configs/config_entry.h — one line of a DescribeConfigs answer: a value, where it comes from, what stands behind it.
//
// Numbers are the protocol's (DescribeConfigs: ConfigSource, ConfigType).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cordwood::broker::configs {

enum class ConfigType : std::int8_t {
  unknown = 0,
  boolean = 1,
  string = 2,
  int32 = 3,
  int16 = 4,
  int64 = 5,
  float64 = 6,
  list = 7,
  class_name = 8,
  password = 9,
};

enum class ConfigSource : std::int8_t {
  dynamic_topic = 1,
  dynamic_broker = 2,          // of one broker
  dynamic_default_broker = 3,  // of all brokers of the cluster
  static_broker = 4,           // server.properties
  default_value = 5,
  broker_logger = 6,
  client_metrics = 7,
  group = 8,
};

struct ConfigSynonym {
  std::string name;
  std::optional<std::string> value;
  ConfigSource source = ConfigSource::default_value;
  bool operator==(const ConfigSynonym&) const = default;
};

struct ConfigEntry {
  std::string name;
  std::optional<std::string> value;  // absent: none, or withheld since it is sensitive
  ConfigSource source = ConfigSource::default_value;
  ConfigType type = ConfigType::unknown;
  bool read_only = false;
  bool sensitive = false;
  std::vector<ConfigSynonym> synonyms;  // the one in force first; empty when nothing stands behind the value
  bool operator==(const ConfigEntry&) const = default;
};

}  // namespace cordwood::broker::configs
