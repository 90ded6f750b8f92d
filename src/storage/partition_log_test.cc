#include "storage/partition_log.h"

#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

constexpr TimestampMs kTime{1'700'000'000'000};

std::vector<std::int64_t> bases_of(const PartitionLog& log) {
  std::vector<std::int64_t> bases;
  for (const SegmentInfo& segment : log.segments()) bases.push_back(segment.base_offset.value);
  return bases;
}

std::vector<std::int64_t> base_offsets(const std::vector<record::BatchHeader>& headers) {
  std::vector<std::int64_t> offsets;
  for (const record::BatchHeader& header : headers) offsets.push_back(header.base_offset.value);
  return offsets;
}

AppendResult append_as_follower(PartitionLog& log, std::vector<std::int64_t> offsets, std::int32_t epoch = 0) {
  ByteVector all;
  for (std::int64_t offset : offsets) {
    const ByteVector batch = make_batch({.base_offset = {offset}, .leader_epoch = epoch});
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return log.append_as_follower(all);
}

// --- a new log ---

TEST(PartitionLog, StartsAsKafkasDo) {
  World world;
  auto log = open_log(world, small_segments());
  EXPECT_EQ(files_in(*world.fs), (std::vector<std::pair<std::string, std::string>>{
                                     {"00000000000000000000.index", std::string(1000, '\0')},
                                     {"00000000000000000000.log", ""},
                                     {"00000000000000000000.timeindex", std::string(996, '\0')},
                                     {"leader-epoch-checkpoint", ""}}));
  EXPECT_EQ(log->log_start_offset(), Offset{0});
  EXPECT_EQ(log->log_end_offset(), Offset{0});
  EXPECT_FALSE(log->topic_id());
  log->begin_leader_epoch({0}).value();
  EXPECT_EQ(log->latest_epoch(), (EpochEntry{{0}, {0}}));
  log->close_cleanly().value();
  EXPECT_EQ(files_in(*world.fs), (std::vector<std::pair<std::string, std::string>>{
                                     {"00000000000000000000.index", ""},
                                     {"00000000000000000000.log", ""},
                                     {"00000000000000000000.timeindex", ""},
                                     {"leader-epoch-checkpoint", "0\n1\n0 0\n"}}));
}

TEST(PartitionLog, BelongsToOneTopic) {
  World world;
  const Uuid id{1, 2};
  {
    auto log = open_log(world, small_segments());
    log->set_topic_id(id).value();
    log->set_topic_id(id).value();
    EXPECT_EQ(log->set_topic_id({3, 4}).error().code, Errc::invalid);
  }
  EXPECT_EQ(open_log(world, small_segments())->topic_id(), id);
}

// --- append and read ---

TEST(PartitionLog, AssignsOffsetsAndEpochs) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 5; ++i) {
    ByteVector batch = make_batch({.records = 3});
    const AppendResult result = log->append_as_leader(batch, {4}, AppendOrigin::client);
    EXPECT_EQ(result.fault, AppendFault::none);
    EXPECT_EQ(result.base_offset, Offset{i * 3});
    EXPECT_EQ(result.last_offset, Offset{i * 3 + 2});
    EXPECT_EQ(log->log_end_offset(), Offset{i * 3 + 3});
  }
  EXPECT_EQ(log->high_watermark(), Offset{0});
  const auto headers = read_all(*log, {0});
  EXPECT_EQ(base_offsets(headers), (std::vector<std::int64_t>{0, 3, 6, 9, 12}));
  for (const record::BatchHeader& header : headers) EXPECT_EQ(header.partition_leader_epoch, 4);
  EXPECT_EQ(log->latest_epoch(), (EpochEntry{{4}, {0}}));
}

TEST(PartitionLog, ReadsStopAtTheirLimit) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 20; ++i) {
    ByteVector batch = make_batch({});
    log->append_as_leader(batch, {0}, AppendOrigin::client);
  }
  for (std::int64_t watermark = 0; watermark <= 20; ++watermark) {
    log->set_high_watermark({watermark});
    for (std::int64_t from = 0; from <= 20; ++from) {
      const auto read = log->read({{from}, ByteCount{1 * MiB}, true, ReadLimit::high_watermark}).value();
      EXPECT_EQ(read.high_watermark, Offset{watermark});
      EXPECT_EQ(read.log_end_offset, Offset{20});
      const auto headers = batches_in(read.range);
      if (from >= watermark) {
        EXPECT_TRUE(headers.empty());
      } else {
        ASSERT_FALSE(headers.empty());
        EXPECT_EQ(headers.front().base_offset, Offset{from});
        EXPECT_LT(headers.back().last_offset(), Offset{watermark});
      }
    }
  }
  EXPECT_EQ(log->set_high_watermark({5}), Offset{20}) << "never back";
  EXPECT_EQ(log->set_high_watermark({500}), Offset{20});
}

