// DescribeConfigs, AlterConfigs and IncrementalAlterConfigs over a whole broker. The rules themselves have their tests in
// broker/configs; codes and texts here were seen on Apache Kafka 4.4.0.
#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "protocol/messages/alter_configs.h"
#include "protocol/messages/describe_configs.h"
#include "protocol/messages/incremental_alter_configs.h"
#include "protocol/messages/list_config_resources.h"

namespace cordwood::broker {
namespace {

using protocol::AlterConfigsRequest;
using protocol::AlterConfigsResponse;
using protocol::DescribeConfigsRequest;
using protocol::DescribeConfigsResponse;
using protocol::ErrorCode;
using protocol::IncrementalAlterConfigsRequest;
using protocol::IncrementalAlterConfigsResponse;

constexpr std::int8_t kTopic = 2, kBroker = 4, kLogger = 8, kMetrics = 16, kGroup = 32;
constexpr std::int16_t kDescribeVersion = 4, kIncrementalVersion = 1, kAlterVersion = 2;

class ConfigHandlersTest : public ::testing::Test {
 protected:
  ConfigHandlersTest() { broker_.create_topic("orders"); }

  DescribeConfigsResponse::Result describe(std::int8_t type, const std::string& name,
                                           std::optional<std::vector<std::string>> keys = std::nullopt,
                                           bool synonyms = false, std::int16_t version = kDescribeVersion) {
    DescribeConfigsRequest request;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = type;
    resource.resource_name = name;
    resource.configuration_keys = std::move(keys);
    request.include_synonyms = synonyms;
    return broker_.call<DescribeConfigsResponse>(request, version)->results.at(0);
  }
  std::string value_of(std::int8_t type, const std::string& name, const std::string& key) {
    auto result = describe(type, name, std::vector<std::string>{key});
    if (result.configs.size() != 1) return "no entry";
    return result.configs[0].value.value_or("null");
  }
  // "code text", "-" for a null text.
  static std::string text(ErrorCode code, const std::optional<std::string>& message) {
    return fmt::format("{} {}", protocol::to_wire(code), message.value_or("-"));
  }
  std::string fault_of(std::int8_t type, const std::string& name) {
    auto result = describe(type, name);
    return text(result.error_code, result.error_message);
  }

  static IncrementalAlterConfigsRequest setting(std::int8_t type, const std::string& name, const std::string& key,
                                                std::optional<std::string> value, std::int8_t operation = 0) {
    IncrementalAlterConfigsRequest request;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = type;
    resource.resource_name = name;
    auto& config = resource.configs.emplace_back();
    config.name = key;
    config.value = std::move(value);
    config.config_operation = operation;
    return request;
  }
  std::string outcome_of(const IncrementalAlterConfigsRequest& request) {
    auto answer = broker_.call<IncrementalAlterConfigsResponse>(request, kIncrementalVersion);
    return text(answer->responses.at(0).error_code, answer->responses.at(0).error_message);
  }

