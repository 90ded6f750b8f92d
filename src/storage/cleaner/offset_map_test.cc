#include "storage/cleaner/offset_map.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace cordwood::storage {
namespace {

ByteVector counting_bytes(std::size_t count) {
  ByteVector bytes;
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(i));
  return bytes;
}

// The key 00 01 ... 0f, as two little-endian words.
const KeyHasher kReference(0x0706050403020100, 0x0f0e0d0c0b0a0908);

// The first rows of SipHash's own table for 128 bits: messages 00 01 02 ... of growing length.
TEST(KeyHash, IsSipHash24) {
  const struct {
    std::size_t length;
    KeyHash expected;
  } rows[] = {
      {0, {0xe6a825ba047f81a3, 0x930255c71472f66d}},
      {1, {0x44af996bd8c187da, 0x45fc229b11597634}},
      {17, {0x98b88d73e8063d47, 0x4077e47ac466c054}},
  };
  for (const auto& row : rows) EXPECT_EQ(kReference(counting_bytes(row.length)), row.expected) << row.length;
}

TEST(KeyHash, EveryByteAndTheLengthCount) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::size_t length = 0; length <= 40; ++length) {
    ByteVector zeros(length);
    const KeyHash plain = kReference(zeros);
    EXPECT_TRUE(seen.emplace(plain.low, plain.high).second) << length;
    for (std::size_t i = 0; i < length; ++i) {
      ByteVector changed = zeros;
      changed[i] = std::byte{0x80};
      const KeyHash hash = kReference(changed);
      EXPECT_TRUE(seen.emplace(hash.low, hash.high).second) << length << " " << i;
    }
  }
}

TEST(KeyHash, AnotherSecretIsAnotherHash) {
  SeededRandom random(7);
  EXPECT_NE(KeyHasher(random)(as_bytes("key")), KeyHasher(random)(as_bytes("key")));
}

struct Map {
  SeededRandom random{1};
  OffsetMap map;
  Map(std::int64_t slots, double load) : map(ByteCount{slots * OffsetMap::kSlotSize}, load, random) {}
  void put(const std::string& key, std::int64_t offset) { map.put(map.hash(as_bytes(key)), {offset}); }
  std::int64_t find(const std::string& key) { return map.find(map.hash(as_bytes(key))).value_or(Offset{-1}).value; }
};

TEST(OffsetMap, KeepsTheLastOffsetOfAKey) {
  Map m(100, 0.9);
  m.map.start(100);
  m.put("a", 0);
  m.put("b", 1);
  m.put("a", 2);
  EXPECT_EQ(m.find("a"), 2);
  EXPECT_EQ(m.find("b"), 1);
  EXPECT_EQ(m.find("c"), -1);
  EXPECT_EQ(m.find(""), -1);
  m.put("", 3);
  EXPECT_EQ(m.find(""), 3);
  EXPECT_EQ(m.map.size(), 3);
  EXPECT_EQ(m.map.latest().value, 3);
}

// Far more keys than the first table has room for, so that it grows several times, with memory for all and just enough.
TEST(OffsetMap, GrowsWithWhatIsPut) {
  constexpr std::int64_t kKeys = 150'000;
  for (std::int64_t slots : {4 * kKeys, kKeys + 1}) {
    Map m(slots, 1.0);
    m.map.start(kKeys, Offset{0});
    for (std::int64_t i = 0; i < kKeys; ++i) m.put("key-" + std::to_string(i), i);
    EXPECT_EQ(m.map.size(), kKeys);
    for (std::int64_t i = 0; i < kKeys; ++i) ASSERT_EQ(m.find("key-" + std::to_string(i)), i);
    EXPECT_EQ(m.find("another"), -1);
  }
}

using Standing = LastOffsets::Standing;

TEST(OffsetMap, KnowsWhichOffsetsAreTheLastOfTheirKeys) {
  Map m(1000, 0.9);
  m.map.start(100, Offset{50});
  m.put("a", 50);
  m.put("b", 51);
  m.put("a", 53);
  m.put("c", 149);
  EXPECT_EQ(m.map.standing({49}), Standing::unknown);
  EXPECT_EQ(m.map.standing({50}), Standing::superseded);
  EXPECT_EQ(m.map.standing({51}), Standing::last);
  EXPECT_EQ(m.map.standing({52}), Standing::unknown);  // nothing was put there
  EXPECT_EQ(m.map.standing({53}), Standing::last);
  EXPECT_EQ(m.map.standing({149}), Standing::last);
  EXPECT_EQ(m.map.standing({150}), Standing::unknown);
  EXPECT_EQ(m.map.standing({INT64_MIN}), Standing::unknown);
  EXPECT_EQ(m.map.standing({INT64_MAX}), Standing::unknown);
  m.map.start(100, Offset{50});
  EXPECT_EQ(m.map.standing({51}), Standing::unknown);
}

