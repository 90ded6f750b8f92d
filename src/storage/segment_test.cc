#include "storage/segment.h"

#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

constexpr TimestampMs kTime{1'700'000'000'000};

Segment::Settings settings(std::int64_t interval = 300) {
  Segment::Settings s;
  s.segment_bytes = {1 * MiB};
  s.index_bytes = {1000};
  s.index_interval_bytes = {interval};
  return s;
}

struct Fixture {
  explicit Fixture(Offset base = {0}, std::int64_t interval = 300) {
    world.fs->create_directories(kDirectory).value();
    segment = Segment::create(*world.fs, kDirectory, base, settings(interval), world.clock.now(),
                              Segment::IndexFiles::with_first_append)
                  .value();
    segment->prepare_for_append().value();
  }
  // Appends a batch as the log would: positions are the segment's end.
  void append(ByteVector batch, Offset base) {
    record::set_last_offset(batch, {base.value + record::BatchView(batch).header().last_offset_delta});
    BatchInfo info = describe_batch(batch, FilePosition{segment->size().value}).value();
    ASSERT_TRUE(segment->append(batch, std::span(&info, 1)).has_value());
  }
  FilePosition end() const { return {segment->size().value}; }
  World world;
  std::shared_ptr<Segment> segment;
};

std::string hex_of(std::string_view content) {
  std::string hex;
  for (unsigned char byte : content) hex += fmt::format("{:02x}", byte);
  return hex;
}

TEST(Segment, IndexesTheFirstBatchMoreThanAnIntervalBehindTheLastIndexed) {
  Fixture f;
  for (int i = 0; i < 10; ++i) f.append(make_batch_of_size(100, {.timestamp = {kTime.value + i}}), {i});
  f.segment->become_inactive().value();
  // Interval 300, batches of 100 bytes: entries at 400 and 800, each with the last offset of the batch that starts there.
  EXPECT_EQ(hex_of(content_of(*f.world.fs, f.segment->path_of(".index"))), "0000000400000190" "0000000800000320");
  const std::string times = content_of(*f.world.fs, f.segment->path_of(".timeindex"));
  EXPECT_EQ(times.size(), 36u);  // with each offset entry, and the closing one
  EXPECT_EQ(load_be<std::int64_t>(as_bytes(times), 24), kTime.value + 9);
  EXPECT_EQ(load_be<std::int32_t>(as_bytes(times), 32), 9);
}

TEST(Segment, IndexesPerBatchInALargeAppendToo) {
  Fixture f;
  ByteVector all;
  std::vector<BatchInfo> infos;
  for (int i = 0; i < 10; ++i) {
    ByteVector batch = make_batch_of_size(100, {.base_offset = {i}});
    infos.push_back(describe_batch(batch, FilePosition{i * 100}).value());
    all.insert(all.end(), batch.begin(), batch.end());
  }
  f.segment->append(all, infos).value();
  f.segment->become_inactive().value();
  EXPECT_EQ(hex_of(content_of(*f.world.fs, f.segment->path_of(".index"))), "0000000400000190" "0000000800000320");
}

TEST(Segment, IndexFilesComeWithTheFirstAppend) {
  World world;
  world.fs->create_directories(kDirectory).value();
  auto segment = Segment::create(*world.fs, kDirectory, {7}, settings(), world.clock.now(),
                                 Segment::IndexFiles::with_first_append)
                     .value();
  EXPECT_EQ(names_in(*world.fs), std::vector<std::string>{"00000000000000000007.log"});
  segment->prepare_for_append().value();
  EXPECT_EQ(content_of(*world.fs, segment->path_of(".index")).size(), 1000u);
  EXPECT_EQ(content_of(*world.fs, segment->path_of(".timeindex")).size(), 996u);
  segment->become_inactive().value();
  EXPECT_EQ(content_of(*world.fs, segment->path_of(".index")), "");
}

TEST(Segment, RefusesAnIndexWithoutRoomAndAFileTooLarge) {
  World world;
  world.fs->create_directories(kDirectory).value();
  Segment::Settings tiny = settings();
  tiny.index_bytes = {11};
  EXPECT_EQ(Segment::create(*world.fs, kDirectory, {0}, tiny, world.clock.now(), Segment::IndexFiles::at_once).error().code,
            Errc::invalid);
  auto file = world.fs->open("/data/t-0/00000000000000000009.log", io::OpenMode::create).value();
  file->truncate(ByteCount{std::int64_t{INT32_MAX} + 1}).value();
  EXPECT_EQ(Segment::open(*world.fs, kDirectory, {9}, settings(), world.clock.now(), {}).error().code, Errc::corrupt);
}

