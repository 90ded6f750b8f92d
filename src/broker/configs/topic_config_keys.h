// broker/configs/topic_config_keys.h — the table of topic settings (topic_config_table.inc) as data.
#pragma once

#include <span>
#include <string_view>

#include "broker/configs/config_value.h"

namespace cordwood::broker::configs {

struct TopicKey : KeyDefinition {
  const char* broker_key = nullptr;  // the broker's default for it; null: there is none
  bool shown = true;                 // false: described only when a topic has it
};

std::span<const TopicKey> topic_keys();                   // in the order of the table
const TopicKey* find_topic_key(std::string_view name);    // null when there is none

}  // namespace cordwood::broker::configs
