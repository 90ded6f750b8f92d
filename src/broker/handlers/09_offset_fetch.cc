// OffsetFetch (key 9), versions 1-10: v2 null topics ask for all, v8 several groups, v10 topic ids.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/offset_fetch.h"

namespace cordwood::broker {

void handle_offset_fetch(Broker& broker, Exchange exchange) {
  protocol::OffsetFetchRequest request;
  if (!exchange.decode(request)) return;
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  // Groups that may not be described are answered with the error alone.
  std::vector<std::string> denied;
  if (exchange.version() < 8) {
    if (authorise(exchange, Operation::describe, Resource::group, request.group_id) == Verdict::denied) {
      protocol::OffsetFetchResponse response;
      response.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
      return exchange.answer(response);
    }
  } else {
    std::erase_if(request.groups, [&](const auto& group) {
      if (authorise(exchange, Operation::describe, Resource::group, group.group_id) == Verdict::allowed) return false;
      denied.push_back(group.group_id);
      return true;
    });
  }
  auto response = broker.groups().fetch(request, caller);
  for (auto& group_id : denied) {
    auto& group = response.groups.emplace_back();
    group.group_id = std::move(group_id);
    group.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
