// One suite of behaviour over every implementation: the real file system, the one in memory, and the faulty one while
// it is not armed.
#include "io/file_system.h"

#include <gtest/gtest.h>

#include <thread>

#include "io/faulty_file_system.h"
#include "io/memory_file_system.h"
#include "io/temporary_directory_testing.h"

namespace cordwood::io {
namespace {

struct PathCase {
  const char *path, *parent, *name;
};

TEST(Paths, JoinParentAndName) {
  EXPECT_EQ(join("/a", "b"), "/a/b");
  EXPECT_EQ(join("/a/", "b"), "/a/b");
  EXPECT_EQ(join("", "b"), "b");
  EXPECT_EQ(join("/", "b"), "/b");
  for (PathCase c : {PathCase{"/a/b", "/a", "b"}, PathCase{"/a", "/", "a"}, PathCase{"a", ".", "a"},
                     PathCase{"a/b/", "a", "b"}, PathCase{"a//b", "a", "b"}, PathCase{"./a", ".", "a"}}) {
    EXPECT_EQ(parent_of(c.path), c.parent) << c.path;
    EXPECT_EQ(file_name(c.path), c.name) << c.path;
  }
}

// Makes a file system and an empty directory in it.
struct World {
  virtual ~World() = default;
  virtual FileSystem& fs() = 0;
  virtual Path directory() const = 0;
};

struct PosixWorld final : World {
  PosixFileSystem posix;
  TemporaryDirectory temporary;
  FileSystem& fs() override { return posix; }
  Path directory() const override { return temporary.path(); }
};

struct MemoryWorld final : World {
  MemFileSystem memory;
  MemoryWorld() { memory.create_directories("/data/logs").value(); }
  FileSystem& fs() override { return memory; }
  Path directory() const override { return "/data/logs"; }
};

struct FaultyWorld final : World {
  MemoryWorld memory;
  FaultyFileSystem faulty{memory.memory};
  FileSystem& fs() override { return faulty; }
  Path directory() const override { return memory.directory(); }
};

template <class W>
class FileSystemSuite : public testing::Test {
 protected:
  Path at(std::string_view name) const { return join(world_.directory(), name); }
  FileSystem& fs() { return world_.fs(); }

  void write(std::string_view name, std::string_view text) {
    auto file = fs().open(at(name), OpenMode::truncate).value();
    file->write_at({0}, as_bytes(text)).value();
  }
  std::string read(std::string_view name) {
    Result<ByteVector> bytes = read_file(fs(), at(name));
    if (!bytes) return fmt::format("<{}>", to_string(bytes.error().code));
    return std::string(as_text(*bytes));
  }

  World& world() { return world_; }

