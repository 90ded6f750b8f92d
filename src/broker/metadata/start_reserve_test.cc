#include "broker/metadata/start_reserve.h"

#include <gtest/gtest.h>

#include "io/faulty_file_system.h"
#include "io/memory_file_system.h"

namespace cordwood::broker::metadata {
namespace {

class StartReserveTest : public ::testing::Test {
 protected:
  StartReserveTest() {
    disk_.create_directories("/m/__cluster_metadata-0").value();
    for (const char* name : {"00000000000000000000.log", "00000000000000000007.log", "00000000000000000007.index"}) {
      auto file = disk_.open(std::string("/m/__cluster_metadata-0/") + name, io::OpenMode::create).value();
      file->write_at({0}, as_bytes("0123456789")).value();
    }
    fs_.clear_trace();
  }
  std::vector<std::string> changes(const char* kind) {
    std::vector<std::string> found;
    for (const std::string& line : fs_.trace()) {
      if (line.starts_with(kind)) found.push_back(line);
    }
    return found;
  }
  io::MemFileSystem disk_;
  io::FaultyFileSystem fs_{disk_};
};

TEST_F(StartReserveTest, IsKeptBehindTheNewestSegment) {
  keep_start_reserve(fs_, "/m");
  EXPECT_EQ(changes("reserve"), std::vector<std::string>{"reserve /m/__cluster_metadata-0/00000000000000000007.log 1048586"});
  EXPECT_EQ(disk_.status("/m/__cluster_metadata-0/00000000000000000007.log")->size, ByteCount{10});
}

TEST_F(StartReserveTest, IsSmallerWhereThereIsLessRoom) {
  fs_.arm({.counted = io::FileCall::reserve, .fail_at = 1, .sys_errno = 28});
  keep_start_reserve(fs_, "/m");
  EXPECT_EQ(changes("reserve").size(), 2u);
  fs_.arm({.counted = io::FileCall::reserve, .fail_at = 1, .repeat = io::Fault::Repeat::from_then_on, .sys_errno = 28});
  keep_start_reserve(fs_, "/m");
  EXPECT_EQ(changes("reserve").size(), 7u) << "1 MiB down to 64 KiB, and no further";
}

TEST_F(StartReserveTest, IsGivenBackWhenItIsNeeded) {
  disk_.set_space({.total = {10 * MiB}, .available = {2 * MiB}});
  ASSERT_TRUE(release_start_reserve(fs_, "/m"));
  EXPECT_TRUE(changes("truncate").empty());
  disk_.set_space({.total = {10 * MiB}, .available = {0}});
  ASSERT_TRUE(release_start_reserve(fs_, "/m"));
  EXPECT_EQ(changes("truncate"), std::vector<std::string>{"truncate /m/__cluster_metadata-0/00000000000000000007.log 10"});
}

TEST_F(StartReserveTest, NothingIsThereYet) {
  disk_.set_space({.total = {10 * MiB}, .available = {0}});
  EXPECT_TRUE(release_start_reserve(fs_, "/empty"));
  keep_start_reserve(fs_, "/empty");
  EXPECT_TRUE(changes("reserve").empty());
}

}  // namespace
}  // namespace cordwood::broker::metadata
