#include "client/group_member.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/messages/heartbeat.h"
#include "protocol/messages/join_group.h"
#include "protocol/messages/leave_group.h"
#include "protocol/messages/offset_commit.h"
#include "protocol/messages/offset_fetch.h"
#include "protocol/messages/sync_group.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

constexpr std::string_view kProtocolType = "consumer";
// The last versions of these that name topics by name.
constexpr std::int16_t kNewestCommit = 9;
constexpr std::int16_t kNewestOffsetFetch = 7;
// Longer than a rebalance may take by itself; Java allows the same on top.
constexpr DurationMs kRebalanceGrace{5'000};

struct AssignorName {
  Assignor assignor;
  std::string_view name;
  std::string_view java_class;
};
constexpr AssignorName kAssignors[] = {
    {Assignor::range, "range", "org.apache.kafka.clients.consumer.RangeAssignor"},
    {Assignor::round_robin, "roundrobin", "org.apache.kafka.clients.consumer.RoundRobinAssignor"},
    {Assignor::sticky, "sticky", "org.apache.kafka.clients.consumer.StickyAssignor"},
    {Assignor::cooperative_sticky, "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"},
};

Assignment assign(std::string_view protocol, const PartitionCounts& counts, const Subscriptions& members) {
  auto assignor = assignor_from_name(protocol);
  switch (assignor.value_or(Assignor::range)) {
    case Assignor::range: return assign_ranges(counts, members);
    case Assignor::round_robin: return assign_round_robin(counts, members);
    case Assignor::sticky: return assign_sticky(counts, members);
    case Assignor::cooperative_sticky: return assign_cooperatively(counts, members);
  }
  return {};
}

bool is_fatal(ErrorCode code) {
  switch (code) {
    case ErrorCode::GROUP_AUTHORIZATION_FAILED:
    case ErrorCode::FENCED_INSTANCE_ID:
    case ErrorCode::INCONSISTENT_GROUP_PROTOCOL:
    case ErrorCode::INVALID_SESSION_TIMEOUT:
    case ErrorCode::INVALID_GROUP_ID:
    case ErrorCode::GROUP_MAX_SIZE_REACHED:
    case ErrorCode::UNSUPPORTED_VERSION:
    case ErrorCode::UNRELEASED_INSTANCE_ID: return true;
    default: return false;
  }
}

}  // namespace

std::string_view name_of(Assignor assignor) {
  return std::ranges::find(kAssignors, assignor, &AssignorName::assignor)->name;
}

std::optional<Assignor> assignor_from_name(std::string_view name) {
  for (const AssignorName& known : kAssignors) {
    if (known.name == name || known.java_class == name) return known.assignor;
  }
  return {};
}

void GroupMember::want(std::vector<std::string> topics) {
  std::ranges::sort(topics);
  if (topics == topics_) return;
  topics_ = std::move(topics);
  if (state_ == State::stable) state_ = State::outside;
}

void GroupMember::rejoin() {
  if (state_ == State::stable) state_ = State::outside;
}

Outcome<Link*> GroupMember::coordinator(MonotonicNs deadline) {
  return cluster_.coordinator(CoordinatorType::group, options_.group_id, "findCoordinator", deadline);
}

void GroupMember::lost_coordinator() {
  if (link_ != nullptr) link_->give_up();
  cluster_.forget_coordinator(CoordinatorType::group, options_.group_id);
  link_ = nullptr;
}

int GroupMember::descriptor() const { return link_ == nullptr ? -1 : link_->connection().fd(); }

MonotonicNs GroupMember::due() const {
  switch (state_) {
    case State::outside: return not_before_;
    case State::joining:
    case State::syncing: return joining_since_.value_or(not_before_) + to_ns(options_.rebalance_timeout) + to_ns(kRebalanceGrace);
    case State::stable: return next_heartbeat_;
  }
  return not_before_;
}

Outcome<GroupMember::Step> GroupMember::step(MonotonicNs deadline, const CountTopics& count) {
  switch (state_) {
    case State::outside:
      if (topics_.empty() || clock_.monotonic() < not_before_) return Step::nothing;
      if (!revoked_) {
        revoked_ = true;
        return Step::must_revoke;
      }
      return join(deadline);
    case State::joining: return take_join(count);
    case State::syncing: return take_sync();
    case State::stable: return clock_.monotonic() < next_heartbeat_ ? Step::nothing : heartbeat(deadline);
  }
  return Step::nothing;
}

