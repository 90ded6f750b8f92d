// broker/groups/coordinator_impl.h — what the parts of the coordinator share: shards and how they append.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "broker/broker.h"
#include "broker/groups/coordinator.h"
#include "broker/groups/group.h"
#include "broker/groups/record_codec.h"
#include "broker/partition.h"

namespace cordwood::broker::groups {

// Functions to run once the shard's lock is released: answers may lead straight into the next request of a connection.
using AfterUnlock = std::vector<std::function<void()>>;

struct Shard {
  explicit Shard(std::shared_ptr<Partition> partition_in) : partition(std::move(partition_in)) {}
  const std::shared_ptr<Partition> partition;
  Mutex mu;
  std::map<std::string, Group> groups GUARDED_BY(mu);
};

struct Coordinator::Impl : std::enable_shared_from_this<Impl> {
  explicit Impl(Broker& broker_in) : broker(broker_in) {}

  Broker& broker;
  mutable std::shared_mutex shards_mu;
  std::map<PartitionId, std::shared_ptr<Shard>> shards;  // by shards_mu
  std::int32_t partition_count = 0;                      // by shards_mu; since it was first seen; 0: the topic does not exist
  std::set<PartitionId> unreadable;                      // by shards_mu; their records could not be replayed
  std::atomic<bool> stopped{false};

  // The shard of the group, or null: not coordinator.
  std::shared_ptr<Shard> shard_of(std::string_view group);
  // What a request for a group without a shard is answered: COORDINATOR_LOAD_IN_PROGRESS while the log of its partition is
  // still loading or its records are replayed, else NOT_COORDINATOR.
  protocol::ErrorCode why_no_shard(std::string_view group);
  bool is_loading();  // any partition of __consumer_offsets
  bool is_loading(PartitionId partition) const;
  std::vector<std::shared_ptr<Shard>> all_shards();
  Result<void> load(Shard& shard);
  // Makes shards of the partitions of __consumer_offsets that are here, and loads those that are new.
  void adopt(const metadata::Image& image);

  // Appends as one batch. NONE, or the code that a commit or a sync is answered with. A flush that flush.messages makes due
  // is waited for here, unless there is `flush_due`, which then becomes true.
  protocol::ErrorCode append(Shard& shard, const std::vector<GroupRecord>& records, bool* flush_due = nullptr)
      REQUIRES(shard.mu);
  // The only place where persisted offsets and removals change, in running and in replay.
  void apply(Shard& shard, const GroupRecord& record) REQUIRES(shard.mu);
  void remove_group(Shard& shard, const std::string& id) REQUIRES(shard.mu);

  // --- membership.cc ---
  void join_new_member(const std::shared_ptr<Shard>& shard, Group& group, const protocol::JoinGroupRequest& request,
                       const Caller& caller, JoinDone done, AfterUnlock& after) REQUIRES(shard->mu);
  void join_static_again(const std::shared_ptr<Shard>& shard, Group& group, const protocol::JoinGroupRequest& request,
                         const Caller& caller, JoinDone done, AfterUnlock& after) REQUIRES(shard->mu);
  void join_known_member(const std::shared_ptr<Shard>& shard, Group& group, const protocol::JoinGroupRequest& request,
                         const Caller& caller, JoinDone done, AfterUnlock& after) REQUIRES(shard->mu);
  void add_member(const std::shared_ptr<Shard>& shard, Group& group, std::string member_id,
                  const protocol::JoinGroupRequest& request, const Caller& caller, JoinDone done, AfterUnlock& after)
      REQUIRES(shard->mu);
  void update_member(const std::shared_ptr<Shard>& shard, Group& group, Member& member,
                     const protocol::JoinGroupRequest& request, JoinDone done, AfterUnlock& after) REQUIRES(shard->mu);
  void rebalance_or_complete(const std::shared_ptr<Shard>& shard, Group& group, AfterUnlock& after)
      REQUIRES(shard->mu);
  void prepare_rebalance(const std::shared_ptr<Shard>& shard, Group& group, AfterUnlock& after) REQUIRES(shard->mu);
  void maybe_complete_join(const std::shared_ptr<Shard>& shard, Group& group, AfterUnlock& after) REQUIRES(shard->mu);
  void complete_join(const std::shared_ptr<Shard>& shard, Group& group, AfterUnlock& after) REQUIRES(shard->mu);
  void initial_delay(const std::shared_ptr<Shard>& shard, Group& group, DurationMs delay, DurationMs left)
      REQUIRES(shard->mu);
  void remove_member(const std::shared_ptr<Shard>& shard, Group& group, const std::string& member_id,
                     AfterUnlock& after) REQUIRES(shard->mu);
  void restart_session(const std::shared_ptr<Shard>& shard, Group& group, Member& member) REQUIRES(shard->mu);
  void expire_session(const std::shared_ptr<Shard>& shard, const std::string& group_id, const std::string& member_id,
                      MonotonicNs timer_at);
  void arm_session_timer(const std::shared_ptr<Shard>& shard, const std::string& group_id, Member& member)
      REQUIRES(shard->mu);
  void answer_awaiting_sync(Group& group, protocol::ErrorCode error, AfterUnlock& after);

  // Runs `action` after `delay` under the shard's lock if the group still is in the phase it is in now.
  template <class Action>
  void in_phase_after(const std::shared_ptr<Shard>& shard, Group& group, DurationMs delay, Action action) {
    std::weak_ptr<Impl> weak = weak_from_this();
    broker.background().schedule(
        broker.clock().monotonic() + to_ns(delay),
        [weak, shard, id = group.id(), phase = group.phase, action = std::move(action)]() {
          auto self = weak.lock();
          if (!self || self->stopped) return;
          AfterUnlock after;
          {
            MutexLock lock(shard->mu);
            auto at = shard->groups.find(id);
            if (at != shard->groups.end() && at->second.phase == phase) action(*self, shard, at->second, after);
          }
          for (auto& function : after) function();
        });
  }

  // --- offsets.cc ---
  std::size_t expire();
  void arm_expiry();
};

}  // namespace cordwood::broker::groups
