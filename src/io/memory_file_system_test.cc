#include "io/memory_file_system.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace cordwood::io {
namespace {

constexpr std::uint64_t kSeeds = 300;

std::string read(FileSystem& fs, const Path& path) {
  Result<ByteVector> bytes = read_file(fs, path);
  if (!bytes) return fmt::format("<{}>", to_string(bytes.error().code));
  return std::string(as_text(*bytes));
}

std::shared_ptr<File> write(FileSystem& fs, const Path& path, std::string_view text) {
  auto file = fs.open(path, OpenMode::create).value();
  file->write_at({0}, as_bytes(text)).value();
  return file;
}

// Every content that `path` has after a power cut, over many seeds.
std::set<std::string> outcomes(const MemFileSystem& fs, const Path& path) {
  std::set<std::string> found;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) found.insert(read(*fs.crash_clone(seed), path));
  return found;
}

TEST(MemFileSystemCrash, KeepsWhatWasSynced) {
  MemFileSystem fs;
  auto file = write(fs, "/a", "durable");
  file->sync().value();
  fs.sync_directory("/").value();
  EXPECT_EQ(outcomes(fs, "/a"), std::set<std::string>{"durable"});
}

TEST(MemFileSystemCrash, ANameWithoutItsDirectoryMayBeLost) {
  MemFileSystem fs;
  auto file = write(fs, "/a", "text");
  file->sync().value();
  EXPECT_EQ(outcomes(fs, "/a"), (std::set<std::string>{"text", "<not found>"}));
}

TEST(MemFileSystemCrash, ADirectoryMayBeLostWithAllThatIsSyncedInIt) {
  MemFileSystem fs;
  fs.create_directories("/d").value();
  write(fs, "/d/a", "text")->sync().value();
  fs.sync_directory("/d").value();
  EXPECT_EQ(outcomes(fs, "/d/a"), (std::set<std::string>{"text", "<not found>"}));
  fs.sync_directory("/").value();
  EXPECT_EQ(outcomes(fs, "/d/a"), std::set<std::string>{"text"});
}

TEST(MemFileSystemCrash, UnsyncedBytesAreKeptInWholeSectors) {
  MemFileSystem fs;
  fs.open("/a", OpenMode::create).value();
  fs.sync_everything();
  std::string text;
  for (char c = 'a'; c < 'h'; ++c) text += std::string(512, c);
  auto file = write(fs, "/a", text);
  bool whole = false, nothing = false, part_of_the_length = false, hole = false;
  for (const std::string& after : outcomes(fs, "/a")) {
    whole |= after == text;
    nothing |= after.empty();
    part_of_the_length |= !after.empty() && after.size() < text.size();
    for (std::size_t at = 0; at < after.size(); at += 512) {
      std::string sector = after.substr(at, 512);
      bool written = sector == text.substr(at, sector.size());
      bool absent = sector == std::string(sector.size(), '\0');
      EXPECT_TRUE(written || absent) << "a sector is torn at " << at;
      hole |= absent;
    }
  }
  EXPECT_TRUE(whole && nothing && part_of_the_length && hole);
}

TEST(MemFileSystemCrash, OverwrittenSectorsAreOldOrNew) {
  MemFileSystem fs;
  auto file = write(fs, "/a", std::string(2048, 'o'));
  fs.sync_everything();
  file->write_at({256}, as_bytes(std::string(1024, 'n'))).value();
  std::set<std::string> seen = outcomes(fs, "/a");
  EXPECT_GT(seen.size(), 3u);
  for (const std::string& after : seen) {
    ASSERT_EQ(after.size(), 2048u);
    EXPECT_EQ(after.substr(0, 256), std::string(256, 'o'));
    EXPECT_EQ(after.substr(1280), std::string(768, 'o'));
    EXPECT_TRUE(after.substr(512, 512) == std::string(512, 'o') || after.substr(512, 512) == std::string(512, 'n'));
  }
}

TEST(MemFileSystemCrash, ATruncationHasHappenedOrNot) {
  MemFileSystem fs;
  auto file = write(fs, "/a", "123456");
  fs.sync_everything();
  file->truncate({3}).value();
  EXPECT_EQ(outcomes(fs, "/a"), (std::set<std::string>{"123456", "123"}));
  // What was cut off never comes back behind a truncation that happened.
  file->truncate({6}).value();
  for (const std::string& after : outcomes(fs, "/a")) {
    EXPECT_TRUE(after == "123456" || after == std::string("123\0\0\0", 6).substr(0, after.size())) << after;
  }
  file->sync().value();
  EXPECT_EQ(outcomes(fs, "/a"), std::set<std::string>{std::string("123\0\0\0", 6)});
}

