#include "broker/configs/cleaner_options.h"

#include "broker/configs/broker_configs.h"

namespace cordwood::broker::configs {
namespace {

constexpr std::string_view kEnable = "log.cleaner.enable";
constexpr std::string_view kThreads = "log.cleaner.threads";
constexpr std::string_view kDedupeBufferSize = "log.cleaner.dedupe.buffer.size";
constexpr std::string_view kLoadFactor = "log.cleaner.io.buffer.load.factor";
constexpr std::string_view kIoBufferSize = "log.cleaner.io.buffer.size";
constexpr std::string_view kIoMaxBytes = "log.cleaner.io.max.bytes.per.second";
constexpr std::string_view kBackoff = "log.cleaner.backoff.ms";
constexpr std::string_view kKeys[] = {kEnable,       kThreads,    kDedupeBufferSize, kLoadFactor,
                                      kIoBufferSize, kIoMaxBytes, kBackoff};

}  // namespace

std::span<const std::string_view> cleaner_keys() { return kKeys; }

storage::CleanerOptions make_cleaner_options(const Config& config, const metadata::Image& image) {
  storage::CleanerOptions options;
  if (auto value = effective_broker_value(config, image, kEnable)) options.enable = value->integer != 0;
  if (auto value = effective_broker_value(config, image, kThreads)) options.threads = static_cast<int>(value->integer);
  if (auto value = effective_broker_value(config, image, kDedupeBufferSize)) options.dedupe_buffer_size = {value->integer};
  if (auto value = effective_broker_value(config, image, kLoadFactor)) options.load_factor = value->real;
  if (auto value = effective_broker_value(config, image, kIoBufferSize)) options.io_buffer_size = {value->integer};
  if (auto value = effective_broker_value(config, image, kIoMaxBytes)) options.io_max_bytes_per_second = value->real;
  if (auto value = effective_broker_value(config, image, kBackoff)) options.backoff = {value->integer};
  return options;
}

}  // namespace cordwood::broker::configs
