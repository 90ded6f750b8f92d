// Expected values, orders and texts were seen on Apache Kafka 4.4.0; topic.tsv is its answer for a plain topic.
#include "broker/configs/topic_configs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "broker/configs/config_value.h"
#include "broker/configs/golden_testing.h"

namespace cordwood::broker::configs {
namespace {

using metadata::ConfigValues;
using metadata::Image;
using metadata::ResourceType;

std::string source_name(ConfigSource source) {
  switch (source) {
    case ConfigSource::dynamic_topic: return "DYNAMIC_TOPIC_CONFIG";
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

// What Kafka's controller writes at its first start.
Image first_start() {
  Image image;
  image.configs[{ResourceType::broker, ""}] = {{"min.insync.replicas", "1"}};
  return image;
}

const ConfigEntry& entry_of(const std::vector<ConfigEntry>& entries, const std::string& name) {
  for (const ConfigEntry& entry : entries) {
    if (entry.name == name) return entry;
  }
  throw std::runtime_error("no entry " + name);
}

std::string describe(const Config& config, const Image& image, const ConfigValues& overrides, const std::string& name) {
  auto entries = describe_topic_configs(config, image, overrides);
  const ConfigEntry& entry = entry_of(entries, name);
  return fmt::format("{} {} {}", entry.value.value_or("null"), source_name(entry.source), synonyms_of(entry));
}

TEST(DescribeTopicConfigs, OfAPlainTopicAreKafkas) {
  auto rows = golden_rows("topic.tsv", 8);
  auto entries = describe_topic_configs(Config{}, first_start(), {});
  ASSERT_EQ(entries.size() + 1, rows.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& row = rows[i + 1];
    const ConfigEntry& entry = entries[i];
    EXPECT_EQ(entry.name, row[0]);
    EXPECT_EQ(name_of(entry.type), row[1]) << entry.name;
    EXPECT_EQ(entry.value, row[2]) << entry.name;
    EXPECT_EQ(source_name(entry.source), row[3]) << entry.name;
    EXPECT_EQ(entry.read_only, row[4] == "1") << entry.name;
    EXPECT_EQ(entry.sensitive, row[5] == "1") << entry.name;
    EXPECT_EQ(synonyms_of(entry), row[6]) << entry.name;
  }
}

TEST(DescribeTopicConfigs, ShowEveryLayerInOrder) {
  Config config;
  config.given = {{"log.segment.bytes", " 2097152 "}, {"log.cleanup.policy", "compact , delete"}, {"log.retention.hours", "24"},
                  {"log.roll.jitter.hours", "2"}, {"log.flush.scheduler.interval.ms", "5000"},
                  {"log.cleaner.min.cleanable.ratio", ".250"}, {"log.preallocate", "TRUE"}};
  Image image = first_start();
  EXPECT_EQ(describe(config, image, {}, "segment.bytes"),
            "2097152 STATIC_BROKER_CONFIG STATIC_BROKER_CONFIG:log.segment.bytes= 2097152  | "
            "DEFAULT_CONFIG:log.segment.bytes=1073741824");
  EXPECT_EQ(describe(config, image, {}, "cleanup.policy"),
            "compact,delete STATIC_BROKER_CONFIG STATIC_BROKER_CONFIG:log.cleanup.policy=compact , delete | "
            "DEFAULT_CONFIG:log.cleanup.policy=delete");
  EXPECT_EQ(describe(config, image, {}, "retention.ms"), "86400000 DEFAULT_CONFIG ");
  EXPECT_EQ(describe(config, image, {}, "segment.jitter.ms"), "7200000 DEFAULT_CONFIG ");
  EXPECT_EQ(describe(config, image, {}, "flush.ms"), "5000 DEFAULT_CONFIG ");
  EXPECT_EQ(describe(config, image, {}, "min.cleanable.dirty.ratio"),
            "0.25 STATIC_BROKER_CONFIG STATIC_BROKER_CONFIG:log.cleaner.min.cleanable.ratio=.250 | "
            "DEFAULT_CONFIG:log.cleaner.min.cleanable.ratio=0.5");
  EXPECT_EQ(describe(config, image, {}, "preallocate").substr(0, 4), "true");

  image.configs[{ResourceType::broker, ""}]["log.retention.ms"] = "7300000";
  image.configs[{ResourceType::broker, "1"}]["log.retention.ms"] = "7200000";
  EXPECT_EQ(describe(Config{}, image, {{"retention.ms", " 77 "}}, "retention.ms"),
            "77 DYNAMIC_TOPIC_CONFIG DYNAMIC_TOPIC_CONFIG:retention.ms=77 | DYNAMIC_BROKER_CONFIG:log.retention.ms=7200000 | "
            "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=7300000 | DEFAULT_CONFIG:log.retention.hours=168");
  EXPECT_EQ(describe(Config{}, image, {{"segment.ms", "100000"}}, "segment.ms"),
            "100000 DYNAMIC_TOPIC_CONFIG DYNAMIC_TOPIC_CONFIG:segment.ms=100000");
  image.configs[{ResourceType::broker, "1"}]["log.retention.ms"] = "-5";
  EXPECT_EQ(describe(Config{}, image, {}, "retention.ms").substr(0, 2), "-1");
}

TEST(DescribeTopicConfigs, HiddenOnesAppearOnceSet) {
  EXPECT_EQ(describe_topic_configs(Config{}, Image{}, {}).size(), 37u);
  auto entries = describe_topic_configs(Config{}, Image{}, {{"internal.segment.bytes", "5"}});
  EXPECT_EQ(entries.size(), 38u);
  EXPECT_EQ(entry_of(entries, "internal.segment.bytes").value, "5");
}

TEST(ValidateTopicConfigs, AnswersInKafkasWords) {
  struct Case {
    ConfigValues overrides;
    const char* fault;  // "": none
  };
  const Case cases[] = {
      {{}, ""},
      {{{"nope", "1"}}, "Unknown topic config name: nope"},
      {{{"message.format.version", "1"}}, "Unknown topic config name: message.format.version"},
      {{{"retention.ms", "abc"}}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
      {{{"retention.ms", ""}}, "Invalid value  for configuration retention.ms: Not a number of type LONG"},
      {{{"segment.bytes", "x"}}, "Invalid value x for configuration segment.bytes: Not a number of type INT"},
      {{{"min.cleanable.dirty.ratio", "x"}},
       "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
      {{{"retention.ms", "-2"}}, "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
      {{{"retention.ms", "-1"}}, ""},
      {{{"retention.ms", " 12 "}}, ""},
      {{{"cleanup.policy", "foo"}}, "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"},
      {{{"cleanup.policy", ""}}, ""},
      {{{"cleanup.policy", "compact,compact"}}, "Configuration 'cleanup.policy' values must not be duplicated."},
      {{{"compression.type", "brotli"}},
       "Invalid value brotli for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, "
       "gzip, producer"},
      {{{"preallocate", "maybe"}},
       "Invalid value maybe for configuration preallocate: Expected value to be either true or false"},
      {{{"preallocate", "TRUE"}}, ""},
      {{{"segment.bytes", "1"}}, "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576"},
      {{{"internal.segment.bytes", "5"}}, ""},
      {{{"min.compaction.lag.ms", "10"}, {"max.compaction.lag.ms", "5"}},
       "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"},
      {{{"remote.storage.enable", "true"}},
       "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
      {{{"leader.replication.throttled.replicas", "*,1:1"}},
       "Invalid value [*, 1:1] for configuration leader.replication.throttled.replicas: "
       "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: "
       "[partitionId]:[brokerId],[partitionId]:[brokerId],..."},
      {{{"local.retention.ms", "5"}, {"retention.ms", "3"}}, ""},
      // Names go before values, and of several bad values the one that Kafka defines first is told.
      {{{"segment.bytes", "5"}, {"retention.ms", "x"}, {"zz", "1"}}, "Unknown topic config name: zz"},
      {{{"retention.ms", "x"}, {"segment.bytes", "5"}},
       "Invalid value 5 for configuration segment.bytes: Value must be at least 1048576"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(validate_topic_configs(Config{}, Image{}, test.overrides).value_or(""), test.fault);
  }
}

TEST(ValidateTopicConfigs, CompareWithWhatTheBrokerGives) {
  Config config;
  config.given["log.cleaner.max.compaction.lag.ms"] = "100";
  EXPECT_EQ(validate_topic_configs(config, Image{}, {{"min.compaction.lag.ms", "101"}}),
            "conflict topic config setting min.compaction.lag.ms (101) > max.compaction.lag.ms (100)");
  EXPECT_EQ(validate_topic_configs(config, Image{}, {{"min.compaction.lag.ms", "100"}}), std::nullopt);
}

TEST(ValidateNewTopicConfigs, RefuseNulls) {
  EXPECT_EQ(validate_new_topic_configs(Config{}, Image{}, {{"retention.ms", std::nullopt}}),
            "Null value not supported for topic configs: retention.ms");
  EXPECT_EQ(validate_new_topic_configs(Config{}, Image{}, {{"b", std::nullopt}, {"a", std::nullopt}, {"c", "1"}}),
            "Null value not supported for topic configs: b,a");
  EXPECT_EQ(validate_new_topic_configs(Config{}, Image{}, {{"retention.ms", "1"}}), std::nullopt);
}

TEST(MakeLogConfig, OfNothingIsTheDefault) {
  EXPECT_EQ(make_log_config(Config{}, Image{}, std::string("t")), storage::LogConfig{});
}

TEST(MakeLogConfig, TakesTheTopicsOwnValues) {
  Image image;
  image.configs[{ResourceType::topic, "t"}] = {{"segment.bytes", "1048576"},
                                               {"retention.ms", "-1"},
                                               {"retention.bytes", "77"},
                                               {"cleanup.policy", "compact"},
                                               {"compression.type", "zstd"},
                                               {"compression.zstd.level", "-7"},
                                               {"message.timestamp.type", "LogAppendTime"},
                                               {"min.cleanable.dirty.ratio", "0.1"},
                                               {"max.message.bytes", "99"},
                                               {"preallocate", "true"},
                                               {"min.insync.replicas", "2"}};
  storage::LogConfig log = make_log_config(Config{}, image, std::string("t"));
  EXPECT_EQ(log.segment_bytes, ByteCount{1048576});
  EXPECT_EQ(log.retention_ms, DurationMs{-1});
  EXPECT_EQ(log.retention_bytes, ByteCount{77});
  EXPECT_TRUE(log.cleanup_compact);
  EXPECT_FALSE(log.cleanup_delete);
  ASSERT_TRUE(log.compression.has_value());
  EXPECT_EQ(log.compression->codec, record::Codec::zstd);
  EXPECT_EQ(log.compression->level, -7);
  EXPECT_EQ(log.message_timestamp_type, record::TimestampType::log_append_time);
  EXPECT_EQ(log.min_cleanable_dirty_ratio, 0.1);
  EXPECT_EQ(log.max_message_bytes, ByteCount{99});
  EXPECT_TRUE(log.preallocate);
  EXPECT_EQ(log.min_insync_replicas, 2);
  EXPECT_EQ(make_log_config(Config{}, image, std::string("other")), storage::LogConfig{});
}

TEST(MakeLogConfig, GoesDownTheLayers) {
  Config config;
  config.given = {{"log.segment.bytes", "2097152"}, {"log.retention.minutes", "2"}, {"log.retention.hours", "1"},
                  {"log.roll.hours", "3"}};
  Image image;
  auto made = [&] { return make_log_config(config, image, std::string("t")); };
  EXPECT_EQ(made().segment_bytes, ByteCount{2097152});
  EXPECT_EQ(made().retention_ms, DurationMs{120'000});
  EXPECT_EQ(made().segment_ms, DurationMs{3 * 3'600'000});
  image.configs[{ResourceType::broker, ""}] = {{"log.segment.bytes", "3000000"}, {"log.retention.ms", "5"}};
  EXPECT_EQ(made().segment_bytes, ByteCount{3'000'000});
  EXPECT_EQ(made().retention_ms, DurationMs{5});
  image.configs[{ResourceType::broker, "1"}] = {{"log.segment.bytes", "4000000"}};
  EXPECT_EQ(made().segment_bytes, ByteCount{4'000'000});
  image.configs[{ResourceType::broker, "2"}] = {{"log.segment.bytes", "4500000"}};  // of another broker
  EXPECT_EQ(made().segment_bytes, ByteCount{4'000'000});
  image.configs[{ResourceType::topic, "t"}] = {{"segment.bytes", "5000000"}};
  EXPECT_EQ(made().segment_bytes, ByteCount{5'000'000});
  image.configs[{ResourceType::topic, "t"}] = {{"internal.segment.bytes", "100"}};
  EXPECT_EQ(made().segment_bytes, ByteCount{100});
  image.configs[{ResourceType::topic, "t"}] = {{"internal.segment.bytes", "-3"}};
  EXPECT_EQ(made().segment_bytes, ByteCount{1});
}

TEST(MakeLogConfig, PassesOverWhatItCannotRead) {
  Image image;
  image.configs[{ResourceType::topic, "t"}] = {{"segment.bytes", "many"}, {"unheard.of", "1"}};
  image.configs[{ResourceType::broker, "1"}] = {{"log.segment.bytes", "2000000"}};
  EXPECT_EQ(make_log_config(Config{}, image, std::string("t")).segment_bytes, ByteCount{2'000'000});
}

TEST(IsTopicListConfig, KnowsLists) {
  EXPECT_TRUE(is_topic_list_config("cleanup.policy"));
  EXPECT_FALSE(is_topic_list_config("retention.ms"));
  EXPECT_FALSE(is_topic_list_config("nope"));
}

}  // namespace
}  // namespace cordwood::broker::configs
