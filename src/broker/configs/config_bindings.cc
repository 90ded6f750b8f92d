#include "broker/configs/config_bindings.h"

namespace cordwood::broker::configs {
namespace {

// The rule of each key keeps its value inside the field's type.
template <auto Member>
void assign(Config& config, const ConfigValue& value) {
  using Field = std::remove_reference_t<decltype(config.*Member)>;
  if constexpr (std::is_same_v<Field, bool> || std::is_same_v<Field, std::optional<bool>>) {
    config.*Member = value.integer != 0;
  } else if constexpr (std::is_integral_v<Field>) {
    config.*Member = static_cast<Field>(value.integer);
  } else if constexpr (std::is_same_v<Field, std::string> || std::is_same_v<Field, std::optional<std::string>>) {
    config.*Member = value.text;
  } else {
    config.*Member = Field{static_cast<typename Field::rep>(value.integer)};
  }
}

constexpr Binding kBindings[] = {
    {"node.id", assign<&Config::node_id>},
    {"metadata.log.dir", assign<&Config::metadata_log_dir>},
    {"metadata.log.max.record.bytes.between.snapshots", assign<&Config::metadata_log_max_record_bytes_between_snapshots>},
    {"metadata.log.max.snapshot.interval.ms", assign<&Config::metadata_log_max_snapshot_interval_ms>},
    {"metadata.log.segment.bytes", assign<&Config::metadata_log_segment_bytes>},
    {"internal.metadata.log.segment.bytes", assign<&Config::metadata_log_segment_bytes>},
    {"metadata.log.segment.ms", assign<&Config::metadata_log_segment_ms>},
    {"metadata.max.retention.bytes", assign<&Config::metadata_max_retention_bytes>},
    {"metadata.max.retention.ms", assign<&Config::metadata_max_retention_ms>},
    {"broker.rack", assign<&Config::rack>},
    {"auto.create.topics.enable", assign<&Config::auto_create_topics_enable>},
    {"delete.topic.enable", assign<&Config::delete_topic_enable>},
    {"num.partitions", assign<&Config::num_partitions>},
    {"default.replication.factor", assign<&Config::default_replication_factor>},
    {"num.network.threads", assign<&Config::num_network_threads>},
    {"socket.request.max.bytes", assign<&Config::socket_request_max_bytes>},
    {"connections.max.idle.ms", assign<&Config::connections_max_idle_ms>},
    {"max.connections", assign<&Config::max_connections>},
    {"max.connections.per.ip", assign<&Config::max_connections_per_ip>},
    {"fetch.max.bytes", assign<&Config::fetch_max_bytes>},
    {"max.incremental.fetch.session.cache.slots", assign<&Config::max_incremental_fetch_session_cache_slots>},
    {"max.request.partition.size.limit", assign<&Config::max_request_partition_size_limit>},
    {"offsets.topic.num.partitions", assign<&Config::offsets_topic_num_partitions>},
    {"offsets.topic.replication.factor", assign<&Config::offsets_topic_replication_factor>},
    {"offsets.topic.segment.bytes", assign<&Config::offsets_topic_segment_bytes>},
    {"offset.metadata.max.bytes", assign<&Config::offset_metadata_max_bytes>},
    {"offsets.retention.minutes", assign<&Config::offsets_retention_minutes>},
    {"offsets.retention.check.interval.ms", assign<&Config::offsets_retention_check_interval_ms>},
    {"group.min.session.timeout.ms", assign<&Config::group_min_session_timeout_ms>},
    {"group.max.session.timeout.ms", assign<&Config::group_max_session_timeout_ms>},
    {"group.initial.rebalance.delay.ms", assign<&Config::group_initial_rebalance_delay_ms>},
    {"group.max.size", assign<&Config::group_max_size>},
    {"num.recovery.threads.per.data.dir", assign<&Config::num_recovery_threads_per_data_dir>},
    {"log.flush.offset.checkpoint.interval.ms", assign<&Config::log_flush_offset_checkpoint_interval_ms>},
    {"log.flush.start.offset.checkpoint.interval.ms", assign<&Config::log_flush_start_offset_checkpoint_interval_ms>},
    {"replica.high.watermark.checkpoint.interval.ms", assign<&Config::replica_high_watermark_checkpoint_interval_ms>},
    {"log.flush.scheduler.interval.ms", assign<&Config::log_flush_scheduler_interval_ms>},
    {"log.retention.check.interval.ms", assign<&Config::log_retention_check_interval_ms>},
    {"log.initial.task.delay.ms", assign<&Config::log_initial_task_delay_ms>},
    {"cordwood.min.free.bytes", assign<&Config::min_free_bytes>},
    {"cordwood.inspector.listener", assign<&Config::inspector_listener>},
    {"cordwood.inspector.token", assign<&Config::inspector_token>},
    {"cordwood.inspector.actions", assign<&Config::inspector_actions>},
    {"producer.id.expiration.ms", assign<&Config::producer_id_expiration_ms>},
    {"producer.id.expiration.check.interval.ms", assign<&Config::producer_id_expiration_check_interval_ms>},
};

}  // namespace

std::span<const Binding> config_bindings() { return kBindings; }

}  // namespace cordwood::broker::configs