TEST(PartitionLog, ReadsOutsideAreRefused) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 20; ++i) append(*log, {});
  log->advance_log_start({5}).value();
  const auto read = [&](std::int64_t from) {
    return log->read({{from}, ByteCount{1000}, true, ReadLimit::log_end});
  };
  EXPECT_EQ(read(4).error().code, Errc::out_of_range);
  EXPECT_EQ(read(-1).error().code, Errc::out_of_range);
  EXPECT_EQ(read(21).error().code, Errc::out_of_range);
  EXPECT_EQ(read(20)->range.size, ByteCount{0});
  EXPECT_GT(read(5)->range.size, ByteCount{0});
}

TEST(PartitionLog, ReadsGiveWholeBatchesWithinTheirBytes) {
  World world;
  auto log = open_log(world, small_segments());
  const std::size_t size = make_batch({}).size();
  for (int i = 0; i < 5; ++i) append(*log, {});
  for (std::int64_t max = 0; max < 500; ++max) {
    const auto read = log->read({{0}, ByteCount{max}, false, ReadLimit::log_end}).value();
    EXPECT_EQ(read.range.size.value, max / static_cast<std::int64_t>(size) * static_cast<std::int64_t>(size));
    EXPECT_EQ(read.first_entry_incomplete, max < static_cast<std::int64_t>(size));
    const auto one = log->read({{0}, ByteCount{max}, true, ReadLimit::log_end}).value();
    EXPECT_EQ(one.range.size.value, std::max<std::int64_t>(read.range.size.value, static_cast<std::int64_t>(size)));
    EXPECT_FALSE(one.first_entry_incomplete);
  }
}

TEST(PartitionLog, ReadsSayWhetherTheyLagBehind) {
  World world;
  auto log = open_log(world, small_segments());
  while (log->segments().size() < 3) append(*log, {});
  EXPECT_TRUE(log->read({{0}, ByteCount{1000}, true, ReadLimit::log_end})->in_older_segment);
  EXPECT_FALSE(log->read({log->segments().back().base_offset, ByteCount{1000}, true, ReadLimit::log_end})->in_older_segment);
}

TEST(PartitionLog, AWatermarkAtAJustRolledSegmentHidesWhatIsInIt) {
  World world;
  auto log = open_log(world, small_segments());
  while (log->segments().size() < 2) {
    ByteVector batch = make_batch({});
    log->append_as_leader(batch, {0}, AppendOrigin::client);
  }
  const Offset border = log->segments().back().base_offset;
  log->set_high_watermark(border);
  EXPECT_EQ(log->read({border, ByteCount{1000}, true, ReadLimit::high_watermark})->range.size, ByteCount{0});
  EXPECT_EQ(read_all(*log, {0}, ReadLimit::high_watermark).back().next_offset(), border);
}

// --- rolling ---

TEST(PartitionLog, RollsBySizeExactly) {
  World world;
  OpenOptions options = small_segments();
  const std::size_t size = make_batch({}).size();
  options.config.segment_bytes = {static_cast<std::int64_t>(size * 10)};
  auto log = open_log(world, options);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(append(*log, {}).rolled);
  EXPECT_TRUE(append(*log, {}).rolled);
  EXPECT_EQ(bases_of(*log), (std::vector<std::int64_t>{0, 10}));
}

TEST(PartitionLog, ARollLeavesLogAndSnapshotUntilTheNextAppend) {
  // A segment that starts full: the append goes to the next one, so look at the moment of the roll through its callback.
  World world;
  auto log = open_log(world, small_segments());
  std::vector<Offset> rolled_to;
  log->on_roll([&](Offset base) { rolled_to.push_back(base); });
  while (log->segments().size() < 3) append(*log, {});
  EXPECT_EQ(rolled_to.size(), 2u);
  EXPECT_EQ(rolled_to.back(), log->segments().back().base_offset);
  EXPECT_TRUE(world.fs->exists(fmt::format("{}/{:020}.snapshot", kDirectory, rolled_to[0].value)).value());
}

TEST(PartitionLog, RollsByRecordTime) {
  World world;
  OpenOptions options = small_segments();
  options.config.segment_ms = {1000};
  auto log = open_log(world, options);
  EXPECT_FALSE(append(*log, {.timestamp = kTime}).rolled);
  world.clock.advance({1'000'000});  // the wall clock does not count
  EXPECT_FALSE(append(*log, {.timestamp = {kTime.value + 1000}}).rolled);
  EXPECT_FALSE(append(*log, {.timestamp = {kTime.value - 5000}}).rolled);
  EXPECT_TRUE(append(*log, {.timestamp = {kTime.value + 1001}}).rolled);
  EXPECT_FALSE(append(*log, {.timestamp = {kTime.value + 2001}}).rolled);
}

