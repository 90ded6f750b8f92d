// broker/configs/loggers.h — the log of the process as DescribeConfigs and IncrementalAlterConfigs see it.
//
// Kafka has a logger for each class; here there is one, called root. Levels have Kafka's names: TRACE counts as DEBUG and
// FATAL as ERROR.
#pragma once

#include <vector>

#include "base/log.h"
#include "broker/configs/alter_configs.h"
#include "broker/configs/config_entry.h"

namespace cordwood::broker::configs {

std::vector<ConfigEntry> describe_loggers(const Logger& logger);

// Checks the changes of a BROKER_LOGGER resource as Kafka does. `name` is that of the resource, a broker id.
metadata::Refusal check_logger_changes(NodeId node_id, const std::string& name, const std::vector<ConfigChange>& changes);

// Makes changes that were checked.
void apply_logger_changes(Logger& logger, const std::vector<ConfigChange>& changes);

}  // namespace cordwood::broker::configs