Outcome<GroupMember::Step> GroupMember::join(MonotonicNs deadline) {
  if (!joining_since_) joining_since_ = clock_.monotonic();
  auto found = coordinator(deadline);
  if (!found) {
    if (is_fatal(found.failure().code)) return found.failure();
    not_before_ = clock_.monotonic() + to_ns(options_.retry_backoff);
    return Step::nothing;
  }
  protocol::JoinGroupRequest request;
  request.group_id = options_.group_id;
  request.session_timeout_ms = static_cast<std::int32_t>(options_.session_timeout.value);
  request.rebalance_timeout_ms = static_cast<std::int32_t>(options_.rebalance_timeout.value);
  request.member_id = member_id_;
  request.group_instance_id = options_.instance_id;
  request.protocol_type = kProtocolType;
  std::vector<ByteVector> metadata;
  for (Assignor assignor : options_.assignors) {
    Subscription subscription{topics_, {}, -1, {}};
    // Eager assignors have given up everything by now; the sticky ones tell what they had.
    StickyProtocol told = StickyProtocol::none;
    if (assignor == Assignor::sticky) told = StickyProtocol::eager;
    if (assignor == Assignor::cooperative_sticky) told = StickyProtocol::cooperative;
    if (told != StickyProtocol::none) {
      subscription.owned = partitions_;
      subscription.generation = generation_;
    }
    metadata.push_back(encode_subscription(subscription, told));
  }
  for (std::size_t i = 0; i < options_.assignors.size(); ++i) {
    auto& protocol = request.protocols.emplace_back();
    protocol.name = name_of(options_.assignors[i]);
    protocol.metadata = metadata[i];
  }
  auto version = (*found)->version_for<protocol::JoinGroupRequest>();
  if (!version) return failure_of(ErrorCode::UNSUPPORTED_VERSION);
  version_ = *version;
  if (auto sent = (*found)->connection().send(request, version_); !sent) {
    (*found)->give_up();
    lost_coordinator();
    return Step::nothing;
  }
  // Until then the link is ours alone: nothing else may be asked on it.
  link_ = *found;
  state_ = State::joining;
  return Step::nothing;
}

// What the coordinator refuses: joins anew where that helps.
Outcome<GroupMember::Step> GroupMember::failed(ErrorCode code, MonotonicNs) {
  state_ = State::outside;
  switch (code) {
    case ErrorCode::MEMBER_ID_REQUIRED:
    case ErrorCode::REBALANCE_IN_PROGRESS: return Step::nothing;
    case ErrorCode::UNKNOWN_MEMBER_ID:
    case ErrorCode::ILLEGAL_GENERATION:
      if (code == ErrorCode::UNKNOWN_MEMBER_ID) member_id_.clear();
      generation_ = -1;
      return Step::nothing;
    case ErrorCode::NOT_COORDINATOR:
    case ErrorCode::COORDINATOR_NOT_AVAILABLE: lost_coordinator(); break;
    default:
      if (is_fatal(code)) return failure_of(code);
  }
  not_before_ = clock_.monotonic() + to_ns(options_.retry_backoff);
  return Step::nothing;
}

