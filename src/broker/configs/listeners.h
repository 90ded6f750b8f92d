// broker/configs/listeners.h — the settings that say where a broker listens and what it tells its clients.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/config.h"

namespace cordwood::broker::configs {

// Fills listeners, advertised_listeners and controller_listener from the properties listeners, advertised.listeners,
// listener.security.protocol.map and controller.listener.names; what is not given stays as it is. The controller's
// listeners belong to no client and are left out of both lists.
// Errors: invalid (syntax, a name or port twice, a name without protocol, an advertised name that does not listen),
// unsupported for a protocol other than PLAINTEXT.
Result<void> read_listeners(const std::map<std::string, std::string>& given, Config& config);

}  // namespace cordwood::broker::configs
