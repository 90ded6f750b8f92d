#include "broker/groups/group.h"

#include <gtest/gtest.h>

#include "broker/groups/coordinator.h"
#include "broker/groups/record_codec.h"
#include "protocol/wire.h"

namespace cordwood::broker::groups {
namespace {

using protocol::ErrorCode;

Member member(std::string id, std::vector<std::string> protocols, std::optional<std::string> instance = {}) {
  Member m;
  m.id = std::move(id);
  m.instance_id = std::move(instance);
  m.client_id = "c";
  m.client_host = "/127.0.0.1";
  m.rebalance_timeout = {1000};
  m.session_timeout = {6000};
  for (auto& p : protocols) m.protocols.push_back({p, to_vector(as_bytes("meta-" + m.id))});
  return m;
}

TEST(GroupPartition, IsJavasStringHash) {
  // Values of Math.abs("...".hashCode()) % 50 computed with Java 17; the last hashes to the smallest int.
  struct Case {
    const char* group;
    std::int32_t partition;
  } cases[] = {{"", 0}, {"g", 3}, {"console-consumer-12345", 6}, {"my-group", 12}, {"polygenelubricants", 0}};
  for (const auto& c : cases) EXPECT_EQ(partition_of(c.group, 50).value, c.partition) << c.group;
  EXPECT_EQ(partition_of("gr\xc3\xbc\xc3\x9f" "e-\xf0\x9f\x98\x80", 50).value, 27) << "UTF-16 code units are hashed";
}

TEST(Group, TheFirstMemberLeadsAndLeadershipMovesOn) {
  Group group("g");
  group.add(member("b", {"range"}), "consumer");
  group.add(member("a", {"range"}), "consumer");
  EXPECT_EQ(group.leader(), "b");
  EXPECT_EQ(group.protocol_type(), "consumer");
  group.remove("b");
  EXPECT_EQ(group.leader(), "a");
  group.remove("a");
  EXPECT_EQ(group.leader(), std::nullopt);
}

TEST(Group, EachMemberVotesForItsFirstCommonProtocol) {
  Group group("g");
  group.add(member("a", {"sticky", "range"}), "consumer");
  group.add(member("b", {"range", "sticky"}), "consumer");
  group.add(member("c", {"roundrobin", "range", "sticky"}), "consumer");
  EXPECT_EQ(group.select_protocol(), "range");
  group.remove("b");
  group.add(member("d", {"sticky"}), "consumer");
  EXPECT_EQ(group.select_protocol(), "sticky") << "the only one that all support";
}

TEST(Group, SupportsOnlyWhatIsCommonOnceItHasMembers) {
  Group group("g");
  EXPECT_TRUE(group.supports("anything", {{"p", {}}}));
  EXPECT_FALSE(group.supports("", {{"p", {}}}));
  EXPECT_FALSE(group.supports("consumer", {}));
  group.add(member("a", {"range"}), "consumer");
  group.set_state(GroupState::stable, {0});
  EXPECT_TRUE(group.supports("consumer", {{"x", {}}, {"range", {}}}));
  EXPECT_FALSE(group.supports("consumer", {{"x", {}}}));
  EXPECT_FALSE(group.supports("connect", {{"range", {}}}));
}

TEST(Group, MembersAreValidatedByBothIds) {
  Group group("g");
  group.add(member("s-1", {"range"}, "s"), "consumer");
  group.add(member("d-1", {"range"}), "consumer");
  struct Case {
    const char* member;
    std::optional<std::string> instance;
    ErrorCode expected;
  } cases[] = {
      {"s-1", "s", ErrorCode::NONE},
      {"s-1", std::nullopt, ErrorCode::NONE},
      {"old", "s", ErrorCode::FENCED_INSTANCE_ID},
      {"s-1", "t", ErrorCode::UNKNOWN_MEMBER_ID},
      {"d-1", std::nullopt, ErrorCode::NONE},
      {"d-1", "d", ErrorCode::UNKNOWN_MEMBER_ID},
      {"nobody", std::nullopt, ErrorCode::UNKNOWN_MEMBER_ID},
  };
  for (const auto& c : cases) EXPECT_EQ(group.validate_member(c.member, c.instance), c.expected) << c.member;
  group.replace_static("s", "s-2");
  EXPECT_EQ(group.leader(), "s-2") << "leadership goes along with the instance";
  EXPECT_EQ(group.validate_member("s-1", "s"), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(group.validate_member("s-1", std::nullopt), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(Group, GenerationsGrowAndAnEmptyGroupHasNoProtocol) {
  Group group("g");
  group.add(member("a", {"range"}), "consumer");
  group.next_generation({5});
  EXPECT_EQ(group.generation(), 1);
  EXPECT_EQ(group.state(), GroupState::completing_rebalance);
  EXPECT_EQ(group.protocol(), "range");
  group.remove("a");
  group.next_generation({6});
  EXPECT_EQ(group.generation(), 2);
  EXPECT_EQ(group.state(), GroupState::empty);
  EXPECT_EQ(group.protocol(), std::nullopt);
  EXPECT_EQ(group.state_since(), TimestampMs{6});
}

TEST(Group, SurvivesItsOwnRecord) {
  Group group("g");
  group.add(member("s-1", {"range", "sticky"}, "s"), "consumer");
  group.add(member("d-1", {"range"}), "consumer");
  group.next_generation({77});
  auto value = group.to_record({{"s-1", to_vector(as_bytes("A"))}, {"d-1", to_vector(as_bytes("B"))}});
  auto encoded = encode(GroupRecord(GroupRecordOf{"g", value}), 4);
  auto decoded = decode(encoded.key, BytesView(*encoded.value));
  ASSERT_TRUE(decoded) << decoded.error().message();
  ASSERT_TRUE(std::holds_alternative<GroupRecordOf>(*decoded));
  Group loaded = Group::from_record("g", *std::get<GroupRecordOf>(*decoded).value, {99});
  EXPECT_EQ(loaded.state(), GroupState::stable);
  EXPECT_EQ(loaded.generation(), 1);
  EXPECT_EQ(loaded.leader(), "s-1");
  EXPECT_EQ(loaded.members().at("d-1").assignment, to_vector(as_bytes("B")));
  EXPECT_EQ(loaded.members().at("s-1").rebalance_timeout, DurationMs{1000});
  EXPECT_EQ(*loaded.static_member("s"), "s-1");
}

TEST(Group, ReadsTheTopicsOfConsumerSubscriptions) {
  Group group("g");
  auto with_topics = [](const std::string& id, std::vector<std::string> topics) {
    ByteWriter w;
    w.i16(1);
    w.i32(static_cast<std::int32_t>(topics.size()));
    for (const auto& t : topics) {
      w.i16(static_cast<std::int16_t>(t.size()));
      w.text(t);
    }
    Member m = member(id, {});
    m.protocols.push_back({"range", w.take()});
    return m;
  };
  group.add(with_topics("a", {"x", "y"}), "consumer");
  group.add(with_topics("b", {"z"}), "consumer");
  group.next_generation({0});
  EXPECT_EQ(group.subscribed_topics(), (std::set<std::string>{"x", "y", "z"}));
  group.find("b")->protocols[0].metadata = to_vector(as_bytes("\x00\x01\x7f"));
  EXPECT_EQ(group.subscribed_topics(), std::nullopt) << "a subscription that cannot be read says nothing";
}

TEST(GroupRecords, OffsetValueVersionFollowsTheDirectory) {
  OffsetCommitValue value;
  value.offset = 42;
  value.leader_epoch = 3;
  value.metadata = "m";
  value.commit_timestamp = 1000;
  value.topic_id = {1, 2};
  for (std::int16_t version : {std::int16_t{3}, std::int16_t{4}}) {
    auto encoded = encode(GroupRecord(OffsetRecord{"g", {"t", PartitionId{7}}, value}), version);
    EXPECT_EQ(load_be<std::int16_t>(BytesView(*encoded.value), 0), version);
    auto decoded = decode(encoded.key, BytesView(*encoded.value));
    ASSERT_TRUE(decoded);
    const auto& offset = std::get<OffsetRecord>(*decoded);
    EXPECT_EQ(offset.partition, (TopicPartition{"t", PartitionId{7}}));
    EXPECT_EQ(offset.value->offset, 42);
    EXPECT_EQ(offset.value->topic_id, version == 4 ? Uuid(value.topic_id) : kZeroUuid);
  }
  value.expire_timestamp = 5000;
  auto encoded = encode(GroupRecord(OffsetRecord{"g", {"t", PartitionId{7}}, value}), 4);
  EXPECT_EQ(load_be<std::int16_t>(BytesView(*encoded.value), 0), 1) << "only version 1 has an expire timestamp";
}

TEST(GroupRecords, BadOnesAreNamed) {
  EXPECT_EQ(decode({}, std::nullopt).error().code, Errc::corrupt);
  EXPECT_EQ(decode(as_bytes(std::string_view("\0\1\0\5ab", 6)), std::nullopt).error().code, Errc::corrupt);
  auto key = encode(GroupRecord(GroupRecordOf{"g", std::nullopt}), 4).key;
  EXPECT_TRUE(decode(key, std::nullopt)) << "a tombstone";
  EXPECT_EQ(decode(key, as_bytes(std::string_view("\0\x09", 2))).error().code, Errc::unsupported);
  EXPECT_EQ(decode(key, as_bytes(std::string_view("\0\3\0", 3))).error().code, Errc::corrupt);
  auto foreign = decode(as_bytes(std::string_view("\0\5zzz", 5)), std::nullopt);
  ASSERT_TRUE(foreign);
  EXPECT_EQ(std::get<ForeignRecord>(*foreign).type, 5);
}

}  // namespace
}  // namespace cordwood::broker::groups