Outcome<GroupMember::Step> GroupMember::take_join(const CountTopics& count) {
  auto ready = link_->connection().wait_readable({0});
  if (ready && !*ready) return Step::nothing;
  auto answer = link_->connection().receive<protocol::JoinGroupResponse>(version_);
  if (!answer) {
    lost_coordinator();
    state_ = State::outside;
    return Step::nothing;
  }
  Link* link = std::exchange(link_, nullptr);
  const protocol::JoinGroupResponse& joined = **answer;
  if (joined.error_code == ErrorCode::MEMBER_ID_REQUIRED) member_id_ = joined.member_id;
  if (joined.error_code != ErrorCode::NONE) return failed(joined.error_code, {0});
  member_id_ = joined.member_id;
  generation_ = joined.generation_id;
  protocol_ = joined.protocol_name.value_or("");

  protocol::SyncGroupRequest request;
  request.group_id = options_.group_id;
  request.generation_id = generation_;
  request.member_id = member_id_;
  request.group_instance_id = options_.instance_id;
  request.protocol_type = kProtocolType;
  request.protocol_name = protocol_;
  std::vector<ByteVector> shares;
  leads_ = joined.leader == member_id_;
  if (leads_ && !joined.skip_assignment) {
    Subscriptions members;
    std::vector<std::string> topics;
    for (const auto& member : joined.members) {
      auto subscription = decode_subscription(member.metadata);
      if (!subscription) continue;
      subscription->instance_id = member.group_instance_id;
      topics.insert(topics.end(), subscription->topics.begin(), subscription->topics.end());
      members[member.member_id] = *std::move(subscription);
    }
    std::ranges::sort(topics);
    topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
    Assignment assignment = assign(protocol_, count(topics), members);
    shares.reserve(assignment.size());
    for (const auto& [id, share] : assignment) {
      auto& entry = request.assignments.emplace_back();
      entry.member_id = id;
      entry.assignment = shares.emplace_back(encode_assignment(share));
    }
  }
  auto version = link->version_for<protocol::SyncGroupRequest>();
  if (!version) return failure_of(ErrorCode::UNSUPPORTED_VERSION);
  version_ = *version;
  if (auto sent = link->connection().send(request, version_); !sent) {
    link->give_up();
    lost_coordinator();
    state_ = State::outside;
    return Step::nothing;
  }
  link_ = link;
  state_ = State::syncing;
  return Step::nothing;
}

Outcome<GroupMember::Step> GroupMember::take_sync() {
  auto ready = link_->connection().wait_readable({0});
  if (ready && !*ready) return Step::nothing;
  auto answer = link_->connection().receive<protocol::SyncGroupResponse>(version_);
  if (!answer) {
    lost_coordinator();
    state_ = State::outside;
    return Step::nothing;
  }
  link_ = nullptr;
  if ((*answer)->error_code != ErrorCode::NONE) return failed((*answer)->error_code, {0});
  auto partitions = decode_assignment((*answer)->assignment);
  if (!partitions) return Failure{ErrorCode::UNKNOWN_SERVER_ERROR, partitions.error().message()};
  const bool lets_go = cooperative() && std::ranges::any_of(partitions_, [&](const TopicPartition& owned) {
    return std::ranges::find(*partitions, owned) == partitions->end();
  });
  partitions_ = *std::move(partitions);
  revoked_ = false;
  state_ = State::stable;
  answered_ = clock_.monotonic();
  next_heartbeat_ = answered_ + to_ns(options_.heartbeat_interval);
  if (joining_since_) joining_time_ += DurationMs{(answered_ - *joining_since_).value / 1'000'000};
  joining_since_.reset();
  // What this member lets go of, somebody else waits for: one more round gives it away.
  if (lets_go) state_ = State::outside;
  return Step::assigned;
}

Outcome<GroupMember::Step> GroupMember::heartbeat(MonotonicNs deadline) {
  const MonotonicNs now = clock_.monotonic();
  next_heartbeat_ = now + to_ns(options_.heartbeat_interval);
  auto found = coordinator(deadline);
  if (!found) return is_fatal(found.failure().code) ? Outcome<Step>(found.failure()) : Outcome<Step>(Step::nothing);
  protocol::HeartbeatRequest request;
  request.group_id = options_.group_id;
  request.generation_id = generation_;
  request.member_id = member_id_;
  request.group_instance_id = options_.instance_id;
  auto answer = (*found)->ask<protocol::HeartbeatResponse>(request);
  if (!answer) {
    next_heartbeat_ = now + to_ns(options_.retry_backoff);
    return Step::nothing;
  }
  ErrorCode code = (*answer)->error_code;
  if (code == ErrorCode::NONE) {
    answered_ = now;
    return Step::nothing;
  }
  if (code == ErrorCode::NOT_COORDINATOR || code == ErrorCode::COORDINATOR_NOT_AVAILABLE) {
    lost_coordinator();
    next_heartbeat_ = now + to_ns(options_.retry_backoff);
    return Step::nothing;
  }
  return failed(code, deadline);
}

