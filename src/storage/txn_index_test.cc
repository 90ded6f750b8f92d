#include "storage/txn_index.h"

#include "io/faulty_file_system.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

constexpr const char* kPath = "/00000000000000000100.txnindex";

AbortedEntry entry(std::int64_t producer, std::int64_t first, std::int64_t last, std::int64_t stable) {
  return {producer, {first}, {last}, {stable}};
}

TEST(TxnIndex, WritesKafkasBytes) {
  io::MemFileSystem fs;
  auto index = TxnIndex::open(fs, kPath).value();
  index->append(entry(4000, 100, 142, 143)).value();
  const std::string bytes = testing_support::content_of(fs, kPath);
  std::string hex;
  for (unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  EXPECT_EQ(hex, "0000" "0000000000000fa0" "0000000000000064" "000000000000008e" "000000000000008f");
}

TEST(TxnIndex, KeepsEntriesInTheOrderOfMarkers) {
  io::MemFileSystem fs;
  const std::vector<AbortedEntry> entries = {entry(1, 100, 110, 101), entry(2, 101, 120, 121), entry(1, 115, 130, 131)};
  {
    auto index = TxnIndex::open(fs, kPath).value();
    for (const AbortedEntry& e : entries) index->append(e).value();
    EXPECT_EQ(index->append(entry(3, 90, 130, 131)).error().code, Errc::out_of_range);
    EXPECT_EQ(index->entries().value(), entries);
  }
  auto reopened = TxnIndex::open(fs, kPath).value();
  EXPECT_EQ(reopened->entries().value(), entries);
  reopened->truncate_to({120}).value();
  EXPECT_EQ(reopened->entries()->size(), 1u);
  reopened->reset().value();
  EXPECT_TRUE(reopened->entries()->empty());
  EXPECT_EQ(testing_support::content_of(fs, kPath), "");
  reopened->append(entry(1, 1, 2, 3)).value();
  EXPECT_EQ(reopened->entries()->size(), 1u);
  reopened->sync().value();
}

TEST(TxnIndex, AsksForRoomABlockAtATime) {
  io::MemFileSystem memory;
  io::FaultyFileSystem fs(memory);
  auto index = TxnIndex::open(fs, kPath).value();
  const auto reserved = [&] {
    std::vector<std::string> calls = fs.trace();
    std::erase_if(calls, [](const std::string& call) { return !call.starts_with("reserve"); });
    return calls;
  };
  for (std::int64_t i = 0; i < 130; ++i) {
    index->reserve(1).value();
    index->append(entry(1, i, i, i)).value();
  }
  EXPECT_EQ(reserved(), (std::vector<std::string>{fmt::format("reserve {} 4096", kPath), fmt::format("reserve {} 8192", kPath)}));
  // What was cut off was given back.
  index->truncate_to({1}).value();
  index->reserve(1).value();
  EXPECT_EQ(reserved().size(), 3u);
  fs.arm({.counted = io::FileCall::reserve, .fail_at = 1, .sys_errno = 28});
  EXPECT_EQ(index->reserve(200).error().code, Errc::no_space);
  EXPECT_EQ(index->entries()->size(), 1u);
}

TEST(TxnIndex, PassesOverAPartialEntryAndRefusesVersions) {
  io::MemFileSystem fs;
  testing_support::put(fs, kPath, std::string(34 + 33, '\0'));
  auto index = TxnIndex::open(fs, kPath).value();
  EXPECT_EQ(index->entries()->size(), 1u);
  testing_support::put(fs, kPath, std::string("\1", 1) + std::string(33, '\0'));
  EXPECT_EQ(TxnIndex::open(fs, kPath).value()->entries().error().code, Errc::unsupported);
}

}  // namespace
}  // namespace cordwood::storage
