#include "storage/index_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "io/faulty_file_system.h"
#include "io/memory_file_system.h"
#include "io/temporary_directory_testing.h"

namespace cordwood::storage {
namespace {

constexpr std::size_t kSize = 8;
constexpr ByteCount kCapacity{100 * 8 + 3};

ByteVector entry(std::int64_t n) {
  ByteVector bytes(kSize);
  store_be<std::int64_t>(bytes, 0, n);
  return bytes;
}

std::vector<std::int64_t> contents(const IndexFile& index) {
  return index.read([](BytesView all) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < all.size(); i += kSize) numbers.push_back(load_be<std::int64_t>(all, i));
    return numbers;
  });
}

std::vector<std::int64_t> up_to(std::int64_t count) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t n = 1; n <= count; ++n) numbers.push_back(n);
  return numbers;
}

struct IndexFileTest : testing::Test {
  io::MemFileSystem memory;
  io::FaultyFileSystem fs{memory};
  std::unique_ptr<IndexFile> open(IndexGrowth growth) {
    return IndexFile::open(fs, "/i", kSize, kCapacity, growth).value();
  }
  std::int64_t length() { return fs.status("/i")->size.value; }
  void fill(IndexFile& index, std::int64_t count) {
    for (std::int64_t n = index.entries() + 1; n <= count; ++n) index.append(entry(n)).value();
  }
};

TEST_F(IndexFileTest, AnActiveFileIsAsLongAsItsCapacityInWholeEntries) {
  auto index = open(IndexGrowth::full);
  EXPECT_EQ(length(), 800);
  EXPECT_EQ(index->size_on_disk().value, 800);
  EXPECT_EQ(index->entries(), 0);
  EXPECT_EQ(index->max_entries(), 100);
  fill(*index, 100);
  EXPECT_EQ(contents(*index), up_to(100));
  EXPECT_EQ(index->append(entry(101)).error().code, Errc::limit);
  EXPECT_EQ(length(), 800);
}

TEST_F(IndexFileTest, AnAbsentInactiveFileIsMadeEmpty) {
  auto index = open(IndexGrowth::as_it_is);
  EXPECT_EQ(length(), 0);
  EXPECT_EQ(index->max_entries(), 0);
  EXPECT_TRUE(contents(*index).empty());
  EXPECT_EQ(index->append(entry(1)).error().code, Errc::limit);
}

TEST_F(IndexFileTest, ARolledFileIsMadeByItsFirstAppend) {
  auto index = open(IndexGrowth::full_on_append);
  EXPECT_FALSE(*fs.exists("/i"));
  EXPECT_EQ(index->max_entries(), 100);
  EXPECT_TRUE(contents(*index).empty());
  EXPECT_TRUE(index->sync());
  EXPECT_TRUE(index->trim());
  EXPECT_FALSE(*fs.exists("/i"));
  EXPECT_TRUE(index->resize_to_capacity());
  fill(*index, 3);
  EXPECT_EQ(length(), 800);
  EXPECT_EQ(contents(*index), up_to(3));
}

TEST_F(IndexFileTest, ATrimmedFileIsReadAgainAndGrowsForAppends) {
  {
    auto index = open(IndexGrowth::full);
    fill(*index, 5);
    index->trim().value();
    EXPECT_EQ(length(), 40);
    EXPECT_EQ(contents(*index), up_to(5));
    EXPECT_EQ(index->append(entry(6)).error().code, Errc::limit);
    index->trim().value();
  }
  auto inactive = open(IndexGrowth::as_it_is);
  EXPECT_EQ(inactive->entries(), 5);
  EXPECT_EQ(inactive->max_entries(), 5);
  EXPECT_EQ(contents(*inactive), up_to(5));
  EXPECT_EQ(length(), 40);
  inactive->resize_to_capacity().value();
  EXPECT_EQ(length(), 800);
  fill(*inactive, 7);
  EXPECT_EQ(contents(*inactive), up_to(7));
  inactive->trim().value();

  auto lazily = open(IndexGrowth::full_on_append);
  EXPECT_EQ(contents(*lazily), up_to(7));
  EXPECT_EQ(length(), 56);
  fill(*lazily, 8);
  EXPECT_EQ(length(), 800);
  EXPECT_EQ(contents(*lazily), up_to(8));
}

