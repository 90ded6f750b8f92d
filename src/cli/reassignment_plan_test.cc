#include "cli/reassignment_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cordwood::cli {
namespace {

TEST(ReassignmentPlan, ReadsReplicasAndDirectories) {
  auto plan = parse_reassignment_plan(
      R"({"version":1,"partitions":[{"topic":"t","partition":1,"replicas":[2,3],"log_dirs":["any","/d"]},{"topic":"t","partition":0,"replicas":[1]}]} and } what follows)");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->assignment(), (Assignment{{{"t", 0}, {1}}, {{"t", 1}, {2, 3}}}));
  EXPECT_EQ(plan->directories, (ReplicaDirectories{{{3, {"t", 1}}, "/d"}}));
  EXPECT_TRUE(check_reassignment_plan(*plan));
}

TEST(ReassignmentPlan, TellsWhatIsWrongAsKafkaDoes) {
  struct Case {
    std::string_view text;
    std::string_view message;
  };
  const Case cases[] = {
      {"\n nonsense", "Unrecognized token 'nonsense': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')\n "
                      "at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 2, column: 2]"},
      {"[1,2]", "Expected JSON object, received [1,2]"},
      {R"({"version":2})", "Not supported version field value 2"},
      {R"({"version":"1"})", "Expected `Integer` value, received \"1\""},
      {R"({"partitions":7})", "Expected JSON array, received 7"},
      {R"({"partitions":[{"topic":"t","partition":0}]})", "No such field exists: `replicas`"},
      {R"({"partitions":[{"topic":"t","partition":0,"replicas":["x"]}]})", "Expected `Integer` value, received \"x\""},
      {R"({"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["a","b"]}]})",
       "Size of replicas list [1] is different from size of log dirs list [a, b] for partition t-0"},
      {"{}", "Partition reassignment list cannot be empty"},
      {R"({"partitions":[{"topic":"t","partition":0,"replicas":[]}]})", "Partition replica list cannot be empty"},
      {R"({"partitions":[{"topic":"t","partition":0,"replicas":[1]},{"topic":"t","partition":0,"replicas":[1]}]})",
       "Partition reassignment contains duplicate topic partitions: t-0"},
      {R"({"partitions":[{"topic":"t","partition":0,"replicas":[1,2,1,2]}]})",
       "Partition replica lists may not contain duplicate entries: t-0 contains multiple entries for 1, 2"},
  };
  for (const Case& c : cases) {
    auto plan = parse_reassignment_plan(c.text);
    auto checked = plan ? check_reassignment_plan(*plan) : std::unexpected(plan.error());
    ASSERT_FALSE(checked) << c.text;
    EXPECT_EQ(checked.error().message, c.message);
  }
}

TEST(ReassignmentPlan, ReadsTopicsAndBrokersToDealOut) {
  auto topics = parse_topics_to_move(R"({"topics":[{"topic":"b"},{"topic":"a"}]})");
  ASSERT_TRUE(topics);
  EXPECT_EQ(*topics, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(parse_topics_to_move("x").error().message, "The input string is not a valid JSON");
  EXPECT_EQ(parse_topics_to_move(R"({"topics":[{"topic":"a"},{"topic":"a"}]})").error().message,
            "List of topics to reassign contains duplicate entries: [a]");
  EXPECT_EQ(*parse_broker_list("3,1"), (std::set<std::int32_t>{1, 3}));
  EXPECT_EQ(parse_broker_list("1,1").error().message, "Broker list contains duplicate entries: [1]");
  EXPECT_EQ(parse_broker_list("").error().to_string(), "java.lang.NumberFormatException: For input string: \"\"");
}

TEST(ReassignmentPlan, WritesWhatItReads) {
  Assignment assignment{{{"t", 0}, {1, 2}}};
  EXPECT_EQ(reassignment_json(assignment, {{{2, {"t", 0}}, "/d"}}),
            R"({"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","/d"]}]})");
}

client::Node node(std::int32_t id, std::string rack) { return {id, "h", 1, std::move(rack)}; }

TEST(DealOut, SpreadsLeadersAndRacksEvenly) {
  const std::vector<client::Node> brokers = {node(1, "a"), node(2, "a"), node(3, "b"), node(4, "b")};
  Assignment current;
  for (std::int32_t partition = 0; partition < 8; ++partition) current[{"t", partition}] = {1, 2};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SeededRandom random(seed);
    auto dealt = deal_out(current, brokers, random);
    ASSERT_TRUE(dealt);
    ASSERT_EQ(dealt->size(), current.size());
    std::map<std::int32_t, int> leads;
    std::map<std::int32_t, int> holds;
    for (const auto& [key, replicas] : *dealt) {
      ASSERT_EQ(replicas.size(), 2U);
      EXPECT_NE(replicas[0] <= 2, replicas[1] <= 2) << "both replicas in one rack, seed " << seed;
      ++leads[replicas[0]];
      for (std::int32_t broker : replicas) ++holds[broker];
    }
    for (std::int32_t broker = 1; broker <= 4; ++broker) {
      EXPECT_EQ(leads[broker], 2) << seed;
      EXPECT_EQ(holds[broker], 4) << seed;
    }
  }
}

TEST(DealOut, TakesEveryBrokerWhenThereAreMoreReplicasThanRacks) {
  SeededRandom random(1);
  auto dealt = deal_out({{{"t", 0}, {1, 2, 3}}}, {node(1, "a"), node(2, "a"), node(3, "b")}, random);
  ASSERT_TRUE(dealt);
  std::vector<std::int32_t> replicas = dealt->at({"t", 0});
  std::ranges::sort(replicas);
  EXPECT_EQ(replicas, (std::vector<std::int32_t>{1, 2, 3}));
}

TEST(DealOut, RefusesWhatCannotBe) {
  SeededRandom random(1);
  EXPECT_EQ(deal_out({{{"t", 0}, {1}}}, {}, random).error().message,
            "All brokers are currently fenced, or have all their log directories cordoned.");
  EXPECT_EQ(deal_out({{{"t", 0}, {1, 2}}}, {node(1, "a")}, random).error().message,
            "The target replication factor of 2 cannot be reached because only 1 broker(s) are registered or some brokers have all "
            "their log directories cordoned.");
  EXPECT_TRUE(deal_out({}, {}, random)->empty());
}

TEST(Throttles, NameSourcesAndTrueDestinations) {
  PartitionMoves moves{{{"t", 10}, {{1}, {1, 2}}}, {{"t", 2}, {{1, 3}, {1, 3}}}};
  EXPECT_EQ(leader_throttles(moves), (std::map<std::string, std::string>{{"t", "10:1,2:1,2:3"}}));
  EXPECT_EQ(follower_throttles(moves), (std::map<std::string, std::string>{{"t", "10:2"}}));
}

}  // namespace
}  // namespace cordwood::cli
