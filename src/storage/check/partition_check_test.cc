#include "storage/check/partition_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

const io::Path kCheckedLog = "/d/t-0";

// A log of several segments with transactions and epochs, flushed and closed.
void fill(World& world) {
  world.fs->create_directories(kCheckedLog).value();
  OpenOptions options;
  options.config.segment_bytes = ByteCount{4000};
  options.config.index_interval_bytes = ByteCount{500};
  auto log = PartitionLog::open(world.environment(), kCheckedLog, {"t", PartitionId{0}}, options).value();
  for (int i = 0; i < 60; ++i) {
    append(*log, {.timestamp = {1'700'000'000'000 + i}, .value_size = 200}, AppendOrigin::client, {i / 20});
  }
  log->flush().value();
}

PartitionCheck check(World& world, CheckContext context = {}) {
  context.depth = CheckDepth::records;
  return check_partition(*world.fs, kCheckedLog, context).value();
}

std::vector<io::Path> logs(World& world) {
  std::vector<io::Path> found;
  for (const std::string& name : names_in(*world.fs, kCheckedLog)) {
    if (name.ends_with(".log")) found.push_back(io::join(kCheckedLog, name));
  }
  return found;
}

TEST(PartitionCheck, FindsNothingInAGoodLog) {
  World world;
  fill(world);
  const PartitionCheck result = check(world);
  for (const CheckFinding& finding : result.findings) ADD_FAILURE() << describe(finding);
  EXPECT_EQ(result.batches, 60);
  EXPECT_EQ(result.log_end, Offset{60});
  EXPECT_GT(result.segments, 2);
}

TEST(PartitionCheck, FindsEveryBitOfALog) {
  World world;
  fill(world);
  const io::Path path = logs(world)[1];
  const std::string good = content_of(*world.fs, path);
  for (std::size_t at = 0; at < good.size(); at += 61) {
    // The leader epoch is covered by no checksum, as Kafka's format has it.
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    put(*world.fs, path, bad);
    const PartitionCheck result = check(world);
    const bool is_epoch = std::ranges::all_of(result.findings, [](const CheckFinding& f) { return f.file == "leader-epoch-checkpoint"; });
    if (!result.is_damaged()) {
      // Then it must lie in a leader epoch.
      bool in_epoch = false;
      for (std::size_t batch = 0; batch + 16 <= good.size();) {
        in_epoch |= at >= batch + 12 && at < batch + 16;
        batch += 12 + static_cast<std::size_t>(load_be<std::int32_t>(as_bytes(good), batch + 8));
      }
      EXPECT_TRUE(in_epoch) << at;
    } else if (!is_epoch) {
      EXPECT_EQ(result.findings[0].file, io::file_name(path)) << at;
    }
  }
}

TEST(PartitionCheck, GoesOnBehindAHole) {
  World world;
  fill(world);
  const io::Path path = logs(world)[1];
  std::string content = content_of(*world.fs, path);
  content[100] = static_cast<char>(content[100] ^ 1);
  put(*world.fs, path, content);
  const PartitionCheck result = check(world);
  ASSERT_EQ(result.findings.size(), 1u);
  const CheckFinding& hole = result.findings[0];
  EXPECT_EQ(hole.finding, RecoveryFinding::hole);
  EXPECT_EQ(hole.position, FilePosition{0});
  EXPECT_EQ(hole.end_offset, next(*hole.first_offset));
  EXPECT_EQ(result.batches, 59);
  EXPECT_EQ(result.log_end, Offset{60});
}

// What the checker says of a .log before the start is what the broker's recovery then does.
TEST(PartitionCheck, AgreesWithTheBrokerAboutEveryCut) {
  World original;
  fill(original);
  const std::vector<io::Path> paths = logs(original);
  ASSERT_GE(paths.size(), 3u);
  int compared = 0;
  for (const io::Path& path : {paths[1], paths.back()}) {
    const std::string good = content_of(*original.fs, path);
    for (std::size_t at = 0; at < good.size(); at += 173) {
      for (const bool truncate : {false, true}) {
        World world;
        world.memory = original.memory->process_crash_clone();
        world.fs = world.memory.get();
        std::string bad = good;
        if (truncate) {
          bad.resize(at);
        } else {
          bad[at] = static_cast<char>(bad[at] ^ 64);
        }
        put(*world.fs, path, bad);
        CheckContext context;
        context.last_stop = StopKind::unclean;
        const PartitionCheck told = check_partition(*world.fs, kCheckedLog, context).value();
        OpenOptions options;
        options.config.segment_bytes = ByteCount{4000};
        options.config.index_interval_bytes = ByteCount{500};
        auto opened = PartitionLog::open(world.environment(), kCheckedLog, {"t", PartitionId{0}}, options);
        ASSERT_TRUE(opened.has_value());
        const auto log_damage = [](const CheckFinding& f) { return f.file.ends_with(".log"); };
        const auto predicted = std::ranges::find_if(told.findings, log_damage);
        const auto& verdicts = (*opened)->recovery().verdicts;
        const auto done = std::ranges::find_if(verdicts, [&](const RecoveryVerdict& v) { return v.file == io::file_name(path); });
        if (predicted == told.findings.end()) {
          EXPECT_EQ((*opened)->recovery().bytes_cut, ByteCount{0}) << path << " at " << at;
          continue;
        }
        ASSERT_NE(done, verdicts.end()) << path << " at " << at << ": " << describe(*predicted);
        EXPECT_EQ(predicted->at_next_start, done->action) << path << " at " << at << ": " << describe(*predicted) << " / " << describe(*done);
        EXPECT_EQ(predicted->position, done->position) << path << " at " << at;
        EXPECT_EQ(predicted->first_offset, done->offset) << path << " at " << at;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 50);
}

TEST(PartitionCheck, FindsDamageInEveryOtherFile) {
  for (const char* suffix : {".index", ".timeindex", "leader-epoch-checkpoint", "partition.metadata", ".snapshot"}) {
    World world;
    fill(world);
    put(*world.fs, io::join(kCheckedLog, "partition.metadata"), "version: 0\ntopic_id: AAAAAAAAAAcAAAAAAAAABw\n");
    ASSERT_FALSE(check(world).is_damaged()) << suffix;
    std::string target;
    for (const std::string& name : names_in(*world.fs, kCheckedLog)) {
      if (name.ends_with(suffix) && !content_of(*world.fs, io::join(kCheckedLog, name)).empty()) target = name;
    }
    if (target.empty()) continue;
    std::string content = content_of(*world.fs, io::join(kCheckedLog, target));
    content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 0x55);
    content.resize(content.size() - 1);
    put(*world.fs, io::join(kCheckedLog, target), content);
    const PartitionCheck result = check(world);
    ASSERT_TRUE(result.is_damaged()) << suffix;
    EXPECT_EQ(result.findings[0].file, target);
  }
}

}  // namespace
}  // namespace cordwood::storage
