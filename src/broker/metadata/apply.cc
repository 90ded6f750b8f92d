#include "broker/metadata/apply.h"
#include "broker/metadata/wire_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace cordwood::broker::metadata {
namespace {

constexpr std::int32_t kLeaderUnchanged = -2;  // of a PartitionChange
constexpr std::int8_t kRecoveryStateUnchanged = -1;

std::vector<NodeId> nodes(const std::vector<std::int32_t>& ids) {
  std::vector<NodeId> result;
  result.reserve(ids.size());
  for (std::int32_t id : ids) result.push_back(NodeId{id});
  return result;
}

std::vector<NodeId> nodes(const std::optional<std::vector<std::int32_t>>& ids) {
  return ids ? nodes(*ids) : std::vector<NodeId>{};
}

std::optional<NodeId> leader_of(std::int32_t id) {
  if (id == kNoLeader) return std::nullopt;
  return NodeId{id};
}

template <class EndPoints>
std::vector<Endpoint> endpoints(const EndPoints& from) {
  std::vector<Endpoint> result;
  for (const auto& end_point : from) {
    result.push_back({end_point.name, end_point.host, end_point.port, end_point.security_protocol});
  }
  return result;
}

template <class Features>
std::map<std::string, FeatureRange> ranges(const Features& from) {
  std::map<std::string, FeatureRange> result;
  for (const auto& feature : from) {
    result[feature.name] = {feature.min_supported_version, feature.max_supported_version};
  }
  return result;
}

// Directories for a new list of replicas: who stays keeps its own, who comes has none yet.
std::vector<Uuid> directories_for(const std::vector<NodeId>& replicas, const PartitionState& before) {
  std::vector<Uuid> result;
  for (NodeId replica : replicas) {
    auto at = std::ranges::find(before.replicas, replica);
    auto index = static_cast<std::size_t>(at - before.replicas.begin());
    result.push_back(index < before.directories.size() ? before.directories[index] : kUnassignedDirectory);
  }
  return result;
}

template <class... Args>
Error contradiction(fmt::format_string<Args...> text, Args&&... args) {
  return Error{Errc::corrupt, fmt::format(text, std::forward<Args>(args)...)};
}

}  // namespace

TopicState* ImageBuilder::writable_topic(Uuid id) {
  if (auto own = owned_.find(id); own != owned_.end()) return own->second.get();
  auto at = image_.topics_by_id.find(id);
  if (at == image_.topics_by_id.end()) return nullptr;
  auto copy = std::make_shared<TopicState>(*at->second);
  at->second = copy;
  image_.topics[copy->name] = copy;
  owned_.emplace(id, copy);
  return copy.get();
}

Result<BrokerRegistration*> ImageBuilder::registered(std::int32_t id, std::int64_t epoch, const char* record_name) {
  auto at = image_.brokers.find(NodeId{id});
  if (at == image_.brokers.end()) return contradiction("a {} of broker {}, which is not registered", record_name, id);
  if (at->second.epoch != epoch) {
    return contradiction("a {} of broker {} with epoch {}, which is registered with epoch {}", record_name, id, epoch,
                         at->second.epoch);
  }
  return &at->second;
}

Result<void> ImageBuilder::change(const RegisterBrokerRecord& record) {
  BrokerRegistration broker;
  broker.id = NodeId{record.broker_id};
  broker.epoch = record.broker_epoch;
  broker.incarnation = record.incarnation_id;
  broker.endpoints = endpoints(record.end_points);
  broker.features = ranges(record.features);
  broker.rack = record.rack;
  broker.fenced = record.fenced;
  broker.in_controlled_shutdown = record.in_controlled_shutdown;
  broker.is_migrating_zk_broker = record.is_migrating_zk_broker;
  broker.log_dirs = record.log_dirs;
  broker.cordoned_log_dirs = record.cordoned_log_dirs;
  image_.brokers[broker.id] = std::move(broker);
  return {};
}

