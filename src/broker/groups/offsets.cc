// Committed offsets: OffsetCommit, OffsetFetch, OffsetDelete, and their expiry.
#include <algorithm>

#include "broker/groups/coordinator_impl.h"

namespace cordwood::broker::groups {

using protocol::ErrorCode;

namespace {

// May this commit be taken? Kafka's order: a missing group, then members, then the generation, then the state.
ErrorCode check_commit(const Group* group, const protocol::OffsetCommitRequest& request, std::int16_t version) {
  const std::int32_t generation = request.generation_id_or_member_epoch;
  if (group == nullptr) {
    if (generation < 0) return ErrorCode::NONE;
    return version >= 9 ? ErrorCode::GROUP_ID_NOT_FOUND : ErrorCode::ILLEGAL_GENERATION;
  }
  const bool simple = generation < 0 && group->state() == GroupState::empty;
  if (!simple) {
    if (generation >= 0 || !request.member_id.empty() || request.group_instance_id) {
      auto error = group->validate_member(request.member_id, request.group_instance_id);
      if (error != ErrorCode::NONE) return error;
      if (generation != group->generation()) return ErrorCode::ILLEGAL_GENERATION;
    } else if (group->state() != GroupState::empty) {
      return ErrorCode::UNKNOWN_MEMBER_ID;
    }
  }
  return group->state() == GroupState::completing_rebalance ? ErrorCode::REBALANCE_IN_PROGRESS : ErrorCode::NONE;
}

}  // namespace

protocol::OffsetCommitResponse Coordinator::commit(const protocol::OffsetCommitRequest& request, const Caller& caller,
                                                   std::shared_ptr<Partition>* waits_for) {
  protocol::OffsetCommitResponse response;
  auto image = impl_->broker.image();

  // The partitions that exist; the others are answered one by one and do not keep these from being stored.
  struct Wanted {
    std::size_t topic, partition;
    OffsetRecord record;
  };
  std::vector<Wanted> wanted;
  const TimestampMs now = impl_->broker.clock().now();
  for (const auto& topic : request.topics) {
    protocol::OffsetCommitResponse::Topic answer;
    answer.name = topic.name;
    answer.topic_id = topic.topic_id;
    auto known = caller.version >= 10 ? image->topic(topic.topic_id) : image->topic(topic.name);
    for (const auto& partition : topic.partitions) {
      protocol::OffsetCommitResponse::Partition result;
      result.partition_index = partition.partition_index;
      if (!known) {
        result.error_code = caller.version >= 10 ? ErrorCode::UNKNOWN_TOPIC_ID : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      } else if (!known->partitions.contains(PartitionId{partition.partition_index})) {
        result.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      } else if (partition.committed_metadata &&
                 static_cast<std::int64_t>(partition.committed_metadata->size()) >
                     impl_->broker.config().offset_metadata_max_bytes) {
        result.error_code = ErrorCode::OFFSET_METADATA_TOO_LARGE;
      } else {
        OffsetCommitValue value;
        value.offset = partition.committed_offset;
        value.leader_epoch = partition.committed_leader_epoch;
        value.metadata = partition.committed_metadata.value_or("");
        value.commit_timestamp = now.value;
        if (request.retention_time_ms >= 0) value.expire_timestamp = now.value + request.retention_time_ms;
        value.topic_id = known->id;
        wanted.push_back({response.topics.size(), answer.partitions.size(),
                          OffsetRecord{request.group_id, {known->name, PartitionId{partition.partition_index}}, std::move(value)}});
      }
      answer.partitions.push_back(result);
    }
    response.topics.push_back(std::move(answer));
  }
  auto fail_all = [&](ErrorCode error) {
    for (auto& topic : response.topics) {
      for (auto& partition : topic.partitions) partition.error_code = error;
    }
  };

  auto shard = impl_->shard_of(request.group_id);
  if (!shard) {
    fail_all(impl_->why_no_shard(request.group_id));
    return response;
  }
  MutexLock lock(shard->mu);
  auto at = shard->groups.find(request.group_id);
  Group* group = at == shard->groups.end() ? nullptr : &at->second;
  if (auto error = check_commit(group, request, caller.version); error != ErrorCode::NONE) {
    fail_all(error);
    return response;
  }
  if (group != nullptr) {
    if (Member* member = group->find(request.member_id)) impl_->restart_session(shard, *group, *member);
  }
  std::vector<GroupRecord> records;
  for (const auto& w : wanted) records.emplace_back(w.record);
  bool flush_due = false;
  auto error = impl_->append(*shard, records, waits_for == nullptr ? nullptr : &flush_due);
  if (flush_due) *waits_for = shard->partition;
  for (const auto& w : wanted) {
    response.topics[w.topic].partitions[w.partition].error_code = error;
    if (error == ErrorCode::NONE) impl_->apply(*shard, w.record);
  }
  return response;
}

protocol::OffsetFetchResponse Coordinator::fetch(const protocol::OffsetFetchRequest& request, const Caller& caller) {
  protocol::OffsetFetchResponse response;
  auto image = impl_->broker.image();
  auto committed = [](const Group* group, const std::string& topic, std::int32_t partition) -> const CommittedOffset* {
    if (group == nullptr) return nullptr;
    auto at = group->offsets().find({topic, PartitionId{partition}});
    return at == group->offsets().end() ? nullptr : &at->second;
  };
  auto fill = [](auto& answer, std::int32_t index, const CommittedOffset* offset) {
    answer.partition_index = index;
    answer.committed_offset = offset != nullptr ? offset->offset.value : -1;
    answer.committed_leader_epoch = offset != nullptr ? offset->leader_epoch : -1;
    answer.metadata = offset != nullptr ? offset->metadata : "";
  };

