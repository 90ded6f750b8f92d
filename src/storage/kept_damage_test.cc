// What recovery takes out of a log is kept when it can be read, and said.
#include <algorithm>

#include "storage/damaged_files.h"
#include "storage/directory_files.h"
#include "storage/log_testing.h"
#include "storage/readable_batches.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

const std::size_t kBatch = make_batch({}).size();

io::Path log_path(Offset base) { return io::join(kDirectory, segment_file_name(base, ".log")); }

// A log of several segments of one-record batches, stopped by a kill.
struct Log {
  World world;
  std::vector<Offset> bases;
  std::vector<std::string> contents;
  explicit Log(int batches = 50) {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < batches; ++i) append(*log, {}, AppendOrigin::client, {i / 10});
    for (const SegmentInfo& segment : log->segments()) bases.push_back(segment.base_offset);
    log->close_cleanly().value();
    for (Offset base : bases) contents.push_back(content_of(*world.fs, log_path(base)));
  }
  void flip(std::size_t segment, std::size_t at) {
    std::string content = content_of(*world.fs, log_path(bases[segment]));
    content[at] = static_cast<char>(content[at] ^ 4);
    put(*world.fs, log_path(bases[segment]), content);
  }
  std::shared_ptr<PartitionLog> open() { return open_log(world, small_segments(StopKind::unclean)); }
  bool has(const std::string& name) { return world.fs->exists(io::join(kDirectory, name)).value(); }
  std::string content(const std::string& name) { return content_of(*world.fs, io::join(kDirectory, name)); }
};

TEST(KeptDamage, BatchesBehindAHoleAreKeptWithAReport) {
  Log log;
  log.flip(1, 2 * kBatch + 70);
  auto opened = log.open();
  const std::int64_t cut_at = log.bases[1].value + 2;
  EXPECT_EQ(opened->log_end_offset(), Offset{cut_at});

  const std::string tail = fmt::format("damaged/cut-000001/{}.from-{:010}", segment_file_name(log.bases[1], ".log"), 2 * kBatch);
  std::string damaged = log.contents[1].substr(2 * kBatch);
  damaged[70] = static_cast<char>(damaged[70] ^ 4);
  EXPECT_EQ(log.content(tail), damaged);
  for (std::size_t i = 2; i < log.bases.size(); ++i) {
    EXPECT_EQ(log.content("damaged/cut-000001/" + segment_file_name(log.bases[i], ".log")), log.contents[i]);
    EXPECT_FALSE(log.has(segment_file_name(log.bases[i], ".log")));
    EXPECT_FALSE(log.has(segment_file_name(log.bases[i], ".index")));
  }
  const std::string report = log.content("damaged/cut-000001/report.txt");
  EXPECT_NE(report.find(fmt::format("at offset {}: {}, byte {}", cut_at, segment_file_name(log.bases[1], ".log"), 2 * kBatch)),
            std::string::npos)
      << report;
  EXPECT_NE(report.find(fmt::format("{} to {}: cannot be read", 2 * kBatch, 3 * kBatch)), std::string::npos) << report;
  EXPECT_NE(report.find(fmt::format("{} to {}: offsets {} to {}, {} batches", 3 * kBatch, log.contents[1].size(), cut_at + 1,
                                    log.bases[2].value - 1, log.bases[2].value - cut_at - 1)),
            std::string::npos)
      << report;

  const auto& verdicts = opened->recovery().verdicts;
  ASSERT_EQ(verdicts.size(), log.bases.size() - 1);
  EXPECT_EQ(verdicts[0].finding, RecoveryFinding::hole);
  EXPECT_EQ(verdicts[0].action, RecoveryAction::kept);
  EXPECT_EQ(verdicts[0].kept_as, tail);
  EXPECT_EQ(verdicts[0].offset, Offset{cut_at});
  EXPECT_EQ(verdicts[1].finding, RecoveryFinding::behind_hole);
  EXPECT_TRUE(log.world.logger.contains(describe(verdicts[0])));
}

TEST(KeptDamage, ATornTailIsCutAndNotKept) {
  Log log;
  const std::size_t last = log.bases.size() - 1;
  put(*log.world.fs, log_path(log.bases[last]), log.contents[last].substr(0, log.contents[last].size() - 5));
  auto opened = log.open();
  EXPECT_EQ(opened->log_end_offset(), Offset{49});
  EXPECT_FALSE(log.has(kDamagedDirectory));
  ASSERT_EQ(opened->recovery().verdicts.size(), 1u);
  EXPECT_EQ(opened->recovery().verdicts[0].finding, RecoveryFinding::torn_tail);
  EXPECT_EQ(opened->recovery().verdicts[0].action, RecoveryAction::cut);
  EXPECT_EQ(opened->recovery().verdicts[0].bytes.value, static_cast<std::int64_t>(kBatch - 5));
}

TEST(KeptDamage, CutsOfSeveralStartsAreKeptSideBySide) {
  Log log;
  log.flip(2, kBatch + 70);
  log.open()->close_cleanly().value();
  const auto first = files_in(*log.world.fs, "/data/t-0/damaged");
  log.flip(0, 3 * kBatch + 70);
  log.open()->close_cleanly().value();
  const auto both = files_in(*log.world.fs, "/data/t-0/damaged");
  for (const auto& file : first) EXPECT_NE(std::ranges::find(both, file), both.end()) << file.first;
  EXPECT_TRUE(log.has("damaged/cut-000002/report.txt"));
  EXPECT_EQ(log.content("damaged/cut-000002/" + segment_file_name(log.bases[1], ".log")), log.contents[1]);
}

