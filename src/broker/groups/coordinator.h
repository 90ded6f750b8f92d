// broker/groups/coordinator.h — the group coordinator: every classic group, its members and its committed offsets.
//
// A group lives in the shard of its __consumer_offsets partition (Java's string hash). A shard has one mutex; records are
// appended to the internal topic before an answer leaves, and a restart replays them. Answers are given after the
// shard's lock was released.
// Threads: safe for all. Timers run on the broker's background executor; they hold the shards weakly.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "broker/metadata/image.h"
#include "protocol/error_code.h"
#include "protocol/messages/delete_groups.h"
#include "protocol/messages/describe_groups.h"
#include "protocol/messages/heartbeat.h"
#include "protocol/messages/join_group.h"
#include "protocol/messages/leave_group.h"
#include "protocol/messages/list_groups.h"
#include "protocol/messages/offset_commit.h"
#include "protocol/messages/offset_delete.h"
#include "protocol/messages/offset_fetch.h"
#include "protocol/messages/sync_group.h"

namespace cordwood::broker {
class Broker;
class Partition;
struct CommittedView;
struct GroupView;
}

namespace cordwood::broker::groups {

inline constexpr const char* kOffsetsTopic = "__consumer_offsets";

// Who asks.
struct Caller {
  std::int16_t version = 0;
  std::string client_id;
  std::string client_host;  // "127.0.0.1"; stored with the slash that Java prints
};

// abs(Java's String.hashCode) mod `partitions`; the smallest int counts as 0.
PartitionId partition_of(std::string_view group, std::int32_t partitions);

class Coordinator {
 public:
  explicit Coordinator(Broker& broker);
  ~Coordinator();

  // Loads every group from the partitions of __consumer_offsets that are here. Errors: io.
  Result<void> start();
  // No timer acts any more.
  void stop();
  // A partition of __consumer_offsets whose log was still loading is in the table now: its groups are loaded. On the
  // controller's thread, as on_image().
  void partition_loaded(const metadata::Image& image);
  // New partitions of __consumer_offsets become shards; offsets of deleted topics go.
  void on_image(const metadata::Image& before, const std::shared_ptr<const metadata::Image>& after);

  // `done` runs once: now, or when the rebalance comes to it, on whatever thread that is.
  void join(const protocol::JoinGroupRequest& request, const Caller& caller,
            std::function<void(protocol::JoinGroupResponse)> done);
  void sync(const protocol::SyncGroupRequest& request, const Caller& caller,
            std::function<void(protocol::SyncGroupResponse)> done);
  protocol::HeartbeatResponse heartbeat(const protocol::HeartbeatRequest& request);
  protocol::LeaveGroupResponse leave(const protocol::LeaveGroupRequest& request, const Caller& caller);

  // `waits_for`, when given, becomes the partition of __consumer_offsets whose flush the answer has to wait for
  // (Broker::when_flushed) where flush.messages made one due; without it the flush has happened.
  protocol::OffsetCommitResponse commit(const protocol::OffsetCommitRequest& request, const Caller& caller,
                                        std::shared_ptr<Partition>* waits_for = nullptr);
  protocol::OffsetFetchResponse fetch(const protocol::OffsetFetchRequest& request, const Caller& caller);
  protocol::OffsetDeleteResponse delete_offsets(const protocol::OffsetDeleteRequest& request);

  protocol::ListGroupsResponse list(const protocol::ListGroupsRequest& request);
  protocol::DescribeGroupsResponse describe(const protocol::DescribeGroupsRequest& request, const Caller& caller);
  protocol::DeleteGroupsResponse delete_groups(const protocol::DeleteGroupsRequest& request);

  // Drops offsets past their retention and groups without members and offsets. Runs by itself every
  // offsets.retention.check.interval.ms; returns how many offsets went.
  std::size_t expire();

  // --- for whoever only looks (broker/view.h); a shard is held for a few groups at a time ---
  std::vector<GroupView> view_all() const;  // without members
  std::optional<GroupView> view(const std::string& id) const;
  std::vector<CommittedView> view_committed(const TopicPartition& partition) const;
  std::size_t count() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace cordwood::broker::groups
