// What Apache Kafka 4.4.0 answers to ListOffsets, OffsetForLeaderEpoch and DeleteRecords, row by row, on a log of three
// batches with record times T, T+10 / T+3000, T+3010 / T+1000, T+1010.
#include <gtest/gtest.h>

#include <tuple>

#include "broker/broker_testing.h"
#include "protocol/messages/delete_records.h"
#include "protocol/messages/list_offsets.h"
#include "protocol/messages/offset_for_leader_epoch.h"
#include "protocol/messages/produce.h"
#include "record/builder.h"

namespace cordwood::broker {
namespace {

using protocol::DeleteRecordsRequest;
using protocol::DeleteRecordsResponse;
using protocol::ErrorCode;
using protocol::ListOffsetsRequest;
using protocol::ListOffsetsResponse;
using protocol::OffsetForLeaderEpochRequest;
using protocol::OffsetForLeaderEpochResponse;

// Timestamp, offset, leader epoch relative to the present one (an answer without epoch has kNone).
constexpr std::int32_t kNone = -1000;
using Found = std::tuple<std::int64_t, std::int64_t, std::int32_t>;
const Found kNothing{-1, -1, kNone};

class LookUpTest : public ::testing::Test {
 protected:
  LookUpTest() {
    for (const char* topic : {"log", "empty"}) broker_.create_topic(topic);
    append({0, 10});
    append({3000, 3010});
    append({1000, 1010});
  }
  void append(std::initializer_list<std::int64_t> times) {
    record::BatchBuilder builder{record::BatchOptions{}};
    for (std::int64_t time : times) builder.add(TimestampMs{kT + time}, {}, as_bytes("v"));
    ByteVector batch = builder.build();
    protocol::ProduceRequest request;
    request.acks = 1;
    auto& topic = request.topic_data.emplace_back();
    topic.name = "log";
    topic.partition_data.push_back({0, protocol::Records{batch, {}}});
    auto answer = broker_.call<protocol::ProduceResponse>(request, 12);
    ASSERT_EQ(answer->responses.at(0).partition_responses.at(0).error_code, ErrorCode::NONE);
  }
  std::int32_t epoch(const std::string& topic = "log") {
    return broker_->partitions().find(topic, PartitionId{0})->leadership().leader_epoch;
  }

  ListOffsetsResponse::Partition list(const std::string& topic, std::int64_t timestamp, std::int16_t version = 11,
                                      std::int8_t isolation = 0, std::int32_t current_epoch = -1,
                                      std::int32_t replica = -1, std::int32_t partition = 0) {
    ListOffsetsRequest request;
    request.replica_id = replica;
    request.isolation_level = isolation;
    request.topics.emplace_back().name = topic;
    request.topics[0].partitions.push_back({partition, current_epoch, timestamp});
    auto answer = broker_.call<ListOffsetsResponse>(request, version);
    EXPECT_EQ(answer->topics.size(), 1u);
    EXPECT_EQ(answer->topics.at(0).partitions.size(), 1u);
    return answer->topics[0].partitions[0];
  }
  Found find(const std::string& topic, std::int64_t timestamp, std::int16_t version = 11) {
    auto answer = list(topic, timestamp, version);
    EXPECT_EQ(answer.error_code, ErrorCode::NONE);
    return {answer.timestamp, answer.offset, answer.leader_epoch < 0 ? kNone : answer.leader_epoch - epoch(topic)};
  }
  ErrorCode error(const std::string& topic, std::int64_t timestamp, std::int16_t version = 11) {
    auto answer = list(topic, timestamp, version);
    EXPECT_EQ(answer.offset, -1);
    EXPECT_EQ(answer.timestamp, -1);
    return answer.error_code;
  }

  std::pair<ErrorCode, std::int64_t> delete_records(const std::string& topic, std::int64_t offset,
                                                    std::int32_t partition = 0, std::int32_t timeout_ms = 1000) {
    DeleteRecordsRequest request;
    request.timeout_ms = timeout_ms;
    request.topics.emplace_back().name = topic;
    request.topics[0].partitions.push_back({partition, offset});
    auto answer = broker_.call<DeleteRecordsResponse>(request, 2);
    const auto& result = answer->topics.at(0).partitions.at(0);
    return {result.error_code, result.low_watermark};
  }

