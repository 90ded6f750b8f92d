// AlterPartitionReassignments and ListPartitionReassignments over a whole broker. What single partitions are refused for is tested
// beside the decision (metadata/reassignment_test.cc).
#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "protocol/messages/alter_partition_reassignments.h"
#include "protocol/messages/create_topics.h"
#include "protocol/messages/list_partition_reassignments.h"

namespace cordwood::broker {
namespace {

using protocol::AlterPartitionReassignmentsRequest;
using protocol::AlterPartitionReassignmentsResponse;
using protocol::ErrorCode;
using protocol::ListPartitionReassignmentsRequest;
using protocol::ListPartitionReassignmentsResponse;

void create_topic_to_reassign(TestBroker& broker) {
  protocol::CreateTopicsRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = "orders";
  topic.num_partitions = 2;
  topic.replication_factor = 1;
  ASSERT_EQ(broker.call<protocol::CreateTopicsResponse>(request, 7)->topics.at(0).error_code, ErrorCode::NONE);
}

TEST(ReassignmentHandlers, AnswerEachPartition) {
  TestBroker broker;
  create_topic_to_reassign(broker);
  AlterPartitionReassignmentsRequest request;
  std::int32_t us = broker->config().node_id.value;
  request.topics.push_back({"orders", {{0, std::vector{us}}, {1, std::nullopt}}});
  request.topics.push_back({"nope", {{0, std::vector{us}}}});
  auto answer = broker.call<AlterPartitionReassignmentsResponse>(request, 1);
  EXPECT_EQ(answer->error_code, ErrorCode::NONE);
  ASSERT_EQ(answer->responses.size(), 2U);
  ASSERT_EQ(answer->responses[0].partitions.size(), 2U);
  EXPECT_EQ(answer->responses[0].partitions[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(answer->responses[0].partitions[1].error_code, ErrorCode::NO_REASSIGNMENT_IN_PROGRESS);
  EXPECT_EQ(answer->responses[1].partitions.at(0).error_message, "Unable to find a topic named nope.");
}

TEST(ReassignmentHandlers, ListNothingWhereNothingGoesOn) {
  TestBroker broker;
  create_topic_to_reassign(broker);
  ListPartitionReassignmentsRequest all;
  EXPECT_TRUE(broker.call<ListPartitionReassignmentsResponse>(all, 0)->topics.empty());
  ListPartitionReassignmentsRequest some;
  some.topics.emplace();
  some.topics->push_back({"orders", {0, 7}});
  some.topics->push_back({"nope", {0}});
  auto answer = broker.call<ListPartitionReassignmentsResponse>(some, 0);
  EXPECT_EQ(answer->error_code, ErrorCode::NONE);
  EXPECT_TRUE(answer->topics.empty());
}

}  // namespace
}  // namespace cordwood::broker