TEST(PartitionLog, RollsByWallClockWithoutTimestamps) {
  World world;
  OpenOptions options = small_segments();
  options.config.segment_ms = {1000};
  auto log = open_log(world, options);
  world.clock.advance({5000});  // however old, an empty log does not roll
  EXPECT_FALSE(append(*log, {.timestamp = kNoTimestamp}).rolled);
  // The segment is as old as the log.
  EXPECT_TRUE(append(*log, {.timestamp = kNoTimestamp}).rolled);
  world.clock.advance({1000});
  EXPECT_FALSE(append(*log, {.timestamp = kNoTimestamp}).rolled);
  world.clock.advance({1});
  EXPECT_TRUE(append(*log, {.timestamp = kNoTimestamp}).rolled);
}

TEST(PartitionLog, RollsByTimeAfterAReopenToo) {
  World world;
  OpenOptions options = small_segments();
  options.config.segment_ms = {1000};
  {
    auto log = open_log(world, options);
    append(*log, {.timestamp = kTime});
    append(*log, {.timestamp = {kTime.value + 900}});
    log->close_cleanly().value();
  }
  auto log = open_log(world, options);
  EXPECT_TRUE(append(*log, {.timestamp = {kTime.value + 1001}}).rolled);
}

TEST(PartitionLog, EveryAppendRollsWhenTheTimeIndexHasNoUsableSlot) {
  World world;
  OpenOptions options = small_segments();
  options.config.segment_index_bytes = {12};
  auto log = open_log(world, options);
  for (int i = 0; i < 3; ++i) append(*log, {});
  EXPECT_EQ(bases_of(*log), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(read_all(*log, {0}).size(), 3u);
}

TEST(PartitionLog, RefusesWhatIsLargerThanASegment) {
  World world;
  OpenOptions options = small_segments();
  auto log = open_log(world, options);
  ByteVector fits = make_batch_of_size(1000);
  ByteVector too_large = make_batch_of_size(1001);
  EXPECT_EQ(log->append_as_leader(too_large, {0}, AppendOrigin::client).fault, AppendFault::record_list_too_large);
  EXPECT_EQ(log->append_as_leader(fits, {0}, AppendOrigin::client).fault, AppendFault::none);
  EXPECT_EQ(log->log_end_offset(), Offset{1});
}

// --- producers ---

TEST(PartitionLog, AnswersDuplicatesFromTheLastFiveBatches) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 6; ++i) {
    append(*log, {.records = 2, .timestamp = {kTime.value + i}, .producer_id = 9, .sequence = i * 2});
  }
  for (int i = 1; i < 6; ++i) {
    const AppendResult again =
        append(*log, {.records = 2, .timestamp = {kTime.value + i}, .producer_id = 9, .sequence = i * 2});
    EXPECT_EQ(again.fault, AppendFault::none);
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(again.base_offset, Offset{i * 2});
    EXPECT_EQ(again.last_offset, Offset{i * 2 + 1});
    EXPECT_EQ(again.duplicate_timestamp, TimestampMs{kTime.value + i + 1});
  }
  EXPECT_EQ(append(*log, {.records = 2, .producer_id = 9, .sequence = 0}).fault, AppendFault::out_of_order_sequence);
  EXPECT_EQ(append(*log, {.records = 1, .producer_id = 9, .sequence = 10}).fault, AppendFault::out_of_order_sequence);
  EXPECT_EQ(append(*log, {.producer_id = 9, .producer_epoch = -1, .sequence = 12}).fault, AppendFault::invalid_producer_epoch);
  EXPECT_EQ(log->log_end_offset(), Offset{12});
  // A follower takes them as they come.
  ByteVector again = make_batch({.producer_id = 9, .sequence = 0, .base_offset = {12}, .leader_epoch = 0});
  EXPECT_EQ(log->append_as_follower(again).fault, AppendFault::none);
  EXPECT_EQ(log->log_end_offset(), Offset{13});
}

TEST(PartitionLog, AFaultWritesNothing) {
  World world;
  auto log = open_log(world, small_segments());
  append(*log, {.producer_id = 9, .transactional = true});
  const auto before = files_in(*world.fs);
  EXPECT_EQ(append(*log, {.producer_id = 9, .sequence = 1}).fault, AppendFault::invalid_txn_state);
  ByteVector marker = make_marker(9, 0, true, 5);
  EXPECT_EQ(log->append_as_leader(marker, {0}, AppendOrigin::coordinator).fault, AppendFault::none);
  ByteVector late = make_marker(9, 0, true, 4);
  EXPECT_EQ(log->append_as_leader(late, {0}, AppendOrigin::coordinator).fault, AppendFault::transaction_coordinator_fenced);
  EXPECT_EQ(log->log_end_offset(), Offset{2});
  EXPECT_NE(files_in(*world.fs), before);
}

