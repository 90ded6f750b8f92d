// Segments whose offsets passed the range of their indexes are split at load, crash-safely.
#include <algorithm>

#include "io/faulty_file_system.h"
#include "storage/directory_files.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

constexpr std::int64_t kRange = std::int64_t{1} << 31;

void put_segment(World& world, Offset base, const std::vector<std::int64_t>& offsets) {
  std::string content;
  for (std::int64_t offset : offsets) {
    content += as_text(make_batch({.timestamp = {1000 + offset % 100}, .base_offset = {offset}, .leader_epoch = 0}));
  }
  put(*world.fs, io::join(kDirectory, segment_file_name(base, ".log")), content);
  world.memory->sync_everything();
}

std::vector<std::int64_t> offsets_of(const PartitionLog& log) {
  std::vector<std::int64_t> offsets;
  for (const record::BatchHeader& header : read_all(log, log.log_start_offset())) offsets.push_back(header.base_offset.value);
  return offsets;
}

std::vector<std::int64_t> bases_of(const PartitionLog& log) {
  std::vector<std::int64_t> bases;
  for (const SegmentInfo& segment : log.segments()) bases.push_back(segment.base_offset.value);
  return bases;
}

using Numbers = std::vector<std::int64_t>;

TEST(SegmentSplit, EachNewSegmentStartsAtItsFirstBatch) {
  World world;
  const Numbers offsets = {0, 5, kRange - 1, kRange, kRange + 2, 2 * kRange + 10};
  put_segment(world, {0}, offsets);
  auto log = open_log(world, small_segments(StopKind::unclean));
  EXPECT_EQ(bases_of(*log), (Numbers{0, kRange, 2 * kRange + 10}));
  EXPECT_EQ(offsets_of(*log), offsets);
  EXPECT_EQ(log->log_end_offset(), Offset{2 * kRange + 11});
  ASSERT_FALSE(log->recovery().verdicts.empty());
  EXPECT_TRUE(std::ranges::any_of(log->recovery().verdicts,
                                  [](const RecoveryVerdict& v) { return v.action == RecoveryAction::split; }));
  for (const std::string& name : names_in(*world.fs)) {
    EXPECT_FALSE(name.ends_with(".swap") || name.ends_with(".cleaned") || name.ends_with(".deleted")) << name;
  }
  log->close_cleanly().value();
  auto again = open_log(world, small_segments(StopKind::unclean));
  EXPECT_EQ(offsets_of(*again), offsets);
}

TEST(SegmentSplit, ASegmentWhoseFirstBatchDoesNotFitIsReplacedAsWell) {
  World world;
  put_segment(world, {7}, {kRange + 100, kRange + 101});
  auto log = open_log(world, small_segments(StopKind::unclean));
  EXPECT_EQ(bases_of(*log), (Numbers{kRange + 100}));
  EXPECT_EQ(offsets_of(*log), (Numbers{kRange + 100, kRange + 101}));
}

TEST(SegmentSplit, ADamagedOffsetIsNoOverflow) {
  World world;
  put_segment(world, {0}, {0, 1, kRange + 2, 3, 4});
  auto log = open_log(world, small_segments(StopKind::unclean));
  EXPECT_EQ(offsets_of(*log), (Numbers{0, 1}));
  EXPECT_EQ(log->recovery().verdicts.back().finding, RecoveryFinding::hole);
}

TEST(SegmentSplit, ACrashAtAnyCallLeavesOneOrTheOther) {
  const Numbers offsets = {0, 1, kRange + 5, kRange + 6, 2 * kRange + 9};
  std::int64_t calls = 1;
  for (;; ++calls) {
    World world;
    put_segment(world, {0}, offsets);
    io::FaultyFileSystem faulty(*world.memory);
    world.fs = &faulty;
    faulty.arm({.fail_at = calls, .repeat = io::Fault::Repeat::from_then_on});
    PartitionLog::open(world.environment(), kDirectory, {"t", PartitionId{0}}, small_segments(StopKind::unclean)).has_value();
    const bool failed = faulty.has_failed();
    world.fs = world.memory.get();
    if (!failed) break;
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      World after;
      after.memory = seed == 0 ? world.memory->process_crash_clone() : world.memory->crash_clone(seed);
      after.fs = after.memory.get();
      auto log = open_log(after, small_segments(StopKind::unclean));
      ASSERT_EQ(offsets_of(*log), offsets) << "call " << calls << ", seed " << seed;
      ASSERT_EQ(bases_of(*log), (Numbers{0, kRange + 5, 2 * kRange + 9})) << "call " << calls;
    }
  }
  EXPECT_GT(calls, 40);
}

}  // namespace
}  // namespace cordwood::storage
