#include "io/faulty_file_system.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/memory_file_system.h"

namespace cordwood::io {
namespace {

using Shape = Fault::Shape;
using Repeat = Fault::Repeat;

std::string read(FileSystem& fs, const Path& path) {
  Result<ByteVector> bytes = read_file(fs, path);
  if (!bytes) return fmt::format("<{}>", to_string(bytes.error().code));
  return std::string(as_text(*bytes));
}

struct FaultyTest : testing::Test {
  MemFileSystem disk;
  FaultyFileSystem fs{disk};
};

TEST_F(FaultyTest, EveryCallOfAnAtomicWriteCanFail) {
  // open, write, sync, close, rename, sync_directory: six calls, and the seventh run passes untouched.
  for (Shape shape : {Shape::refuse, Shape::shorten, Shape::tear}) {
    std::int64_t n = 1;
    for (;; ++n) {
      ASSERT_LT(n, 10);
      write_file_atomically(disk, "/a", as_bytes("old")).value();
      fs.arm({.fail_at = n, .shape = shape});
      Result<void> written = write_file_atomically(fs, "/a", as_bytes("newer"));
      EXPECT_EQ(written.has_value(), !fs.has_failed());
      std::string now = read(disk, "/a");
      EXPECT_TRUE(now == "old" || now == "newer") << now;
      if (!fs.has_failed()) break;
    }
    EXPECT_EQ(n, 7);
    EXPECT_EQ(fs.calls(), 6);
  }
}

TEST_F(FaultyTest, OnceOrFromThenOn) {
  auto file = fs.open("/a", OpenMode::create).value();
  fs.arm({.counted = FileCall::write, .fail_at = 2, .repeat = Repeat::once});
  EXPECT_TRUE(file->write_at({0}, as_bytes("1")));
  EXPECT_FALSE(file->write_at({1}, as_bytes("2")));
  EXPECT_TRUE(file->write_at({2}, as_bytes("3")));
  EXPECT_TRUE(file->sync());
  EXPECT_EQ(fs.calls(), 3);
  fs.arm({.counted = FileCall::write, .fail_at = 2, .repeat = Repeat::from_then_on});
  EXPECT_TRUE(file->write_at({3}, as_bytes("4")));
  EXPECT_FALSE(file->write_at({4}, as_bytes("5")));
  EXPECT_FALSE(file->write_at({5}, as_bytes("6")));
  EXPECT_TRUE(file->sync());
  fs.disarm();
  EXPECT_TRUE(file->write_at({4}, as_bytes("5")));
  EXPECT_FALSE(fs.has_failed());
  EXPECT_EQ(read(disk, "/a"), std::string("1\0""345", 5));
}

TEST_F(FaultyTest, AShortWriteLeavesTheFirstHalfAndATornOneTheSecond) {
  auto file = fs.open("/a", OpenMode::create).value();
  std::vector<BytesView> pieces{as_bytes("abc"), as_bytes("def")};
  fs.arm({.counted = FileCall::write, .fail_at = 1, .shape = Shape::shorten, .sys_errno = 28});
  Result<void> written = file->write_at({0}, pieces);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::no_space);
  EXPECT_EQ(read(disk, "/a"), "abc");
  file->truncate({0}).value();
  fs.arm({.counted = FileCall::write, .fail_at = 1, .shape = Shape::tear});
  written = file->write_at({0}, pieces);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::io);
  EXPECT_EQ(read(disk, "/a"), std::string("\0\0\0def", 6));
}

TEST_F(FaultyTest, ATornCallHasHappenedAlthoughItFailed) {
  disk.open("/a", OpenMode::create).value();
  fs.arm({.counted = FileCall::rename, .fail_at = 1, .shape = Shape::tear});
  EXPECT_FALSE(fs.rename("/a", "/b"));
  EXPECT_TRUE(*disk.exists("/b"));
  fs.arm({.counted = FileCall::rename, .fail_at = 1, .shape = Shape::refuse});
  EXPECT_FALSE(fs.rename("/b", "/c"));
  EXPECT_TRUE(*disk.exists("/b"));
}

