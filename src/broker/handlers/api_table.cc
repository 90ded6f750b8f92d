#include "broker/handlers/api_table.h"

#include <algorithm>
#include <array>

namespace cordwood::broker {
namespace {
constexpr std::array kApis = {
    ApiEntry{0, "Produce", 0, 3, 13, handle_produce},
    ApiEntry{1, "Fetch", 4, 4, 18, handle_fetch},
    ApiEntry{2, "ListOffsets", 1, 1, 11, handle_list_offsets},
    ApiEntry{3, "Metadata", 0, 0, 13, handle_metadata},
    ApiEntry{8, "OffsetCommit", 2, 2, 10, handle_offset_commit},
    ApiEntry{9, "OffsetFetch", 1, 1, 10, handle_offset_fetch},
    ApiEntry{10, "FindCoordinator", 0, 0, 6, handle_find_coordinator},
    ApiEntry{11, "JoinGroup", 0, 0, 9, handle_join_group},
    ApiEntry{12, "Heartbeat", 0, 0, 4, handle_heartbeat},
    ApiEntry{13, "LeaveGroup", 0, 0, 5, handle_leave_group},
    ApiEntry{14, "SyncGroup", 0, 0, 5, handle_sync_group},
    ApiEntry{15, "DescribeGroups", 0, 0, 6, handle_describe_groups},
    ApiEntry{16, "ListGroups", 0, 0, 5, handle_list_groups},
    ApiEntry{18, "ApiVersions", 0, 0, 5, handle_api_versions},
    ApiEntry{19, "CreateTopics", 2, 2, 7, handle_create_topics},
    ApiEntry{20, "DeleteTopics", 1, 1, 6, handle_delete_topics},
    ApiEntry{21, "DeleteRecords", 0, 0, 2, handle_delete_records},
    ApiEntry{22, "InitProducerId", 0, 0, 5, handle_init_producer_id},
    ApiEntry{23, "OffsetForLeaderEpoch", 2, 2, 4, handle_offset_for_leader_epoch},
    ApiEntry{32, "DescribeConfigs", 1, 1, 4, handle_describe_configs},
    ApiEntry{33, "AlterConfigs", 0, 0, 2, handle_alter_configs},
    ApiEntry{34, "AlterReplicaLogDirs", 1, 1, 2, handle_alter_replica_log_dirs},
    ApiEntry{35, "DescribeLogDirs", 1, 1, 5, handle_describe_log_dirs},
    ApiEntry{37, "CreatePartitions", 0, 0, 3, handle_create_partitions},
    ApiEntry{42, "DeleteGroups", 0, 0, 3, handle_delete_groups},
    ApiEntry{44, "IncrementalAlterConfigs", 0, 0, 1, handle_incremental_alter_configs},
    ApiEntry{45, "AlterPartitionReassignments", 0, 0, 1, handle_alter_partition_reassignments},
    ApiEntry{46, "ListPartitionReassignments", 0, 0, 0, handle_list_partition_reassignments},
    ApiEntry{47, "OffsetDelete", 0, 0, 0, handle_offset_delete},
    ApiEntry{60, "DescribeCluster", 0, 0, 2, handle_describe_cluster},
    ApiEntry{74, "ListConfigResources", 0, 0, 1, handle_list_config_resources},
    ApiEntry{75, "DescribeTopicPartitions", 0, 0, 0, handle_describe_topic_partitions},
};
static_assert(std::ranges::is_sorted(kApis, {}, &ApiEntry::key));
}  // namespace

std::span<const ApiEntry> api_table() { return kApis; }

const ApiEntry* find_api(std::int16_t key) {
  auto at = std::ranges::lower_bound(kApis, key, {}, &ApiEntry::key);
  return at != kApis.end() && at->key == key ? &*at : nullptr;
}

}  // namespace cordwood::broker
