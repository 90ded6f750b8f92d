// SyncGroup (key 14), versions 0-5: v3 static members, v5 protocol type and name both ways. Waits for the leader.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/sync_group.h"

namespace cordwood::broker {

void handle_sync_group(Broker& broker, Exchange exchange) {
  protocol::SyncGroupRequest request;
  if (!exchange.decode(request)) return;
  if (authorise(exchange, Operation::read, Resource::group, request.group_id) == Verdict::denied) {
    protocol::SyncGroupResponse response;
    response.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
    return exchange.answer(response);
  }
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  broker.groups().sync(request, caller,
                       [waiting](protocol::SyncGroupResponse response) { waiting->answer(response); });
}

}  // namespace cordwood::broker
