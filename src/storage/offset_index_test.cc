#include "storage/offset_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "io/memory_file_system.h"

namespace cordwood::storage {
namespace {

constexpr Offset kBase{1000};

struct OffsetIndexTest : testing::Test {
  io::MemFileSystem fs;
  std::unique_ptr<OffsetIndex> index = open(OffsetIndex::Growth::full);
  std::unique_ptr<OffsetIndex> open(OffsetIndex::Growth growth) {
    return OffsetIndex::open(fs, "/i", kBase, {8192}, growth).value();
  }
  void add(std::int64_t offset, std::int64_t position) { index->append({offset}, {position}).value(); }
};

TEST_F(OffsetIndexTest, WritesKafkasBytes) {
  add(1001, 4180);
  add(kBase.value + INT32_MAX, INT32_MAX);
  index->trim().value();
  ByteVector bytes = io::read_file(fs, "/i").value();
  std::string hex;
  for (std::byte b : bytes) hex += fmt::format("{:02x}", std::to_integer<int>(b));
  EXPECT_EQ(hex, "00000001000010547fffffff7fffffff");
}

ByteVector entries_of(std::int64_t count) {
  ByteWriter writer;
  for (std::int64_t i = 1; i <= count; ++i) {
    writer.i32(static_cast<std::int32_t>(i));
    writer.i32(static_cast<std::int32_t>(i * 100));
  }
  return to_vector(writer.view());
}

TEST_F(OffsetIndexTest, IsFilledWithAllEntriesAtOnce) {
  index->fill({}).value();
  EXPECT_EQ(index->entries(), 0);
  index->fill(entries_of(1024)).value();
  EXPECT_EQ(index->entries(), 1024);
  EXPECT_TRUE(index->is_full());
  for (std::int64_t i = 0; i < 1024; ++i) {
    ASSERT_EQ(index->entry(i), (IndexEntry{{kBase.value + i + 1}, {(i + 1) * 100}})) << i;
  }
}

TEST_F(OffsetIndexTest, IsFilledWithNothingWhenNotAllFit) {
  const Result<void> filled = index->fill(entries_of(1025));
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().code, Errc::limit);
  EXPECT_EQ(index->entries(), 0);
  index->fill(entries_of(3)).value();
  EXPECT_EQ(index->last(), (IndexEntry{{kBase.value + 3}, {300}}));
}

TEST_F(OffsetIndexTest, FindsTheLargestEntryAtOrBelow) {
  EXPECT_EQ(index->lookup({5000}), (IndexEntry{kBase, {0}}));
  EXPECT_FALSE(index->last());
  add(1008, 351);
  add(1013, 687);
  add(1017, 1064);
  struct Case {
    std::int64_t target, offset, position;
  };
  for (Case c : {Case{0, 1000, 0}, {999, 1000, 0}, {1000, 1000, 0}, {1007, 1000, 0}, {1008, 1008, 351},
                 {1009, 1008, 351}, {1012, 1008, 351}, {1013, 1013, 687}, {1016, 1013, 687}, {1017, 1017, 1064},
                 {INT64_MAX, 1017, 1064}}) {
    EXPECT_EQ(index->lookup({c.target}), (IndexEntry{{c.offset}, {c.position}})) << c.target;
  }
  EXPECT_EQ(index->last(), (IndexEntry{{1017}, {1064}}));
  EXPECT_EQ(index->entry(0), (IndexEntry{{1008}, {351}}));
  EXPECT_FALSE(index->entry(3));
  EXPECT_FALSE(index->entry(-1));
}

TEST_F(OffsetIndexTest, FindsTheSmallestEntryAtOrAfterAPosition) {
  EXPECT_FALSE(index->first_at_or_after({0}));
  add(1008, 351);
  add(1013, 687);
  EXPECT_EQ(index->first_at_or_after({0})->offset.value, 1008);
  EXPECT_EQ(index->first_at_or_after({351})->offset.value, 1008);
  EXPECT_EQ(index->first_at_or_after({352})->offset.value, 1013);
  EXPECT_EQ(index->first_at_or_after({687})->offset.value, 1013);
  EXPECT_FALSE(index->first_at_or_after({688}));
}

TEST_F(OffsetIndexTest, FindsTheLargestEntryAtOrBeforeAPosition) {
  EXPECT_FALSE(index->last_at_or_before({100}));
  add(1008, 351);
  add(1013, 687);
  EXPECT_FALSE(index->last_at_or_before({350}));
  EXPECT_EQ(index->last_at_or_before({351})->offset.value, 1008);
  EXPECT_EQ(index->last_at_or_before({686})->offset.value, 1008);
  EXPECT_EQ(index->last_at_or_before({687})->offset.value, 1013);
  EXPECT_EQ(index->last_at_or_before({INT64_MAX})->offset.value, 1013);
}

TEST_F(OffsetIndexTest, RefusesWhatCannotFollowOrFit) {
  EXPECT_EQ(index->append({999}, {0}).error().code, Errc::out_of_range);
  EXPECT_EQ(index->append({kBase.value + INT32_MAX + 1ll}, {0}).error().code, Errc::out_of_range);
  EXPECT_EQ(index->append({1001}, {INT32_MAX + 1ll}).error().code, Errc::out_of_range);
  EXPECT_EQ(index->append({1001}, {-1}).error().code, Errc::out_of_range);
  add(1005, 10);
  EXPECT_EQ(index->append({1005}, {20}).error().code, Errc::corrupt);
  EXPECT_EQ(index->append({1004}, {20}).error().code, Errc::corrupt);
  EXPECT_EQ(index->entries(), 1);
  for (std::int64_t i = 1; i < 1024; ++i) add(1005 + i, 10 + i);
  EXPECT_TRUE(index->is_full());
  EXPECT_EQ(index->append({9999}, {9999}).error().code, Errc::limit);
}

TEST_F(OffsetIndexTest, TruncatesBelowAnOffset) {
  for (std::int64_t i = 0; i < 10; ++i) add(1010 + i * 10, i);
  index->truncate_to({2000}).value();
  EXPECT_EQ(index->entries(), 10);
  index->truncate_to({1095}).value();
  EXPECT_EQ(index->last()->offset.value, 1090);
  index->truncate_to({1090}).value();
  EXPECT_EQ(index->last()->offset.value, 1080);
  index->truncate_to({0}).value();
  EXPECT_EQ(index->entries(), 0);
  add(1001, 1);
  index->truncate_to_entries(0).value();
  EXPECT_EQ(index->lookup({1001}), (IndexEntry{kBase, {0}}));
}

TEST_F(OffsetIndexTest, LookupsAgreeWithASimpleSearch) {
  SeededRandom random(8);
  // Enough entries that the warm end of the index is not all of it.
  index = OffsetIndex::open(fs, "/large", kBase, {64 * KiB}, OffsetIndex::Growth::full).value();
  std::vector<IndexEntry> model;
  std::int64_t offset = kBase.value, position = 0;
  for (int i = 0; i < 5000; ++i) {
    offset += 1 + static_cast<std::int64_t>(random.below(20));
    position += 61 + static_cast<std::int64_t>(random.below(5000));
    index->append({offset}, {position}).value();
    model.push_back({{offset}, {position}});
  }
  for (int i = 0; i < 20'000; ++i) {
    Offset target{kBase.value - 5 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(offset - 990)))};
    IndexEntry expected{kBase, {0}};
    auto after = std::ranges::upper_bound(model, target, {}, &IndexEntry::offset);
    if (after != model.begin()) expected = *(after - 1);
    ASSERT_EQ(index->lookup(target), expected) << target.value;
    FilePosition place{static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(position + 100)))};
    auto found = std::ranges::lower_bound(model, place, {}, &IndexEntry::position);
    auto upper = index->first_at_or_after(place);
    ASSERT_EQ(upper, found == model.end() ? std::nullopt : std::optional(*found)) << place.value;
  }
  EXPECT_FALSE(index->first_disorder());
}

