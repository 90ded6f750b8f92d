// DescribeTopicPartitions (key 75), version 0: topics in the order of their names, page by page.
//
// A page holds at most min(ResponsePartitionLimit, max.request.partition.size.limit) partitions, and one at least; the
// cursor says where the next one starts. A cursor on a topic that was not asked for is an error, as in Kafka 4.4.0.
#include <algorithm>
#include <set>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/topic_view.h"
#include "broker/metadata/features.h"
#include "broker/metadata/topic_name.h"
#include "protocol/messages/describe_topic_partitions.h"

namespace cordwood::broker {
namespace {

using protocol::DescribeTopicPartitionsRequest;
using protocol::DescribeTopicPartitionsResponse;
using protocol::ErrorCode;

class Page {
 public:
  Page(Broker& broker, const metadata::Image& image, const Exchange& exchange, std::int32_t limit)
      : broker_(broker), image_(image), exchange_(exchange), left_(limit) {}

  // False when the page is full.
  bool add(const std::string& name, std::int32_t first, bool named) {
    if (left_ == 0) {
      stop_at(name, 0);
      return false;
    }
    bool denied = authorise(exchange_, Operation::describe, Resource::topic, name) == Verdict::denied;
    auto topic = image_.topic(name);
    if (denied || topic == nullptr) {
      if (named) without_partitions(name, denied);
      return true;
    }
    auto& entry = begin(name);
    entry.topic_id = topic->id;
    for (auto at = topic->partitions.lower_bound(PartitionId{first}); at != topic->partitions.end(); ++at) {
      if (left_ == 0) {
        stop_at(name, at->first.value);
        return false;
      }
      --left_;
      entry.partitions.push_back(describe(name, at->first, at->second));
    }
    return true;
  }

  DescribeTopicPartitionsResponse take() { return std::move(response_); }

 private:
  DescribeTopicPartitionsResponse::Topic& begin(const std::string& name) {
    auto& entry = response_.topics.emplace_back();
    entry.name = name;
    entry.is_internal = metadata::is_internal_topic(name);
    entry.topic_authorized_operations = kAllTopicOperations;
    return entry;
  }

  void without_partitions(const std::string& name, bool denied) {
    auto& entry = begin(name);
    if (denied) {
      entry.error_code = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    } else {
      entry.error_code = metadata::topic_name_fault(name) ? ErrorCode::INVALID_TOPIC_EXCEPTION
                                                          : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    }
  }

  void stop_at(const std::string& name, std::int32_t partition) {
    auto& cursor = response_.next_cursor.emplace();
    cursor.topic_name = name;
    cursor.partition_index = partition;
  }

  DescribeTopicPartitionsResponse::Partition describe(const std::string& topic, PartitionId index,
                                                      const metadata::PartitionState& state) const {
    PartitionView view = view_of(broker_, image_, topic, index, state);
    DescribeTopicPartitionsResponse::Partition partition;
    partition.error_code = view.error;
    partition.partition_index = index.value;
    partition.leader_id = view.leader;
    partition.leader_epoch = state.leader_epoch;
    partition.replica_nodes = std::move(view.replicas);
    partition.isr_nodes = std::move(view.isr);
    partition.offline_replicas = std::move(view.offline);
    partition.eligible_leader_replicas = node_ids(state.eligible_leader_replicas);
    partition.last_known_elr = node_ids(state.last_known_elr);
    return partition;
  }

  Broker& broker_;
  const metadata::Image& image_;
  const Exchange& exchange_;
  std::int32_t left_;
  DescribeTopicPartitionsResponse response_;
};

DescribeTopicPartitionsResponse all_failed(const DescribeTopicPartitionsRequest& request, ErrorCode code) {
  DescribeTopicPartitionsResponse response;
  for (const auto& asked : request.topics) {
    auto& topic = response.topics.emplace_back();
    topic.error_code = code;
    topic.name = asked.name;
  }
  return response;
}

}  // namespace

void handle_describe_topic_partitions(Broker& broker, Exchange exchange) {
  DescribeTopicPartitionsRequest request;
  if (!exchange.decode(request)) return;
  std::shared_ptr<const metadata::Image> image = broker.image();
  std::string from = request.cursor ? request.cursor->topic_name : "";
  std::set<std::string> names;
  bool all = request.topics.empty();
  if (all) {
    for (auto at = image->topics.lower_bound(from); at != image->topics.end(); ++at) names.insert(at->first);
  } else {
    for (const auto& topic : request.topics) {
      if (topic.name >= from) names.insert(topic.name);
    }
  }
  bool bad_cursor = request.cursor && (request.cursor->partition_index < 0 || (!all && !names.contains(from)));
  if (bad_cursor) {
    exchange.answer(all_failed(request, ErrorCode::INVALID_REQUEST));
    return;
  }
  // An internal failure in Kafka.
  if (names.contains("")) {
    exchange.answer(all_failed(request, ErrorCode::UNKNOWN_SERVER_ERROR));
    return;
  }
  std::int32_t limit = std::max(1, std::min(request.response_partition_limit,
                                            broker.config().max_request_partition_size_limit));
  Page page(broker, *image, exchange, limit);
  for (const std::string& name : names) {
    std::int32_t first = request.cursor && name == from ? request.cursor->partition_index : 0;
    if (!page.add(name, first, !all)) break;
  }
  exchange.answer(page.take());
}

}  // namespace cordwood::broker
