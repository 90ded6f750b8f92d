// What PosixFileSystem makes of system calls that are interrupted, do less than asked for, or fail half way.
#include <fcntl.h>
#include <gtest/gtest.h>


#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "io/posix_calls_testing.h"
#include "io/posix_file.h"
#include "io/temporary_directory_testing.h"

namespace cordwood::io {
namespace {

std::string text(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>('a' + i % 26));
  return bytes;
}

std::string content_of(PosixFileSystem& fs, const Path& path) {
  const ByteVector bytes = read_file(fs, path).value();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Each function of a file and of the file system that may be interrupted, once.
TEST(PosixCalls, AreRepeatedWhileSignalsInterruptThem) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  const std::string written = text(100);
  {
    DisturbedCalls disturbed({.interruptions = 3});
    auto file = fs.open(dir / "a", OpenMode::create).value();
    file->write_at({0}, as_bytes(written)).value();
    file->truncate({90}).value();
    file->reserve({4096}).value();
    file->sync_data().value();
    file->sync().value();
    std::string read(100, '?');
    EXPECT_EQ(file->read_at({0}, {reinterpret_cast<std::byte*>(read.data()), read.size()}).value(), 90u);
    EXPECT_EQ(read.substr(0, 90), written.substr(0, 90));
    fs.sync_directory(dir.path()).value();
    auto lock = fs.lock(dir / ".lock").value();
    const auto calls = disturbed.calls();
    for (const char* name : {"open", "pread", "pwritev", "ftruncate", "fallocate", "fdatasync", "fsync"}) {
      ASSERT_TRUE(calls.contains(name)) << name;
      EXPECT_EQ(calls.at(name) % 4, 0) << name << ": three interruptions and the call itself, each time";
    }
  }
  EXPECT_EQ(content_of(fs, dir / "a"), written.substr(0, 90));
}

// Linux has given the number away by then: a second close could hit somebody else's file.
TEST(PosixCalls, AnInterruptedCloseIsNotRepeated) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  auto file = fs.open(dir / "a", OpenMode::create).value();
  const int fd = file->native_fd();
  DisturbedCalls disturbed({.interruptions = 1});
  EXPECT_TRUE(file->close());
  EXPECT_EQ(disturbed.calls().at("close"), 1);
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST(PosixCalls, AFailedCloseIsToldAndNotRepeated) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  auto file = fs.open(dir / "a", OpenMode::create).value();
  DisturbedCalls disturbed({.fail_from = 1, .sys_errno = EIO, .only = "close"});
  const Result<void> closed = file->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().sys_errno, EIO);
  EXPECT_TRUE(file->close());
  EXPECT_EQ(disturbed.calls().at("close"), 1);
}

// Every way to cut three pieces (one of them empty) and to read them again.
TEST(PosixCalls, ShortCountsAreCompleted) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  const std::string first = text(7), second, third = text(30);
  const std::vector<BytesView> pieces = {as_bytes(first), as_bytes(second), as_bytes(third)};
  for (std::size_t at_most = 1; at_most <= 38; ++at_most) {
    SCOPED_TRACE(at_most);
    auto file = fs.open(dir / "a", OpenMode::truncate).value();
    DisturbedCalls disturbed({.interruptions = 1, .at_most = at_most});
    file->write_at({5}, pieces).value();
    std::string read(42, '?');
    ASSERT_EQ(file->read_at({0}, {reinterpret_cast<std::byte*>(read.data()), read.size()}).value(), 42u);
    EXPECT_EQ(read, std::string(5, '\0') + first + third);
    EXPECT_EQ(disturbed.calls().at("pwritev"), 2 * static_cast<std::int64_t>((37 + at_most - 1) / at_most));
  }
}

