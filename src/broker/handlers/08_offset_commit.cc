// OffsetCommit (key 8), versions 2-10: v2-v4 retention time, v6 leader epochs, v7 static members, v10 topic ids.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/offset_commit.h"

namespace cordwood::broker {

void handle_offset_commit(Broker& broker, Exchange exchange) {
  protocol::OffsetCommitRequest request;
  if (!exchange.decode(request)) return;
  if (authorise(exchange, Operation::read, Resource::group, request.group_id) == Verdict::denied) {
    protocol::OffsetCommitResponse response;
    for (const auto& topic : request.topics) {
      auto& answer = response.topics.emplace_back();
      answer.name = topic.name;
      answer.topic_id = topic.topic_id;
      for (const auto& partition : topic.partitions) {
        auto& result = answer.partitions.emplace_back();
        result.partition_index = partition.partition_index;
        result.error_code = protocol::ErrorCode::GROUP_AUTHORIZATION_FAILED;
      }
    }
    return exchange.answer(response);
  }
  const groups::Caller caller{exchange.version(), exchange.client_id(), exchange.peer().remote_host};
  std::shared_ptr<Partition> waits_for;
  protocol::OffsetCommitResponse response = broker.groups().commit(request, caller, &waits_for);
  if (!waits_for) return exchange.answer(response);
  Executor& loop = exchange.loop();
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  auto answer = std::make_shared<protocol::OffsetCommitResponse>(std::move(response));
  broker.when_flushed(std::move(waits_for), loop, [waiting, answer](const Result<void>& flushed) {
    for (auto& topic : answer->topics) {
      for (auto& partition : topic.partitions) {
        if (!flushed && partition.error_code == protocol::ErrorCode::NONE) {
          partition.error_code = protocol::ErrorCode::NOT_COORDINATOR;
        }
      }
    }
    waiting->answer(*answer);
  });
}

}  // namespace cordwood::broker