TEST(KeptDamage, ALogBelowItsStartIsKept) {
  Log log(20);
  OpenOptions options = small_segments();
  options.log_start_checkpoint = {1000};
  auto opened = open_log(log.world, options);
  EXPECT_EQ(opened->log_start_offset(), Offset{1000});
  for (std::size_t i = 0; i < log.bases.size(); ++i) {
    EXPECT_EQ(log.content("damaged/cut-000001/" + segment_file_name(log.bases[i], ".log")), log.contents[i]);
  }
  EXPECT_NE(log.content("damaged/cut-000001/report.txt").find("below its start 1000"), std::string::npos);
}

TEST(KeptDamage, LostOrBrokenEpochsAreReadFromTheBatches) {
  for (const char* content : {"", "0\n0\n", "0\n2\n0 0\n", "rubbish", "1\n0\n", "0\n1\n0\n"}) {
    for (const StopKind stop : {StopKind::clean, StopKind::unclean}) {
      Log log;
      const std::string before = log.content(kLeaderEpochCheckpoint);
      put(*log.world.fs, io::join(kDirectory, kLeaderEpochCheckpoint), content);
      OpenOptions options = small_segments(stop);
      options.recovery_point_checkpoint = {50};
      auto opened = open_log(log.world, options);
      EXPECT_EQ(opened->epochs().size(), 5u) << content;
      EXPECT_EQ(opened->end_offset_for_epoch(1), (EpochEndOffset{1, {20}}));
      ASSERT_EQ(opened->recovery().verdicts.size(), 1u) << content;
      EXPECT_EQ(opened->recovery().verdicts[0].action, RecoveryAction::rebuilt);
      opened->close_cleanly().value();
      EXPECT_EQ(log.content(kLeaderEpochCheckpoint), before);
    }
  }
}

TEST(KeptDamage, WhatDoesNotParseIsPutAsideOnce) {
  Log log;
  for (const char* content : {"first", "second"}) {
    put(*log.world.fs, io::join(kDirectory, kLeaderEpochCheckpoint), content);
    put(*log.world.fs, io::join(kDirectory, kPartitionMetadata), content);
    put(*log.world.fs, io::join(kDirectory, "00000000000000000050.snapshot"), content);
    auto opened = open_log(log.world, small_segments());
    EXPECT_FALSE(opened->topic_id());
    opened->set_topic_id({7, 8}).value();
    EXPECT_EQ(opened->recovery().verdicts.size(), 3u);
    opened->close_cleanly().value();
    EXPECT_EQ(*read_partition_metadata(*log.world.fs, kDirectory).value(), (Uuid{7, 8}));
    for (const char* name : {kLeaderEpochCheckpoint, kPartitionMetadata, "00000000000000000050.snapshot"}) {
      EXPECT_EQ(log.content(io::join(kDamagedDirectory, name)), "first") << name;
      EXPECT_NE(log.content(name), content) << name;
    }
  }
}

TEST(KeptDamage, RetentionAndACrashLeaveNoEpochBelowTheFirstSegment) {
  Log log;
  for (const char* suffix : {".log", ".index", ".timeindex"}) {
    for (std::size_t i = 0; i + 1 < log.bases.size(); ++i) {
      log.world.fs->remove_file(io::join(kDirectory, segment_file_name(log.bases[i], suffix))).value();
    }
  }
  auto opened = log.open();
  EXPECT_EQ(opened->earliest_epoch(), (EpochEntry{{4}, log.bases.back()}));
  EXPECT_EQ(opened->epochs().size(), 1u);
}

// --- the search for what can be read ---

TEST(ReadableBatches, AreFoundBehindAnyDamage) {
  std::string content;
  for (int i = 0; i < 6; ++i) content += std::string(as_text(make_batch({.records = 2, .base_offset = {100 + 2 * i}})));
  const auto size = content.size() / 6;
  const auto runs = [](const std::string& bytes, Survey survey = Survey::everything) {
    io::MemFileSystem fs;
    put(fs, "/f", bytes);
    auto file = fs.open("/f", io::OpenMode::read).value();
    return find_readable(*file, FilePosition{0}, FilePosition{static_cast<std::int64_t>(bytes.size())}, Offset{100}, survey)
        .value();
  };
  const auto at = [](std::size_t position) { return FilePosition{static_cast<std::int64_t>(position)}; };
  using Runs = std::vector<ReadableRun>;
  EXPECT_EQ(runs(content), (Runs{{at(0), at(6 * size), {100}, {111}, 6, 12}}));
  EXPECT_EQ(runs(content, Survey::first_batch_only), (Runs{{at(0), at(size), {100}, {101}, 1, 2}}));
  // Any byte of the third one: the runs before and behind it are found, wherever the damage lies.
  for (std::size_t i = 2 * size + 8; i < 3 * size; ++i) {
    std::string damaged = content;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    if (i >= 2 * size + 12 && i < 2 * size + 16) continue;  // the leader epoch lies outside of the checksum
    EXPECT_EQ(runs(damaged), (Runs{{at(0), at(2 * size), {100}, {103}, 2, 4}, {at(3 * size), at(6 * size), {106}, {111}, 3, 6}}))
        << i - 2 * size;
  }
  // Bytes put in or taken away.
  EXPECT_EQ(runs(content.substr(0, size) + std::string(1000, '\0') + content.substr(size)),
            (Runs{{at(0), at(size), {100}, {101}, 1, 2}, {at(size + 1000), at(6 * size + 1000), {102}, {111}, 5, 10}}));
  EXPECT_EQ(runs(content.substr(7)), (Runs{{at(size - 7), at(6 * size - 7), {102}, {111}, 5, 10}}));
  EXPECT_EQ(runs(std::string(100'000, '\0')), Runs{});
  EXPECT_EQ(runs(content.substr(1, size - 1)), Runs{});
  EXPECT_EQ(runs(""), Runs{});
}

}  // namespace
}  // namespace cordwood::storage