TEST_F(IndexFileTest, APartialEntryAtTheEndDoesNotCount) {
  ByteVector bytes(8 + 5, std::byte{0});
  bytes[7] = std::byte{1};
  io::write_file_atomically(fs, "/i", bytes).value();
  EXPECT_EQ(contents(*open(IndexGrowth::as_it_is)), up_to(1));
  EXPECT_EQ(length(), 13);
  auto index = open(IndexGrowth::full);
  fill(*index, 2);
  EXPECT_EQ(contents(*index), up_to(2));
  index->trim().value();
  EXPECT_EQ(length(), 16);
}

TEST_F(IndexFileTest, ASmallerCapacityDropsNothing) {
  {
    auto index = open(IndexGrowth::full);
    fill(*index, 50);
    index->trim().value();
  }
  auto index = IndexFile::open(fs, "/i", kSize, {10 * 8}, IndexGrowth::full).value();
  EXPECT_EQ(contents(*index), up_to(50));
  EXPECT_EQ(index->max_entries(), 50);
  EXPECT_EQ(length(), 400);
  EXPECT_EQ(IndexFile::open(fs, "/j", kSize, {7}, IndexGrowth::full).error().code, Errc::invalid);
}

TEST_F(IndexFileTest, AfterAKillTheZerosLookLikeEntriesUntilReset) {
  fill(*open(IndexGrowth::full), 3);
  auto index = open(IndexGrowth::full);
  EXPECT_EQ(index->entries(), 100);
  index->reset().value();
  EXPECT_EQ(index->entries(), 0);
  EXPECT_EQ(length(), 800);
  fill(*index, 2);
  EXPECT_EQ(contents(*index), up_to(2));
  // Nothing of the old bytes is left behind the new ones.
  ByteVector bytes = io::read_file(fs, "/i").value();
  for (std::size_t i = 16; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], std::byte{0}) << i;
}

TEST_F(IndexFileTest, ForgetsFromTheEnd) {
  auto index = open(IndexGrowth::full);
  fill(*index, 9);
  index->keep_first(12);
  EXPECT_EQ(index->entries(), 9);
  index->keep_first(4);
  EXPECT_EQ(contents(*index), up_to(4));
  index->append(entry(77)).value();
  EXPECT_EQ(contents(*index), (std::vector<std::int64_t>{1, 2, 3, 4, 77}));
}

TEST_F(IndexFileTest, ARenamedFileIsFoundUnderItsNewName) {
  {
    auto index = open(IndexGrowth::full);
    fill(*index, 5);
    index->trim().value();
  }
  auto index = open(IndexGrowth::as_it_is);
  index->rename_to("/i.deleted").value();
  // A new file takes the old name before the old one was ever read.
  io::write_file_atomically(fs, "/i", ByteVector(80, std::byte{9})).value();
  EXPECT_EQ(contents(*index), up_to(5));
  EXPECT_EQ(index->path(), "/i.deleted");

  auto not_made = IndexFile::open(fs, "/new", kSize, kCapacity, IndexGrowth::full_on_append).value();
  not_made->rename_to("/renamed").value();
  fill(*not_made, 1);
  EXPECT_TRUE(*fs.exists("/renamed"));
  EXPECT_FALSE(*fs.exists("/new"));
  fs.remove_file("/renamed").value();
  EXPECT_EQ(not_made->rename_to("/again").error().code, Errc::not_found);
}

TEST_F(IndexFileTest, AFileIsFoundAfterItsDirectoryWasRenamed) {
  fs.create_directories("/topic-0").value();
  {
    auto index = IndexFile::open(fs, "/topic-0/i", kSize, kCapacity, IndexGrowth::full).value();
    fill(*index, 3);
    index->trim().value();
  }
  auto index = IndexFile::open(fs, "/topic-0/i", kSize, kCapacity, IndexGrowth::as_it_is).value();
  fs.rename("/topic-0", "/topic-0.ff-delete").value();
  index->moved_to("/topic-0.ff-delete/i");
  EXPECT_EQ(contents(*index), up_to(3));
  EXPECT_TRUE(index->remove());
  EXPECT_TRUE(fs.list("/topic-0.ff-delete")->empty());
}

