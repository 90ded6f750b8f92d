// inspector/settings_text.h — the settings of a topic's logs as they are shown: value, origin, what each does.
#pragma once

#include <string>
#include <vector>

#include "broker/config.h"
#include "broker/configs/config_entry.h"
#include "broker/metadata/image.h"
#include "inspector/api.h"
#include "storage/log_config.h"

namespace cordwood::inspector {

// Those that concern logs, in the order in which Kafka lists them.
std::vector<api::Setting> settings_of(const broker::Config& config, const broker::metadata::Image& image, const std::string& topic);

// As api::Setting::source says it.
const char* source_words(broker::configs::ConfigSource source);
const char* source_words(storage::SettingSource source);

}  // namespace cordwood::inspector
