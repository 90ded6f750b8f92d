// A disk that fails under a running broker: what it held is answered with KAFKA_STORAGE_ERROR, the rest goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>

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

TEST_F(DataPathFaultsTest, FullDiskIsNoFailure) {
  using Shape = io::Fault::Shape;
  for (const Shape shape : {Shape::refuse, Shape::shorten}) {
    broker_.faults().arm({.counted = io::FileCall::write, .fail_at = 1, .shape = shape, .sys_errno = ENOSPC});
    EXPECT_EQ(produce(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
    EXPECT_EQ(fetch(lost_), ErrorCode::NONE);
    // Until the next look at the disk it stays so, without a call that would fail again.
    EXPECT_EQ(produce(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
    EXPECT_EQ(produce(kept_), ErrorCode::NONE);
    broker_->logs().check_space();
    EXPECT_EQ(produce(lost_), ErrorCode::NONE);
  }
  auto log = broker_->partitions().find("t", PartitionId{lost_})->log();
  EXPECT_EQ(log->log_end_offset().value, 3);
  EXPECT_EQ(broker_->image()->partition({"t", PartitionId{lost_}})->leader, NodeId{1});
}

TEST_F(DataPathFaultsTest, NearlyFullDiskTakesNoRecords) {
  broker_.files().set_space({.total = {100 * GiB}, .available = {63 * MiB}});
  broker_->logs().check_space();
  for (std::int32_t partition = 0; partition < 4; ++partition) {
    EXPECT_EQ(produce(partition), ErrorCode::KAFKA_STORAGE_ERROR);
    EXPECT_EQ(fetch(partition), ErrorCode::NONE);
  }
  // Of a small disk a twentieth is kept.
  broker_.files().set_space({.total = {100 * MiB}, .available = {6 * MiB}});
  broker_->logs().check_space();
  EXPECT_EQ(produce(lost_), ErrorCode::NONE);
  broker_.files().set_space({.total = {100 * MiB}, .available = {4 * MiB}});
  broker_->logs().check_space();
  EXPECT_EQ(produce(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
}

// A directory that another thing has taken the name of, or that log.dirs names no more, and that comes back.
TEST_F(DataPathFaultsTest, NothingTakesThePlaceOfWhatLiesInAMissingDirectory) {
  for (const auto& log : broker_->logs().all()) log->flush().value();
  const auto lies_there = [&](std::int32_t i) {
    return broker_->partitions().find("t", PartitionId{i})->log()->directory().starts_with("/data");
  };
  for (const bool is_named : {true, false}) {
    SCOPED_TRACE(is_named ? "named, and no directory" : "not named");
    const std::unique_ptr<io::MemFileSystem> disk = broker_.files().crash_clone(1);
    SeededRandom random{5};
    MemoryLogger logger;
    const auto start = [&](const Config& config) {
      return Broker::start({disk.get(), &broker_.clock(), &random, &logger}, config, {}).value();
    };
    disk->rename("/data", "/away").value();
    Config config = two_directories();
    if (is_named) {
      disk->open("/data", io::OpenMode::create).value();
    } else {
      config.log_dirs = {"/meta"};
    }
    {
      std::unique_ptr<Broker> broker = start(config);
      for (std::int32_t i = 0; i < 4; ++i) {
        const TopicPartition name{"t", PartitionId{i}};
        EXPECT_EQ(broker->partitions().find(name) == nullptr, lies_there(i));
        EXPECT_EQ(broker->image()->partition(name)->leader.has_value(), !lies_there(i));
        EXPECT_EQ(disk->exists("/meta/" + name.to_string()).value(), !lies_there(i));
      }
      broker->shut_down().value();
    }
    if (is_named) disk->remove_file("/data").value();
    disk->rename("/away", "/data").value();
    std::unique_ptr<Broker> broker = start(two_directories());
    for (std::int32_t i = 0; i < 4; ++i) {
      const TopicPartition name{"t", PartitionId{i}};
      ASSERT_NE(broker->partitions().find(name), nullptr);
      EXPECT_EQ(broker->partitions().find(name)->log()->log_end_offset(), Offset{1});
      EXPECT_EQ(broker->image()->partition(name)->leader, NodeId{1});
    }
    broker->shut_down().value();
  }
}

// --- flush.messages ---

class FlushedProduceTest : public DataPathFaultsTest {
 protected:
  FlushedProduceTest() {
    broker_.create_topic("durable", 4, {{"flush.messages", "1"}});
    for (std::int32_t i = 0; i < 4; ++i) {
      if (broker_->partitions().find("durable", PartitionId{i})->log()->directory().starts_with("/data")) on_data_ = i;
    }
  }
  ProduceRequest request(std::int16_t acks = 1) {
    record::BatchBuilder builder{record::BatchOptions{}};
    builder.add(broker_.clock().now(), {}, as_bytes("value"));
    batch_ = builder.build();
    ProduceRequest request;
    request.acks = acks;
    auto& topic = request.topic_data.emplace_back();
    topic.name = "durable";
    topic.partition_data.push_back({on_data_, protocol::Records{batch_, {}}});
    return request;
  }
  std::shared_ptr<storage::PartitionLog> log() {
    return broker_->partitions().find("durable", PartitionId{on_data_})->log();
  }
  std::int32_t on_data_ = -1;
  ByteVector batch_;
};

TEST_F(FlushedProduceTest, IsAnsweredAndSeenWhenItIsOnTheDisk) {
  std::promise<void> disk;
  std::shared_future<void> disk_is_done = disk.get_future().share();
  broker_.faults().before_each_call([disk_is_done](io::FileCall call, const std::string& subject) {
    if (call == io::FileCall::sync && subject.ends_with(".log") && subject.starts_with("/data/durable")) disk_is_done.wait();
  });
  auto waiting = broker_.send<ProduceResponse>(request(), 12);
  // The loop goes on meanwhile.
  EXPECT_EQ(produce(kept_), ErrorCode::NONE);
  EXPECT_FALSE(waiting.done());
  EXPECT_EQ(log()->log_end_offset().value, 1);
  EXPECT_EQ(log()->high_watermark().value, 0);
  // A second one, of another connection, waits as well.
  auto second = broker_.send<ProduceResponse>(request(-1), 12, broker_.connect());
  EXPECT_FALSE(second.done());
  disk.set_value();
  EXPECT_EQ(waiting.get()->responses.at(0).partition_responses.at(0).base_offset, 0);
  EXPECT_EQ(second.get()->responses.at(0).partition_responses.at(0).base_offset, 1);
  EXPECT_EQ(log()->high_watermark().value, 2);
  EXPECT_EQ(log()->recovery_point().value, 2);
  broker_.faults().before_each_call({});
  broker_.crash(7);
  EXPECT_EQ(log()->log_end_offset().value, 2);
}

TEST_F(FlushedProduceTest, FailedFlushIsAnsweredAndNotTriedAgain) {
  // The metadata log is told of the directory, and synced, meanwhile.
  auto syncs = std::make_shared<std::atomic<int>>(0);
  broker_.faults().before_each_call([syncs](io::FileCall call, const std::string& subject) {
    if (call == io::FileCall::sync && subject.starts_with("/data/durable")) ++*syncs;
  });
  broker_.faults().arm({.counted = io::FileCall::sync, .fail_at = 1});
  auto answer = broker_.call<ProduceResponse>(request(), 12);
  const auto& partition = answer->responses.at(0).partition_responses.at(0);
  EXPECT_EQ(partition.error_code, ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(partition.base_offset, -1);
  EXPECT_EQ(syncs->load(), 1) << "only one fsync, which failed";
  EXPECT_EQ(fetch(lost_), ErrorCode::KAFKA_STORAGE_ERROR) << "the directory is offline";
  EXPECT_EQ(fetch(kept_), ErrorCode::NONE);
}

TEST_F(FlushedProduceTest, WithoutAcknowledgementItIsFlushedToo) {
  auto outcome = broker_.send<ProduceResponse>(request(0), 12).outcome();
  EXPECT_EQ(outcome.kind, TestOutcome::Kind::nothing);
  EXPECT_EQ(log()->recovery_point().value, 1);
  broker_.faults().arm({.counted = io::FileCall::sync, .fail_at = 1});
  EXPECT_EQ(broker_.send<ProduceResponse>(request(0), 12).outcome().kind, TestOutcome::Kind::closed);
}

TEST_F(FlushedProduceTest, RepetitionWaitsForTheFirst) {
  std::promise<void> disk;
  std::shared_future<void> disk_is_done = disk.get_future().share();
  broker_.faults().before_each_call([disk_is_done](io::FileCall call, const std::string& subject) {
    if (call == io::FileCall::sync && subject.ends_with(".log") && subject.starts_with("/data/durable")) disk_is_done.wait();
  });
  const auto numbered = [&] {
    ProduceRequest wanted = request();
    record::BatchBuilder builder{record::BatchOptions{.producer_id = 5, .producer_epoch = 0, .base_sequence = 0}};
    builder.add(broker_.clock().now(), {}, as_bytes("value"));
    batch_ = builder.build();
    wanted.topic_data[0].partition_data[0].records = protocol::Records{batch_, {}};
    return wanted;
  };
  auto first = broker_.send<ProduceResponse>(numbered(), 12);
  auto again = broker_.send<ProduceResponse>(numbered(), 12, broker_.connect());
  EXPECT_FALSE(first.done());
  EXPECT_FALSE(again.done());
  disk.set_value();
  EXPECT_EQ(first.get()->responses.at(0).partition_responses.at(0).base_offset, 0);
  EXPECT_EQ(again.get()->responses.at(0).partition_responses.at(0).base_offset, 0);
  EXPECT_EQ(log()->log_end_offset().value, 1);
}

// --- the end ---

TEST_F(DataPathFaultsTest, LastDirectoryAndTheMetadataAreFatal) {
  std::promise<std::string> fatal;
  broker_->on_fatal([&](const std::string& why) { fatal.set_value(why); });
  broker_.faults().arm({.counted = io::FileCall::write, .fail_at = 1});
  EXPECT_EQ(produce(lost_), ErrorCode::KAFKA_STORAGE_ERROR);
  broker_.create_topic("lives");
  broker_.faults().arm({.counted = io::FileCall::write, .fail_at = 1});
  EXPECT_EQ(produce(kept_), ErrorCode::KAFKA_STORAGE_ERROR);
  std::future<std::string> why = fatal.get_future();
  ASSERT_EQ(why.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_NE(why.get().find("every log directory has failed"), std::string::npos);
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
