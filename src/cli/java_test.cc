// Readings of times, as Java 17 and Kafka 4.4.0 have them.
#include "cli/java.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

namespace cordwood::cli {
namespace {

TEST(JavaDateTime, IsUtcWithoutAZone) {
  constexpr std::pair<std::string_view, std::int64_t> kGood[] = {
      {"2023-11-14T22:13:20.000", 1'700'000'000'000},
      {"2023-11-14T22:13:20.000Z", 1'700'000'000'000},
      {"2023-11-14T23:13:20.007+01:00", 1'700'000'000'007},
      {"2023-11-14T21:43:20.000-00:30", 1'700'000'000'000},
      {"2023-11-14T23:13:20.000+0100", 1'700'000'000'000},
      {"2023-11-14T23:13:20.000+01", 1'700'000'000'000},
      {"2024-2-29T0:0:0.5", 1'709'164'800'005},
  };
  std::string mistake;
  for (auto [text, ms] : kGood) EXPECT_EQ(parse_java_datetime(text, mistake), std::optional(ms)) << text;
}

TEST(JavaDateTime, TellsMistakes) {
  std::string mistake;
  EXPECT_FALSE(parse_java_datetime("yesterday", mistake));
  EXPECT_EQ(mistake, "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format");
  for (std::string_view text : {"2023-11-14T22:13:23", "2023-02-30T00:00:00.000", "2023-13-01T00:00:00.000",
                                "2023-11-14T24:00:00.000", "2023-11-14T22:13:60.000", "2023-11-14T22:13:20.1000"}) {
    EXPECT_FALSE(parse_java_datetime(text, mistake));
    EXPECT_EQ(mistake, fmt::format("Unparseable date: \"{}Z\"", text));
  }
  EXPECT_FALSE(parse_java_datetime("2023-11-14T22:13:20.000+1", mistake));
}

TEST(JavaDuration, HasDaysAndTimes) {
  constexpr std::pair<std::string_view, std::int64_t> kGood[] = {
      {"P1D", 86'400'000},       {"PT10M", 600'000}, {"pt1h2m3.5s", 3'723'500}, {"-PT1S", -1'000},
      {"P-1DT+1H", -82'800'000}, {"PT0.1234S", 123}, {"PT1.S", 1'000},
  };
  for (auto [text, ms] : kGood) EXPECT_EQ(parse_java_duration(text), std::optional(ms)) << text;
  for (std::string_view text : {"", "P", "PT", "10m", "P1H", "PT1D", "PT1M1H", "P1DT", "PT1.5M", "P1W", "PT1S1S", "PT1",
                                "PT99999999999999999S"}) {
    EXPECT_EQ(parse_java_duration(text), std::nullopt) << text;
  }
}

TEST(Thrown, PrintsItsCauses) {
  Thrown inner = thrown("a.B", "wrong");
  Thrown outer = inner.wrapped("c.D");
  EXPECT_EQ(outer.message, "a.B: wrong");
  EXPECT_EQ(outer.trace(), "c.D: a.B: wrong\nCaused by: a.B: wrong\n");
}

}  // namespace
}  // namespace cordwood::cli
