// OffsetForLeaderEpoch (key 23), versions 2-4: v3 replica id, v4 flexible.
//
// Where the records of an epoch end here: consumers find out with it that a log was truncated under them.
#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/partition_lookup.h"
#include "protocol/messages/offset_for_leader_epoch.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::OffsetForLeaderEpochRequest;
using protocol::OffsetForLeaderEpochResponse;

ErrorCode look_up(Broker& broker, const Exchange& exchange, const TopicPartition& name,
                  const OffsetForLeaderEpochRequest::Partition& asked, OffsetForLeaderEpochResponse::Partition& into) {
  if (authorise(exchange, Operation::describe, Resource::topic, name.topic) == Verdict::denied) {
    return ErrorCode::TOPIC_AUTHORIZATION_FAILED;
  }
  Located located = locate(broker, name.topic, name.partition);
  if (!located.partition) return located.error;
  if (ErrorCode error = located.partition->check_leader(asked.current_leader_epoch); error != ErrorCode::NONE) return error;
  storage::EpochEndOffset end = located.partition->log()->end_offset_for_epoch(asked.leader_epoch);
  into.leader_epoch = end.epoch;
  into.end_offset = end.end_offset.value;
  return ErrorCode::NONE;
}

}  // namespace

void handle_offset_for_leader_epoch(Broker& broker, Exchange exchange) {
  OffsetForLeaderEpochRequest request;
  if (!exchange.decode(request)) return;
  OffsetForLeaderEpochResponse response;
  for (const auto& topic : request.topics) {
    auto& answers = response.topics.emplace_back();
    answers.topic = topic.topic;
    for (const auto& asked : topic.partitions) {
      auto& answer = answers.partitions.emplace_back();
      answer.partition = asked.partition;
      answer.error_code = look_up(broker, exchange, {topic.topic, PartitionId{asked.partition}}, asked, answer);
    }
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
