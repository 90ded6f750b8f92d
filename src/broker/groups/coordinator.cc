// Shards, replay and administration; membership.cc has the rebalance protocol, offsets.cc the committed offsets.
#include "broker/groups/coordinator.h"

#include <algorithm>
#include <cctype>

#include "broker/groups/coordinator_impl.h"
#include "record/builder.h"
#include "record/record.h"

namespace cordwood::broker::groups {

using protocol::ErrorCode;

PartitionId partition_of(std::string_view group, std::int32_t partitions) {
  // Java hashes UTF-16 code units. Group ids outside of ASCII are decoded for that.
  std::uint32_t hash = 0;
  for (std::size_t i = 0; i < group.size();) {
    auto byte = static_cast<unsigned char>(group[i]);
    std::uint32_t code = byte;
    std::size_t length = 1;
    if (byte >= 0xf0) {
      code = byte & 0x07;
      length = 4;
    } else if (byte >= 0xe0) {
      code = byte & 0x0f;
      length = 3;
    } else if (byte >= 0xc0) {
      code = byte & 0x1f;
      length = 2;
    }
    if (i + length > group.size()) {
      code = 0xfffd;
      length = 1;
    } else {
      for (std::size_t k = 1; k < length; ++k) code = (code << 6) | (static_cast<unsigned char>(group[i + k]) & 0x3f);
    }
    i += length;
    if (code >= 0x10000) {
      code -= 0x10000;
      hash = hash * 31 + (0xd800 + (code >> 10));
      hash = hash * 31 + (0xdc00 + (code & 0x3ff));
    } else {
      hash = hash * 31 + code;
    }
  }
  auto value = static_cast<std::int32_t>(hash);
  if (value == INT32_MIN) value = 0;
  return {(value < 0 ? -value : value) % partitions};
}

std::shared_ptr<Shard> Coordinator::Impl::shard_of(std::string_view group) {
  std::shared_lock lock(shards_mu);
  if (partition_count == 0) return nullptr;
  auto at = shards.find(partition_of(group, partition_count));
  return at == shards.end() ? nullptr : at->second;
}

bool Coordinator::Impl::is_loading() {
  auto topic = broker.image()->topic(kOffsetsTopic);
  return topic && std::ranges::any_of(topic->partitions, [&](const auto& entry) { return is_loading(entry.first); });
}

// Its log is, or it is in the table of partitions and not replayed yet. In this order: it leaves the first for the second.
bool Coordinator::Impl::is_loading(PartitionId partition) const {
  if (broker.partitions().is_loading(kOffsetsTopic, partition)) return true;
  if (!broker.partitions().find(kOffsetsTopic, partition)) return false;
  std::shared_lock lock(shards_mu);
  return !shards.contains(partition) && !unreadable.contains(partition);
}

ErrorCode Coordinator::Impl::why_no_shard(std::string_view group) {
  PartitionId partition{-1};
  {
    std::shared_lock lock(shards_mu);
    if (partition_count > 0) partition = partition_of(group, partition_count);
  }
  // Its shard may have come since it was looked for.
  const bool comes = partition.value >= 0 && (is_loading(partition) || shard_of(group));
  return comes ? ErrorCode::COORDINATOR_LOAD_IN_PROGRESS : ErrorCode::NOT_COORDINATOR;
}

std::vector<std::shared_ptr<Shard>> Coordinator::Impl::all_shards() {
  std::shared_lock lock(shards_mu);
  std::vector<std::shared_ptr<Shard>> out;
  for (const auto& [id, shard] : shards) out.push_back(shard);
  return out;
}

void Coordinator::Impl::adopt(const metadata::Image& image) {
  auto topic = image.topic(kOffsetsTopic);
  std::vector<std::shared_ptr<Shard>> fresh;
  {
    std::shared_lock lock(shards_mu);
    std::size_t wanted = topic ? topic->partitions.size() : 0;
    if (wanted == shards.size() && (wanted > 0) == (partition_count > 0)) return;
  }
  std::map<PartitionId, std::shared_ptr<Shard>> next;
  if (topic) {
    for (const auto& [id, state] : topic->partitions) {
      if (auto partition = broker.partitions().find({kOffsetsTopic, id})) {
        std::shared_lock lock(shards_mu);
        auto at = shards.find(id);
        if (at != shards.end() && at->second->partition == partition) {
          next[id] = at->second;
        } else {
          next[id] = std::make_shared<Shard>(std::move(partition));
          fresh.push_back(next[id]);
        }
      }
    }
  }
  {
    // From now on the groups of all partitions are known to be somewhere. Partitions that are added later change nothing before the next
    // start, as with Kafka: groups that run must not move under their members.
    std::unique_lock lock(shards_mu);
    if (!topic) {
      partition_count = 0;
    } else if (partition_count == 0) {
      partition_count = static_cast<std::int32_t>(topic->partitions.size());
    }
  }
  std::set<PartitionId> failed;
  for (auto& shard : fresh) {
    if (auto loaded = load(*shard); !loaded) {
      failed.insert(shard->partition->name().partition);
      broker.logger().error("groups of {} cannot be loaded and are not served: {}", shard->partition->name().to_string(),
                            loaded.error().message());
      std::erase_if(next, [&](const auto& entry) { return entry.second == shard; });
      shard.reset();
    }
  }
  {
    std::unique_lock lock(shards_mu);
    shards = std::move(next);
    unreadable = std::move(failed);
  }
  for (const auto& shard : fresh) {
    if (!shard) continue;
    MutexLock lock(shard->mu);
    for (auto& [id, group] : shard->groups) {
      for (auto& [member_id, member] : group.members()) restart_session(shard, group, member);
    }
  }
}

Result<void> Coordinator::Impl::load(Shard& shard) {
  MutexLock lock(shard.mu);
  const auto& log = *shard.partition->log();
  Offset at = log.log_start_offset();
  const Offset end = log.log_end_offset();
  std::size_t skipped = 0;
  while (at < end) {
    auto read = TRY(log.read({.from = at,
                              .max_bytes = {4 * MiB},
                              .at_least_one_batch = true,
                              .limit = storage::ReadLimit::log_end}));
    if (read.range.size.value == 0) break;
    ByteVector bytes(static_cast<std::size_t>(read.range.size.value));
    std::size_t got = TRY(read.range.source->read_at(read.range.position, bytes));
    BytesView rest = BytesView(bytes).first(got);
    while (!rest.empty()) {
      auto batch = TRY(record::BatchView::parse(rest));
      rest = rest.subspan(batch.bytes().size());
      at = next(batch.last_offset());
      auto header = batch.header();
      // Transactional offsets become visible with their marker; the transaction coordinator brings them.
      if (header.is_control() || header.is_transactional()) continue;
      TRY(record::for_each_record(batch, [&](const record::RecordView& record) {
        shard.mu.assert_held();
        if (!record.key) return record::Walk::go_on;
        auto decoded = decode(*record.key, record.value);
        if (decoded) {
          apply(shard, *decoded);
        } else {
          ++skipped;
          broker.logger().warn("{}: record at offset {} is passed over: {}", shard.partition->name().to_string(),
                               record.offset, decoded.error().message());
        }
        return record::Walk::go_on;
      }));
    }
  }
  // Members of a loaded group have a session from now on.
  for (auto& [id, group] : shard.groups) {
    for (auto& [member_id, member] : group.members()) {
      member.session_deadline = broker.clock().monotonic() + to_ns(member.session_timeout);
    }
  }
  return {};
}

ErrorCode Coordinator::Impl::append(Shard& shard, const std::vector<GroupRecord>& records, bool* flush_due) {
  if (records.empty()) return ErrorCode::NONE;
  const std::int16_t offset_version = broker.image()->metadata_version() >= 26 ? 4 : 3;
  // Kafka's coordinators write base sequence 0 with producer id -1 (seen on 4.4.0).
  record::BatchBuilder builder({.base_sequence = 0});
  for (const auto& record : records) {
    EncodedRecord encoded = encode(record, offset_version);
    builder.add(broker.clock().now(), BytesView(encoded.key),
                encoded.value ? std::optional<BytesView>(*encoded.value) : std::nullopt);
  }
  if (shard.partition->check_leader(-1) != ErrorCode::NONE) return ErrorCode::NOT_COORDINATOR;
  ByteVector batch = builder.build();
  auto limit = shard.partition->log()->config().max_message_bytes;
  if (static_cast<std::int64_t>(batch.size()) > limit.value) return ErrorCode::UNKNOWN_SERVER_ERROR;
  auto result = shard.partition->append(batch, storage::AppendOrigin::coordinator,
                                        flush_due == nullptr ? storage::DueFlush::by_append : storage::DueFlush::by_caller);
  if (flush_due != nullptr) *flush_due = result.flush_to.has_value();
  switch (result.fault) {
    case storage::AppendFault::none: return ErrorCode::NONE;
    case storage::AppendFault::storage_error: return ErrorCode::NOT_COORDINATOR;
    default: return ErrorCode::UNKNOWN_SERVER_ERROR;
  }
}

void Coordinator::Impl::remove_group(Shard& shard, const std::string& id) {
  auto at = shard.groups.find(id);
  if (at == shard.groups.end()) return;
  ++at->second.phase;
  shard.groups.erase(at);
}

void Coordinator::Impl::apply(Shard& shard, const GroupRecord& record) {
  const TimestampMs now = broker.clock().now();
  if (const auto* offset = std::get_if<OffsetRecord>(&record)) {
    if (!offset->value) {
      auto at = shard.groups.find(offset->group);
      if (at != shard.groups.end()) at->second.offsets().erase(offset->partition);
      return;
    }
    auto [at, fresh] = shard.groups.try_emplace(offset->group, offset->group);
    if (fresh) at->second.set_state(GroupState::empty, now);
    const auto& value = *offset->value;
    CommittedOffset committed{{value.offset}, value.leader_epoch, value.metadata, {value.commit_timestamp}, {}, value.topic_id};
    if (value.expire_timestamp >= 0) committed.expires_at = TimestampMs{value.expire_timestamp};
    at->second.offsets()[offset->partition] = std::move(committed);
  } else if (const auto* group = std::get_if<GroupRecordOf>(&record)) {
    auto at = shard.groups.find(group->group);
    if (!group->value) {
      if (at != shard.groups.end() && at->second.offsets().empty()) {
        shard.groups.erase(at);
      } else if (at != shard.groups.end()) {
        auto offsets = std::move(at->second.offsets());
        at->second = Group(group->group);
        at->second.set_state(GroupState::empty, now);
        at->second.offsets() = std::move(offsets);
      }
      return;
    }
    std::map<TopicPartition, CommittedOffset> offsets;
    if (at != shard.groups.end()) offsets = std::move(at->second.offsets());
    Group loaded = Group::from_record(group->group, *group->value, now);
    loaded.offsets() = std::move(offsets);
    shard.groups.insert_or_assign(group->group, std::move(loaded));
  }
}

Coordinator::Coordinator(Broker& broker) : impl_(std::make_shared<Impl>(broker)) {}
Coordinator::~Coordinator() { stop(); }

Result<void> Coordinator::start() {
  impl_->adopt(*impl_->broker.image());
  impl_->arm_expiry();
  return {};
}

void Coordinator::stop() { impl_->stopped = true; }

void Coordinator::partition_loaded(const metadata::Image& image) { impl_->adopt(image); }

void Coordinator::on_image(const metadata::Image& before, const std::shared_ptr<const metadata::Image>& after) {
  impl_->adopt(*after);
  std::vector<std::string> gone;
  for (const auto& [name, topic] : before.topics) {
    if (!after->topics.contains(name)) gone.push_back(name);
  }
  if (gone.empty()) return;
  for (auto& shard : impl_->all_shards()) {
    MutexLock lock(shard->mu);
    std::vector<GroupRecord> records;
    for (const auto& [id, group] : shard->groups) {
      for (const auto& [partition, offset] : group.offsets()) {
        if (std::ranges::find(gone, partition.topic) != gone.end()) {
          records.emplace_back(OffsetRecord{id, partition, std::nullopt});
        }
      }
    }
    if (records.empty()) continue;
    if (auto error = impl_->append(*shard, records); error != ErrorCode::NONE) {
      impl_->broker.logger().warn("offsets of deleted topics stay in {}: {}", shard->partition->name().to_string(),
                                  protocol::name_of(error));
      continue;
    }
    for (const auto& record : records) impl_->apply(*shard, record);
  }
}

namespace {
bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}
bool passes(const std::vector<std::string>& filter, std::string_view value) {
  return filter.empty() || std::ranges::any_of(filter, [&](const auto& f) { return equals_ignoring_case(f, value); });
}
}  // namespace

