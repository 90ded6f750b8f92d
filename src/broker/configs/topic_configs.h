// broker/configs/topic_configs.h — the settings of a topic: which there are, which values they take, which are in force.
//
// A topic's own value goes before the broker's dynamic one, the cluster-wide dynamic one, the one in server.properties
// (each under the broker's name of the setting, "log.retention.ms" for "retention.ms") and the default. Names, defaults,
// ranges and texts are Apache Kafka 4.4.0's; the table is topic_config_table.inc.
// Threads: pure functions, safe for all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/config.h"
#include "broker/configs/config_entry.h"
#include "broker/metadata/image.h"
#include "storage/log_config.h"

namespace cordwood::broker::configs {

// What is wrong with these as the complete overrides of a topic, as INVALID_CONFIG (40) says it; nothing when they are
// fine. Rules over several settings look at the broker's values for those that are not overridden.
std::optional<std::string> validate_topic_configs(const Config& config, const metadata::Image& image,
                                                  const metadata::ConfigValues& overrides);

// The same for the configs of a CreateTopics entry, in the order of the request, where a value can be null.
std::optional<std::string> validate_new_topic_configs(
    const Config& config, const metadata::Image& image,
    const std::vector<std::pair<std::string, std::optional<std::string>>>& overrides);

// Every setting of the topic in the order in which Kafka sends them; `overrides` may belong to a topic that is not in
// the image yet. Values that cannot be read are shown as they are stored.
std::vector<ConfigEntry> describe_topic_configs(const Config& config, const metadata::Image& image,
                                                const metadata::ConfigValues& overrides);

// Where a topic's setting gets its value from, whatever the unit in which it was given there: unlike an entry above, of which
// Kafka says nothing when the broker's value was given under a less specific name.
struct SettingOrigin {
  ConfigSource source = ConfigSource::default_value;
  std::string given_as;  // its name there; empty for the default
};
SettingOrigin origin_of_topic_setting(const Config& config, const metadata::Image& image, const metadata::ConfigValues& overrides,
                                      std::string_view name);

// The settings of a topic's logs under this image. Never fails: stored values were validated, and one that is not
// readable all the same (written by another version) counts as not given.
storage::LogConfig make_log_config(const Config& config, const metadata::Image& image, const std::string& topic);
storage::LogConfig make_log_config(const Config& config, const metadata::Image& image,
                                   const metadata::ConfigValues& overrides);

// True for a setting whose value is a list, on which APPEND and SUBTRACT work; false for unknown names too.
bool is_topic_list_config(const std::string& name);

}  // namespace cordwood::broker::configs