Result<void> ImageBuilder::change(const UnregisterBrokerRecord& record) {
  TRY(registered(record.broker_id, record.broker_epoch, record.kName));
  image_.brokers.erase(NodeId{record.broker_id});
  return {};
}

Result<void> ImageBuilder::change(const TopicRecord& record) {
  if (auto there = image_.topic(record.name)) {
    return contradiction("a TopicRecord gives topic '{}' the id {}, but it has the id {}", record.name,
                         record.topic_id.to_string(), there->id.to_string());
  }
  if (auto there = image_.topic(record.topic_id)) {
    return contradiction("a TopicRecord gives topic '{}' the id {}, which topic '{}' has", record.name,
                         record.topic_id.to_string(), there->name);
  }
  auto topic = std::make_shared<TopicState>(TopicState{record.name, record.topic_id, {}});
  image_.topics[record.name] = topic;
  image_.topics_by_id[record.topic_id] = topic;
  owned_[record.topic_id] = std::move(topic);
  return {};
}

Result<void> ImageBuilder::change(const PartitionRecord& record) {
  TopicState* topic = writable_topic(record.topic_id);
  if (topic == nullptr) {
    return contradiction("a PartitionRecord for partition {} of topic id {}, which no record named before",
                         record.partition_id, record.topic_id.to_string());
  }
  if (record.partition_id < 0) {
    return contradiction("a PartitionRecord for partition {} of topic '{}'", record.partition_id, topic->name);
  }
  PartitionState partition;
  partition.replicas = nodes(record.replicas);
  partition.isr = nodes(record.isr);
  partition.removing_replicas = nodes(record.removing_replicas);
  partition.adding_replicas = nodes(record.adding_replicas);
  partition.leader = leader_of(record.leader);
  partition.leader_recovery_state = record.leader_recovery_state;
  partition.leader_epoch = record.leader_epoch;
  partition.partition_epoch = record.partition_epoch;
  partition.directories = record.directories;
  partition.eligible_leader_replicas = nodes(record.eligible_leader_replicas);
  partition.last_known_elr = nodes(record.last_known_elr);
  topic->partitions[PartitionId{record.partition_id}] = std::move(partition);
  return {};
}

Result<void> ImageBuilder::change(const PartitionChangeRecord& record) {
  TopicState* topic = writable_topic(record.topic_id);
  if (topic == nullptr) {
    return contradiction("a PartitionChangeRecord for partition {} of topic id {}, which no record named before",
                         record.partition_id, record.topic_id.to_string());
  }
  auto at = topic->partitions.find(PartitionId{record.partition_id});
  if (at == topic->partitions.end()) {
    return contradiction("a PartitionChangeRecord for partition {} of topic '{}', which has no such partition",
                         record.partition_id, topic->name);
  }
  PartitionState& partition = at->second;
  if (record.directories) {
    partition.directories = *record.directories;
  } else if (record.replicas && !partition.directories.empty()) {
    partition.directories = directories_for(nodes(*record.replicas), partition);
  }
  if (record.replicas) partition.replicas = nodes(*record.replicas);
  if (record.isr) partition.isr = nodes(*record.isr);
  if (record.removing_replicas) partition.removing_replicas = nodes(*record.removing_replicas);
  if (record.adding_replicas) partition.adding_replicas = nodes(*record.adding_replicas);
  if (record.leader_recovery_state != kRecoveryStateUnchanged) {
    partition.leader_recovery_state = record.leader_recovery_state;
  }
  if (record.eligible_leader_replicas) partition.eligible_leader_replicas = nodes(*record.eligible_leader_replicas);
  if (record.last_known_elr) partition.last_known_elr = nodes(*record.last_known_elr);
  if (record.leader != kLeaderUnchanged) {
    partition.leader = leader_of(record.leader);
    ++partition.leader_epoch;
  }
  ++partition.partition_epoch;
  return {};
}

Result<void> ImageBuilder::change(const ConfigRecord& record) {
  ConfigResource resource{static_cast<ResourceType>(record.resource_type), record.resource_name};
  if (record.value) {
    image_.configs[resource][record.name] = *record.value;
    return {};
  }
  auto at = image_.configs.find(resource);
  if (at == image_.configs.end()) return {};
  at->second.erase(record.name);
  if (at->second.empty()) image_.configs.erase(at);
  return {};
}