TEST(Segment, FindsBatchesInGapsAndBehindTheEnd) {
  Fixture f({40});
  EXPECT_FALSE(f.segment->find_batch({40}, f.end()).value());
  f.append(make_batch({.records = 2}), {50});
  f.append(make_batch({.records = 2}), {60});
  EXPECT_EQ(f.segment->find_batch({40}, f.end()).value()->base_offset, Offset{50});
  EXPECT_EQ(f.segment->find_batch({51}, f.end()).value()->base_offset, Offset{50});
  EXPECT_EQ(f.segment->find_batch({52}, f.end()).value()->base_offset, Offset{60});
  EXPECT_FALSE(f.segment->find_batch({62}, f.end()).value());
  // A limit hides what lies behind it.
  EXPECT_FALSE(f.segment->find_batch({52}, f.segment->find_batch({51}, f.end()).value()->end()).value());
}

TEST(Segment, FindsEveryOffsetWhateverTheIndexSays) {
  Fixture f({0}, 200);
  for (int i = 0; i < 400; ++i) f.append(make_batch_of_size(100), {i});
  const auto check = [&](const Segment& segment) {
    for (int i = 0; i < 400; ++i) {
      EXPECT_EQ(segment.find_batch({i}, f.end()).value()->position, FilePosition{i * 100});
    }
  };
  check(*f.segment);
  f.segment->become_inactive().value();
  const io::Path index = f.segment->path_of(".index");
  const std::string good = content_of(*f.world.fs, index);
  SeededRandom random(5);
  for (int round = 0; round < 30; ++round) {
    std::string bad = good;
    if (round == 0) bad = std::string(good.size(), '\0');
    if (round > 0) {
      for (std::size_t i = 0; i < bad.size(); ++i) {
        if (random.below(round < 15 ? 3 : 40) == 0) bad[i] = static_cast<char>(random.next());
      }
    }
    put(*f.world.fs, index, bad);
    auto reopened = Segment::open(*f.world.fs, kDirectory, {0}, settings(), f.world.clock.now(), {true, true, false}).value();
    check(*reopened);
    EXPECT_EQ(reopened->find_end()->next_offset, Offset{400});
  }
}

TEST(Segment, LastBoundaryIsTheLargestThatFits) {
  Fixture f({0}, 200);
  for (int i = 0; i < 60; ++i) f.append(make_batch_of_size(100 + static_cast<std::size_t>(i % 3)), {i});
  std::vector<FilePosition> boundaries;
  BatchScan scan(*f.segment->file().value(), FilePosition{0}, f.end());
  boundaries.push_back(scan.position());
  while (scan.next().value()) boundaries.push_back(scan.position());
  for (std::int64_t from : {0, 20}) {
    const FilePosition start = boundaries[static_cast<std::size_t>(from)];
    for (std::int64_t limit = start.value; limit <= f.end().value; limit += 7) {
      FilePosition expected = start;
      for (FilePosition boundary : boundaries) {
        if (boundary.value <= limit) expected = std::max(expected, boundary);
      }
      EXPECT_EQ(f.segment->last_boundary(start, {limit}).value(), expected);
    }
  }
}

TEST(Segment, TruncatesAndGoesOnThirtyTimes) {
  Fixture f({40});
  f.append(make_batch({}), {40});
  for (int i = 0; i < 30; ++i) {
    f.append(make_batch({}), {41});
    f.append(make_batch({}), {42});
    f.segment->truncate_to({41}, f.world.clock.now()).value();
    EXPECT_EQ(f.segment->find_end()->next_offset, Offset{41});
  }
}

TEST(Segment, TruncationRecomputesTheLargestTimestamp) {
  // Thirty one-record batches from base 40, interval twice a batch less one, ascending times: n/2 - 1 time entries.
  const std::size_t size = 100;
  Fixture f({40}, static_cast<std::int64_t>(2 * size - 1));
  for (int i = 0; i < 30; ++i) f.append(make_batch_of_size(size, {.timestamp = {kTime.value + i * 10}}), {40 + i});
  EXPECT_EQ(f.segment->roll_candidate()->time_index_entries, 14);
  f.segment->truncate_to({41}, f.world.clock.now()).value();
  EXPECT_EQ(f.segment->roll_candidate()->time_index_entries, 0);
  EXPECT_EQ(f.segment->max_timestamp().value(), (MaxTimestamp{kTime, {40}}));
  EXPECT_EQ(f.segment->find_end()->next_offset, Offset{41});
}

