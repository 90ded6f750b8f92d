// Settings of clients, and the log lines of clients that reach nobody (seen on Kafka 4.4.0).
#include "cli/admin_client.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/session_testing.h"

namespace cordwood::cli {
namespace {

TEST(ClusterOptions, ComeFromProperties) {
  auto options = cluster_options({{"client.id", "x"}, {"request.timeout.ms", "5"}, {"retry.backoff.ms", "6"}, {"client.id", "me"}});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->client_id, "me");
  EXPECT_EQ(options->request_timeout.value, 5);
  EXPECT_EQ(options->retry_backoff.value, 6);
  EXPECT_EQ(options->api_timeout.value, 60'000);
}

TEST(ClusterOptions, NameWhatIsWrong) {
  auto options = cluster_options({{"request.timeout.ms", "soon"}});
  ASSERT_FALSE(options.has_value());
  EXPECT_EQ(options.error().what, "Invalid value soon for configuration request.timeout.ms: Not a number of type INT");
  EXPECT_FALSE(cluster_options({{"retry.backoff.ms", "-1"}}).has_value());
  EXPECT_FALSE(cluster_options({{"request.timeout.ms", "2147483648"}}).has_value());
  EXPECT_EQ(cluster_options({{"security.protocol", "SSL"}}).error().code, Errc::unsupported);
}

TEST(ConnectionLog, SpeaksAsKafkasClients) {
  TestSession test;
  ConnectionLog log(test.session, "Producer clientId=p", ConnectionLog::Bootstrap::told);
  log.cannot_connect({-1, "localhost", 9, {}}, "localhost/127.0.0.1:9");
  log.cannot_connect({3, "localhost", 9, {}}, "localhost/127.0.0.1:9");
  std::string text = test.err.text();
  EXPECT_NE(text.find("] WARN [Producer clientId=p] Connection to node -1 (localhost/127.0.0.1:9) could not be established. Node "
                      "may not be available. (org.apache.kafka.clients.NetworkClient)\n"),
            std::string::npos) << text;
  EXPECT_NE(text.find("] WARN [Producer clientId=p] Bootstrap broker localhost:9 (id: -1 rack: null isFenced: false) disconnected "
                      "(org.apache.kafka.clients.NetworkClient)\n"),
            std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

TEST(PropertiesFile, ThatIsMissingIsNamed) {
  TestSession test;
  auto properties = read_properties_file(test.session, "none.properties");
  ASSERT_FALSE(properties.has_value());
  EXPECT_EQ(properties.error().code, Errc::not_found);
  EXPECT_EQ(properties.error().what, "none.properties");
}

}  // namespace
}  // namespace cordwood::cli
