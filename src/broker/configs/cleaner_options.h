// broker/configs/cleaner_options.h — what log.cleaner.* says, from server.properties or changed while the broker runs.
#pragma once

#include <span>
#include <string_view>

#include "broker/config.h"
#include "broker/metadata/image.h"
#include "storage/cleaner/log_cleaner.h"

namespace cordwood::broker::configs {

storage::CleanerOptions make_cleaner_options(const Config& config, const metadata::Image& image);

// The keys that it reads.
std::span<const std::string_view> cleaner_keys();

}  // namespace cordwood::broker::configs
