#include "storage/leader_epoch_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/source_path_testing.h"
#include "io/faulty_file_system.h"
#include "io/memory_file_system.h"

namespace cordwood::storage {
namespace {

std::string describe(const std::vector<EpochEntry>& entries) {
  std::string text;
  for (const EpochEntry& e : entries) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}@{}", e.epoch, e.start_offset);
  }
  return text;
}

// Takes one step of the golden file and gives its answer in the file's words.
std::string step(LeaderEpochCache& cache, const std::string& text) {
  std::istringstream in(text);
  std::string what;
  std::int64_t first = 0, second = 0;
  in >> what >> first >> second;
  auto epoch = static_cast<std::int32_t>(first);
  if (what == "assign") {
    cache.assign({epoch}, {second}).value();
  } else if (what == "from_end") {
    cache.truncate_from_end({first}).value();
  } else if (what == "from_start") {
    cache.truncate_from_start({first}).value();
  } else if (what == "clear") {
    cache.clear().value();
  } else if (what == "end_of") {
    EpochEndOffset found = cache.end_offset_for(epoch, {second});
    return fmt::format("{} {}", found.epoch, found.end_offset);
  } else if (what == "epoch_of") {
    auto found = cache.epoch_of({first});
    return found ? fmt::format("{}", *found) : "-";
  } else {
    ADD_FAILURE() << "unknown step " << text;
  }
  return "-";
}

TEST(LeaderEpochCache, AnswersRandomHistoriesAsKafkaDoes) {
  std::ifstream file(source_path("tests/golden/storage/leader_epoch_cases.txt"));
  ASSERT_TRUE(file.is_open());
  io::MemFileSystem fs;
  std::optional<LeaderEpochCache> cache;
  std::string line;
  int number = 0, steps = 0;
  while (std::getline(file, line)) {
    ++number;
    if (line == "history") {
      if (cache) cache->clear().value();
      cache = LeaderEpochCache::open(fs, "/epochs").value();
      continue;
    }
    ASSERT_TRUE(cache);
    std::size_t arrow = line.find(" -> "), slash = line.find(" / ");
    ASSERT_TRUE(arrow != std::string::npos && slash != std::string::npos) << number;
    std::string answer = step(*cache, line.substr(0, arrow));
    ASSERT_EQ(describe(cache->entries()) + " / " + answer, line.substr(arrow + 4)) << number << ": " << line;
    // The file says the same at any time.
    ASSERT_EQ(LeaderEpochCache::open(fs, "/epochs")->entries(), cache->entries()) << number;
    ++steps;
  }
  EXPECT_GT(steps, 1000);
}

struct CacheTest : testing::Test {
  io::MemFileSystem memory;
  io::FaultyFileSystem fs{memory};
  LeaderEpochCache cache = LeaderEpochCache::open(fs, "/epochs").value();
  void assign_all() {
    for (std::int32_t e : {2, 4, 7}) cache.assign({e}, {e * 10}).value();  // 2@20 4@40 7@70
  }
};

TEST_F(CacheTest, AnEmptyCacheKnowsNothing) {
  EXPECT_FALSE(cache.latest());
  EXPECT_FALSE(cache.earliest());
  EXPECT_FALSE(cache.epoch_of({0}));
  EXPECT_EQ(cache.end_offset_for(0, {100}), EpochEndOffset{});
  EXPECT_FALSE(*fs.exists("/epochs"));
}

TEST_F(CacheTest, EndOffsetsOfEpochs) {
  assign_all();
  struct Case {
    std::int32_t requested, epoch;
    std::int64_t end;
  };
  for (Case c : {Case{-1, -1, -1}, {0, 0, 20}, {1, 1, 20}, {2, 2, 40}, {3, 2, 40}, {4, 4, 70}, {5, 4, 70}, {6, 4, 70},
                 {7, 7, 99}, {8, -1, -1}}) {
    EXPECT_EQ(cache.end_offset_for(c.requested, {99}), (EpochEndOffset{c.epoch, {c.end}})) << c.requested;
  }
}

TEST_F(CacheTest, EpochsOfOffsets) {
  assign_all();
  EXPECT_FALSE(cache.epoch_of({19}));
  EXPECT_EQ(cache.epoch_of({20})->value, 2);
  EXPECT_EQ(cache.epoch_of({39})->value, 2);
  EXPECT_EQ(cache.epoch_of({40})->value, 4);
  EXPECT_EQ(cache.epoch_of({1000})->value, 7);
  EXPECT_EQ(cache.earliest()->epoch.value, 2);
  EXPECT_EQ(cache.latest()->start_offset.value, 70);
}

TEST_F(CacheTest, RefusesNegativeNumbers) {
  EXPECT_EQ(cache.assign({-1}, {0}).error().code, Errc::invalid);
  EXPECT_EQ(cache.assign({0}, {-1}).error().code, Errc::invalid);
  EXPECT_TRUE(cache.entries().empty());
}

TEST_F(CacheTest, WritesOnlyWhatChanged) {
  assign_all();
  fs.clear_trace();
  cache.assign({7}, {71}).value();
  cache.truncate_from_end({71}).value();
  cache.truncate_from_start({20}).value();
  cache.truncate_from_start({5}).value();
  EXPECT_TRUE(fs.trace().empty());
  cache.truncate_from_end({70}, io::Fsync::no).value();
  EXPECT_EQ(describe(LeaderEpochCache::open(fs, "/epochs")->entries()), "2@20,4@40");
  for (const std::string& call : fs.trace()) EXPECT_FALSE(call.starts_with("sync")) << call;
  fs.clear_trace();
  cache.flush().value();
  EXPECT_EQ(fs.trace().back(), "sync_directory /");
}

TEST_F(CacheTest, ClearingLeavesAFileWithoutEntries) {
  assign_all();
  cache.clear().value();
  ByteVector bytes = io::read_file(fs, "/epochs").value();
  EXPECT_EQ(as_text(bytes), "0\n0\n");
}

TEST_F(CacheTest, ADamagedFileIsAnError) {
  io::write_file_atomically(fs, "/epochs", as_bytes("0\n1\nnonsense\n")).value();
  auto opened = LeaderEpochCache::open(fs, "/epochs");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::corrupt);
}

TEST_F(CacheTest, OfAFileOutOfOrderTheLaterLineWins) {
  io::write_file_atomically(fs, "/epochs", as_bytes("0\n3\n1 10\n5 50\n3 30\n")).value();
  EXPECT_EQ(describe(LeaderEpochCache::open(fs, "/epochs")->entries()), "1@10,3@30");
}

TEST_F(CacheTest, AFailedWriteIsAnError) {
  assign_all();
  fs.arm({.fail_at = 1, .repeat = io::Fault::Repeat::from_then_on});
  EXPECT_FALSE(cache.assign({9}, {90}));
  EXPECT_FALSE(cache.truncate_from_end({0}));
  fs.disarm();
  EXPECT_EQ(describe(LeaderEpochCache::open(fs, "/epochs")->entries()), "2@20,4@40,7@70");
}

}  // namespace
}  // namespace cordwood::storage
