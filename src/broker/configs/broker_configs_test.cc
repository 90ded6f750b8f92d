// Expected values, orders and texts were seen on Apache Kafka 4.4.0; broker.tsv is its answer for the broker of the golden.
#include "broker/configs/broker_configs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>

#include "broker/configs/golden_testing.h"

namespace cordwood::broker::configs {
namespace {

using metadata::ConfigValues;
using metadata::Image;
using metadata::ResourceType;

// server.properties of the broker whose answer is the golden.
Config golden_config() {
  Config config;
  config.given = {
      {"process.roles", "broker,controller"},
      {"node.id", "1"},
      {"broker.id", "1"},
      {"controller.quorum.bootstrap.servers", "localhost:21101"},
      {"listeners", "PLAINTEXT://localhost:21100,CONTROLLER://localhost:21101"},
      {"advertised.listeners", "PLAINTEXT://localhost:21100,CONTROLLER://localhost:21101"},
      {"inter.broker.listener.name", "PLAINTEXT"},
      {"controller.listener.names", "CONTROLLER"},
      {"listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"},
      {"log.dirs", "data"},
      {"offsets.topic.replication.factor", "1"},
      {"transaction.state.log.replication.factor", "1"},
      {"transaction.state.log.min.isr", "1"},
      {"share.coordinator.state.topic.replication.factor", "1"},
      {"share.coordinator.state.topic.min.isr", "1"},
  };
  return config;
}

Image first_start() {
  Image image;
  image.configs[{ResourceType::broker, ""}] = {{"min.insync.replicas", "1"}};
  return image;
}

const char* source_name(ConfigSource source) {
  switch (source) {
    case ConfigSource::dynamic_broker: return "DYNAMIC_BROKER_CONFIG";
    case ConfigSource::dynamic_default_broker: return "DYNAMIC_DEFAULT_BROKER_CONFIG";
    case ConfigSource::static_broker: return "STATIC_BROKER_CONFIG";
    case ConfigSource::default_value: return "DEFAULT_CONFIG";
    default: return "?";
  }
}

std::string synonyms_of(const ConfigEntry& entry) {
  std::vector<std::string> parts;
  for (const ConfigSynonym& synonym : entry.synonyms) {
    parts.push_back(fmt::format("{}:{}={}", source_name(synonym.source), synonym.name, synonym.value.value_or("null")));
  }
  return fmt::format("{}", fmt::join(parts, " | "));
}

const ConfigEntry& entry_of(const std::vector<ConfigEntry>& entries, const std::string& name) {
  for (const ConfigEntry& entry : entries) {
    if (entry.name == name) return entry;
  }
  throw std::runtime_error("no entry " + name);
}

// "value SOURCE synonyms", with "read-only" and "sensitive" where they hold.
std::string describe(const Config& config, const Image& image, const std::string& name) {
  auto entries = describe_broker_configs(config, image);
  const ConfigEntry& entry = entry_of(entries, name);
  return fmt::format("{} {} {}{}{}", entry.value.value_or("null"), source_name(entry.source), synonyms_of(entry),
                     entry.read_only ? " read-only" : "", entry.sensitive ? " sensitive" : "");
}

TEST(DescribeBrokerConfigs, AreKafkasButForOurOwnDefaults) {
  // Key -> our value and synonyms, where standing alone means another default.
  const std::map<std::string, std::pair<std::string, std::string>> ours = {
      {"log.dir", {"./cordwood-data", "DEFAULT_CONFIG:log.dir=./cordwood-data"}},
      {"num.network.threads", {"0", "DEFAULT_CONFIG:num.network.threads=0"}},
      {"node.id", {"1", "STATIC_BROKER_CONFIG:node.id=1 | DEFAULT_CONFIG:node.id=1"}},
      {"broker.id", {"1", "STATIC_BROKER_CONFIG:broker.id=1 | DEFAULT_CONFIG:broker.id=1"}},
      {"listeners",
       {"PLAINTEXT://localhost:21100,CONTROLLER://localhost:21101",
        "STATIC_BROKER_CONFIG:listeners=PLAINTEXT://localhost:21100,CONTROLLER://localhost:21101 | "
        "DEFAULT_CONFIG:listeners=PLAINTEXT://127.0.0.1:9092"}},
      {"offsets.topic.replication.factor",
       {"1", "STATIC_BROKER_CONFIG:offsets.topic.replication.factor=1 | DEFAULT_CONFIG:offsets.topic.replication.factor=1"}},
  };
  auto rows = golden_rows("broker.tsv", 8);
  auto entries = describe_broker_configs(golden_config(), first_start());
  ASSERT_EQ(entries.size() + 1, rows.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& row = rows[i + 1];
    const ConfigEntry& entry = entries[i];
    SCOPED_TRACE(row[0]);
    auto own = ours.find(row[0]);
    EXPECT_EQ(entry.name, row[0]);
    EXPECT_EQ(name_of(entry.type), row[1]);
    EXPECT_EQ(entry.value.value_or("\\N"), own == ours.end() ? row[2] : own->second.first);
    EXPECT_EQ(source_name(entry.source), row[3]);
    EXPECT_EQ(entry.read_only, row[4] == "1");
    EXPECT_EQ(entry.sensitive, row[5] == "1");
    EXPECT_EQ(synonyms_of(entry), own == ours.end() ? row[6] : own->second.second);
  }
}

TEST(DescribeBrokerConfigs, ShowEveryLayer) {
  Config config;
  config.given = {{"auto.create.topics.enable", "False"}, {"log.retention.hours", "24"}, {"ssl.key.password", "secret"},
                  {"listener.name.plaintext.ssl.key.password", "pp"}, {"foo.bar", "x"}, {"log.initial.task.delay.ms", "5"}};
  Image image = first_start();
  EXPECT_EQ(describe(config, image, "auto.create.topics.enable"),
            "false STATIC_BROKER_CONFIG STATIC_BROKER_CONFIG:auto.create.topics.enable=False | "
            "DEFAULT_CONFIG:auto.create.topics.enable=true read-only");
  EXPECT_EQ(describe(config, image, "log.retention.ms"), "null DEFAULT_CONFIG ");
  EXPECT_EQ(describe(config, image, "ssl.key.password"),
            "null STATIC_BROKER_CONFIG STATIC_BROKER_CONFIG:ssl.key.password=null sensitive");
  EXPECT_EQ(describe(config, image, "listener.name.plaintext.ssl.key.password"),
            "null STATIC_BROKER_CONFIG STATIC_BROKER_CONFIG:listener.name.plaintext.ssl.key.password=null | "
            "STATIC_BROKER_CONFIG:ssl.key.password=null read-only sensitive");
  EXPECT_EQ(describe(config, image, "foo.bar"), "null STATIC_BROKER_CONFIG STATIC_BROKER_CONFIG:foo.bar=null read-only sensitive");
  EXPECT_EQ(describe(config, image, "log.initial.task.delay.ms"),
            "5 STATIC_BROKER_CONFIG STATIC_BROKER_CONFIG:log.initial.task.delay.ms=5 | "
            "DEFAULT_CONFIG:log.initial.task.delay.ms=30000 read-only");
  image.configs[{ResourceType::broker, "1"}] = {{"log.retention.ms", "7200000"}, {"log.cleaner.threads", " 2 "}, {"my.own", "1"}};
  image.configs[{ResourceType::broker, ""}]["log.retention.ms"] = "7300000";
  EXPECT_EQ(describe(Config{}, image, "log.retention.ms"),
            "7200000 DYNAMIC_BROKER_CONFIG DYNAMIC_BROKER_CONFIG:log.retention.ms=7200000 | "
            "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=7300000 | DEFAULT_CONFIG:log.retention.hours=168");
  EXPECT_EQ(describe(Config{}, image, "log.cleaner.threads"),
            "2 DYNAMIC_BROKER_CONFIG DYNAMIC_BROKER_CONFIG:log.cleaner.threads= 2  | DEFAULT_CONFIG:log.cleaner.threads=1");
  EXPECT_EQ(describe(Config{}, image, "my.own"),
            "null DYNAMIC_BROKER_CONFIG DYNAMIC_BROKER_CONFIG:my.own=null read-only sensitive");
}

TEST(DescribeBrokerConfigs, NeverShowASecret) {
  Config config;
  Image image;
  for (const BrokerKey& key : broker_keys()) {
    if (key.type != ConfigType::password) continue;
    config.given[std::string(key.name)] = "hunter2";
    image.configs[{ResourceType::broker, "1"}][std::string(key.name)] = "hunter2";
    image.configs[{ResourceType::broker, ""}]["listener.name.x." + std::string(key.name)] = "hunter2";
  }
  auto all = describe_broker_configs(config, image);
  auto defaults = describe_broker_defaults(config, image);
  EXPECT_GT(defaults.size(), 5u);
  all.insert(all.end(), defaults.begin(), defaults.end());
  for (const ConfigEntry& entry : all) {
    EXPECT_NE(entry.value, "hunter2") << entry.name;
    for (const ConfigSynonym& synonym : entry.synonyms) EXPECT_NE(synonym.value, "hunter2") << entry.name;
  }
}

TEST(DescribeBrokerDefaults, ShowTheDynamicOnesAlone) {
  Image image = first_start();
  image.configs[{ResourceType::broker, ""}]["no.such"] = "5";
  image.configs[{ResourceType::broker, "1"}]["log.retention.ms"] = "5";
  auto entries = describe_broker_defaults(golden_config(), image);
  ASSERT_EQ(entries.size(), 2u);
  const ConfigEntry& known = entry_of(entries, "min.insync.replicas");
  EXPECT_EQ(known.value, "1");
  EXPECT_EQ(known.source, ConfigSource::dynamic_default_broker);
  EXPECT_EQ(synonyms_of(known), "DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=1");
  EXPECT_FALSE(known.read_only);
  const ConfigEntry& unknown = entry_of(entries, "no.such");
  EXPECT_EQ(unknown.value, std::nullopt);
  EXPECT_TRUE(unknown.sensitive);
}

TEST(ValidateDynamicBrokerConfigs, AnswersInKafkasWords) {
  struct Case {
    ConfigValues values;
    bool cluster_wide;
    const char* fault;  // "": none
  };
  const Case cases[] = {
      {{}, false, ""},
      {{{"log.dirs", "x"}}, false, "Cannot update these configs dynamically: [log.dirs]"},
      {{{"log.dirs", "x"}, {"num.partitions", "x"}, {"node.id", "2"}}, false,
       "Cannot update these configs dynamically: [node.id, num.partitions, log.dirs]"},
      {{{"listeners", "PLAINTEXT://a:1"}}, true,
       "Cannot update these configs at default cluster level, broker id must be specified: [listeners]"},
      {{{"listeners", "PLAINTEXT://a:1"}}, false, ""},
      {{{"log.retention.ms", "x"}}, false, "Invalid value x for configuration log.retention.ms: Not a number of type LONG"},
      {{{"log.retention.ms", "-5"}}, false, ""},
      {{{"log.segment.bytes", "100"}}, true,
       "Invalid value 100 for configuration log.segment.bytes: Value must be at least 1048576"},
      {{{"log.cleaner.threads", "-1"}}, false,
       "Invalid value -1 for configuration log.cleaner.threads: Value must be at least 0"},
      {{{"log.cleaner.threads", "0"}}, false,
       "Invalid value 0 for configuration log.cleaner.threads: Value must be at least 1"},
      {{{"message.max.bytes", "-1"}}, false, "Invalid value -1 for configuration message.max.bytes: Value must be at least 0"},
      {{{"no.such", "1"}}, false, ""},
      {{{"no.such", "1"}}, true, ""},
      {{{"ssl.keystore.password", "x"}}, false,
       "These security configs can be dynamically updated only per-listener using the listener prefix: "
       "[ssl.keystore.password]"},
      {{{"listener.name.plaintext.ssl.keystore.location", "x"}}, false, ""},
      {{{"listener.name.plaintext.ssl.keystore.location", "x"}}, true,
       "Cannot update these configs at default cluster level, broker id must be specified: "
       "[listener.name.plaintext.ssl.keystore.location]"},
      {{{"num.io.threads", "1000"}}, false,
       "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for "
       "num.io.threads=1000, value should not be greater than double the current value 8 for configuration Invalid dynamic "
       "configuration"},
      {{{"num.io.threads", "1"}}, false,
       "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for "
       "num.io.threads=1, value should be at least half the current value 8 for configuration Invalid dynamic configuration"},
      {{{"num.io.threads", "16"}}, false, ""},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(validate_dynamic_broker_configs(Config{}, Image{}, test.values, test.cluster_wide).value_or(""), test.fault);
  }
}

TEST(WithoutListenerPrefix, FindsTheKey) {
  EXPECT_EQ(without_listener_prefix("listener.name.internal.ssl.key.password"), "ssl.key.password");
  for (const char* name : {"ssl.key.password", "listener.name.", "listener.name.x", "listener.name..y", "listener.name.x."}) {
    EXPECT_EQ(without_listener_prefix(name), std::nullopt) << name;
  }
  EXPECT_EQ(find_broker_key_of_any_listener("listener.name.x.no.such"), nullptr);
}

}  // namespace
}  // namespace cordwood::broker::configs
