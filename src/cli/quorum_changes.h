// cli/quorum_changes.h — kafka-metadata-quorum add-controller and remove-controller.
#pragma once

#include <string>
#include <vector>

#include "base/uuid.h"
#include "cli/admin_client.h"
#include "cli/java_error.h"
#include "cli/options.h"
#include "cli/session.h"

namespace cordwood::cli {

struct ControllerEndpoint {
  std::string name;  // of the listener
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const ControllerEndpoint&) const = default;
};

// A controller that is to be added, as its own configuration file has it.
struct NewController {
  std::int32_t id = 0;
  Uuid directory_id;  // of the directory where its metadata log lies, as that directory's meta.properties has it
  std::vector<ControllerEndpoint> endpoints;
};
// Errors: TerseException in Kafka's words.
Tried<NewController> new_controller(const Properties& properties, Session& session);

// A directory id as Kafka writes it: 22 letters of Base64 for URLs. Errors: IllegalArgumentException in Java's words.
Tried<Uuid> parse_directory_id(std::string_view text);

// `options`: those of the sub-command. `config`: the path of --command-config, which is the controller's configuration file here.
Tried<std::monostate> add_controller(const Options& options, const std::string& config, client::Cluster& cluster, Session& session);
Tried<std::monostate> remove_controller(const Options& options, client::Cluster& cluster, Session& session);

}  // namespace cordwood::cli