Outcome<std::map<TopicPartition, Position>> GroupMember::committed(const std::vector<TopicPartition>& partitions,
                                                                   MonotonicNs deadline) {
  protocol::OffsetFetchRequest request;
  request.group_id = options_.group_id;
  request.topics.emplace();
  std::map<std::string, std::vector<std::int32_t>> by_topic;
  for (const TopicPartition& partition : partitions) by_topic[partition.topic].push_back(partition.partition.value);
  for (auto& [topic, indexes] : by_topic) request.topics->push_back({topic, indexes});
  for (int attempt = 0;; ++attempt) {
    if (link_ != nullptr) return failure_of(ErrorCode::REBALANCE_IN_PROGRESS);
    Link* link = ATTEMPT(coordinator(deadline));
    auto answer = link->ask<protocol::OffsetFetchResponse>(request, kNewestOffsetFetch);
    ErrorCode code = answer ? (*answer)->error_code : answer.failure().code;
    std::map<TopicPartition, Position> positions;
    if (answer) {
      for (const auto& topic : (*answer)->topics) {
        for (const auto& partition : topic.partitions) {
          if (partition.error_code != ErrorCode::NONE) code = partition.error_code;
          if (partition.committed_offset < 0) continue;
          positions[{topic.name, {partition.partition_index}}] = {{partition.committed_offset}, partition.committed_leader_epoch};
        }
      }
    }
    if (code == ErrorCode::NONE) return positions;
    if (!protocol::is_retriable(code)) return failure_of(code);
    if (code == ErrorCode::NOT_COORDINATOR || code == ErrorCode::COORDINATOR_NOT_AVAILABLE) lost_coordinator();
    ATTEMPT(cluster_.back_off(attempt, "offsetFetch", deadline));
  }
}

Outcome<Nothing> GroupMember::commit(const std::map<TopicPartition, Position>& positions, MonotonicNs deadline) {
  if (positions.empty()) return Nothing{};
  protocol::OffsetCommitRequest request;
  request.group_id = options_.group_id;
  request.generation_id_or_member_epoch = generation_;
  request.member_id = member_id_;
  request.group_instance_id = options_.instance_id;
  if (generation_ < 0) request.member_id.clear();
  for (const auto& [partition, position] : positions) {
    if (request.topics.empty() || request.topics.back().name != partition.topic) request.topics.emplace_back().name = partition.topic;
    auto& entry = request.topics.back().partitions.emplace_back();
    entry.partition_index = partition.partition.value;
    entry.committed_offset = position.offset.value;
    entry.committed_leader_epoch = position.leader_epoch;
    entry.committed_metadata = "";
  }
  for (int attempt = 0;; ++attempt) {
    // While a join is under way the coordinator would answer behind it.
    if (link_ != nullptr) return failure_of(ErrorCode::REBALANCE_IN_PROGRESS);
    Link* link = ATTEMPT(coordinator(deadline));
    auto answer = link->ask<protocol::OffsetCommitResponse>(request, kNewestCommit);
    ErrorCode code = answer ? ErrorCode::NONE : answer.failure().code;
    if (answer) {
      for (const auto& topic : (*answer)->topics) {
        for (const auto& partition : topic.partitions) {
          if (partition.error_code != ErrorCode::NONE) code = partition.error_code;
        }
      }
    }
    if (code == ErrorCode::NONE) return Nothing{};
    if (!protocol::is_retriable(code)) return failure_of(code);
    if (code == ErrorCode::NOT_COORDINATOR || code == ErrorCode::COORDINATOR_NOT_AVAILABLE) lost_coordinator();
    ATTEMPT(cluster_.back_off(attempt, "offsetCommit", deadline));
  }
}

void GroupMember::leave(MonotonicNs deadline) {
  // A static member keeps its place for when it comes back.
  if (member_id_.empty() || options_.instance_id) return;
  if (link_ != nullptr) {
    // An answer is under way: the request travels behind it, and whatever comes back is not waited for.
    protocol::LeaveGroupRequest request;
    request.group_id = options_.group_id;
    request.members.push_back({member_id_, {}, "the consumer is being closed"});
    if (auto version = link_->version_for<protocol::LeaveGroupRequest>(); version && *version >= 3) {
      (void)link_->connection().send(request, *version);
    }
    return;
  }
  auto found = coordinator(deadline);
  if (!found) return;
  protocol::LeaveGroupRequest request;
  request.group_id = options_.group_id;
  request.member_id = member_id_;
  request.members.push_back({member_id_, {}, "the consumer is being closed"});
  (void)(*found)->ask<protocol::LeaveGroupResponse>(request);
  state_ = State::outside;
  member_id_.clear();
}

}  // namespace cordwood::client
