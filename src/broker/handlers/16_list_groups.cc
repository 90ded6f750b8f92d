// ListGroups (key 16), versions 0-5: v4 filters by state, v5 by type; both ignore case.
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/list_groups.h"

namespace cordwood::broker {

void handle_list_groups(Broker& broker, Exchange exchange) {
  protocol::ListGroupsRequest request;
  if (!exchange.decode(request)) return;
  exchange.answer(broker.groups().list(request));
}

}  // namespace cordwood::broker