TEST_F(IndexFileTest, ARemovedFileIsReadOnOnlyWhereItWasMapped) {
  {
    auto index = open(IndexGrowth::full);
    fill(*index, 5);
    index->trim().value();
  }
  auto mapped = open(IndexGrowth::as_it_is);
  auto unmapped = open(IndexGrowth::as_it_is);
  mapped->map().value();
  mapped->remove().value();
  unmapped->remove().value();
  io::write_file_atomically(fs, "/i", ByteVector(80, std::byte{9})).value();
  EXPECT_EQ(contents(*mapped), up_to(5));
  EXPECT_TRUE(contents(*unmapped).empty());
}

TEST_F(IndexFileTest, AFileThatCannotBeMappedReadsAsEmpty) {
  {
    auto index = open(IndexGrowth::full);
    fill(*index, 5);
    index->trim().value();
  }
  auto index = open(IndexGrowth::as_it_is);
  fs.arm({.counted = io::FileCall::map, .fail_at = 1, .repeat = io::Fault::Repeat::from_then_on});
  EXPECT_TRUE(contents(*index).empty());
  EXPECT_EQ(index->map().error().code, Errc::io);
  fs.disarm();
  EXPECT_EQ(contents(*index), up_to(5));
}

TEST_F(IndexFileTest, EveryFailedCallIsAnErrorAndLosesNothing) {
  // The whole life of an index; after each step that failed nothing is there that was not appended.
  std::int64_t n = 1;
  for (;; ++n) {
    io::MemFileSystem disk;
    io::FaultyFileSystem faulty(disk);
    faulty.arm({.counted = io::FileCall::all, .fail_at = n, .sys_errno = 28});
    auto life = [&]() -> Result<void> {
      auto index = TRY(IndexFile::open(faulty, "/i", kSize, kCapacity, IndexGrowth::full_on_append));
      for (std::int64_t i = 1; i <= 5; ++i) {
        Result<void> appended = index->append(entry(i));
        EXPECT_EQ(index->entries(), appended ? i : i - 1);
        TRY(std::move(appended));
      }
      TRY(index->sync());
      TRY(index->trim());
      TRY(index->sync());
      TRY(index->resize_to_capacity());
      TRY(index->append(entry(6)));
      TRY(index->rename_to("/j"));
      TRY(index->reset());
      TRY(index->append(entry(1)));
      TRY(index->sync());
      return index->remove();
    };
    bool succeeded = life().has_value();
    EXPECT_EQ(succeeded, !faulty.has_failed()) << "call " << n;
    if (!faulty.has_failed()) break;
    ASSERT_LT(n, 200);
  }
  EXPECT_GT(n, 15);
}

TEST_F(IndexFileTest, WhatWasSyncedIsThereAfterAPowerCut) {
  auto index = open(IndexGrowth::full);
  memory.sync_directory("/").value();
  fill(*index, 70);
  index->sync().value();
  fill(*index, 90);
  index->keep_first(80);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    auto after = memory.crash_clone(seed);
    auto reopened = IndexFile::open(*after, "/i", kSize, kCapacity, IndexGrowth::as_it_is).value();
    std::vector<std::int64_t> found = contents(*reopened);
    ASSERT_EQ(found.size(), 100u);
    found.resize(70);
    ASSERT_EQ(found, up_to(70)) << "seed " << seed;
  }
  index->trim().value();
  index->sync().value();
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(memory.crash_clone(seed)->status("/i")->size.value, 640);
}

TEST_F(IndexFileTest, SyncsOnlyWhatChanged) {
  auto index = open(IndexGrowth::full);
  fill(*index, 1);
  fs.clear_trace();
  const auto syncs = [&] {
    const std::vector<std::string> calls = fs.trace();
    return std::ranges::count(calls, "sync /i");
  };
  index->sync().value();
  EXPECT_EQ(syncs(), 1);
  const std::size_t calls = fs.trace().size();
  index->sync().value();
  EXPECT_EQ(fs.trace().size(), calls);
  fs.arm({.counted = io::FileCall::sync, .fail_at = 1});
  fill(*index, 2);
  EXPECT_FALSE(index->sync());
  EXPECT_TRUE(index->sync());
  EXPECT_EQ(syncs(), 3);
}

