#include "storage/cleaner/cleanable.h"

#include <gtest/gtest.h>

namespace cordwood::storage {
namespace {

constexpr TimestampMs kNow{1'000'000};

CleanableFacts three_segments() {
  CleanableFacts facts;
  facts.segments = {{{0}, {100}, {900'000}, {900'000}}, {{10}, {100}, {950'000}, {940'000}}, {{20}, {50}, {}, {}}};
  facts.log_start = {0};
  facts.log_end = {25};
  facts.last_stable = {25};
  return facts;
}

LogConfig config(double ratio = 0.5) {
  LogConfig c;
  c.cleanup_compact = true;
  c.cleanup_delete = false;
  c.min_cleanable_dirty_ratio = ratio;
  return c;
}

TEST(Cleanable, EverythingBelowTheActiveSegmentIsDirtyAtFirst) {
  const CleaningVerdict verdict = judge(three_segments(), config(), kNow);
  EXPECT_EQ(verdict.decision, CleaningDecision::due_by_ratio);
  EXPECT_EQ(verdict.first_dirty, Offset{0});
  EXPECT_EQ(verdict.first_uncleanable, Offset{20});
  EXPECT_EQ(verdict.clean_bytes, ByteCount{0});
  EXPECT_EQ(verdict.cleanable_bytes, ByteCount{200});
  EXPECT_EQ(verdict.dirty_ratio, 1.0);
  EXPECT_EQ(explain(verdict),
            "dirty ratio 1 (200 of 200 bytes) is above min.cleanable.dirty.ratio 0.5: offsets 0 to 20 are cleaned");
}

TEST(Cleanable, TheRatioMustBeExceeded) {
  CleanableFacts facts = three_segments();
  facts.checkpoint = Offset{10};
  EXPECT_EQ(judge(facts, config(0.5), kNow).decision, CleaningDecision::not_dirty_enough);
  EXPECT_EQ(judge(facts, config(0.49), kNow).decision, CleaningDecision::due_by_ratio);
  // The segment that holds the first dirty offset counts on both sides.
  facts.checkpoint = Offset{12};
  const CleaningVerdict verdict = judge(facts, config(0.3), kNow);
  EXPECT_EQ(verdict.clean_bytes, ByteCount{200});
  EXPECT_EQ(verdict.cleanable_bytes, ByteCount{100});
  facts.checkpoint = Offset{20};
  EXPECT_EQ(judge(facts, config(0), kNow).decision, CleaningDecision::nothing_dirty);
}

TEST(Cleanable, ALogOfOneSegmentIsEmptyForTheCleaner) {
  CleanableFacts facts = three_segments();
  facts.segments = {{{0}, {100}, {}, {}}};
  EXPECT_EQ(judge(facts, config(0), kNow).decision, CleaningDecision::empty);
}

TEST(Cleanable, WithoutCompactNothingIsLookedAt) {
  LogConfig c = config(0);
  c.cleanup_compact = false;
  EXPECT_EQ(judge(three_segments(), c, kNow).decision, CleaningDecision::not_compacted);
}

TEST(Cleanable, ACheckpointOutsideOfTheLogIsCorrected) {
  CleanableFacts facts = three_segments();
  facts.checkpoint = Offset{26};
  CleaningVerdict verdict = judge(facts, config(), kNow);
  EXPECT_EQ(verdict.dirty_start, DirtyStart::above_log_end);
  EXPECT_EQ(verdict.first_dirty, Offset{0});
  EXPECT_TRUE(verdict.corrects_checkpoint());
  facts.checkpoint = Offset{25};
  EXPECT_FALSE(judge(facts, config(), kNow).corrects_checkpoint());
  facts.log_start = Offset{5};
  facts.checkpoint = Offset{4};
  verdict = judge(facts, config(), kNow);
  EXPECT_EQ(verdict.dirty_start, DirtyStart::below_log_start);
  EXPECT_EQ(verdict.first_dirty, Offset{5});
}

TEST(Cleanable, AnUndecidedTransactionKeepsItsWholeSegment) {
  CleanableFacts facts = three_segments();
  facts.last_stable = {15};
  EXPECT_EQ(judge(facts, config(), kNow).first_uncleanable, Offset{10});
  facts.last_stable = {9};
  EXPECT_EQ(judge(facts, config(), kNow).first_uncleanable, Offset{0});
  EXPECT_EQ(judge(facts, config(0), kNow).decision, CleaningDecision::empty);
}

TEST(Cleanable, YoungSegmentsWait) {
  LogConfig c = config();
  const struct {
    std::int64_t lag;
    std::int64_t first_uncleanable;
  } rows[] = {{0, 20}, {49'999, 20}, {50'000, 20}, {50'001, 10}, {100'000, 10}, {100'001, 0}, {INT64_MAX, 0}};
  for (const auto& row : rows) {
    c.min_compaction_lag_ms = {row.lag};
    EXPECT_EQ(judge(three_segments(), c, kNow).first_uncleanable, Offset{row.first_uncleanable}) << row.lag;
  }
}

TEST(Cleanable, AnOverdueRecordMakesALogDue) {
  CleanableFacts facts = three_segments();
  LogConfig c = config(1.0);
  c.max_compaction_lag_ms = {100'000};
  EXPECT_EQ(judge(facts, c, kNow).decision, CleaningDecision::not_dirty_enough) << "exactly at the limit it is not overdue";
  c.max_compaction_lag_ms = {99'999};
  const CleaningVerdict verdict = judge(facts, c, kNow);
  EXPECT_EQ(verdict.decision, CleaningDecision::due_by_lag);
  EXPECT_EQ(verdict.overdue, DurationMs{1});
  facts.segments[0].first_timestamp = TimestampMs{0};
  EXPECT_EQ(judge(facts, c, kNow).decision, CleaningDecision::not_dirty_enough) << "0 and -1 are no times";
  facts.checkpoint = Offset{20};
  EXPECT_EQ(judge(facts, c, kNow).decision, CleaningDecision::nothing_dirty);
}

TEST(Cleanable, TheDirtiestComesFirst) {
  CleaningVerdict due;
  due.decision = CleaningDecision::due_by_ratio;
  due.dirty_ratio = 0.6;
  CleaningVerdict dirtier = due;
  dirtier.dirty_ratio = 0.7;
  CleaningVerdict overdue = due;
  overdue.decision = CleaningDecision::due_by_lag;
  overdue.dirty_ratio = 0.1;
  CleaningVerdict not_due = due;
  not_due.decision = CleaningDecision::not_dirty_enough;
  not_due.dirty_ratio = 0.9;
  EXPECT_EQ(filthiest({due, overdue, dirtier, not_due}), std::optional<std::size_t>(2));
  EXPECT_EQ(filthiest({not_due, overdue}), std::optional<std::size_t>(1));
  EXPECT_EQ(filthiest({due, due}), std::optional<std::size_t>(0));
  EXPECT_EQ(filthiest({not_due}), std::nullopt);
  EXPECT_EQ(filthiest({}), std::nullopt);
}

}  // namespace
}  // namespace cordwood::storage
