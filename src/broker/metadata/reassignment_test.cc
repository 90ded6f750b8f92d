#include "broker/metadata/reassignment.h"

#include <gtest/gtest.h>

#include "broker/metadata/apply.h"
#include "broker/metadata/features.h"

namespace cordwood::broker::metadata {
namespace {

using protocol::AlterPartitionReassignmentsRequest;
using protocol::ErrorCode;

constexpr NodeId kOurs{1};

// We are broker 1, alive; 2 and 3 are registered and away.
class Reassignments : public testing::Test {
 protected:
  Reassignments() {
    image.features[std::string(kMetadataVersion)] = 25;
    for (std::int32_t id : {1, 2, 3}) {
      image.brokers[NodeId{id}] = {.id = NodeId{id}, .epoch = 5, .incarnation = {}, .endpoints = {}, .features = {}, .rack = {},
                                   .fenced = id != 1, .log_dirs = {}, .cordoned_log_dirs = {}};
    }
  }

  void place(std::vector<std::int32_t> replicas, std::vector<std::int32_t> isr) {
    TopicRecord topic;
    topic.name = "t";
    topic.topic_id = {1, 1};
    PartitionRecord partition;
    partition.topic_id = topic.topic_id;
    partition.partition_id = 0;
    for (std::int32_t id : replicas) partition.directories.push_back(Uuid{9, static_cast<std::uint64_t>(id)});
    partition.replicas = std::move(replicas);
    partition.leader = isr.empty() ? -1 : isr.front();
    partition.isr = std::move(isr);
    partition.leader_epoch = 0;
    take({record_for(image.metadata_version(), topic), record_for(image.metadata_version(), partition)});
  }

  Refusal ask(std::optional<std::vector<std::int32_t>> replicas, std::int32_t index = 0, const std::string& topic = "t", bool grow = true) {
    AlterPartitionReassignmentsRequest request;
    request.allow_replication_factor_change = grow;
    request.topics.push_back({topic, {{index, std::move(replicas)}}});
    ReassignmentDecision decision = decide_reassignment(image, request, kOurs);
    records = decision.records.size();
    take(decision.records);
    return decision.topics.at(0).partitions.at(0).refusal;
  }

  // Whatever a decision says must be possible to apply.
  void take(const std::vector<MetadataRecord>& decided) {
    Result<Image> next = apply(image, decided, 1);
    ASSERT_TRUE(next) << next.error().message();
    image = std::move(*next);
  }
  const PartitionState& state() { return image.topic("t")->partitions.at(PartitionId{0}); }

  Image image;
  std::size_t records = 0;
};

std::vector<NodeId> these(std::vector<std::int32_t> ids) {
  std::vector<NodeId> nodes;
  for (std::int32_t id : ids) nodes.push_back(NodeId{id});
  return nodes;
}

TEST_F(Reassignments, SameReplicasChangeNothing) {
  place({1}, {1});
  EXPECT_EQ(ask(std::vector{1}), Refusal{});
  EXPECT_EQ(records, 0U);
}

TEST_F(Reassignments, RefusesAsKafkaDoes) {
  place({1}, {1});
  EXPECT_EQ(ask(std::vector{1}, 0, "u"), (Refusal{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named u."}));
  EXPECT_EQ(ask(std::vector{1}, 9), (Refusal{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition t:9."}));
  EXPECT_EQ(ask(std::nullopt), (Refusal{ErrorCode::NO_REASSIGNMENT_IN_PROGRESS, std::nullopt}));
  EXPECT_EQ(ask(std::vector<std::int32_t>()).code, ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(ask(std::vector{1, 1}).message, "The manual partition assignment includes the broker 1 more than once.");
  EXPECT_EQ(ask(std::vector{9}).message, "The manual partition assignment includes broker 9, but no such broker is registered.");
  EXPECT_EQ(ask(std::vector{1, 2}, 0, "t", false),
            (Refusal{ErrorCode::INVALID_REPLICATION_FACTOR, "The replication factor is changed from 1 to 2"}));
  EXPECT_EQ(records, 0U);
}

TEST_F(Reassignments, TakesReplicasAwayAtOnceWithANewLeaderEpoch) {
  place({2, 1}, {1});
  EXPECT_EQ(ask(std::vector{1}), Refusal{});
  EXPECT_EQ(state().replicas, these({1}));
  EXPECT_EQ(state().directories, (std::vector<Uuid>{{9, 1}}));
  EXPECT_EQ(state().leader, kOurs);
  EXPECT_EQ(state().leader_epoch, 1);
  EXPECT_FALSE(is_reassigned(state()));
}

TEST_F(Reassignments, OrdersReplicasAnewWithoutANewLeaderEpoch) {
  place({2, 1}, {1});
  EXPECT_EQ(ask(std::vector{1, 2}), Refusal{});
  EXPECT_EQ(state().replicas, these({1, 2}));
  EXPECT_EQ(state().directories, (std::vector<Uuid>{{9, 1}, {9, 2}}));
  EXPECT_EQ(state().leader_epoch, 0);
}

TEST_F(Reassignments, WaitsForWhoIsAwayAndCanBeCancelled) {
  place({1}, {1});
  EXPECT_EQ(ask(std::vector{3, 2}), Refusal{});
  EXPECT_EQ(state().replicas, these({3, 2, 1}));
  EXPECT_EQ(state().adding_replicas, these({2, 3}));
  EXPECT_EQ(state().removing_replicas, these({1}));
  EXPECT_EQ(state().isr, these({1}));
  EXPECT_EQ(state().leader, kOurs);
  // Another aim on the way: what was there before counts.
  EXPECT_EQ(ask(std::vector{2, 1}), Refusal{});
  EXPECT_EQ(state().replicas, these({2, 1}));
  EXPECT_EQ(state().adding_replicas, these({2}));
  EXPECT_TRUE(state().removing_replicas.empty());
  EXPECT_EQ(ask(std::nullopt), Refusal{});
  EXPECT_EQ(state().replicas, these({1}));
  EXPECT_FALSE(is_reassigned(state()));
  EXPECT_EQ(state().leader, kOurs);
}

TEST_F(Reassignments, NeverLosesTheLastReplicaInSync) {
  place({2}, {2});
  EXPECT_EQ(ask(std::vector{1}), Refusal{});
  EXPECT_EQ(state().isr, these({2}));
  EXPECT_EQ(state().replicas, these({1, 2}));
  EXPECT_EQ(state().adding_replicas, these({1}));
  EXPECT_EQ(state().removing_replicas, these({2}));
}

}  // namespace
}  // namespace cordwood::broker::metadata
