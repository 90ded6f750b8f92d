#include "broker/metadata/metadata_retention.h"

#include <gtest/gtest.h>

namespace cordwood::broker::metadata {
namespace {

constexpr TimestampMs kNow{1'000'000};

SnapshotFacts snapshot(std::int64_t end_offset, std::int64_t size, std::int64_t age_ms) {
  return {{Offset{end_offset}, 1}, ByteCount{size}, kNow - DurationMs{age_ms}};
}

// Closed segments of 1000 bytes that begin at 0, 100, 200, and an active one at 300.
std::vector<storage::SegmentInfo> four_segments() {
  std::vector<storage::SegmentInfo> segments;
  for (std::int64_t base : {0, 100, 200, 300}) {
    storage::SegmentInfo& segment = segments.emplace_back();
    segment.base_offset = {base};
    segment.next_offset = {base + 100};
    segment.size = {1000};
    segment.active = base == 300;
  }
  return segments;
}

// "offset>start by rule" of each that goes.
std::string gone(const std::vector<SnapshotFacts>& snapshots, std::int64_t max_bytes, std::int64_t max_age_ms,
                 std::int64_t log_start = 0) {
  std::string text;
  for (const SnapshotVerdict& verdict :
       snapshots_that_go(snapshots, four_segments(), {log_start}, {{max_bytes}, {max_age_ms}}, kNow)) {
    text += fmt::format("{}{}>{} by {}", text.empty() ? "" : ", ", verdict.id.end_offset, verdict.log_start,
                        verdict.rule == SnapshotVerdict::Rule::size ? "size" : "age");
  }
  return text;
}

TEST(MetadataRetention, NothingGoesWithinTheLimits) {
  const std::vector<SnapshotFacts> three{snapshot(0, 10, 900), snapshot(150, 10, 500), snapshot(350, 10, 100)};
  EXPECT_EQ(gone(three, 4030, 900), "");
  EXPECT_EQ(gone(three, -1, -1), "");
}

TEST(MetadataRetention, TheNewestSnapshotStays) {
  EXPECT_EQ(gone({}, 0, 0), "");
  EXPECT_EQ(gone({snapshot(150, 10, 500)}, 0, 0), "");
  EXPECT_EQ(gone({snapshot(0, 10, 900), snapshot(150, 10, 500)}, 0, 0), "0>150 by size");
}

TEST(MetadataRetention, BySizeCountsWhatTheLogLosesWithEach) {
  const std::vector<SnapshotFacts> four{snapshot(0, 10, 0), snapshot(99, 10, 0), snapshot(250, 10, 0),
                                        snapshot(350, 10, 0)};
  EXPECT_EQ(gone(four, 4039, -1), "0>99 by size");
  // The first one frees no segment, the second one frees two.
  EXPECT_EQ(gone(four, 4029, -1), "0>99 by size, 99>250 by size");
  EXPECT_EQ(gone(four, 2020, -1), "0>99 by size, 99>250 by size");
  EXPECT_EQ(gone(four, 2019, -1), "0>99 by size, 99>250 by size, 250>350 by size");
}

TEST(MetadataRetention, ByAgeStopsAtTheFirstThatIsYoungEnough) {
  const std::vector<SnapshotFacts> four{snapshot(0, 10, 900), snapshot(99, 10, 500), snapshot(250, 10, 900),
                                        snapshot(350, 10, 900)};
  EXPECT_EQ(gone(four, -1, 899), "0>99 by age");
  EXPECT_EQ(gone(four, -1, 499), "0>99 by age, 99>250 by age, 250>350 by age");
  EXPECT_EQ(gone(four, -1, 900), "");
}

TEST(MetadataRetention, SizeGoesFirstAndAgeGoesOnFromThere) {
  const std::vector<SnapshotFacts> three{snapshot(0, 10, 900), snapshot(150, 10, 900), snapshot(350, 10, 100)};
  EXPECT_EQ(gone(three, 4029, 500), "0>150 by size, 150>350 by age");
}

TEST(MetadataRetention, ASnapshotOfUnknownAgeIsYoung) {
  std::vector<SnapshotFacts> two{snapshot(0, 10, 900), snapshot(150, 10, 100)};
  two[0].last_contained.reset();
  EXPECT_EQ(gone(two, -1, 0), "");
  EXPECT_EQ(gone(two, 0, 0), "0>150 by size");
}

TEST(MetadataRetention, TheLogStartNeverMovesBack) {
  EXPECT_EQ(gone({snapshot(0, 10, 900), snapshot(150, 10, 900)}, 0, 0, 150), "");
}

TEST(MetadataRetention, SaysItsNumbers) {
  const std::vector<SnapshotFacts> two{snapshot(0, 10, 900), snapshot(150, 10, 100)};
  EXPECT_EQ(snapshots_that_go(two, four_segments(), {0}, {{4000}, {-1}}, kNow).at(0).reason,
            "log and snapshots take 4020 bytes, metadata.max.retention.bytes is 4000");
  EXPECT_EQ(snapshots_that_go(two, four_segments(), {0}, {{-1}, {800}}, kNow).at(0).reason,
            "its newest record is 900 ms old, metadata.max.retention.ms is 800");
}

}  // namespace
}  // namespace cordwood::broker::metadata
