// Retention of a whole log: what goes, in which order, what readers and a restart see.

#include <gmock/gmock.h>

#include "base/executor.h"
#include "io/faulty_file_system.h"
#include "storage/checkpoint_file.h"
#include "storage/log_manager.h"
#include "storage/log_testing.h"
#include "storage/segment.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr TimestampMs kStart{1'700'000'000'000};

OpenOptions options_with(std::int64_t retention_ms, std::int64_t retention_bytes = -1) {
  OpenOptions options = small_segments();
  options.config.retention_ms = {retention_ms};
  options.config.retention_bytes = {retention_bytes};
  return options;
}

// Two batches of 400 bytes a segment, one batch a second from kStart on.
void fill(PartitionLog& log, int batches = 8) {
  for (int i = 0; i < batches; ++i) {
    BatchSpec spec;
    spec.timestamp = {kStart.value + log.log_end_offset().value * 1000};
    ByteVector batch = make_batch_of_size(400, spec);
    ASSERT_EQ(log.append_as_leader(batch, {0}, AppendOrigin::client).fault, AppendFault::none);
  }
  log.set_high_watermark(log.log_end_offset());
}

std::vector<std::int64_t> bases(const PartitionLog& log) {
  std::vector<std::int64_t> result;
  for (const SegmentInfo& segment : log.segments()) result.push_back(segment.base_offset.value);
  return result;
}

using Bases = std::vector<std::int64_t>;

