#include "client/partitioner.h"

#include <gtest/gtest.h>

#include <map>

namespace cordwood::client {
namespace {

// java.util.Random, whose bytes the vectors below are the hashes of.
class JavaRandom {
 public:
  explicit JavaRandom(std::int64_t seed) : state_((static_cast<std::uint64_t>(seed) ^ kMultiplier) & kMask) {}
  ByteVector bytes(std::size_t count) {
    ByteVector bytes;
    while (bytes.size() < count) {
      state_ = (state_ * kMultiplier + 0xb) & kMask;
      auto word = static_cast<std::uint32_t>(state_ >> 16);
      for (int i = 0; i < 4 && bytes.size() < count; ++i, word >>= 8) bytes.push_back(static_cast<std::byte>(word & 0xff));
    }
    return bytes;
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0x5deece66d;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;
  std::uint64_t state_;
};

// Utils.murmur2 of Kafka 4.4.0 over `new Random(i)`'s first i bytes.
constexpr std::int32_t kJavasHashes[] = {
    275646681, -342070737, -835490277, 2077681738, -1821174014, -1824597004, 323215103, 285317053,
    1503411027, 1423324975, -887666278, -650268836, -261520903, -744518070, 1529311712, 763167470,
    1249165305, 1587961923, 1174733241, -760766752, -1596986951, 1762575964, -670104337, -729141090,
    991001395, -831378712, -1382105995, 1116264790, -1222361652, 791292267, -1426348971, -181264686,
    2117343667, 1808404033, -439505003, 203715527, -828181002, -1674589180, 358747418, 538251205,
};

TEST(Partitioner, HashesAsJavaDoes) {
  std::int64_t length = 0;
  for (std::int32_t expected : kJavasHashes) {
    EXPECT_EQ(murmur2(JavaRandom(length).bytes(static_cast<std::size_t>(length))), expected) << length << " bytes";
    ++length;
  }
}

TEST(Partitioner, NegativeHashesLoseTheirSign) {
  // -342070737 without its sign bit is 1805412911.
  EXPECT_EQ(partition_of_key(JavaRandom(1).bytes(1), 1000), 911);
  EXPECT_EQ(partition_of_key({}, 1), 0);
}

TEST(StickyPartitioner, StaysUntilABatchIsFull) {
  SeededRandom random(1);
  StickyPartitioner sticky(random, 100);
  std::int32_t first = sticky.partition(1'000'000, {});
  sticky.appended(99, true);
  EXPECT_EQ(sticky.partition(1'000'000, {}), first);
  sticky.appended(1, false);
  EXPECT_EQ(sticky.partition(1'000'000, {}), first) << "the batch still takes records";
  sticky.appended(50, true);
  EXPECT_NE(sticky.partition(1'000'000, {}), first);
}

TEST(StickyPartitioner, GivesAPartitionUpAtTwiceTheSize) {
  SeededRandom random(1);
  StickyPartitioner sticky(random, 100);
  std::int32_t first = sticky.partition(1'000'000, {});
  sticky.appended(200, false);
  EXPECT_NE(sticky.partition(1'000'000, {}), first);
}

TEST(StickyPartitioner, ChoosesAmongThoseWithALeader) {
  SeededRandom random(1);
  StickyPartitioner sticky(random, 1);
  const std::int32_t available[] = {3, 7};
  std::map<std::int32_t, int> chosen;
  for (int i = 0; i < 100; ++i) {
    ++chosen[sticky.partition(10, available)];
    sticky.appended(10, true);
  }
  EXPECT_EQ(chosen.size(), 2u);
  EXPECT_GT(chosen[3], 20);
  EXPECT_GT(chosen[7], 20);
}

TEST(StickyPartitioner, LetsGoOfAPartitionThatIsGone) {
  SeededRandom random(1);
  StickyPartitioner sticky(random, 100);
  for (int i = 0; i < 20; ++i) {
    (void)sticky.partition(1000, {});
    EXPECT_EQ(sticky.partition(1, {}), 0);
  }
}

}  // namespace
}  // namespace cordwood::client