TEST(MemFileSystemCrash, SyncAfterCutAndRegrowthIsExact) {
  MemFileSystem fs;
  auto file = write(fs, "/a", std::string(10'000, 'x'));
  fs.sync_everything();
  file->truncate({100}).value();
  file->write_at({9'000}, as_bytes("y")).value();
  file->sync_data().value();
  std::string expected = std::string(100, 'x') + std::string(8'900, '\0') + "y";
  EXPECT_EQ(outcomes(fs, "/a"), std::set<std::string>{expected});
}

TEST(MemFileSystemCrash, ARenameHappensWholeOrNotAtAll) {
  MemFileSystem fs;
  write(fs, "/a", "old");
  fs.sync_everything();
  write(fs, "/a.tmp", "new")->sync().value();
  fs.rename("/a.tmp", "/a").value();
  EXPECT_EQ(outcomes(fs, "/a"), (std::set<std::string>{"old", "new"}));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    auto after = fs.crash_clone(seed);
    EXPECT_FALSE(read(*after, "/a") == "new" && *after->exists("/a.tmp"));
  }
}

TEST(MemFileSystemCrash, WriteFileAtomicallyKeepsTheOldOrTheNew) {
  MemFileSystem fs;
  write_file_atomically(fs, "/a", as_bytes("old")).value();
  EXPECT_EQ(outcomes(fs, "/a"), std::set<std::string>{"old"});
  write_file_atomically(fs, "/a", as_bytes("new")).value();
  EXPECT_EQ(outcomes(fs, "/a"), std::set<std::string>{"new"});
  // Without fsync the name may come before the bytes.
  write_file_atomically(fs, "/a", as_bytes("careless"), Fsync::no).value();
  std::set<std::string> seen = outcomes(fs, "/a");
  EXPECT_TRUE(seen.contains("new"));
  EXPECT_TRUE(seen.contains("careless"));
  EXPECT_TRUE(seen.contains(""));
}

TEST(MemFileSystemCrash, ARemovalHasHappenedOrNot) {
  MemFileSystem fs;
  write(fs, "/a", "text");
  fs.sync_everything();
  fs.remove_file("/a").value();
  EXPECT_EQ(outcomes(fs, "/a"), (std::set<std::string>{"text", "<not found>"}));
  fs.sync_directory("/").value();
  EXPECT_EQ(outcomes(fs, "/a"), std::set<std::string>{"<not found>"});
}

TEST(MemFileSystemCrash, TheNewestOfSeveralRenamesWins) {
  MemFileSystem fs;
  fs.create_directories("/d").value();
  fs.create_directories("/e").value();
  write(fs, "/d/a", "text");
  fs.sync_everything();
  fs.rename("/d/a", "/d/b").value();
  fs.rename("/d/b", "/e/c").value();
  // Syncing the target makes what led there durable, so that the file is nowhere else.
  fs.sync_directory("/e").value();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    auto after = fs.crash_clone(seed);
    EXPECT_EQ(read(*after, "/e/c"), "text");
    EXPECT_TRUE(after->list("/d")->empty());
  }
}

TEST(MemFileSystemCrash, AFileIsUnderOneNameOnly) {
  MemFileSystem fs;
  write(fs, "/a", "text");
  fs.sync_everything();
  fs.rename("/a", "/b").value();
  fs.rename("/b", "/c").value();
  fs.rename("/c", "/d").value();
  std::set<std::string> names;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    auto entries = fs.crash_clone(seed)->list("/").value();
    ASSERT_EQ(entries.size(), 1u);
    names.insert(entries[0].name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"a", "b", "c", "d"}));
}

TEST(MemFileSystemCrash, ChangesThroughAMappingAreUncertainToo) {
  MemFileSystem fs;
  auto file = write(fs, "/a", std::string(1024, 'o'));
  fs.sync_everything();
  auto map = file->map({1024}).value();
  map->bytes()[0] = std::byte{'m'};
  map->bytes()[600] = std::byte{'m'};
  EXPECT_EQ(outcomes(fs, "/a").size(), 4u);
  EXPECT_TRUE(map->sync());
  EXPECT_EQ(outcomes(fs, "/a").size(), 1u);
  map->bytes()[1] = std::byte{'m'};
  EXPECT_EQ(outcomes(fs, "/a").size(), 2u);
  // Also when the mapping is gone, and when the sync is the file's.
  map.reset();
  EXPECT_EQ(outcomes(fs, "/a").size(), 2u);
  file->sync().value();
  std::set<std::string> seen = outcomes(fs, "/a");
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen.begin()->substr(0, 3), "mmo");
}

