// broker/groups/group.h — one classic group: its members, its state, and the rules that need no I/O.
//
// Follows Kafka's classic group protocol (JoinGroup, SyncGroup, Heartbeat, LeaveGroup; KIP-345 static members). What is
// persisted is what GroupMetadataValue holds; all else (who waits, deadlines, pending ids) is of this process only.
// Threads: externally locked, by its shard.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/types.h"
#include "broker/groups/group_records.h"
#include "protocol/error_code.h"
#include "protocol/messages/join_group.h"
#include "protocol/messages/sync_group.h"

namespace cordwood::broker::groups {

enum class GroupState { empty, preparing_rebalance, completing_rebalance, stable, dead };
const char* to_string(GroupState state);  // "PreparingRebalance", as ListGroups and DescribeGroups print it

struct MemberProtocol {
  std::string name;
  ByteVector metadata;
  bool operator==(const MemberProtocol&) const = default;
};

using JoinDone = std::function<void(protocol::JoinGroupResponse)>;
using SyncDone = std::function<void(protocol::SyncGroupResponse)>;

struct Member {
  std::string id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;  // "/127.0.0.1"
  DurationMs rebalance_timeout;
  DurationMs session_timeout;
  std::vector<MemberProtocol> protocols;  // most preferred first
  ByteVector assignment;

  bool is_new = false;   // joined, but no generation holds it yet
  JoinDone awaiting_join;
  SyncDone awaiting_sync;
  bool pending_sync = false;  // got a generation, has not asked for its assignment yet
  MonotonicNs session_deadline;
  bool session_timer_runs = false;
  MonotonicNs session_timer_at;  // when it runs; an older timer that comes then is none any more

  const ByteVector* metadata_of(const std::string& protocol) const;  // null when it does not support it
  bool is_static() const { return instance_id.has_value(); }
};

struct CommittedOffset {
  Offset offset;
  std::int32_t leader_epoch = -1;
  std::string metadata;
  TimestampMs committed_at;
  std::optional<TimestampMs> expires_at;  // explicit, from OffsetCommit v2-v4
  Uuid topic_id;
  bool operator==(const CommittedOffset&) const = default;
};

class Group {
 public:
  explicit Group(std::string id) : id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  GroupState state() const { return state_; }
  void set_state(GroupState state, TimestampMs now) {
    previous_state_ = state_;
    state_ = state;
    state_since_ = now;
  }
  GroupState previous_state() const { return previous_state_; }
  TimestampMs state_since() const { return state_since_; }
  std::int32_t generation() const { return generation_; }
  const std::string& protocol_type() const { return protocol_type_; }  // "" for none
  const std::optional<std::string>& protocol() const { return protocol_; }
  const std::optional<std::string>& leader() const { return leader_; }
  bool is_leader(const std::string& member_id) const { return leader_ == member_id; }

  // --- members ---
  std::map<std::string, Member>& members() { return members_; }
  const std::map<std::string, Member>& members() const { return members_; }
  Member* find(const std::string& member_id);
  const std::string* static_member(const std::string& instance_id) const;  // its member id, or null
  // The first member becomes the leader and sets the protocol type.
  Member& add(Member member, const std::string& protocol_type);
  // Another member takes over the leadership of one that is removed.
  void remove(const std::string& member_id);
  // A static member came back under a new id.
  Member& replace_static(const std::string& instance_id, const std::string& new_member_id);
  std::set<std::string>& pending_members() { return pending_members_; }
  const std::set<std::string>& pending_members() const { return pending_members_; }
  std::size_t awaiting_join_count() const;
  bool all_members_joined() const { return pending_members_.empty() && awaiting_join_count() == members_.size(); }

  // Is the member known under this pair of ids? NONE, UNKNOWN_MEMBER_ID (25), FENCED_INSTANCE_ID (82).
  protocol::ErrorCode validate_member(const std::string& member_id, const std::optional<std::string>& instance_id) const;

  // --- protocols ---
  // False when the type differs from the group's, or no named protocol is common to all members.
  bool supports(const std::string& protocol_type, const std::vector<MemberProtocol>& protocols) const;
  // Each member votes for the most preferred of its protocols that all support; the most votes win. Needs members.
  std::string select_protocol() const;
  // Topics of all subscriptions, when the protocol type is "consumer" and they can be read; else nothing.
  std::optional<std::set<std::string>> subscribed_topics() const;

  // --- generations ---
  // generation + 1; with members CompletingRebalance and a chosen protocol, without Empty.
  void next_generation(TimestampMs now);
  // False when no member that rejoined can lead (all that are left are static and silent).
  bool elect_joined_leader();
  DurationMs largest_rebalance_timeout() const;
  // The members of the current generation as the leader sees them.
  std::vector<protocol::JoinGroupResponse::Member> members_for_leader() const;

  // --- persistence ---
  GroupMetadataValue to_record(const std::map<std::string, ByteVector>& assignments) const;
  static Group from_record(const std::string& id, const GroupMetadataValue& value, TimestampMs now);

  // --- offsets: (topic, partition) -> committed ---
  std::map<TopicPartition, CommittedOffset>& offsets() { return offsets_; }
  const std::map<TopicPartition, CommittedOffset>& offsets() const { return offsets_; }

  // Raised whenever a timer of the join or sync phase becomes meaningless.
  std::uint64_t phase = 0;
  bool new_member_added = false;       // extends the first join phase
  bool initial_delay_runs = false;     // the first join phase of an empty group must not end early

 private:
  std::string id_;
  GroupState state_ = GroupState::empty;
  GroupState previous_state_ = GroupState::dead;
  TimestampMs state_since_{-1};
  std::int32_t generation_ = 0;
  std::string protocol_type_;
  std::optional<std::string> protocol_;
  std::optional<std::string> leader_;
  std::map<std::string, Member> members_;
  std::map<std::string, std::string> static_members_;  // instance id -> member id
  std::set<std::string> pending_members_;              // ids handed out with MEMBER_ID_REQUIRED
  std::map<TopicPartition, CommittedOffset> offsets_;
};

}  // namespace cordwood::broker::groups