protocol::ListGroupsResponse Coordinator::list(const protocol::ListGroupsRequest& request) {
  protocol::ListGroupsResponse response;
  if (!passes(request.types_filter, "classic")) return response;
  if (impl_->is_loading()) {
    response.error_code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
    return response;
  }
  for (auto& shard : impl_->all_shards()) {
    MutexLock lock(shard->mu);
    for (const auto& [id, group] : shard->groups) {
      if (!passes(request.states_filter, to_string(group.state()))) continue;
      protocol::ListGroupsResponse::Group entry;
      entry.group_id = id;
      entry.protocol_type = group.protocol_type();
      entry.group_state = to_string(group.state());
      entry.group_type = "classic";
      response.groups.push_back(std::move(entry));
    }
  }
  return response;
}

protocol::DescribeGroupsResponse Coordinator::describe(const protocol::DescribeGroupsRequest& request,
                                                       const Caller& caller) {
  constexpr std::int32_t kAllGroupOperations = 3400;  // what Kafka answers without an authorizer (seen on 4.4.0)
  protocol::DescribeGroupsResponse response;
  for (const auto& id : request.groups) {
    protocol::DescribeGroupsResponse::Group entry;
    entry.group_id = id;
    if (request.include_authorized_operations) entry.authorized_operations = kAllGroupOperations;
    auto shard = impl_->shard_of(id);
    if (!shard) {
      entry.error_code = impl_->why_no_shard(id);
      response.groups.push_back(std::move(entry));
      continue;
    }
    MutexLock lock(shard->mu);
    auto at = shard->groups.find(id);
    if (at == shard->groups.end()) {
      entry.group_state = to_string(GroupState::dead);
      if (caller.version >= 6) {
        entry.error_code = ErrorCode::GROUP_ID_NOT_FOUND;
        entry.error_message = fmt::format("Group {} not found.", id);
      }
      response.groups.push_back(std::move(entry));
      continue;
    }
    const Group& group = at->second;
    const bool stable = group.state() == GroupState::stable;
    entry.group_state = to_string(group.state());
    entry.protocol_type = group.protocol_type();
    if (stable) entry.protocol_data = group.protocol().value_or("");
    for (const auto& [member_id, member] : group.members()) {
      protocol::DescribeGroupsResponse::Member m;
      m.member_id = member_id;
      m.group_instance_id = member.instance_id;
      m.client_id = member.client_id;
      m.client_host = member.client_host;
      if (stable) {
        if (const ByteVector* metadata = member.metadata_of(*group.protocol())) m.member_metadata = *metadata;
        m.member_assignment = member.assignment;
      }
      entry.members.push_back(std::move(m));
    }
    response.groups.push_back(std::move(entry));
  }
  return response;
}

