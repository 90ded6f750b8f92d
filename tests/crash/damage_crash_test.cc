// A recovery that finds a hole is itself cut off, at each of its calls and by a loss of power: the next one comes to the same log,
// and what was to be kept is kept.
#include <algorithm>
#include <set>

#include "io/faulty_file_system.h"
#include "storage/damaged_files.h"
#include "storage/directory_files.h"
#include "storage/log_testing.h"
#include "storage/readable_batches.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

constexpr std::int64_t kRecords = 45;

// A log with a hole in its second segment, durable on the disk.
void make_damaged_log(World& world) {
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < kRecords; ++i) append(*log, {.producer_id = 1, .sequence = i});
    log->close_cleanly().value();
    const io::Path path = io::join(kDirectory, segment_file_name(log->segments()[1].base_offset, ".log"));
    std::string content = content_of(*world.fs, path);
    const std::size_t at = 2 * make_batch({}).size() + 70;
    content[at] = static_cast<char>(content[at] ^ 1);
    put(*world.fs, path, content);
  }
  world.memory->sync_everything();
}

// Every record offset that can be read in a .log or in what was kept of one, in the directory and below it.
std::multiset<std::int64_t> readable_offsets(io::FileSystem& fs) {
  std::multiset<std::int64_t> offsets;
  for (const auto& [name, content] : files_in(fs)) {
    if (name.find(".log") == std::string::npos || name.ends_with(".part")) continue;
    io::MemFileSystem one;
    put(one, "/f", content);
    auto file = one.open("/f", io::OpenMode::read).value();
    const auto runs = find_readable(*file, FilePosition{0}, FilePosition{static_cast<std::int64_t>(content.size())}, {0}).value();
    for (const ReadableRun& run : runs) {
      for (std::int64_t offset = run.first_offset.value; offset <= run.last_offset.value; ++offset) offsets.insert(offset);
    }
  }
  return offsets;
}

std::vector<std::pair<std::string, std::string>> files_after_recovery(World& world) {
  open_log(world, small_segments(StopKind::unclean))->close_cleanly().value();
  return files_in(*world.fs);
}

// But for the reports, which tell an interruption.
void expect_same_outcome(World& world, const std::vector<std::pair<std::string, std::string>>& expected) {
  const auto files = files_after_recovery(world);
  ASSERT_EQ(files.size(), expected.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    ASSERT_EQ(files[i].first, expected[i].first);
    if (!files[i].first.ends_with(kDamageReport)) {
      ASSERT_EQ(files[i].second, expected[i].second) << files[i].first;
    }
  }
}

TEST(DamageCrash, ARecoveryCutOffAtAnyCallIsRepeatedWithTheSameOutcome) {
  World untouched;
  make_damaged_log(untouched);
  const auto all = readable_offsets(*untouched.fs);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kRecords - 1));
  const auto expected = files_after_recovery(untouched);
  ASSERT_EQ(readable_offsets(*untouched.fs), all);

  std::int64_t calls = 1;
  for (;; ++calls) {
    World world;
    make_damaged_log(world);
    io::FaultyFileSystem faulty(*world.memory);
    world.fs = &faulty;
    faulty.arm({.fail_at = calls, .repeat = io::Fault::Repeat::from_then_on});
    const auto opened =
        PartitionLog::open(world.environment(), kDirectory, {"t", PartitionId{0}}, small_segments(StopKind::unclean));
    const bool failed = faulty.has_failed();
    ASSERT_TRUE(opened.has_value() || failed);
    world.fs = world.memory.get();
    if (!failed) break;
    SCOPED_TRACE(testing::Message() << "call " << calls);
    // The process died here, or the power went with it.
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      World after;
      after.memory = seed == 0 ? world.memory->process_crash_clone() : world.memory->crash_clone(seed * 100 + static_cast<std::uint64_t>(calls));
      after.fs = after.memory.get();
      const auto left = readable_offsets(*after.fs);
      for (std::int64_t offset : all) ASSERT_TRUE(left.contains(offset)) << offset;
      expect_same_outcome(after, expected);
      ASSERT_EQ(readable_offsets(*after.fs), all);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(calls, 30);
}

TEST(DamageCrash, AFullDiskRefusesTheLogAndLosesNothing) {
  std::int64_t refused = 0;
  for (std::int64_t calls = 1;; ++calls) {
    World world;
    make_damaged_log(world);
    const auto all = readable_offsets(*world.fs);
    io::FaultyFileSystem faulty(*world.memory);
    world.fs = &faulty;
    faulty.arm({.fail_at = calls, .repeat = io::Fault::Repeat::from_then_on, .sys_errno = 28});
    const auto opened =
        PartitionLog::open(world.environment(), kDirectory, {"t", PartitionId{0}}, small_segments(StopKind::unclean));
    const bool failed = faulty.has_failed();
    world.fs = world.memory.get();
    const auto left = readable_offsets(*world.fs);
    for (std::int64_t offset : all) ASSERT_TRUE(left.contains(offset)) << "call " << calls << ", offset " << offset;
    if (!opened && opened.error().code == Errc::no_space && opened.error().what.find("cannot be kept") != std::string::npos) {
      ++refused;
    }
    if (!failed) break;
  }
  EXPECT_GT(refused, 0) << "the copy itself met the full disk";
}

}  // namespace
}  // namespace cordwood::storage
