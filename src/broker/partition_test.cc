#include "broker/partition.h"

#include <gtest/gtest.h>

#include "broker/partition_table.h"
#include "broker/scratch_pool.h"
#include "broker/storage_errors.h"
#include "io/memory_file_system.h"
#include "record/builder.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;

constexpr NodeId kUs{1};
constexpr NodeId kOther{2};
const Uuid kTopicId{1, 1000};

metadata::PartitionState led_by(std::optional<NodeId> leader, std::int32_t epoch, std::vector<NodeId> isr = {kUs}) {
  metadata::PartitionState state;
  state.replicas = {kUs, kOther};
  state.isr = std::move(isr);
  state.leader = leader;
  state.leader_epoch = epoch;
  return state;
}

class PartitionTest : public ::testing::Test {
 protected:
  PartitionTest() {
    storage::OpenOptions options;
    auto log = storage::PartitionLog::open({&files_, &clock_, &random_, &logger_}, "/data/t-0", {"t", PartitionId{0}}, options);
    EXPECT_TRUE(log) << log.error().message();
    partition_ = std::make_unique<Partition>(TopicPartition{"t", PartitionId{0}}, kTopicId, kUs, *log);
  }
  ByteVector batch() {
    record::BatchBuilder builder{record::BatchOptions{}};
    builder.add(clock_.now(), {}, as_bytes("value"));
    return builder.build();
  }
  Partition::Appended append() {
    ByteVector bytes = batch();
    return partition_->append(bytes, storage::AppendOrigin::client);
  }

  ManualClock clock_;
  SeededRandom random_{3};
  MemoryLogger logger_;
  io::MemFileSystem files_{&clock_};
  std::unique_ptr<Partition> partition_;
};