Result<void> ImageBuilder::change(const FenceBrokerRecord& record) {
  TRY(registered(record.id, record.epoch, record.kName))->fenced = true;
  return {};
}

Result<void> ImageBuilder::change(const UnfenceBrokerRecord& record) {
  TRY(registered(record.id, record.epoch, record.kName))->fenced = false;
  return {};
}

Result<void> ImageBuilder::change(const BrokerRegistrationChangeRecord& record) {
  BrokerRegistration* broker = TRY(registered(record.broker_id, record.broker_epoch, record.kName));
  if (record.fenced == kFence) broker->fenced = true;
  if (record.fenced == kUnfence) broker->fenced = false;
  if (record.in_controlled_shutdown == kEnterControlledShutdown) broker->in_controlled_shutdown = true;
  if (!record.log_dirs.empty()) broker->log_dirs = record.log_dirs;
  if (record.cordoned_log_dirs) broker->cordoned_log_dirs = record.cordoned_log_dirs;
  return {};
}

Result<void> ImageBuilder::change(const RemoveTopicRecord& record) {
  auto topic = image_.topic(record.topic_id);
  if (topic == nullptr) {
    return contradiction("a RemoveTopicRecord for topic id {}, which no record named before", record.topic_id.to_string());
  }
  image_.topics.erase(topic->name);
  image_.topics_by_id.erase(record.topic_id);
  image_.configs.erase({ResourceType::topic, topic->name});
  owned_.erase(record.topic_id);
  return {};
}

Result<void> ImageBuilder::change(const FeatureLevelRecord& record) {
  if (record.feature_level == 0) {
    image_.features.erase(record.name);
  } else {
    image_.features[record.name] = record.feature_level;
  }
  return {};
}

Result<void> ImageBuilder::change(const ClientQuotaRecord& record) {
  QuotaEntity entity;
  for (const auto& part : record.entity) entity.parts[part.entity_type] = part.entity_name;
  if (!record.remove) {
    image_.quotas[entity][record.key] = record.value;
    return {};
  }
  auto at = image_.quotas.find(entity);
  if (at == image_.quotas.end()) return {};
  at->second.erase(record.key);
  if (at->second.empty()) image_.quotas.erase(at);
  return {};
}

Result<void> ImageBuilder::change(const ProducerIdsRecord& record) {
  image_.next_producer_id = record.next_producer_id;
  return {};
}

Result<void> ImageBuilder::change(const UserScramCredentialRecord& record) {
  image_.scram[{record.name, record.mechanism}] = {record.salt, record.stored_key, record.server_key, record.iterations};
  return {};
}

Result<void> ImageBuilder::change(const RemoveUserScramCredentialRecord& record) {
  image_.scram.erase({record.name, record.mechanism});
  return {};
}

Result<void> ImageBuilder::change(const AccessControlEntryRecord& record) {
  image_.acls[record.id] = {record.resource_type, record.resource_name, record.pattern_type,   record.principal,
                            record.host,          record.operation,     record.permission_type};
  return {};
}

Result<void> ImageBuilder::change(const RemoveAccessControlEntryRecord& record) {
  image_.acls.erase(record.id);
  return {};
}

Result<void> ImageBuilder::change(const DelegationTokenRecord& record) {
  DelegationToken& token = image_.tokens[record.token_id];
  token.owner = record.owner;
  token.requester = record.requester;
  token.token_id = record.token_id;
  token.renewers = record.renewers;
  token.issue_timestamp = record.issue_timestamp;
  token.max_timestamp = record.max_timestamp;
  token.expiration_timestamp = record.expiration_timestamp;
  return {};
}

Result<void> ImageBuilder::change(const RemoveDelegationTokenRecord& record) {
  image_.tokens.erase(record.token_id);
  return {};
}