 private:
  W world_;
};

using Worlds = testing::Types<PosixWorld, MemoryWorld, FaultyWorld>;
TYPED_TEST_SUITE(FileSystemSuite, Worlds);

template <class T>
Errc code_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? Errc::closed : result.error().code;
}

TYPED_TEST(FileSystemSuite, OpenModes) {
  EXPECT_EQ(code_of(this->fs().open(this->at("a"), OpenMode::read)), Errc::not_found);
  EXPECT_EQ(code_of(this->fs().open(this->at("a"), OpenMode::read_write)), Errc::not_found);
  ASSERT_TRUE(this->fs().open(this->at("a"), OpenMode::create_new));
  EXPECT_EQ(code_of(this->fs().open(this->at("a"), OpenMode::create_new)), Errc::exists);
  this->write("a", "text");
  ASSERT_TRUE(this->fs().open(this->at("a"), OpenMode::create));
  EXPECT_EQ(this->read("a"), "text");
  ASSERT_TRUE(this->fs().open(this->at("a"), OpenMode::read_write));
  EXPECT_EQ(this->read("a"), "text");
  ASSERT_TRUE(this->fs().open(this->at("a"), OpenMode::truncate));
  EXPECT_EQ(this->read("a"), "");
  EXPECT_EQ(code_of(this->fs().open(this->at("no/b"), OpenMode::create)), Errc::not_found);
  EXPECT_EQ(code_of(this->fs().open(this->at("a/b"), OpenMode::create)), Errc::io);
  EXPECT_EQ(code_of(this->fs().open(this->world().directory(), OpenMode::read)), Errc::io);
  EXPECT_EQ(code_of(this->fs().open(this->world().directory(), OpenMode::create)), Errc::io);
}

TYPED_TEST(FileSystemSuite, AFileOpenedForReadingIsNotWritten) {
  this->write("a", "text");
  auto file = this->fs().open(this->at("a"), OpenMode::read).value();
  EXPECT_EQ(code_of(file->write_at({0}, as_bytes("x"))), Errc::io);
  // Linux answers EINVAL here and EBADF there; what counts is that it is an error.
  EXPECT_FALSE(file->truncate({0}));
  EXPECT_EQ(this->read("a"), "text");
}

TYPED_TEST(FileSystemSuite, ReadsAndWritesAtPositions) {
  auto file = this->fs().open(this->at("a"), OpenMode::create).value();
  file->write_at({3}, as_bytes("def")).value();
  EXPECT_EQ(file->size()->value, 6);
  EXPECT_EQ(this->read("a"), std::string("\0\0\0def", 6));
  file->write_at({0}, as_bytes("abc")).value();
  EXPECT_EQ(this->read("a"), "abcdef");

  std::byte into[4];
  EXPECT_EQ(*file->read_at({4}, into), 2u);
  EXPECT_EQ(as_text(BytesView(into, 2)), "ef");
  EXPECT_EQ(*file->read_at({6}, into), 0u);
  EXPECT_EQ(*file->read_at({600}, into), 0u);
  EXPECT_EQ(*file->read_at({0}, {}), 0u);
}

TYPED_TEST(FileSystemSuite, WritesManyPieces) {
  auto file = this->fs().open(this->at("a"), OpenMode::create).value();
  std::vector<std::string> texts;
  std::string expected;
  // More than one system call takes, with empty ones at both ends and between.
  for (int i = 0; i < 3000; ++i) texts.push_back(i % 7 == 0 ? "" : fmt::format("{},", i));
  texts.push_back("");
  std::vector<BytesView> pieces;
  for (const std::string& text : texts) {
    pieces.push_back(as_bytes(text));
    expected += text;
  }
  file->write_at({2}, pieces).value();
  EXPECT_EQ(this->read("a"), std::string(2, '\0') + expected);
  file->write_at({0}, std::span<const BytesView>{}).value();
  file->write_at({100'000}, BytesView{}).value();
  EXPECT_EQ(file->size()->value, static_cast<std::int64_t>(2 + expected.size()));
}

TYPED_TEST(FileSystemSuite, TruncatesAndReserves) {
  auto file = this->fs().open(this->at("a"), OpenMode::create).value();
  file->write_at({0}, as_bytes("abcdef")).value();
  file->reserve({100'000}).value();
  EXPECT_EQ(file->size()->value, 6);
  file->truncate({3}).value();
  file->truncate({5}).value();
  EXPECT_EQ(this->read("a"), std::string("abc\0\0", 5));
  file->truncate({0}).value();
  EXPECT_EQ(this->read("a"), "");
  file->sync_data().value();
  file->sync().value();
  EXPECT_TRUE(file->close());
}

TYPED_TEST(FileSystemSuite, AClosedFileAnswersErrors) {
  auto file = this->fs().open(this->at("a"), OpenMode::create).value();
  ASSERT_TRUE(file->close());
  std::byte into[4];
  EXPECT_FALSE(file->read_at({0}, into));
  EXPECT_FALSE(file->write_at({0}, as_bytes("x")));
  EXPECT_FALSE(file->sync());
}

TYPED_TEST(FileSystemSuite, AMappingAndTheFileAreOne) {
  auto file = this->fs().open(this->at("a"), OpenMode::create).value();
  EXPECT_EQ(code_of(file->map({1})), Errc::invalid);
  file->truncate({10'000}).value();
  EXPECT_EQ(code_of(file->map({10'001})), Errc::invalid);
  EXPECT_EQ(code_of(file->map({-1})), Errc::invalid);
  auto map = file->map({10'000}).value();
  ASSERT_EQ(map->bytes().size(), 10'000u);
  map->bytes()[9'999] = std::byte{'m'};
  std::byte into[1];
  ASSERT_EQ(*file->read_at({9'999}, into), 1u);
  EXPECT_EQ(into[0], std::byte{'m'});
  file->write_at({5}, as_bytes("w")).value();
  EXPECT_EQ(map->bytes()[5], std::byte{'w'});
  EXPECT_TRUE(map->sync());
  // Both survive the file's handle, and each other.
  file.reset();
  map->bytes()[0] = std::byte{'x'};
  map.reset();
  std::string text = this->read("a");
  EXPECT_EQ(text[0], 'x');
  EXPECT_EQ(text[5], 'w');
  EXPECT_EQ(text[9'999], 'm');
}

TYPED_TEST(FileSystemSuite, AnEmptyFileCanBeMapped) {
  auto file = this->fs().open(this->at("a"), OpenMode::create).value();
  auto map = file->map({0}).value();
  EXPECT_TRUE(map->bytes().empty());
  EXPECT_TRUE(map->sync());
}

TYPED_TEST(FileSystemSuite, StatusAndExists) {
  EXPECT_EQ(code_of(this->fs().status(this->at("a"))), Errc::not_found);
  EXPECT_FALSE(*this->fs().exists(this->at("a")));
  this->write("a", "12345");
  EXPECT_TRUE(*this->fs().exists(this->at("a")));
  EXPECT_FALSE(*this->fs().exists(this->at("a/b")));
  EXPECT_EQ(this->fs().status(this->at("a"))->size.value, 5);
  EXPECT_FALSE(this->fs().status(this->at("a"))->is_directory);
  EXPECT_TRUE(this->fs().status(this->world().directory())->is_directory);
}

TYPED_TEST(FileSystemSuite, ListsSortedByName) {
  using Kind = DirectoryEntry::Kind;
  this->write("b", "");
  this->write("a.log", "");
  this->fs().create_directories(this->at("c")).value();
  this->write("c/inner", "");
  auto entries = this->fs().list(this->world().directory()).value();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "a.log");
  EXPECT_EQ(entries[1].name, "b");
  EXPECT_EQ(entries[2].name, "c");
  EXPECT_EQ(entries[1].kind, Kind::file);
  EXPECT_EQ(entries[2].kind, Kind::directory);
  EXPECT_EQ(code_of(this->fs().list(this->at("no"))), Errc::not_found);
  EXPECT_EQ(code_of(this->fs().list(this->at("b"))), Errc::io);
}

TYPED_TEST(FileSystemSuite, CreatesDirectoriesWithTheirParents) {
  EXPECT_TRUE(this->fs().create_directories(this->at("x/y/z")));
  EXPECT_TRUE(this->fs().create_directories(this->at("x/y/z")));
  EXPECT_TRUE(this->fs().create_directories(this->at("x/y")));
  EXPECT_TRUE(this->fs().status(this->at("x/y/z"))->is_directory);
  this->write("x/file", "");
  EXPECT_EQ(code_of(this->fs().create_directories(this->at("x/file"))), Errc::exists);
  EXPECT_EQ(code_of(this->fs().create_directories(this->at("x/file/deeper"))), Errc::io);
}

TYPED_TEST(FileSystemSuite, RenameReplacesAFile) {
  this->write("a", "new");
  this->write("b", "old");
  EXPECT_TRUE(this->fs().rename(this->at("a"), this->at("b")));
  EXPECT_EQ(this->read("b"), "new");
  EXPECT_EQ(this->read("a"), "<not found>");
  EXPECT_EQ(code_of(this->fs().rename(this->at("a"), this->at("b"))), Errc::not_found);
  EXPECT_TRUE(this->fs().rename(this->at("b"), this->at("b")));
  EXPECT_EQ(this->read("b"), "new");
}

TYPED_TEST(FileSystemSuite, RenameOfDirectories) {
  this->fs().create_directories(this->at("d")).value();
  this->fs().create_directories(this->at("empty")).value();
  this->write("d/a", "1");
  this->write("file", "");
  EXPECT_FALSE(this->fs().rename(this->at("d"), this->at("d/inside")));
  EXPECT_FALSE(this->fs().rename(this->at("file"), this->at("d")));
  EXPECT_FALSE(this->fs().rename(this->at("d"), this->at("file")));
  EXPECT_FALSE(this->fs().rename(this->at("empty"), this->at("d")));
  EXPECT_TRUE(this->fs().rename(this->at("d"), this->at("empty")));
  EXPECT_EQ(this->read("empty/a"), "1");
  EXPECT_FALSE(*this->fs().exists(this->at("d")));
}

TYPED_TEST(FileSystemSuite, AnOpenFileOutlivesItsName) {
  this->write("a", "text");
  auto file = this->fs().open(this->at("a"), OpenMode::read_write).value();
  this->fs().rename(this->at("a"), this->at("b")).value();
  file->write_at({4}, as_bytes("!")).value();
  EXPECT_EQ(this->read("b"), "text!");
  this->fs().remove_file(this->at("b")).value();
  std::byte into[5];
  EXPECT_EQ(*file->read_at({0}, into), 5u);
  EXPECT_EQ(as_text(into), "text!");
}

TYPED_TEST(FileSystemSuite, Removes) {
  EXPECT_EQ(code_of(this->fs().remove_file(this->at("a"))), Errc::not_found);
  this->write("a", "");
  EXPECT_TRUE(this->fs().remove_file(this->at("a")));
  EXPECT_FALSE(*this->fs().exists(this->at("a")));
  this->fs().create_directories(this->at("d/e")).value();
  this->write("d/e/f", "");
  EXPECT_EQ(code_of(this->fs().remove_file(this->at("d"))), Errc::io);
  EXPECT_TRUE(this->fs().remove_directory_tree(this->at("d")));
  EXPECT_FALSE(*this->fs().exists(this->at("d")));
  EXPECT_TRUE(this->fs().remove_directory_tree(this->at("d")));
  EXPECT_TRUE(this->fs().remove_directory_tree(this->at("no/such")));
}

TYPED_TEST(FileSystemSuite, SyncsDirectories) {
  EXPECT_TRUE(this->fs().sync_directory(this->world().directory()));
  EXPECT_EQ(code_of(this->fs().sync_directory(this->at("no"))), Errc::not_found);
  this->write("file", "");
  EXPECT_EQ(code_of(this->fs().sync_directory(this->at("file"))), Errc::io);
}

TYPED_TEST(FileSystemSuite, OnePathPerDirectory) {
  this->fs().create_directories(this->at("d/e")).value();
  Path straight = this->fs().canonical(this->at("d")).value();
  EXPECT_EQ(*this->fs().canonical(this->at("d/e/..//.")), straight);
  EXPECT_EQ(code_of(this->fs().canonical(this->at("no"))), Errc::not_found);
}

TYPED_TEST(FileSystemSuite, KnowsTheRoomLeft) {
  DiskSpace space = this->fs().space(this->world().directory()).value();
  EXPECT_GT(space.total.value, 0);
  EXPECT_LE(space.available, space.total);
  EXPECT_EQ(code_of(this->fs().space(this->at("no"))), Errc::not_found);
}

TYPED_TEST(FileSystemSuite, OneHolderOfALock) {
  Path path = this->at(".lock");
  auto held = this->fs().lock(path);
  ASSERT_TRUE(held);
  EXPECT_TRUE(*this->fs().exists(path));
  EXPECT_EQ(code_of(this->fs().lock(path)), Errc::locked);
  EXPECT_EQ(this->fs().is_locked(path).value(), true);
  // Reading the file elsewhere and closing it must not give the lock up.
  ASSERT_TRUE(read_file(this->fs(), path));
  EXPECT_EQ(code_of(this->fs().lock(path)), Errc::locked);
  held = Error{};
  EXPECT_TRUE(*this->fs().exists(path));
  EXPECT_EQ(this->fs().is_locked(path).value(), false);
  EXPECT_EQ(code_of(this->fs().is_locked(this->at("none"))), Errc::not_found);
  EXPECT_FALSE(*this->fs().exists(this->at("none")));
  EXPECT_TRUE(this->fs().lock(path));
}

TYPED_TEST(FileSystemSuite, ReadFileRefusesMoreThanAllowed) {
  this->write("a", "12345");
  EXPECT_EQ(as_text(*read_file(this->fs(), this->at("a"), {5})), "12345");
  EXPECT_EQ(code_of(read_file(this->fs(), this->at("a"), {4})), Errc::limit);
  EXPECT_EQ(code_of(read_file(this->fs(), this->at("b"))), Errc::not_found);
}

TYPED_TEST(FileSystemSuite, WritesAFileAtomically) {
  this->write("a", "old and long");
  this->write("a.tmp", "left behind by a crash, and longer than all the rest");
  for (Fsync fsync : {Fsync::yes, Fsync::no}) {
    EXPECT_TRUE(write_file_atomically(this->fs(), this->at("a"), as_bytes("new"), fsync));
    EXPECT_EQ(this->read("a"), "new");
    EXPECT_FALSE(*this->fs().exists(this->at("a.tmp")));
  }
  EXPECT_EQ(code_of(write_file_atomically(this->fs(), this->at("no/a"), as_bytes("new"))), Errc::not_found);
}

TYPED_TEST(FileSystemSuite, ReadsBesideAWriter) {
  auto file = this->fs().open(this->at("a"), OpenMode::create).value();
  std::string block(1000, 'x');
  std::thread writer([&] {
    for (int i = 0; i < 500; ++i) file->write_at({i * 1000}, as_bytes(block)).value();
  });
  std::vector<std::byte> into(1000);
  for (int i = 0; i < 500; ++i) {
    std::int64_t size = file->size()->value;
    if (size < 1000) continue;
    ASSERT_EQ(*file->read_at({size / 1000 * 1000 - 1000}, into), 1000u);
    ASSERT_EQ(as_text(into), block);
  }
  writer.join();
  EXPECT_EQ(file->size()->value, 500'000);
}

}  // namespace
}  // namespace cordwood::io
