// ListOffsets (key 2), versions 1-11: v2 isolation level, v4 leader epochs, v7 -3, v8 -4, v9 -5, v11 -6.
//
// A timestamp >= 0 asks for the first record at or after it; negative ones have meanings of their own. A search result
// that this reader may not see yet is answered as "none". After DeleteRecords -3 may still name an offset below the log
// start, since it looks at segments only (seen on Apache Kafka 4.4.0, like every other answer here).
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/partition_lookup.h"
#include "broker/storage_errors.h"
#include "protocol/messages/list_offsets.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::ListOffsetsRequest;
using protocol::ListOffsetsResponse;

constexpr std::int64_t kLatest = -1;
constexpr std::int64_t kEarliest = -2;
constexpr std::int64_t kMaxTimestamp = -3;
constexpr std::int64_t kEarliestLocal = -4;
constexpr std::int64_t kLatestTiered = -5;
constexpr std::int64_t kEarliestPendingUpload = -6;

bool timestamp_is_served(std::int64_t timestamp, std::int16_t version) {
  switch (timestamp) {
    case kLatest:
    case kEarliest:
      return true;
    case kMaxTimestamp:
      return version >= 7;
    case kEarliestLocal:
      return version >= 8;
    case kLatestTiered:
      return version >= 9;
    case kEarliestPendingUpload:
      return version >= 11;
    default:
      return timestamp >= 0;
  }
}

class ListOffsetsCall {
 public:
  ListOffsetsCall(Broker& broker, Exchange& exchange, const ListOffsetsRequest& request)
      : broker_(broker), exchange_(exchange), request_(request) {}

  void run() {
    note_duplicates();
    std::set<TopicPartition> answered;
    ListOffsetsResponse response;
    for (const auto& topic : request_.topics) {
      auto& answers = response.topics.emplace_back();
      answers.name = topic.name;
      for (const auto& asked : topic.partitions) {
        TopicPartition name{topic.name, PartitionId{asked.partition_index}};
        bool repeated = duplicates_.contains(name);
        if (repeated && !answered.insert(name).second) continue;
        auto& into = answers.partitions.emplace_back();
        into.partition_index = asked.partition_index;
        into.error_code = repeated ? ErrorCode::INVALID_REQUEST : look_up(name, asked, into);
      }
      if (answers.partitions.empty() && !topic.partitions.empty()) response.topics.pop_back();
    }
    exchange_.answer(response);
  }

 private:
  void note_duplicates() {
    std::set<TopicPartition> seen;
    for (const auto& topic : request_.topics) {
      for (const auto& partition : topic.partitions) {
        TopicPartition name{topic.name, PartitionId{partition.partition_index}};
        if (!seen.insert(name).second) duplicates_.insert(name);
      }
    }
  }

  ErrorCode look_up(const TopicPartition& name, const ListOffsetsRequest::Partition& asked,
                    ListOffsetsResponse::Partition& into) {
    if (authorise(exchange_, Operation::describe, Resource::topic, name.topic) == Verdict::denied) {
      return ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    }
    if (!timestamp_is_served(asked.timestamp, exchange_.version())) return ErrorCode::UNSUPPORTED_VERSION;
    if (request_.isolation_level != 0 && request_.isolation_level != 1) return ErrorCode::UNKNOWN_SERVER_ERROR;
    Located located = locate(broker_, name.topic, name.partition);
    if (!located.partition) return located.error;
    Partition& partition = *located.partition;
    if (ErrorCode error = partition.check_leader(asked.current_leader_epoch); error != ErrorCode::NONE) return error;
    const storage::PartitionLog& log = *partition.log();

    switch (asked.timestamp) {
      case kLatest:
        into.offset = visible_end(partition).value;
        into.leader_epoch = partition.leadership().leader_epoch;
        return ErrorCode::NONE;
      case kEarliest:
      case kEarliestLocal:
        earliest(partition, into);
        return ErrorCode::NONE;
      case kLatestTiered:
      case kEarliestPendingUpload:
        // Nothing is ever tiered.
        return ErrorCode::NONE;
      case kMaxTimestamp:
        return found(partition, log.find_max_timestamp(), into);
      default:
        return found(partition, log.find_by_timestamp(TimestampMs{asked.timestamp}), into);
    }
  }

  Offset visible_end(const Partition& partition) const {
    const storage::PartitionLog& log = *partition.log();
    if (request_.replica_id >= 0 && partition.is_remote_replica(NodeId{request_.replica_id})) return log.log_end_offset();
    return request_.isolation_level == 1 ? log.last_stable_offset() : log.high_watermark();
  }

  void earliest(const Partition& partition, ListOffsetsResponse::Partition& into) const {
    Offset start = partition.log()->log_start_offset();
    into.offset = start.value;
    auto first = partition.log()->earliest_epoch();
    if (first && first->start_offset <= start) into.leader_epoch = first->epoch.value;
  }

  ErrorCode found(const Partition& partition, Result<std::optional<storage::FoundRecord>> record,
                  ListOffsetsResponse::Partition& into) {
    if (!record) {
      broker_.log_failed(*partition.log(), record.error());
      return error_code_of(record.error().code);
    }
    if (!*record || (*record)->offset >= visible_end(partition)) return ErrorCode::NONE;
    into.offset = (*record)->offset.value;
    into.timestamp = (*record)->timestamp.value;
    if ((*record)->epoch) into.leader_epoch = (*record)->epoch->value;
    return ErrorCode::NONE;
  }

  Broker& broker_;
  Exchange& exchange_;
  const ListOffsetsRequest& request_;
  std::set<TopicPartition> duplicates_;
};

}  // namespace

void handle_list_offsets(Broker& broker, Exchange exchange) {
  ListOffsetsRequest request;
  if (!exchange.decode(request)) return;
  ListOffsetsCall(broker, exchange, request).run();
}

}  // namespace cordwood::broker
