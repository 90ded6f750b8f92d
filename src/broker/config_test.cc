#include "broker/config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "broker/configs/cleaner_options.h"
#include "broker/configs/broker_configs.h"
#include "broker/configs/config_bindings.h"
#include "broker/configs/topic_config_keys.h"

namespace cordwood::broker {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Config read(const Pairs& pairs) {
  MemoryLogger logger;
  auto config = Config::from_properties(pairs, logger);
  if (!config) throw std::runtime_error(config.error().message());
  return *config;
}

std::string fault_of(const Pairs& pairs, Errc code = Errc::invalid) {
  MemoryLogger logger;
  auto config = Config::from_properties(pairs, logger);
  if (config) return "accepted";
  EXPECT_EQ(config.error().code, code) << config.error().message();
  return config.error().what;
}

std::vector<std::string> warnings_of(const Pairs& pairs) {
  MemoryLogger logger;
  EXPECT_TRUE(Config::from_properties(pairs, logger).has_value());
  return logger.lines();
}

TEST(Config, OfNothingIsTheDefault) {
  Config config = read({});
  Config plain;
  EXPECT_EQ(config.log_dirs, plain.log_dirs);
  EXPECT_EQ(config.listeners, plain.listeners);
  EXPECT_EQ(config.advertised_listeners, plain.advertised_listeners);
  EXPECT_EQ(config.node_id, plain.node_id);
  EXPECT_TRUE(config.given.empty());
  EXPECT_TRUE(warnings_of({}).empty());
}

// The fields' own defaults, the table's and what is done with a binding must not come apart.
TEST(Config, FieldsWithoutAValueHoldWhatTheTableSays) {
  for (const configs::Binding& binding : configs::config_bindings()) {
    const configs::BrokerKey* key = configs::find_broker_key(binding.key);
    ASSERT_NE(key, nullptr) << binding.key;
    EXPECT_EQ(key->effect, configs::Effect::acted) << binding.key;
    const char* default_value = configs::default_of(*key);
    if (default_value == nullptr || std::string_view(default_value) == "0") continue;
    Config set;
    auto value = configs::read_config_value(*key, default_value);
    ASSERT_TRUE(value.has_value()) << binding.key;
    binding.assign(set, *value);
    Config plain;
    EXPECT_EQ(set.node_id, plain.node_id);
    EXPECT_EQ(set.num_partitions, plain.num_partitions);
    EXPECT_EQ(set.auto_create_topics_enable, plain.auto_create_topics_enable);
    EXPECT_EQ(set.delete_topic_enable, plain.delete_topic_enable);
    EXPECT_EQ(set.default_replication_factor, plain.default_replication_factor);
    EXPECT_EQ(set.socket_request_max_bytes, plain.socket_request_max_bytes);
    EXPECT_EQ(set.connections_max_idle_ms, plain.connections_max_idle_ms);
    EXPECT_EQ(set.max_connections, plain.max_connections);
    EXPECT_EQ(set.max_connections_per_ip, plain.max_connections_per_ip);
    EXPECT_EQ(set.fetch_max_bytes, plain.fetch_max_bytes);
    EXPECT_EQ(set.max_incremental_fetch_session_cache_slots, plain.max_incremental_fetch_session_cache_slots);
    EXPECT_EQ(set.max_request_partition_size_limit, plain.max_request_partition_size_limit);
    EXPECT_EQ(set.offsets_topic_num_partitions, plain.offsets_topic_num_partitions);
    EXPECT_EQ(set.offsets_topic_replication_factor, plain.offsets_topic_replication_factor);
    EXPECT_EQ(set.offsets_topic_segment_bytes, plain.offsets_topic_segment_bytes);
    EXPECT_EQ(set.offset_metadata_max_bytes, plain.offset_metadata_max_bytes);
    EXPECT_EQ(set.offsets_retention_minutes, plain.offsets_retention_minutes);
    EXPECT_EQ(set.offsets_retention_check_interval_ms, plain.offsets_retention_check_interval_ms);
    EXPECT_EQ(set.group_min_session_timeout_ms, plain.group_min_session_timeout_ms);
    EXPECT_EQ(set.group_max_session_timeout_ms, plain.group_max_session_timeout_ms);
    EXPECT_EQ(set.group_initial_rebalance_delay_ms, plain.group_initial_rebalance_delay_ms);
    EXPECT_EQ(set.group_max_size, plain.group_max_size);
    EXPECT_EQ(set.num_recovery_threads_per_data_dir, plain.num_recovery_threads_per_data_dir);
    EXPECT_EQ(set.log_flush_offset_checkpoint_interval_ms, plain.log_flush_offset_checkpoint_interval_ms);
    EXPECT_EQ(set.log_flush_start_offset_checkpoint_interval_ms, plain.log_flush_start_offset_checkpoint_interval_ms);
    EXPECT_EQ(set.replica_high_watermark_checkpoint_interval_ms, plain.replica_high_watermark_checkpoint_interval_ms);
    EXPECT_EQ(set.log_flush_scheduler_interval_ms, plain.log_flush_scheduler_interval_ms);
    EXPECT_EQ(set.log_retention_check_interval_ms, plain.log_retention_check_interval_ms);
    EXPECT_EQ(set.log_initial_task_delay_ms, plain.log_initial_task_delay_ms);
    EXPECT_EQ(set.min_free_bytes, plain.min_free_bytes);
    EXPECT_EQ(set.producer_id_expiration_ms, plain.producer_id_expiration_ms);
    EXPECT_EQ(set.producer_id_expiration_check_interval_ms, plain.producer_id_expiration_check_interval_ms);
    EXPECT_EQ(set.metadata_log_max_record_bytes_between_snapshots, plain.metadata_log_max_record_bytes_between_snapshots);
    EXPECT_EQ(set.metadata_log_max_snapshot_interval_ms, plain.metadata_log_max_snapshot_interval_ms);
    EXPECT_EQ(set.metadata_log_segment_bytes, plain.metadata_log_segment_bytes);
    EXPECT_EQ(set.metadata_log_segment_ms, plain.metadata_log_segment_ms);
    EXPECT_EQ(set.metadata_max_retention_bytes, plain.metadata_max_retention_bytes);
    EXPECT_EQ(set.metadata_max_retention_ms, plain.metadata_max_retention_ms);
  }
}

TEST(Config, EveryKeyThatIsActedOnIsReadSomewhere) {
  const std::string_view elsewhere[] = {
      "broker.id", "log.dir", "log.dirs", "listeners", "advertised.listeners", "listener.security.protocol.map",
      "controller.listener.names", "log.roll.hours", "log.roll.jitter.hours",
      "log.retention.minutes", "log.retention.hours"};
  for (const configs::BrokerKey& key : configs::broker_keys()) {
    bool bound = std::ranges::count(configs::config_bindings(), key.name, &configs::Binding::key) > 0;
    bool inherited = std::ranges::any_of(configs::topic_keys(), [&](const configs::TopicKey& topic) {
      return topic.broker_key != nullptr && topic.broker_key == key.name;
    });
    bool read_elsewhere = std::ranges::count(elsewhere, key.name) > 0 ||
                          std::ranges::count(configs::cleaner_keys(), key.name) > 0;
    bool acted = key.effect == configs::Effect::acted;
    EXPECT_TRUE(!acted || bound || inherited || read_elsewhere) << key.name;
    EXPECT_TRUE(acted || !(bound || read_elsewhere)) << key.name;
  }
}

TEST(Config, TakesWhatIsGiven) {
  Config config = read({{"node.id", "7"},
                        {"log.dirs", "/a, /b"},
                        {"log.dir", "/c"},
                        {"broker.rack", "r1"},
                        {"num.partitions", " 3 "},
                        {"auto.create.topics.enable", "FALSE"},
                        {"offsets.topic.segment.bytes", "1048576"},
                        {"group.initial.rebalance.delay.ms", "0"},
                        {"num.partitions", "4"}});
  EXPECT_EQ(config.node_id, NodeId{7});
  EXPECT_EQ(config.log_dirs, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(config.rack, "r1");
  EXPECT_EQ(config.num_partitions, 4);
  EXPECT_FALSE(config.auto_create_topics_enable);
  EXPECT_EQ(config.offsets_topic_segment_bytes, ByteCount{1048576});
  EXPECT_EQ(config.group_initial_rebalance_delay_ms, DurationMs{0});
  EXPECT_EQ(config.given.at("broker.id"), "7");
  EXPECT_EQ(config.given.at("num.partitions"), "4");
  EXPECT_EQ(read({{"broker.id", "5"}}).node_id, NodeId{5});
  EXPECT_EQ(read({{"log.dir", "/c"}}).log_dirs, (std::vector<std::string>{"/c"}));
}

TEST(Config, ThePortThatWasBoundTakesThePlaceOfNone) {
  Config config = read({{"listeners", "PLAINTEXT://:0,OTHER://:9192"},
                        {"advertised.listeners", "PLAINTEXT://broker:0,OTHER://broker:9292"},
                        {"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT"}});
  config.set_bound_port("PLAINTEXT", 40'001);
  config.set_bound_port("OTHER", 9192);
  ASSERT_EQ(config.listeners.size(), 2u);
  EXPECT_EQ(config.listeners[0].port, 40'001);
  EXPECT_EQ(config.listeners[1].port, 9192);
  ASSERT_TRUE(config.advertised_listeners);
  EXPECT_EQ((*config.advertised_listeners)[0].port, 40'001);
  EXPECT_EQ((*config.advertised_listeners)[1].port, 9292);
}

TEST(Config, TheInternalSizeOfMetadataSegmentsGoesFirst) {
  Config config = read({{"internal.metadata.log.segment.bytes", "2048"}, {"metadata.log.segment.bytes", "16777216"}});
  EXPECT_EQ(config.metadata_log_segment_bytes, ByteCount{2048});
}

TEST(Config, TakesKafkasOwnSampleFile) {
  MemoryLogger logger;
  auto config = Config::from_file(R"(# a comment
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
)",
                                  "server.properties", {{"num.partitions", "2"}}, logger);
  ASSERT_TRUE(config.has_value()) << config.error().message();
  EXPECT_EQ(config->listeners, (std::vector<ListenerAddress>{{"PLAINTEXT", "PLAINTEXT", "", 9092}}));
  EXPECT_EQ(config->advertised_listeners,
            (std::vector<ListenerAddress>{{"PLAINTEXT", "PLAINTEXT", "localhost", 9092}}));
  EXPECT_EQ(config->controller_listener, (ListenerAddress{"CONTROLLER", "PLAINTEXT", "localhost", 9093}));
  EXPECT_EQ(config->num_network_threads, 3);
  EXPECT_EQ(config->num_partitions, 2);
  EXPECT_TRUE(logger.contains("WARN key 'num.io.threads' in server.properties line 11 has no effect: Cordwood does not act on it"));
  EXPECT_TRUE(logger.contains("WARN key 'socket.send.buffer.bytes' in server.properties line 12 has no effect"));
  for (const std::string& line : logger.lines()) EXPECT_NE(line.find("has no effect"), std::string::npos) << line;
}

TEST(Config, NamesMisspeltKeysAndTheirPlace) {
  MemoryLogger logger;
  auto config = Config::from_file("node.id=1\n\nlog.segmnt.bytes=1\n", "server.properties", {}, logger);
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().code, Errc::invalid);
  EXPECT_EQ(config.error().what,
            "unknown key 'log.segmnt.bytes' in server.properties line 3; did you mean 'log.segment.bytes'?");
  EXPECT_EQ(fault_of({{"log.segmnt.bytes", "1"}}), "unknown key 'log.segmnt.bytes'; did you mean 'log.segment.bytes'?");
  EXPECT_EQ(fault_of({{"Listeners", "x"}}), "unknown key 'Listeners'; did you mean 'listeners'?");
  EXPECT_EQ(fault_of({{"log_dirs", "x"}}), "unknown key 'log_dirs'; did you mean 'log.dirs'?");
  EXPECT_EQ(fault_of({{"ssl.keystore.locatoin", "x"}}),
            "unknown key 'ssl.keystore.locatoin'; did you mean 'ssl.keystore.location'?");
}

TEST(Config, OnlyWarnsOfKeysThatNobodyKnows) {
  EXPECT_EQ(warnings_of({{"zookeeper.connect", "x"}, {"zookeeper.connect", "y"}}),
            (std::vector<std::string>{"WARN unknown key 'zookeeper.connect' is ignored"}));
  for (const char* key : {"inter.broker.protocol.version", "log.message.format.version", "foo", "",
                          "listener.name.internal.ssl.keystore.locatoin", "rlmm.config.x", "confluent.license"}) {
    EXPECT_EQ(warnings_of({{key, "1"}}), (std::vector<std::string>{fmt::format("WARN unknown key '{}' is ignored", key)}));
  }
}

TEST(Config, NamesABadFile) {
  MemoryLogger logger;
  auto config = Config::from_file("a=\\u1", "x.properties", {}, logger);
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().what, "x.properties line 1: \\u is not followed by four hexadecimal digits");
}

TEST(Config, RefusesBadValuesInKafkasWords) {
  struct Case {
    Pairs pairs;
    const char* fault;
  };
  const Case cases[] = {
      {{{"num.partitions", "abc"}}, "Invalid value abc for configuration num.partitions: Not a number of type INT"},
      {{{"num.partitions", "0"}}, "Invalid value 0 for configuration num.partitions: Value must be at least 1"},
      {{{"log.dirs", ""}}, "Configuration 'log.dirs' must not be empty. Valid values include: any non-empty value"},
      {{{"log.segment.bytes", "100"}}, "Invalid value 100 for configuration log.segment.bytes: Value must be at least 1048576"},
      {{{"node.id", "-1"}}, "Invalid value -1 for configuration node.id: Value must be at least 0"},
      {{{"node.id", "1"}, {"broker.id", "2"}}, "You must set `node.id` to the same value as `broker.id`, not to 1 and 2."},
      {{{"log.retention.hours", "0"}}, "log.retention.ms must be unlimited (-1) or, equal or greater than 1"},
      {{{"log.retention.ms", "0"}}, "log.retention.ms must be unlimited (-1) or, equal or greater than 1"},
      {{{"log.retention.ms", "5"}, {"log.retention.minutes", "0"}}, "accepted"},
      {{{"log.cleaner.min.compaction.lag.ms", "9"}, {"log.cleaner.max.compaction.lag.ms", "8"}},
       "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)"},
      {{{"group.min.session.timeout.ms", "9"}, {"group.max.session.timeout.ms", "8"}},
       "group.min.session.timeout.ms (9) must not exceed group.max.session.timeout.ms (8)"},
      {{{"listeners", "PLAINTEXT:9092"}},
       "Invalid value PLAINTEXT:9092 for configuration listeners: 'PLAINTEXT:9092' is not <listener>://<host>:<port>"},
      {{{"listeners", "PLAINTEXT://a:99999"}},
       "Invalid value PLAINTEXT://a:99999 for configuration listeners: 'PLAINTEXT://a:99999' is not <listener>://<host>:<port>"},
      {{{"listeners", "PLAINTEXT://::1:9092"}},
       "Invalid value PLAINTEXT://::1:9092 for configuration listeners: 'PLAINTEXT://::1:9092' is not <listener>://<host>:<port>"},
      {{{"listeners", "FOO://a:1"}},
       "No security protocol defined for listener FOO: listeners names it, and listener.security.protocol.map does not"},
      {{{"listeners", "PLAINTEXT://a:1,plaintext://b:2"}},
       "Each listener must have a different name, listeners: PLAINTEXT://a:1,plaintext://b:2"},
      {{{"listeners", "A://:1,B://:1"}, {"listener.security.protocol.map", "A:PLAINTEXT,B:PLAINTEXT"}},
       "Each listener must have a different port, listeners: A://:1,B://:1"},
      {{{"listener.security.protocol.map", "A"}},
       "Invalid value A for configuration listener.security.protocol.map: 'A' is not <listener>:<protocol>"},
      {{{"listener.security.protocol.map", "A:FOO"}},
       "Invalid value A:FOO for configuration listener.security.protocol.map: there is no security protocol FOO"},
      {{{"listener.security.protocol.map", "A:SSL,a:SSL"}},
       "Invalid value A:SSL,a:SSL for configuration listener.security.protocol.map: listener A appears twice"},
      {{{"listeners", "CONTROLLER://:1"}, {"controller.listener.names", "CONTROLLER"}},
       "listeners: no listener is left for clients beside the controller's"},
      {{{"listeners", "PLAINTEXT://:1"}, {"advertised.listeners", "SSL://a:1"}},
       "advertised.listeners names SSL, which is not among the listeners"},
      {{{"advertised.listeners", "PLAINTEXT://0.0.0.0:1"}},
       "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."},
  };
  for (const Case& test : cases) EXPECT_EQ(fault_of(test.pairs), test.fault);
}

TEST(Config, RefusesWhatWouldNotStandAlone) {
  EXPECT_EQ(fault_of({{"process.roles", "broker"}}, Errc::unsupported),
            "process.roles=broker: Cordwood is a broker and its own controller; it joins no other cluster yet "
            "(process.roles=broker,controller)");
  EXPECT_EQ(fault_of({{"controller.quorum.voters", "1@a:1,2@b:1"}}, Errc::unsupported),
            "controller.quorum.voters=1@a:1,2@b:1: Cordwood is a cluster of one node and joins no quorum of 2");
  EXPECT_EQ(fault_of({{"listeners", "SSL://a:1"}}, Errc::unsupported),
            "listener SSL asks for security protocol SSL; only PLAINTEXT is served");
}

TEST(Config, ReadsListeners) {
  Config config = read({{"listeners", "internal://[::1]:0,External://0.0.0.0:9094,CONTROLLER://:9095"},
                        {"advertised.listeners", "EXTERNAL://kafka.example.com:443"},
                        {"listener.security.protocol.map", "INTERNAL:PLAINTEXT, EXTERNAL:plaintext,CONTROLLER:SSL"},
                        {"controller.listener.names", "CONTROLLER"}});
  EXPECT_EQ(config.listeners, (std::vector<ListenerAddress>{{"INTERNAL", "PLAINTEXT", "::1", 0},
                                                            {"EXTERNAL", "PLAINTEXT", "0.0.0.0", 9094}}));
  EXPECT_EQ(config.advertised_listeners,
            (std::vector<ListenerAddress>{{"EXTERNAL", "PLAINTEXT", "kafka.example.com", 443}}));
  EXPECT_EQ(config.controller_listener, (ListenerAddress{"CONTROLLER", "SSL", "localhost", 9095}));
  // Without a map of its own, the controller's listener speaks plain text.
  EXPECT_EQ(read({{"listeners", "PLAINTEXT://:1,CTL://h:2"}, {"controller.listener.names", "CTL"}}).controller_listener,
            (ListenerAddress{"CTL", "PLAINTEXT", "h", 2}));
}

}  // namespace
}  // namespace cordwood::broker