TEST(Segment, TruncationToEmptyStartsTheWaitAnew) {
  Fixture f;
  f.append(make_batch({.timestamp = kNoTimestamp}), {0});
  f.world.clock.advance({1000});
  f.segment->truncate_to({0}, f.world.clock.now()).value();
  const RollCandidate candidate = f.segment->roll_candidate().value();
  EXPECT_EQ(candidate.size, ByteCount{0});
  EXPECT_EQ(candidate.created, f.world.clock.now());
  EXPECT_EQ(candidate.offset_index_max_entries, 125);
  EXPECT_EQ(candidate.rolling_timestamp, kNoTimestamp);
}

TEST(Segment, LargestTimestampFallsBackToTheFilesTime) {
  Fixture f;
  f.world.clock.set({5000});
  f.append(make_batch({.timestamp = kNoTimestamp}), {0});
  EXPECT_EQ(f.segment->max_timestamp()->timestamp, kNoTimestamp);
  EXPECT_EQ(f.segment->largest_timestamp().value(), TimestampMs{5000});
}

TEST(Segment, SearchStartsNoLaterThanTheFirstMatch) {
  Fixture f({40}, 200);
  for (int i = 0; i < 100; ++i) f.append(make_batch_of_size(100, {.timestamp = {10 * i}}), {40 + i});
  for (int target = 0; target < 1000; target += 5) {
    const FilePosition start = f.segment->search_start({target}, {0}).value();
    const std::int64_t first_match = (target + 9) / 10;
    EXPECT_LE(start.value, first_match * 100);
    EXPECT_GE(start.value, (first_match - 5) * 100) << "a search that skips nothing is slow";
  }
}

TEST(Segment, PreallocatedRoomIsGivenBack) {
  World world;
  world.fs->create_directories(kDirectory).value();
  Segment::Settings s = settings();
  s.preallocate = true;
  auto segment =
      Segment::create(*world.fs, kDirectory, {0}, s, world.clock.now(), Segment::IndexFiles::at_once).value();
  EXPECT_EQ(segment->size(), ByteCount{0});
  ByteVector batch = make_batch({});
  const BatchInfo info = describe_batch(batch, FilePosition{0}).value();
  segment->append(batch, std::span(&info, 1)).value();
  segment->become_inactive().value();
  EXPECT_EQ(content_of(*world.fs, segment->path_of(".log")).size(), batch.size());
}

TEST(Segment, TheCounterStartsAnewWithTheObject) {
  Fixture f;
  for (int i = 0; i < 4; ++i) f.append(make_batch_of_size(100), {i});
  f.segment->become_inactive().value();
  auto reopened = Segment::open(*f.world.fs, kDirectory, {0}, settings(), f.world.clock.now(), {true, true, false}).value();
  reopened->prepare_for_append().value();
  // Without the restart the fifth batch would be indexed.
  ByteVector batch = make_batch_of_size(100, {.base_offset = {4}});
  const BatchInfo info = describe_batch(batch, FilePosition{400}).value();
  reopened->append(batch, std::span(&info, 1)).value();
  EXPECT_EQ(reopened->roll_candidate()->offset_index_entries, 0);
}

TEST(FloorSegment, IsTheLastAtOrBelow) {
  World world;
  world.fs->create_directories(kDirectory).value();
  SegmentList list;
  for (std::int64_t base : {10, 20, 30}) {
    list.push_back(Segment::open(*world.fs, kDirectory, {base}, settings(), world.clock.now(), {}).value());
  }
  EXPECT_EQ(floor_segment(list, {9}), 3u);
  EXPECT_EQ(floor_segment(list, {10}), 0u);
  EXPECT_EQ(floor_segment(list, {29}), 1u);
  EXPECT_EQ(floor_segment(list, {300}), 2u);
  EXPECT_EQ(floor_segment({}, {300}), 0u);
}

}  // namespace
}  // namespace cordwood::storage
