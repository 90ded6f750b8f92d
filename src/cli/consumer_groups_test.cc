// What kafka-consumer-groups reads: topics with partitions, and files of offsets (as Kafka 4.4.0 reads them).
#include "cli/consumer_groups.h"

#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/session_testing.h"

namespace cordwood::cli {
extern const Command consumer_groups_command;

namespace {

TEST(TopicArguments, HavePartitionsBehindAColon) {
  auto plain_topic = std::get<TopicArgument>(parse_topic_argument("orders"));
  EXPECT_EQ(plain_topic.topic, "orders");
  EXPECT_FALSE(plain_topic.partitions);
  auto some = std::get<TopicArgument>(parse_topic_argument("orders:0,2"));
  EXPECT_EQ(some.partitions, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(std::get<std::string>(parse_topic_argument("cg1:x")),
            "Invalid partition 'x' specified in topic arg 'cg1:x''");
}

TEST(ResetPlan, HasThreeColumnsForOneGroup) {
  std::vector<PlanLine> plan;
  EXPECT_FALSE(parse_reset_plan("cg1,0,7\n\"cg2\",1\n", true, plan));
  EXPECT_EQ(plan, (std::vector<PlanLine>{{"", {"cg1", 0}, 7}, {"", {"cg2", 1}, 0}}));
}

TEST(ResetPlan, HasFourColumnsOtherwise) {
  std::vector<PlanLine> plan;
  EXPECT_FALSE(parse_reset_plan("g1,cg1,0,7\ng2,cg1,1,8", true, plan));
  EXPECT_EQ(plan, (std::vector<PlanLine>{{"g1", {"cg1", 0}, 7}, {"g2", {"cg1", 1}, 8}}));
  plan.clear();
  EXPECT_FALSE(parse_reset_plan("cg1,x,0\n", true, plan));  // no partition: the group cg1, its topic x
  EXPECT_EQ(plan, (std::vector<PlanLine>{{"cg1", {"x", 0}, 0}}));
}

TEST(ResetPlan, TellsWhatItCannotRead) {
  std::vector<PlanLine> plan;
  auto empty = parse_reset_plan("", true, plan);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->message.starts_with("No content to map due to end-of-input\n at [Source:")) << empty->message;
  auto many = parse_reset_plan("g1,cg1,0,1,2", true, plan);
  ASSERT_TRUE(many);
  EXPECT_EQ(many->message,
            "Too many entries: expected at most 4 (value #4 (1 chars) \"2\")\n at [Source: (StringReader); line: 1, "
            "column: 12]");
  auto mixed = parse_reset_plan("cg1,0,1\ng1,cg1,1\n", true, plan);
  ASSERT_TRUE(mixed);
  EXPECT_TRUE(mixed->message.starts_with("Cannot deserialize value of type `int` from String \"cg1\""))
      << mixed->message;
}

std::string stderr_of(const Words& words) {
  TestSession test;
  EXPECT_EQ(consumer_groups_command.run(consumer_groups_command, words, test.session), 1);
  return test.err.text();
}

TEST(ConsumerGroups, RefusesWordsThatDoNotGoTogether) {
  struct Case {
    Words words;
    std::string_view begin;
  };
  const Case cases[] = {
      {{"--list"}, "Missing required argument \"[bootstrap-server]\"\n"},
      {{"--bootstrap-server", "a:1", "--describe"}, "Option [describe] takes one of these options: "},
      {{"--bootstrap-server", "a:1", "--list", "--group", "g"},
       "Option \"[group]\" can't be used with option \"[list]\"\n"},
      {{"--bootstrap-server", "a:1", "--delete", "--group", "g", "--state"},
       "Exception in thread \"main\" joptsimple.UnavailableOptionException: Option(s) [state] are unavailable"},
      {{"--bootstrap-server", "a:1", "--group", "g"}, "Command must include exactly one action: "},
      {{"--foo"},
       "Exception in thread \"main\" joptsimple.UnrecognizedOptionException: foo is not a recognized option\n"},
      {{"--bootstrap-server", "a:1", "--reset-offsets", "--to-latest"}, "WARN: No action will be performed"},
  };
  for (const Case& c : cases) {
    std::string text = stderr_of(c.words);
    EXPECT_TRUE(text.starts_with(c.begin)) << text;
  }
}

}  // namespace
}  // namespace cordwood::cli