TEST(PartitionLog, TheLastStableOffsetWaitsForTheOldestTransaction) {
  World world;
  auto log = open_log(world, small_segments());
  append(*log, {.producer_id = 1, .transactional = true});                 // 0
  append(*log, {.producer_id = 2, .transactional = true});                 // 1
  append(*log, {});                                                        // 2
  EXPECT_EQ(log->last_stable_offset(), Offset{0});
  EXPECT_TRUE(batches_in(log->read({{0}, ByteCount{1000}, true, ReadLimit::last_stable})->range).empty());
  append_marker(*log, 1, false);                                           // 3
  EXPECT_EQ(log->last_stable_offset(), Offset{1});
  append_marker(*log, 2, true);                                            // 4
  EXPECT_EQ(log->last_stable_offset(), Offset{5});
  const auto read = log->read({{0}, ByteCount{1000}, true, ReadLimit::last_stable}).value();
  EXPECT_EQ(read.aborted, (std::vector<AbortedTransaction>{{2, {1}}}));
  EXPECT_TRUE(log->read({{0}, ByteCount{1000}, true, ReadLimit::high_watermark})->aborted.empty());
}

TEST(PartitionLog, ATransactionIsUnstableUntilItsMarkerIsBelowTheWatermark) {
  World world;
  auto log = open_log(world, small_segments());
  append(*log, {.producer_id = 1, .transactional = true});
  ByteVector marker = make_marker(1, 0, false);
  log->append_as_leader(marker, {0}, AppendOrigin::coordinator);
  log->set_high_watermark({1});
  EXPECT_EQ(log->last_stable_offset(), Offset{0});
  log->set_high_watermark({2});
  EXPECT_EQ(log->last_stable_offset(), Offset{2});
}

TEST(PartitionLog, AnAbortedTransactionOverSeveralSegmentsIsListedInEach) {
  World world;
  auto log = open_log(world, small_segments());
  append(*log, {.producer_id = 1, .transactional = true});
  std::int32_t sequence = 1;
  while (log->segments().size() < 3) append(*log, {.producer_id = 1, .sequence = sequence++, .transactional = true});
  append_marker(*log, 1, true);
  const auto check = [](const PartitionLog& l) {
    for (const SegmentInfo& segment : l.segments()) {
      const auto read = l.read({segment.base_offset, ByteCount{1000}, true, ReadLimit::last_stable}).value();
      EXPECT_EQ(read.aborted, (std::vector<AbortedTransaction>{{1, {0}}})) << segment.base_offset.value;
    }
  };
  check(*log);
  // The same after a recovery, which makes the transaction index anew.
  auto recovered = open_log(world, small_segments(StopKind::unclean));
  recovered->set_high_watermark(recovered->log_end_offset());
  check(*recovered);
  EXPECT_EQ(recovered->last_stable_offset(), recovered->log_end_offset());
}

// --- followers ---

TEST(PartitionLog, FollowersTakeGapsAndReadAcrossThem) {
  World world;
  auto log = open_log(world, small_segments());
  for (std::int64_t offset = 0; offset < 60; offset += 2) {
    ASSERT_EQ(append_as_follower(*log, {offset}).fault, AppendFault::none);
  }
  EXPECT_GT(log->segments().size(), 2u);
  for (std::int64_t offset = 0; offset < 58; ++offset) {
    const auto headers = batches_in(log->read({{offset}, ByteCount{1}, true, ReadLimit::log_end})->range);
    ASSERT_EQ(headers.size(), 1u);
    EXPECT_EQ(headers[0].base_offset.value, (offset + 1) / 2 * 2);
  }
}

TEST(PartitionLog, FollowersRefuseOffsetsThatGoBack) {
  World world;
  auto log = open_log(world, small_segments());
  EXPECT_EQ(append_as_follower(*log, {5, 7, 9}).fault, AppendFault::none);
  EXPECT_EQ(log->log_end_offset(), Offset{10});
  const auto before = files_in(*world.fs);
  EXPECT_EQ(append_as_follower(*log, {9}).fault, AppendFault::offsets_out_of_order);
  EXPECT_EQ(append_as_follower(*log, {12, 11}).fault, AppendFault::offsets_out_of_order);
  ByteVector damaged = make_batch({.base_offset = {20}});
  damaged.back() ^= std::byte{1};
  EXPECT_EQ(log->append_as_follower(damaged).fault, AppendFault::offsets_out_of_order);
  EXPECT_EQ(files_in(*world.fs), before);
  // An incomplete batch at the end is cut off.
  ByteVector batch = make_batch({.base_offset = {10}});
  const ByteVector more = make_batch({.base_offset = {11}});
  batch.insert(batch.end(), more.begin(), more.end() - 1);
  EXPECT_EQ(log->append_as_follower(batch).last_offset, Offset{10});
  EXPECT_EQ(log->append_as_follower({}).fault, AppendFault::none);
  EXPECT_EQ(log->log_end_offset(), Offset{11});
}

