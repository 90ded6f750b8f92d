#include "broker/configs/loggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cordwood::broker::configs {
namespace {

using metadata::invalid_config;
using metadata::invalid_request;
using metadata::Refusal;
using protocol::ErrorCode;

constexpr std::string_view kRoot = "root";

struct Level {
  std::string_view name;
  Severity severity;
};
// Of two names for one severity, the first is the one that is shown.
constexpr Level kLevels[] = {
    {"DEBUG", Severity::debug}, {"ERROR", Severity::error}, {"FATAL", Severity::error},
    {"INFO", Severity::info},   {"TRACE", Severity::debug}, {"WARN", Severity::warn},
};

Refusal check_change(const ConfigChange& change) {
  if (change.name != kRoot) return invalid_config(fmt::format("Logger {} does not exist!", change.name));
  switch (static_cast<ConfigOperation>(change.operation)) {
    case ConfigOperation::set:
      if (std::ranges::find(kLevels, *change.value, &Level::name) != std::end(kLevels)) return {};
      return invalid_config(fmt::format("Cannot set the log level of {} to {} as it is not a supported log level. Valid log "
                                        "levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
                                        change.name, *change.value));
    case ConfigOperation::remove: return invalid_request("Removing the log level of the root logger is not allowed");
    case ConfigOperation::append: return invalid_request("APPEND operation is not allowed for the BROKER_LOGGER resource");
    case ConfigOperation::subtract:
      return invalid_request("SUBTRACT operation is not allowed for the BROKER_LOGGER resource");
  }
  return invalid_request(
      fmt::format("Unknown operation type {} is not allowed for the BROKER_LOGGER resource", change.operation));
}

}  // namespace

std::vector<ConfigEntry> describe_loggers(const Logger& logger) {
  ConfigEntry root;
  root.name = kRoot;
  root.value = std::string(std::ranges::find(kLevels, logger.minimum(), &Level::severity)->name);
  root.source = ConfigSource::broker_logger;
  return {root};
}

Refusal check_logger_changes(NodeId node_id, const std::string& name, const std::vector<ConfigChange>& changes) {
  std::int32_t id = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc{} || end != name.data() + name.size()) {
    return invalid_request(fmt::format("Node id must be an integer, but it is: {}", name));
  }
  if (NodeId{id} != node_id) {
    return invalid_request(fmt::format("Unexpected node id. Expected {}, but received {}", node_id, id));
  }
  for (const ConfigChange& change : changes) {
    if (Refusal refusal = check_change(change); refusal.code != ErrorCode::NONE) return refusal;
  }
  return {};
}

void apply_logger_changes(Logger& logger, const std::vector<ConfigChange>& changes) {
  for (const ConfigChange& change : changes) {
    auto level = std::ranges::find(kLevels, change.value.value_or(""), &Level::name);
    if (level != std::end(kLevels)) logger.set_minimum(level->severity);
  }
}

}  // namespace cordwood::broker::configs