TEST(MemFileSystemCrash, MsyncDoesNotCoverTheLength) {
  MemFileSystem fs;
  auto file = fs.open("/a", OpenMode::create).value();
  fs.sync_everything();
  file->truncate({512}).value();
  auto map = file->map({512}).value();
  map->bytes()[0] = std::byte{'m'};
  map->sync().value();
  EXPECT_TRUE(outcomes(fs, "/a").contains(""));
  file->sync().value();
  EXPECT_EQ(outcomes(fs, "/a").size(), 1u);
}

TEST(MemFileSystemCrash, TheSameSeedGivesTheSameClone) {
  MemFileSystem fs;
  for (char c = 'a'; c < 'k'; ++c) write(fs, fmt::format("/{}", c), std::string(5000, c));
  auto everything = [](FileSystem& of) {
    std::string all;
    auto entries = of.list("/").value();
    for (const DirectoryEntry& e : entries) all += e.name + ":" + read(of, "/" + e.name) + "\n";
    return all;
  };
  std::set<std::string> different;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::string first = everything(*fs.crash_clone(seed));
    EXPECT_EQ(first, everything(*fs.crash_clone(seed))) << "seed " << seed;
    different.insert(first);
  }
  EXPECT_GT(different.size(), 20u);
  EXPECT_EQ(read(fs, "/a"), std::string(5000, 'a'));
}

TEST(MemFileSystemCrash, AfterTheCutAllIsDurableAndUnlocked) {
  MemFileSystem fs;
  auto held = fs.lock("/.lock").value();
  fs.sync_everything();
  write(fs, "/a", std::string(3000, 'x'));
  auto after = fs.crash_clone(7);
  EXPECT_TRUE(after->lock("/.lock"));
  EXPECT_FALSE(fs.lock("/.lock"));
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(read(*after->crash_clone(seed), "/a"), read(*after, "/a"));
}

TEST(MemFileSystemCrash, AKilledProcessLosesNothingThatItWrote) {
  MemFileSystem fs;
  fs.create_directories("/d").value();
  auto held = fs.lock("/d/.lock").value();
  auto file = write(fs, "/d/a", "written");
  file->truncate({600}).value();
  auto map = file->map({600}).value();
  map->bytes()[599] = std::byte{'m'};
  auto killed = fs.process_crash_clone();
  EXPECT_EQ(read(*killed, "/d/a"), std::string("written") + std::string(592, '\0') + "m");
  EXPECT_TRUE(killed->lock("/d/.lock"));
  // The power may go soon after, and the disk is where it was.
  EXPECT_TRUE(outcomes(*killed, "/d/a").contains("<not found>"));
  // They are two file systems from here on.
  file->write_at({0}, as_bytes("WRITTEN")).value();
  EXPECT_EQ(read(*killed, "/d/a").substr(0, 7), "written");
}

TEST(MemFileSystem, LongSparseFilesCostNothing) {
  MemFileSystem fs;
  for (int i = 0; i < 200; ++i) {
    auto file = fs.open(fmt::format("/{}", i), OpenMode::create).value();
    file->truncate({1 * GiB}).value();
    file->write_at({i}, as_bytes("x")).value();
    file->sync().value();
  }
  fs.sync_directory("/").value();
  auto after = fs.crash_clone(1);
  EXPECT_EQ(after->status("/77")->size.value, 1 * GiB);
  std::byte into[2];
  EXPECT_EQ(*after->open("/77", OpenMode::read).value()->read_at({77}, into), 2u);
  EXPECT_EQ(into[0], std::byte{'x'});
}

TEST(MemFileSystem, TimesComeFromTheClock) {
  ManualClock clock({1000});
  MemFileSystem fs(&clock);
  auto file = write(fs, "/a", "text");
  EXPECT_EQ(fs.status("/a")->modified.value, 1000);
  clock.advance({5});
  std::byte into[1];
  file->read_at({0}, into).value();
  EXPECT_EQ(fs.status("/a")->modified.value, 1000);
  file->write_at({0}, as_bytes("T")).value();
  EXPECT_EQ(fs.status("/a")->modified.value, 1005);
  clock.advance({5});
  file->truncate({1}).value();
  EXPECT_EQ(fs.status("/a")->modified.value, 1010);
  file->sync().value();
  fs.sync_directory("/").value();
  EXPECT_EQ(fs.crash_clone(1)->status("/a")->modified.value, 1010);
  fs.set_modified("/a", {7}).value();
  EXPECT_EQ(fs.status("/a")->modified.value, 7);
  EXPECT_EQ(fs.set_modified("/none", {7}).error().code, Errc::not_found);
}

TEST(MemFileSystem, AnswersTheSpaceItIsTold) {
  MemFileSystem fs;
  fs.set_space({.total = {100}, .available = {1}});
  EXPECT_EQ(fs.space("/")->available.value, 1);
}

}  // namespace
}  // namespace cordwood::io