  TestBroker broker_;
};

TEST_F(ConfigHandlersTest, ListsTheResourcesOfEachType) {
  const auto list = [&](std::vector<std::int8_t> types, std::int16_t version = 1) {
    protocol::ListConfigResourcesRequest request;
    request.resource_types = std::move(types);
    const auto answer = broker_.call<protocol::ListConfigResourcesResponse>(request, version);
    std::string all = std::to_string(protocol::to_wire(answer->error_code));
    for (const auto& listed : answer->config_resources) all += fmt::format(" {}:{}", listed.resource_type, listed.resource_name);
    return all;
  };
  EXPECT_EQ(list({}), "0 8:1 4:1 2:orders");
  EXPECT_EQ(list({}, 0), "0");
  EXPECT_EQ(outcome_of(setting(kGroup, "readers", "consumer.session.timeout.ms", "50000")), "0 -");
  EXPECT_EQ(outcome_of(setting(kMetrics, "pushes", "interval.ms", "5000")), "0 -");
  EXPECT_EQ(list({}), "0 32:readers 16:pushes 8:1 4:1 2:orders");
  EXPECT_EQ(list({kTopic, kGroup, kTopic}), "0 32:readers 2:orders");
  EXPECT_EQ(list({}, 0), "0 16:pushes");
  for (const int none : {0, -1, 1, 3, 64, 99}) EXPECT_EQ(list({kTopic, static_cast<std::int8_t>(none)}), "35");
}

TEST_F(ConfigHandlersTest, DescribesEveryKindOfResource) {
  auto topic = describe(kTopic, "orders");
  EXPECT_EQ(topic.error_code, ErrorCode::NONE);
  EXPECT_EQ(topic.error_message, "");
  EXPECT_EQ(topic.configs.size(), 37u);
  EXPECT_EQ(topic.configs[0].name, "compression.type");
  EXPECT_EQ(topic.configs[0].config_type, 2);
  EXPECT_TRUE(topic.configs[0].synonyms.empty());
  EXPECT_GE(describe(kBroker, "1").configs.size(), 350u);
  EXPECT_EQ(describe(kGroup, "any").configs.size(), 21u);
  EXPECT_EQ(describe(kMetrics, "any").configs.size(), 3u);
  EXPECT_EQ(outcome_of(setting(kBroker, "", "log.retention.ms", "5")), "0 -");
  auto defaults = describe(kBroker, "", std::vector<std::string>{"log.retention.ms"});
  ASSERT_EQ(defaults.configs.size(), 1u);
  EXPECT_EQ(defaults.configs[0].value, "5");
  EXPECT_EQ(defaults.configs[0].config_source, 3);
  auto loggers = describe(kLogger, "1");
  ASSERT_EQ(loggers.configs.size(), 1u);
  EXPECT_EQ(loggers.configs[0].name, "root");
  EXPECT_EQ(loggers.configs[0].config_source, 6);
}

TEST_F(ConfigHandlersTest, NamesWhatItCannotDescribe) {
  EXPECT_EQ(fault_of(kTopic, "nope"), "3 ");
  EXPECT_EQ(fault_of(kTopic, ""), "17 Topic name is invalid: the empty string is not allowed");
  EXPECT_EQ(fault_of(kBroker, "9"), "42 Unexpected broker id, expected 1 or empty string, but received 9");
  EXPECT_EQ(fault_of(kBroker, "abc"), "42 Broker id must be an integer, but it is: abc");
  EXPECT_EQ(fault_of(kBroker, "01"), "0 ");
  EXPECT_EQ(fault_of(kLogger, "9"), "42 Unexpected broker id, expected 1 but received 9");
  EXPECT_EQ(fault_of(kLogger, ""), "42 Broker id must not be empty");
  EXPECT_EQ(fault_of(kGroup, ""), "42 Group name must not be empty");
  EXPECT_EQ(fault_of(kMetrics, ""), "42 Client metrics subscription name must not be empty");
  for (std::int8_t type : {0, 1, 3, 64, 99, -1}) {
    EXPECT_TRUE(fault_of(type, "x").starts_with("42 This most likely occurs because of a request being malformed")) << int{type};
  }
}

TEST_F(ConfigHandlersTest, GivesTheKeysThatWereAskedFor) {
  auto some = describe(kTopic, "orders", std::vector<std::string>{"retention.ms", "nope"}, true);
  ASSERT_EQ(some.configs.size(), 1u);
  EXPECT_EQ(some.configs[0].value, "604800000");
  EXPECT_EQ(describe(kTopic, "orders", std::vector<std::string>{}).configs.size(), 37u);
  auto with_synonyms = describe(kTopic, "orders", std::vector<std::string>{"segment.bytes"}, true);
  ASSERT_EQ(with_synonyms.configs.at(0).synonyms.size(), 1u);
  EXPECT_EQ(with_synonyms.configs[0].synonyms[0].name, "log.segment.bytes");
}

TEST_F(ConfigHandlersTest, AnswersEveryVersion) {
  for (std::int16_t version = 1; version <= 4; ++version) {
    auto result = describe(kTopic, "orders", std::vector<std::string>{"retention.ms"}, true, version);
    ASSERT_EQ(result.configs.size(), 1u) << version;
    EXPECT_EQ(result.configs[0].config_source, 5) << version;
    EXPECT_EQ(result.configs[0].config_type, version >= 3 ? 5 : 0) << version;
    EXPECT_EQ(result.configs[0].documentation, std::nullopt) << version;
  }
}

TEST_F(ConfigHandlersTest, AChangeReachesTheLogAndSurvivesARestart) {
  EXPECT_EQ(outcome_of(setting(kTopic, "orders", "segment.bytes", "1048576")), "0 -");
  EXPECT_EQ(value_of(kTopic, "orders", "segment.bytes"), "1048576");
  auto log = broker_->logs().find({"orders", PartitionId{0}});
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->config().segment_bytes, ByteCount{1048576});
  broker_.restart();
  EXPECT_EQ(value_of(kTopic, "orders", "segment.bytes"), "1048576");
  EXPECT_EQ(broker_->logs().find({"orders", PartitionId{0}})->config().segment_bytes, ByteCount{1048576});
  EXPECT_EQ(outcome_of(setting(kTopic, "orders", "segment.bytes", std::nullopt, 1)), "0 -");
  EXPECT_EQ(value_of(kTopic, "orders", "segment.bytes"), "1073741824");
  EXPECT_EQ(broker_->logs().find({"orders", PartitionId{0}})->config().segment_bytes, ByteCount{1 * GiB});
}

TEST_F(ConfigHandlersTest, ADynamicBrokerSettingReachesEveryTopic) {
  EXPECT_EQ(outcome_of(setting(kBroker, "", "log.segment.bytes", "2000000")), "0 -");
  EXPECT_EQ(value_of(kTopic, "orders", "segment.bytes"), "2000000");
  EXPECT_EQ(broker_->logs().find({"orders", PartitionId{0}})->config().segment_bytes, ByteCount{2'000'000});
  EXPECT_EQ(outcome_of(setting(kBroker, "1", "log.segment.bytes", "3000000")), "0 -");
  EXPECT_EQ(broker_->logs().find({"orders", PartitionId{0}})->config().segment_bytes, ByteCount{3'000'000});
  EXPECT_EQ(value_of(kBroker, "1", "log.segment.bytes"), "3000000");
  EXPECT_EQ(value_of(kBroker, "", "log.segment.bytes"), "2000000");
}

TEST_F(ConfigHandlersTest, ARefusedResourceChangesNothing) {
  auto request = setting(kTopic, "orders", "retention.ms", "5");
  request.resources[0].configs.push_back({"segment.bytes", 0, "x"});
  auto good = setting(kGroup, "g", "consumer.session.timeout.ms", "50000");
  request.resources.push_back(good.resources[0]);
  auto answer = broker_.call<IncrementalAlterConfigsResponse>(request, kIncrementalVersion);
  ASSERT_EQ(answer->responses.size(), 2u);
  EXPECT_EQ(answer->responses[0].error_code, ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(answer->responses[0].resource_name, "orders");
  EXPECT_EQ(answer->responses[1].error_code, ErrorCode::NONE);
  EXPECT_EQ(value_of(kTopic, "orders", "retention.ms"), "604800000");
  EXPECT_EQ(value_of(kGroup, "g", "consumer.session.timeout.ms"), "50000");
}

TEST_F(ConfigHandlersTest, ValidateOnlyChangesNothing) {
  auto request = setting(kTopic, "orders", "retention.ms", "5");
  request.validate_only = true;
  EXPECT_EQ(outcome_of(request), "0 -");
  EXPECT_EQ(value_of(kTopic, "orders", "retention.ms"), "604800000");
  auto bad = setting(kTopic, "orders", "retention.ms", "zz");
  bad.validate_only = true;
  EXPECT_EQ(outcome_of(bad), "40 Invalid value zz for configuration retention.ms: Not a number of type LONG");
  auto logger = setting(kLogger, "1", "root", "DEBUG");
  logger.validate_only = true;
  EXPECT_EQ(outcome_of(logger), "0 -");
  EXPECT_EQ(value_of(kLogger, "1", "root"), "INFO");
}

TEST_F(ConfigHandlersTest, ChangesTheLevelOfTheLog) {
  EXPECT_EQ(outcome_of(setting(kLogger, "1", "root", "ERROR")), "0 -");
  EXPECT_EQ(value_of(kLogger, "1", "root"), "ERROR");
  EXPECT_EQ(broker_.logger().minimum(), Severity::error);
  EXPECT_EQ(outcome_of(setting(kLogger, "1", "root", "TRACE")), "0 -");
  EXPECT_EQ(value_of(kLogger, "1", "root"), "DEBUG") << "the most that this log can say";
  struct Case {
    const char* broker;
    const char* logger;
    std::optional<std::string> value;
    std::int8_t operation;
    const char* outcome;
  };
  const Case cases[] = {
      {"1", "root", "FOO", 0,
       "40 Cannot set the log level of root to FOO as it is not a supported log level. Valid log levels are DEBUG, ERROR, "
       "FATAL, INFO, TRACE, WARN"},
      {"1", "root", "debug", 0,
       "40 Cannot set the log level of root to debug as it is not a supported log level. Valid log levels are DEBUG, ERROR, "
       "FATAL, INFO, TRACE, WARN"},
      {"1", "nope", "INFO", 0, "40 Logger nope does not exist!"},
      {"9", "root", "INFO", 0, "42 Unexpected node id. Expected 1, but received 9"},
      {"", "root", "INFO", 0, "42 Node id must be an integer, but it is: "},
      {"1", "root", std::nullopt, 1, "42 Removing the log level of the root logger is not allowed"},
      {"1", "root", "INFO", 2, "42 APPEND operation is not allowed for the BROKER_LOGGER resource"},
      {"1", "root", "INFO", 3, "42 SUBTRACT operation is not allowed for the BROKER_LOGGER resource"},
      {"1", "root", "INFO", 9, "42 Unknown operation type 9 is not allowed for the BROKER_LOGGER resource"},
      {"1", "root", std::nullopt, 0, "42 Null value not supported for : root"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(outcome_of(setting(kLogger, test.broker, test.logger, test.value, test.operation)), test.outcome);
  }
  EXPECT_EQ(value_of(kLogger, "1", "root"), "DEBUG");
}

TEST_F(ConfigHandlersTest, AlterConfigsReplacesEverything) {
  auto alter = [&](std::vector<std::pair<std::string, std::string>> values, std::int16_t version) {
    AlterConfigsRequest request;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = kTopic;
    resource.resource_name = "orders";
    for (auto& [key, value] : values) resource.configs.push_back({key, value});
    auto answer = broker_.call<AlterConfigsResponse>(request, version);
    return text(answer->responses.at(0).error_code, answer->responses.at(0).error_message);
  };
  EXPECT_EQ(alter({{"retention.ms", "5"}}, 0), "0 -");
  EXPECT_EQ(alter({{"segment.ms", "6"}}, 1), "0 -");
  EXPECT_EQ(value_of(kTopic, "orders", "retention.ms"), "604800000");
  EXPECT_EQ(value_of(kTopic, "orders", "segment.ms"), "6");
  EXPECT_EQ(alter({{"segment.ms", "x"}}, kAlterVersion),
            "40 Invalid value x for configuration segment.ms: Not a number of type LONG");
  EXPECT_EQ(alter({}, kAlterVersion), "0 -");
  EXPECT_EQ(value_of(kTopic, "orders", "segment.ms"), "604800000");
}

TEST_F(ConfigHandlersTest, AnEmptyRequestHasAnEmptyAnswer) {
  EXPECT_TRUE(broker_.call<DescribeConfigsResponse>(DescribeConfigsRequest{}, kDescribeVersion)->results.empty());
  EXPECT_TRUE(
      broker_.call<IncrementalAlterConfigsResponse>(IncrementalAlterConfigsRequest{}, kIncrementalVersion)->responses.empty());
  EXPECT_TRUE(broker_.call<AlterConfigsResponse>(AlterConfigsRequest{}, kAlterVersion)->responses.empty());
}

}  // namespace
}  // namespace cordwood::broker
