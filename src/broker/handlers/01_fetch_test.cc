// Every row of what Apache Kafka 4.4.0 answers to fetches: limits, odd values, waiting, sessions.
#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "broker/fetch_session.h"
#include "broker/handlers/parked_fetches.h"
#include "protocol/messages/delete_records.h"
#include "protocol/messages/delete_topics.h"
#include "protocol/messages/fetch.h"
#include "record/batch.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::FetchRequest;
using protocol::FetchResponse;
using Answered = FetchResponse::Partition;

constexpr std::int16_t kNames = 12;
constexpr std::int16_t kIds = 18;

FetchRequest fetch(std::int64_t offset, const std::string& topic = "t", std::int32_t partition = 0) {
  FetchRequest request;
  request.max_wait_ms = 500;
  request.min_bytes = 1;
  auto& entry = request.topics.emplace_back();
  entry.topic = topic;
  auto& asked = entry.partitions.emplace_back();
  asked.partition = partition;
  asked.fetch_offset = offset;
  asked.partition_max_bytes = 1 << 20;
  return request;
}

FetchRequest at_once(FetchRequest request) {
  request.max_wait_ms = 0;
  return request;
}

std::vector<record::BatchHeader> batches(BytesView bytes) {
  std::vector<record::BatchHeader> headers;
  while (!bytes.empty()) {
    auto batch = record::BatchView::parse(bytes);
    if (!batch) fail_test(batch.error().message());
    headers.push_back(batch->header());
    bytes = bytes.subspan(batch->bytes().size());
  }
  return headers;
}

class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    broker_.create_topic("t", 3);
  }
  // Six records in three batches, each as large as the others.
  void fill() {
    for (int i = 0; i < 3; ++i) broker_.produce("t", 0, {"value-1", "value-2"});
    batch_size_ = log()->size().value / 3;
  }
  std::shared_ptr<storage::PartitionLog> log(std::int32_t partition = 0) {
    return broker_->partitions().find("t", PartitionId{partition})->log();
  }
  Answered one(const FetchRequest& request, std::int16_t version = kNames) {
    auto answer = broker_.call<FetchResponse>(request, version);
    EXPECT_EQ(answer->error_code, ErrorCode::NONE);
    EXPECT_EQ(answer->responses.size(), 1u);
    EXPECT_EQ(answer->responses.at(0).partitions.size(), 1u);
    kept_.push_back(answer.bytes);
    return answer->responses[0].partitions[0];
  }
  void expect_error(const Answered& answer, ErrorCode code, bool empty_aborted_list = false) {
    EXPECT_EQ(answer.error_code, code);
    EXPECT_EQ(answer.high_watermark, -1);
    EXPECT_EQ(answer.last_stable_offset, -1);
    EXPECT_EQ(answer.log_start_offset, -1);
    ASSERT_TRUE(answer.records.has_value());
    EXPECT_EQ(answer.records->size(), 0);
    EXPECT_EQ(answer.aborted_transactions.has_value(), empty_aborted_list);
  }

  TestBroker broker_;
  std::int64_t batch_size_ = 0;
  std::vector<std::shared_ptr<ByteVector>> kept_;
};

TEST_F(FetchTest, EveryVersionReadsWhatIsThere) {
  fill();
  for (std::int16_t version = 4; version <= 18; ++version) {
    FetchRequest request = fetch(0);
    request.topics[0].topic_id = broker_.topic_id("t");
    auto answer = broker_.call<FetchResponse>(request, version);
    ASSERT_EQ(answer->responses.size(), 1u) << version;
    const Answered& partition = answer->responses[0].partitions.at(0);
    EXPECT_EQ(partition.error_code, ErrorCode::NONE) << version;
    EXPECT_EQ(partition.high_watermark, 6);
    EXPECT_EQ(partition.last_stable_offset, 6);
    EXPECT_EQ(partition.log_start_offset, version >= 5 ? 0 : -1);
    EXPECT_EQ(partition.aborted_transactions, std::nullopt);
    auto read = batches(partition.records->bytes);
    ASSERT_EQ(read.size(), 3u);
    EXPECT_EQ(read[2].base_offset.value, 4);
    // The payload never was in memory of ours.
    EXPECT_EQ(answer.file_bytes, static_cast<std::size_t>(3 * batch_size_));
  }
}