TEST_F(FaultyTest, ReadsAndLooksCountWhenAsked) {
  write_file_atomically(disk, "/a", as_bytes("text")).value();
  for (std::int64_t n = 1; n <= 3; ++n) {  // open, size, read
    fs.arm({.counted = FileCall::all, .fail_at = n});
    EXPECT_EQ(read(fs, "/a"), "<io>") << n;
  }
  fs.arm({.counted = FileCall::all, .fail_at = 4});
  EXPECT_EQ(read(fs, "/a"), "text");
  EXPECT_EQ(fs.calls(), 3);
  fs.arm({.counted = FileCall::changing, .fail_at = 2});
  EXPECT_EQ(read(fs, "/a"), "text");
}

TEST_F(FaultyTest, EachKindIsCountedByItself) {
  auto file = fs.open("/a", OpenMode::create).value();
  file->truncate({10}).value();
  auto map = file->map({10}).value();
  fs.create_directories("/d").value();
  auto fails = [&](FileCall kind, auto work) {
    fs.arm({.counted = kind, .fail_at = 1});
    bool failed = !work().has_value();
    EXPECT_EQ(fs.calls(), 1) << to_string(kind);
    return failed;
  };
  std::byte into[1];
  EXPECT_TRUE(fails(FileCall::open, [&] { return fs.open("/a", OpenMode::read); }));
  EXPECT_TRUE(fails(FileCall::open, [&] { return fs.lock("/l"); }));
  EXPECT_TRUE(fails(FileCall::read, [&] { return file->read_at({0}, into); }));
  EXPECT_TRUE(fails(FileCall::look, [&] { return file->size(); }));
  EXPECT_TRUE(fails(FileCall::look, [&] { return fs.status("/a"); }));
  EXPECT_TRUE(fails(FileCall::look, [&] { return fs.exists("/a"); }));
  EXPECT_TRUE(fails(FileCall::look, [&] { return fs.list("/d"); }));
  EXPECT_TRUE(fails(FileCall::look, [&] { return fs.canonical("/d"); }));
  EXPECT_TRUE(fails(FileCall::look, [&] { return fs.space("/d"); }));
  EXPECT_TRUE(fails(FileCall::write, [&] { return file->write_at({0}, as_bytes("x")); }));
  EXPECT_TRUE(fails(FileCall::truncate, [&] { return file->truncate({5}); }));
  EXPECT_TRUE(fails(FileCall::reserve, [&] { return file->reserve({5}); }));
  EXPECT_TRUE(fails(FileCall::sync, [&] { return file->sync(); }));
  EXPECT_TRUE(fails(FileCall::sync, [&] { return file->sync_data(); }));
  EXPECT_TRUE(fails(FileCall::sync, [&] { return map->sync(); }));
  EXPECT_TRUE(fails(FileCall::map, [&] { return file->map({1}); }));
  EXPECT_TRUE(fails(FileCall::create, [&] { return fs.create_directories("/e"); }));
  EXPECT_TRUE(fails(FileCall::rename, [&] { return fs.rename("/a", "/b"); }));
  EXPECT_TRUE(fails(FileCall::remove, [&] { return fs.remove_file("/a"); }));
  EXPECT_TRUE(fails(FileCall::remove, [&] { return fs.remove_directory_tree("/d"); }));
  EXPECT_TRUE(fails(FileCall::sync_directory, [&] { return fs.sync_directory("/d"); }));
  EXPECT_TRUE(fails(FileCall::close, [&] { return file->close(); }));
}

TEST_F(FaultyTest, TheOrderOfAnAtomicWriteIsWriteSyncRenameSync) {
  fs.clear_trace();
  write_file_atomically(fs, "/d.txt", as_bytes("text")).value();
  EXPECT_EQ(fs.trace(), (std::vector<std::string>{
                            "open /d.txt.tmp truncate",
                            "write /d.txt.tmp 0+4",
                            "sync /d.txt.tmp",
                            "close /d.txt.tmp",
                            "rename /d.txt.tmp to /d.txt",
                            "sync_directory /",
                        }));
}

}  // namespace
}  // namespace cordwood::io
