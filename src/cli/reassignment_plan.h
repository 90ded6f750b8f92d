// cli/reassignment_plan.h — the files of kafka-reassign-partitions: which replicas shall lie where, and the topics whose partitions
// are to be dealt out anew.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cli/java_error.h"
#include "client/cluster.h"
#include "client/partition_leaders.h"

namespace cordwood::cli {

// "topic-0"
std::string partition_text(const client::PartitionKey& key);

// One replica, in the order in which Kafka's tool lists them.
struct ReplicaKey {
  std::int32_t broker = 0;
  client::PartitionKey partition;
  auto operator<=>(const ReplicaKey&) const = default;
  // "topic-0-1"
  std::string to_string() const;
};

using ReplicaDirectories = std::map<ReplicaKey, std::string>;
using Assignment = std::map<client::PartitionKey, std::vector<std::int32_t>>;

struct ReassignmentPlan {
  std::vector<Assignment::value_type> partitions;  // as the file has them: a partition may come twice
  ReplicaDirectories directories;                  // of the replicas that are to lie in a directory of their own
  Assignment assignment() const { return {partitions.begin(), partitions.end()}; }
};

// {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["any"]}]}. Errors: what Kafka's reader says.
Tried<ReassignmentPlan> parse_reassignment_plan(std::string_view text);
// Whether it can be executed. Errors: AdminCommandFailedException.
Tried<std::monostate> check_reassignment_plan(const ReassignmentPlan& plan);

// The same form, with "any" where no directory is known.
std::string reassignment_json(const Assignment& assignment, const ReplicaDirectories& directories);

// {"version":1,"topics":[{"topic":"t"}]}
Tried<std::vector<std::string>> parse_topics_to_move(std::string_view text);
// "0,1,2"
Tried<std::set<std::int32_t>> parse_broker_list(std::string_view text);

// Deals the partitions of `current` out to `brokers`: as many replicas for each topic as its first partition has, leaders one after the
// other over all brokers, the replicas of a partition in as many racks as there are. Which broker begins is chance. Errors:
// InvalidReplicationFactorException.
Tried<Assignment> deal_out(const Assignment& current, const std::vector<client::Node>& brokers, Random& random);

// A partition on its way: where its replicas are taken from, and where they go.
struct PartitionMove {
  std::set<std::int32_t> sources;
  std::set<std::int32_t> destinations;
};
using PartitionMoves = std::map<client::PartitionKey, PartitionMove>;

// "0:1,1:1" for each topic of `moves`: what leader.replication.throttled.replicas and follower.… are set to.
std::map<std::string, std::string> leader_throttles(const PartitionMoves& moves);
std::map<std::string, std::string> follower_throttles(const PartitionMoves& moves);

}  // namespace cordwood::cli