TEST(PartitionLog, RelativeOffsetsBeyond32BitsRoll) {
  World world;
  auto log = open_log(world, small_segments());
  const std::int64_t far = std::int64_t{INT32_MAX} + 2;
  append_as_follower(*log, {0});
  append_as_follower(*log, {far});
  append_as_follower(*log, {far + 1});
  EXPECT_EQ(bases_of(*log), (std::vector<std::int64_t>{0, far}));
  EXPECT_TRUE(world.fs->exists(fmt::format("{}/{:020}.snapshot", kDirectory, far)).value());
}

TEST(PartitionLog, FollowersLearnEpochs) {
  World world;
  auto log = open_log(world, small_segments());
  append_as_follower(*log, {0, 1}, 3);
  append_as_follower(*log, {2}, 5);
  EXPECT_EQ(log->epochs(), (std::vector<EpochEntry>{{{3}, {0}}, {{5}, {2}}}));
  EXPECT_EQ(log->end_offset_for_epoch(3), (EpochEndOffset{3, {2}}));
  EXPECT_EQ(log->end_offset_for_epoch(5), (EpochEndOffset{5, {3}}));
  EXPECT_EQ(log->earliest_epoch(), (EpochEntry{{3}, {0}}));
}

// --- by time ---

TEST(PartitionLog, FindsRecordsByTime) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 10; ++i) append(*log, {.records = 10, .timestamp = {kTime.value + i * 10}});
  for (int target = -5; target < 100; ++target) {
    const auto found = log->find_by_timestamp({kTime.value + target}).value();
    ASSERT_TRUE(found) << target;
    EXPECT_EQ(found->offset.value, std::max(target, 0));
    EXPECT_EQ(found->timestamp.value, kTime.value + std::max(target, 0));
    EXPECT_EQ(found->epoch, LeaderEpoch{0});
  }
  EXPECT_FALSE(log->find_by_timestamp({kTime.value + 100}).value());
  EXPECT_EQ(log->find_max_timestamp().value()->offset, Offset{99});
  log->advance_log_start({55}).value();
  EXPECT_EQ(log->find_by_timestamp({kTime.value + 51}).value()->offset, Offset{55});
}

TEST(PartitionLog, FindsTheFirstOfEqualLargestTimes) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 40; ++i) append(*log, {.timestamp = {kTime.value + (i == 7 || i == 30 ? 1000 : i)}});
  EXPECT_EQ(log->find_max_timestamp().value()->offset, Offset{7});
  EXPECT_EQ(log->find_by_timestamp({kTime.value + 500}).value()->offset, Offset{7});
  World other;
  EXPECT_FALSE(open_log(other, small_segments())->find_max_timestamp().value());
}

// --- flush ---

TEST(PartitionLog, WhatLiesBelowTheLogStartNeedsNoRecovery) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 30; ++i) append(*log, {});
  log->flush_up_to(Offset{5}).value();
  log->advance_log_start(Offset{12}).value();
  EXPECT_EQ(log->recovery_point(), Offset{12});
  EXPECT_EQ(log->recovery_point_to_checkpoint(), Offset{12});
  log->flush_up_to(Offset{20}).value();
  EXPECT_EQ(log->recovery_point(), Offset{20});
}

TEST(PartitionLog, ARefusedAppendOverAGapLeavesTheActiveSegmentAtTheLogEnd) {
  World world;
  auto log = open_log(world, small_segments());
  BatchSpec spec;
  spec.producer_id = 1;
  spec.transactional = true;
  append(*log, spec);
  while (log->segments().front().size < ByteCount{900}) append(*log, {});
  const Offset end = log->log_end_offset();
  spec.base_offset = Offset{end.value + 5};
  spec.sequence = 1;
  spec.transactional = false;  // in the middle of its transaction
  spec.records = 10;
  EXPECT_EQ(log->append_as_follower(make_batch(spec)).fault, AppendFault::invalid_txn_state);
  EXPECT_EQ(log->segments().size(), 1U);
  EXPECT_EQ(append(*log, {}).base_offset, end);
}

TEST(PartitionLog, OnlyWhatWasFlushedMovesTheRecoveryPoint) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 30; ++i) append(*log, {});
  EXPECT_EQ(log->recovery_point(), Offset{0});
  const Offset second = log->segments()[1].base_offset;
  log->flush_up_to(second).value();
  EXPECT_EQ(log->recovery_point(), second);
  EXPECT_EQ(log->recovery_point_to_checkpoint(), second);
  log->flush().value();
  EXPECT_EQ(log->recovery_point(), Offset{30});
  // A roll at 30 would make the active segment a trusted one before its index files are synced.
  EXPECT_EQ(log->recovery_point_to_checkpoint(), Offset{29});
  EXPECT_EQ(log->last_flush_time(), world.clock.now());
  log->close_cleanly().value();
  EXPECT_EQ(log->recovery_point_to_checkpoint(), Offset{30});
}

