#include "client/partition_leaders.h"

#include <algorithm>
#include <set>

namespace cordwood::client {
namespace {

using protocol::ErrorCode;
using ByLeader = std::map<std::int32_t, std::vector<PartitionKey>>;

Outcome<ByLeader> leaders_of(Cluster& cluster, std::string_view call, const std::set<PartitionKey>& partitions, MonotonicNs deadline) {
  std::vector<std::string> topics;
  for (const auto& [topic, partition] : partitions) {
    if (topics.empty() || topics.back() != topic) topics.push_back(topic);
  }
  auto metadata = ATTEMPT(cluster.metadata(topics, call, deadline));
  ByLeader leaders;
  for (const auto& topic : metadata.topics) {
    for (const auto& partition : topic.partitions) {
      PartitionKey key{topic.name.value_or(""), partition.partition_index};
      if (partition.leader_id >= 0 && partitions.contains(key)) leaders[partition.leader_id].push_back(std::move(key));
    }
  }
  return leaders;
}

}  // namespace

std::map<PartitionKey, Failure> ask_leaders(Cluster& cluster, std::string_view call, const std::vector<PartitionKey>& partitions,
                                            const AskLeader& ask) {
  MonotonicNs deadline = cluster.deadline();
  std::set<PartitionKey> open(partitions.begin(), partitions.end());
  std::map<PartitionKey, Failure> outcome;
  auto give_up = [&](const Failure& failure) {
    for (const PartitionKey& key : open) outcome[key] = failure;
    return outcome;
  };
  for (int attempt = 0; !open.empty(); ++attempt) {
    auto leaders = leaders_of(cluster, call, open, deadline);
    if (!leaders) return give_up(leaders.failure());
    for (const auto& [leader, keys] : *leaders) {
      auto link = cluster.broker(leader, call, deadline);
      if (!link) return give_up(link.failure());
      auto answer = ask(**link, keys);
      if (!answer && protocol::is_retriable(answer.failure().code)) continue;
      for (const PartitionKey& key : keys) {
        Failure failure = answer ? Failure{ErrorCode::NONE, ""} : answer.failure();
        if (answer && (*answer)[key] != ErrorCode::NONE) failure = failure_of((*answer)[key]);
        if (protocol::is_retriable(failure.code)) continue;
        outcome[key] = failure;
        open.erase(key);
      }
    }
    if (open.empty()) break;
    auto waited = cluster.back_off(attempt, call, deadline);
    if (!waited) return give_up(waited.failure());
  }
  return outcome;
}

}  // namespace cordwood::client
