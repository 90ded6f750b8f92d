// broker/config.h — the options of the process: typed fields for what is read, one table for every Kafka key.
//
// The table (broker/configs/broker_config_table.inc) names each of Kafka 4.4.0's broker keys: type, default, range, scope,
// and whether Cordwood acts on it. A key that Kafka has and we do not act on gives one warning; a key that nobody knows is
// named, and refused when it looks like a misspelling of a known one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/types.h"
#include "storage/log_config.h"

namespace cordwood::broker {

struct ListenerAddress {
  std::string name;      // "PLAINTEXT"
  std::string protocol;  // "PLAINTEXT", from listener.security.protocol.map
  std::string host;      // "" binds all
  std::uint16_t port = 9092;
  bool operator==(const ListenerAddress&) const = default;
};

struct Config {
  NodeId node_id{1};
  std::vector<std::string> log_dirs{"./cordwood-data"};
  std::string metadata_log_dir;                        // "": the first of log_dirs
  std::vector<ListenerAddress> listeners{{"PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092}};  // controller listeners left out
  std::optional<std::vector<ListenerAddress>> advertised_listeners;  // absent: a client is told the address it used
  ListenerAddress controller_listener{"CONTROLLER", "PLAINTEXT", "localhost", 9093};
  std::optional<std::string> rack;                     // broker.rack

  ByteCount metadata_log_max_record_bytes_between_snapshots{20 * MiB};
  DurationMs metadata_log_max_snapshot_interval_ms{3'600'000};
  ByteCount metadata_log_segment_bytes{1 * GiB};       // or internal.metadata.log.segment.bytes, which goes first
  DurationMs metadata_log_segment_ms{604'800'000};
  ByteCount metadata_max_retention_bytes{100 * MiB};
  DurationMs metadata_max_retention_ms{604'800'000};

  bool auto_create_topics_enable = true;
  bool delete_topic_enable = true;
  std::int32_t num_partitions = 1;
  std::int16_t default_replication_factor = 1;
  std::int32_t num_network_threads = 0;                // 0: one loop per core; Kafka's default 3 is not taken over
  ByteCount socket_request_max_bytes{100 * MiB};
  DurationMs connections_max_idle_ms{600'000};
  std::int32_t max_connections = INT32_MAX;
  std::int32_t max_connections_per_ip = INT32_MAX;
  ByteCount fetch_max_bytes{57'671'680};
  std::int32_t max_incremental_fetch_session_cache_slots = 1000;
  std::int32_t max_request_partition_size_limit = 2000;

  std::int32_t offsets_topic_num_partitions = 50;
  std::int16_t offsets_topic_replication_factor = 1;   // Kafka's default 3 cannot be met by one broker
  ByteCount offsets_topic_segment_bytes{104'857'600};
  std::int32_t offset_metadata_max_bytes = 4096;
  std::int64_t offsets_retention_minutes = 10'080;
  DurationMs offsets_retention_check_interval_ms{600'000};
  DurationMs group_min_session_timeout_ms{6'000};
  DurationMs group_max_session_timeout_ms{1'800'000};
  DurationMs group_initial_rebalance_delay_ms{3'000};
  std::int32_t group_max_size = INT32_MAX;

  std::int32_t num_recovery_threads_per_data_dir = 2;
  DurationMs log_flush_offset_checkpoint_interval_ms{60'000};
  DurationMs log_flush_start_offset_checkpoint_interval_ms{60'000};
  DurationMs replica_high_watermark_checkpoint_interval_ms{5'000};
  DurationMs log_flush_scheduler_interval_ms{INT64_MAX};
  DurationMs log_retention_check_interval_ms{300'000};
  DurationMs log_initial_task_delay_ms{30'000};
  DurationMs producer_id_expiration_ms{86'400'000};
  DurationMs producer_id_expiration_check_interval_ms{600'000};

  ByteCount min_free_bytes{64 * MiB};                  // cordwood.min.free.bytes: with less, leaders take no records

  // cordwood.inspector.*: HOST:PORT, empty for none; absent: 127.0.0.1:9192 where that is free. A token, demanded of all who ask.
  // Whether the page may change anything: absent, only of a broker without any settings.
  std::optional<std::string> inspector_listener;
  std::optional<std::string> inspector_token;
  std::optional<bool> inspector_actions;

  // Every key that was set, as text, for DescribeConfigs (STATIC_BROKER_CONFIG) and as defaults of topic configs.
  std::map<std::string, std::string> given;

  // From "key=value" pairs in order, later ones winning. Bad values: Errc::invalid with Kafka's text. A key that only
  // resembles one of Kafka's: Errc::invalid naming both. Keys that nobody knows and keys without effect: one warning
  // each. Errc::unsupported for what would make this more than a single node that serves plain text.
  static Result<Config> from_properties(const std::vector<std::pair<std::string, std::string>>& properties,
                                        Logger& logger);
  // The same from the text of a file, whose name and lines are then part of the messages; `overrides` count as given
  // after it.
  static Result<Config> from_file(std::string_view text, std::string_view file_name,
                                  const std::vector<std::pair<std::string, std::string>>& overrides, Logger& logger);

  // A listener that asks for port 0 has got this one: it is what clients and the metadata are told from now on.
  void set_bound_port(const std::string& listener_name, std::uint16_t port);
};

}  // namespace cordwood::broker
