#include "inspector/group_view.h"

#include <gtest/gtest.h>

namespace cordwood::inspector {
namespace {

using api::OffsetStanding;

constexpr TimestampMs kNow{1'000'000};

GroupCommit at(std::int64_t offset) { return {{"orders", PartitionId{0}}, Offset{offset}, "", TimestampMs{900'000}}; }
PartitionBounds bounds(std::int64_t start, std::int64_t end) { return {Offset{start}, Offset{end}}; }

storage::RetentionVerdict segment(std::int64_t base, std::int64_t next, bool goes, std::optional<std::int64_t> goes_at) {
  storage::RetentionVerdict verdict;
  verdict.segment.base_offset = Offset{base};
  verdict.segment.next_offset = Offset{next};
  verdict.goes = goes;
  verdict.limits.retention_ms = DurationMs{100'000};
  if (goes_at) verdict.goes_at = TimestampMs{*goes_at};
  return verdict;
}

TEST(GroupView, KnowsEveryStanding) {
  struct Case {
    std::int64_t committed;
    OffsetStanding standing;
    std::int64_t lag;
  };
  for (const Case& c : {Case{3, OffsetStanding::behind_start, 13}, Case{6, OffsetStanding::within, 10}, Case{15, OffsetStanding::within, 1},
                        Case{16, OffsetStanding::at_end, 0}, Case{17, OffsetStanding::beyond_end, 0}}) {
    const api::GroupOffset view = view_offset(at(c.committed), bounds(6, 16), {}, kNow);
    EXPECT_EQ(view.standing, c.standing) << c.committed;
    EXPECT_EQ(view.lag, c.lag) << c.committed;
  }
  const api::GroupOffset nowhere = view_offset(at(3), {}, {}, kNow);
  EXPECT_EQ(nowhere.standing, OffsetStanding::unknown);
  EXPECT_FALSE(nowhere.lag);
}

TEST(GroupView, SaysWhatAResetWouldDo) {
  // The numbers of the demo: committed 3, the log holds 6 to 15.
  const api::GroupOffset view = view_offset(at(3), bounds(6, 16), {}, kNow);
  EXPECT_EQ(view.earliest, "goes on at 6: 3 offsets are skipped");
  EXPECT_EQ(view.latest, "goes on at 16: 13 offsets are skipped");
  EXPECT_EQ(view.none, "throws OffsetOutOfRangeException: somebody has to decide");
  const api::GroupOffset beyond = view_offset(at(20), bounds(6, 16), {}, kNow);
  EXPECT_EQ(beyond.earliest, "goes back to 6: 14 offsets are read again");
  EXPECT_EQ(view_offset(at(8), bounds(6, 16), {}, kNow).earliest, "nothing: the position 8 is there, and is read on from");
}

TEST(GroupView, TellsWhenRetentionOvertakes) {
  const std::vector<storage::RetentionVerdict> verdicts{segment(6, 10, true, {}), segment(10, 14, false, 1'005'000), segment(14, 16, false, 1'090'000)};
  const api::GroupOffset gone_soon = view_offset(at(8), bounds(6, 16), verdicts, kNow);
  EXPECT_EQ(gone_soon.overtaken_at_ms, kNow.value);
  EXPECT_TRUE(gone_soon.warned);
  const api::GroupOffset soon = view_offset(at(10), bounds(6, 16), verdicts, kNow);
  EXPECT_EQ(soon.overtaken_at_ms, 1'005'000);
  EXPECT_TRUE(soon.warned);
  const api::GroupOffset later = view_offset(at(15), bounds(6, 16), verdicts, kNow);
  EXPECT_EQ(later.overtaken_at_ms, 1'090'000);
  EXPECT_FALSE(later.warned);
  const api::GroupOffset done = view_offset(at(16), bounds(6, 16), verdicts, kNow);
  EXPECT_FALSE(done.overtaken_at_ms);
  EXPECT_FALSE(done.warned);
  EXPECT_TRUE(view_offset(at(3), bounds(6, 16), verdicts, kNow).warned);
}

}  // namespace
}  // namespace cordwood::inspector