TEST(PartitionLog, FlushMessagesFlushesBeforeTheAnswer) {
  World world;
  OpenOptions options = small_segments();
  options.config.flush_messages = 3;
  auto log = open_log(world, options);
  append(*log, {});
  append(*log, {});
  EXPECT_EQ(log->recovery_point(), Offset{0});
  append(*log, {});
  EXPECT_EQ(log->recovery_point(), Offset{3});
}

// --- stopping and starting ---

TEST(PartitionLog, ComesBackAfterACleanStop) {
  World world;
  std::vector<record::BatchHeader> batches;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 50; ++i) append(*log, {.records = 2, .timestamp = {kTime.value + i}});
    batches = read_all(*log, {0});
    log->close_cleanly().value();
    ByteVector batch = make_batch({});
    EXPECT_EQ(log->append_as_leader(batch, {0}, AppendOrigin::client).fault, AppendFault::storage_error);
  }
  const auto files = files_in(*world.fs);
  auto log = open_log(world, small_segments());
  EXPECT_EQ(read_all(*log, {0}), batches);
  EXPECT_EQ(log->log_end_offset(), Offset{100});
  EXPECT_EQ(log->recovery_point(), Offset{100});
  EXPECT_EQ(log->recovery().segments_recovered, 0);
  log->close_cleanly().value();
  EXPECT_EQ(files_in(*world.fs), files);
}

TEST(PartitionLog, RecoveryFromTheStartGivesTheSameFiles) {
  World world;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 50; ++i) append(*log, {.timestamp = {kTime.value + i * 7 % 20}, .producer_id = 3, .sequence = i});
    log->close_cleanly().value();
  }
  const auto files = files_in(*world.fs);
  RecoveryReport report;
  auto log = PartitionLog::open(world.environment(), kDirectory, {"t", PartitionId{0}}, small_segments(StopKind::unclean),
                                &report)
                 .value();
  EXPECT_EQ(report.segments_recovered, static_cast<std::int64_t>(log->segments().size()));
  EXPECT_EQ(report.bytes_cut, ByteCount{0});
  log->close_cleanly().value();
  EXPECT_EQ(files_in(*world.fs), files);
}

TEST(PartitionLog, RecoveryStartsInTheSegmentOfTheRecoveryPoint) {
  World world;
  std::vector<SegmentInfo> segments;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 50; ++i) append(*log, {});
    segments = log->segments();
    log->close_cleanly().value();
  }
  OpenOptions options = small_segments(StopKind::unclean);
  options.recovery_point_checkpoint = {segments[2].base_offset.value + 1};
  auto log = open_log(world, options);
  EXPECT_EQ(log->recovery().segments_recovered, static_cast<std::int64_t>(segments.size() - 2));
  EXPECT_EQ(log->recovery_point(), options.recovery_point_checkpoint);
}

TEST(PartitionLog, RecoveryCutsAtTheFirstBadBatch) {
  World world;
  std::vector<SegmentInfo> segments;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 50; ++i) append(*log, {});
    segments = log->segments();
    log->close_cleanly().value();
  }
  ASSERT_GT(segments.size(), 3u);
  const io::Path path = fmt::format("{}/{:020}.log", kDirectory, segments[1].base_offset.value);
  std::string content = content_of(*world.fs, path);
  const std::size_t size = make_batch({}).size();
  content[2 * size + 70] = static_cast<char>(content[2 * size + 70] ^ 4);  // in the third batch
  put(*world.fs, path, content);
  RecoveryReport report;
  auto log = PartitionLog::open(world.environment(), kDirectory, {"t", PartitionId{0}}, small_segments(StopKind::unclean),
                                &report)
                 .value();
  const std::int64_t cut_at = segments[1].base_offset.value + 2;
  EXPECT_EQ(log->log_end_offset(), Offset{cut_at});
  EXPECT_EQ(report.cut_at, Offset{cut_at});
  EXPECT_EQ(report.bytes_cut.value, static_cast<std::int64_t>(content.size() - 2 * size));
  EXPECT_FALSE(report.cut_reason.empty());
  EXPECT_EQ(log->segments().size(), 2u);
  EXPECT_EQ(static_cast<std::int64_t>(read_all(*log, {0}).size()), cut_at);
  EXPECT_EQ(append(*log, {}).base_offset, Offset{cut_at});
}

