// DescribeGroups (key 15), versions 0-6: from v6 a missing group is an error, below it is shown as Dead.
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/describe_groups.h"

namespace cordwood::broker {

void handle_describe_groups(Broker& broker, Exchange exchange) {
  protocol::DescribeGroupsRequest request;
  if (!exchange.decode(request)) return;
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  exchange.answer(broker.groups().describe(request, caller));
}

}  // namespace cordwood::broker
