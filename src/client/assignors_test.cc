#include "client/assignors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"

namespace cordwood::client {
namespace {

std::vector<TopicPartition> partitions(const std::string& topic, std::vector<std::int32_t> indexes) {
  std::vector<TopicPartition> all;
  for (std::int32_t index : indexes) all.push_back({topic, {index}});
  return all;
}

TEST(Assignors, RangesGiveTheFirstOnesTheRest) {
  Subscriptions members{{"b", {{"t"}, {}, -1, {}}}, {"a", {{"t"}, {}, -1, {}}}};
  auto shares = assign_ranges({{"t", 5}}, members);
  EXPECT_EQ(shares["a"], partitions("t", {0, 1, 2}));
  EXPECT_EQ(shares["b"], partitions("t", {3, 4}));
}

TEST(Assignors, StaticMembersComeFirstAndByTheirInstance) {
  Subscriptions members{{"a", {{"t"}, {}, -1, {}}}, {"y", {{"t"}, {}, -1, "1"}}, {"x", {{"t"}, {}, -1, "2"}}};
  auto shares = assign_ranges({{"t", 3}}, members);
  EXPECT_EQ(shares["y"], partitions("t", {0}));
  EXPECT_EQ(shares["x"], partitions("t", {1}));
  EXPECT_EQ(shares["a"], partitions("t", {2}));
}

TEST(Assignors, RoundRobinPassesThoseWhoDoNotWantTheTopic) {
  Subscriptions members{{"a", {{"t"}, {}, -1, {}}}, {"b", {{"t", "u"}, {}, -1, {}}}};
  auto shares = assign_round_robin({{"t", 3}, {"u", 2}}, members);
  EXPECT_EQ(shares["a"], partitions("t", {0, 2}));
  EXPECT_EQ(shares["b"], (std::vector<TopicPartition>{{"t", {1}}, {"u", {0}}, {"u", {1}}}));
}

TEST(Assignors, StickyKeepsWhatIsFair) {
  Subscriptions members{{"a", {{"t"}, partitions("t", {0, 1, 2, 3}), 1, {}}}, {"b", {{"t"}, {}, -1, {}}}};
  auto shares = assign_sticky({{"t", 4}}, members);
  EXPECT_EQ(shares["a"].size(), 2u);
  EXPECT_EQ(shares["b"].size(), 2u);
  auto cooperative = assign_cooperatively({{"t", 4}}, members);
  EXPECT_EQ(cooperative["a"].size(), 2u);
  EXPECT_TRUE(cooperative["b"].empty()) << "given only once the owner has let go";
}

TEST(Assignors, TheNewestGenerationOwns) {
  Subscriptions members{{"a", {{"t"}, partitions("t", {0}), 1, {}}}, {"b", {{"t"}, partitions("t", {0}), 2, {}}}};
  EXPECT_EQ(assign_sticky({{"t", 2}}, members)["b"], partitions("t", {0}));
}

// b may not have what a has too much of, but c may, and has something for b.
TEST(Assignors, StickyIsEvenOverChainsOfMembers) {
  Subscriptions members{{"a", {{"t"}, partitions("t", {0, 1, 2, 3}), 1, {}}},
                        {"c", {{"t", "u"}, partitions("u", {0, 1, 2}), 1, {}}},
                        {"b", {{"u"}, {}, -1, {}}}};
  auto shares = assign_sticky({{"t", 4}, {"u", 2}}, members);
  for (const auto& [id, share] : shares) EXPECT_EQ(share.size(), 2u) << id;
}

// Any group: each partition that somebody wants has one owner, and nobody could give one away to a member with two less.
TEST(Assignors, SharesAreWholeAndEven) {
  SeededRandom random(7);
  for (int round = 0; round < 300; ++round) {
    PartitionCounts counts;
    for (char topic = 'a'; topic < 'a' + 4; ++topic) counts[std::string(1, topic)] = static_cast<std::int32_t>(random.below(6));
    Subscriptions members;
    const std::uint64_t member_count = 1 + random.below(5);
    for (std::uint64_t i = 0; i < member_count; ++i) {
      Subscription& member = members[fmt::format("m{}", i)];
      for (const auto& [topic, count] : counts) {
        if (random.below(3) > 0) member.topics.push_back(topic);
        for (std::int32_t k = 0; k < count; ++k) {
          if (random.below(4) == 0) member.owned.push_back({topic, {k}});
        }
      }
      member.generation = static_cast<std::int32_t>(random.below(3));
    }
    for (auto* assign : {assign_ranges, assign_round_robin, assign_sticky}) {
      auto shares = assign(counts, members);
      std::set<TopicPartition> given;
      for (const auto& [id, share] : shares) {
        for (const TopicPartition& partition : share) {
          EXPECT_TRUE(given.insert(partition).second) << partition.to_string() << " twice, round " << round;
          EXPECT_TRUE(std::ranges::count(members[id].topics, partition.topic)) << "round " << round;
        }
      }
      std::size_t wanted = 0;
      for (const auto& [topic, count] : counts) {
        bool somebody = std::ranges::any_of(members, [&](const auto& member) { return std::ranges::count(member.second.topics, topic) > 0; });
        if (somebody) wanted += static_cast<std::size_t>(count);
      }
      EXPECT_EQ(given.size(), wanted) << "round " << round;
    }
    auto shares = assign_sticky(counts, members);
    for (const auto& [giver, share] : shares) {
      for (const auto& [taker, other] : shares) {
        if (share.size() < other.size() + 2) continue;
        for (const TopicPartition& partition : share) {
          EXPECT_FALSE(std::ranges::count(members[taker].topics, partition.topic)) << "round " << round;
        }
      }
    }
  }
}

TEST(Assignors, SubscriptionsAndAssignmentsReadBack) {
  Subscription subscription{{"a", "b"}, {{"a", {3}}, {"b", {0}}}, 5, {}};
  EXPECT_EQ(decode_subscription(encode_subscription(subscription)).value(), subscription);
  for (StickyProtocol told : {StickyProtocol::eager, StickyProtocol::cooperative}) {
    EXPECT_EQ(decode_subscription(encode_subscription(subscription, told)).value(), subscription);
  }
  auto share = partitions("t", {4, 2});
  EXPECT_EQ(decode_assignment(encode_assignment(share)).value(), share);
  EXPECT_TRUE(decode_assignment({})->empty());
}

// What Kafka 4.4.0's StickyAssignor sends in a subscription of version 1, which has no field for the generation.
TEST(Assignors, PartitionsInUserDataAreOwned) {
  ByteWriter user_data;
  user_data.i32(1);
  user_data.i16(1);
  user_data.text("t");
  user_data.i32(2);
  user_data.i32(4);
  user_data.i32(7);
  user_data.i32(9);  // the generation
  const auto subscription_of = [](BytesView data) {
    ByteWriter writer;
    writer.i16(1);
    writer.i32(1);
    writer.i16(1);
    writer.text("t");
    writer.i32(static_cast<std::int32_t>(data.size()));
    writer.bytes(data);
    writer.i32(0);
    return decode_subscription(writer.view()).value();
  };
  EXPECT_EQ(subscription_of(user_data.view()), (Subscription{{"t"}, partitions("t", {4, 7}), 9, {}}));
  EXPECT_EQ(subscription_of(user_data.view().last(4)), (Subscription{{"t"}, {}, 9, {}}));
  // Of some other assignor.
  EXPECT_EQ(subscription_of(user_data.view().first(9)), (Subscription{{"t"}, {}, -1, {}}));
}

TEST(Assignors, BytesThatAreCutOffDoNotParse) {
  ByteVector whole = encode_assignment(partitions("topic", {1, 2, 3}));
  for (std::size_t size = 1; size + 4 < whole.size(); ++size) EXPECT_FALSE(decode_assignment(BytesView(whole).first(size)).has_value()) << size;
  ByteVector subscription = encode_subscription({{"topic"}, {}, 1, {}});
  for (std::size_t size = 0; size + 2 < subscription.size(); ++size) {
    EXPECT_FALSE(decode_subscription(BytesView(subscription).first(size)).has_value()) << size;
  }
  // A count far beyond the bytes must not make it allocate.
  ByteVector huge = encode_assignment({});
  huge[2] = std::byte{0x7f};
  EXPECT_FALSE(decode_assignment(huge).has_value());
}

}  // namespace
}  // namespace cordwood::client
