// cli/configs_words.h — the words of kafka-configs: its options, what goes together, and the lists of settings in them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/java_error.h"

namespace cordwood::cli {

extern const Grammar configs_grammar;

// Whom the settings belong to: "topics" and a name; an empty name is the default of all.
struct ConfigEntities {
  std::vector<std::string> types;
  std::vector<std::string> names;
};
ConfigEntities config_entities(const Options& options, const Words& words);

// Errors: IllegalArgumentException in Kafka's words. (Actions are checked before.)
Tried<std::monostate> check_configs_words(const Options& options, const ConfigEntities& entities);

using Settings = std::map<std::string, std::string>;
// "k=v,k2=[a,b]". Errors: IllegalArgumentException.
Tried<Settings> parse_added_configs(std::string_view text);
// Names as Kafka takes them. Errors: IllegalArgumentException.
Tried<std::monostate> check_config_name(std::string_view name);

}  // namespace cordwood::cli
