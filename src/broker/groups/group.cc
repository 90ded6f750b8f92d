#include "broker/groups/group.h"

#include <algorithm>

#include "base/check.h"

namespace cordwood::broker::groups {

using protocol::ErrorCode;

const char* to_string(GroupState state) {
  switch (state) {
    case GroupState::empty: return "Empty";
    case GroupState::preparing_rebalance: return "PreparingRebalance";
    case GroupState::completing_rebalance: return "CompletingRebalance";
    case GroupState::stable: return "Stable";
    case GroupState::dead: return "Dead";
  }
  return "Unknown";
}

const ByteVector* Member::metadata_of(const std::string& protocol) const {
  for (const auto& p : protocols) {
    if (p.name == protocol) return &p.metadata;
  }
  return nullptr;
}

Member* Group::find(const std::string& member_id) {
  auto at = members_.find(member_id);
  return at == members_.end() ? nullptr : &at->second;
}

const std::string* Group::static_member(const std::string& instance_id) const {
  auto at = static_members_.find(instance_id);
  return at == static_members_.end() ? nullptr : &at->second;
}

Member& Group::add(Member member, const std::string& protocol_type) {
  if (members_.empty()) protocol_type_ = protocol_type;
  if (!leader_) leader_ = member.id;
  if (member.instance_id) static_members_[*member.instance_id] = member.id;
  pending_members_.erase(member.id);
  std::string id = member.id;
  return members_[id] = std::move(member);
}

void Group::remove(const std::string& member_id) {
  auto at = members_.find(member_id);
  if (at == members_.end()) return;
  if (at->second.instance_id) static_members_.erase(*at->second.instance_id);
  members_.erase(at);
  pending_members_.erase(member_id);
  if (leader_ == member_id) {
    leader_ = members_.empty() ? std::nullopt : std::optional(members_.begin()->first);
  }
}

Member& Group::replace_static(const std::string& instance_id, const std::string& new_member_id) {
  auto mapping = static_members_.find(instance_id);
  CHECK(mapping != static_members_.end(), "instance {} is unknown", instance_id);
  std::string old_id = mapping->second;
  auto node = members_.extract(old_id);
  CHECK(!node.empty(), "member {} is unknown", old_id);
  node.key() = new_member_id;
  node.mapped().id = new_member_id;
  mapping->second = new_member_id;
  if (leader_ == old_id) leader_ = new_member_id;
  return members_.insert(std::move(node)).position->second;
}

std::size_t Group::awaiting_join_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(members_, [](const auto& m) { return static_cast<bool>(m.second.awaiting_join); }));
}

ErrorCode Group::validate_member(const std::string& member_id, const std::optional<std::string>& instance_id) const {
  if (instance_id) {
    const std::string* known = static_member(*instance_id);
    if (known == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
    if (*known != member_id) return ErrorCode::FENCED_INSTANCE_ID;
    return ErrorCode::NONE;
  }
  return members_.contains(member_id) ? ErrorCode::NONE : ErrorCode::UNKNOWN_MEMBER_ID;
}

bool Group::supports(const std::string& protocol_type, const std::vector<MemberProtocol>& protocols) const {
  if (protocol_type.empty() || protocols.empty()) return false;
  if (state_ == GroupState::empty) return true;
  if (protocol_type != protocol_type_) return false;
  return std::ranges::any_of(protocols, [this](const MemberProtocol& p) {
    return std::ranges::all_of(members_, [&](const auto& m) { return m.second.metadata_of(p.name) != nullptr; });
  });
}

std::string Group::select_protocol() const {
  CHECK(!members_.empty(), "an empty group has no protocol");
  std::map<std::string, int> votes;
  for (const auto& [id, member] : members_) {
    for (const auto& candidate : member.protocols) {
      bool common = std::ranges::all_of(
          members_, [&](const auto& m) { return m.second.metadata_of(candidate.name) != nullptr; });
      if (common) {
        ++votes[candidate.name];
        break;
      }
    }
  }
  auto best = std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; });
  return best == votes.end() ? std::string() : best->first;
}