TEST(PartitionLog, ACleanStopWithATornTailKeepsTheBytesAndGoesOnInANewSegment) {
  World world;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 5; ++i) append(*log, {});
    log->close_cleanly().value();
  }
  const io::Path path = io::join(kDirectory, "00000000000000000000.log");
  const std::string content = content_of(*world.fs, path);
  put(*world.fs, path, content.substr(0, content.size() - 1));
  auto log = open_log(world, small_segments());
  EXPECT_EQ(log->log_end_offset(), Offset{4});
  EXPECT_TRUE(world.logger.contains("hold no whole batch"));
  EXPECT_TRUE(append(*log, {}).rolled);
  EXPECT_EQ(base_offsets(read_all(*log, {0})), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(content_of(*world.fs, path).size(), content.size() - 1);
  // Torn to nothing: no other segment can start at its base.
  World bare;
  put(*bare.fs, path, "torn");
  put(*bare.fs, io::join(kDirectory, "00000000000000000000.index"), "");
  auto torn = open_log(bare, small_segments());
  append(*torn, {});
  EXPECT_EQ(base_offsets(read_all(*torn, {0})), (std::vector<std::int64_t>{0}));
}

TEST(PartitionLog, ALogThatEndsBelowItsStartBeginsAnewThere) {
  World world;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 20; ++i) append(*log, {});
    log->close_cleanly().value();
  }
  OpenOptions options = small_segments();
  options.log_start_checkpoint = {25};
  auto log = open_log(world, options);
  EXPECT_EQ(log->log_start_offset(), Offset{25});
  EXPECT_EQ(log->log_end_offset(), Offset{25});
  EXPECT_EQ(bases_of(*log), (std::vector<std::int64_t>{25}));
  EXPECT_TRUE(log->epochs().empty());
  EXPECT_EQ(append(*log, {}).base_offset, Offset{25});
}

TEST(PartitionLog, LoadingClampsItsCheckpoints) {
  World world;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 20; ++i) append(*log, {});
    log->close_cleanly().value();
  }
  OpenOptions options = small_segments();
  options.log_start_checkpoint = {3};
  options.high_watermark_checkpoint = {1};
  EXPECT_EQ(open_log(world, options)->high_watermark(), Offset{3});
  options.high_watermark_checkpoint = {100};
  options.recovery_point_checkpoint = {100};
  options.last_stop = StopKind::unclean;
  auto log = open_log(world, options);
  EXPECT_EQ(log->high_watermark(), Offset{20});
  EXPECT_EQ(log->recovery_point(), Offset{20});
}

TEST(PartitionLog, IndexFilesWithoutALogAreRemovedAndLostOnesMadeAnew) {
  World world;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 30; ++i) append(*log, {});
    log->close_cleanly().value();
  }
  const auto files = files_in(*world.fs);
  put(*world.fs, io::join(kDirectory, "00000000000000000777.index"), "x");
  put(*world.fs, io::join(kDirectory, "00000000000000000777.timeindex"), "x");
  world.fs->remove_file(io::join(kDirectory, "00000000000000000000.index")).value();
  open_log(world, small_segments())->close_cleanly().value();
  EXPECT_EQ(files_in(*world.fs), files);
}

// --- truncation ---

TEST(PartitionLog, TruncatesToAnyOffset) {
  for (std::int64_t target = 0; target <= 30; ++target) {
    World world;
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 15; ++i) {
      append(*log, {.records = 2, .timestamp = {kTime.value + i}, .producer_id = 1, .sequence = i * 2}, AppendOrigin::client,
             {i / 5});
    }
    log->truncate_to({target}).value();
    EXPECT_EQ(log->log_end_offset(), Offset{target});
    EXPECT_LE(log->high_watermark(), Offset{target});
    EXPECT_LE(log->recovery_point(), Offset{target});
    // A target inside a batch takes the batch along.
    EXPECT_EQ(static_cast<std::int64_t>(read_all(*log, {0}).size()), target / 2);
    for (const EpochEntry& entry : log->epochs()) EXPECT_LT(entry.start_offset, Offset{target});
    const AppendResult result = append(*log, {.timestamp = {kTime.value + 100}});
    EXPECT_EQ(result.base_offset, Offset{target});
    EXPECT_EQ(log->find_max_timestamp().value()->offset, Offset{target});
    const auto expected = read_all(*log, {0});
    log->close_cleanly().value();
    EXPECT_EQ(read_all(*open_log(world, small_segments()), {0}), expected);
  }
}

TEST(PartitionLog, TruncationForgetsProducersBehindIt) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 10; ++i) append(*log, {.timestamp = world.clock.now(), .producer_id = 1, .sequence = i});
  append(*log, {.timestamp = world.clock.now(), .producer_id = 2, .transactional = true});
  EXPECT_EQ(log->last_stable_offset(), Offset{10});
  log->truncate_to({6}).value();
  ASSERT_EQ(log->active_producers().size(), 1u);
  EXPECT_EQ(log->active_producers()[0].last_sequence(), 5);
  EXPECT_EQ(append(*log, {.producer_id = 1, .sequence = 6}).fault, AppendFault::none);
  EXPECT_EQ(log->last_stable_offset(), Offset{7});
}

