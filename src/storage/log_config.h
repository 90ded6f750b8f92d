// storage/log_config.h — the settings of one log: Kafka's topic configs, in their own spelling.
//
// A value: the broker makes one from the topic's overrides and its own defaults and hands it to PartitionLog, again
// whenever a config changes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/types.h"
#include "record/batch.h"
#include "record/compression.h"

namespace cordwood::storage {

// Where the value of a setting was given, the least specific first.
enum class SettingSource : std::uint8_t { default_value, static_broker, dynamic_cluster, dynamic_broker, topic };

struct LogConfig {
  ByteCount segment_bytes{1 * GiB};
  DurationMs segment_ms{604'800'000};
  DurationMs segment_jitter_ms{0};
  ByteCount segment_index_bytes{10 * MiB};
  ByteCount index_interval_bytes{4096};
  DurationMs retention_ms{604'800'000};
  ByteCount retention_bytes{-1};
  ByteCount max_message_bytes{1'048'588};
  std::int64_t flush_messages = INT64_MAX;
  DurationMs flush_ms{INT64_MAX};
  DurationMs file_delete_delay_ms{60'000};
  DurationMs delete_retention_ms{86'400'000};
  DurationMs min_compaction_lag_ms{0};
  DurationMs max_compaction_lag_ms{INT64_MAX};
  double min_cleanable_dirty_ratio = 0.5;
  bool cleanup_delete = true;    // cleanup.policy contains delete
  bool cleanup_compact = false;  // cleanup.policy contains compact
  bool preallocate = false;
  std::optional<record::CompressionSettings> compression;  // absent: compression.type=producer
  int gzip_level = -1;
  int lz4_level = 9;
  int zstd_level = 3;
  record::TimestampType message_timestamp_type = record::TimestampType::create_time;
  DurationMs message_timestamp_before_max_ms{INT64_MAX};
  DurationMs message_timestamp_after_max_ms{3'600'000};
  ByteCount max_decompressed_message_bytes{2'147'483'639};
  std::int32_t min_insync_replicas = 1;
  // For what explains itself.
  SettingSource retention_ms_source = SettingSource::default_value;
  SettingSource retention_bytes_source = SettingSource::default_value;
  SettingSource cleanup_policy_source = SettingSource::default_value;
  bool operator==(const LogConfig&) const = default;
};

// Settings of the broker that a log needs.
struct ProducerStateConfig {
  DurationMs expiration_ms{86'400'000};  // producer.id.expiration.ms
};

}  // namespace cordwood::storage
