// What only the real file system can show: links, locks of other processes, descriptors that are not inherited.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>
#include <thread>

#include "io/file_system.h"
#include "io/temporary_directory_testing.h"

namespace cordwood::io {
namespace {

using Kind = DirectoryEntry::Kind;

TEST(PosixFileSystem, SeesThroughLinks) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  fs.create_directories(dir / "real").value();
  fs.open(dir / "file", OpenMode::create).value();
  ASSERT_EQ(::symlink("real", (dir / "to_directory").c_str()), 0);
  ASSERT_EQ(::symlink("file", (dir / "to_file").c_str()), 0);
  ASSERT_EQ(::symlink("nothing", (dir / "to_nothing").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  std::map<std::string, Kind> kinds;
  auto entries = fs.list(dir.path()).value();
  for (const DirectoryEntry& e : entries) kinds[e.name] = e.kind;
  EXPECT_EQ(kinds["real"], Kind::directory);
  EXPECT_EQ(kinds["file"], Kind::file);
  EXPECT_EQ(kinds["to_directory"], Kind::symlink_to_directory);
  EXPECT_EQ(kinds["to_file"], Kind::file);
  EXPECT_EQ(kinds["to_nothing"], Kind::other);
  EXPECT_EQ(kinds["fifo"], Kind::other);
  EXPECT_EQ(*fs.canonical(dir / "to_directory"), *fs.canonical(dir / "real"));
}

TEST(PosixFileSystem, RemovesALinkAndNotWhatItPointsTo) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  fs.create_directories(dir / "kept").value();
  fs.open(dir / "kept/file", OpenMode::create).value();
  fs.create_directories(dir / "gone").value();
  ASSERT_EQ(::symlink((dir / "kept").c_str(), (dir / "gone/link").c_str()), 0);
  ASSERT_TRUE(fs.remove_directory_tree(dir / "gone"));
  EXPECT_TRUE(*fs.exists(dir / "kept/file"));
  ASSERT_EQ(::symlink((dir / "kept").c_str(), (dir / "link").c_str()), 0);
  ASSERT_TRUE(fs.remove_directory_tree(dir / "link"));
  EXPECT_TRUE(*fs.exists(dir / "kept/file"));
  EXPECT_FALSE(*fs.exists(dir / "link"));
}

TEST(PosixFileSystem, ReportsTheModificationTime) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  fs.open(dir / "a", OpenMode::create).value();
  timespec times[2] = {{1'000'000'000, 0}, {1'700'000'000, 123'999'999}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (dir / "a").c_str(), times, 0), 0);
  EXPECT_EQ(fs.status(dir / "a")->modified.value, 1'700'000'000'123);
}

TEST(PosixFileSystem, SetsTheModificationTime) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  fs.open(dir / "a", OpenMode::create).value();
  for (std::int64_t time : std::initializer_list<std::int64_t>{1'700'000'000'123, 0, 999, -1, -1000, -1234}) {
    fs.set_modified(dir / "a", {time}).value();
    EXPECT_EQ(fs.status(dir / "a")->modified.value, time);
  }
  EXPECT_EQ(fs.set_modified(dir / "none", {1}).error().code, Errc::not_found);
}

// Runs `body` in a child process and returns its exit code.
template <class Body>
int in_child(Body body) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What a JVM does: a record lock on the whole file.
int try_record_lock(const char* path) {
  int fd = ::open(path, O_RDWR | O_CREAT, 0644);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd, F_SETLK, &lock);
}

TEST(PosixFileSystem, TheLockExcludesRecordLocksOfOtherProcesses) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  Path path = dir / ".lock";
  auto held = fs.lock(path);
  ASSERT_TRUE(held);
  EXPECT_EQ(in_child([&] { return try_record_lock(path.c_str()) == 0 ? 0 : 7; }), 7);
  held = Error{};
  EXPECT_EQ(in_child([&] { return try_record_lock(path.c_str()) == 0 ? 0 : 7; }), 0);
}

TEST(PosixFileSystem, TheRecordLockOfAnotherProcessExcludesUs) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  Path path = dir / ".lock";
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  pid_t child = ::fork();
  if (child == 0) {
    char byte = try_record_lock(path.c_str()) == 0 ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::close(done[1]);
    ::_exit(::read(done[0], &byte, 1) == 0 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  Result<std::unique_ptr<FileLock>> refused = fs.lock(path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::locked);
  EXPECT_EQ(fs.is_locked(path).value(), true);
  ::close(done[1]);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs.lock(path));
  for (int fd : {ready[0], ready[1], done[0]}) ::close(fd);
}

TEST(PosixFileSystem, ALockOnARemovedFileIsNone) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  auto first = fs.lock(dir / ".lock");
  ASSERT_TRUE(first);
  fs.remove_file(dir / ".lock").value();
  // The name is a new file now, and the lock of the old one does not stand for it.
  EXPECT_TRUE(fs.lock(dir / ".lock"));
}

TEST(PosixFileSystem, NoDescriptorIsInherited) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  auto file = fs.open(dir / "a", OpenMode::create).value();
  int flags = ::fcntl(file->native_fd(), F_GETFD);
  ASSERT_GE(flags, 0);
  EXPECT_NE(flags & FD_CLOEXEC, 0);
}

TEST(PosixFileSystem, APipeIsReadToItsEnd) {
  PosixFileSystem fs;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  // More than a pipe holds: the reader waits for the writer.
  const std::string text(1'000'000, 'x');
  std::jthread writer([&] {
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t put = ::write(ends[1], text.data() + done, text.size() - done);
      if (put < 0) break;
      done += static_cast<std::size_t>(put);
    }
    ::close(ends[1]);
  });
  const auto read = read_file(fs, fmt::format("/dev/fd/{}", ends[0]));
  ::close(ends[0]);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(as_text(*read), text);
}

TEST(PosixFileSystem, APipeNobodyWritesToIsEmpty) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(read_file(fs, dir / "fifo").value().empty());
}

TEST(PosixFileSystem, ADeviceWithoutEndIsRefused) {
  PosixFileSystem fs;
  const auto opened = fs.open("/dev/zero", OpenMode::read);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::limit);
}

TEST(PosixFileSystem, AFullDiskHasItsOwnCode) {
  PosixFileSystem fs;
  auto full = fs.open("/dev/full", OpenMode::read_write);
  ASSERT_TRUE(full);
  Result<void> written = (*full)->write_at({0}, as_bytes("x"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::no_space);
  EXPECT_NE(written.error().message().find("/dev/full"), std::string::npos);
}

}  // namespace
}  // namespace cordwood::io