  if (caller.version < 8) {
    auto shard = impl_->shard_of(request.group_id);
    if (!shard) {
      if (caller.version >= 2) {
        response.error_code = impl_->why_no_shard(request.group_id);
        return response;
      }
      for (const auto& topic : request.topics.value_or(std::vector<protocol::OffsetFetchRequest::Topic>{})) {
        auto& answer = response.topics.emplace_back();
        answer.name = topic.name;
        for (auto index : topic.partition_indexes) {
          fill(answer.partitions.emplace_back(), index, nullptr);
          answer.partitions.back().error_code = impl_->why_no_shard(request.group_id);
        }
      }
      return response;
    }
    MutexLock lock(shard->mu);
    auto at = shard->groups.find(request.group_id);
    const Group* group = at == shard->groups.end() ? nullptr : &at->second;
    if (request.topics) {
      for (const auto& topic : *request.topics) {
        auto& answer = response.topics.emplace_back();
        answer.name = topic.name;
        for (auto index : topic.partition_indexes) {
          fill(answer.partitions.emplace_back(), index, committed(group, topic.name, index));
        }
      }
    } else if (group != nullptr) {
      for (const auto& [partition, offset] : group->offsets()) {
        if (response.topics.empty() || response.topics.back().name != partition.topic) {
          response.topics.emplace_back().name = partition.topic;
        }
        fill(response.topics.back().partitions.emplace_back(), partition.partition.value, &offset);
      }
    }
    return response;
  }