TEST(PosixCalls, MorePiecesThanOneCallTakes) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  const std::string all = text(1000);
  std::vector<BytesView> pieces;
  for (std::size_t at = 0; at < all.size(); at += 3) pieces.push_back(as_bytes(all).subspan(at, std::min<std::size_t>(3, all.size() - at)));
  for (const std::size_t at_most : {std::size_t{1}, std::size_t{64}, std::size_t{100}, SIZE_MAX}) {
    auto file = fs.open(dir / "a", OpenMode::truncate).value();
    {
      DisturbedCalls disturbed({.interruptions = 1, .at_most = at_most});
      file->write_at({0}, pieces).value();
    }
    EXPECT_EQ(content_of(fs, dir / "a"), all) << at_most;
  }
}

// A disk that fills up in the middle of a write says so with the next one: what was written before stays, the caller knows.
TEST(PosixCalls, AnErrorBehindAShortCountIsTold) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  const std::string written = text(20);
  for (const auto& [failure, code] : {std::pair(ENOSPC, Errc::no_space), std::pair(EIO, Errc::io), std::pair(EROFS, Errc::io)}) {
    auto file = fs.open(dir / "a", OpenMode::truncate).value();
    {
      DisturbedCalls disturbed({.at_most = 8, .fail_from = 3, .sys_errno = failure, .only = "pwritev"});
      const Result<void> result = file->write_at({0}, as_bytes(written));
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, code);
      EXPECT_EQ(result.error().sys_errno, failure);
    }
    EXPECT_EQ(content_of(fs, dir / "a"), written.substr(0, 16));
    DisturbedCalls disturbed({.at_most = 8, .fail_from = 2, .sys_errno = EIO, .only = "pread"});
    ByteVector read(16);
    EXPECT_EQ(file->read_at({0}, read).error().sys_errno, EIO);
  }
}

TEST(PosixCalls, AWriteOfNothingIsAnErrorAndNoEndlessLoop) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  auto file = fs.open(dir / "a", OpenMode::create).value();
  DisturbedCalls disturbed({.at_most = 0});
  EXPECT_EQ(file->write_at({0}, as_bytes("x")).error().sys_errno, EIO);
  EXPECT_EQ(disturbed.calls().at("pwritev"), 1);
  ByteVector read(1);
  EXPECT_EQ(file->read_at({0}, read).value(), 0u);
}

TEST(PosixCalls, EachRefusalNamesItsCallAndItsFile) {
  PosixFileSystem fs;
  TemporaryDirectory dir;
  auto file = fs.open(dir / "a", OpenMode::create).value();
  ByteVector byte(1);
  const std::vector<std::pair<const char*, std::function<Result<void>()>>> all = {
      {"open", [&]() -> Result<void> { TRY(fs.open(dir / "a", OpenMode::read)); return {}; }},
      {"pread", [&]() -> Result<void> { TRY(file->read_at({0}, byte)); return {}; }},
      {"pwritev", [&] { return file->write_at({0}, byte); }},
      {"ftruncate", [&] { return file->truncate({1}); }},
      {"fallocate", [&] { return file->reserve({1}); }},
      {"fdatasync", [&] { return file->sync_data(); }},
      {"fsync", [&] { return file->sync(); }},
  };
  for (const auto& [name, call] : all) {
    for (const int failure : {EIO, ENOSPC, EROFS, EMFILE}) {
      DisturbedCalls disturbed({.fail_from = 1, .sys_errno = failure, .only = name});
      const Result<void> result = call();
      ASSERT_FALSE(result) << name;
      EXPECT_EQ(result.error().sys_errno, failure);
      EXPECT_EQ(result.error().code, failure == ENOSPC ? Errc::no_space : Errc::io);
      EXPECT_NE(result.error().message().find(name), std::string::npos) << result.error().message();
      EXPECT_NE(result.error().message().find(dir / "a"), std::string::npos) << result.error().message();
      EXPECT_EQ(disturbed.calls().at(name), 1) << "a failed call is never tried again";
    }
  }
  // A file system that knows no fallocate is no error.
  DisturbedCalls disturbed({.fail_from = 1, .sys_errno = EOPNOTSUPP, .only = "fallocate"});
  EXPECT_TRUE(file->reserve({1}));
}

}  // namespace
}  // namespace cordwood::io
