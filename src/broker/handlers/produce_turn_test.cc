// Produces of one turn of a loop: written together, answered as if each had come alone.
#include "broker/handlers/produce_turn.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "broker/broker_testing.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/list_offsets.h"
#include "protocol/messages/produce.h"
#include "record/batch.h"
#include "record/builder.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::FetchRequest;
using protocol::FetchResponse;
using protocol::ListOffsetsRequest;
using protocol::ListOffsetsResponse;
using protocol::ProduceRequest;
using protocol::ProduceResponse;
using Answered = ProduceResponse::Partition;

constexpr std::int16_t kVersion = 12;

class ProduceTurnTest : public ::testing::Test {
 protected:
  ProduceTurnTest() {
    broker_.create_topic("t", 2);
    broker_.produce("t", 0, {"first"});
    broker_.produce("t", 1, {"first"});
  }

  static ByteVector batch(int records = 1, std::size_t value_size = 5, std::optional<std::int32_t> sequence = {}) {
    record::BatchOptions options;
    if (sequence) {
      options.producer_id = 7;
      options.producer_epoch = 0;
      options.base_sequence = *sequence;
    }
    record::BatchBuilder builder(options);
    const std::string value(value_size, 'v');
    for (int i = 0; i < records; ++i) builder.add(TimestampMs{1'700'000'000'000}, {}, as_bytes(value));
    return builder.build();
  }
  // The batches to partitions 0, 1, ... of one request.
  Waiting<ProduceResponse> send(const std::vector<ByteVector>& batches, std::int16_t acks = 1, std::int32_t first_partition = 0,
                                std::shared_ptr<TestConnection> on = nullptr) {
    ProduceRequest request;
    request.acks = acks;
    auto& topic = request.topic_data.emplace_back();
    topic.name = "t";
    for (std::size_t i = 0; i < batches.size(); ++i) {
      auto& partition = topic.partition_data.emplace_back();
      partition.index = first_partition + static_cast<std::int32_t>(i);
      partition.records = protocol::Records{batches[i], {}};
    }
    return broker_.send<ProduceResponse>(request, kVersion, on ? on : broker_.connect());
  }
  static Answered first_of(Waiting<ProduceResponse>& waiting) {
    return waiting.get()->responses.at(0).partition_responses.at(0);
  }
  FetchRequest fetch_from(std::int64_t offset, std::int32_t max_wait_ms) {
    FetchRequest request;
    request.max_wait_ms = max_wait_ms;
    request.min_bytes = 1;
    auto& topic = request.topics.emplace_back();
    topic.topic = "t";
    auto& partition = topic.partitions.emplace_back();
    partition.fetch_offset = offset;
    partition.partition_max_bytes = 1000;
    return request;
  }
  std::int64_t log_end(std::int32_t partition = 0) {
    return broker_->partitions().find("t", PartitionId{partition})->log()->log_end_offset().value;
  }

  TestBroker broker_;
};

TEST_F(ProduceTurnTest, AreWrittenTogetherWhenTheTurnEnds) {
  broker_.faults().arm({.counted = io::FileCall::write});
  std::vector<Waiting<ProduceResponse>> waiting;
  for (int i = 0; i < 5; ++i) {
    ByteVector records = batch(2);
    if (i == 3) {
      store_be<std::int8_t>(MutableBytesView(records), record::kMagic, 1);
      record::update_crc(records);
    }
    waiting.push_back(send({records}));
  }
  EXPECT_EQ(log_end(), 1);
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const Answered answer = first_of(waiting[i]);
    EXPECT_EQ(answer.error_code, i == 3 ? ErrorCode::INVALID_RECORD : ErrorCode::NONE) << i;
    EXPECT_EQ(answer.base_offset, i == 3 ? -1 : static_cast<std::int64_t>(i < 3 ? 1 + 2 * i : 2 * i - 1)) << i;
  }
  EXPECT_EQ(broker_.faults().calls(), 1);
  EXPECT_EQ(log_end(), 9);
  EXPECT_EQ(broker_->partitions().find("t", PartitionId{0})->log()->high_watermark().value, 9);
}

