// broker/handlers/api_table.h — which APIs are served, in which versions, by which function.
//
// ApiVersions answers from this table, so it says only what is truly served; ranges are Apache Kafka 4.4.0's.
#pragma once

#include <cstdint>
#include <span>

#include "broker/exchange.h"

namespace cordwood::broker {

using Handler = void (*)(Broker&, Exchange);

struct ApiEntry {
  std::int16_t key;
  const char* name;
  std::int16_t min_advertised;  // Produce says 0, though 3 is the lowest accepted (KAFKA-18659)
  std::int16_t min_version;     // lowest accepted
  std::int16_t max_version;     // inclusive
  Handler handler;
};

std::span<const ApiEntry> api_table();         // ascending by key
const ApiEntry* find_api(std::int16_t key);    // null when not served

// One file each: handlers/NN_name.cc.
void handle_produce(Broker&, Exchange);
void handle_fetch(Broker&, Exchange);
void handle_list_offsets(Broker&, Exchange);
void handle_metadata(Broker&, Exchange);
void handle_offset_commit(Broker&, Exchange);
void handle_offset_fetch(Broker&, Exchange);
void handle_find_coordinator(Broker&, Exchange);
void handle_join_group(Broker&, Exchange);
void handle_heartbeat(Broker&, Exchange);
void handle_leave_group(Broker&, Exchange);
void handle_sync_group(Broker&, Exchange);
void handle_describe_groups(Broker&, Exchange);
void handle_list_groups(Broker&, Exchange);
void handle_api_versions(Broker&, Exchange);
void handle_create_topics(Broker&, Exchange);
void handle_delete_topics(Broker&, Exchange);
void handle_delete_records(Broker&, Exchange);
void handle_init_producer_id(Broker&, Exchange);
void handle_offset_for_leader_epoch(Broker&, Exchange);
void handle_describe_configs(Broker&, Exchange);
void handle_alter_configs(Broker&, Exchange);
void handle_alter_replica_log_dirs(Broker&, Exchange);
void handle_describe_log_dirs(Broker&, Exchange);
void handle_create_partitions(Broker&, Exchange);
void handle_delete_groups(Broker&, Exchange);
void handle_incremental_alter_configs(Broker&, Exchange);
void handle_alter_partition_reassignments(Broker&, Exchange);
void handle_list_partition_reassignments(Broker&, Exchange);
void handle_offset_delete(Broker&, Exchange);
void handle_describe_cluster(Broker&, Exchange);
void handle_list_config_resources(Broker&, Exchange);
void handle_describe_topic_partitions(Broker&, Exchange);

}  // namespace cordwood::broker