TEST_F(FetchTest, StartsWithTheBatchThatHoldsTheOffset) {
  fill();
  Answered answer = one(fetch(3));
  auto read = batches(answer.records->bytes);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].base_offset.value, 2);
}

TEST_F(FetchTest, AtTheEndWaitsForMaxWait) {
  fill();
  auto waiting = broker_.send<FetchResponse>(fetch(6), kNames);
  EXPECT_FALSE(waiting.done());
  EXPECT_EQ(broker_->parked_fetches().size(), 1u);
  broker_.advance({499});
  EXPECT_FALSE(waiting.done());
  broker_.advance({1});
  ASSERT_TRUE(waiting.done());
  auto answer = waiting.get();
  EXPECT_EQ(answer->responses.at(0).partitions.at(0).records->size(), 0);
  EXPECT_EQ(answer->responses[0].partitions[0].high_watermark, 6);
  EXPECT_EQ(broker_->parked_fetches().size(), 0u);
}

TEST_F(FetchTest, AnswersAtOnceWhenNothingIsToBeWaitedFor) {
  fill();
  FetchRequest no_minimum = fetch(6);
  no_minimum.min_bytes = 0;
  EXPECT_EQ(one(no_minimum).records->size(), 0);
  EXPECT_EQ(one(at_once(fetch(6))).records->size(), 0);
  FetchRequest negative_wait = fetch(6);
  negative_wait.max_wait_ms = -1;
  EXPECT_EQ(one(negative_wait).records->size(), 0);
  FetchRequest nothing = fetch(0);
  nothing.topics.clear();
  EXPECT_TRUE(broker_.call<FetchResponse>(nothing, kNames)->responses.empty());
}

TEST_F(FetchTest, WakesInTheMomentRecordsArrive) {
  auto waiting = broker_.send<FetchResponse>(fetch(0), kNames);
  EXPECT_FALSE(waiting.done());
  broker_.produce("t", 0, {"a"});
  ASSERT_TRUE(waiting.done());
  auto answer = waiting.get();
  EXPECT_EQ(batches(answer->responses.at(0).partitions.at(0).records->bytes).size(), 1u);
  EXPECT_EQ(answer->responses[0].partitions[0].high_watermark, 1);
}

TEST_F(FetchTest, WaitsForMinBytesOverAllPartitions) {
  FetchRequest request = fetch(0);
  request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  request.topics[0].partitions[1].partition = 1;
  broker_.produce("t", 2, {"value-1", "value-2"});
  auto size = static_cast<std::int32_t>(log(2)->size().value);
  request.min_bytes = 3 * size;
  auto waiting = broker_.send<FetchResponse>(request, kNames);
  broker_.produce("t", 0, {"value-1", "value-2"});
  EXPECT_FALSE(waiting.done());
  broker_.produce("t", 1, {"value-1", "value-2"});
  EXPECT_FALSE(waiting.done());
  broker_.produce("t", 0, {"value-1", "value-2"});
  ASSERT_TRUE(waiting.done());
  auto answer = waiting.get();
  ASSERT_EQ(answer->responses.at(0).partitions.size(), 2u);
  EXPECT_EQ(answer->responses[0].partitions[0].records->size(), 2 * size);
  EXPECT_EQ(answer->responses[0].partitions[1].records->size(), size);
}

TEST_F(FetchTest, AtMaxWaitAnswersWithLessThanMinBytes) {
  fill();
  FetchRequest request = fetch(4);
  request.min_bytes = 100'000;
  auto waiting = broker_.send<FetchResponse>(request, kNames);
  EXPECT_FALSE(waiting.done());
  broker_.advance({500});
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.get()->responses.at(0).partitions.at(0).records->size(), batch_size_);
}

TEST_F(FetchTest, MinBytesBeyondMaxBytesAreCut) {
  fill();
  FetchRequest request = fetch(0);
  request.min_bytes = 100'000;
  request.max_bytes = static_cast<std::int32_t>(2 * batch_size_);
  EXPECT_EQ(one(request).records->size(), 2 * batch_size_);
}

