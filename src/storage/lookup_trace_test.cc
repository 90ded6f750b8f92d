#include "storage/lookup_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using testing_support::append;
using testing_support::open_log;
using testing_support::World;
using ::testing::HasSubstr;

struct TracedLog {
  World world;
  std::shared_ptr<PartitionLog> log;
  explicit TracedLog(int batches, std::int64_t segment_bytes = 1 * GiB) {
    OpenOptions options;
    options.last_stop = StopKind::clean;
    options.config.segment_bytes = ByteCount{segment_bytes};
    options.config.index_interval_bytes = ByteCount{500};
    log = open_log(world, options);
    for (int i = 0; i < batches; ++i) append(*log, {.records = 2, .timestamp = TimestampMs{1'700'000'000'000 + i * 10}});
  }
};

const LookupStep* step_of(const LookupTrace& trace, LookupStepKind kind) {
  const auto found = std::ranges::find(trace.steps(), kind, &LookupStep::kind);
  return found == trace.steps().end() ? nullptr : &*found;
}

TEST(LookupTrace, ATracedReadAnswersWhatAnUntracedOneDoes) {
  TracedLog t(300, 6000);
  for (std::int64_t offset = 0; offset <= 600; offset += 7) {
    LookupTrace trace;
    const ReadOptions options{Offset{offset}, ByteCount{1}, true, ReadLimit::log_end};
    const auto plain = t.log->read(options);
    const auto traced = t.log->read(options, &trace);
    ASSERT_TRUE(plain && traced);
    EXPECT_EQ(plain->range.position, traced->range.position);
    EXPECT_EQ(plain->range.size, traced->range.size);
    ASSERT_FALSE(trace.steps().empty());
    if (plain->range.size == ByteCount{0}) continue;
    const LookupStep* answer = step_of(trace, LookupStepKind::answer);
    ASSERT_NE(answer, nullptr);
    EXPECT_EQ(answer->from, plain->range.position);
    EXPECT_LE(*answer->offset, Offset{offset});
    EXPECT_GE(*answer->segment, Offset{0});
  }
  for (std::int64_t i = -1; i <= 3001; i += 3) {
    LookupTrace trace;
    const TimestampMs target{1'700'000'000'000 + i};
    const auto plain = t.log->find_by_timestamp(target);
    const auto traced = t.log->find_by_timestamp(target, &trace);
    ASSERT_TRUE(plain && traced);
    ASSERT_EQ(plain->has_value(), traced->has_value());
    EXPECT_EQ(trace.steps().back().hit, plain->has_value());
    if (!*plain) continue;
    EXPECT_EQ((*plain)->offset, (*traced)->offset);
    EXPECT_EQ(trace.steps().back().offset, (*plain)->offset);
    EXPECT_EQ(step_of(trace, LookupStepKind::records)->hit, true);
  }
}

TEST(LookupTrace, ProbesAreThoseOfABinarySearch) {
  TracedLog t(1000);
  LookupTrace trace;
  ASSERT_TRUE(t.log->read({Offset{1234}, ByteCount{1}, true, ReadLimit::log_end}, &trace));
  std::int64_t largest_below = -1;
  std::int64_t smallest_above = INT64_MAX;
  for (const LookupStep& step : trace.steps()) {
    if (step.kind != LookupStepKind::offset_probe) continue;
    // Each probe lies between what the ones before it left.
    EXPECT_GT(*step.entry, largest_below);
    EXPECT_LT(*step.entry, smallest_above);
    EXPECT_EQ(step.hit, *step.offset <= Offset{1234});
    (step.hit ? largest_below : smallest_above) = *step.entry;
  }
  EXPECT_EQ(smallest_above, largest_below + 1);
  const LookupStep* start = step_of(trace, LookupStepKind::start);
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->why, ScanStart::indexed);
  const LookupStep* scan = step_of(trace, LookupStepKind::scan);
  ASSERT_NE(scan, nullptr);
  EXPECT_EQ(scan->from, start->from);
  EXPECT_LE(scan->batches, 7);
  EXPECT_GE(trace.reads(), 1);
}

TEST(LookupTrace, AnEntryThatDoesNotFitIsTold) {
  TracedLog t(300);
  // All entries point one byte too far.
  auto index = t.world.fs->open(std::string(testing_support::kDirectory) + "/00000000000000000000.index", io::OpenMode::read_write).value();
  ByteVector bytes(static_cast<std::size_t>(index->size().value().value));
  bytes.resize(index->read_at(FilePosition{0}, bytes).value());
  for (std::size_t i = 0; i + 8 <= bytes.size() && load_be<std::int32_t>(bytes, i) != 0; i += 8) {
    store_be<std::int32_t>(bytes, i + 4, load_be<std::int32_t>(bytes, i + 4) + 1);
  }
  index->write_at(FilePosition{0}, BytesView(bytes)).value();
  LookupTrace trace;
  const auto read = t.log->read({Offset{500}, ByteCount{1}, true, ReadLimit::log_end}, &trace);
  ASSERT_TRUE(read);
  EXPECT_GT(read->range.size, ByteCount{0});
  const LookupStep* start = step_of(trace, LookupStepKind::start);
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->why, ScanStart::entry_is_wrong);
  EXPECT_EQ(start->from, FilePosition{0});
  EXPECT_THAT(describe(*start), HasSubstr("points at a place where no batch fits it"));
  EXPECT_EQ(step_of(trace, LookupStepKind::scan)->batches, 251);
}

TEST(LookupTrace, OutOfRangeEndsWithTheBounds) {
  TracedLog t(3);
  LookupTrace trace;
  EXPECT_FALSE(t.log->read({Offset{99}, ByteCount{1}, true, ReadLimit::log_end}, &trace));
  ASSERT_EQ(trace.steps().size(), 1U);
  EXPECT_EQ(describe(trace.steps()[0]), "offset 99 is not between log start 0 and log end 6");
}

}  // namespace
}  // namespace cordwood::storage
