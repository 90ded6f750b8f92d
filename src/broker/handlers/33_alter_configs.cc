// AlterConfigs (key 33), versions 0-2: replaces all settings of a resource; what is not named is removed.
//
// Old clients use it; IncrementalAlterConfigs is its successor. As Kafka 4.4.0, except that a resource named twice is
// refused (42) where Kafka never answers.
#include <memory>

#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/config_alteration.h"
#include "protocol/messages/alter_configs.h"

namespace cordwood::broker {

using protocol::AlterConfigsRequest;
using protocol::AlterConfigsResponse;

void handle_alter_configs(Broker& broker, Exchange exchange) {
  AlterConfigsRequest request;
  if (!exchange.decode(request)) return;
  auto response = std::make_shared<AlterConfigsResponse>();
  std::vector<configs::ResourceChange> resources;
  for (auto& resource : request.resources) {
    auto& result = response->responses.emplace_back();
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    auto& change = resources.emplace_back();
    change.type = resource.resource_type;
    change.name = std::move(resource.resource_name);
    for (auto& config : resource.configs) change.changes.push_back({std::move(config.name), 0, std::move(config.value)});
  }
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  alter_configs(broker, *waiting, std::move(resources), configs::Alteration::complete,
                request.validate_only ? Commit::no : Commit::yes,
                [response, waiting](const std::vector<metadata::Refusal>& refusals) {
                  for (std::size_t i = 0; i < refusals.size(); ++i) {
                    response->responses[i].error_code = refusals[i].code;
                    response->responses[i].error_message = refusals[i].message;
                  }
                  waiting->answer(*response);
                });
}

}  // namespace cordwood::broker
