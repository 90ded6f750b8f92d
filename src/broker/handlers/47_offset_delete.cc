// OffsetDelete (key 47), version 0: offsets of topics that nobody in the group subscribes to.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/offset_delete.h"

namespace cordwood::broker {

void handle_offset_delete(Broker& broker, Exchange exchange) {
  protocol::OffsetDeleteRequest request;
  if (!exchange.decode(request)) return;
  if (authorise(exchange, Operation::remove, Resource::group, request.group_id) == Verdict::denied) {
    protocol::OffsetDeleteResponse response;
    response.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
    return exchange.answer(response);
  }
  exchange.answer(broker.groups().delete_offsets(request));
}

}  // namespace cordwood::broker
