// IncrementalAlterConfigs (key 44), versions 0-1: set, delete, append to and subtract from single settings.
//
// Each resource is changed whole or not at all. The answer leaves when the records are durable and the logs have taken
// over what concerns them. As Kafka 4.4.0: a good answer has a null text.
#include <memory>

#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/config_alteration.h"
#include "protocol/messages/incremental_alter_configs.h"

namespace cordwood::broker {

using protocol::IncrementalAlterConfigsRequest;
using protocol::IncrementalAlterConfigsResponse;

void handle_incremental_alter_configs(Broker& broker, Exchange exchange) {
  IncrementalAlterConfigsRequest request;
  if (!exchange.decode(request)) return;
  auto response = std::make_shared<IncrementalAlterConfigsResponse>();
  std::vector<configs::ResourceChange> resources;
  for (auto& resource : request.resources) {
    auto& result = response->responses.emplace_back();
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    auto& change = resources.emplace_back();
    change.type = resource.resource_type;
    change.name = std::move(resource.resource_name);
    for (auto& config : resource.configs) {
      change.changes.push_back({std::move(config.name), config.config_operation, std::move(config.value)});
    }
  }
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  alter_configs(broker, *waiting, std::move(resources), configs::Alteration::incremental,
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
