#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "protocol/messages/describe_log_dirs.h"

namespace cordwood::broker {
namespace {

using protocol::DescribeLogDirsRequest;
using protocol::DescribeLogDirsResponse;
using protocol::ErrorCode;

class DescribeLogDirsTest : public ::testing::Test {
 protected:
  DescribeLogDirsTest() {
    broker_.create_topic("b", 2);
    broker_.create_topic("a");
    broker_.produce("b", 1, {"value"});
  }
  DescribeLogDirsResponse::Result call(const DescribeLogDirsRequest& request, std::int16_t version = 5) {
    auto answer = broker_.call<DescribeLogDirsResponse>(request, version);
    EXPECT_EQ(answer->error_code, ErrorCode::NONE);
    EXPECT_EQ(answer->results.size(), 1u);
    return answer->results.at(0);
  }
  TestBroker broker_;
};

TEST_F(DescribeLogDirsTest, NullAsksForAll) {
  broker_.files().set_space({.total = {1000}, .available = {400}});
  for (std::int16_t version = 1; version <= 5; ++version) {
    auto result = call({}, version);
    EXPECT_EQ(result.log_dir, "/data");
    ASSERT_EQ(result.topics.size(), 2u) << version;
    EXPECT_EQ(result.topics[0].name, "a");
    ASSERT_EQ(result.topics[1].partitions.size(), 2u);
    EXPECT_EQ(result.topics[1].partitions[0].partition_size, 0);
    EXPECT_EQ(result.topics[1].partitions[1].partition_index, 1);
    EXPECT_EQ(result.topics[1].partitions[1].partition_size,
              broker_->partitions().find("b", PartitionId{1})->log()->size().value);
    EXPECT_GT(result.topics[1].partitions[1].partition_size, 0);
    EXPECT_EQ(result.topics[1].partitions[1].offset_lag, 0);
    EXPECT_FALSE(result.topics[1].partitions[1].is_future_key);
    EXPECT_EQ(result.total_bytes, version >= 4 ? 1000 : -1);
    EXPECT_EQ(result.usable_bytes, version >= 4 ? 400 : -1);
    EXPECT_FALSE(result.is_cordoned);
  }
}

TEST_F(DescribeLogDirsTest, OnlyWhatIsAskedForAndHere) {
  DescribeLogDirsRequest request;
  request.topics.emplace();
  EXPECT_TRUE(call(request).topics.empty());
  request.topics->push_back({"nope", {0}});
  request.topics->push_back({"b", {1, 9}});
  auto result = call(request);
  ASSERT_EQ(result.topics.size(), 1u);
  EXPECT_EQ(result.topics[0].name, "b");
  ASSERT_EQ(result.topics[0].partitions.size(), 1u);
  EXPECT_EQ(result.topics[0].partitions[0].partition_index, 1);
}

}  // namespace
}  // namespace cordwood::broker
