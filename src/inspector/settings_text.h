// inspector/settings_text.h — the settings of a topic's logs as they are shown: value, origin, what each does.
#pragma once

#include <string>
#include <vector>

#include "broker/configs/config_entry.h"
#include "inspector/api.h"

namespace cordwood::inspector {

// In the order given. Settings that concern no log are left out.
std::vector<api::Setting> settings_of(const std::vector<broker::configs::ConfigEntry>& entries);

}  // namespace cordwood::inspector
