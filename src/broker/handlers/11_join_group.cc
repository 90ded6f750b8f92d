// JoinGroup (key 11), versions 0-9: v1 rebalance timeout, v4 MEMBER_ID_REQUIRED, v5 static members, v7 protocol type in the
// answer, v9 skip assignment. Waits for the rebalance; the group coordinator has the rules.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/join_group.h"

namespace cordwood::broker {

void handle_join_group(Broker& broker, Exchange exchange) {
  protocol::JoinGroupRequest request;
  if (!exchange.decode(request)) return;
  if (authorise(exchange, Operation::read, Resource::group, request.group_id) == Verdict::denied) {
    protocol::JoinGroupResponse response;
    response.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
    response.generation_id = -1;
    response.protocol_name = "";
    return exchange.answer(response);
  }
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  broker.groups().join(request, caller, [waiting](protocol::JoinGroupResponse response) {
    // Null protocol names came with version 7.
    if (waiting->version() < 7 && !response.protocol_name) response.protocol_name = "";
    waiting->answer(response);
  });
}

}  // namespace cordwood::broker