TEST_F(PartitionTest, IsLedByNobodyBeforeTheMetadataSaysSo) {
  EXPECT_FALSE(partition_->leadership().is_leader);
  EXPECT_EQ(partition_->check_leader(-1), ErrorCode::NOT_LEADER_OR_FOLLOWER);
  EXPECT_EQ(append().code, ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

TEST_F(PartitionTest, LeaderAppendsAndLiftsTheHighWatermark) {
  ASSERT_TRUE(partition_->apply(led_by(kUs, 4)));
  EXPECT_EQ(partition_->leadership().leader_epoch, 4);
  EXPECT_EQ(partition_->log()->latest_epoch()->epoch.value, 4);
  EXPECT_EQ(append().code, ErrorCode::NONE);
  EXPECT_EQ(append().base_offset.value, 1);
  EXPECT_EQ(partition_->log()->high_watermark().value, 2);
}

TEST_F(PartitionTest, AnIsrOfTwoHoldsTheHighWatermarkBack) {
  ASSERT_TRUE(partition_->apply(led_by(kUs, 4, {kUs, kOther})));
  EXPECT_EQ(append().code, ErrorCode::NONE);
  EXPECT_EQ(partition_->log()->high_watermark().value, 0);
  // The other one is gone: what is here is all there is.
  ASSERT_TRUE(partition_->apply(led_by(kUs, 4)));
  EXPECT_EQ(partition_->log()->high_watermark().value, 1);
}

TEST_F(PartitionTest, EpochChecks) {
  ASSERT_TRUE(partition_->apply(led_by(kUs, 4)));
  EXPECT_EQ(partition_->check_leader(-1), ErrorCode::NONE);
  EXPECT_EQ(partition_->check_leader(4), ErrorCode::NONE);
  EXPECT_EQ(partition_->check_leader(3), ErrorCode::FENCED_LEADER_EPOCH);
  EXPECT_EQ(partition_->check_leader(5), ErrorCode::UNKNOWN_LEADER_EPOCH);
  ASSERT_TRUE(partition_->apply(led_by(kOther, 5)));
  EXPECT_EQ(partition_->check_leader(-1), ErrorCode::NOT_LEADER_OR_FOLLOWER);
  EXPECT_EQ(partition_->check_leader(4), ErrorCode::FENCED_LEADER_EPOCH);
  EXPECT_EQ(partition_->check_leader(5), ErrorCode::NOT_LEADER_OR_FOLLOWER);
  EXPECT_EQ(append().code, ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

TEST_F(PartitionTest, RemoteReplicas) {
  ASSERT_TRUE(partition_->apply(led_by(kUs, 4)));
  EXPECT_TRUE(partition_->is_remote_replica(kOther));
  EXPECT_FALSE(partition_->is_remote_replica(kUs));
  EXPECT_FALSE(partition_->is_remote_replica(NodeId{3}));
}

TEST_F(PartitionTest, WaitersAreWokenOnceByWhatTheyWaitFor) {
  ASSERT_TRUE(partition_->apply(led_by(kUs, 4)));
  int woken = 0;
  auto wait = [&] { return partition_->add_waiter([&] { ++woken; }); };
  wait();
  append();
  EXPECT_EQ(woken, 1);
  append();
  EXPECT_EQ(woken, 1);
  wait();
  ASSERT_TRUE(partition_->apply(led_by(kOther, 5)));
  EXPECT_EQ(woken, 2);
  wait();
  partition_->retire();
  EXPECT_EQ(woken, 3);
  Partition::WaiterId removed = wait();
  partition_->remove_waiter(removed);
  partition_->remove_waiter(removed);
  partition_->wake_all();
  EXPECT_EQ(woken, 3);
}

TEST_F(PartitionTest, AWokenWaiterMayWaitAgain) {
  ASSERT_TRUE(partition_->apply(led_by(kUs, 4)));
  int woken = 0;
  std::function<void()> again = [&] {
    ++woken;
    partition_->add_waiter(again);
  };
  partition_->add_waiter(again);
  append();
  append();
  EXPECT_EQ(woken, 2);
}

TEST_F(PartitionTest, RetiredPartitionAnswersNothing) {
  ASSERT_TRUE(partition_->apply(led_by(kUs, 4)));
  partition_->retire();
  EXPECT_EQ(partition_->check_leader(-1), ErrorCode::NOT_LEADER_OR_FOLLOWER);
  EXPECT_EQ(append().code, ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

TEST(StorageErrors, FaultsHaveTheirCodes) {
  using storage::AppendFault;
  struct Row {
    AppendFault fault;
    ErrorCode code;
  };
  for (const Row& row : std::vector<Row>{{AppendFault::none, ErrorCode::NONE},
                                         {AppendFault::record_list_too_large, ErrorCode::RECORD_LIST_TOO_LARGE},
                                         {AppendFault::out_of_order_sequence, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER},
                                         {AppendFault::invalid_producer_epoch, ErrorCode::INVALID_PRODUCER_EPOCH},
                                         {AppendFault::invalid_txn_state, ErrorCode::INVALID_TXN_STATE},
                                         {AppendFault::transaction_coordinator_fenced,
                                          ErrorCode::TRANSACTION_COORDINATOR_FENCED},
                                         {AppendFault::storage_error, ErrorCode::KAFKA_STORAGE_ERROR}}) {
    storage::AppendResult result;
    result.fault = row.fault;
    EXPECT_EQ(error_code_of(result), row.code);
  }
  for (Errc lost : {Errc::io, Errc::not_found, Errc::exists}) {
    EXPECT_EQ(error_code_of(lost), ErrorCode::KAFKA_STORAGE_ERROR);
    EXPECT_TRUE(takes_directory_offline(lost));
  }
  EXPECT_EQ(error_code_of(Errc::closed), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(error_code_of(Errc::no_space), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(error_code_of(Errc::out_of_range), ErrorCode::OFFSET_OUT_OF_RANGE);
  for (Errc harmless : {Errc::closed, Errc::no_space, Errc::out_of_range, Errc::corrupt, Errc::limit}) {
    EXPECT_FALSE(takes_directory_offline(harmless));
  }
}

TEST(ScratchPool, AnOwnerFindsWhatItLeft) {
  ScratchPool<std::vector<int>> pool;
  int owner = 0;
  const int* kept = nullptr;
  {
    auto first = pool.take(&owner);
    first->assign(100, 7);
    kept = first->data();
    // Taken twice at a time there are two.
    auto second = pool.take(&owner);
    EXPECT_TRUE(second->empty());
  }
  // Both were kept, and are given out again before a new one is made.
  const auto again = pool.take(&owner);
  const auto other = pool.take(&owner);
  const auto another = pool.take(&owner);
  EXPECT_TRUE((again->data() == kept) != (other->data() == kept));
  EXPECT_TRUE(another->empty());
}

}  // namespace
}  // namespace cordwood::broker
