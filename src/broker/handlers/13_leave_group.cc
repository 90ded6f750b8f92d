// LeaveGroup (key 13), versions 0-5: v3 several members with instance ids, v5 reasons (logged).
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/leave_group.h"

namespace cordwood::broker {

void handle_leave_group(Broker& broker, Exchange exchange) {
  protocol::LeaveGroupRequest request;
  if (!exchange.decode(request)) return;
  if (authorise(exchange, Operation::read, Resource::group, request.group_id) == Verdict::denied) {
    protocol::LeaveGroupResponse response;
    response.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
    return exchange.answer(response);
  }
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  exchange.answer(broker.groups().leave(request, caller));
}

}  // namespace cordwood::broker