  const bool by_id = caller.version >= 10;
  for (const auto& asked : request.groups) {
    auto& result = response.groups.emplace_back();
    result.group_id = asked.group_id;
    auto shard = impl_->shard_of(asked.group_id);
    if (!shard) {
      result.error_code = impl_->why_no_shard(asked.group_id);
      continue;
    }
    MutexLock lock(shard->mu);
    auto at = shard->groups.find(asked.group_id);
    const Group* group = at == shard->groups.end() ? nullptr : &at->second;
    // A KIP-848 member id or epoch is checked only for groups of that protocol, which are not served yet.
    if (asked.topics) {
      for (const auto& topic : *asked.topics) {
        auto& answer = result.topics.emplace_back();
        answer.name = topic.name;
        answer.topic_id = topic.topic_id;
        auto known = by_id ? image->topic(topic.topic_id) : nullptr;
        for (auto index : topic.partition_indexes) {
          auto& partition = answer.partitions.emplace_back();
          if (by_id && !known) {
            fill(partition, index, nullptr);
            partition.error_code = ErrorCode::UNKNOWN_TOPIC_ID;
          } else {
            fill(partition, index, committed(group, by_id ? known->name : topic.name, index));
          }
        }
      }
    } else if (group != nullptr) {
      const std::string* current = nullptr;
      for (const auto& [partition, offset] : group->offsets()) {
        if (current == nullptr || *current != partition.topic) {
          auto known = image->topic(partition.topic);
          if (by_id && !known) continue;
          current = &partition.topic;
          auto& answer = result.topics.emplace_back();
          answer.name = partition.topic;
          if (known) answer.topic_id = known->id;
        }
        fill(result.topics.back().partitions.emplace_back(), partition.partition.value, &offset);
      }
    }
  }
  return response;
}

protocol::OffsetDeleteResponse Coordinator::delete_offsets(const protocol::OffsetDeleteRequest& request) {
  protocol::OffsetDeleteResponse response;
  auto image = impl_->broker.image();
  auto shard = impl_->shard_of(request.group_id);
  if (!shard) {
    response.error_code = impl_->why_no_shard(request.group_id);
    return response;
  }
  MutexLock lock(shard->mu);
  auto at = shard->groups.find(request.group_id);
  if (at == shard->groups.end()) {
    response.error_code = ErrorCode::GROUP_ID_NOT_FOUND;
    return response;
  }
  Group& group = at->second;
  std::set<std::string> subscribed;
  if (group.state() != GroupState::empty) {
    if (group.protocol_type() != "consumer") {
      response.error_code = ErrorCode::NON_EMPTY_GROUP;
      return response;
    }
    if (auto topics = group.subscribed_topics()) subscribed = std::move(*topics);
  }
  std::vector<GroupRecord> records;
  for (const auto& topic : request.topics) {
    auto& answer = response.topics.emplace_back();
    answer.name = topic.name;
    auto known = image->topic(topic.name);
    for (const auto& partition : topic.partitions) {
      auto& result = answer.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      const TopicPartition name{topic.name, PartitionId{partition.partition_index}};
      if (!known || !known->partitions.contains(name.partition)) {
        result.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      } else if (subscribed.contains(topic.name)) {
        result.error_code = ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC;
      } else if (group.offsets().contains(name)) {
        records.emplace_back(OffsetRecord{request.group_id, name, std::nullopt});
      }
    }
  }
  response.error_code = impl_->append(*shard, records);
  if (response.error_code == ErrorCode::NONE) {
    for (const auto& record : records) impl_->apply(*shard, record);
  }
  return response;
}

void Coordinator::Impl::arm_expiry() {
  std::weak_ptr<Impl> weak = weak_from_this();
  broker.background().schedule(broker.clock().monotonic() + to_ns(broker.config().offsets_retention_check_interval_ms),
                               [weak] {
                                 auto self = weak.lock();
                                 if (!self || self->stopped) return;
                                 self->expire();
                                 self->arm_expiry();
                               });
}

std::size_t Coordinator::Impl::expire() {
  const TimestampMs now = broker.clock().now();
  const DurationMs retention{broker.config().offsets_retention_minutes * 60'000};
  std::size_t removed = 0;
  for (auto& shard : all_shards()) {
    MutexLock lock(shard->mu);
    std::vector<GroupRecord> records;
    for (const auto& [id, group] : shard->groups) {
      // Counted from the moment the group became empty; for groups without a protocol from the commit; with members, only
      // offsets of topics that nobody subscribes to.
      const bool empty = group.state() == GroupState::empty;
      const bool simple = group.protocol_type().empty();
      std::optional<std::set<std::string>> subscribed;
      if (!empty) subscribed = group.subscribed_topics();
      std::size_t kept = 0;
      for (const auto& [partition, offset] : group.offsets()) {
        bool expired = false;
        if (offset.expires_at) {
          expired = *offset.expires_at <= now;
        } else if (empty && !simple) {
          TimestampMs since = std::max(group.state_since(), offset.committed_at);
          expired = (now - since) >= retention;
        } else if (empty || (subscribed && !subscribed->contains(partition.topic))) {
          expired = (now - offset.committed_at) >= retention;
        }
        if (expired) {
          records.emplace_back(OffsetRecord{id, partition, std::nullopt});
        } else {
          ++kept;
        }
      }
      if (empty && kept == 0 && group.pending_members().empty()) {
        records.emplace_back(GroupRecordOf{id, std::nullopt});
      }
    }
    if (records.empty()) continue;
    if (auto error = append(*shard, records); error != ErrorCode::NONE) {
      broker.logger().warn("expired offsets of {} stay: {}", shard->partition->name().to_string(),
                           protocol::name_of(error));
      continue;
    }
    for (const auto& record : records) {
      if (const auto* offset = std::get_if<OffsetRecord>(&record)) {
        ++removed;
        broker.logger().info("offset of group {} for {} expired and was removed", offset->group,
                             offset->partition.to_string());
        apply(*shard, record);
      } else {
        remove_group(*shard, std::get<GroupRecordOf>(record).group);
      }
    }
  }
  return removed;
}

}  // namespace cordwood::broker::groups
