#include "record/walk.h"

#include <gtest/gtest.h>

#include "record/record_testing.h"

namespace cordwood::record {
namespace {

TEST(Prefix, ReadsTheFirst17Bytes) {
  ByteVector bytes = golden("two_plain_stored");
  EntryPrefix prefix = read_prefix(BytesView(bytes).first(kMagicPrefix)).value();
  EXPECT_EQ(prefix.offset, Offset{1000});
  EXPECT_EQ(prefix.length, 71);
  EXPECT_EQ(prefix.magic, 2);
  EXPECT_EQ(prefix.total_size(), ByteCount{83});
}

TEST(Prefix, ALengthBelow14IsCorrupt) {
  ByteVector bytes = golden("two_plain");
  for (auto [length, good] :
       {std::pair{14, true}, {13, false}, {0, false}, {-1, false}, {INT32_MIN, false}, {INT32_MAX, true}}) {
    store_be<std::int32_t>(bytes, kBatchLength, length);
    EXPECT_EQ(read_prefix(bytes).has_value(), good) << length;
  }
}

TEST(PrefixDeathTest, WantsItsBytes) {
  ByteVector bytes(16);
  EXPECT_DEATH((void)read_prefix(bytes), "needs 17 bytes");
}

TEST(CheckEntry, DescribesABatch) {
  ByteVector bytes = golden("emptied_by_cleaner");
  bytes.resize(bytes.size() + 10);  // what follows is not looked at
  EntryInfo info = check_entry(bytes).value();
  EXPECT_EQ(info.magic, 2);
  EXPECT_EQ(info.base_offset, Offset{100});
  EXPECT_EQ(info.last_offset, Offset{104});
  EXPECT_EQ(info.max_timestamp, kSomeTime);
  EXPECT_EQ(info.size, ByteCount{61});
  ASSERT_TRUE(info.header.has_value());
  EXPECT_EQ(info.header->producer_id, 4000);
}

TEST(CheckEntry, DescribesOldMessages) {
  EntryInfo v1 = check_entry(golden("legacy_v1")).value();
  EXPECT_EQ(v1.base_offset, Offset{5});
  EXPECT_EQ(v1.last_offset, Offset{5});
  EXPECT_EQ(v1.max_timestamp, kSomeTime);
  EXPECT_EQ(v1.size, ByteCount{36});
  EXPECT_EQ(check_entry(golden("legacy_v0")).value().max_timestamp, kNoTimestamp);
}

TEST(CheckEntry, NoticesEveryFlippedBitBehindTheLength) {
  for (const char* name : {"two_plain", "three_gzip", "legacy_v0", "legacy_v1"}) {
    const ByteVector good = golden(name);
    const bool is_batch = load_be<std::int8_t>(good, kMagic) == 2;
    for (std::size_t at = kBatchLength; at < good.size(); ++at) {
      ByteVector bytes = good;
      bytes[at] ^= std::byte{1};
      bool covered = !is_batch || at < kPartitionLeaderEpoch || at >= kMagic;
      EXPECT_EQ(check_entry(bytes).has_value(), !covered) << name << " byte " << at;
    }
  }
}

TEST(CheckEntry, NoticesEveryCut) {
  for (const char* name : {"two_plain", "three_zstd", "legacy_v0", "legacy_v1"}) {
    ByteVector good = golden(name);
    EXPECT_TRUE(check_entry(good).has_value());
    for (std::size_t size = 0; size < good.size(); ++size)
      EXPECT_FALSE(check_entry(BytesView(good).first(size)).has_value()) << name << " cut to " << size;
  }
}

TEST(CheckEntry, OtherMagicsAreUnsupported) {
  ByteVector bytes = golden("two_plain");
  for (std::int8_t magic : {3, 127, -1}) {
    store_be(bytes, kMagic, magic);
    EXPECT_EQ(check_entry(bytes).error().code, Errc::unsupported) << int{magic};
  }
}

}  // namespace
}  // namespace cordwood::record
