// Fuzz entry point: server.properties, from any bytes to a Config or an error; then what is described of it.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/bytes.h"
#include "base/log.h"
#include "base/properties.h"
#include "broker/config.h"
#include "broker/configs/broker_configs.h"
#include "broker/configs/topic_configs.h"

namespace {

using namespace cordwood;

// Keeps nothing: inputs of many unknown keys are many warnings.
class SilentLogger final : public Logger {
 public:
  void write(Severity, std::string_view) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  auto properties = read_properties(text);
  SilentLogger logger;
  auto config = broker::Config::from_file(text, "input", {}, logger);
  if (!properties) {
    if (config) std::abort();
    return 0;
  }
  for (const auto& property : *properties) {
    if (property.line == 0) std::abort();
  }
  if (!config) return 0;
  if (config->listeners.empty() || config->log_dirs.empty()) std::abort();
  broker::metadata::Image image;
  if (broker::configs::describe_broker_configs(*config, image).size() < 350) std::abort();
  if (broker::configs::describe_topic_configs(*config, image, config->given).size() < 37) std::abort();
  broker::configs::make_log_config(*config, image, config->given);
  return 0;
}
