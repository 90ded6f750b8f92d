// Transactions through a whole PartitionLog: versions of markers, and what a restart and a truncation leave of them.

#include <gtest/gtest.h>

#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

constexpr TransactionRules kVersion2{.marker_bumps_epoch = true};

AppendFault append_marker_v2(PartitionLog& log, std::int64_t producer_id, std::int16_t epoch, bool aborts = true) {
  ByteVector batch = make_marker(producer_id, epoch, aborts);
  const AppendResult result = log.append_as_leader(batch, {0}, AppendOrigin::coordinator, kVersion2);
  log.set_high_watermark(log.log_end_offset());
  return result.fault;
}

std::vector<AbortedTransaction> aborted_from(const PartitionLog& log, Offset from) {
  return log.read({from, ByteCount{10'000}, true, ReadLimit::last_stable})->aborted;
}

TEST(PartitionLogTransactions, AMarkerOfVersion2HasTheNextEpoch) {
  World world;
  auto log = open_log(world, small_segments());
  append(*log, {.producer_id = 1, .transactional = true});  // 0
  EXPECT_EQ(append_marker_v2(*log, 1, 0), AppendFault::invalid_producer_epoch);
  EXPECT_EQ(append_marker_v2(*log, 1, 1), AppendFault::none);  // 1
  // The same again is a retry.
  EXPECT_EQ(append_marker_v2(*log, 1, 1), AppendFault::none);  // 2
  EXPECT_EQ(aborted_from(*log, {0}), (std::vector<AbortedTransaction>{{1, {0}}}));
  EXPECT_EQ(log->last_stable_offset(), Offset{3});
  // The producer goes on with the marker's epoch, and from sequence 0.
  EXPECT_EQ(append(*log, {.producer_id = 1, .sequence = 1, .transactional = true}).fault, AppendFault::invalid_producer_epoch);
  EXPECT_EQ(append(*log, {.producer_id = 1, .producer_epoch = 1, .sequence = 1, .transactional = true}).fault,
            AppendFault::out_of_order_sequence);
  EXPECT_EQ(append(*log, {.producer_id = 1, .producer_epoch = 1, .transactional = true}).fault, AppendFault::none);  // 3
  // Of versions 0 and 1 the markers keep the epoch.
  EXPECT_EQ(append_marker(*log, 1, true, 1).fault, AppendFault::none);  // 4
  EXPECT_EQ(aborted_from(*log, {0}), (std::vector<AbortedTransaction>{{1, {0}}, {1, {3}}}));
}

TEST(PartitionLogTransactions, ARestartAndATruncationKeepWhatAMarkerOfVersion2Said) {
  for (StopKind stop : {StopKind::clean, StopKind::unclean}) {
    World world;
    {
      auto log = open_log(world, small_segments());
      append(*log, {.producer_id = 1, .transactional = true});  // 0
      append_marker_v2(*log, 1, 1);                             // 1
      append(*log, {.producer_id = 1, .producer_epoch = 1, .transactional = true});  // 2
      if (stop == StopKind::clean) log->close_cleanly().value();
    }
    auto log = open_log(world, small_segments(stop));
    log->set_high_watermark(log->log_end_offset());
    EXPECT_EQ(log->last_stable_offset(), Offset{2});
    EXPECT_EQ(append_marker_v2(*log, 1, 1), AppendFault::invalid_producer_epoch);
    EXPECT_EQ(append_marker_v2(*log, 1, 2), AppendFault::none);  // 3
    EXPECT_EQ(aborted_from(*log, {0}), (std::vector<AbortedTransaction>{{1, {0}}, {1, {2}}}));
    // Without its marker the second transaction is open again, and the producer's epoch is the one before.
    log->truncate_to({3}).value();
    EXPECT_EQ(log->last_stable_offset(), Offset{2});
    EXPECT_EQ(append(*log, {.producer_id = 1, .producer_epoch = 1, .sequence = 1, .transactional = true}).fault, AppendFault::none);
  }
}

TEST(PartitionLogTransactions, MarkersHaveTheTimeOfTheAppendWhereTheLogWantsIt) {
  World world;
  OpenOptions options = small_segments();
  options.config.message_timestamp_type = record::TimestampType::log_append_time;
  auto log = open_log(world, options);
  ByteVector marker = make_marker(1, 0, false, 0, {5});
  log->append_as_leader(marker, {0}, AppendOrigin::coordinator);
  const record::BatchHeader header = read_all(*log, {0}).at(0);
  EXPECT_EQ(header.timestamp_type(), record::TimestampType::log_append_time);
  EXPECT_EQ(header.max_timestamp, world.clock.now());
  EXPECT_TRUE(header.is_control());
}

}  // namespace
}  // namespace cordwood::storage
