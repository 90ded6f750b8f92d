// The group coordinator through a whole broker: what clients see, row by row as Kafka 4.4.0 answers it.
#include "broker/groups/coordinator.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "broker/broker_testing.h"
#include "protocol/messages/create_partitions.h"
#include "protocol/messages/find_coordinator.h"

namespace cordwood::broker::groups {
namespace {

using namespace protocol;

struct Joined {
  ErrorCode error = ErrorCode::NONE;
  std::string member_id;
  std::int32_t generation = -1;
  std::string leader;
  std::vector<JoinGroupResponse::Member> members;
  bool skip_assignment = false;
};

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() : broker(config()) {
    broker.create_topic("t", 3);
    FindCoordinatorRequest find;
    find.coordinator_keys = {"g"};
    auto found = broker.call<FindCoordinatorResponse>(find, 4);
    EXPECT_EQ(found->coordinators.at(0).error_code, ErrorCode::NONE);
    EXPECT_EQ(found->coordinators.at(0).node_id, 1);
  }

  static Config config() {
    Config c = TestBroker::test_config();
    c.group_initial_rebalance_delay_ms = {3000};
    return c;
  }

  static JoinGroupRequest join_request(std::string member_id = "", std::optional<std::string> instance = {},
                                       std::string metadata = "m") {
    JoinGroupRequest r;
    r.group_id = "g";
    r.session_timeout_ms = 10000;
    r.rebalance_timeout_ms = 60000;
    r.member_id = std::move(member_id);
    r.group_instance_id = std::move(instance);
    r.protocol_type = "consumer";
    r.protocols.emplace_back();
    r.protocols.back().name = "range";
    r.protocols.back().metadata = to_vector(as_bytes(metadata));
    return r;
  }

  // Timers run on the background thread in the order of their deadlines: one behind them waits for all that are due.
  void advance(DurationMs by) {
    broker.advance(by);
    std::promise<void> ran;
    broker->background().schedule(broker.clock().monotonic(), [&] { ran.set_value(); });
    ran.get_future().wait();
  }

  Joined read(Waiting<JoinGroupResponse> waiting) {
    auto answer = waiting.get();
    return {answer->error_code, answer->member_id,       answer->generation_id,
            answer->leader,     std::move(answer->members), answer->skip_assignment};
  }

  // A dynamic member with its id, alone in the group and Stable.
  Joined stable_member(std::int16_t version = 9) {
    auto first = broker.call<JoinGroupResponse>(join_request(), version);
    EXPECT_EQ(first->error_code, ErrorCode::MEMBER_ID_REQUIRED);
    auto waiting = broker.send<JoinGroupResponse>(join_request(first->member_id), version);
    advance({3000});
    Joined joined = read(waiting);
    EXPECT_EQ(joined.error, ErrorCode::NONE);
    EXPECT_EQ(sync(joined, {{joined.member_id, "A"}}), ErrorCode::NONE);
    return joined;
  }

  SyncGroupRequest sync_request(const Joined& who, const std::map<std::string, std::string>& assignments = {}) {
    SyncGroupRequest r;
    r.group_id = "g";
    r.generation_id = who.generation;
    r.member_id = who.member_id;
    r.protocol_type = "consumer";
    r.protocol_name = "range";
    for (const auto& [member, bytes] : assignments) {
      auto& a = r.assignments.emplace_back();
      a.member_id = member;
      a.assignment = to_vector(as_bytes(bytes));
    }
    return r;
  }
  ErrorCode sync(const Joined& who, const std::map<std::string, std::string>& assignments = {}) {
    return broker.call<SyncGroupResponse>(sync_request(who, assignments), 5)->error_code;
  }

  ErrorCode heartbeat(const std::string& member, std::int32_t generation, std::optional<std::string> instance = {},
                      const std::string& group = "g") {
    HeartbeatRequest r;
    r.group_id = group;
    r.generation_id = generation;
    r.member_id = member;
    r.group_instance_id = std::move(instance);
    return broker.call<HeartbeatResponse>(r, 4)->error_code;
  }