TEST(LogRetention, RemovesOldSegmentsFromTheFront) {
  World world;
  auto log = open_log(world, options_with(10'000));
  fill(*log);
  ASSERT_EQ(bases(*log), (Bases{0, 2, 4, 6}));
  world.clock.set({kStart.value + 11'000});  // the record at second 1 is exactly ten seconds old
  EXPECT_FALSE(log->retention_due(world.clock.now()).value());
  EXPECT_TRUE(log->apply_retention(world.clock.now()).value().empty());
  world.clock.set({kStart.value + 13'001});
  EXPECT_TRUE(log->retention_due(world.clock.now()).value());
  const auto gone = log->apply_retention(world.clock.now()).value();
  ASSERT_EQ(gone.size(), 2U);
  EXPECT_EQ(gone[1].segment.base_offset, Offset{2});
  EXPECT_EQ(gone[1].rule, RetentionRule::time);
  EXPECT_EQ(bases(*log), (Bases{4, 6}));
  EXPECT_EQ(log->log_start_offset(), Offset{4});
  EXPECT_EQ(log->epochs(), (std::vector<EpochEntry>{{0, {4}}}));
  EXPECT_EQ(log->read({Offset{3}, ByteCount{100}}).error().code, Errc::out_of_range);
  EXPECT_EQ(read_all(*log, {4}).size(), 4U);
  EXPECT_EQ(log->size(), ByteCount{1600});
  EXPECT_THAT(names_in(*world.fs), Contains("00000000000000000002.log.deleted"));
  EXPECT_THAT(names_in(*world.fs), Contains("00000000000000000002.snapshot.deleted"));
  EXPECT_THAT(names_in(*world.fs), Contains("00000000000000000004.snapshot"));
  EXPECT_THAT(world.logger.lines(), Contains(HasSubstr("retention: t-0: segment 2 (offsets 2 to 3, 800 bytes) goes")));
}

TEST(LogRetention, RollsAnExpiredActiveSegment) {
  World world;
  auto log = open_log(world, options_with(10'000));
  fill(*log, 3);
  std::optional<Offset> rolled;
  log->on_roll([&](Offset base) { rolled = base; });
  world.clock.set({kStart.value + 3'600'000});
  const auto gone = log->apply_retention(world.clock.now()).value();
  ASSERT_EQ(gone.size(), 2U);
  EXPECT_TRUE(gone[1].segment.active);
  EXPECT_EQ(rolled, Offset{3});
  EXPECT_EQ(bases(*log), Bases{3});
  EXPECT_EQ(log->log_start_offset(), Offset{3});
  EXPECT_EQ(log->log_end_offset(), Offset{3});
  EXPECT_TRUE(log->apply_retention(world.clock.now()).value().empty());
  EXPECT_EQ(append(*log, {}).base_offset, Offset{3});
}

TEST(LogRetention, SizeTakesTheActiveSegmentOnlyWhenNothingMayStay) {
  World world;
  auto log = open_log(world, options_with(-1, 1));
  fill(*log);
  EXPECT_EQ(log->apply_retention(world.clock.now()).value().size(), 3U);
  EXPECT_EQ(bases(*log), Bases{6});
  LogConfig config = log->config();
  config.retention_bytes = {0};
  log->update_config(config);  // acts at the next check
  EXPECT_EQ(log->apply_retention(world.clock.now()).value().size(), 1U);
  EXPECT_EQ(bases(*log), Bases{8});
}

TEST(LogRetention, NeverPassesTheHighWatermark) {
  World world;
  auto log = open_log(world, options_with(1000));
  for (int i = 0; i < 6; ++i) {
    BatchSpec spec;
    ByteVector batch = make_batch_of_size(400, spec);
    ASSERT_EQ(log->append_as_leader(batch, {0}, AppendOrigin::client).fault, AppendFault::none);
  }
  log->set_high_watermark({3});
  world.clock.advance(DurationMs{100'000});
  EXPECT_EQ(log->apply_retention(world.clock.now()).value().size(), 1U);
  EXPECT_EQ(log->log_start_offset(), Offset{2});
}

// An append has moved the end and not yet the high watermark: of that moment nothing is said, unless the rule would take it.
TEST(LogRetention, ComplainsOfTheHighWatermarkOnlyWhereTimeIsUp) {
  World world;
  world.clock.set(kStart);
  auto log = open_log(world, options_with(10'000));
  fill(*log, 1);
  BatchSpec spec;
  spec.timestamp = kStart;
  ByteVector batch = make_batch_of_size(400, spec);
  ASSERT_EQ(log->append_as_leader(batch, {0}, AppendOrigin::client).fault, AppendFault::none);
  ASSERT_LT(log->high_watermark(), log->log_end_offset());
  const auto complaint = HasSubstr("active segment 0 (offsets 0 to 1, 800 bytes) stays, though the time rule would take it");
  EXPECT_FALSE(log->retention_due(world.clock.now()).value());
  EXPECT_THAT(world.logger.lines(), Not(Contains(HasSubstr("stays"))));
  world.clock.set({kStart.value + 10'001});
  EXPECT_FALSE(log->retention_due(world.clock.now()).value());
  EXPECT_THAT(world.logger.lines(), Contains(complaint));
}

TEST(LogRetention, TheFileTimeCountsWhereNoRecordHasATime) {
  World world;
  auto log = open_log(world, options_with(10'000));
  BatchSpec spec;
  spec.timestamp = kNoTimestamp;
  for (int i = 0; i < 4; ++i) {
    ByteVector batch = make_batch_of_size(400, spec);
    ASSERT_EQ(log->append_as_leader(batch, {0}, AppendOrigin::client).fault, AppendFault::none);
    world.clock.advance(DurationMs{1000});
  }
  log->set_high_watermark({4});
  world.clock.set({kStart.value + 11'000});  // segment 0 was last written at second 1
  EXPECT_FALSE(log->retention_due(world.clock.now()).value());
  world.clock.advance(DurationMs{1});
  EXPECT_EQ(log->explain_retention(world.clock.now()).value()[0].segment.timestamp_source, TimestampSource::file);
  EXPECT_EQ(log->apply_retention(world.clock.now()).value().size(), 1U);
}

TEST(LogRetention, DeletedRecordsGoAtTheNextCheckWhateverThePolicy) {
  World world;
  OpenOptions options = options_with(0, 0);
  options.config.cleanup_delete = false;
  options.config.cleanup_compact = true;
  auto log = open_log(world, options);
  fill(*log);
  log->advance_log_start({5}).value();
  EXPECT_EQ(bases(*log), (Bases{0, 2, 4, 6}));
  const auto gone = log->apply_retention({kStart.value + 99'000'000}).value();
  ASSERT_EQ(gone.size(), 2U);
  EXPECT_EQ(gone[0].rule, RetentionRule::log_start);
  EXPECT_EQ(bases(*log), (Bases{4, 6}));
  EXPECT_EQ(log->log_start_offset(), Offset{5});
  EXPECT_EQ(log->first_segment_base(), Offset{4});
}

TEST(LogRetention, ExplainsEachSegmentAndChangesNothing) {
  World world;
  OpenOptions options = options_with(10'000, 2000);
  options.config.retention_bytes_source = SettingSource::topic;
  auto log = open_log(world, options);
  fill(*log);
  const TimestampMs now{kStart.value + 12'500};
  const auto verdicts = log->explain_retention(now).value();
  ASSERT_EQ(verdicts.size(), 4U);
  EXPECT_TRUE(verdicts[0].goes);
  EXPECT_EQ(verdicts[0].rule, RetentionRule::size);
  EXPECT_EQ(verdicts[0].limits.retention_bytes_source, SettingSource::topic);
  EXPECT_EQ(verdicts[1].hold, RetentionHold::within_limits);
  EXPECT_EQ(verdicts[1].goes_at, TimestampMs{kStart.value + 13'001});
  EXPECT_EQ(verdicts[1].goes_after, ByteCount{400});
  EXPECT_EQ(verdicts[3].hold, RetentionHold::behind_older);
  EXPECT_TRUE(verdicts[3].segment.active);
  EXPECT_EQ(bases(*log).size(), 4U);
  // What was explained is what happens.
  const auto gone = log->apply_retention(now).value();
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(describe(gone[0]), describe(verdicts[0]));
}

TEST(LogRetention, AFutureRecordIsNamedOncePerHour) {
  World world;
  auto log = open_log(world, options_with(10'000));
  BatchSpec spec;
  spec.timestamp = {kStart.value * 1000};  // microseconds
  ByteVector batch = make_batch_of_size(400, spec);
  ASSERT_EQ(log->append_as_leader(batch, {0}, AppendOrigin::client).fault, AppendFault::none);
  fill(*log, 5);
  world.clock.advance(DurationMs{1'000'000});
  const auto warnings = [&] {
    std::size_t count = 0;
    for (const std::string& line : world.logger.lines()) {
      if (line.find("looks like microseconds") != std::string::npos) ++count;
    }
    return count;
  };
  EXPECT_FALSE(log->retention_due(world.clock.now()).value());
  EXPECT_EQ(warnings(), 1U);
  world.clock.advance(DurationMs{3'599'999});
  EXPECT_FALSE(log->retention_due(world.clock.now()).value());
  EXPECT_EQ(warnings(), 1U);
  world.clock.advance(DurationMs{1});
  EXPECT_FALSE(log->retention_due(world.clock.now()).value());
  EXPECT_EQ(warnings(), 2U);
}

TEST(LogRetention, ReadersOfWhatGoesReadOn) {
  World world;
  OpenOptions options = options_with(1000);
  options.config.file_delete_delay_ms = {0};
  auto log = open_log(world, options);
  fill(*log);
  const FileRange held = log->read({Offset{0}, ByteCount{10'000}}).value().range;
  world.clock.advance(DurationMs{100'000});
  EXPECT_EQ(log->apply_retention(world.clock.now()).value().size(), 4U);
  log->remove_retired_files().value();
  EXPECT_THAT(names_in(*world.fs), Not(Contains("00000000000000000000.log.deleted")));
  EXPECT_EQ(batches_in(held).size(), 2U);
}

TEST(LogRetention, TheManagerChecksWhenItIsTime) {
  World world;
  ManualExecutor executor(world.clock);
  LogManagerOptions options;
  options.log_dirs = {"/d1"};
  options.initial_task_delay = {7'000};
  options.retention_check_interval = {20'000};
  auto manager = LogManager::open(world.environment(), options).value();
  manager->load({}).value();
  manager->start_background(executor);
  auto log = manager->get_or_create({"t", {0}}, {7, 7}, options_with(-1).config).value();
  fill(*log);
  log->advance_log_start({5}).value();
  world.clock.advance(DurationMs{6'999});
  executor.run_ready();
  EXPECT_EQ(bases(*log).size(), 4U);
  world.clock.advance(DurationMs{1});
  executor.run_ready();
  EXPECT_EQ(bases(*log), (Bases{4, 6}));
  // A change of the settings acts at the next check.
  LogConfig config = log->config();
  config.retention_ms = {5'000};
  log->update_config(config);
  world.clock.advance(DurationMs{20'000});
  executor.run_ready();
  EXPECT_EQ(bases(*log), Bases{8});
  manager->shut_down(1).value();
}

TEST(LogRetention, SurvivesAFailureAtAnyCall) {
  for (std::int64_t n = 1;; ++n) {
    World world;
    io::FaultyFileSystem faulty(*world.memory);
    world.fs = &faulty;
    auto log = open_log(world, options_with(10'000));
    fill(*log);
    log->flush().value();
    world.clock.set({kStart.value + 13'001});
    io::Fault fault;
    fault.fail_at = n;
    faulty.arm(fault);
    const auto gone = log->apply_retention(world.clock.now());
    const bool failed = faulty.has_failed();
    EXPECT_EQ(gone.has_value(), !failed);
    faulty.disarm();
    log->close_abruptly();
    log.reset();
    OpenOptions again = options_with(10'000);
    again.last_stop = StopKind::unclean;
    auto reopened = open_log(world, again);
    EXPECT_EQ(reopened->log_end_offset(), Offset{8});
    EXPECT_LE(reopened->log_start_offset(), Offset{4});
    EXPECT_EQ(read_all(*reopened, {4}).size(), 4U);
    if (!failed) break;
  }
}

// The numbers of a well-known teaching example, each size times ten.
TEST(TeachingExample, HasItsNumbers) {
  World world;
  OpenOptions options;
  options.last_stop = StopKind::clean;
  options.config.segment_bytes = {3000};
  options.config.index_interval_bytes = {800};
  options.config.segment_index_bytes = {1200};
  options.config.segment_ms = {30'000};
  options.config.retention_ms = {-1};
  auto log = open_log(world, options);
  const auto at_second = [](std::int64_t second) { return TimestampMs{kStart.value + second * 1000}; };
  const auto append_at = [&](std::size_t size, std::int64_t second) {
    world.clock.set(at_second(second));
    BatchSpec spec;
    spec.timestamp = at_second(second);
    ByteVector batch = make_batch_of_size(size, spec);
    const AppendResult result = log->append_as_leader(batch, {0}, AppendOrigin::client);
    ASSERT_EQ(result.fault, AppendFault::none);
    log->set_high_watermark(log->log_end_offset());
  };
  std::int64_t second = 0;
  for (std::size_t size : {40, 50, 35, 55, 45, 45, 70, 45, 35, 60, 65, 40, 40, 60, 50, 60, 45, 50, 60}) {
    append_at(size * 10, second += 2);
  }
  EXPECT_EQ(bases(*log), (Bases{0, 6, 11, 17}));
  EXPECT_EQ(log->size(), ByteCount{9500});

  const auto offsets = [&](std::int64_t base) {
    return OffsetIndex::open(*world.fs, io::join(kDirectory, fmt::format("{:020}.index", base)), {base}, ByteCount{1200},
                             OffsetIndex::Growth::as_it_is).value();
  };
  const auto times = [&](std::int64_t base) {
    return TimeIndex::open(*world.fs, io::join(kDirectory, fmt::format("{:020}.timeindex", base)), {base}, ByteCount{1200},
                           OffsetIndex::Growth::as_it_is).value();
  };
  EXPECT_EQ(offsets(6)->entry(0), (IndexEntry{Offset{8}, FilePosition{1150}}));
  EXPECT_EQ(times(6)->entry(0), (TimeEntry{at_second(18), Offset{8}}));
  // Offset 9: from the entry of offset 8 over its 350 bytes.
  EXPECT_EQ(offsets(6)->lookup({9}).position, FilePosition{1150});
  EXPECT_EQ(log->read({Offset{9}, ByteCount{100'000}}).value().range.position, FilePosition{1500});
  // Second 31.
  EXPECT_EQ(times(11)->lookup(at_second(31)), (TimeEntry{at_second(30), Offset{14}}));
  EXPECT_EQ(offsets(11)->lookup({14}).position, FilePosition{1400});
  const auto found = log->find_by_timestamp(at_second(31)).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, Offset{15});
  EXPECT_EQ(found->timestamp, at_second(32));

  options.config.retention_bytes = {6000};
  log->update_config(options.config);
  EXPECT_EQ(log->apply_retention(world.clock.now()).value().size(), 1U);
  EXPECT_EQ(bases(*log), (Bases{6, 11, 17}));
  EXPECT_EQ(log->size(), ByteCount{6800});

  append_at(300, second += 2);
  EXPECT_EQ(log->segments().back().size, ByteCount{1400});
  append_at(400, second += 40);
  EXPECT_EQ(bases(*log), (Bases{6, 11, 17, 20}));
  EXPECT_EQ(log->segments()[2].size, ByteCount{1400});
}

}  // namespace
}  // namespace cordwood::storage
