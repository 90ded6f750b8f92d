// OffsetFetch (key 9), versions 1-10: v2 null topics ask for all, v8 several groups, v10 topic ids.
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/offset_fetch.h"

namespace cordwood::broker {

void handle_offset_fetch(Broker& broker, Exchange exchange) {
  protocol::OffsetFetchRequest request;
  if (!exchange.decode(request)) return;
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  exchange.answer(broker.groups().fetch(request, caller));
}

}  // namespace cordwood::broker