  ErrorCode commit(std::int32_t generation, const std::string& member, std::int64_t offset = 5, std::int16_t version = 8,
                   const std::string& group = "g", const std::string& topic = "t", std::int32_t partition = 0,
                   std::optional<std::string> metadata = "") {
    OffsetCommitRequest r;
    r.group_id = group;
    r.generation_id_or_member_epoch = generation;
    r.member_id = member;
    auto& entry = r.topics.emplace_back();
    entry.name = topic;
    auto& p = entry.partitions.emplace_back();
    p.partition_index = partition;
    p.committed_offset = offset;
    p.committed_metadata = std::move(metadata);
    return broker.call<OffsetCommitResponse>(r, version)->topics.at(0).partitions.at(0).error_code;
  }

  std::int64_t committed(const std::string& group = "g", const std::string& topic = "t", std::int32_t partition = 0) {
    OffsetFetchRequest r;
    auto& g = r.groups.emplace_back();
    g.group_id = group;
    g.topics.emplace();
    auto& entry = g.topics->emplace_back();
    entry.name = topic;
    entry.partition_indexes = {partition};
    auto answer = broker.call<OffsetFetchResponse>(r, 8);
    EXPECT_EQ(answer->groups.at(0).error_code, ErrorCode::NONE);
    return answer->groups.at(0).topics.at(0).partitions.at(0).committed_offset;
  }

  std::string state(const std::string& group = "g") {
    DescribeGroupsRequest r;
    r.groups = {group};
    return broker.call<DescribeGroupsResponse>(r, 5)->groups.at(0).group_state;
  }

