#include "storage/cleaner/segment_groups.h"

#include <gtest/gtest.h>

namespace cordwood::storage {
namespace {

SegmentFacts segment(std::int64_t base, std::int64_t size, std::int64_t index = 8, std::int64_t times = 12) {
  return {{base}, {size}, {index}, {times}};
}

std::vector<SegmentGroup> group(const std::vector<SegmentFacts>& segments, std::int64_t segment_bytes = 300,
                                std::int64_t index_bytes = 1000, std::int64_t first_uncleanable = 1000) {
  return group_segments(segments, {{segment_bytes}, {index_bytes}, {first_uncleanable}});
}

using Groups = std::vector<SegmentGroup>;

TEST(SegmentGroups, NoneMakeNone) { EXPECT_EQ(group({}), Groups{}); }

TEST(SegmentGroups, GrowUpToSegmentBytes) {
  EXPECT_EQ(group({segment(0, 100), segment(10, 100), segment(20, 100), segment(30, 1)}), (Groups{{0, 3}, {3, 4}}));
  EXPECT_EQ(group({segment(0, 100), segment(10, 100), segment(20, 101)}), (Groups{{0, 2}, {2, 3}}));
}

TEST(SegmentGroups, ASegmentAloneMayBeTooLarge) {
  EXPECT_EQ(group({segment(0, 500), segment(10, 500)}), (Groups{{0, 1}, {1, 2}}));
}

TEST(SegmentGroups, GrowUpToTheSizeOfAnIndex) {
  EXPECT_EQ(group({segment(0, 1, 500, 12), segment(1, 1, 500, 12), segment(2, 1, 8, 12)}), (Groups{{0, 2}, {2, 3}}));
  EXPECT_EQ(group({segment(0, 1, 8, 600), segment(1, 1, 8, 401), segment(2, 1, 8, 12)}), (Groups{{0, 1}, {1, 3}}));
}

TEST(SegmentGroups, OffsetsStayWithin31BitsOfTheBase) {
  constexpr std::int64_t kFar = INT32_MAX;
  EXPECT_EQ(group({segment(0, 1), segment(10, 1)}, 300, 1000, kFar + 1), (Groups{{0, 2}}));
  EXPECT_EQ(group({segment(0, 1), segment(10, 1)}, 300, 1000, kFar + 2), (Groups{{0, 1}, {1, 2}}));
  EXPECT_EQ(group({segment(0, 1), segment(10, 1), segment(kFar + 2, 1)}, 300, 1000, kFar + 20),
            (Groups{{0, 1}, {1, 2}, {2, 3}}));
}

// What ends after 2^31 offsets because of the segment behind it has no record there when it is empty.
TEST(SegmentGroups, AnEmptySegmentHasNoOffsets) {
  EXPECT_EQ(group({segment(0, 1), segment(10, 0)}, 300, 1000, INT64_C(1) << 33), (Groups{{0, 2}}));
}

}  // namespace
}  // namespace cordwood::storage