protocol::DeleteGroupsResponse Coordinator::delete_groups(const protocol::DeleteGroupsRequest& request) {
  protocol::DeleteGroupsResponse response;
  std::set<std::string> asked;
  for (const auto& id : request.groups_names) {
    if (!asked.insert(id).second) continue;
    protocol::DeleteGroupsResponse::Result result;
    result.group_id = id;
    auto shard = impl_->shard_of(id);
    if (!shard) {
      result.error_code = impl_->why_no_shard(id);
      response.results.push_back(std::move(result));
      continue;
    }
    MutexLock lock(shard->mu);
    auto at = shard->groups.find(id);
    if (id.empty() || at == shard->groups.end()) {
      result.error_code = ErrorCode::GROUP_ID_NOT_FOUND;
    } else if (at->second.state() != GroupState::empty) {
      result.error_code = ErrorCode::NON_EMPTY_GROUP;
    } else {
      std::vector<GroupRecord> records;
      for (const auto& [partition, offset] : at->second.offsets()) {
        records.emplace_back(OffsetRecord{id, partition, std::nullopt});
      }
      records.emplace_back(GroupRecordOf{id, std::nullopt});
      result.error_code = impl_->append(*shard, records);
      if (result.error_code == ErrorCode::NONE) impl_->remove_group(*shard, id);
    }
    response.results.push_back(std::move(result));
  }
  return response;
}

std::size_t Coordinator::expire() { return impl_->expire(); }

}  // namespace cordwood::broker::groups