TEST_F(ProduceTurnTest, WhatWasInflatedIsWrittenAtOnce) {
  broker_.create_topic("plain", 3, {{"compression.type", "uncompressed"}});
  const auto plain_end = [&](std::int32_t partition) {
    return broker_->partitions().find("plain", PartitionId{partition})->log()->log_end_offset().value;
  };
  record::BatchOptions options;
  options.compression.codec = record::Codec::zstd;
  record::BatchBuilder builder(options);
  builder.add(TimestampMs{1'700'000'000'000}, {}, as_bytes(std::string(600'000, 'v')));
  const ByteVector small = builder.build();
  ASSERT_LT(small.size(), 1000u);
  ProduceRequest request;
  request.acks = 1;
  auto& topic = request.topic_data.emplace_back();
  topic.name = "plain";
  for (std::int32_t index = 0; index < 3; ++index) {
    auto& partition = topic.partition_data.emplace_back();
    partition.index = index;
    partition.records = protocol::Records{small, {}};
  }
  auto before = send({batch(2)});
  auto waiting = broker_.send<ProduceResponse>(request, kVersion, broker_.connect());
  EXPECT_EQ(log_end(), 3) << "what came before is written before";
  EXPECT_EQ(plain_end(0), 1);
  EXPECT_EQ(plain_end(1), 1);
  EXPECT_EQ(plain_end(2), 0);
  const auto answer = waiting.get();
  EXPECT_EQ(first_of(before).base_offset, 1);
  for (const Answered& partition : answer->responses.at(0).partition_responses) {
    EXPECT_EQ(partition.error_code, ErrorCode::NONE) << partition.index;
    EXPECT_EQ(partition.base_offset, 0) << partition.index;
  }
  EXPECT_EQ(plain_end(2), 1);
}

TEST_F(ProduceTurnTest, EachRequestIsAnsweredWithItsOwnPartitions) {
  broker_.faults().arm({.counted = io::FileCall::write});
  std::vector<Waiting<ProduceResponse>> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(send({batch(1 + i), batch(2)}));
  const std::int64_t expected[][2] = {{1, 1}, {2, 3}, {4, 5}, {7, 7}};
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    auto answer = waiting[i].get();
    ASSERT_EQ(answer->responses.at(0).partition_responses.size(), 2u);
    for (std::size_t p = 0; p < 2; ++p) {
      EXPECT_EQ(answer->responses[0].partition_responses[p].index, static_cast<std::int32_t>(p));
      EXPECT_EQ(answer->responses[0].partition_responses[p].base_offset, expected[i][p]) << i << " " << p;
    }
  }
  EXPECT_EQ(broker_.faults().calls(), 2);
}

TEST_F(ProduceTurnTest, WhoAsksBehindAProduceFindsIt) {
  auto produced = send({batch()});
  auto fetched = broker_.send<FetchResponse>(fetch_from(1, 0), kVersion, broker_.connect());
  EXPECT_EQ(log_end(), 2);
  EXPECT_GT(fetched.get()->responses.at(0).partitions.at(0).records->bytes.size(), 0u);
  EXPECT_EQ(first_of(produced).base_offset, 1);

  auto second = send({batch()});
  ListOffsetsRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = "t";
  topic.partitions.emplace_back().timestamp = -1;
  auto listed = broker_.send<ListOffsetsResponse>(request, 7, broker_.connect());
  EXPECT_EQ(listed.get()->topics.at(0).partitions.at(0).offset, 3);
  EXPECT_EQ(first_of(second).base_offset, 2);
}

TEST_F(ProduceTurnTest, AWaitingFetchIsAnsweredWithAllOfTheTurn) {
  auto fetched = broker_.send<FetchResponse>(fetch_from(1, 10'000), kVersion, broker_.connect());
  EXPECT_FALSE(fetched.done());
  std::vector<Waiting<ProduceResponse>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(send({batch()}));
  auto answer = fetched.get();
  const auto& partition = answer->responses.at(0).partitions.at(0);
  EXPECT_EQ(partition.high_watermark, 4);
  EXPECT_EQ(partition.records->bytes.size(), 3 * batch().size());
}

TEST_F(ProduceTurnTest, AFailingWriteFailsAllThatItWasFor) {
  std::vector<Waiting<ProduceResponse>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(send({batch()}));
  broker_.faults().arm({.counted = io::FileCall::write, .fail_at = 1, .sys_errno = ENOSPC});
  broker_.step();
  broker_.faults().disarm();
  for (auto& each : waiting) EXPECT_EQ(first_of(each).error_code, ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(log_end(), 1);
  // A full disk is no failure of the log.
  broker_->partitions().find("t", PartitionId{0})->log()->set_short_of_space(false);
  auto later = send({batch()});
  EXPECT_EQ(first_of(later).base_offset, 1);
}

TEST_F(ProduceTurnTest, OfOneProducerFareAsOneAfterTheOther) {
  auto connection = broker_.connect();
  std::vector<Waiting<ProduceResponse>> waiting;
  for (const std::int32_t sequence : {0, 2, 4, 2, 9, 6}) waiting.push_back(send({batch(2, 5, sequence)}, -1, 0, connection));
  const std::int64_t offsets[] = {1, 3, 5, 3, -1, 7};
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const Answered answer = first_of(waiting[i]);
    EXPECT_EQ(answer.error_code, i == 4 ? ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER : ErrorCode::NONE) << i;
    EXPECT_EQ(answer.base_offset, offsets[i]) << i;
  }
  EXPECT_EQ(log_end(), 9);
}

TEST_F(ProduceTurnTest, WithoutAcknowledgementIsWrittenAtOnceWithWhatCameBefore) {
  auto acknowledged = send({batch()});
  EXPECT_EQ(log_end(), 1);
  auto not_acknowledged = send({batch()}, 0);
  EXPECT_EQ(log_end(), 3);
  EXPECT_EQ(first_of(acknowledged).base_offset, 1);
  EXPECT_EQ(not_acknowledged.outcome().kind, TestOutcome::Kind::nothing);
}

TEST_F(ProduceTurnTest, MuchIsWrittenBeforeTheTurnEnds) {
  const ByteVector large = batch(1, ProduceTurns::kMostStagedBytes * 6 / 10);
  auto first = send({large});
  EXPECT_EQ(log_end(), 1);
  auto second = send({large});
  EXPECT_EQ(log_end(), 3);
  auto third = send({batch()});
  EXPECT_EQ(log_end(), 3);
  EXPECT_EQ(first_of(first).base_offset, 1);
  EXPECT_EQ(first_of(second).base_offset, 2);
  EXPECT_EQ(first_of(third).base_offset, 3);
}

TEST_F(ProduceTurnTest, AConnectionThatGoesBeforeTheWriteChangesNothing) {
  auto going = broker_.connect();
  auto gone = send({batch()}, 1, 0, going);
  auto stays = send({batch()});
  broker_.disconnect(going);
  EXPECT_EQ(first_of(stays).base_offset, 2);
  EXPECT_EQ(log_end(), 3);
}

TEST_F(ProduceTurnTest, ABrokerThatEndsDropsWhatWasNotWritten) {
  auto waiting = send({batch()});
  broker_.crash();
  EXPECT_EQ(waiting.outcome().kind, TestOutcome::Kind::closed);
}

TEST_F(ProduceTurnTest, OnlyAProduceJoinsAStagedProduceOfItsConnection) {
  ByteVector produce_frame(8);
  store_be<std::int16_t>(MutableBytesView(produce_frame), 0, ProduceRequest::kApiKey);
  ByteVector fetch_frame(8);
  store_be<std::int16_t>(MutableBytesView(fetch_frame), 0, FetchRequest::kApiKey);
  auto connection = broker_.connect();
  auto other = broker_.connect();
  EXPECT_FALSE(broker_->joins(*connection->peer, produce_frame));
  auto waiting = send({batch()}, 1, 0, connection);
  EXPECT_TRUE(broker_->joins(*connection->peer, produce_frame));
  EXPECT_FALSE(broker_->joins(*connection->peer, fetch_frame));
  EXPECT_FALSE(broker_->joins(*connection->peer, BytesView(produce_frame).first(1)));
  EXPECT_FALSE(broker_->joins(*other->peer, produce_frame));
  EXPECT_EQ(first_of(waiting).base_offset, 1);
  EXPECT_FALSE(broker_->joins(*connection->peer, produce_frame));
}

TEST_F(ProduceTurnTest, WhereAFlushIsDueAllOfTheTurnWaitForIt) {
  broker_.create_topic("flushed", 1, {{"flush.messages", "1"}});
  auto partition = broker_->partitions().find("flushed", PartitionId{0});
  std::vector<Waiting<ProduceResponse>> waiting;
  for (int i = 0; i < 4; ++i) {
    ProduceRequest request;
    request.acks = -1;
    const ByteVector records = batch();
    auto& topic = request.topic_data.emplace_back();
    topic.name = "flushed";
    topic.partition_data.push_back({0, protocol::Records{records, {}}});
    waiting.push_back(broker_.send<ProduceResponse>(request, kVersion, broker_.connect()));
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    EXPECT_EQ(first_of(waiting[i]).base_offset, static_cast<std::int64_t>(i));
    EXPECT_GT(partition->log()->recovery_point().value, static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(partition->log()->high_watermark().value, 4);
}

}  // namespace
}  // namespace cordwood::broker
