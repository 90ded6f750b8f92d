// OffsetCommit (key 8), versions 2-10: v2-v4 retention time, v6 leader epochs, v7 static members, v10 topic ids.
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/offset_commit.h"

namespace cordwood::broker {

void handle_offset_commit(Broker& broker, Exchange exchange) {
  protocol::OffsetCommitRequest request;
  if (!exchange.decode(request)) return;
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  exchange.answer(broker.groups().commit(request, caller));
}

}  // namespace cordwood::broker