Result<void> ImageBuilder::change(const RegisterControllerRecord& record) {
  ControllerRegistration controller;
  controller.id = NodeId{record.controller_id};
  controller.incarnation = record.incarnation_id;
  controller.zk_migration_ready = record.zk_migration_ready;
  controller.endpoints = endpoints(record.end_points);
  controller.features = ranges(record.features);
  image_.controllers[controller.id] = std::move(controller);
  return {};
}

Result<void> ImageBuilder::change(const UnregisterControllerRecord& record) {
  image_.controllers.erase(NodeId{record.controller_id});
  return {};
}

Result<void> ImageBuilder::change(const ClearElrRecord& record) {
  auto clear = [&](Uuid id) {
    for (auto& [index, partition] : writable_topic(id)->partitions) {
      partition.eligible_leader_replicas.clear();
      partition.last_known_elr.clear();
    }
  };
  // Without a name: every topic.
  if (!record.topic_name.empty()) {
    auto topic = image_.topic(record.topic_name);
    if (topic == nullptr) return contradiction("a ClearElrRecord for topic '{}', which is not there", record.topic_name);
    clear(topic->id);
    return {};
  }
  std::vector<Uuid> ids;
  for (const auto& [id, topic] : image_.topics_by_id) ids.push_back(id);
  std::ranges::for_each(ids, clear);
  return {};
}

// Neither says anything of the cluster: one keeps the log moving, the other was for clusters that came from ZooKeeper.
Result<void> ImageBuilder::change(const NoOpRecord&) { return {}; }
Result<void> ImageBuilder::change(const ZkMigrationRecord&) { return {}; }

Result<void> ImageBuilder::change(const BeginTransactionRecord& record) {
  if (pending_) return contradiction("a BeginTransactionRecord inside of a metadata transaction");
  pending_.emplace();
  transaction_name_ = record.name.value_or("");
  return {};
}

Result<void> ImageBuilder::change(const EndTransactionRecord&) {
  if (!pending_) return contradiction("an EndTransactionRecord outside of a metadata transaction");
  std::vector<MetadataRecord> records = std::move(*pending_);
  pending_.reset();
  for (const MetadataRecord& record : records) TRY(apply_now(record));
  return {};
}

Result<void> ImageBuilder::change(const AbortTransactionRecord&) {
  if (!pending_) return contradiction("an AbortTransactionRecord outside of a metadata transaction");
  pending_.reset();
  return {};
}

Result<void> ImageBuilder::apply_now(const MetadataRecord& record) {
  return std::visit([this](const auto& body) { return change(body); }, record.body);
}

Result<void> ImageBuilder::apply(const MetadataRecord& record) {
  bool frames_transaction = std::holds_alternative<BeginTransactionRecord>(record.body) ||
                            std::holds_alternative<EndTransactionRecord>(record.body) ||
                            std::holds_alternative<AbortTransactionRecord>(record.body);
  if (pending_ && !frames_transaction) {
    pending_->push_back(record);
    return {};
  }
  return apply_now(record);
}

void ImageBuilder::apply(const ControlRecord& record) {
  if (const auto* version = std::get_if<KRaftVersionRecord>(&record)) image_.kraft_version = version->kraft_version;
  if (const auto* voters = std::get_if<VotersRecord>(&record)) image_.voters = from_record(*voters);
}

void ImageBuilder::set_position(Offset next_offset, std::int32_t epoch) {
  image_.next_offset = next_offset;
  image_.epoch = epoch;
}

Image ImageBuilder::take() {
  owned_.clear();
  return std::exchange(image_, Image{});
}

Result<Image> apply(const Image& base, std::span<const MetadataRecord> records, std::int32_t epoch) {
  ImageBuilder builder(base);
  for (const MetadataRecord& record : records) TRY(builder.apply(record));
  if (builder.in_transaction()) return contradiction("a metadata transaction is left open");
  builder.set_position(base.next_offset + OffsetDelta{static_cast<std::int64_t>(records.size())}, epoch);
  return builder.take();
}

}  // namespace cordwood::broker::metadata
