// broker/configs/config_bindings.h — which broker key fills which field of Config.
#pragma once

#include <span>
#include <string_view>

#include "broker/config.h"
#include "broker/configs/config_value.h"

namespace cordwood::broker::configs {

struct Binding {
  std::string_view key;
  void (*assign)(Config&, const ConfigValue&);
};

// One for each key whose value goes into a field as it is. Listeners, directories and what topics inherit are read
// elsewhere.
std::span<const Binding> config_bindings();

}  // namespace cordwood::broker::configs