  TestBroker broker;
};

TEST_F(CoordinatorTest, JoinIsRefusedBeforeItReachesAGroup) {
  struct Case {
    const char* what;
    std::function<void(JoinGroupRequest&)> change;
    ErrorCode expected;
  } cases[] = {
      {"empty group", [](auto& r) { r.group_id = ""; }, ErrorCode::INVALID_GROUP_ID},
      {"short session", [](auto& r) { r.session_timeout_ms = 5; }, ErrorCode::INVALID_SESSION_TIMEOUT},
      {"long session", [](auto& r) { r.session_timeout_ms = 1800001; }, ErrorCode::INVALID_SESSION_TIMEOUT},
      {"no protocols", [](auto& r) { r.protocols.clear(); }, ErrorCode::INCONSISTENT_GROUP_PROTOCOL},
      {"no type", [](auto& r) { r.protocol_type = ""; }, ErrorCode::INCONSISTENT_GROUP_PROTOCOL},
      {"unknown member", [](auto& r) { r.member_id = "nobody"; }, ErrorCode::UNKNOWN_MEMBER_ID},
  };
  for (const auto& c : cases) {
    auto request = join_request();
    c.change(request);
    auto answer = broker.call<JoinGroupResponse>(request, 9);
    EXPECT_EQ(answer->error_code, c.expected) << c.what;
    EXPECT_EQ(answer->generation_id, -1) << c.what;
    EXPECT_EQ(answer->member_id, c.expected == ErrorCode::UNKNOWN_MEMBER_ID ? "nobody" : "") << c.what;
  }
}

TEST_F(CoordinatorTest, AMemberJoinsSyncsAndCommits) {
  Joined one = stable_member();
  EXPECT_EQ(one.generation, 1);
  EXPECT_EQ(one.leader, one.member_id);
  EXPECT_EQ(one.members.size(), 1u);
  EXPECT_TRUE(one.member_id.starts_with("test-")) << one.member_id;
  EXPECT_EQ(one.member_id.size(), std::string("test-").size() + 36);
  EXPECT_EQ(state(), "Stable");
  EXPECT_EQ(heartbeat(one.member_id, 1), ErrorCode::NONE);
  EXPECT_EQ(commit(1, one.member_id, 42), ErrorCode::NONE);
  EXPECT_EQ(committed(), 42);
  EXPECT_EQ(committed("g", "t", 1), -1);
}

TEST_F(CoordinatorTest, HeartbeatsAndCommitsNameTheirFault) {
  Joined one = stable_member();
  EXPECT_EQ(heartbeat(one.member_id, 7), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(heartbeat("nobody", 1), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(heartbeat(one.member_id, 1, "i"), ErrorCode::UNKNOWN_MEMBER_ID) << "an instance id on a dynamic member";
  EXPECT_EQ(heartbeat(one.member_id, 1, {}, "other"), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(heartbeat(one.member_id, 1, {}, ""), ErrorCode::INVALID_GROUP_ID);

  EXPECT_EQ(commit(7, one.member_id), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(commit(1, "nobody"), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(commit(1, ""), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(commit(-1, ""), ErrorCode::UNKNOWN_MEMBER_ID) << "the group is active";
  EXPECT_EQ(commit(-1, one.member_id), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(commit(1, one.member_id, 5, 8, "g", "nope"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(commit(1, one.member_id, 5, 8, "g", "t", 9), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(commit(1, one.member_id, 5, 8, "g", "t", 0, std::string(4097, 'x')), ErrorCode::OFFSET_METADATA_TOO_LARGE);
  EXPECT_EQ(commit(1, one.member_id, 5, 8, "g", "t", 0, std::string(4096, 'x')), ErrorCode::NONE);
  EXPECT_EQ(commit(1, one.member_id, -5), ErrorCode::NONE) << "offsets are not looked at";
  EXPECT_EQ(committed(), -5);
}

TEST_F(CoordinatorTest, SimpleGroupsCommitWithoutMembers) {
  EXPECT_EQ(commit(-1, "", 3, 8, "simple"), ErrorCode::NONE);
  EXPECT_EQ(committed("simple"), 3);
  EXPECT_EQ(state("simple"), "Empty");
  EXPECT_EQ(commit(0, "", 3, 8, "simple"), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(commit(0, "", 3, 9, "new"), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(commit(0, "", 3, 8, "new"), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(commit(-1, "", 4, 8, ""), ErrorCode::NONE) << "the empty group id works as a simple group";
  EXPECT_EQ(committed(""), 4);
}

TEST_F(CoordinatorTest, TheFirstRebalanceWaitsForLateComers) {
  auto one = broker.send<JoinGroupResponse>(join_request(), 3, broker.connect());
  EXPECT_FALSE(one.done());
  advance({1000});
  auto two = broker.send<JoinGroupResponse>(join_request(), 3, broker.connect());
  EXPECT_FALSE(two.done());
  advance({2000});
  std::this_thread::yield();
  EXPECT_FALSE(one.done()) << "extended, because another one came";
  advance({3000});
  Joined a = read(one), b = read(two);
  EXPECT_EQ(a.generation, 1);
  EXPECT_EQ(b.generation, 1);
  EXPECT_EQ(a.leader, b.leader);
  EXPECT_EQ(a.members.size() + b.members.size(), 2u) << "only the leader gets the members";
}

TEST_F(CoordinatorTest, AChangedFollowerRebalancesEveryone) {
  auto c1 = broker.connect(), c2 = broker.connect();
  auto w1 = broker.send<JoinGroupResponse>(join_request(), 3, c1);
  auto w2 = broker.send<JoinGroupResponse>(join_request(), 3, c2);
  advance({3000});
  advance({3000});
  Joined a = read(w1), b = read(w2);
  Joined& leader = a.leader == a.member_id ? a : b;
  Joined& follower = a.leader == a.member_id ? b : a;
  auto follower_sync = broker.send<SyncGroupResponse>(sync_request(follower), 5, c2);
  EXPECT_FALSE(follower_sync.done()) << "waits for the leader";
  EXPECT_EQ(commit(1, follower.member_id), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(heartbeat(follower.member_id, 1), ErrorCode::NONE) << "CompletingRebalance";
  EXPECT_EQ(sync(leader, {{leader.member_id, "L"}, {follower.member_id, "F"}}), ErrorCode::NONE);
  EXPECT_EQ(follower_sync.get()->assignment, to_vector(as_bytes("F")));

  // Unchanged: at once, same generation, no rebalance.
  auto same = read(broker.send<JoinGroupResponse>(join_request(follower.member_id), 9, c2));
  EXPECT_EQ(same.generation, 1);
  EXPECT_TRUE(same.members.empty());
  EXPECT_EQ(heartbeat(leader.member_id, 1), ErrorCode::NONE);

  auto changed = broker.send<JoinGroupResponse>(join_request(follower.member_id, {}, "other"), 9, c2);
  EXPECT_FALSE(changed.done());
  EXPECT_EQ(state(), "PreparingRebalance");
  EXPECT_EQ(heartbeat(leader.member_id, 1), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(sync(leader), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(commit(1, leader.member_id), ErrorCode::NONE);
  auto rejoined = read(broker.send<JoinGroupResponse>(join_request(leader.member_id), 9, c1));
  EXPECT_EQ(rejoined.generation, 2);
  EXPECT_EQ(read(changed).generation, 2);
  EXPECT_EQ(commit(1, leader.member_id), ErrorCode::ILLEGAL_GENERATION);
}

TEST_F(CoordinatorTest, ALeaderThatRejoinsUnchangedStartsAGeneration) {
  Joined one = stable_member();
  auto again = read(broker.send<JoinGroupResponse>(join_request(one.member_id), 9));
  EXPECT_EQ(again.generation, 2);
  EXPECT_EQ(again.members.size(), 1u);
}

TEST_F(CoordinatorTest, SyncNamesItsFault) {
  Joined one = stable_member();
  auto request = sync_request(one);
  request.protocol_name.reset();
  EXPECT_EQ(broker.call<SyncGroupResponse>(request, 5)->error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  request = sync_request(one);
  request.protocol_name = "sticky";
  EXPECT_EQ(broker.call<SyncGroupResponse>(request, 5)->error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  Joined wrong = one;
  wrong.generation = 9;
  EXPECT_EQ(sync(wrong), ErrorCode::ILLEGAL_GENERATION);
  wrong = one;
  wrong.member_id = "nobody";
  EXPECT_EQ(sync(wrong), ErrorCode::UNKNOWN_MEMBER_ID);
  auto again = broker.call<SyncGroupResponse>(sync_request(one), 5);
  EXPECT_EQ(again->assignment, to_vector(as_bytes("A"))) << "the stored assignment";
}

TEST_F(CoordinatorTest, StaticMembersComeBackWithoutARebalance) {
  auto waiting = broker.send<JoinGroupResponse>(join_request("", "i"), 9);
  advance({3000});
  Joined one = read(waiting);
  EXPECT_EQ(one.generation, 1);
  EXPECT_TRUE(one.member_id.starts_with("i-")) << one.member_id;
  EXPECT_EQ(sync(one, {{one.member_id, "A"}}), ErrorCode::NONE);

  Joined two = read(broker.send<JoinGroupResponse>(join_request("", "i"), 9));
  EXPECT_EQ(two.generation, 1);
  EXPECT_NE(two.member_id, one.member_id);
  EXPECT_EQ(two.leader, two.member_id);
  EXPECT_TRUE(two.skip_assignment);
  EXPECT_EQ(two.members.size(), 1u);
  EXPECT_EQ(heartbeat(one.member_id, 1, "i"), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(heartbeat(one.member_id, 1), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(broker.call<SyncGroupResponse>(sync_request(two), 5)->assignment, to_vector(as_bytes("A")));

  Joined three = read(broker.send<JoinGroupResponse>(join_request("", "i"), 8));
  EXPECT_EQ(three.leader, two.member_id) << "an older client is told the id from before, so it does not assign";
  EXPECT_TRUE(three.members.empty());

  auto fenced = broker.call<JoinGroupResponse>(join_request("somebody", "i"), 9);
  EXPECT_EQ(fenced->error_code, ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(fenced->member_id, "somebody");

  LeaveGroupRequest leave;
  leave.group_id = "g";
  leave.members.emplace_back().group_instance_id = "i";
  auto left = broker.call<LeaveGroupResponse>(leave, 5);
  EXPECT_EQ(left->error_code, ErrorCode::NONE);
  EXPECT_EQ(left->members.at(0).error_code, ErrorCode::NONE);
  EXPECT_EQ(state(), "Empty");
}

TEST_F(CoordinatorTest, AMemberThatFallsSilentIsRemoved) {
  Joined one = stable_member();
  advance({9000});
  EXPECT_EQ(heartbeat(one.member_id, 1), ErrorCode::NONE);
  advance({9000});
  EXPECT_EQ(heartbeat(one.member_id, 1), ErrorCode::NONE) << "each heartbeat moves the deadline";
  advance({10001});
  EXPECT_EQ(state(), "Empty");
  EXPECT_EQ(heartbeat(one.member_id, 1), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(CoordinatorTest, LeavingNamesUnknownMembers) {
  Joined one = stable_member();
  LeaveGroupRequest leave;
  leave.group_id = "g";
  leave.members.emplace_back().member_id = "nobody";
  leave.members.emplace_back().member_id = one.member_id;
  auto answer = broker.call<LeaveGroupResponse>(leave, 4);
  EXPECT_EQ(answer->error_code, ErrorCode::NONE);
  EXPECT_EQ(answer->members.at(0).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(answer->members.at(1).error_code, ErrorCode::NONE);
  EXPECT_EQ(state(), "Empty");
  LeaveGroupRequest old;
  old.group_id = "g";
  old.member_id = "nobody";
  EXPECT_EQ(broker.call<LeaveGroupResponse>(old, 2)->error_code, ErrorCode::UNKNOWN_MEMBER_ID);
  old.group_id = "absent";
  EXPECT_EQ(broker.call<LeaveGroupResponse>(old, 2)->error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(CoordinatorTest, GroupsAndOffsetsSurviveARestart) {
  Joined one = stable_member();
  EXPECT_EQ(commit(1, one.member_id, 77), ErrorCode::NONE);
  EXPECT_EQ(commit(-1, "", 3, 8, "simple"), ErrorCode::NONE);
  broker.restart();
  EXPECT_EQ(state(), "Stable");
  EXPECT_EQ(committed(), 77);
  EXPECT_EQ(committed("simple"), 3);
  EXPECT_EQ(heartbeat(one.member_id, 1), ErrorCode::NONE) << "the member goes on as if nothing had happened";
  EXPECT_EQ(broker.call<SyncGroupResponse>(sync_request(one), 5)->assignment, to_vector(as_bytes("A")));
}

TEST_F(CoordinatorTest, AddedPartitionsOfTheOffsetsTopicMoveNoGroup) {
  Joined one = stable_member();
  EXPECT_EQ(commit(1, one.member_id, 42), ErrorCode::NONE);
  CreatePartitionsRequest more;
  more.timeout_ms = 30000;
  auto& topic = more.topics.emplace_back();
  topic.name = "__consumer_offsets";
  // To a count at which the group's id would fall elsewhere.
  const auto now = static_cast<std::int32_t>(broker->image()->topic("__consumer_offsets")->partitions.size());
  std::int32_t count = now + 1;
  while (partition_of("g", count) == partition_of("g", now)) ++count;
  topic.count = count;
  EXPECT_EQ(broker.call<CreatePartitionsResponse>(more, 3)->results.at(0).error_code, ErrorCode::NONE);
  EXPECT_EQ(commit(1, one.member_id, 43), ErrorCode::NONE);
  EXPECT_EQ(state(), "Stable");
  EXPECT_EQ(committed(), 43);
}

TEST_F(CoordinatorTest, GroupsAndOffsetsSurviveCompaction) {
  Joined one = stable_member();
  EXPECT_EQ(commit(-1, "", 1, 8, "early"), ErrorCode::NONE);
  auto log = broker->logs().find({"__consumer_offsets", PartitionId{0}});
  ASSERT_NE(log, nullptr);
  storage::LogConfig config = log->config();
  EXPECT_TRUE(config.cleanup_compact);
  config.segment_bytes = {2000};
  config.min_cleanable_dirty_ratio = 0.01;
  log->update_config(config);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(commit(1, one.member_id, i), ErrorCode::NONE);
    EXPECT_EQ(commit(-1, "", i, 8, "simple"), ErrorCode::NONE);
  }
  const ByteCount before = log->size();
  // The broker's own thread may have been quicker.
  broker->logs().cleaner().clean_once();
  broker->logs().cleaner().abort_and_pause(log->partition());
  EXPECT_LT(log->size().value, before.value / 2);
  log.reset();
  broker.restart();
  EXPECT_EQ(state(), "Stable");
  EXPECT_EQ(committed(), 99);
  EXPECT_EQ(committed("simple"), 99);
  EXPECT_EQ(committed("early"), 1);
  EXPECT_EQ(heartbeat(one.member_id, 1), ErrorCode::NONE);
}

TEST_F(CoordinatorTest, AdministrationOfGroups) {
  Joined one = stable_member();
  EXPECT_EQ(commit(1, one.member_id, 77), ErrorCode::NONE);
  EXPECT_EQ(commit(-1, "", 3, 8, "simple"), ErrorCode::NONE);

  DeleteGroupsRequest remove;
  remove.groups_names = {"g", "nope", "", "simple", "simple"};
  auto removed = broker.call<DeleteGroupsResponse>(remove, 3);
  ASSERT_EQ(removed->results.size(), 4u);
  for (const auto& r : removed->results) {
    EXPECT_EQ(r.error_code, r.group_id == "g"        ? ErrorCode::NON_EMPTY_GROUP
                            : r.group_id == "simple" ? ErrorCode::NONE
                                                     : ErrorCode::GROUP_ID_NOT_FOUND)
        << r.group_id;
  }
  EXPECT_EQ(committed("simple"), -1);

  ListGroupsRequest list;
  list.states_filter = {"stABLE"};
  list.types_filter = {"Classic"};
  auto listed = broker.call<ListGroupsResponse>(list, 5);
  ASSERT_EQ(listed->groups.size(), 1u);
  EXPECT_EQ(listed->groups[0].group_type, "classic");
  EXPECT_EQ(listed->groups[0].group_state, "Stable");
  list.types_filter = {"consumer"};
  EXPECT_TRUE(broker.call<ListGroupsResponse>(list, 5)->groups.empty());

  DescribeGroupsRequest describe;
  describe.groups = {"nog"};
  auto missing = broker.call<DescribeGroupsResponse>(describe, 6);
  EXPECT_EQ(missing->groups.at(0).error_code, ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(missing->groups.at(0).error_message, "Group nog not found.");
  auto older = broker.call<DescribeGroupsResponse>(describe, 5);
  EXPECT_EQ(older->groups.at(0).error_code, ErrorCode::NONE);
  EXPECT_EQ(older->groups.at(0).group_state, "Dead");
  broker.restart();
  EXPECT_EQ(committed("simple"), -1) << "tombstones are replayed as well";
}

TEST_F(CoordinatorTest, OffsetsExpireSevenDaysAfterTheGroupBecameEmpty) {
  Joined one = stable_member();
  EXPECT_EQ(commit(1, one.member_id, 77), ErrorCode::NONE);
  EXPECT_EQ(commit(-1, "", 3, 8, "simple"), ErrorCode::NONE);
  LeaveGroupRequest leave;
  leave.group_id = "g";
  leave.members.emplace_back().member_id = one.member_id;
  broker.call<LeaveGroupResponse>(leave, 4);
  const DurationMs week{7LL * 24 * 3600 * 1000};
  broker.clock().advance(week - DurationMs{1});
  EXPECT_EQ(broker->groups().expire(), 0u);
  broker.clock().advance({1});
  EXPECT_EQ(broker->groups().expire(), 2u);
  EXPECT_EQ(committed(), -1);
  EXPECT_EQ(state(), "Dead") << "a group without offsets and members goes";
}

}  // namespace
}  // namespace cordwood::broker::groups
