// A broker that serves while a partition's log still recovers: what clients of that partition see, and of the others.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "broker/broker_testing.h"
#include "protocol/messages/delete_topics.h"
#include "protocol/messages/describe_topic_partitions.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/find_coordinator.h"
#include "protocol/messages/heartbeat.h"
#include "protocol/messages/incremental_alter_configs.h"
#include "protocol/messages/join_group.h"
#include "protocol/messages/list_groups.h"
#include "protocol/messages/list_offsets.h"
#include "protocol/messages/metadata.h"
#include "protocol/messages/offset_commit.h"
#include "protocol/messages/offset_fetch.h"
#include "protocol/messages/produce.h"
#include "record/builder.h"

namespace cordwood::broker {
namespace {

using namespace protocol;

void pause(int milliseconds) {
  std::mutex mu;
  std::unique_lock lock(mu);
  std::condition_variable never;
  never.wait_for(lock, std::chrono::milliseconds(milliseconds));
}

class LoadingTest : public ::testing::Test {
 protected:
  LoadingTest() {
    broker_.create_topic("slow");
    broker_.create_topic("fast");
    for (int i = 0; i < 4; ++i) broker_.produce("slow", 0, {std::string(100'000, 'a')});
    broker_.produce("fast", 0, {"one"});
  }

  // A power cut after everything was flushed but before any checkpoint, and a start whose recovery of these does not end.
  void crash_and_hold_up(const std::string& directory) {
    for (const auto& log : broker_->logs().all()) ASSERT_TRUE(log->flush().has_value());
    broker_.start_options.loading_grace = DurationMs{0};
    broker_.close_gate_for_start("/" + directory + "/");
    broker_.crash();
    ASSERT_EQ(broker_->partitions().loading(), 1u);
  }
  void let_go_and_wait() {
    broker_.gate().open_gate();
    for (int i = 0; i < 10'000 && broker_->partitions().loading() > 0; ++i) {
      pause(1);
    }
    ASSERT_EQ(broker_->partitions().loading(), 0u);
  }

  TestAnswer<MetadataResponse> metadata(const std::string& topic) {
    MetadataRequest request;
    request.allow_auto_topic_creation = false;
    request.topics.emplace();
    request.topics->emplace_back().name = topic;
    return broker_.call<MetadataResponse>(request, 12);
  }
  ErrorCode produce_code(const std::string& topic) {
    record::BatchBuilder builder{record::BatchOptions{}};
    builder.add(broker_.clock().now(), {}, as_bytes("x"));
    ByteVector batch = builder.build();
    ProduceRequest request;
    request.acks = -1;
    auto& data = request.topic_data.emplace_back();
    data.name = topic;
    auto& entry = data.partition_data.emplace_back();
    entry.index = 0;
    entry.records = Records{batch, {}};
    return broker_.call<ProduceResponse>(request, 12)->responses.at(0).partition_responses.at(0).error_code;
  }
  ErrorCode fetch_code(const std::string& topic) {
    FetchRequest request;
    request.max_wait_ms = 0;
    auto& entry = request.topics.emplace_back();
    entry.topic = topic;
    auto& asked = entry.partitions.emplace_back();
    asked.partition_max_bytes = 1 << 20;
    return broker_.call<FetchResponse>(request, 12)->responses.at(0).partitions.at(0).error_code;
  }
  ListOffsetsResponse::Partition latest(const std::string& topic) {
    ListOffsetsRequest request;
    request.replica_id = -1;
    auto& entry = request.topics.emplace_back();
    entry.name = topic;
    entry.partitions.emplace_back().timestamp = -1;
    return broker_.call<ListOffsetsResponse>(request, 6)->topics.at(0).partitions.at(0);
  }
  void delete_topic(const std::string& name) {
    DeleteTopicsRequest request;
    request.topic_names = {name};
    request.timeout_ms = 1000;
    EXPECT_EQ(broker_.call<DeleteTopicsResponse>(request, 5)->responses.at(0).error_code, ErrorCode::NONE);
  }

  TestBroker broker_;
};

TEST_F(LoadingTest, OthersAreServedAndItsOwnClientsAskAgain) {
  crash_and_hold_up("slow-0");
  EXPECT_EQ(broker_.produce("fast", 0, {"two"}), 1);
  EXPECT_EQ(latest("fast").offset, 2);

  const auto told = metadata("slow");
  const auto& partition = told->topics.at(0).partitions.at(0);
  EXPECT_EQ(partition.error_code, ErrorCode::LEADER_NOT_AVAILABLE);
  EXPECT_EQ(partition.leader_id, -1);
  EXPECT_EQ(partition.replica_nodes, std::vector<std::int32_t>{1});
  EXPECT_EQ(metadata("fast")->topics.at(0).partitions.at(0).leader_id, 1);
  DescribeTopicPartitionsRequest describe;
  describe.topics.emplace_back().name = "slow";
  describe.response_partition_limit = 10;
  EXPECT_EQ(broker_.call<DescribeTopicPartitionsResponse>(describe, 0)->topics.at(0).partitions.at(0).error_code,
            ErrorCode::LEADER_NOT_AVAILABLE);
  EXPECT_EQ(produce_code("slow"), ErrorCode::NOT_LEADER_OR_FOLLOWER);
  EXPECT_EQ(fetch_code("slow"), ErrorCode::NOT_LEADER_OR_FOLLOWER);
  EXPECT_EQ(latest("slow").error_code, ErrorCode::NOT_LEADER_OR_FOLLOWER);

  let_go_and_wait();
  EXPECT_EQ(metadata("slow")->topics.at(0).partitions.at(0).leader_id, 1);
  EXPECT_EQ(metadata("slow")->topics.at(0).partitions.at(0).error_code, ErrorCode::NONE);
  EXPECT_EQ(latest("slow").offset, 4);
  EXPECT_EQ(fetch_code("slow"), ErrorCode::NONE);
  EXPECT_EQ(broker_.produce("slow", 0, {"five"}), 4);
  broker_.restart();
  EXPECT_EQ(latest("slow").offset, 5);
  EXPECT_EQ(latest("fast").offset, 2);
}

TEST_F(LoadingTest, ItTakesTheSettingsThatWereChangedMeanwhile) {
  crash_and_hold_up("slow-0");
  IncrementalAlterConfigsRequest request;
  auto& resource = request.resources.emplace_back();
  resource.resource_type = 2;
  resource.resource_name = "slow";
  auto& config = resource.configs.emplace_back();
  config.name = "segment.bytes";
  config.value = "2000000";
  EXPECT_EQ(broker_.call<IncrementalAlterConfigsResponse>(request, 1)->responses.at(0).error_code, ErrorCode::NONE);
  let_go_and_wait();
  EXPECT_EQ(broker_->logs().find({"slow", {0}})->config().segment_bytes, ByteCount{2'000'000});
}

TEST_F(LoadingTest, ItsTopicMayBeDeletedAndMadeAgain) {
  crash_and_hold_up("slow-0");
  broker_.gate().wait_for_visitor();
  delete_topic("slow");
  EXPECT_EQ(metadata("slow")->topics.at(0).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  broker_.create_topic("slow");
  let_go_and_wait();
  EXPECT_EQ(latest("slow").error_code, ErrorCode::NONE);
  EXPECT_EQ(latest("slow").offset, 0);
  EXPECT_EQ(broker_.produce("slow", 0, {"anew"}), 0);
  broker_.restart();
  EXPECT_EQ(latest("slow").offset, 1);
}

TEST_F(LoadingTest, AStopMeanwhileLosesNothing) {
  crash_and_hold_up("slow-0");
  EXPECT_EQ(broker_.produce("fast", 0, {"two"}), 1);
  // The stop waits for what the disk holds up, and for nothing behind that.
  std::thread stop([&] { EXPECT_TRUE(broker_->shut_down().has_value()); });
  pause(20);
  broker_.gate().open_gate();
  stop.join();
  EXPECT_FALSE(broker_.files().exists("/data/.kafka_cleanshutdown").value());
  broker_.start_options.loading_grace.reset();
  broker_.crash(3);
  EXPECT_EQ(latest("slow").offset, 4);
  EXPECT_EQ(latest("fast").offset, 2);
}

TEST_F(LoadingTest, GroupsWaitForTheirPartition) {
  // Enough commits that the log of __consumer_offsets is worth waiting for.
  const auto commit = [&](std::int64_t offset) {
    OffsetCommitRequest request;
    request.group_id = "g";
    request.generation_id_or_member_epoch = -1;
    auto& topic = request.topics.emplace_back();
    topic.name = "fast";
    auto& partition = topic.partitions.emplace_back();
    partition.committed_offset = offset;
    partition.committed_metadata = std::string(4'000, 'm');
    return broker_.call<OffsetCommitResponse>(request, 8)->topics.at(0).partitions.at(0).error_code;
  };
  broker_.create_topic("__consumer_offsets");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(commit(i), ErrorCode::NONE);
  crash_and_hold_up("__consumer_offsets-0");

  const auto committed = [&] {
    OffsetFetchRequest request;
    auto& group = request.groups.emplace_back();
    group.group_id = "g";
    auto& topic = group.topics.emplace().emplace_back();
    topic.name = "fast";
    topic.partition_indexes = {0};
    return broker_.call<OffsetFetchResponse>(request, 8);
  };
  const auto expect_loading = [&] {
    EXPECT_EQ(committed()->groups.at(0).error_code, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    EXPECT_EQ(commit(200), ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    JoinGroupRequest join;
    join.group_id = "g";
    join.session_timeout_ms = 10'000;
    join.protocol_type = "consumer";
    join.protocols.emplace_back().name = "range";
    EXPECT_EQ(broker_.call<JoinGroupResponse>(join, 9)->error_code, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    // A member that was there before must not leave for this.
    HeartbeatRequest heartbeat;
    heartbeat.group_id = "g";
    heartbeat.member_id = "m";
    EXPECT_EQ(broker_.call<HeartbeatResponse>(heartbeat, 4)->error_code, ErrorCode::NONE);
    EXPECT_EQ(broker_.call<ListGroupsResponse>(ListGroupsRequest(), 4)->error_code,
              ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    FindCoordinatorRequest find;
    find.coordinator_keys = {"g"};
    EXPECT_EQ(broker_.call<FindCoordinatorResponse>(find, 4)->coordinators.at(0).error_code, ErrorCode::NONE);
  };
  expect_loading();

  // Its groups are replayed right after the log is there, and until that is done nothing is known of them either.
  std::promise<void> replay;
  broker_.faults().before_each_call([this, goes_on = replay.get_future().share()](io::FileCall call, const std::string& subject) {
    const bool replays = call == io::FileCall::read && subject.find("__consumer_offsets-0/") != std::string::npos &&
                         broker_->partitions().loading() == 0;
    if (replays) goes_on.wait();
  });
  let_go_and_wait();
  expect_loading();
  replay.set_value();
  ErrorCode answered = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
  for (int i = 0; i < 10'000 && answered == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS; ++i) {
    answered = committed()->groups.at(0).error_code;
    pause(1);
  }
  EXPECT_EQ(answered, ErrorCode::NONE);
  EXPECT_EQ(committed()->groups.at(0).topics.at(0).partitions.at(0).committed_offset, 99);
  EXPECT_EQ(commit(200), ErrorCode::NONE);
  EXPECT_EQ(committed()->groups.at(0).topics.at(0).partitions.at(0).committed_offset, 200);
}

}  // namespace
}  // namespace cordwood::broker