std::optional<std::set<std::string>> Group::subscribed_topics() const {
  if (protocol_type_ != "consumer" || !protocol_) return std::nullopt;
  std::set<std::string> topics;
  for (const auto& [id, member] : members_) {
    const ByteVector* metadata = member.metadata_of(*protocol_);
    if (metadata == nullptr) return std::nullopt;
    // ConsumerProtocolSubscription: version i16, then an array of topic names, then what later versions add.
    ByteReader reader(*metadata);
    if (reader.i16() < 0) return std::nullopt;
    std::int32_t count = reader.i32();
    for (std::int32_t i = 0; reader.ok() && i < count; ++i) {
      topics.emplace(as_text(reader.bytes(reader.i16())));
    }
    if (!reader.ok()) return std::nullopt;
  }
  return topics;
}

void Group::next_generation(TimestampMs now) {
  generation_ = generation_ == INT32_MAX ? 0 : generation_ + 1;
  if (members_.empty()) {
    protocol_.reset();
    set_state(GroupState::empty, now);
  } else {
    protocol_ = select_protocol();
    set_state(GroupState::completing_rebalance, now);
  }
}

bool Group::elect_joined_leader() {
  if (leader_) {
    Member* leader = find(*leader_);
    if (leader != nullptr && leader->awaiting_join) return true;
  }
  for (auto& [id, member] : members_) {
    if (member.awaiting_join) {
      leader_ = id;
      return true;
    }
  }
  return false;
}

DurationMs Group::largest_rebalance_timeout() const {
  DurationMs largest{0};
  for (const auto& [id, member] : members_) largest = std::max(largest, member.rebalance_timeout);
  return largest;
}

std::vector<protocol::JoinGroupResponse::Member> Group::members_for_leader() const {
  std::vector<protocol::JoinGroupResponse::Member> out;
  if (!protocol_) return out;
  for (const auto& [id, member] : members_) {
    protocol::JoinGroupResponse::Member entry;
    entry.member_id = id;
    entry.group_instance_id = member.instance_id;
    if (const ByteVector* metadata = member.metadata_of(*protocol_)) entry.metadata = *metadata;
    out.push_back(std::move(entry));
  }
  return out;
}

GroupMetadataValue Group::to_record(const std::map<std::string, ByteVector>& assignments) const {
  GroupMetadataValue value;
  value.protocol_type = protocol_type_;
  value.generation = generation_;
  value.protocol = protocol_;
  value.leader = leader_;
  value.current_state_timestamp = state_since_.value;
  for (const auto& [id, member] : members_) {
    GroupMetadataValue::Member entry;
    entry.member_id = id;
    entry.group_instance_id = member.instance_id;
    entry.client_id = member.client_id;
    entry.client_host = member.client_host;
    entry.rebalance_timeout = static_cast<std::int32_t>(member.rebalance_timeout.value);
    entry.session_timeout = static_cast<std::int32_t>(member.session_timeout.value);
    if (protocol_) {
      if (const ByteVector* metadata = member.metadata_of(*protocol_)) entry.subscription = *metadata;
    }
    if (auto at = assignments.find(id); at != assignments.end()) entry.assignment = at->second;
    value.members.push_back(std::move(entry));
  }
  return value;
}

Group Group::from_record(const std::string& id, const GroupMetadataValue& value, TimestampMs now) {
  Group group(id);
  group.protocol_type_ = value.protocol_type;
  group.generation_ = value.generation;
  group.protocol_ = value.protocol;
  group.leader_ = value.leader;
  group.state_ = value.members.empty() ? GroupState::empty : GroupState::stable;
  group.state_since_ = {value.current_state_timestamp >= 0 ? value.current_state_timestamp : now.value};
  for (const auto& entry : value.members) {
    Member member;
    member.id = entry.member_id;
    member.instance_id = entry.group_instance_id;
    member.client_id = entry.client_id;
    member.client_host = entry.client_host;
    // Version 0 had no rebalance timeout: the session timeout stood for both.
    member.rebalance_timeout = {entry.rebalance_timeout < 0 ? entry.session_timeout : entry.rebalance_timeout};
    member.session_timeout = {entry.session_timeout};
    member.protocols = {{value.protocol.value_or(""), entry.subscription}};
    member.assignment = entry.assignment;
    if (member.instance_id) group.static_members_[*member.instance_id] = member.id;
    group.members_[member.id] = std::move(member);
  }
  return group;
}

}  // namespace cordwood::broker::groups
