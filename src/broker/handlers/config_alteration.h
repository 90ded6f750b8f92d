// broker/handlers/config_alteration.h — what AlterConfigs and IncrementalAlterConfigs share: deciding, committing, telling.
#pragma once

#include <functional>
#include <vector>

#include "broker/broker.h"
#include "broker/configs/alter_configs.h"
#include "broker/exchange.h"

namespace cordwood::broker {

enum class Commit { yes, no };  // no: validate_only

// Decides on the controller's thread, makes the records durable and calls `done` with one refusal (or none) for each
// resource, in their order. Changes of loggers take effect at once and leave no record.
void alter_configs(Broker& broker, const Exchange& exchange, std::vector<configs::ResourceChange> resources,
                   configs::Alteration alteration, Commit commit,
                   std::function<void(const std::vector<metadata::Refusal>&)> done);

}  // namespace cordwood::broker
