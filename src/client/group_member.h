// client/group_member.h — one member of a group by the classic protocol: joins, shares out when it leads, sends heartbeats, commits.
//
// Rules as Kafka's consumer coordinator (seen on Kafka 4.4.0). One thread; the answers to JoinGroup and SyncGroup, which may take
// long, are waited for beside other things; all other requests are short and waited for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/assignors.h"
#include "client/cluster.h"

namespace cordwood::client {

enum class Assignor { range, round_robin, sticky, cooperative_sticky };
std::string_view name_of(Assignor assignor);  // "cooperative-sticky"
// By that name, or by the class of Kafka's clients. Nothing when there is none.
std::optional<Assignor> assignor_from_name(std::string_view name);

struct GroupOptions {
  std::string group_id;  // empty: no group
  std::optional<std::string> instance_id;
  DurationMs session_timeout{45'000};
  DurationMs rebalance_timeout{300'000};  // max.poll.interval.ms
  DurationMs heartbeat_interval{3'000};
  DurationMs retry_backoff{100};
  std::vector<Assignor> assignors{Assignor::range, Assignor::cooperative_sticky};
};

// Where a reader of a partition stands.
struct Position {
  Offset offset;                   // of the next record
  std::int32_t leader_epoch = -1;  // of the record before it; -1: unknown
  bool operator==(const Position&) const = default;
};

class GroupMember {
 public:
  // `clock` and `listener` must outlive it; `cluster` becomes the coordinator's connection.
  GroupMember(ClusterOptions cluster, GroupOptions options, const Clock& clock, ClusterListener& listener)
      : cluster_(std::move(cluster), clock, listener), options_(std::move(options)), clock_(clock) {}

  // What the member wants; a change makes it join again.
  void want(std::vector<std::string> topics);
  // Joins again: for a leader that sees other partitions than those it has shared out.
  void rejoin();
  bool leads() const { return leads_; }
  // The partitions of topics, for when it leads.
  using CountTopics = std::function<PartitionCounts(const std::vector<std::string>&)>;

  enum class Step { nothing, must_revoke, assigned };
  // Does what is due and takes answers that are there. must_revoke: the partitions are to be given up (commit them now) before
  // the next step joins again. assigned: partitions() are new.
  Outcome<Step> step(MonotonicNs deadline, const CountTopics& count);
  const std::vector<TopicPartition>& partitions() const { return partitions_; }
  // Where an answer is waited for; -1: nowhere.
  int descriptor() const;
  // When step() has to be called again.
  MonotonicNs due() const;

  // The committed offsets; those without one are left out.
  Outcome<std::map<TopicPartition, Position>> committed(const std::vector<TopicPartition>& partitions, MonotonicNs deadline);
  // Offsets for a group in which nobody is a member may be committed as well.
  Outcome<Nothing> commit(const std::map<TopicPartition, Position>& positions, MonotonicNs deadline);
  void leave(MonotonicNs deadline);

  bool is_stable() const { return state_ == State::stable; }
  DurationMs joining_time() const { return joining_time_; }
  bool cooperative() const { return protocol_ == name_of(Assignor::cooperative_sticky); }

 private:
  enum class State { outside, joining, syncing, stable };

  Outcome<Link*> coordinator(MonotonicNs deadline);
  Outcome<Step> join(MonotonicNs deadline);
  Outcome<Step> take_join(const CountTopics& count);
  Outcome<Step> take_sync();
  Outcome<Step> heartbeat(MonotonicNs deadline);
  Outcome<Step> failed(protocol::ErrorCode code, MonotonicNs deadline);
  void lost_coordinator();

  Cluster cluster_;
  GroupOptions options_;
  const Clock& clock_;
  State state_ = State::outside;
  Link* link_ = nullptr;  // while an answer of its is waited for
  std::int16_t version_ = 0;
  std::vector<std::string> topics_;
  std::string member_id_;
  std::int32_t generation_ = -1;
  std::string protocol_;
  std::vector<TopicPartition> partitions_;
  bool leads_ = false;
  bool revoked_ = true;  // whoever holds the partitions has been told that they go
  MonotonicNs next_heartbeat_{0};
  MonotonicNs not_before_{0};
  MonotonicNs answered_{0};  // the last heartbeat that was
  std::optional<MonotonicNs> joining_since_;
  DurationMs joining_time_{0};
};

}  // namespace cordwood::client