TEST_F(OffsetIndexTest, GarbageGivesTheStartOfTheSegmentOrSomeEntryAndNeverHarm) {
  SeededRandom random(9);
  for (int round = 0; round < 200; ++round) {
    ByteVector bytes(random.below(3000));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
    io::write_file_atomically(fs, "/i", bytes).value();
    auto garbage = open(OffsetIndex::Growth::as_it_is);
    for (int i = 0; i < 20; ++i) {
      IndexEntry found = garbage->lookup({static_cast<std::int64_t>(random.next())});
      EXPECT_GE(found.offset, kBase);
      EXPECT_GE(found.position.value, 0);
      (void)garbage->first_at_or_after({static_cast<std::int64_t>(random.next())});
    }
    garbage->truncate_to({static_cast<std::int64_t>(random.next())}).value();
  }
}

TEST_F(OffsetIndexTest, ABaseNearTheLargestOffsetOverflowsNothing) {
  auto last = OffsetIndex::open(fs, "/last", {INT64_MAX - 1}, {800}, OffsetIndex::Growth::full).value();
  last->append({INT64_MAX}, {5}).value();
  EXPECT_EQ(last->lookup({INT64_MAX}), (IndexEntry{{INT64_MAX}, {5}}));
  EXPECT_EQ(last->lookup({INT64_MIN}), (IndexEntry{{INT64_MAX - 1}, {0}}));
  io::write_file_atomically(fs, "/wild", ByteVector(8, std::byte{0x7f})).value();
  auto wild = OffsetIndex::open(fs, "/wild", {INT64_MAX - 1}, {800}, OffsetIndex::Growth::as_it_is).value();
  EXPECT_EQ(wild->lookup({INT64_MAX}), (IndexEntry{{INT64_MAX - 1}, {0}}));
  EXPECT_FALSE(wild->first_at_or_after({0}));
  EXPECT_TRUE(wild->truncate_to({INT64_MIN}));
}

TEST_F(OffsetIndexTest, TellsWhereTheOrderBreaks) {
  EXPECT_FALSE(index->first_disorder());
  add(1000, 0);
  EXPECT_FALSE(index->first_disorder());
  add(1005, 10);
  // A killed broker's file ends in zeros.
  EXPECT_EQ(open(OffsetIndex::Growth::full)->first_disorder(), 2);
  index->trim().value();
  EXPECT_FALSE(open(OffsetIndex::Growth::full)->first_disorder());
}

}  // namespace
}  // namespace cordwood::storage
