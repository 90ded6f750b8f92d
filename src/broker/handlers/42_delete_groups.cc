// DeleteGroups (key 42), versions 0-3: only groups without members go, with all their offsets.
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/delete_groups.h"

namespace cordwood::broker {

void handle_delete_groups(Broker& broker, Exchange exchange) {
  protocol::DeleteGroupsRequest request;
  if (!exchange.decode(request)) return;
  exchange.answer(broker.groups().delete_groups(request));
}

}  // namespace cordwood::broker
