// ListGroups (key 16), versions 0-5: v4 filters by state, v5 by type; both ignore case.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/list_groups.h"

namespace cordwood::broker {

void handle_list_groups(Broker& broker, Exchange exchange) {
  protocol::ListGroupsRequest request;
  if (!exchange.decode(request)) return;
  auto response = broker.groups().list(request);
  if (authorise(exchange, Operation::describe, Resource::cluster, kClusterResource) == Verdict::denied) {
    std::erase_if(response.groups, [&](const auto& group) {
      return authorise(exchange, Operation::describe, Resource::group, group.group_id) == Verdict::denied;
    });
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