TEST_F(IndexFileTest, AsksForBlocksBeforeItWritesToThem) {
  auto index = IndexFile::open(fs, "/i", kSize, {3 * 4096}, IndexGrowth::full).value();
  fs.clear_trace();
  fill(*index, 1);
  fill(*index, 512);
  fill(*index, 513);
  fill(*index, 3 * 512);
  std::vector<std::string> reserved;
  for (const std::string& call : fs.trace()) {
    if (call.starts_with("reserve")) reserved.push_back(call);
  }
  EXPECT_EQ(reserved, (std::vector<std::string>{"reserve /i 4096", "reserve /i 8192", "reserve /i 12288"}));
  fs.arm({.counted = io::FileCall::reserve, .fail_at = 1, .sys_errno = 28});
  index->reset().value();
  EXPECT_EQ(index->append(entry(1)).error().code, Errc::no_space);
  EXPECT_EQ(index->entries(), 0);
}

TEST_F(IndexFileTest, CanBeClosedAtAnyTime) {
  auto index = open(IndexGrowth::full);
  for (std::int64_t i = 1; i <= 60; ++i) {
    index->append(entry(i)).value();
    if (i % 3 == 0) index->close_files();
    if (i % 5 == 0) {
      EXPECT_EQ(contents(*index), up_to(i));
    }
  }
  EXPECT_TRUE(index->is_mapped());
  index->close_files();
  EXPECT_FALSE(index->is_mapped());
  fs.clear_trace();
  index->sync().value();  // what was written through a mapping that is gone
  EXPECT_THAT(fs.trace(), testing::Contains("sync /i"));
  EXPECT_EQ(contents(*index), up_to(60));
  EXPECT_EQ(contents(*open(IndexGrowth::as_it_is)).front(), 1);
}

TEST_F(IndexFileTest, OpeningMapsNothing) {
  fs.arm({.counted = io::FileCall::map, .fail_at = 1});
  auto index = open(IndexGrowth::full);
  EXPECT_EQ(fs.calls(), 0);
}

// Readers that never pause must not keep the writer out.
TEST(ReadersGate, ClosesWhileReadersKeepComing) {
  ReadersGate gate;
  std::atomic<bool> done{false};
  std::int64_t guarded = 0;  // written while closed, read inside
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      std::int64_t last = 0;
      while (!done) {
        ReadersGate::Pass inside(gate);
        std::int64_t now = guarded;
        ASSERT_GE(now, last);
        last = now;
      }
    });
  }
  std::vector<std::thread> closers;
  for (int c = 0; c < 2; ++c) {
    closers.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        ReadersGate::Closure alone(gate);
        ++guarded;
      }
    });
  }
  for (std::thread& t : closers) t.join();
  done = true;
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(guarded, 4000);
}

// One writer that appends, truncates, trims and grows; readers that must see ascending entries only. A page behind the
// end of the file would kill the process.
TEST(IndexFileThreads, ReadersSeeWholeEntriesWhateverTheWriterDoes) {
  io::PosixFileSystem fs;
  io::TemporaryDirectory dir;
  auto index = IndexFile::open(fs, dir / "i", kSize, {64 * KiB}, IndexGrowth::full).value();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!done) {
        std::vector<std::int64_t> seen = contents(*index);
        for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<std::int64_t>(i) + 1);
      }
    });
  }
  std::thread syncer([&] {
    while (!done) index->sync().value();
  });
  for (int round = 0; round < 60; ++round) {
    for (std::int64_t n = index->entries() + 1; n <= 8000; ++n) index->append(entry(n)).value();
    index->keep_first(round % 2 == 0 ? 10 : 5000);
    index->trim().value();
    if (round % 3 == 0) {
      index->reset().value();
    } else {
      index->resize_to_capacity().value();
    }
  }
  done = true;
  for (std::thread& t : readers) t.join();
  syncer.join();
}

// A thousand partitions have two of these each, and all are to be open in a fraction of a second.
TEST_F(IndexFileTest, OpeningTakesNoMoreCallsThanItMust) {
  {
    auto index = open(IndexGrowth::full);
    fill(*index, 5);
    index->trim().value();
  }
  auto calls_to_open = [&](IndexGrowth growth) {
    fs.arm({.counted = io::FileCall::all});
    auto index = open(growth);
    return fs.calls();
  };
  EXPECT_EQ(calls_to_open(IndexGrowth::as_it_is), 1) << "a look at the length";
  EXPECT_EQ(calls_to_open(IndexGrowth::full_on_append), 1);
  EXPECT_EQ(calls_to_open(IndexGrowth::full), 3) << "open, length, truncate";
}

}  // namespace
}  // namespace cordwood::storage
