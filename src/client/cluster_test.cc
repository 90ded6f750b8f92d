// What a cluster client reads and how it gives up; conversations with a broker are in tests of the commands.
#include "client/cluster.h"

#include <gtest/gtest.h>

namespace cordwood::client {
namespace {

TEST(BootstrapServers, AreHostAndPort) {
  auto servers = parse_bootstrap_servers(" a:1, PLAINTEXT://b.c:65535,[::1]:9092,,");
  ASSERT_TRUE(servers.has_value());
  EXPECT_EQ(*servers, (std::vector<HostPort>{{"a", 1}, {"b.c", 65535}, {"::1", 9092}}));
}

TEST(BootstrapServers, AreRefusedInKafkasWords) {
  for (const char* text : {"localhost", "a:", ":9092", "a:65536", "a:-1", "a:9x", "::1:9092"}) {
    auto servers = parse_bootstrap_servers(text);
    ASSERT_FALSE(servers.has_value()) << text;
    EXPECT_EQ(servers.error().what, std::string("Invalid url in bootstrap.servers: ") + text);
  }
  for (const char* text : {"", ",", " , "}) {
    auto servers = parse_bootstrap_servers(text);
    ASSERT_FALSE(servers.has_value());
    EXPECT_EQ(servers.error().what, "No resolvable bootstrap urls given in bootstrap.servers");
  }
}

TEST(Failures, HaveJavasNames) {
  EXPECT_EQ(to_java(failure_of(protocol::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)),
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this "
            "topic-partition.");
  EXPECT_EQ(java_class_of(protocol::ErrorCode::INVALID_RECORD), "org.apache.kafka.common.InvalidRecordException");
  EXPECT_EQ(failure_of(protocol::ErrorCode::INVALID_REQUEST, std::optional<std::string>("why")).message, "why");
  // A code of a later version.
  EXPECT_EQ(java_class_of(static_cast<protocol::ErrorCode>(9999)), "org.apache.kafka.common.errors.UnknownServerException");
}

class Told final : public ClusterListener {
 public:
  void cannot_connect(const Node& node, const std::string& address) override {
    lines.push_back(fmt::format("{} {}", node.id, address));
  }
  void unresolvable(const HostPort& server) override { lines.push_back(server.to_string()); }
  std::vector<std::string> lines;
};

TEST(Cluster, TriesAnUnreachableBrokerUntilTheTimeIsOver) {
  ManualClock clock;
  Told told;
  std::vector<std::int64_t> pauses;
  ClusterOptions options;
  options.bootstrap = {{"127.0.0.1", 1}};  // nobody listens on tcpmux
  options.api_timeout = {1'000};
  options.pause = [&](DurationMs wait) {
    pauses.push_back(wait.value);
    clock.advance(wait);
    return true;
  };
  Cluster cluster(options, clock, told);
  auto link = cluster.any("listTopics", cluster.deadline());
  ASSERT_FALSE(link);
  EXPECT_EQ(link.failure(), (Failure{protocol::ErrorCode::REQUEST_TIMED_OUT,
                                     "Timed out waiting for a node assignment. Call: listTopics"}));
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{50, 100, 200, 400, 250}));
  EXPECT_EQ(told.lines, std::vector<std::string>(5, "-1 /127.0.0.1:1"));
}

TEST(Cluster, TellsTimesAndTriesOfACallThatIsGivenUp) {
  ManualClock clock;
  Told told;
  ClusterOptions options;
  options.bootstrap = {{"127.0.0.1", 1}};
  options.api_timeout = {1'000};
  options.pause = [&](DurationMs wait) {
    clock.advance(wait);
    return true;
  };
  Cluster cluster(options, clock, told);
  const MonotonicNs deadline = cluster.deadline();
  EXPECT_TRUE(cluster.back_off(0, "x(api=METADATA)", deadline));
  clock.advance({850});
  auto over = cluster.back_off(3, "x(api=METADATA)", deadline);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.failure().message, "Call(callName=x(api=METADATA), deadlineMs=1700000001000, tries=4, nextAllowedTryMs=1700000001800) timed out at "
                                    "1700000001000 after 4 attempt(s)");
}

TEST(Cluster, EndsEarlyWhenTheUserWantsTo) {
  ManualClock clock;
  Told told;
  ClusterOptions options;
  options.bootstrap = {{"127.0.0.1", 1}};
  options.pause = [](DurationMs) { return false; };
  Cluster cluster(options, clock, told);
  EXPECT_FALSE(cluster.any("x", cluster.deadline()));
  EXPECT_EQ(told.lines.size(), 1u);
}

}  // namespace
}  // namespace cordwood::client
