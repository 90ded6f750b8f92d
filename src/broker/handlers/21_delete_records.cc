// DeleteRecords (key 21), versions 0-2: v2 flexible.
//
// Moves the log start offset; data leaves the disk when whole segments lie below it. -1 is the high watermark. Kafka
// waits until all replicas have done the same; with a replica set of one that is at once, so TimeoutMs never matters.
#include <map>
#include <string>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/partition_lookup.h"
#include "broker/metadata/topic_name.h"
#include "broker/storage_errors.h"
#include "protocol/messages/delete_records.h"

namespace cordwood::broker {
namespace {

using protocol::DeleteRecordsRequest;
using protocol::DeleteRecordsResponse;
using protocol::ErrorCode;

constexpr std::int64_t kToHighWatermark = -1;

ErrorCode delete_records(Broker& broker, const Exchange& exchange, const TopicPartition& name, std::int64_t offset,
                         std::int64_t& low_watermark) {
  if (authorise(exchange, Operation::remove, Resource::topic, name.topic) == Verdict::denied) {
    return ErrorCode::TOPIC_AUTHORIZATION_FAILED;
  }
  Located located = locate(broker, name.topic, name.partition);
  if (!located.partition) return located.error;
  Partition& partition = *located.partition;
  if (metadata::is_internal_topic(name.topic)) return ErrorCode::INVALID_TOPIC_EXCEPTION;
  if (ErrorCode error = partition.check_leader(-1); error != ErrorCode::NONE) return error;
  storage::PartitionLog& log = *partition.log();
  storage::LogConfig config = log.config();
  if (config.cleanup_compact && !config.cleanup_delete) return ErrorCode::POLICY_VIOLATION;
  Offset to = offset == kToHighWatermark ? log.high_watermark() : Offset{offset};
  if (to.value < 0) return ErrorCode::OFFSET_OUT_OF_RANGE;
  if (Result<void> moved = log.advance_log_start(to); !moved) {
    broker.log_failed(log, moved.error());
    return error_code_of(moved.error().code);
  }
  low_watermark = log.log_start_offset().value;
  partition.wake_all();
  return ErrorCode::NONE;
}

}  // namespace

void handle_delete_records(Broker& broker, Exchange exchange) {
  DeleteRecordsRequest request;
  if (!exchange.decode(request)) return;
  // Of a partition that is named twice the last one counts; each is answered once.
  std::map<std::string, std::map<std::int32_t, std::int64_t>> asked;
  for (const auto& topic : request.topics) {
    for (const auto& partition : topic.partitions) asked[topic.name][partition.partition_index] = partition.offset;
  }
  DeleteRecordsResponse response;
  for (const auto& [topic, partitions] : asked) {
    auto& answers = response.topics.emplace_back();
    answers.name = topic;
    for (const auto& [index, offset] : partitions) {
      auto& answer = answers.partitions.emplace_back();
      answer.partition_index = index;
      answer.low_watermark = -1;
      answer.error_code =
          delete_records(broker, exchange, {topic, PartitionId{index}}, offset, answer.low_watermark);
    }
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
