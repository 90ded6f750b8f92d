// verify and repair on directories of Kafka's, damaged in memory. tests/differential/damage_repair.py has the matrix.
#include <gtest/gtest.h>

#include "offline/offline_testing.h"

namespace cordwood::offline {

extern const cli::Command repair_command;
extern const cli::Command verify_command;

namespace {

const io::Path kPartition = "/data/g-size-0";
const io::Path kMiddle = "/data/g-size-0/00000000000000000044.log";

struct DamagedWorld {
  io::MemFileSystem fs;
  DamagedWorld() { load_golden(fs, "rolled-size"); }
  std::string content(const io::Path& path) { return std::string(as_text(io::read_file(fs, path).value())); }
  void flip(const io::Path& path, std::size_t at) {
    std::string bytes = content(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    put_file(fs, path, bytes);
  }
  CommandRun verify(const std::vector<std::string>& words) { return run_command(verify_command, words, fs); }
  CommandRun repair(const std::vector<std::string>& words) { return run_command(repair_command, words, fs); }
};

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Verify, FindsNothingInAGoodDirectory) {
  DamagedWorld world;
  const CommandRun run = world.verify({"/data"});
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(holds(run.out, "1 partitions, ")) << run.out;
  EXPECT_TRUE(holds(run.out, ": no damage\n")) << run.out;
}

TEST(Verify, NamesFileBytesAndOffsets) {
  DamagedWorld world;
  world.flip(kMiddle, 100);
  const CommandRun run = world.verify({"/data"});
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(holds(run.out, kMiddle + ": hole at ")) << run.out;
  EXPECT_TRUE(holds(run.out, "at the next start: passed over; Kafka serves it: clients find the damage\n")) << run.out;
  EXPECT_TRUE(holds(run.out, ": 1 damaged places\n")) << run.out;
  // The same of the partition, and of the file; not of another one.
  EXPECT_EQ(world.verify({kPartition}).code, 1);
  EXPECT_EQ(world.verify({kMiddle}).code, 1);
  EXPECT_EQ(world.verify({kPartition + "/00000000000000000022.log"}).code, 0);
}

TEST(Verify, SaysWhatItCannotLookAt) {
  DamagedWorld world;
  const CommandRun run = world.verify({"/nowhere", "/data"});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(holds(run.err, "cordwood verify: /nowhere: ")) << run.err;
  EXPECT_EQ(world.verify({}).code, 2);
  EXPECT_EQ(world.verify({"--threads", "0", "/data"}).code, 2);
}

TEST(Repair, LeavesAGoodDirectoryAlone) {
  DamagedWorld world;
  const auto before = files_below(world.fs, "/data");
  const CommandRun run = world.repair({"/data"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_EQ(run.out, "1 partitions: nothing is damaged\n");
  auto after = files_below(world.fs, "/data");
  after.erase("/data/.lock");
  auto expected = before;
  expected.erase("/data/.lock");
  EXPECT_EQ(after, expected);
  EXPECT_FALSE(world.fs.exists("/data.quarantine").value());
}

TEST(Repair, OnlySaysItWithDryRun) {
  DamagedWorld world;
  world.flip(kMiddle, 100);
  const auto before = files_below(world.fs, "/");
  const CommandRun dry = world.repair({"--dry-run", "/data"});
  EXPECT_EQ(dry.code, 1);
  EXPECT_EQ(files_below(world.fs, "/"), before);
  EXPECT_TRUE(holds(dry.out, "are lost: a gap stays\n")) << dry.out;
  EXPECT_TRUE(holds(dry.out, "00000000000000000044.index: made anew\n")) << dry.out;
  // And then it is done.
  const CommandRun run = world.repair({"/data"});
  EXPECT_EQ(run.code, 1) << run.err;
  for (std::size_t at = 0; at < dry.out.size();) {
    const std::size_t end = dry.out.find('\n', at);
    const std::string line = dry.out.substr(at, end - at);
    if (line.starts_with(kPartition)) {
      EXPECT_TRUE(holds(run.out, line)) << line;
    }
    at = end + 1;
  }
}

TEST(Repair, KeepsTheRestOfTheFileAndTheOriginal) {
  DamagedWorld world;
  const std::string good = world.content(kMiddle);
  world.flip(kMiddle, 100);
  const std::string bad = world.content(kMiddle);
  EXPECT_EQ(world.repair({"/data"}).code, 1);
  const std::string mended = world.content(kMiddle);
  // One batch is gone, the others are as they were.
  ASSERT_LT(mended.size(), good.size());
  EXPECT_TRUE(good.ends_with(mended.substr(mended.size() - 500)));
  EXPECT_EQ(world.content("/data.quarantine/000001/g-size-0/00000000000000000044.log"), bad);
  EXPECT_TRUE(holds(world.content("/data.quarantine/000001/repair.jsonl"), "\"action\":\"lose\""));
  const CommandRun verified = world.verify({"/data"});
  EXPECT_EQ(verified.code, 0) << verified.out;
  EXPECT_EQ(world.repair({"/data"}).code, 0);
}

TEST(Repair, MendsACopy) {
  DamagedWorld world;
  world.flip(kMiddle, 100);
  const auto before = files_below(world.fs, "/data");
  EXPECT_EQ(world.repair({"/data", "--output", "/copy"}).code, 1);
  EXPECT_EQ(files_below(world.fs, "/data"), before);
  EXPECT_EQ(world.verify({"/copy"}).code, 0);
  EXPECT_EQ(world.verify({"/data"}).code, 1);
  EXPECT_EQ(world.repair({"/data", "--output", "/copy"}).code, 2) << "it is there already";
}

// The offset of a batch is covered by no checksum.
TEST(Repair, PutsADamagedOffsetRight) {
  DamagedWorld world;
  const std::string good = world.content(kMiddle);
  const std::size_t second = 12 + static_cast<std::size_t>(load_be<std::int32_t>(as_bytes(good), 8));
  std::string bad = good;
  bad[second + 2] = 1;
  put_file(world.fs, kMiddle, bad);
  const CommandRun run = world.repair({"/data"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(holds(run.out, "the offset in the file was damaged")) << run.out;
  EXPECT_EQ(world.content(kMiddle), good);
}

TEST(Repair, RefusesWhatABrokerUses) {
  DamagedWorld world;
  world.flip(kMiddle, 100);
  const auto lock = world.fs.lock("/data/.lock").value();
  const CommandRun run = world.repair({"/data"});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(holds(run.err, "a broker uses /data")) << run.err;
}

}  // namespace
}  // namespace cordwood::offline
