#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "protocol/messages/init_producer_id.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::InitProducerIdRequest;
using protocol::InitProducerIdResponse;

class InitProducerIdTest : public ::testing::Test {
 protected:
  InitProducerIdResponse call(const InitProducerIdRequest& request, std::int16_t version = 5) {
    return broker_.call<InitProducerIdResponse>(request, version).message;
  }
  TestBroker broker_;
};

TEST_F(InitProducerIdTest, IdsCountUpFromZero) {
  for (std::int16_t version = 0; version <= 5; ++version) {
    InitProducerIdRequest request;
    request.transaction_timeout_ms = -5;
    auto answer = call(request, version);
    EXPECT_EQ(answer.error_code, ErrorCode::NONE);
    EXPECT_EQ(answer.producer_id, version);
    EXPECT_EQ(answer.producer_epoch, 0);
  }
}

TEST_F(InitProducerIdTest, OldIdIsIgnoredAndHalfOfOneRefused) {
  InitProducerIdRequest request;
  request.producer_id = 77;
  request.producer_epoch = 3;
  auto answer = call(request);
  EXPECT_EQ(answer.error_code, ErrorCode::NONE);
  EXPECT_EQ(answer.producer_id, 0);
  request.producer_epoch = -1;
  EXPECT_EQ(call(request).error_code, ErrorCode::INVALID_REQUEST);
  request = {};
  request.producer_epoch = 3;
  EXPECT_EQ(call(request).error_code, ErrorCode::INVALID_REQUEST);
}

TEST_F(InitProducerIdTest, TransactionalIds) {
  InitProducerIdRequest request;
  request.transaction_timeout_ms = 60'000;
  request.transactional_id = "";
  EXPECT_EQ(call(request).error_code, ErrorCode::INVALID_REQUEST);
  request.transactional_id = "tx";
  auto answer = call(request);
  EXPECT_EQ(answer.error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
  EXPECT_EQ(answer.producer_id, -1);
  EXPECT_EQ(answer.producer_epoch, -1);
}

TEST_F(InitProducerIdTest, NoIdIsGivenTwiceAcrossStops) {
  EXPECT_EQ(call({}).producer_id, 0);
  broker_.restart();
  EXPECT_EQ(call({}).producer_id, 1000);
  broker_.crash();
  EXPECT_EQ(call({}).producer_id, 2000);
}

TEST_F(InitProducerIdTest, MoreThanABlock) {
  for (std::int64_t id = 0; id < 2100; ++id) ASSERT_EQ(call({}).producer_id, id);
}

}  // namespace
}  // namespace cordwood::broker
