// A disk that fails under a running broker: what it held is answered with KAFKA_STORAGE_ERROR, the rest goes on.
#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "protocol/messages/describe_log_dirs.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/produce.h"
#include "record/builder.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::FetchRequest;
using protocol::FetchResponse;
using protocol::ProduceRequest;
using protocol::ProduceResponse;

Config two_directories() {
  Config config = TestBroker::test_config();
  config.log_dirs = {"/meta", "/data"};
  config.metadata_log_dir = "/meta";
  return config;
}

class DataPathFaultsTest : public ::testing::Test {
 protected:
  DataPathFaultsTest() {
    broker_.create_topic("t", 4);
    for (std::int32_t i = 0; i < 4; ++i) {
      bool on_data = broker_->partitions().find("t", PartitionId{i})->log()->directory().starts_with("/data");
      (on_data ? lost_ : kept_) = i;
      broker_.produce("t", i, {"before"});
    }
    EXPECT_GE(lost_, 0);
    EXPECT_GE(kept_, 0);
  }
  ErrorCode produce(std::int32_t partition, std::int16_t version = 12) {
    record::BatchBuilder builder{record::BatchOptions{}};
    builder.add(broker_.clock().now(), {}, as_bytes("value"));
    ByteVector batch = builder.build();
    ProduceRequest request;
    request.acks = 1;
    auto& topic = request.topic_data.emplace_back();
    topic.name = "t";
    topic.partition_data.push_back({partition, protocol::Records{batch, {}}});
    auto answer = broker_.call<ProduceResponse>(request, version);
    return answer->responses.at(0).partition_responses.at(0).error_code;
  }
  FetchRequest fetch_request(std::int32_t partition, std::int64_t offset) {
    FetchRequest request;
    request.max_wait_ms = 500;
    request.min_bytes = 1;
    auto& topic = request.topics.emplace_back();
    topic.topic = "t";
    auto& asked = topic.partitions.emplace_back();
    asked.partition = partition;
    asked.fetch_offset = offset;
    asked.partition_max_bytes = 1000;
    return request;
  }
  ErrorCode fetch(std::int32_t partition, std::int16_t version = 12) {
    auto answer = broker_.call<FetchResponse>(fetch_request(partition, 0), version);
    return answer->responses.at(0).partitions.at(0).error_code;
  }

  TestBroker broker_{two_directories()};
  std::int32_t lost_ = -1;
  std::int32_t kept_ = -1;
};

TEST_F(DataPathFaultsTest, FailedWriteTakesItsDirectoryOffline) {
  auto waiting = broker_.send<FetchResponse>(fetch_request(lost_, 1), 12);
  EXPECT_FALSE(waiting.done());
  broker_.faults().arm({.counted = io::FileCall::write, .fail_at = 1});
  EXPECT_EQ(produce(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_TRUE(broker_.faults().has_failed());
  EXPECT_EQ(waiting.get()->responses.at(0).partitions.at(0).error_code, ErrorCode::KAFKA_STORAGE_ERROR);

  EXPECT_EQ(produce(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(produce(lost_, 3), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(fetch(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(fetch(lost_, 6), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(fetch(lost_, 5), ErrorCode::NOT_LEADER_OR_FOLLOWER);
  EXPECT_EQ(produce(kept_), ErrorCode::NONE);
  EXPECT_EQ(fetch(kept_), ErrorCode::NONE);

  auto dirs = broker_.call<protocol::DescribeLogDirsResponse>(protocol::DescribeLogDirsRequest{}, 5);
  ASSERT_EQ(dirs->results.size(), 2u);
  for (const auto& result : dirs->results) {
    EXPECT_EQ(result.error_code, result.log_dir == "/data" ? ErrorCode::KAFKA_STORAGE_ERROR : ErrorCode::NONE);
  }
  // The controller has heard of it by the time it has made another topic.
  broker_.create_topic("later");
  auto image = broker_->image();
  EXPECT_EQ(image->partition({"t", PartitionId{lost_}})->leader, std::nullopt);
  EXPECT_EQ(image->partition({"t", PartitionId{kept_}})->leader, NodeId{1});
  EXPECT_EQ(fetch(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_TRUE(broker_->partitions().find("later", PartitionId{0})->log()->directory().starts_with("/meta"));
}

TEST_F(DataPathFaultsTest, FullDiskIsAFailure) {
  broker_.faults().arm({.counted = io::FileCall::write, .fail_at = 1, .sys_errno = 28});
  EXPECT_EQ(produce(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(fetch(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
}

TEST_F(DataPathFaultsTest, WhatWasAcknowledgedIsThereWhenTheDiskIsBack) {
  broker_.faults().arm({.counted = io::FileCall::write, .fail_at = 1});
  EXPECT_EQ(produce(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
  broker_.faults().disarm();
  broker_.restart();
  EXPECT_EQ(fetch(lost_), ErrorCode::NONE);
  EXPECT_EQ(broker_->partitions().find("t", PartitionId{lost_})->log()->log_end_offset().value, 1);
  EXPECT_EQ(produce(lost_), ErrorCode::NONE);
}

}  // namespace
}  // namespace cordwood::broker