// Its answer must be that of the map for the record's key, whatever the keys and offsets are.
TEST(OffsetMap, StandingAgreesWithTheMap) {
  SeededRandom random(3);
  for (int round = 0; round < 50; ++round) {
    Map m(2000, 0.9);
    m.map.start(600, Offset{1000});
    std::map<std::int64_t, std::string> put;
    std::int64_t offset = 1000;
    while (offset < 1600) {
      const std::string key = std::to_string(random.below(40));
      m.put(key, offset);
      put[offset] = key;
      offset += 1 + static_cast<std::int64_t>(random.below(4));
    }
    for (offset = 990; offset < 1610; ++offset) {
      const auto known = put.find(offset);
      Standing expected = Standing::unknown;
      if (known != put.end()) expected = m.find(known->second) == offset ? Standing::last : Standing::superseded;
      EXPECT_EQ(m.map.standing({offset}), expected) << offset;
    }
  }
}

TEST(OffsetMap, StandingIsUnknownWhereOffsetsDoNotGoUpOrAreTooMany) {
  Map m(1000, 0.9);
  m.map.start(100, Offset{0});
  m.put("a", 5);
  m.put("b", 5);
  EXPECT_EQ(m.map.standing({5}), Standing::unknown);
  m.put("c", 6);
  EXPECT_EQ(m.map.standing({6}), Standing::unknown);
  m.map.start(1'000'000, Offset{0});
  m.put("a", 5);
  EXPECT_EQ(m.map.standing({5}), Standing::unknown);
  m.map.start(100);
  m.put("a", 5);
  EXPECT_EQ(m.map.standing({5}), Standing::unknown);
}

TEST(OffsetMap, MayBeFilledAsFarAsTheLoadFactorSays) {
  EXPECT_EQ(Map(100, 0.9).map.limit(), 90);
  EXPECT_EQ(Map(101, 0.9).map.limit(), 90);
  EXPECT_EQ(Map(3, 0.5).map.limit(), 1);
  // One slot must stay empty, whatever the factor says.
  EXPECT_EQ(Map(10, 1.0).map.limit(), 9);
  EXPECT_EQ(Map(10, 1.5).map.limit(), 9);
  // 128 MiB hold Kafka's 5 592 405 slots.
  SeededRandom random(1);
  EXPECT_EQ(OffsetMap(ByteCount{128 * MiB}, 0.9, random).limit(), 5'033'164);
  EXPECT_EQ(OffsetMap(ByteCount{0}, 0.9, random).limit(), 0);
}

TEST(OffsetMap, IsFullAtItsLimitAndEmptyAfterStart) {
  Map m(10, 0.5);
  m.map.start(1000);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(m.map.is_full());
    m.put("key" + std::to_string(i), i);
  }
  EXPECT_TRUE(m.map.is_full());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(m.find("key" + std::to_string(i)), i);
  m.map.start(1000);
  EXPECT_FALSE(m.map.is_full());
  EXPECT_EQ(m.map.size(), 0);
  EXPECT_EQ(m.map.latest().value, -1);
  EXPECT_EQ(m.find("key0"), -1);
}

// A table filled to its last free slot, so that searches run far and around the end.
TEST(OffsetMap, AgreesWithAModelWhenNearlyFull) {
  Map m(512, 1.0);
  m.map.start(1'000'000);
  SeededRandom random(5);
  std::map<std::string, std::int64_t> model;
  for (std::int64_t offset = 0; model.size() < 511; ++offset) {
    const std::string key = std::to_string(random.below(2000));
    if (m.map.is_full()) break;
    m.put(key, offset);
    model[key] = offset;
  }
  for (int i = 0; i < 2000; ++i) {
    const std::string key = std::to_string(i);
    const auto it = model.find(key);
    EXPECT_EQ(m.find(key), it == model.end() ? -1 : it->second) << key;
  }
}

}  // namespace
}  // namespace cordwood::storage
