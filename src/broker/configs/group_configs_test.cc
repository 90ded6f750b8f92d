// Expected values, orders and texts were seen on Apache Kafka 4.4.0.
#include "broker/configs/group_configs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cordwood::broker::configs {
namespace {

using metadata::ConfigValues;
using metadata::Image;

std::string entry_text(const ConfigEntry& entry) {
  std::string text = fmt::format("{}={} source {} type {}", entry.name, entry.value.value_or("null"),
                                 static_cast<int>(entry.source), static_cast<int>(entry.type));
  for (const ConfigSynonym& synonym : entry.synonyms) {
    text += fmt::format(" {}:{}={}", static_cast<int>(synonym.source), synonym.name, synonym.value.value_or("null"));
  }
  return text;
}

TEST(DescribeGroupConfigs, OfAnyNameAreKafkas) {
  const char* expected[] = {
      "consumer.session.timeout.ms=45000 source 5 type 3 5:group.consumer.session.timeout.ms=45000",
      "streams.assignor.name=sticky source 5 type 2 5:group.streams.assignors=sticky",
      "consumer.assignment.interval.ms=1000 source 5 type 3 5:group.consumer.assignment.interval.ms=1000",
      "errors.deadletterqueue.copy.record.enable=false source 5 type 1 5:errors.deadletterqueue.copy.record.enable=false",
      "share.auto.offset.reset=latest source 5 type 2 5:share.auto.offset.reset=latest",
      "streams.rack.aware.assignment.tags= source 5 type 7 5:group.streams.rack.aware.assignment.tags=",
      "share.renew.acknowledge.enable=true source 5 type 1 5:share.renew.acknowledge.enable=true",
      "streams.initial.rebalance.delay.ms=3000 source 5 type 3 5:group.streams.initial.rebalance.delay.ms=3000",
      "share.session.timeout.ms=45000 source 5 type 3 5:group.share.session.timeout.ms=45000",
      "streams.assignment.interval.ms=1000 source 5 type 3 5:group.streams.assignment.interval.ms=1000",
      "share.heartbeat.interval.ms=5000 source 5 type 3 5:group.share.heartbeat.interval.ms=5000",
      "streams.heartbeat.interval.ms=5000 source 5 type 3 5:group.streams.heartbeat.interval.ms=5000",
      "share.delivery.count.limit=5 source 5 type 3 5:group.share.delivery.count.limit=5",
      "errors.deadletterqueue.topic.name= source 5 type 2 5:errors.deadletterqueue.topic.name=",
      "consumer.heartbeat.interval.ms=5000 source 5 type 3 5:group.consumer.heartbeat.interval.ms=5000",
      "share.record.lock.duration.ms=30000 source 5 type 3 5:group.share.record.lock.duration.ms=30000",
      "share.assignment.interval.ms=1000 source 5 type 3 5:group.share.assignment.interval.ms=1000",
      "share.isolation.level=read_uncommitted source 5 type 2 5:share.isolation.level=read_uncommitted",
      "streams.session.timeout.ms=45000 source 5 type 3 5:group.streams.session.timeout.ms=45000",
      "share.partition.max.record.locks=2000 source 5 type 3 5:group.share.partition.max.record.locks=2000",
      "streams.num.standby.replicas=0 source 5 type 3 5:group.streams.num.standby.replicas=0",
  };
  auto entries = describe_group_configs(Config{}, Image{}, {});
  ASSERT_EQ(entries.size(), std::size(expected));
  for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(entry_text(entries[i]), expected[i]);
}

TEST(DescribeGroupConfigs, ShowOwnAndStaticValues) {
  Config config;
  config.given["group.consumer.session.timeout.ms"] = "46000";
  auto entries = describe_group_configs(config, Image{}, {{"consumer.session.timeout.ms", " 50000 "},
                                                          {"consumer.assignor.offload.enable", "false"}});
  ASSERT_EQ(entries.size(), 22u);
  std::vector<std::string> texts;
  for (const ConfigEntry& entry : entries) texts.push_back(entry_text(entry));
  EXPECT_EQ(std::ranges::count(texts, "consumer.session.timeout.ms=50000 source 8 type 3 8:consumer.session.timeout.ms=50000 "
                                      "4:group.consumer.session.timeout.ms=46000 5:group.consumer.session.timeout.ms=45000"),
            1);
  EXPECT_EQ(std::ranges::count(texts, "consumer.assignor.offload.enable=false source 8 type 1 "
                                      "8:consumer.assignor.offload.enable=false "
                                      "5:group.consumer.assignor.offload.enable=true"),
            1);
}

TEST(DescribeClientMetricsConfigs, OfAnyNameAreKafkas) {
  std::vector<std::string> texts;
  for (const ConfigEntry& entry : describe_client_metrics_configs({})) texts.push_back(entry_text(entry));
  EXPECT_EQ(texts, (std::vector<std::string>{"interval.ms=300000 source 5 type 3", "match= source 5 type 7",
                                             "metrics= source 5 type 7"}));
  texts.clear();
  for (const ConfigEntry& entry : describe_client_metrics_configs({{"interval.ms", "100"}, {"match", "client_id=a"}})) {
    texts.push_back(entry_text(entry));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"interval.ms=100 source 7 type 3 7:interval.ms=100",
                                             "match=client_id=a source 7 type 7 7:match=client_id=a",
                                             "metrics= source 5 type 7"}));
}

