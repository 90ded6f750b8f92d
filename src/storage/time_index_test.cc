#include "storage/time_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "io/memory_file_system.h"

namespace cordwood::storage {
namespace {

using Growth = OffsetIndex::Growth;

constexpr Offset kBase{1000};
constexpr TimeEntry kNone{kNoTimestamp, kBase};

struct TimeIndexTest : testing::Test {
  io::MemFileSystem fs;
  std::unique_ptr<TimeIndex> index = open(Growth::full);
  std::unique_ptr<TimeIndex> open(Growth growth) { return TimeIndex::open(fs, "/t", kBase, {125}, growth).value(); }
  void add(std::int64_t timestamp, std::int64_t offset) { index->maybe_append({timestamp}, {offset}).value(); }
};

TEST_F(TimeIndexTest, WritesKafkasBytes) {
  add(1'700'000'000'005, 1001);
  index->trim().value();
  ByteVector bytes = io::read_file(fs, "/t").value();
  std::string hex;
  for (std::byte b : bytes) hex += fmt::format("{:02x}", std::to_integer<int>(b));
  EXPECT_EQ(hex, "0000018bcfe5680500000001");
}

TEST_F(TimeIndexTest, TheCapacityIsCutToWholeEntries) {
  EXPECT_EQ(fs.status("/t")->size.value, 120);
  EXPECT_EQ(index->max_entries(), 10);
  EXPECT_EQ(TimeIndex::open(fs, "/u", kBase, {11}, Growth::full).error().code, Errc::invalid);
}

TEST_F(TimeIndexTest, FindsTheLargestEntryAtOrBelow) {
  EXPECT_EQ(index->lookup({5}), kNone);
  EXPECT_EQ(index->last_or_none(), kNone);
  add(100, 1005);
  add(200, 1007);
  struct Case {
    std::int64_t target;
    TimeEntry expected;
  };
  for (Case c : {Case{-1, kNone}, {99, kNone}, {100, {{100}, {1005}}}, {199, {{100}, {1005}}}, {200, {{200}, {1007}}},
                 {INT64_MAX, {{200}, {1007}}}, {INT64_MIN, kNone}}) {
    EXPECT_EQ(index->lookup({c.target}), c.expected) << c.target;
  }
  EXPECT_EQ(index->last_or_none(), (TimeEntry{{200}, {1007}}));
  EXPECT_EQ(index->entry(0), (TimeEntry{{100}, {1005}}));
  EXPECT_FALSE(index->entry(2));
}

TEST_F(TimeIndexTest, TakesOnlyALaterTimestamp) {
  add(-1, 1000);
  EXPECT_EQ(index->entries(), 0);
  add(100, 1005);
  add(100, 1009);
  EXPECT_EQ(index->entries(), 1);
  EXPECT_EQ(index->last_or_none().offset.value, 1005);
  EXPECT_EQ(index->maybe_append({99}, {1010}).error().code, Errc::corrupt);
  EXPECT_EQ(index->maybe_append({101}, {1004}).error().code, Errc::corrupt);
  EXPECT_EQ(index->maybe_append({101}, {999}).error().code, Errc::out_of_range);
  EXPECT_EQ(index->maybe_append({101}, {kBase.value + INT32_MAX + 1ll}).error().code, Errc::out_of_range);
  EXPECT_EQ(index->entries(), 1);
}

TEST_F(TimeIndexTest, KeepsTheLastSlotForTheClosingEntry) {
  for (std::int64_t i = 1; i <= 9; ++i) {
    EXPECT_FALSE(index->is_full());
    add(i, 1000 + i);
  }
  EXPECT_TRUE(index->is_full());
  EXPECT_EQ(index->maybe_append({10}, {1010}).error().code, Errc::limit);
  EXPECT_TRUE(index->maybe_append({10}, {1010}, TimeIndex::Slot::closing));
  EXPECT_EQ(index->last_or_none().timestamp.value, 10);
  EXPECT_EQ(index->maybe_append({11}, {1011}, TimeIndex::Slot::closing).error().code, Errc::limit);
}

TEST_F(TimeIndexTest, OneSlotIsNoneForOrdinaryEntries) {
  auto tiny = TimeIndex::open(fs, "/u", kBase, {23}, Growth::full).value();
  EXPECT_TRUE(tiny->is_full());
  EXPECT_TRUE(tiny->maybe_append({10}, {1010}, TimeIndex::Slot::closing));
}

TEST_F(TimeIndexTest, TruncatesBelowAnOffset) {
  for (std::int64_t i = 1; i <= 5; ++i) add(i * 100, 1000 + i * 10);
  index->truncate_to({1045}).value();
  EXPECT_EQ(index->last_or_none(), (TimeEntry{{400}, {1040}}));
  index->truncate_to({1040}).value();
  EXPECT_EQ(index->last_or_none(), (TimeEntry{{300}, {1030}}));
  add(350, 1041);
  EXPECT_EQ(index->entries(), 4);
  index->truncate_to({0}).value();
  EXPECT_EQ(index->last_or_none(), kNone);
  index->reset().value();
  EXPECT_EQ(index->entries(), 0);
}

TEST_F(TimeIndexTest, SurvivesTrimmingAndGrowing) {
  add(100, 1005);
  index->trim().value();
  EXPECT_EQ(index->size_on_disk().value, 12);
  EXPECT_EQ(open(Growth::as_it_is)->last_or_none(), (TimeEntry{{100}, {1005}}));
  index->resize_to_capacity().value();
  EXPECT_EQ(index->size_on_disk().value, 120);
  add(200, 1006);
  EXPECT_EQ(index->lookup({150}), (TimeEntry{{100}, {1005}}));
  EXPECT_FALSE(index->first_disorder());
  EXPECT_TRUE(index->sync());
}

TEST_F(TimeIndexTest, LookupsAgreeWithASimpleSearch) {
  SeededRandom random(10);
  index = TimeIndex::open(fs, "/large", kBase, {64 * KiB}, Growth::full).value();
  std::vector<TimeEntry> model;
  std::int64_t offset = kBase.value, timestamp = 1'700'000'000'000;
  for (int i = 0; i < 5000; ++i) {
    offset += 1 + static_cast<std::int64_t>(random.below(9));
    timestamp += 1 + static_cast<std::int64_t>(random.below(1000));
    index->maybe_append({timestamp}, {offset}).value();
    model.push_back({{timestamp}, {offset}});
  }
  for (int i = 0; i < 20'000; ++i) {
    TimestampMs target{1'700'000'000'000 + static_cast<std::int64_t>(random.below(2'600'000))};
    TimeEntry expected = kNone;
    auto after = std::ranges::upper_bound(model, target, {}, &TimeEntry::timestamp);
    if (after != model.begin()) expected = *(after - 1);
    ASSERT_EQ(index->lookup(target), expected) << target.value;
  }
}

TEST_F(TimeIndexTest, GarbageGivesTheStartOfTheSegmentOrSomeEntryAndNeverHarm) {
  SeededRandom random(11);
  for (int round = 0; round < 200; ++round) {
    ByteVector bytes(random.below(3000));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
    io::write_file_atomically(fs, "/t", bytes).value();
    auto garbage = open(Growth::as_it_is);
    for (int i = 0; i < 20; ++i) {
      EXPECT_GE(garbage->lookup({static_cast<std::int64_t>(random.next())}).offset, kBase);
    }
    (void)garbage->first_disorder();
    garbage->truncate_to({static_cast<std::int64_t>(random.next())}).value();
  }
}

TEST_F(TimeIndexTest, TellsWhereTheOrderBreaks) {
  add(100, 1005);
  EXPECT_EQ(open(Growth::as_it_is)->first_disorder(), 1);
  index->trim().value();
  EXPECT_FALSE(open(Growth::as_it_is)->first_disorder());
}

}  // namespace
}  // namespace cordwood::storage
