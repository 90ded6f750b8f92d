// Codes and texts were seen on Apache Kafka 4.4.0 with the same requests.
#include "broker/configs/alter_configs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "broker/metadata/features.h"

namespace cordwood::broker::configs {
namespace {

using metadata::ConfigValues;
using metadata::Image;
using metadata::ResourceType;
using protocol::ErrorCode;

constexpr std::int8_t kTopic = 2, kBroker = 4, kLogger = 8, kMetrics = 16, kGroup = 32;
constexpr std::int8_t kSet = 0, kDelete = 1, kAppend = 2, kSubtract = 3;
constexpr std::nullopt_t kNull = std::nullopt;

Image cluster() {
  Image image;
  for (const char* name : {"t1", "t2"}) {
    auto topic = std::make_shared<metadata::TopicState>();
    topic->name = name;
    image.topics[name] = topic;
  }
  image.features[std::string(metadata::kElrVersion)] = 1;
  image.configs[{ResourceType::broker, ""}] = {{"min.insync.replicas", "1"}};
  return image;
}

// "code text" with "-" for a null text, then the records as "name=value" or "-name".
std::string outcome_text(const ResourceOutcome& outcome) {
  std::string text = fmt::format("{} {}", protocol::to_wire(outcome.refusal.code), outcome.refusal.message.value_or("-"));
  for (const metadata::ConfigRecord& record : outcome.records) {
    text += record.value ? fmt::format(" [{}={}]", record.name, *record.value) : fmt::format(" [-{}]", record.name);
  }
  return text;
}

std::string incremental(const Image& image, std::int8_t type, const std::string& name, std::vector<ConfigChange> changes) {
  auto outcomes = decide_alter_configs(Config{}, image, {{type, name, std::move(changes)}}, Alteration::incremental);
  return outcome_text(outcomes.at(0));
}

std::string complete(const Image& image, std::int8_t type, const std::string& name, std::vector<ConfigChange> changes) {
  auto outcomes = decide_alter_configs(Config{}, image, {{type, name, std::move(changes)}}, Alteration::complete);
  return outcome_text(outcomes.at(0));
}

TEST(IncrementalAlterConfigs, AnswersAsKafkaDoes) {
  struct Case {
    std::int8_t type;
    const char* name;
    std::vector<ConfigChange> changes;
    const char* outcome;
  };
  const Case cases[] = {
      // Topics.
      {kTopic, "t1", {}, "0 -"},
      {kTopic, "t1", {{"retention.ms", kSet, "5"}}, "0 - [retention.ms=5]"},
      {kTopic, "t1", {{"retention.ms", kDelete, kNull}}, "0 -"},
      {kTopic, "t1", {{"unknown.x", kDelete, kNull}}, "0 -"},
      {kTopic, "t1", {{"cleanup.policy", kDelete, "x"}}, "0 -"},
      {kTopic, "t1", {{"cleanup.policy", kAppend, "compact"}}, "0 - [cleanup.policy=delete,compact]"},
      {kTopic, "t1", {{"cleanup.policy", kAppend, "delete"}}, "0 - [cleanup.policy=delete]"},
      {kTopic, "t1", {{"cleanup.policy", kAppend, "compact,compact"}}, "0 - [cleanup.policy=delete,compact]"},
      {kTopic, "t1", {{"cleanup.policy", kSubtract, "delete"}}, "0 - [cleanup.policy=]"},
      {kTopic, "t1", {{"cleanup.policy", kAppend, "foo"}},
       "40 Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"},
      {kTopic, "t1", {{"cleanup.policy", kAppend, ""}}, "40 Configuration 'cleanup.policy' values must not be empty."},
      {kTopic, "t1", {{"cleanup.policy", kSubtract, kNull}}, "42 Null value not supported for : cleanup.policy"},
      {kTopic, "t1", {{"retention.ms", kAppend, "1"}}, "40 Can't APPEND to key retention.ms because its type is not LIST."},
      {kTopic, "t1", {{"retention.ms", kSubtract, "1"}}, "40 Can't SUBTRACT to key retention.ms because its type is not LIST."},
      {kTopic, "t1", {{"unknown.x", kAppend, "1"}}, "40 Can't APPEND to key unknown.x because its type is not LIST."},
      {kTopic, "t1", {{"retention.ms", 9, "1"}}, "-1 -"},
      {kTopic, "t1", {{"retention.ms", -1, "1"}}, "-1 -"},
      {kTopic, "t1", {{"retention.ms", kSet, kNull}}, "42 Null value not supported for : retention.ms"},
      {kTopic, "t1", {{"retention.ms", kSet, kNull}, {"segment.ms", kSet, kNull}},
       "42 Null value not supported for : retention.ms, segment.ms"},
      {kTopic, "t1", {{"retention.ms", kSet, "1"}, {"retention.ms", kDelete, kNull}}, "42 Error due to duplicate config keys"},
      {kTopic, "t1", {{"retention.ms", kSet, "5"}, {"segment.bytes", kSet, "5"}},
       "40 Invalid value 5 for configuration segment.bytes: Value must be at least 1048576"},
      {kTopic, "t1", {{"zz", kSet, "1"}}, "40 Unknown topic config name: zz"},
      {kTopic, "t1", {{"remote.storage.enable", kSet, "true"}},
       "40 Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
      {kTopic, "t1", {{"min.insync.replicas", kSet, "2"}}, "0 - [min.insync.replicas=2]"},
      {kTopic, "nope", {{"retention.ms", kSet, "5"}}, "3 The topic 'nope' does not exist."},
      {kTopic, "nope", {}, "3 The topic 'nope' does not exist."},
      {kTopic, "nope", {{"zz", kSet, "1"}}, "40 Unknown topic config name: zz"},
      {kTopic, "__cluster_metadata", {{"retention.ms", kSet, "5"}}, "3 The topic '__cluster_metadata' does not exist."},
      {kTopic, "", {{"retention.ms", kSet, "5"}}, "42 Default topic resources are not allowed."},
      {kTopic, "", {{"retention.ms", 9, "5"}}, "-1 -"},
      {kTopic, "a b", {},
       "17 Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
      // Brokers.
      {kBroker, "1", {{"log.retention.ms", kSet, "7200000"}}, "0 - [log.retention.ms=7200000]"},
      {kBroker, "01", {{"log.retention.ms", kSet, "7200000"}}, "0 - [log.retention.ms=7200000]"},
      {kBroker, "", {{"log.retention.ms", kSet, "7200000"}}, "0 - [log.retention.ms=7200000]"},
      {kBroker, "1", {{"no.such", kSet, "1"}}, "0 - [no.such=1]"},
      {kBroker, "1", {{"log.dirs", kSet, "x"}}, "42 Cannot update these configs dynamically: [log.dirs]"},
      {kBroker, "1", {{"log.retention.hours", kDelete, kNull}}, "0 -"},
      {kBroker, "", {{"listeners", kSet, "PLAINTEXT://a:1"}},
       "42 Cannot update these configs at default cluster level, broker id must be specified: [listeners]"},
      {kBroker, "1", {{"log.retention.ms", kSet, "x"}},
       "42 Invalid value x for configuration log.retention.ms: Not a number of type LONG"},
      {kBroker, "1", {{"log.retention.ms", kSet, kNull}}, "42 Null value not supported for : log.retention.ms"},
      {kBroker, "1", {{"log.retention.ms", kAppend, "3"}},
       "40 Config value append is not allowed for config key: log.retention.ms"},
      {kBroker, "1", {{"log.retention.ms", 9, "3"}}, "42 Unknown operations type 9"},
      {kBroker, "1", {{"no.such", kAppend, "x"}}, "40 Unknown config name: no.such"},
      {kBroker, "1", {{"log.cleanup.policy", kAppend, "compact"}}, "0 - [log.cleanup.policy=delete,compact]"},
      {kBroker, "1", {{"log.cleanup.policy", kAppend, "foo"}},
       "42 Invalid value foo for configuration log.cleanup.policy: String must be one of: compact, delete"},
      {kBroker, "1", {{"min.insync.replicas", kSet, "2"}},
       "40 Broker-level min.insync.replicas cannot be altered while ELR is enabled."},
      {kBroker, "1", {{"min.insync.replicas", kDelete, kNull}},
       "40 Broker-level min.insync.replicas cannot be altered while ELR is enabled."},
      {kBroker, "", {{"min.insync.replicas", kDelete, kNull}},
       "40 Cluster-level min.insync.replicas cannot be removed while ELR is enabled."},
      {kBroker, "", {{"min.insync.replicas", kSet, "1"}}, "0 -"},
      {kBroker, "", {{"min.insync.replicas", kSet, "2"}}, "0 - [min.insync.replicas=2]"},
      {kBroker, "", {{"min.insync.replicas", kSet, "x"}},
       "42 Invalid value x for configuration min.insync.replicas: Not a number of type INT"},
      {kBroker, "9", {{"log.retention.ms", kSet, "5"}}, "42 Unexpected broker id, expected 1, but received 9"},
      {kBroker, "9", {{"log.dirs", kSet, "5"}}, "42 Unexpected broker id, expected 1, but received 9"},
      {kBroker, "abc", {{"log.retention.ms", kSet, "5"}}, "42 Node id must be an integer, but it is: abc"},
      // Groups and client metrics.
      {kGroup, "g", {{"consumer.session.timeout.ms", kSet, "50000"}}, "0 - [consumer.session.timeout.ms=50000]"},
      {kGroup, "g", {{"consumer.session.timeout.ms", kSet, "1"}},
       "40 consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
      {kGroup, "g", {{"x", kSet, "1"}}, "40 Unknown group config name: x"},
      {kGroup, "", {{"x", kSet, "1"}}, "42 Default group resources are not allowed."},
      {kGroup, "g", {{"streams.rack.aware.assignment.tags", kAppend, "1"}},
       "40 Can't APPEND to key streams.rack.aware.assignment.tags because its type is not LIST."},
      {kMetrics, "m", {{"interval.ms", kSet, "100"}}, "0 - [interval.ms=100]"},
      {kMetrics, "m", {{"interval.ms", kSet, "99"}},
       "42 Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
      {kMetrics, "m", {{"x", kSet, "1"}}, "42 Unknown client metrics configuration: x"},
      {kMetrics, "", {{"metrics", kSet, "1"}}, "42 Subscription name can't be empty"},
      {kMetrics, "m", {{"match", kAppend, "client_id=a"}}, "40 Can't APPEND to key match because its type is not LIST."},
      // Loggers are somebody else's, after the checks that all share.
      {kLogger, "1", {{"root", kSet, "FOO"}}, "0 -"},
      {kLogger, "1", {{"root", kSet, kNull}}, "42 Null value not supported for : root"},
      // Unknown types.
      {0, "x", {{"a", kSet, "b"}}, "42 Unknown resource type 0"},
      {1, "x", {}, "42 Unknown resource type 1"},
      {99, "x", {}, "42 Unknown resource type 99"},
      {-1, "x", {}, "42 Unknown resource type -1"},
      {0, "x", {{"a", kSet, kNull}}, "42 Null value not supported for : a"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(incremental(cluster(), test.type, test.name, test.changes), test.outcome)
        << int{test.type} << " '" << test.name << "'";
  }
}

TEST(IncrementalAlterConfigs, StartsFromWhatIsSet) {
  Image image = cluster();
  image.configs[{ResourceType::topic, "t1"}] = {{"cleanup.policy", " compact , delete "}, {"retention.ms", "5"}};
  EXPECT_EQ(incremental(image, kTopic, "t1", {{"cleanup.policy", kSubtract, "delete"}}), "0 -")
      << "elements are compared as they are written, blanks included";
  EXPECT_EQ(incremental(image, kTopic, "t1", {{"cleanup.policy", kSubtract, " delete "}}), "0 - [cleanup.policy= compact ]");
  EXPECT_EQ(incremental(image, kTopic, "t1", {{"retention.ms", kSet, "5"}}), "0 -") << "no change, no record";
  EXPECT_EQ(incremental(image, kTopic, "t1", {{"retention.ms", kDelete, kNull}}), "0 - [-retention.ms]");
  image.configs[{ResourceType::topic, "t1"}] = {{"min.compaction.lag.ms", "10"}};
  EXPECT_EQ(incremental(image, kTopic, "t1", {{"max.compaction.lag.ms", kSet, "5"}}),
            "40 conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)");
}

TEST(IncrementalAlterConfigs, WithoutElrLeavesMinInsyncReplicasFree) {
  Image image = cluster();
  image.features.clear();
  EXPECT_EQ(incremental(image, kBroker, "1", {{"min.insync.replicas", kSet, "2"}}), "0 - [min.insync.replicas=2]");
  EXPECT_EQ(incremental(image, kBroker, "", {{"min.insync.replicas", kDelete, kNull}}), "0 - [-min.insync.replicas]");
}

TEST(IncrementalAlterConfigs, KeepsTheResourcesOfARequestApart) {
  auto outcomes = decide_alter_configs(Config{}, cluster(),
                                       {{kTopic, "t1", {}},
                                        {kTopic, "t2", {{"retention.ms", kSet, "5"}}},
                                        {kTopic, "t1", {{"retention.ms", kSet, "5"}}},
                                        {kTopic, "nope", {{"retention.ms", kSet, "5"}}}},
                                       Alteration::incremental);
  ASSERT_EQ(outcomes.size(), 4u);
  EXPECT_EQ(outcome_text(outcomes[0]), "42 Each resource must appear at most once.");
  EXPECT_EQ(outcome_text(outcomes[1]), "0 - [retention.ms=5]");
  EXPECT_EQ(outcome_text(outcomes[2]), "42 Each resource must appear at most once.");
  EXPECT_EQ(outcome_text(outcomes[3]), "3 The topic 'nope' does not exist.");
  EXPECT_EQ(outcomes[1].records[0].resource_type, kTopic);
  EXPECT_EQ(outcomes[1].records[0].resource_name, "t2");
}

TEST(AlterConfigs, ReplacesEverything) {
  Image image = cluster();
  image.configs[{ResourceType::topic, "t1"}] = {{"retention.ms", "5"}, {"segment.ms", "6"}};
  EXPECT_EQ(complete(image, kTopic, "t1", {{"segment.ms", 0, "6"}, {"flush.ms", 0, "7"}}),
            "0 - [flush.ms=7] [-retention.ms]");
  EXPECT_EQ(complete(image, kTopic, "t1", {}), "0 - [-retention.ms] [-segment.ms]");
  EXPECT_EQ(complete(image, kTopic, "t1", {{"retention.ms", 0, kNull}}), "42 Null value not supported for : retention.ms");
  EXPECT_EQ(complete(image, kTopic, "t1", {{"retention.ms", 1, kNull}}), "42 Null value not supported for : retention.ms");
  EXPECT_EQ(complete(image, kTopic, "t1", {{"retention.ms", 0, "x"}}),
            "40 Invalid value x for configuration retention.ms: Not a number of type LONG");
  EXPECT_EQ(complete(image, kTopic, "t1", {{"zz", 0, "x"}}), "40 Unknown topic config name: zz");
  EXPECT_EQ(complete(image, kTopic, "t1", {{"a", 0, "1"}, {"a", 0, "2"}}), "42 Error due to duplicate config keys");
  EXPECT_EQ(complete(image, kTopic, "nope", {}), "3 The topic 'nope' does not exist.");
  EXPECT_EQ(complete(image, kTopic, "", {}), "42 Default topic resources are not allowed.");
  EXPECT_EQ(complete(image, kBroker, "", {}), "40 Cluster-level min.insync.replicas cannot be removed while ELR is enabled.");
  EXPECT_EQ(complete(image, kBroker, "", {{"min.insync.replicas", 0, "1"}}), "0 -");
  EXPECT_EQ(complete(image, kBroker, "1", {}), "0 -");
  EXPECT_EQ(complete(image, kBroker, "1", {{"log.dirs", 0, "x"}}), "42 Cannot update these configs dynamically: [log.dirs]");
  EXPECT_EQ(complete(image, kBroker, "9", {}), "42 Unexpected broker id, expected 1, but received 9");
  EXPECT_EQ(complete(image, kLogger, "1", {{"root", 0, "INFO"}}), "42 Unknown resource type 8");
  EXPECT_EQ(complete(image, kGroup, "g", {{"consumer.session.timeout.ms", 0, "1"}}),
            "40 consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.");
  EXPECT_EQ(complete(image, 1, "x", {}), "42 Unknown resource type 1");
}

}  // namespace
}  // namespace cordwood::broker::configs
