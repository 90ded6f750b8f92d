// LeaveGroup (key 13), versions 0-5: v3 several members with instance ids, v5 reasons (logged).
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/leave_group.h"

namespace cordwood::broker {

void handle_leave_group(Broker& broker, Exchange exchange) {
  protocol::LeaveGroupRequest request;
  if (!exchange.decode(request)) return;
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  exchange.answer(broker.groups().leave(request, caller));
}

}  // namespace cordwood::broker
