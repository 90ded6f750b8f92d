// Copies of what groups are, for whoever only looks (broker/view.h).
#include "broker/view.h"

#include "broker/groups/coordinator_impl.h"

namespace cordwood::broker::groups {
namespace {

// As many groups are looked at before a shard's lock is let go: a request of theirs waits no longer than for a describe.
constexpr std::size_t kGroupsAtATime = 16;

enum class WithMembers { no, yes };

GroupView view_of(const Group& group, WithMembers with_members) {
  GroupView view;
  view.id = group.id();
  view.state = to_string(group.state());
  view.protocol_type = group.protocol_type();
  view.protocol = group.protocol();
  view.generation = group.generation();
  view.leader = group.leader();
  view.member_count = group.members().size();
  if (with_members == WithMembers::yes) {
    for (const auto& [id, member] : group.members()) {
      view.members.push_back({id, member.instance_id, member.client_id, member.client_host, member.assignment});
    }
  }
  view.offsets.reserve(group.offsets().size());
  for (const auto& [partition, offset] : group.offsets()) {
    view.offsets.push_back({partition, offset.offset, offset.metadata, offset.committed_at});
  }
  return view;
}

// Calls `look` for every group, with the shard's lock held, which is let go now and then.
template <class Look>
void look_at_all(const std::vector<std::shared_ptr<Shard>>& shards, Look look) {
  for (const auto& shard : shards) {
    std::optional<std::string> last;
    while (true) {
      MutexLock lock(shard->mu);
      auto at = last ? shard->groups.upper_bound(*last) : shard->groups.begin();
      for (std::size_t i = 0; i < kGroupsAtATime && at != shard->groups.end(); ++i, ++at) {
        look(at->second);
        last = at->first;
      }
      if (at == shard->groups.end()) break;
    }
  }
}

}  // namespace

std::vector<GroupView> Coordinator::view_all() const {
  std::vector<GroupView> views;
  look_at_all(impl_->all_shards(), [&](const Group& group) { views.push_back(view_of(group, WithMembers::no)); });
  return views;
}

std::optional<GroupView> Coordinator::view(const std::string& id) const {
  const auto shard = impl_->shard_of(id);
  if (!shard) return {};
  MutexLock lock(shard->mu);
  const auto at = shard->groups.find(id);
  if (at == shard->groups.end()) return {};
  return view_of(at->second, WithMembers::yes);
}

std::vector<CommittedView> Coordinator::view_committed(const TopicPartition& partition) const {
  std::vector<CommittedView> committed;
  look_at_all(impl_->all_shards(), [&](const Group& group) {
    const auto at = group.offsets().find(partition);
    if (at != group.offsets().end()) committed.push_back({group.id(), at->second.offset, at->second.committed_at});
  });
  return committed;
}

std::size_t Coordinator::count() const {
  std::size_t count = 0;
  for (const auto& shard : impl_->all_shards()) {
    MutexLock lock(shard->mu);
    count += shard->groups.size();
  }
  return count;
}

}  // namespace cordwood::broker::groups
