#include "storage/roll_rules.h"

#include <gtest/gtest.h>

namespace cordwood::storage {
namespace {

constexpr TimestampMs kFirst{1'000'000};
constexpr TimestampMs kNow{5'000'000};

LogConfig config_of(std::int64_t segment_bytes, std::int64_t segment_ms) {
  LogConfig config;
  config.segment_bytes = {segment_bytes};
  config.segment_ms = {segment_ms};
  return config;
}

RollCandidate candidate() {
  RollCandidate c;
  c.base_offset = {100};
  c.size = {500};
  c.offset_index_max_entries = 10;
  c.time_index_max_entries = 10;
  c.rolling_timestamp = kFirst;
  c.created = kNow;
  return c;
}

RollAppend append_of(std::int64_t size) { return {{size}, kFirst, {110}}; }

TEST(RollRules, SizeIsStrict) {
  const LogConfig config = config_of(600, 1000);
  EXPECT_EQ(should_roll(candidate(), append_of(100), config, kNow), RollReason::none);  // exactly full
  EXPECT_EQ(should_roll(candidate(), append_of(101), config, kNow), RollReason::size);
  RollCandidate empty = candidate();
  empty.size = {0};
  EXPECT_EQ(should_roll(empty, append_of(600), config, kNow), RollReason::none);
}

TEST(RollRules, TimeIsRecordTimeWhereThereIsOne) {
  const LogConfig config = config_of(10'000, 1000);
  RollAppend append = append_of(10);
  const auto reason = [&](std::int64_t after_first, TimestampMs now) {
    append.max_timestamp = {kFirst.value + after_first};
    return should_roll(candidate(), append, config, now);
  };
  EXPECT_EQ(reason(1000, kNow), RollReason::none);
  EXPECT_EQ(reason(1001, kNow), RollReason::time);  // the wall clock stood still
  EXPECT_EQ(reason(-5000, kNow), RollReason::none);
  EXPECT_EQ(reason(0, {kNow.value + 1'000'000}), RollReason::none);  // the wall clock does not count
  append.max_timestamp = {INT64_MIN};
  EXPECT_EQ(should_roll(candidate(), append, config, kNow), RollReason::none);
}

TEST(RollRules, TimeIsWallClockWhereRecordsHaveNone) {
  const LogConfig config = config_of(10'000, 1000);
  RollCandidate c = candidate();
  c.rolling_timestamp = kNoTimestamp;
  RollAppend append = append_of(10);
  append.max_timestamp = kNoTimestamp;
  EXPECT_EQ(should_roll(c, append, config, {kNow.value + 1000}), RollReason::none);
  EXPECT_EQ(should_roll(c, append, config, {kNow.value + 1001}), RollReason::time);
  c.size = {0};  // an empty segment never rolls by time
  EXPECT_EQ(should_roll(c, append, config, {kNow.value + 1'000'000}), RollReason::none);
}

TEST(RollRules, JitterShortensTheTime) {
  const LogConfig config = config_of(10'000, 1000);
  RollCandidate c = candidate();
  c.jitter = {20};
  RollAppend append = append_of(10);
  append.max_timestamp = {kFirst.value + 980};
  EXPECT_EQ(should_roll(c, append, config, kNow), RollReason::none);
  append.max_timestamp = {kFirst.value + 981};
  EXPECT_EQ(should_roll(c, append, config, kNow), RollReason::time);
}

TEST(RollRules, CompactedLogsRollForTheirLag) {
  LogConfig config = config_of(10'000, 1000);
  config.max_compaction_lag_ms = {100};
  EXPECT_EQ(effective_segment_ms(config), DurationMs{1000});
  config.cleanup_compact = true;
  EXPECT_EQ(effective_segment_ms(config), DurationMs{100});
}

TEST(RollRules, FullIndexesRoll) {
  const LogConfig config = config_of(10'000, 1000);
  RollCandidate c = candidate();
  c.offset_index_entries = 9;
  c.time_index_entries = 8;
  EXPECT_EQ(should_roll(c, append_of(10), config, kNow), RollReason::none);
  c.time_index_entries = 9;  // one slot is kept for the closing entry
  EXPECT_EQ(should_roll(c, append_of(10), config, kNow), RollReason::time_index_full);
  c.offset_index_entries = 10;
  EXPECT_EQ(should_roll(c, append_of(10), config, kNow), RollReason::offset_index_full);
}

TEST(RollRules, RelativeOffsetsFit32Bits) {
  const LogConfig config = config_of(10'000, 1000);
  RollAppend append = append_of(10);
  append.last_offset = {100 + std::int64_t{INT32_MAX}};
  EXPECT_EQ(should_roll(candidate(), append, config, kNow), RollReason::none);
  append.last_offset = {101 + std::int64_t{INT32_MAX}};
  EXPECT_EQ(should_roll(candidate(), append, config, kNow), RollReason::relative_offset_overflow);
  append.last_offset = {99};
  EXPECT_EQ(should_roll(candidate(), append, config, kNow), RollReason::relative_offset_overflow);
  EXPECT_STREQ(to_string(RollReason::relative_offset_overflow), "relative offset overflow");
}

}  // namespace
}  // namespace cordwood::storage
