// Heartbeat (key 12), versions 0-4: v3 static members. As Kafka: the member's deadline moves even when the answer is
// REBALANCE_IN_PROGRESS.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/heartbeat.h"

namespace cordwood::broker {

void handle_heartbeat(Broker& broker, Exchange exchange) {
  protocol::HeartbeatRequest request;
  if (!exchange.decode(request)) return;
  if (authorise(exchange, Operation::read, Resource::group, request.group_id) == Verdict::denied) {
    protocol::HeartbeatResponse response;
    response.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
    return exchange.answer(response);
  }
  exchange.answer(broker.groups().heartbeat(request));
}

}  // namespace cordwood::broker
