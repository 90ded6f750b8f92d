// Hashes and the order of maps, as Java 17 and Kafka 4.4.0 have them.
#include "client/java_order.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cordwood::client {
namespace {

TEST(JavaHash, IsThatOfStrings) {
  EXPECT_EQ(java_hash_code(""), 0);
  EXPECT_EQ(java_hash_code("abc"), 96354);
  EXPECT_EQ(java_hash_code("console-consumer-1821"), java_hash_code(std::string("console-consumer-1821")));
  EXPECT_EQ(java_hash_code("é"), 233);
  EXPECT_EQ(java_hash_code("😀"), 31 * 0xd83d + 0xde00);
}

TEST(JavaHash, OrdersMaps) {
  using Partition = std::pair<std::string, std::int32_t>;
  auto of_partition = [](const Partition& p) { return java_hash_code(p.first, p.second); };
  std::vector<Partition> partitions{{"cg1", 0}, {"cg1", 1}, {"cg1", 2}, {"cg2", 0}};
  EXPECT_EQ(in_java_order(partitions, of_partition),
            (std::vector<Partition>{{"cg1", 1}, {"cg1", 2}, {"cg2", 0}, {"cg1", 0}}));
  std::vector<std::string> groups{"console-consumer-1821", "g1", "g2", "gnew", "greb"};
  auto of_text = [](const std::string& text) { return java_hash_code(text); };
  EXPECT_EQ(in_java_order(groups, of_text),
            (std::vector<std::string>{"greb", "gnew", "g1", "g2", "console-consumer-1821"}));
  EXPECT_EQ(java_table_place(31, java_table_size(12, 16)), 15U);
  EXPECT_EQ(java_table_place(31, java_table_size(13, 16)), 31U);  // thirteen entries are too many for sixteen places
}

TEST(JavaOrder, IsThatOfJavasMaps) {
  // Computed by Java 17.
  EXPECT_EQ(java_hash_code("orders"), -1008770331);
  EXPECT_EQ(java_hash_code(""), 0);
  EXPECT_EQ(java_hash_code("é"), 233);
  EXPECT_EQ(java_table_size(12, 16), 16U);
  EXPECT_EQ(java_table_size(13, 16), 32U);
  EXPECT_EQ(java_table_size(4, 4), 8U);
  // kafka-topics --describe of these on Kafka 4.4.0.
  std::vector<std::string> names = {"conf", "defaults", "manual", "my_topic.v1", "orders"};
  auto hash = [](const std::string& name) { return java_hash_code(name); };
  order_as_java(names, hash);
  order_as_java(names, hash, names.size());
  EXPECT_EQ(names, (std::vector<std::string>{"conf", "orders", "defaults", "manual", "my_topic.v1"}));
}

}  // namespace
}  // namespace cordwood::client