  static constexpr std::int64_t kT = 1'700'000'000'000 - 10'000;
  TestBroker broker_;
};

TEST_F(LookUpTest, Timestamps) {
  struct Row {
    std::int64_t timestamp;
    Found log;
    Found empty;
  };
  for (const Row& row : std::vector<Row>{
           {-1, {-1, 6, 0}, {-1, 0, 0}},
           {-2, {-1, 0, 0}, {-1, 0, 0}},
           {-3, {kT + 3010, 3, 0}, kNothing},
           {-4, {-1, 0, 0}, {-1, 0, 0}},
           {-5, kNothing, kNothing},
           {-6, kNothing, kNothing},
           {0, {kT, 0, 0}, kNothing},
           {kT, {kT, 0, 0}, kNothing},
           {kT + 1, {kT + 10, 1, 0}, kNothing},
           {kT + 500, {kT + 3000, 2, 0}, kNothing},
           {kT + 3011, kNothing, kNothing},
       }) {
    EXPECT_EQ(find("log", row.timestamp), row.log) << row.timestamp;
    EXPECT_EQ(find("empty", row.timestamp), row.empty) << row.timestamp;
  }
}

TEST_F(LookUpTest, AfterDeleteRecordsToTheEnd) {
  EXPECT_EQ(delete_records("log", -1), std::pair(ErrorCode::NONE, std::int64_t{6}));
  EXPECT_EQ(find("log", -1), Found(-1, 6, 0));
  EXPECT_EQ(find("log", -2), Found(-1, 6, 0));
  // Below the log start: the search looks at segments only.
  EXPECT_EQ(find("log", -3), Found(kT + 3010, 3, 0));
  EXPECT_EQ(find("log", kT), kNothing);
}

TEST_F(LookUpTest, SpecialTimestampsHaveTheirVersions) {
  for (std::int64_t timestamp : {-7, -100}) EXPECT_EQ(error("log", timestamp), ErrorCode::UNSUPPORTED_VERSION);
  struct Row {
    std::int64_t timestamp;
    std::int16_t from;
  };
  for (const Row& row : std::vector<Row>{{-3, 7}, {-4, 8}, {-5, 9}, {-6, 11}}) {
    for (std::int16_t version = 1; version <= 11; ++version) {
      EXPECT_EQ(list("log", row.timestamp, version).error_code,
                version >= row.from ? ErrorCode::NONE : ErrorCode::UNSUPPORTED_VERSION)
          << row.timestamp << " v" << version;
    }
  }
}

TEST_F(LookUpTest, EveryVersionFindsTheEnds) {
  for (std::int16_t version = 1; version <= 11; ++version) {
    EXPECT_EQ(list("log", -1, version).offset, 6) << version;
    EXPECT_EQ(list("log", -1, version, 1).offset, 6) << version;
    EXPECT_EQ(list("log", -2, version).offset, 0) << version;
  }
}

TEST_F(LookUpTest, OddRequests) {
  EXPECT_EQ(list("log", -1, 11, 0, epoch() + 1).error_code, ErrorCode::UNKNOWN_LEADER_EPOCH);
  EXPECT_EQ(list("log", -1, 11, 0, epoch()).error_code, ErrorCode::NONE);
  EXPECT_EQ(error("nope", -1), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(error("not a name!", -1), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(list("log", -1, 11, 0, -1, -1, 9).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(error("nope", -100), ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(list("log", -1, 11, 5).error_code, ErrorCode::UNKNOWN_SERVER_ERROR);
  for (std::int32_t replica : {1, 7, -2}) EXPECT_EQ(list("log", -1, 11, 0, -1, replica).offset, 6) << replica;
}

TEST_F(LookUpTest, SamePartitionTwiceIsRefusedOnce) {
  ListOffsetsRequest request;
  request.replica_id = -1;
  request.topics.emplace_back().name = "log";
  request.topics[0].partitions = {{0, -1, -1}, {0, -1, -2}};
  auto within = broker_.call<ListOffsetsResponse>(request, 11);
  ASSERT_EQ(within->topics.size(), 1u);
  ASSERT_EQ(within->topics[0].partitions.size(), 1u);
  EXPECT_EQ(within->topics[0].partitions[0].error_code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(within->topics[0].partitions[0].offset, -1);

  request.topics[0].partitions.pop_back();
  request.topics.push_back(request.topics[0]);
  auto twice = broker_.call<ListOffsetsResponse>(request, 11);
  ASSERT_EQ(twice->topics.size(), 1u);
  ASSERT_EQ(twice->topics[0].partitions.size(), 1u);
  EXPECT_EQ(twice->topics[0].partitions[0].error_code, ErrorCode::INVALID_REQUEST);
}

TEST_F(LookUpTest, OffsetForLeaderEpoch) {
  auto ask = [&](const std::string& topic, std::int32_t asked, std::int32_t current = -1, std::int16_t version = 4) {
    OffsetForLeaderEpochRequest request;
    request.topics.emplace_back().topic = topic;
    request.topics[0].partitions.push_back({0, current, asked});
    auto answer = broker_.call<OffsetForLeaderEpochResponse>(request, version);
    const auto& result = answer->topics.at(0).partitions.at(0);
    return std::tuple(result.error_code, result.leader_epoch, result.end_offset);
  };
  std::int32_t now = epoch();
  for (std::int16_t version = 2; version <= 4; ++version) {
    EXPECT_EQ(ask("log", now, -1, version), std::tuple(ErrorCode::NONE, now, 6));
  }
  EXPECT_EQ(ask("log", -1), std::tuple(ErrorCode::NONE, -1, -1));
  EXPECT_EQ(ask("log", now + 5), std::tuple(ErrorCode::NONE, -1, -1));
  EXPECT_EQ(ask("empty", epoch("empty")), std::tuple(ErrorCode::NONE, epoch("empty"), 0));
  EXPECT_EQ(ask("log", now, now + 4), std::tuple(ErrorCode::UNKNOWN_LEADER_EPOCH, -1, -1));
  EXPECT_EQ(ask("nope", 0), std::tuple(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1, -1));

  // A restart elects anew: the old epoch ends where the new one begins.
  broker_.restart();
  ASSERT_GT(epoch(), now);
  append({5000});
  EXPECT_EQ(ask("log", now), std::tuple(ErrorCode::NONE, now, 6));
  EXPECT_EQ(ask("log", epoch()), std::tuple(ErrorCode::NONE, epoch(), 7));
  EXPECT_EQ(ask("log", epoch(), now), std::tuple(ErrorCode::FENCED_LEADER_EPOCH, -1, -1));
}

TEST_F(LookUpTest, DeleteRecords) {
  using Answer = std::pair<ErrorCode, std::int64_t>;
  EXPECT_EQ(delete_records("log", 0), Answer(ErrorCode::NONE, 0));
  EXPECT_EQ(delete_records("log", 2), Answer(ErrorCode::NONE, 2));
  EXPECT_EQ(delete_records("log", 1), Answer(ErrorCode::NONE, 2));
  EXPECT_EQ(delete_records("log", 7), Answer(ErrorCode::OFFSET_OUT_OF_RANGE, -1));
  EXPECT_EQ(delete_records("log", -2), Answer(ErrorCode::OFFSET_OUT_OF_RANGE, -1));
  EXPECT_EQ(delete_records("log", 3, 0, 0), Answer(ErrorCode::NONE, 3));
  EXPECT_EQ(delete_records("log", 4, 0, -1), Answer(ErrorCode::NONE, 4));
  EXPECT_EQ(delete_records("log", -1), Answer(ErrorCode::NONE, 6));
  EXPECT_EQ(delete_records("nope", 0), Answer(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1));
  EXPECT_EQ(delete_records("log", 0, 9), Answer(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1));
  EXPECT_EQ(delete_records("empty", -1), Answer(ErrorCode::NONE, 0));
  EXPECT_EQ(delete_records("empty", 0), Answer(ErrorCode::NONE, 0));
  EXPECT_EQ(delete_records("empty", 1), Answer(ErrorCode::OFFSET_OUT_OF_RANGE, -1));
  broker_.create_topic("compacted", 1, {{"cleanup.policy", "compact"}});
  broker_.create_topic("both", 1, {{"cleanup.policy", "compact,delete"}});
  broker_.create_topic("__consumer_offsets");
  // The policy is looked at before the offset.
  EXPECT_EQ(delete_records("compacted", 9), Answer(ErrorCode::POLICY_VIOLATION, -1));
  EXPECT_EQ(delete_records("both", 0), Answer(ErrorCode::NONE, 0));
  EXPECT_EQ(delete_records("__consumer_offsets", 0), Answer(ErrorCode::INVALID_TOPIC_EXCEPTION, -1));
}

TEST_F(LookUpTest, DeleteRecordsOfOnePartitionTwiceCountsTheLast) {
  DeleteRecordsRequest request;
  request.topics.emplace_back().name = "log";
  request.topics[0].partitions = {{0, 4}, {0, 2}};
  auto answer = broker_.call<DeleteRecordsResponse>(request, 2);
  ASSERT_EQ(answer->topics.size(), 1u);
  ASSERT_EQ(answer->topics[0].partitions.size(), 1u);
  EXPECT_EQ(answer->topics[0].partitions[0].low_watermark, 2);
}

TEST_F(LookUpTest, DeletedRecordsStayDeletedAfterARestart) {
  delete_records("log", 3);
  broker_.restart();
  EXPECT_EQ(std::get<1>(find("log", -2)), 3);
}

}  // namespace
}  // namespace cordwood::broker
