// broker/configs/group_configs.h — the settings of consumer, share and streams groups, and of client metrics subscriptions.
//
// They are kept, validated and described as Apache Kafka 4.4.0 does; the group types that most of them are for are not
// served yet (docs/compat.md).
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
#include "protocol/error_code.h"

namespace cordwood::broker::configs {

struct GroupKey : KeyDefinition {
  const char* broker_key = nullptr;  // the broker's default for it; null: there is none
  bool shown = true;                 // false: described only when a group has it
};

std::span<const GroupKey> group_keys();           // in the order of the table
std::span<const KeyDefinition> client_metrics_keys();

// Every setting in the order in which Kafka sends them.
std::vector<ConfigEntry> describe_group_configs(const Config& config, const metadata::Image& image,
                                                const metadata::ConfigValues& own);
std::vector<ConfigEntry> describe_client_metrics_configs(const metadata::ConfigValues& own);

// What is wrong with these as all settings of a group, as INVALID_CONFIG (40) says it.
std::optional<std::string> validate_group_configs(const Config& config, const metadata::Image& image,
                                                  const metadata::ConfigValues& own);

// The same for a subscription, whose faults come with two different codes.
struct ClientMetricsFault {
  protocol::ErrorCode code;
  std::string message;
};
std::optional<ClientMetricsFault> validate_client_metrics_configs(const metadata::ConfigValues& own);

}  // namespace cordwood::broker::configs
