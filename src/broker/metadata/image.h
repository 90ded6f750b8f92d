// broker/metadata/image.h — what the cluster is: one immutable value, replaced whole per batch of metadata records.
//
// Replay after a restart and running are the same function, apply(). Nothing above the Image knows whether its records
// came from our own Controller or, later, from a remote one. Record formats: docs/formats/metadata_log.md.
// Threads: a shared_ptr<const Image> is safe for all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/types.h"
#include "base/uuid.h"

namespace cordwood::broker::metadata {

struct PartitionState {
  std::vector<NodeId> replicas;   // in order of preference
  std::vector<NodeId> isr;
  std::vector<NodeId> removing_replicas;
  std::vector<NodeId> adding_replicas;
  std::optional<NodeId> leader;   // the wire's -1 is absent
  std::int8_t leader_recovery_state = 0;  // 0 recovered, 1 recovering
  std::int32_t leader_epoch = 0;
  std::int32_t partition_epoch = 0;
  std::vector<Uuid> directories;  // parallel to replicas; empty below metadata.version 17
  std::vector<NodeId> eligible_leader_replicas;
  std::vector<NodeId> last_known_elr;
  bool operator==(const PartitionState&) const = default;
};

struct TopicState {
  std::string name;
  Uuid id;
  std::map<PartitionId, PartitionState> partitions;
  bool operator==(const TopicState&) const = default;
};

struct Endpoint {
  std::string name;  // listener name
  std::string host;
  std::uint16_t port = 0;
  std::int16_t security_protocol = 0;  // 0 PLAINTEXT 1 SSL 2 SASL_PLAINTEXT 3 SASL_SSL
  bool operator==(const Endpoint&) const = default;
};

struct FeatureRange {
  std::int16_t min = 0;
  std::int16_t max = 0;
  bool operator==(const FeatureRange&) const = default;
};

struct BrokerRegistration {
  NodeId id;
  std::int64_t epoch = -1;
  Uuid incarnation;
  std::vector<Endpoint> endpoints;
  std::map<std::string, FeatureRange> features;
  std::optional<std::string> rack;
  bool fenced = true;
  bool in_controlled_shutdown = false;
  bool is_migrating_zk_broker = false;
  std::vector<Uuid> log_dirs;
  std::optional<std::vector<Uuid>> cordoned_log_dirs;
  bool operator==(const BrokerRegistration&) const = default;
};

struct ControllerRegistration {
  NodeId id;
  Uuid incarnation;
  bool zk_migration_ready = false;
  std::vector<Endpoint> endpoints;
  std::map<std::string, FeatureRange> features;
  bool operator==(const ControllerRegistration&) const = default;
};

enum class ResourceType : std::int8_t { topic = 2, broker = 4, broker_logger = 8, client_metrics = 16, group = 32 };

struct ConfigResource {
  ResourceType type = ResourceType::topic;
  std::string name;  // "" for brokers: the cluster-wide default
  friend auto operator<=>(const ConfigResource&, const ConfigResource&) = default;
};
using ConfigValues = std::map<std::string, std::string>;

struct QuotaEntity {
  std::map<std::string, std::optional<std::string>> parts;  // type -> name, absent is the default
  friend auto operator<=>(const QuotaEntity&, const QuotaEntity&) = default;
};

// Kept for the records' sake (snapshots, hand-over to Kafka); a single node acts on none of these yet.
struct ScramCredential {
  ByteVector salt, stored_key, server_key;
  std::int32_t iterations = 0;
  bool operator==(const ScramCredential&) const = default;
};
struct AccessControlEntry {
  std::int8_t resource_type = 0;
  std::string resource_name;
  std::int8_t pattern_type = 0;
  std::string principal;
  std::string host;
  std::int8_t operation = 0;
  std::int8_t permission_type = 0;
  bool operator==(const AccessControlEntry&) const = default;
};
struct DelegationToken {
  std::string owner, requester, token_id;
  std::vector<std::string> renewers;
  std::int64_t issue_timestamp = 0, max_timestamp = 0, expiration_timestamp = 0;
  bool operator==(const DelegationToken&) const = default;
};

// A voter of the KRaft quorum, from KRAFT_VOTERS control records.
struct Voter {
  NodeId id;
  Uuid directory_id;
  std::vector<Endpoint> endpoints;  // security_protocol unused
  std::int16_t min_kraft_version = 0;
  std::int16_t max_kraft_version = 1;
  bool operator==(const Voter&) const = default;
};

struct Image {
  Offset next_offset{0};          // of the metadata log: everything below is in this image
  std::int32_t epoch = 0;         // raft epoch of the last record
  std::int16_t kraft_version = 0;
  std::vector<Voter> voters;      // empty with kraft.version 0

  std::map<std::string, std::shared_ptr<const TopicState>> topics;  // by name
  std::map<Uuid, std::shared_ptr<const TopicState>> topics_by_id;
  std::map<ConfigResource, ConfigValues> configs;
  std::map<std::string, std::int16_t> features;  // finalized levels, metadata.version too; 0 is absent
  std::map<NodeId, BrokerRegistration> brokers;
  std::map<NodeId, ControllerRegistration> controllers;
  std::int64_t next_producer_id = 0;
  std::map<QuotaEntity, std::map<std::string, double>> quotas;
  std::map<std::pair<std::string, std::int8_t>, ScramCredential> scram;  // (user, mechanism)
  std::map<Uuid, AccessControlEntry> acls;
  std::map<std::string, DelegationToken> tokens;

  std::shared_ptr<const TopicState> topic(const std::string& name) const;  // null when there is none
  std::shared_ptr<const TopicState> topic(Uuid id) const;
  const PartitionState* partition(const TopicPartition& partition) const;  // null; lives as long as this image
  const ConfigValues& config(const ConfigResource& resource) const;        // empty when there is none
  std::int16_t metadata_version() const;                                   // 0 when unknown
  std::int16_t feature(const std::string& name) const;                     // 0 when absent
};

// Whether both say the same of the cluster; their places in the log (next_offset, epoch) are not compared.
bool same_content(const Image& a, const Image& b);

}  // namespace cordwood::broker::metadata
