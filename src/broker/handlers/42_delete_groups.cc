// DeleteGroups (key 42), versions 0-3: only groups without members go, with all their offsets.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/delete_groups.h"

namespace cordwood::broker {

void handle_delete_groups(Broker& broker, Exchange exchange) {
  protocol::DeleteGroupsRequest request;
  if (!exchange.decode(request)) return;
  std::vector<std::string> denied;
  std::erase_if(request.groups_names, [&](const auto& group) {
    if (authorise(exchange, Operation::remove, Resource::group, group) == Verdict::allowed) return false;
    denied.push_back(group);
    return true;
  });
  auto response = broker.groups().delete_groups(request);
  for (auto& group_id : denied) {
    auto& result = response.results.emplace_back();
    result.group_id = std::move(group_id);
    result.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
