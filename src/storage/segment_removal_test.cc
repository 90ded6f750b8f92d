// How segments leave a log: *.deleted at once, gone after file.delete.delay.ms; readers and crashes meanwhile.

#include <gmock/gmock.h>

#include "base/executor.h"
#include "storage/log_manager.h"
#include "storage/log_testing.h"
#include "storage/segment.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Not;

constexpr DurationMs kDelay{60'000};

// Segments at 0, 2, 4, 6: two batches of 400 bytes each.
void fill(PartitionLog& log) {
  for (int i = 0; i < 8; ++i) {
    ByteVector batch = make_batch_of_size(400);
    ASSERT_EQ(log.append_as_leader(batch, {0}, AppendOrigin::client).fault, AppendFault::none);
  }
  log.set_high_watermark(log.log_end_offset());
  ASSERT_EQ(log.segments().size(), 4U);
}

std::vector<std::string> deleted_in(io::FileSystem& fs, const io::Path& directory = kDirectory) {
  std::vector<std::string> names;
  for (const std::string& name : names_in(fs, directory)) {
    if (name.ends_with(".deleted")) names.push_back(name);
  }
  return names;
}

TEST(SegmentRemoval, RenamesAtOnceAndDeletesLater) {
  World world;
  auto log = open_log(world, small_segments());
  fill(*log);
  const FileRange held = log->read({Offset{6}, ByteCount{10'000}}).value().range;
  ASSERT_EQ(held.size, ByteCount{800});
  log->truncate_to({4}).value();

  const std::vector<std::string> expected = {
      "00000000000000000006.index.deleted",    "00000000000000000006.log.deleted",
      "00000000000000000006.snapshot.deleted", "00000000000000000006.timeindex.deleted",
  };
  EXPECT_EQ(deleted_in(*world.fs), expected);
  ASSERT_EQ(log->retired_files().size(), 1U);
  EXPECT_EQ(log->retired_files()[0].due, world.clock.monotonic() + to_ns(kDelay));

  world.clock.advance(kDelay - DurationMs{1});
  log->remove_retired_files().value();
  EXPECT_EQ(deleted_in(*world.fs), expected);
  EXPECT_EQ(batches_in(held).size(), 2U);

  world.clock.advance({1});
  log->remove_retired_files().value();
  EXPECT_TRUE(deleted_in(*world.fs).empty());
  EXPECT_TRUE(log->retired_files().empty());
  // The descriptor that the range holds outlives the name.
  EXPECT_EQ(batches_in(held).size(), 2U);
}

TEST(SegmentRemoval, WhatLiesWhollyBelowTheLogStartGoes) {
  World world;
  OpenOptions options = small_segments();
  options.config.cleanup_delete = false;
  {
    auto log = open_log(world, options);
    fill(*log);
    log->apply_retention(world.clock.now()).value();
    EXPECT_EQ(log->segments().size(), 4U);
    // Offset 3 is the last one of the second segment: the first one goes alone.
    log->advance_log_start({3}).value();
    log->apply_retention(world.clock.now()).value();
    EXPECT_EQ(log->segments().front().base_offset, Offset{2});
    log->advance_log_start({4}).value();
    log->apply_retention(world.clock.now()).value();
    EXPECT_EQ(log->segments().front().base_offset, Offset{4});
    EXPECT_EQ(log->log_start_offset(), Offset{4});
    EXPECT_EQ(read_all(*log, {4}).size(), 4U);
    // Never the active one.
    log->advance_log_start({8}).value();
    log->apply_retention(world.clock.now()).value();
    EXPECT_EQ(log->segments().size(), 1U);
    world.clock.advance(kDelay);
    log->remove_retired_files().value();
    EXPECT_TRUE(deleted_in(*world.fs).empty());
    log->close_cleanly().value();
  }
  EXPECT_EQ(open_log(world, options)->log_start_offset(), Offset{6});
}

TEST(SegmentRemoval, TheSameNameMayGoTwice) {
  World world;
  auto log = open_log(world, small_segments());
  fill(*log);
  log->truncate_fully_and_start_at({0}).value();
  fill(*log);
  world.clock.advance(DurationMs{30'000});
  log->truncate_fully_and_start_at({0}).value();
  fill(*log);
  EXPECT_EQ(log->retired_files().size(), 2U);
  world.clock.advance(kDelay);
  log->remove_retired_files().value();
  EXPECT_TRUE(deleted_in(*world.fs).empty());
  EXPECT_EQ(read_all(*log, {0}).size(), 8U);
}

TEST(SegmentRemoval, AReaderOpensARetiredSegmentUnderItsNewName) {
  World world;
  {
    auto log = open_log(world, small_segments());
    fill(*log);
    log->close_cleanly().value();
  }
  Segment::Settings settings = Segment::Settings::from(small_segments().config, world.random, nullptr);
  std::shared_ptr<Segment> segment =
      Segment::open(*world.fs, kDirectory, {2}, settings, world.clock.now(), {true, true, false}).value();
  segment->change_suffix(".deleted").value();
  EXPECT_THAT(segment->path_of(".log"), EndsWith("00000000000000000002.log.deleted"));
  EXPECT_THAT(names_in(*world.fs), Not(Contains("00000000000000000002.log")));
  const auto batch = segment->find_batch({3}, FilePosition{800}).value();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->position, FilePosition{400});
  EXPECT_EQ(segment->max_timestamp().value().timestamp, TimestampMs{1'700'000'000'000});
}

TEST(SegmentRemoval, TheManagerDeletesWhenItIsTime) {
  World world;
  ManualExecutor executor(world.clock);
  LogManagerOptions options;
  options.log_dirs = {"/d1"};
  auto manager = LogManager::open(world.environment(), options).value();
  manager->load({}).value();
  manager->start_background(executor);
  auto log = manager->get_or_create({"t", {0}}, {7, 7}, small_segments().config).value();
  fill(*log);
  log->truncate_to({2}).value();
  EXPECT_FALSE(deleted_in(*world.fs, "/d1/t-0").empty());
  world.clock.advance(kDelay - DurationMs{1});
  executor.run_ready();
  EXPECT_FALSE(deleted_in(*world.fs, "/d1/t-0").empty());
  world.clock.advance({1});
  executor.run_ready();
  EXPECT_TRUE(deleted_in(*world.fs, "/d1/t-0").empty());
  manager->shut_down(1).value();
}

TEST(SegmentRemoval, LeftOversGoAtTheNextLoad) {
  World world;
  {
    auto log = open_log(world, small_segments());
    fill(*log);
    log->truncate_to({2}).value();
    log->close_cleanly().value();
  }
  EXPECT_FALSE(deleted_in(*world.fs).empty());
  auto log = open_log(world, small_segments());
  EXPECT_TRUE(deleted_in(*world.fs).empty());
  EXPECT_EQ(log->log_end_offset(), Offset{2});
}

}  // namespace
}  // namespace cordwood::storage
