#include "broker/metadata/log_walk.h"

#include <gtest/gtest.h>

#include "broker/metadata/metadata_batch.h"
#include "io/memory_file_system.h"

namespace cordwood::broker::metadata {
namespace {

constexpr const char* kFirst = "m/00000000000000000000.log";
constexpr const char* kSecond = "m/00000000000000000004.log";

ByteVector batch_at(std::int64_t base, std::int32_t epoch = 1, int records = 2) {
  std::vector<MetadataRecord> noops(static_cast<std::size_t>(records), MetadataRecord{NoOpRecord{}, 0});
  return encode_batch(std::span<const MetadataRecord>(noops), {Offset{base}, epoch, TimestampMs{1000}});
}

ByteVector join(std::initializer_list<ByteVector> parts) {
  ByteVector all;
  for (const ByteVector& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

class LogWalk : public testing::Test {
 protected:
  LogWalk() { EXPECT_TRUE(fs.create_directories("m")); }

  void put(const char* path, BytesView bytes) {
    auto file = fs.open(path, io::OpenMode::truncate);
    ASSERT_TRUE(file && (*file)->write_at({0}, bytes));
  }
  // The base offsets that were visited.
  Result<WalkReport> walk(Offset covered = {0}) {
    visited.clear();
    return walk_metadata_log(fs, "m", [&](const record::BatchView& batch, const std::string&) -> Result<void> {
      visited.push_back(batch.base_offset().value);
      return {};
    }, covered);
  }

  io::MemFileSystem fs;
  std::vector<std::int64_t> visited;
};

TEST_F(LogWalk, FindsNothingInAnEmptyDirectory) {
  Result<WalkReport> report = walk();
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->has_files);
  put(kFirst, {});
  report = walk();
  EXPECT_TRUE(report->has_files);
  EXPECT_EQ(report->end, Offset{0});
}

TEST_F(LogWalk, AGapThatASnapshotCoversStartsTheLog) {
  put(kFirst, batch_at(0));
  put(kSecond, batch_at(4));
  Result<WalkReport> report = walk({3});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::corrupt);
  report = walk({4});
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->start, Offset{4});
  EXPECT_EQ(report->end, Offset{6});
}

TEST_F(LogWalk, GoesThroughAllSegmentsInOrder) {
  put(kSecond, join({batch_at(4, 2), batch_at(6, 5)}));
  put(kFirst, join({batch_at(0), batch_at(2)}));
  put("m/quorum-state", as_bytes("{}"));
  put("m/1.log", as_bytes("not twenty digits"));
  Result<WalkReport> report = walk();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(visited, (std::vector<std::int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(report->end, Offset{8});
  EXPECT_EQ(report->last_epoch, 5);
  EXPECT_FALSE(report->torn_tail);
}

TEST_F(LogWalk, TakesATailCutAtAnyByteAsTorn) {
  ByteVector whole = join({batch_at(0), batch_at(2)});
  std::size_t first = batch_at(0).size();
  for (std::size_t length = first + 1; length < whole.size(); ++length) {
    put(kFirst, BytesView(whole).first(length));
    Result<WalkReport> report = walk();
    ASSERT_TRUE(report) << length << ": " << report.error().message();
    EXPECT_EQ(report->end, Offset{2});
    ASSERT_TRUE(report->torn_tail) << length;
    EXPECT_EQ(report->torn_tail->position.value, static_cast<std::int64_t>(first));
    EXPECT_EQ(report->torn_tail->size.value, static_cast<std::int64_t>(length - first));
  }
}

TEST_F(LogWalk, RefusesDamageBeforeWholeBatches) {
  ByteVector whole = join({batch_at(0), batch_at(2), batch_at(4)});
  std::size_t size = batch_at(0).size();
  // Everything of the second batch but its base offset and epoch, which are not under the CRC and are tested below.
  for (std::size_t at = size + record::kMagic; at < 2 * size; ++at) {
    ByteVector damaged = whole;
    damaged[at] ^= std::byte{0x40};
    put(kFirst, damaged);
    Result<WalkReport> report = walk();
    ASSERT_FALSE(report) << "byte " << at;
    EXPECT_EQ(report.error().code, Errc::corrupt);
    EXPECT_NE(report.error().what.find(kFirst), std::string::npos) << report.error().what;
    EXPECT_NE(report.error().what.find("position"), std::string::npos);
  }
}

TEST_F(LogWalk, RefusesATornSegmentBeforeAWholeOne) {
  ByteVector cut = join({batch_at(0), batch_at(2)});
  cut.resize(cut.size() - 3);
  put(kFirst, cut);
  put(kSecond, batch_at(4));
  Result<WalkReport> report = walk();
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().what.find(kSecond), std::string::npos) << report.error().what;
  // With nothing whole in it, the later segment was made just before the crash.
  put(kSecond, BytesView(batch_at(4)).first(20));
  EXPECT_TRUE(walk());
}

TEST_F(LogWalk, RefusesGapsAndEpochsThatFall) {
  put(kFirst, join({batch_at(0), batch_at(3)}));
  Result<WalkReport> report = walk();
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().what.find("holds offsets 3 to 4 where 2 is expected"), std::string::npos) << report.error().what;
  put(kFirst, join({batch_at(0, 5), batch_at(2, 4)}));
  report = walk();
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().what.find("the epoch falls from 5 to 4"), std::string::npos) << report.error().what;
}

TEST_F(LogWalk, HandsOnTheVisitorsError) {
  put(kFirst, batch_at(0));
  Result<WalkReport> report = walk_metadata_log(fs, "m", [](const record::BatchView&, const std::string& where) -> Result<void> {
    return Error{Errc::unsupported, where};
  });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what, std::string(kFirst) + " at position 0");
}

TEST_F(LogWalk, ReadsBatchesLargerThanItsWindow) {
  std::vector<MetadataRecord> records(3, MetadataRecord{ConfigRecord{2, "t", "k", std::string(700'000, 'x')}, 0});
  put(kFirst, join({encode_batch(std::span<const MetadataRecord>(records), {Offset{0}, 1, {}}), batch_at(3)}));
  Result<WalkReport> report = walk();
  ASSERT_TRUE(report);
  EXPECT_EQ(visited, (std::vector<std::int64_t>{0, 3}));
}

}  // namespace
}  // namespace cordwood::broker::metadata