TEST_F(FetchTest, OneBadPartitionAnswersTheRest) {
  FetchRequest request = fetch(0);
  auto& other = request.topics.emplace_back();
  other.topic = "nope";
  other.partitions = request.topics[0].partitions;
  auto answer = broker_.call<FetchResponse>(request, kNames);
  ASSERT_EQ(answer->responses.size(), 2u);
  EXPECT_EQ(answer->responses[0].partitions.at(0).error_code, ErrorCode::NONE);
  expect_error(answer->responses[1].partitions.at(0), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, true);
}

TEST_F(FetchTest, OffsetsOutOfRange) {
  fill();
  for (std::int64_t offset : {std::int64_t{7}, std::int64_t{-1}, std::int64_t{-100}, INT64_MAX}) {
    expect_error(one(fetch(offset)), ErrorCode::OFFSET_OUT_OF_RANGE);
  }
  protocol::DeleteRecordsRequest request;
  request.topics.emplace_back().name = "t";
  request.topics[0].partitions.push_back({0, 3});
  broker_.call<protocol::DeleteRecordsResponse>(request, 2);
  expect_error(one(fetch(1)), ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(one(fetch(3)).log_start_offset, 3);
}

TEST_F(FetchTest, UnknownPlaces) {
  expect_error(one(fetch(0, "nope")), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, true);
  expect_error(one(fetch(0, "t", 9)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, true);
  expect_error(one(fetch(0, "t", -1)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, true);
  for (Uuid unknown : {kZeroUuid, Uuid{7, 7}}) {
    FetchRequest request = fetch(0);
    request.topics[0].topic_id = unknown;
    expect_error(one(request, kIds), ErrorCode::UNKNOWN_TOPIC_ID, true);
  }
  FetchRequest ninth = fetch(0, "t", 9);
  ninth.topics[0].topic_id = broker_.topic_id("t");
  expect_error(one(ninth, kIds), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, true);
}

TEST_F(FetchTest, LeaderEpochs) {
  fill();
  std::int32_t epoch = broker_->partitions().find("t", PartitionId{0})->leadership().leader_epoch;
  FetchRequest request = fetch(0);
  request.topics[0].partitions[0].current_leader_epoch = epoch;
  EXPECT_EQ(one(request).error_code, ErrorCode::NONE);
  request.topics[0].partitions[0].current_leader_epoch = epoch + 5;
  expect_error(one(request), ErrorCode::UNKNOWN_LEADER_EPOCH);
  if (epoch == 0) {
    broker_.restart();
    epoch = broker_->partitions().find("t", PartitionId{0})->leadership().leader_epoch;
  }
  ASSERT_GT(epoch, 0);
  request.topics[0].partitions[0].current_leader_epoch = epoch - 1;
  expect_error(one(request), ErrorCode::FENCED_LEADER_EPOCH);
  // From v16 on the client is told who leads.
  request.topics[0].topic_id = broker_.topic_id("t");
  auto hinted = broker_.call<FetchResponse>(request, 16);
  EXPECT_EQ(hinted->responses.at(0).partitions.at(0).current_leader.leader_id, 1);
  EXPECT_EQ(hinted->responses[0].partitions[0].current_leader.leader_epoch, epoch);
  ASSERT_EQ(hinted->node_endpoints.size(), 1u);
  EXPECT_EQ(hinted->node_endpoints[0].node_id, 1);
  EXPECT_EQ(hinted->node_endpoints[0].host, "127.0.0.1");
  EXPECT_EQ(hinted->node_endpoints[0].port, 9092);
  auto without = broker_.call<FetchResponse>(request, 15);
  EXPECT_EQ(without->responses.at(0).partitions.at(0).current_leader.leader_id, -1);
  EXPECT_TRUE(without->node_endpoints.empty());
}

TEST_F(FetchTest, DivergingEpochs) {
  fill();
  std::int32_t epoch = broker_->partitions().find("t", PartitionId{0})->leadership().leader_epoch;
  FetchRequest request = at_once(fetch(3));
  request.topics[0].partitions[0].last_fetched_epoch = epoch;
  Answered same = one(request);
  EXPECT_EQ(same.error_code, ErrorCode::NONE);
  EXPECT_EQ(same.diverging_epoch.epoch, -1);
  EXPECT_GT(same.records->size(), 0);

  request = fetch(40);
  request.topics[0].partitions[0].last_fetched_epoch = epoch;
  Answered beyond = one(request);
  EXPECT_EQ(beyond.error_code, ErrorCode::NONE);
  EXPECT_EQ(beyond.diverging_epoch.epoch, epoch);
  EXPECT_EQ(beyond.diverging_epoch.end_offset, 6);
  EXPECT_EQ(beyond.records->size(), 0);
  EXPECT_EQ(beyond.high_watermark, 6);

  request.topics[0].partitions[0].last_fetched_epoch = epoch + 5;
  expect_error(one(request), ErrorCode::OFFSET_OUT_OF_RANGE);
}

TEST_F(FetchTest, SizeLimits) {
  fill();
  for (std::int32_t limit : {0, 1, static_cast<std::int32_t>(batch_size_ - 1), static_cast<std::int32_t>(batch_size_)}) {
    FetchRequest by_partition = fetch(0);
    by_partition.topics[0].partitions[0].partition_max_bytes = limit;
    EXPECT_EQ(one(by_partition).records->size(), batch_size_) << limit;
    FetchRequest by_request = fetch(0);
    by_request.max_bytes = limit;
    EXPECT_EQ(one(by_request).records->size(), batch_size_) << limit;
  }
  // Whole batches only: Kafka sends a cut one behind the first.
  FetchRequest between = fetch(0);
  between.topics[0].partitions[0].partition_max_bytes = static_cast<std::int32_t>(2 * batch_size_ + 10);
  EXPECT_EQ(one(between).records->size(), 2 * batch_size_);
  FetchRequest negative = fetch(0);
  negative.topics[0].partitions[0].partition_max_bytes = -1;
  expect_error(one(negative), ErrorCode::UNKNOWN_SERVER_ERROR);
}

TEST_F(FetchTest, OnlyTheFirstPartitionMayExceedTheLimit) {
  fill();
  broker_.produce("t", 1, {"value-1", "value-2"});
  FetchRequest request = fetch(0);
  request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  request.topics[0].partitions[1].partition = 1;
  request.max_bytes = 10;
  auto answer = broker_.call<FetchResponse>(request, kNames);
  ASSERT_EQ(answer->responses.at(0).partitions.size(), 2u);
  EXPECT_EQ(answer->responses[0].partitions[0].records->size(), batch_size_);
  EXPECT_EQ(answer->responses[0].partitions[1].records->size(), 0);
  EXPECT_EQ(answer->responses[0].partitions[1].high_watermark, 2);
}

TEST_F(FetchTest, IsolationLevels) {
  fill();
  FetchRequest request = fetch(0);
  request.isolation_level = 1;
  Answered committed = one(request);
  ASSERT_TRUE(committed.aborted_transactions.has_value());
  EXPECT_TRUE(committed.aborted_transactions->empty());
  EXPECT_EQ(committed.records->size(), 3 * batch_size_);
  for (std::int8_t odd : {5, -1}) {
    request.isolation_level = odd;
    auto answer = broker_.call<FetchResponse>(request, kNames);
    EXPECT_EQ(answer->error_code, ErrorCode::UNKNOWN_SERVER_ERROR);
    expect_error(answer->responses.at(0).partitions.at(0), ErrorCode::UNKNOWN_SERVER_ERROR);
  }
}

TEST_F(FetchTest, Replicas) {
  fill();
  for (std::int16_t version : {12, 15, 18}) {
    FetchRequest request = fetch(0);
    request.topics[0].topic_id = broker_.topic_id("t");
    auto as = [&](std::int32_t id) {
      request.replica_id = id;
      request.replica_state.replica_id = id;
      return one(request, version);
    };
    EXPECT_EQ(as(-2).records->size(), 3 * batch_size_);
    expect_error(as(1), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    expect_error(as(5), ErrorCode::NOT_LEADER_OR_FOLLOWER);
  }
}

TEST_F(FetchTest, WrongClusterIdIsIgnored) {
  fill();
  FetchRequest request = fetch(0);
  request.cluster_id = "somebody else's";
  EXPECT_EQ(one(request).error_code, ErrorCode::NONE);
}

TEST_F(FetchTest, SamePartitionTwiceCountsTheLast) {
  fill();
  FetchRequest request = fetch(0);
  request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  request.topics[0].partitions[1].fetch_offset = 4;
  Answered answer = one(request);
  EXPECT_EQ(batches(answer.records->bytes).size(), 1u);
}

TEST_F(FetchTest, DeletedTopicAnswersWhatWaits) {
  auto waiting = broker_.send<FetchResponse>(fetch(0), kNames);
  EXPECT_FALSE(waiting.done());
  protocol::DeleteTopicsRequest request;
  request.topic_names = {"t"};
  request.timeout_ms = 1000;
  broker_.call<protocol::DeleteTopicsResponse>(request, 5);
  auto answer = waiting.get();
  expect_error(answer->responses.at(0).partitions.at(0), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, true);
}

TEST_F(FetchTest, DisconnectedPeersFetchesAreDropped) {
  auto other = broker_.connect();
  auto waiting = broker_.send<FetchResponse>(fetch(0), kNames, other);
  auto mine = broker_.send<FetchResponse>(fetch(0), kNames);
  EXPECT_EQ(broker_->parked_fetches().size(), 2u);
  broker_.disconnect(other);
  EXPECT_EQ(broker_->parked_fetches().size(), 1u);
  EXPECT_EQ(waiting.outcome().kind, TestOutcome::Kind::closed);
  broker_.produce("t", 0, {"a"});
  EXPECT_EQ(mine.get()->responses.at(0).partitions.at(0).high_watermark, 1);
}

TEST_F(FetchTest, ShutDownAnswersWhatWaits) {
  auto waiting = broker_.send<FetchResponse>(fetch(0), kNames);
  EXPECT_FALSE(waiting.done());
  broker_.restart();
  EXPECT_TRUE(waiting.done());
}

TEST_F(FetchTest, DataOfAClosedSegmentIsSentAtOnce) {
  broker_.create_topic("small", 1, {{"segment.bytes", "1048576"}});
  std::string big(400'000, 'x');
  for (int i = 0; i < 4; ++i) broker_.produce("small", 0, {big});
  ASSERT_GT(broker_->partitions().find("small", PartitionId{0})->log()->segments().size(), 1u);
  FetchRequest request = fetch(1, "small");
  request.min_bytes = 50'000'000;
  EXPECT_GT(one(request).records->size(), 400'000);
}

// --- sessions ---

class FetchSessionsTest : public FetchTest {
 protected:
  FetchSessionsTest() { fill(); }

  FetchRequest in_session(std::int32_t id, std::int32_t epoch) {
    FetchRequest request;
    request.max_wait_ms = 0;
    request.min_bytes = 1;
    request.session_id = id;
    request.session_epoch = epoch;
    return request;
  }
  FetchRequest full(std::int64_t offset, std::int32_t id = 0, std::int32_t epoch = 0) {
    FetchRequest request = at_once(fetch(offset));
    request.session_id = id;
    request.session_epoch = epoch;
    return request;
  }
  TestAnswer<FetchResponse> call(const FetchRequest& request, std::int16_t version = kNames) {
    return broker_.call<FetchResponse>(request, version);
  }
  std::int32_t open(std::int64_t offset = 6) { return call(full(offset))->session_id; }
  void expect_refused(const TestAnswer<FetchResponse>& answer, ErrorCode code) {
    EXPECT_EQ(answer->error_code, code);
    EXPECT_EQ(answer->session_id, 0);
    EXPECT_TRUE(answer->responses.empty());
  }
};

TEST_F(FetchSessionsTest, OnlyChangesAreTold) {
  std::int32_t id = open();
  EXPECT_GT(id, 0);
  auto nothing = call(in_session(id, 1));
  EXPECT_EQ(nothing->session_id, id);
  EXPECT_TRUE(nothing->responses.empty());
  broker_.produce("t", 0, {"a"});
  for (std::int32_t epoch : {2, 3}) {
    // The offset was not moved on, so the same data comes again.
    auto changed = call(in_session(id, epoch));
    ASSERT_EQ(changed->responses.size(), 1u);
    EXPECT_GT(changed->responses[0].partitions.at(0).records->size(), 0);
  }
  FetchRequest moved = in_session(id, 4);
  moved.topics = fetch(7).topics;
  EXPECT_TRUE(call(moved)->responses.empty());
}

TEST_F(FetchSessionsTest, WaitsWhenNothingChanged) {
  std::int32_t id = open();
  FetchRequest request = in_session(id, 1);
  request.max_wait_ms = 300;
  auto waiting = broker_.send<FetchResponse>(request, kNames);
  EXPECT_FALSE(waiting.done());
  broker_.advance({300});
  ASSERT_TRUE(waiting.done());
  EXPECT_TRUE(waiting.get()->responses.empty());

  request.session_epoch = 2;
  auto woken = broker_.send<FetchResponse>(request, kNames);
  broker_.produce("t", 0, {"a"});
  EXPECT_EQ(woken.get()->responses.size(), 1u);
}

TEST_F(FetchSessionsTest, ErrorsAreToldAgain) {
  FetchRequest request = full(0);
  request.topics[0].partitions[0].partition = 9;
  std::int32_t id = call(request)->session_id;
  for (std::int32_t epoch : {1, 2}) {
    auto answer = call(in_session(id, epoch));
    ASSERT_EQ(answer->responses.size(), 1u);
    EXPECT_EQ(answer->responses[0].partitions.at(0).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  }
}

TEST_F(FetchSessionsTest, WrongEpochsAndIds) {
  std::int32_t id = open();
  call(in_session(id, 1));
  expect_refused(call(in_session(id, 1)), ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  expect_refused(call(in_session(id, 5)), ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(call(in_session(id, 2))->session_id, id);
  expect_refused(call(in_session(id + 1, 3)), ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  expect_refused(call(in_session(0, 5)), ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_GT(call(full(6, id + 1, 0))->session_id, 0);
  EXPECT_EQ(call(full(6, id + 1, -1))->session_id, 0);
  expect_refused(call(in_session(id, 3), kIds), ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
}

TEST_F(FetchSessionsTest, Closing) {
  std::int32_t id = open();
  auto last = call(full(0, id, -1));
  EXPECT_EQ(last->session_id, 0);
  EXPECT_EQ(last->responses.size(), 1u);
  expect_refused(call(in_session(id, 1)), ErrorCode::FETCH_SESSION_ID_NOT_FOUND);

  id = open();
  std::int32_t renewed = call(full(6, id, 0))->session_id;
  EXPECT_NE(renewed, id);
  expect_refused(call(in_session(id, 1)), ErrorCode::FETCH_SESSION_ID_NOT_FOUND);

  FetchRequest forget = in_session(renewed, 1);
  forget.forgotten_topics_data.push_back({"unknown", {}, {0}});
  EXPECT_EQ(call(forget)->session_id, renewed);
  forget.session_epoch = 2;
  forget.forgotten_topics_data.push_back({"t", {}, {0}});
  auto over = call(forget);
  EXPECT_EQ(over->error_code, ErrorCode::NONE);
  EXPECT_EQ(over->session_id, 0);
  expect_refused(call(in_session(renewed, 3)), ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
}

TEST_F(FetchSessionsTest, ByTopicId) {
  FetchRequest request = full(6);
  request.topics[0].topic_id = broker_.topic_id("t");
  std::int32_t id = call(request, kIds)->session_id;
  broker_.produce("t", 0, {"a"});
  auto answer = call(in_session(id, 1), kIds);
  ASSERT_EQ(answer->responses.size(), 1u);
  EXPECT_EQ(answer->responses[0].topic_id, broker_.topic_id("t"));
}

TEST_F(FetchSessionsTest, PartitionsTakeTurns) {
  broker_.produce("t", 1, {"value-1", "value-2"});
  FetchRequest request = full(0);
  request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  request.topics[0].partitions[1].partition = 1;
  request.max_bytes = 1;
  std::int32_t id = call(request)->session_id;
  std::vector<std::int32_t> served;
  for (std::int32_t epoch = 1; epoch <= 4; ++epoch) {
    FetchRequest next = in_session(id, epoch);
    next.max_bytes = 1;
    auto answer = call(next);
    for (const auto& topic : answer->responses) {
      for (const auto& partition : topic.partitions) {
        if (partition.records->size() > 0) served.push_back(partition.partition_index);
      }
    }
  }
  EXPECT_EQ(served, (std::vector<std::int32_t>{0, 1, 0, 1}));
}

}  // namespace
}  // namespace cordwood::broker
