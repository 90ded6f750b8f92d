// DescribeGroups (key 15), versions 0-6: from v6 a missing group is an error, below it is shown as Dead.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/describe_groups.h"

namespace cordwood::broker {

void handle_describe_groups(Broker& broker, Exchange exchange) {
  protocol::DescribeGroupsRequest request;
  if (!exchange.decode(request)) return;
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  std::vector<std::string> denied;
  std::erase_if(request.groups, [&](const auto& group) {
    if (authorise(exchange, Operation::describe, Resource::group, group) == Verdict::allowed) return false;
    denied.push_back(group);
    return true;
  });
  auto response = broker.groups().describe(request, caller);
  for (auto& group_id : denied) {
    auto& group = response.groups.emplace_back();
    group.group_id = std::move(group_id);
    group.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
