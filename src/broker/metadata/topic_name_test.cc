#include "broker/metadata/topic_name.h"

#include <gtest/gtest.h>

namespace cordwood::broker::metadata {
namespace {

TEST(TopicName, SaysWhatIsWrongAsKafkaDoes) {
  const std::string longest(249, 'a');
  const std::string too_long(250, 'a');
  const std::string foreign =
      "Topic name is invalid: '{}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'";
  struct Case {
    std::string name;
    std::optional<std::string> fault;
  };
  const Case cases[] = {
      {"orders", std::nullopt},
      {"a.b_c-D9", std::nullopt},
      {"...", std::nullopt},
      {"__consumer_offsets", std::nullopt},
      {longest, std::nullopt},
      {"", "Topic name is invalid: the empty string is not allowed"},
      {".", "Topic name is invalid: '.' is not allowed"},
      {"..", "Topic name is invalid: '..' is not allowed"},
      {too_long, "Topic name is invalid: the length of '" + too_long + "' is longer than the max allowed length 249"},
      {"a b", "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
      {"a/b", "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
      {"é", "Topic name is invalid: 'é' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
      {"a\n", "Topic name is invalid: 'a\n' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
  };
  for (const Case& c : cases) EXPECT_EQ(topic_name_fault(c.name), c.fault) << c.name;
}

TEST(TopicName, CountsCharactersAndNotBytes) {
  std::string name;
  for (int i = 0; i < 249; ++i) name += "é";
  EXPECT_NE(topic_name_fault(name)->find("other than ASCII"), std::string::npos);
}

TEST(TopicName, CollidesByDotAndUnderscore) {
  EXPECT_EQ(collision_key("a.b"), collision_key("a_b"));
  EXPECT_NE(collision_key("a.b"), collision_key("a-b"));
}

TEST(TopicName, KnowsTheInternalOnes) {
  for (const char* name : {"__consumer_offsets", "__transaction_state", "__share_group_state"}) {
    EXPECT_TRUE(is_internal_topic(name)) << name;
  }
  for (const char* name : {"__cluster_metadata", "orders", "__x", ""}) EXPECT_FALSE(is_internal_topic(name)) << name;
}

}  // namespace
}  // namespace cordwood::broker::metadata