TEST(ValidateGroupConfigs, AnswersInKafkasWords) {
  struct Case {
    const char* key;
    const char* value;
    const char* fault;  // "": none
  };
  const Case cases[] = {
      {"consumer.session.timeout.ms", "1", "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
      {"consumer.session.timeout.ms", "45000", ""},
      {"consumer.session.timeout.ms", "60001", "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
      {"consumer.session.timeout.ms", "x",
       "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT"},
      {"consumer.heartbeat.interval.ms", "15001", "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive."},
      {"consumer.heartbeat.interval.ms", "0",
       "Invalid value 0 for configuration consumer.heartbeat.interval.ms: Value must be at least 1"},
      {"consumer.assignment.interval.ms", "999999", "consumer.assignment.interval.ms must be in the range 0 to 15000 inclusive."},
      {"share.session.timeout.ms", "70000", "share.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
      {"share.heartbeat.interval.ms", "1", "share.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive."},
      {"share.record.lock.duration.ms", "1000", "share.record.lock.duration.ms must be in the range 15000 to 60000 inclusive."},
      {"share.delivery.count.limit", "100", "share.delivery.count.limit must be in the range 2 to 10 inclusive."},
      {"share.partition.max.record.locks", "99999", "share.partition.max.record.locks must be in the range 100 to 4000 inclusive."},
      {"share.assignment.interval.ms", "99999", "share.assignment.interval.ms must be in the range 0 to 15000 inclusive."},
      {"streams.session.timeout.ms", "1", "streams.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
      {"streams.heartbeat.interval.ms", "1", "streams.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive."},
      {"streams.num.standby.replicas", "5", "streams.num.standby.replicas must be less than or equal to 2"},
      {"streams.initial.rebalance.delay.ms", "999999999", ""},
      {"streams.assignment.interval.ms", "99999", "streams.assignment.interval.ms must be in the range 0 to 15000 inclusive."},
      {"streams.task.offset.interval.ms", "1", "streams.task.offset.interval.ms must be greater than or equal to 15000"},
      {"streams.num.warmup.replicas", "100", "streams.num.warmup.replicas must be less than or equal to 20"},
      {"streams.rack.aware.assignment.tags", "a,a", "streams.rack.aware.assignment.tags must not contain duplicate tag keys."},
      {"streams.rack.aware.assignment.tags", "a,b", ""},
      {"streams.assignor.name", "foo",
       "streams.assignor.name 'foo' is not a registered task assignor. Registered assignors are: [sticky]."},
      {"streams.assignor.name", "sticky", ""},
      {"errors.deadletterqueue.topic.name", "__x", "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"},
      {"errors.deadletterqueue.topic.name", "a b", ""},
      {"x", "1", "Unknown group config name: x"},
      {"consumer.assignor.offload.enable", "false", ""},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(validate_group_configs(Config{}, Image{}, {{test.key, test.value}}).value_or(""), test.fault)
        << test.key << "=" << test.value;
  }
}

TEST(ValidateGroupConfigs, WantsSessionsLongerThanHeartbeats) {
  Config config;
  config.given = {{"group.consumer.min.session.timeout.ms", "1000"}};
  EXPECT_EQ(validate_group_configs(config, Image{}, {{"consumer.session.timeout.ms", "5000"}}),
            "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms");
  EXPECT_EQ(validate_group_configs(config, Image{}, {{"consumer.session.timeout.ms", "5001"}}), std::nullopt);
}

TEST(ValidateClientMetricsConfigs, AnswersInKafkasWords) {
  struct Case {
    const char* key;
    const char* value;
    int code;
    const char* fault;
  };
  const Case cases[] = {
      {"interval.ms", "x", 40, "Invalid value x for configuration interval.ms: Not a number of type INT"},
      {"interval.ms", "99", 42, "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
      {"interval.ms", "3600001", 42, "Invalid value 3600001 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
      {"interval.ms", "100", 0, ""},
      {"match", "foo", 40, "Illegal client matching pattern: foo"},
      {"match", "client_id=[", 40, "Illegal client matching pattern: client_id=["},
      {"match", "client_id=(a", 40, "Illegal client matching pattern: client_id=(a"},
      {"match", "client_id=a)", 40, "Illegal client matching pattern: client_id=a)"},
      {"match", "client_id=*a", 40, "Illegal client matching pattern: client_id=*a"},
      {"match", "client_id=a\\", 40, "Illegal client matching pattern: client_id=a\\"},
      {"match", "foo=a", 40, "Illegal client matching pattern: foo=a"},
      {"match", "client_id=a(?:b|[c(])*\\(, client_software_name=.*", 0, ""},
      {"metrics", "a.", 0, ""},
      {"metrics", "*", 0, ""},
      {"metrics", "", 0, ""},
      {"metrics", "a,,b", 40, "Configuration 'metrics' values must not be empty."},
      {"x", "1", 42, "Unknown client metrics configuration: x"},
  };
  for (const Case& test : cases) {
    auto fault = validate_client_metrics_configs({{test.key, test.value}});
    EXPECT_EQ(fault ? protocol::to_wire(fault->code) : 0, test.code) << test.key << "=" << test.value;
    EXPECT_EQ(fault ? fault->message : "", test.fault) << test.key << "=" << test.value;
  }
}

}  // namespace
}  // namespace cordwood::broker::configs
