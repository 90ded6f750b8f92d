#include "storage/retention.h"

#include <gtest/gtest.h>

namespace cordwood::storage {
namespace {

constexpr TimestampMs kNow{1'700'000'100'000};

RetentionLimits limits(std::int64_t ms, std::int64_t bytes, bool deletes = true) {
  return {DurationMs{ms}, ByteCount{bytes}, deletes, SettingSource::topic, SettingSource::dynamic_cluster,
          SettingSource::static_broker};
}

// Segments of ten records each; `ages` and `sizes` oldest first. The last one is active.
struct Situation {
  RetentionLimits in_force;
  std::vector<std::int64_t> ages;
  std::vector<std::int64_t> sizes;
  std::int64_t log_start = 0;
  std::int64_t high_watermark = 1000;
};

std::vector<RetentionVerdict> judge(const Situation& setup) {
  ByteCount total{0};
  for (std::int64_t size : setup.sizes) total += ByteCount{size};
  RetentionWalk walk(setup.in_force, {setup.log_start}, {setup.high_watermark}, total, kNow);
  std::vector<RetentionVerdict> verdicts;
  for (std::size_t i = 0; i < setup.sizes.size(); ++i) {
    RetentionSegment segment;
    segment.base_offset = {static_cast<std::int64_t>(i) * 10};
    segment.next_offset = {segment.base_offset.value + (setup.sizes[i] == 0 ? 0 : 10)};
    segment.size = {setup.sizes[i]};
    segment.active = i + 1 == setup.sizes.size();
    if (setup.sizes[i] > 0) segment.largest_timestamp = {kNow.value - setup.ages[i]};
    verdicts.push_back(walk.judge(segment));
  }
  return verdicts;
}

// One letter a segment: which rule takes it (s: log start, b: bytes, t: time), or why it stays.
std::string picture(const std::vector<RetentionVerdict>& verdicts) {
  std::string text;
  for (const RetentionVerdict& verdict : verdicts) {
    if (verdict.goes) {
      text += std::string_view("?sbt")[static_cast<std::size_t>(verdict.rule)];
    } else {
      text += std::string_view("?UPWFOHE")[static_cast<std::size_t>(verdict.hold)];
    }
  }
  return text;
}

TEST(RetentionRule, TakesWhatKafkaTakes) {
  const std::vector<std::int64_t> young{0, 0, 0};
  const std::vector<std::int64_t> hundreds{100, 100, 100};
  struct Case {
    const char* what;
    Situation setup;
    const char* expected;
  };
  const Case cases[] = {
      {"no limits", {limits(-1, -1), {9999, 9999, 9999}, hundreds}, "UOO"},
      {"299 bytes of 300", {limits(-1, 299), young, hundreds}, "WOO"},
      {"201", {limits(-1, 201), young, hundreds}, "WOO"},
      {"200", {limits(-1, 200), young, hundreds}, "bWO"},
      {"199", {limits(-1, 199), young, hundreds}, "bWO"},
      {"100", {limits(-1, 100), young, hundreds}, "bbW"},
      {"99", {limits(-1, 99), young, hundreds}, "bbW"},
      {"0 takes the active one too", {limits(-1, 0), young, hundreds}, "bbb"},
      {"more than there is", {limits(-1, 301), young, hundreds}, "WOO"},
      {"a large one holds a small one", {limits(-1, 50), young, {300, 10, 10}}, "WOO"},
      {"age of exactly retention.ms", {limits(1000, -1), {1000, 1000, 1000}, hundreds}, "WOO"},
      {"one millisecond more", {limits(1000, -1), {1001, 1000, 1001}, hundreds}, "tWO"},
      {"the active one as well", {limits(1000, -1), {1001, 1001, 1001}, hundreds}, "ttt"},
      {"retention.ms=0", {limits(0, -1), {1, 1, 0}, hundreds}, "ttW"},
      {"the first that stays stops it", {limits(1000, -1), {5000, 500, 5000}, hundreds}, "tWO"},
      {"a future record", {limits(1000, -1), {-5, 5000, 5000}, hundreds}, "FOO"},
      {"size, then time", {limits(1000, 200), {0, 5000, 0}, hundreds}, "btW"},
      {"below the log start, then size, then time", {limits(1000, 200), {0, 0, 5000, 0}, {100, 100, 100, 100}, 10}, "sbtW"},
      {"an empty active one stays", {limits(1000, -1), {5000, 5000, 0}, {100, 100, 0}}, "ttE"},
      {"empty of all", {limits(1000, 0), {0}, {0}}, "E"},
      {"high watermark inside the second", {limits(1000, -1), {5000, 5000, 5000}, hundreds, 0, 19}, "tHO"},
      {"high watermark at its end", {limits(1000, -1), {5000, 5000, 5000}, hundreds, 0, 20}, "ttH"},
      {"size held by the high watermark", {limits(-1, 0), young, hundreds, 0, 5}, "HOO"},
      {"log start at a boundary", {limits(-1, -1), young, hundreds, 20}, "ssU"},
      {"log start inside a segment", {limits(-1, -1), young, hundreds, 19}, "sUO"},
      {"log start at the end leaves the active one", {limits(-1, -1), young, hundreds, 30}, "ssU"},
      {"compact alone: by log start only", {limits(0, 0, false), {5000, 5000, 5000}, hundreds, 10}, "sPO"},
      {"far in the future overflows nothing", {limits(INT64_MAX, INT64_MAX), {kNow.value - INT64_MAX, 0, 0}, hundreds}, "FOO"},
  };
  for (const Case& c : cases) EXPECT_EQ(picture(judge(c.setup)), c.expected) << c.what;
}

// Every verdict says one thing: it goes by one rule, or it stays for one reason; what goes is a prefix.
TEST(RetentionRule, HasOneVerdictForEachCombination) {
  int seen = 0;
  for (std::int64_t ms : {-1, 0, 1000})
    for (std::int64_t bytes : {-1, 0, 150})
      for (bool deletes : {true, false})
        for (std::int64_t log_start : {0, 10, 15, 30})
          for (std::int64_t high_watermark : {0, 10, 25, 30})
            for (std::int64_t age : {-1, 0, 1000, 5000})
              for (std::int64_t last_size : {0, 100}) {
                const auto verdicts = judge({limits(ms, bytes, deletes), {age, age, age}, {100, 100, last_size},
                                             std::min(log_start, high_watermark), high_watermark});
                bool stayed = false;
                for (const RetentionVerdict& verdict : verdicts) {
                  ++seen;
                  EXPECT_EQ(verdict.goes, verdict.hold == RetentionHold::none);
                  if (verdict.goes) {
                    EXPECT_NE(verdict.rule, RetentionRule::none);
                    EXPECT_LE(verdict.segment.next_offset, Offset{high_watermark});
                    EXPECT_TRUE(deletes || verdict.rule == RetentionRule::log_start);
                    EXPECT_FALSE(stayed);
                  } else {
                    EXPECT_EQ(stayed && verdict.segment.size > ByteCount{0}, verdict.hold == RetentionHold::behind_older);
                    stayed = true;
                  }
                  EXPECT_FALSE(describe(verdict).empty());
                }
              }
  EXPECT_EQ(seen, 3 * 3 * 2 * 4 * 4 * 4 * 2 * 3);
}

TEST(RetentionRule, SaysWhenASegmentWillGo) {
  const auto verdicts = judge({limits(10'000, 250), {9000, 8000, 9500}, {100, 100, 100}});
  EXPECT_EQ(verdicts[0].goes_at, TimestampMs{kNow.value + 1001});
  EXPECT_EQ(verdicts[0].goes_after, ByteCount{50});
  EXPECT_EQ(verdicts[1].goes_at, TimestampMs{kNow.value + 2001});
  EXPECT_EQ(verdicts[1].goes_after, ByteCount{150});
  // The older one that is younger holds it.
  EXPECT_EQ(verdicts[2].goes_at, TimestampMs{kNow.value + 2001});
  EXPECT_EQ(verdicts[2].goes_after, ByteCount{250});
  // And it does go then.
  Situation later{limits(10'000, -1), {9000 + 1001, 8000, 9500}, {100, 100, 100}};
  EXPECT_EQ(picture(judge(later)), "tWO");
  EXPECT_FALSE(judge({limits(-1, -1), {0}, {100}})[0].goes_at);
  EXPECT_FALSE(judge({limits(INT64_MAX, -1), {0}, {100}})[0].goes_at);
}

TEST(RetentionRule, GuessesTheUnitOfATimestamp) {
  struct Case {
    std::int64_t timestamp;
    TimestampUnit unit;
  };
  const Case cases[] = {
      {kNow.value, TimestampUnit::milliseconds},
      {kNow.value - 86'400'000LL * 3650, TimestampUnit::milliseconds},
      {kNow.value / 1000, TimestampUnit::seconds},
      {kNow.value * 1000, TimestampUnit::microseconds},
      {kNow.value * 1'000'000, TimestampUnit::nanoseconds},
      {0, TimestampUnit::unknown},
      {5, TimestampUnit::unknown},
      {INT64_MAX, TimestampUnit::unknown},
  };
  for (const Case& c : cases) EXPECT_EQ(likely_unit({c.timestamp}, kNow), c.unit) << c.timestamp;
}

TEST(RetentionRule, IsToldInOneSentence) {
  const auto told = [](const Situation& setup, std::size_t i = 0) { return describe(judge(setup)[i]); };
  const std::vector<std::int64_t> two{100, 100};
  EXPECT_EQ(told({limits(1000, -1), {5000, 0}, two}),
            "segment 0 (offsets 0 to 9, 100 bytes) goes: retention.ms=1000 (topic), newest record 2023-11-14T22:14:55.000Z");
  EXPECT_EQ(told({limits(-1, 100), {0, 0}, two}),
            "segment 0 (offsets 0 to 9, 100 bytes) goes: retention.bytes=100 (dynamic, all brokers), and 100 bytes are left "
            "without it");
  EXPECT_EQ(told({limits(-1, -1), {0, 0}, two, 12}),
            "segment 0 (offsets 0 to 9, 100 bytes) goes: it lies below the log start offset 12");
  EXPECT_EQ(told({limits(10'000, 150), {0, 0}, two}, 1),
            "active segment 10 (offsets 10 to 19, 100 bytes) stays: an older segment does; by time it goes at "
            "2023-11-14T22:15:10.001Z; by size it goes once 150 bytes more were written");
  EXPECT_EQ(told({limits(1000, -1, false), {5000, 0}, two}),
            "segment 0 (offsets 0 to 9, 100 bytes) stays: cleanup.policy (server.properties) has no delete");
  EXPECT_EQ(told({limits(1000, -1), {5000, 0}, two, 0, 9}),
            "segment 0 (offsets 0 to 9, 100 bytes) stays, though the time rule would take it: the high watermark 9 is below "
            "its end");
  EXPECT_EQ(told({limits(1000, -1), {-60'000, 0}, two}),
            "segment 0 (offsets 0 to 9, 100 bytes) stays: its newest record is from the future: newest record "
            "2023-11-14T22:16:00.000Z; retention.ms=1000 (topic); by time it goes at 2023-11-14T22:16:01.001Z");
  EXPECT_EQ(told({limits(1000, -1), {kNow.value - kNow.value * 1000, 0}, two}),
            "segment 0 (offsets 0 to 9, 100 bytes) stays: its newest record is from the future: newest record "
            "1700000100000000 ms, whose timestamp 1700000100000000 looks like microseconds and not milliseconds; "
            "retention.ms=1000 (topic); by time it goes at 1700000100001001 ms");
  EXPECT_EQ(told({limits(1000, -1), {kNow.value - kNow.value / 1000, 0}, two}),
            "segment 0 (offsets 0 to 9, 100 bytes) goes: retention.ms=1000 (topic), newest record 1970-01-20T16:13:20.100Z, "
            "whose timestamp 1700000100 looks like seconds and not milliseconds");
}

}  // namespace
}  // namespace cordwood::storage
