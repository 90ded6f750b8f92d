// DescribeLogDirs (key 35), versions 1-5: v2 flexible, v3 top-level error, v4 total and usable bytes, v5 cordoned flag.
//
// Every directory of log.dirs with the partitions asked for: null asks for all, an empty list for none. Runs in the
// background, since a sick disk may take its time to tell its space.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/describe_log_dirs.h"

namespace cordwood::broker {
namespace {

using protocol::DescribeLogDirsRequest;
using protocol::DescribeLogDirsResponse;
using protocol::ErrorCode;

// Nothing: all partitions.
using Wanted = std::optional<std::set<TopicPartition>>;

Wanted wanted(const DescribeLogDirsRequest& request) {
  if (!request.topics) return {};
  std::set<TopicPartition> partitions;
  for (const auto& topic : *request.topics) {
    for (std::int32_t index : topic.partitions) partitions.insert({topic.topic, PartitionId{index}});
  }
  return partitions;
}

void add_partitions(Broker& broker, Uuid directory, const Wanted& only, DescribeLogDirsResponse::Result& into) {
  std::map<std::string, std::map<std::int32_t, std::shared_ptr<Partition>>> topics;
  for (const auto& partition : broker.partitions().all()) {
    const TopicPartition& name = partition->name();
    if (only && !only->contains(name)) continue;
    if (broker.logs().directory_of(name) != directory) continue;
    topics[name.topic][name.partition.value] = partition;
  }
  for (const auto& [name, partitions] : topics) {
    auto& topic = into.topics.emplace_back();
    topic.name = name;
    for (const auto& [index, partition] : partitions) {
      const storage::PartitionLog& log = *partition->log();
      auto& entry = topic.partitions.emplace_back();
      entry.partition_index = index;
      entry.partition_size = log.size().value;
      entry.offset_lag = std::max<std::int64_t>(0, (log.log_end_offset() - log.high_watermark()).value);
    }
  }
}

// Those on their way into this directory.
void add_copies(const std::vector<storage::LogMover::Status>& moves, std::size_t directory, const Wanted& only,
                DescribeLogDirsResponse::Result& into) {
  for (const storage::LogMover::Status& move : moves) {
    if (move.directory != directory || (only && !only->contains(move.partition))) continue;
    auto topic = std::ranges::find(into.topics, move.partition.topic, &DescribeLogDirsResponse::Topic::name);
    if (topic == into.topics.end()) {
      into.topics.emplace_back().name = move.partition.topic;
      topic = std::prev(into.topics.end());
    }
    auto& entry = topic->partitions.emplace_back();
    entry.partition_index = move.partition.partition.value;
    entry.partition_size = move.copied.value;
    entry.offset_lag = move.lag.value;
    entry.is_future_key = true;
  }
}

void describe(Broker& broker, const DescribeLogDirsRequest& request, DescribeLogDirsResponse& response) {
  Wanted only = wanted(request);
  auto image = broker.image();
  auto us = image->brokers.find(broker.config().node_id);
  const std::vector<storage::LogMover::Status> moves = broker.log_mover().moves();
  const std::vector<storage::LogDirectory> directories = broker.logs().directories();
  for (std::size_t index = 0; index < directories.size(); ++index) {
    const storage::LogDirectory& directory = directories[index];
    auto& result = response.results.emplace_back();
    result.log_dir = directory.path;
    if (directory.offline) {
      result.error_code = ErrorCode::KAFKA_STORAGE_ERROR;
      continue;
    }
    if (auto space = broker.environment().fs->space(directory.path)) {
      result.total_bytes = space->total.value;
      result.usable_bytes = space->available.value;
    }
    if (us != image->brokers.end() && us->second.cordoned_log_dirs) {
      const auto& cordoned = *us->second.cordoned_log_dirs;
      result.is_cordoned = std::find(cordoned.begin(), cordoned.end(), directory.id) != cordoned.end();
    }
    add_partitions(broker, directory.id, only, result);
    add_copies(moves, index, only, result);
  }
}

}  // namespace

void handle_describe_log_dirs(Broker& broker, Exchange exchange) {
  auto request = std::make_shared<DescribeLogDirsRequest>();
  if (!exchange.decode(*request)) return;
  if (authorise(exchange, Operation::describe, Resource::cluster, kClusterResource) == Verdict::denied) {
    DescribeLogDirsResponse response;
    response.error_code = ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
    return exchange.answer(response);
  }
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  broker.background().post([&broker, request, waiting] {
    DescribeLogDirsResponse response;
    describe(broker, *request, response);
    waiting->answer(response);
  });
}

}  // namespace cordwood::broker