TEST(PartitionLog, TruncatesBelowItsFirstSegmentAndFully) {
  World world;
  auto log = open_log(world, small_segments());
  log->truncate_fully_and_start_at({100}).value();
  for (int i = 0; i < 20; ++i) append(*log, {});
  log->truncate_to({50}).value();
  EXPECT_EQ(log->log_start_offset(), Offset{50});
  EXPECT_EQ(log->log_end_offset(), Offset{50});
  EXPECT_EQ(log->high_watermark(), Offset{50});
  EXPECT_TRUE(log->epochs().empty());
  EXPECT_EQ(content_of(*world.fs, io::join(kDirectory, "leader-epoch-checkpoint")), "0\n0\n");
  EXPECT_EQ(append(*log, {}).base_offset, Offset{50});
  EXPECT_FALSE(log->truncate_to({-1}));
  EXPECT_FALSE(log->truncate_fully_and_start_at({-1}));
  log->truncate_to({500}).value();
  EXPECT_EQ(log->log_end_offset(), Offset{51});
}

// --- the rest of a life ---

TEST(PartitionLog, TheLogStartMovesUpOnlyAndNotBeyondTheWatermark) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 10; ++i) append(*log, {}, AppendOrigin::client, {i / 4});
  EXPECT_EQ(log->advance_log_start({11}).error().code, Errc::out_of_range);
  log->advance_log_start({6}).value();
  log->advance_log_start({3}).value();
  EXPECT_EQ(log->log_start_offset(), Offset{6});
  EXPECT_EQ(log->earliest_epoch(), (EpochEntry{{1}, {6}}));
}

TEST(PartitionLog, ARenamedDirectoryIsReadFromAndNotWrittenTo) {
  World world;
  auto log = open_log(world, small_segments());
  for (int i = 0; i < 30; ++i) append(*log, {});
  log->rename_directory("/data/t-0.abc-delete").value();
  EXPECT_EQ(log->directory(), "/data/t-0.abc-delete");
  EXPECT_EQ(read_all(*log, {0}).size(), 30u);
  ByteVector batch = make_batch({});
  EXPECT_EQ(log->append_as_leader(batch, {0}, AppendOrigin::client).fault, AppendFault::storage_error);
  world.fs->remove_directory_tree("/data/t-0.abc-delete").value();
  EXPECT_TRUE(log->flush().has_value()) << "a deleted log is no failure of the disk";
}

TEST(PartitionLog, AnAbruptlyClosedLogRefusesEverything) {
  World world;
  auto log = open_log(world, small_segments());
  append(*log, {});
  log->close_abruptly();
  ByteVector batch = make_batch({});
  const AppendResult result = log->append_as_leader(batch, {0}, AppendOrigin::client);
  EXPECT_EQ(result.fault, AppendFault::storage_error);
  EXPECT_EQ(result.error->code, Errc::closed);
  EXPECT_EQ(log->read({{0}, ByteCount{1}, true, ReadLimit::log_end}).error().code, Errc::closed);
  EXPECT_EQ(log->flush().error().code, Errc::closed);
  EXPECT_EQ(log->close_cleanly().error().code, Errc::closed);
  EXPECT_EQ(log->truncate_to({0}).error().code, Errc::closed);
  EXPECT_EQ(log->advance_log_start({0}).error().code, Errc::closed);
  EXPECT_EQ(log->find_by_timestamp({0}).error().code, Errc::closed);
}

TEST(PartitionLog, TheMetadataLogKeepsFullIndexFiles) {
  World world;
  OpenOptions options = small_segments(StopKind::unclean);
  options.is_metadata_log = true;
  auto log = open_log(world, options);
  append_as_follower(*log, {0, 1}, 1);
  log->close_cleanly().value();
  EXPECT_EQ(content_of(*world.fs, io::join(kDirectory, "00000000000000000000.index")).size(), 1000u);
  EXPECT_EQ(content_of(*world.fs, io::join(kDirectory, "00000000000000000000.timeindex")).size(), 996u);
  EXPECT_EQ(content_of(*world.fs, io::join(kDirectory, "00000000000000000002.snapshot")).size(), 10u);
  EXPECT_EQ(open_log(world, options)->log_end_offset(), Offset{2});
}

TEST(PartitionLog, AConfigCountsFromTheNextAppend) {
  World world;
  auto log = open_log(world, small_segments());
  append(*log, {});
  LogConfig config = log->config();
  config.segment_bytes = {100};
  log->update_config(config);
  EXPECT_EQ(log->config(), config);
  EXPECT_TRUE(append(*log, {}).rolled);
}

}  // namespace
}  // namespace cordwood::storage
