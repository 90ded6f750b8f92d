// The classic rebalance protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and the timers that drive them.
//
// As Kafka: an empty group waits group.initial.rebalance.delay.ms for more members; a rebalance ends when every member has
// rejoined or the largest rebalance timeout has passed; the leader's SyncGroup is written to the log before anybody gets an
// assignment.
#include <algorithm>

#include "broker/groups/coordinator_impl.h"

namespace cordwood::broker::groups {

using protocol::ErrorCode;
using protocol::JoinGroupRequest;
using protocol::JoinGroupResponse;
using protocol::SyncGroupResponse;

namespace {

// A new member whose rebalance does not end is given up after this time (seen on Kafka: five minutes).
constexpr DurationMs kNewMemberJoinTimeout{300'000};

JoinGroupResponse join_error(ErrorCode error, std::string member_id = {}) {
  JoinGroupResponse response;
  response.error_code = error;
  response.generation_id = -1;
  response.member_id = std::move(member_id);
  response.protocol_name = "";
  return response;
}

// The answer that tells a member about the present generation.
JoinGroupResponse present_generation(const Group& group, const std::string& member_id, bool with_members) {
  JoinGroupResponse response;
  response.generation_id = group.generation();
  response.protocol_type = group.protocol_type();
  response.protocol_name = group.protocol();
  response.leader = group.leader().value_or("");
  response.member_id = member_id;
  if (with_members) response.members = group.members_for_leader();
  return response;
}

SyncGroupResponse sync_error(ErrorCode error) {
  SyncGroupResponse response;
  response.error_code = error;
  return response;
}

SyncGroupResponse assignment_of(const Group& group, const Member& member) {
  SyncGroupResponse response;
  response.protocol_type = group.protocol_type();
  response.protocol_name = group.protocol();
  response.assignment = member.assignment;
  return response;
}

std::vector<MemberProtocol> protocols_of(const JoinGroupRequest& request) {
  std::vector<MemberProtocol> out;
  for (const auto& p : request.protocols) out.push_back({p.name, p.metadata});
  return out;
}

// In version 0 the session timeout stands for both.
DurationMs rebalance_timeout_of(const JoinGroupRequest& request) {
  return {request.rebalance_timeout_ms < 0 ? request.session_timeout_ms : request.rebalance_timeout_ms};
}

// A random (version 4) UUID in its usual text form, as Java prints it.
std::string uuid_text(Random& random) {
  Uuid id = Uuid::random(random);
  std::string hex = id.to_hex();
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4),
                     hex.substr(20));
}

}  // namespace

// --- JoinGroup ------------------------------------------------------------------------------------------------------

void Coordinator::join(const JoinGroupRequest& request, const Caller& caller, JoinDone done) {
  const auto& config = impl_->broker.config();
  if (request.group_id.empty()) return done(join_error(ErrorCode::INVALID_GROUP_ID));
  if (request.session_timeout_ms < config.group_min_session_timeout_ms.value ||
      request.session_timeout_ms > config.group_max_session_timeout_ms.value) {
    return done(join_error(ErrorCode::INVALID_SESSION_TIMEOUT));
  }
  auto shard = impl_->shard_of(request.group_id);
  if (!shard) return done(join_error(impl_->why_no_shard(request.group_id)));

  AfterUnlock after;
  {
    MutexLock lock(shard->mu);
    auto reply = [&](JoinGroupResponse response) {
      after.push_back([done, response = std::move(response)] { done(response); });
    };
    auto at = shard->groups.find(request.group_id);
    if (at == shard->groups.end()) {
      if (!request.member_id.empty()) {
        reply(join_error(ErrorCode::UNKNOWN_MEMBER_ID, request.member_id));
      } else if (request.protocol_type.empty() || request.protocols.empty()) {
        reply(join_error(ErrorCode::INCONSISTENT_GROUP_PROTOCOL));
      } else {
        // A new group is persisted at once, as an empty one.
        Group fresh(request.group_id);
        fresh.set_state(GroupState::empty, impl_->broker.clock().now());
        auto error = impl_->append(*shard, {GroupRecordOf{request.group_id, fresh.to_record({})}});
        if (error != ErrorCode::NONE) {
          reply(join_error(error));
        } else {
          at = shard->groups.emplace(request.group_id, std::move(fresh)).first;
        }
      }
    }
    if (at != shard->groups.end()) {
      Group& group = at->second;
      const auto limit = static_cast<std::size_t>(config.group_max_size);
      auto protocols = protocols_of(request);
      const Member* known = group.find(request.member_id);
      bool full = false;
      switch (group.state()) {
        case GroupState::empty:
        case GroupState::dead: break;
        case GroupState::preparing_rebalance:
          full = !(known != nullptr && known->awaiting_join) && group.awaiting_join_count() >= limit;
          break;
        case GroupState::completing_rebalance:
        case GroupState::stable: full = known == nullptr && group.members().size() >= limit; break;
      }
      if (!group.supports(request.protocol_type, protocols)) {
        reply(join_error(ErrorCode::INCONSISTENT_GROUP_PROTOCOL));
      } else if (full) {
        reply(join_error(ErrorCode::GROUP_MAX_SIZE_REACHED));
      } else if (request.member_id.empty()) {
        impl_->join_new_member(shard, group, request, caller, std::move(done), after);
      } else {
        impl_->join_known_member(shard, group, request, caller, std::move(done), after);
      }
    }
  }
  for (auto& function : after) function();
}

void Coordinator::Impl::join_new_member(const std::shared_ptr<Shard>& shard, Group& group,
                                        const JoinGroupRequest& request, const Caller& caller, JoinDone done,
                                        AfterUnlock& after) {
  if (request.group_instance_id && group.static_member(*request.group_instance_id) != nullptr) {
    return join_static_again(shard, group, request, caller, std::move(done), after);
  }
  std::string member_id =
      fmt::format("{}-{}", request.group_instance_id.value_or(caller.client_id), uuid_text(broker.random()));
  if (request.group_instance_id || caller.version < 4) {
    return add_member(shard, group, std::move(member_id), request, caller, std::move(done), after);
  }
  // From version 4 on a dynamic member first learns its id; the id is forgotten when it does not come back in time.
  group.pending_members().insert(member_id);
  std::weak_ptr<Impl> weak = weak_from_this();
  broker.background().schedule(
      broker.clock().monotonic() + to_ns({request.session_timeout_ms}), [weak, shard, id = group.id(), member_id] {
        auto self = weak.lock();
        if (!self || self->stopped) return;
        AfterUnlock later;
        {
          MutexLock lock(shard->mu);
          auto at = shard->groups.find(id);
          if (at != shard->groups.end() && at->second.pending_members().erase(member_id) > 0) {
            self->maybe_complete_join(shard, at->second, later);
          }
        }
        for (auto& function : later) function();
      });
  after.push_back([done = std::move(done), member_id] { done(join_error(ErrorCode::MEMBER_ID_REQUIRED, member_id)); });
}

void Coordinator::Impl::join_static_again(const std::shared_ptr<Shard>& shard, Group& group,
                                          const JoinGroupRequest& request, const Caller& caller, JoinDone done,
                                          AfterUnlock& after) {
  const std::string instance_id = *request.group_instance_id;
  const std::string old_id = *group.static_member(instance_id);
  const std::string new_id = fmt::format("{}-{}", instance_id, uuid_text(broker.random()));
  const bool was_leader = group.is_leader(old_id);

  Member& member = group.replace_static(instance_id, new_id);
  // Whoever waits under the old id is fenced.
  if (member.awaiting_join) {
    after.push_back([old = std::exchange(member.awaiting_join, nullptr), old_id] {
      old(join_error(ErrorCode::FENCED_INSTANCE_ID, old_id));
    });
  }
  if (member.awaiting_sync) {
    after.push_back([old = std::exchange(member.awaiting_sync, nullptr)] {
      old(sync_error(ErrorCode::FENCED_INSTANCE_ID));
    });
  }
  // The session timer goes by member id.
  member.session_timer_runs = false;
  auto old_protocols = member.protocols;
  member.protocols = protocols_of(request);
  member.client_id = caller.client_id;
  member.client_host = "/" + caller.client_host;
  member.rebalance_timeout = rebalance_timeout_of(request);
  member.session_timeout = {request.session_timeout_ms};
  restart_session(shard, group, member);

  switch (group.state()) {
    case GroupState::stable: {
      // The same protocol with the same metadata needs no rebalance: only the new id is persisted.
      const std::string chosen = group.protocol().value_or("");
      const ByteVector* before = nullptr;
      for (const auto& p : old_protocols) {
        if (p.name == chosen) before = &p.metadata;
      }
      const ByteVector* now = member.metadata_of(chosen);
      if (group.select_protocol() == chosen && before != nullptr && now != nullptr && *before == *now) {
        std::map<std::string, ByteVector> assignments;
        for (const auto& [id, m] : group.members()) assignments[id] = m.assignment;
        auto error = append(*shard, {GroupRecordOf{group.id(), group.to_record(assignments)}});
        if (error != ErrorCode::NONE) {
          group.replace_static(instance_id, old_id);
          group.find(old_id)->protocols = std::move(old_protocols);
          after.push_back([done = std::move(done), error] { done(join_error(error)); });
          return;
        }
        const bool can_skip = caller.version >= 9;
        auto response = present_generation(group, new_id, was_leader && can_skip);
        if (was_leader && can_skip) {
          response.skip_assignment = true;
        } else if (was_leader) {
          // An older client must not run its assignor again, so it is told that the member it was leads.
          response.leader = old_id;
        }
        after.push_back([done = std::move(done), response] { done(response); });
        return;
      }
      member.awaiting_join = std::move(done);
      prepare_rebalance(shard, group, after);
      return;
    }
    case GroupState::completing_rebalance:
      member.awaiting_join = std::move(done);
      prepare_rebalance(shard, group, after);
      return;
    case GroupState::preparing_rebalance:
      member.awaiting_join = std::move(done);
      maybe_complete_join(shard, group, after);
      return;
    case GroupState::empty:
    case GroupState::dead:
      after.push_back([done = std::move(done)] { done(join_error(ErrorCode::UNKNOWN_MEMBER_ID)); });
      return;
  }
}

void Coordinator::Impl::join_known_member(const std::shared_ptr<Shard>& shard, Group& group,
                                          const JoinGroupRequest& request, const Caller& caller, JoinDone done,
                                          AfterUnlock& after) {
  const std::string& member_id = request.member_id;
  if (group.pending_members().contains(member_id)) {
    if (request.group_instance_id) {
      after.push_back([done = std::move(done), member_id] { done(join_error(ErrorCode::UNKNOWN_MEMBER_ID, member_id)); });
      return;
    }
    return add_member(shard, group, member_id, request, caller, std::move(done), after);
  }
  if (auto error = group.validate_member(member_id, request.group_instance_id); error != ErrorCode::NONE) {
    after.push_back([done = std::move(done), error, member_id] { done(join_error(error, member_id)); });
    return;
  }
  Member& member = *group.find(member_id);
  const bool same = member.protocols == protocols_of(request);
  switch (group.state()) {
    case GroupState::preparing_rebalance:
      return update_member(shard, group, member, request, std::move(done), after);
    case GroupState::completing_rebalance:
      if (!same) return update_member(shard, group, member, request, std::move(done), after);
      // It lost the answer to its join; it gets the same again.
      after.push_back([done = std::move(done), response = present_generation(group, member_id, group.is_leader(member_id))] {
        done(response);
      });
      return;
    case GroupState::stable:
      if (!same || group.is_leader(member_id)) return update_member(shard, group, member, request, std::move(done), after);
      after.push_back([done = std::move(done), response = present_generation(group, member_id, false)] { done(response); });
      return;
    case GroupState::empty:
    case GroupState::dead:
      after.push_back([done = std::move(done), member_id] { done(join_error(ErrorCode::UNKNOWN_MEMBER_ID, member_id)); });
      return;
  }
}

void Coordinator::Impl::add_member(const std::shared_ptr<Shard>& shard, Group& group, std::string member_id,
                                   const JoinGroupRequest& request, const Caller& caller, JoinDone done,
                                   AfterUnlock& after) {
  Member member;
  member.id = std::move(member_id);
  member.instance_id = request.group_instance_id;
  member.client_id = caller.client_id;
  member.client_host = "/" + caller.client_host;
  member.rebalance_timeout = rebalance_timeout_of(request);
  member.session_timeout = {request.session_timeout_ms};
  member.protocols = protocols_of(request);
  member.is_new = true;
  member.awaiting_join = std::move(done);
  Member& added = group.add(std::move(member), request.protocol_type);
  // Extends the first join phase of a group.
  if (group.state() == GroupState::preparing_rebalance && group.initial_delay_runs) group.new_member_added = true;
  added.session_deadline = broker.clock().monotonic() + to_ns(kNewMemberJoinTimeout);
  arm_session_timer(shard, group.id(), added);
  rebalance_or_complete(shard, group, after);
}

void Coordinator::Impl::update_member(const std::shared_ptr<Shard>& shard, Group& group, Member& member,
                                      const JoinGroupRequest& request, JoinDone done, AfterUnlock& after) {
  member.protocols = protocols_of(request);
  member.rebalance_timeout = rebalance_timeout_of(request);
  member.session_timeout = {request.session_timeout_ms};
  if (member.awaiting_join) {
    // The client asked again: only its latest request is answered with the generation.
    after.push_back([old = std::exchange(member.awaiting_join, nullptr)] {
      old(join_error(ErrorCode::REBALANCE_IN_PROGRESS));
    });
  }
  member.awaiting_join = std::move(done);
  rebalance_or_complete(shard, group, after);
}

void Coordinator::Impl::rebalance_or_complete(const std::shared_ptr<Shard>& shard, Group& group, AfterUnlock& after) {
  switch (group.state()) {
    case GroupState::empty:
    case GroupState::stable:
    case GroupState::completing_rebalance: return prepare_rebalance(shard, group, after);
    case GroupState::preparing_rebalance: return maybe_complete_join(shard, group, after);
    case GroupState::dead: return;
  }
}

void Coordinator::Impl::prepare_rebalance(const std::shared_ptr<Shard>& shard, Group& group, AfterUnlock& after) {
  if (group.state() == GroupState::completing_rebalance) {
    answer_awaiting_sync(group, ErrorCode::REBALANCE_IN_PROGRESS, after);
  }
  for (auto& [id, member] : group.members()) member.pending_sync = false;
  const bool first = group.state() == GroupState::empty;
  ++group.phase;
  group.set_state(GroupState::preparing_rebalance, broker.clock().now());
  const DurationMs longest = group.largest_rebalance_timeout();
  if (first) {
    const DurationMs delay = std::min(broker.config().group_initial_rebalance_delay_ms, longest);
    group.new_member_added = false;
    group.initial_delay_runs = true;
    initial_delay(shard, group, delay, std::max(longest - delay, DurationMs{0}));
    return;
  }
  group.initial_delay_runs = false;
  if (group.all_members_joined()) return complete_join(shard, group, after);
  in_phase_after(shard, group, longest,
                 [](Impl& self, const std::shared_ptr<Shard>& s, Group& g, AfterUnlock& later) {
                   s->mu.assert_held();
                   self.complete_join(s, g, later);
                 });
}

void Coordinator::Impl::initial_delay(const std::shared_ptr<Shard>& shard, Group& group, DurationMs delay,
                                      DurationMs left) {
  in_phase_after(shard, group, delay,
                 [left](Impl& self, const std::shared_ptr<Shard>& s, Group& g, AfterUnlock& later) {
                   s->mu.assert_held();
                   if (g.new_member_added && left.value > 0) {
                     g.new_member_added = false;
                     DurationMs more = std::min(self.broker.config().group_initial_rebalance_delay_ms, left);
                     self.initial_delay(s, g, more, left - more);
                     return;
                   }
                   g.initial_delay_runs = false;
                   self.complete_join(s, g, later);
                 });
}

void Coordinator::Impl::maybe_complete_join(const std::shared_ptr<Shard>& shard, Group& group, AfterUnlock& after) {
  if (group.state() == GroupState::preparing_rebalance && !group.initial_delay_runs && group.all_members_joined()) {
    complete_join(shard, group, after);
  }
}

void Coordinator::Impl::complete_join(const std::shared_ptr<Shard>& shard, Group& group, AfterUnlock& after) {
  std::vector<std::string> silent;
  for (const auto& [id, member] : group.members()) {
    if (!member.awaiting_join && !member.is_static()) silent.push_back(id);
  }
  for (const auto& id : silent) {
    broker.logger().info("group {}: member {} did not rejoin in time and is removed", group.id(), id);
    group.remove(id);
  }
  ++group.phase;
  if (!group.members().empty() && !group.elect_joined_leader()) {
    // Only silent static members are left; they get another rebalance timeout.
    in_phase_after(shard, group, group.largest_rebalance_timeout(),
                   [](Impl& self, const std::shared_ptr<Shard>& s, Group& g, AfterUnlock& later) {
                     s->mu.assert_held();
                     self.complete_join(s, g, later);
                   });
    return;
  }
  group.next_generation(broker.clock().now());
  if (group.state() == GroupState::empty) {
    auto error = append(*shard, {GroupRecordOf{group.id(), group.to_record({})}});
    if (error != ErrorCode::NONE) {
      broker.logger().warn("group {} became empty but that could not be written: {}", group.id(),
                           protocol::name_of(error));
    }
    return;
  }
  for (auto& [id, member] : group.members()) {
    member.pending_sync = true;
    if (auto done = std::exchange(member.awaiting_join, nullptr)) {
      after.push_back([done = std::move(done), response = present_generation(group, id, group.is_leader(id))] {
        done(response);
      });
    }
    member.is_new = false;
    restart_session(shard, group, member);
  }
  // Whoever has not asked for its assignment by then is removed, and the group rebalances.
  in_phase_after(shard, group, group.largest_rebalance_timeout(),
                 [](Impl& self, const std::shared_ptr<Shard>& s, Group& g, AfterUnlock& later) {
                   s->mu.assert_held();
                   if (g.state() != GroupState::completing_rebalance && g.state() != GroupState::stable) return;
                   std::vector<std::string> late;
                   for (const auto& [id, member] : g.members()) {
                     if (member.pending_sync) late.push_back(id);
                   }
                   if (late.empty()) return;
                   for (const auto& id : late) {
                     self.broker.logger().info("group {}: member {} did not sync in time and is removed", g.id(), id);
                     g.remove(id);
                   }
                   self.prepare_rebalance(s, g, later);
                 });
}

void Coordinator::Impl::answer_awaiting_sync(Group& group, ErrorCode error, AfterUnlock& after) {
  for (auto& [id, member] : group.members()) {
    if (error != ErrorCode::NONE) member.assignment.clear();
    if (auto done = std::exchange(member.awaiting_sync, nullptr)) {
      auto response = error == ErrorCode::NONE ? assignment_of(group, member) : sync_error(error);
      after.push_back([done = std::move(done), response = std::move(response)] { done(response); });
    }
  }
}

// --- SyncGroup ------------------------------------------------------------------------------------------------------

void Coordinator::sync(const protocol::SyncGroupRequest& request, const Caller& caller, SyncDone done) {
  if (caller.version >= 5 && (!request.protocol_type || !request.protocol_name)) {
    return done(sync_error(ErrorCode::INCONSISTENT_GROUP_PROTOCOL));
  }
  if (request.group_id.empty()) return done(sync_error(ErrorCode::INVALID_GROUP_ID));
  auto shard = impl_->shard_of(request.group_id);
  if (!shard) return done(sync_error(impl_->why_no_shard(request.group_id)));

  AfterUnlock after;
  {
    MutexLock lock(shard->mu);
    auto fail = [&](ErrorCode error) { after.push_back([done, error] { done(sync_error(error)); }); };
    auto at = shard->groups.find(request.group_id);
    if (at == shard->groups.end()) {
      fail(ErrorCode::UNKNOWN_MEMBER_ID);
    } else if (auto error = at->second.validate_member(request.member_id, request.group_instance_id);
               error != ErrorCode::NONE) {
      fail(error);
    } else if (request.generation_id != at->second.generation()) {
      fail(ErrorCode::ILLEGAL_GENERATION);
    } else if ((request.protocol_type && *request.protocol_type != at->second.protocol_type()) ||
               (request.protocol_name && at->second.protocol() && *request.protocol_name != *at->second.protocol())) {
      fail(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    } else {
      Group& group = at->second;
      Member& member = *group.find(request.member_id);
      switch (group.state()) {
        case GroupState::empty: fail(ErrorCode::UNKNOWN_MEMBER_ID); break;
        case GroupState::dead: fail(ErrorCode::COORDINATOR_NOT_AVAILABLE); break;
        case GroupState::preparing_rebalance: fail(ErrorCode::REBALANCE_IN_PROGRESS); break;
        case GroupState::stable:
          member.pending_sync = false;
          impl_->restart_session(shard, group, member);
          after.push_back([done, response = assignment_of(group, member)] { done(response); });
          break;
        case GroupState::completing_rebalance: {
          member.pending_sync = false;
          if (member.awaiting_sync) {
            after.push_back([old = std::exchange(member.awaiting_sync, nullptr)] {
              old(sync_error(ErrorCode::REBALANCE_IN_PROGRESS));
            });
          }
          member.awaiting_sync = std::move(done);
          if (!group.is_leader(request.member_id)) break;
          std::map<std::string, ByteVector> assignments;
          for (const auto& a : request.assignments) {
            if (group.find(a.member_id) != nullptr) assignments[a.member_id] = a.assignment;
          }
          auto written = impl_->append(*shard, {GroupRecordOf{group.id(), group.to_record(assignments)}});
          if (written != ErrorCode::NONE) {
            impl_->answer_awaiting_sync(group, written, after);
            impl_->prepare_rebalance(shard, group, after);
            break;
          }
          for (auto& [id, m] : group.members()) {
            auto assigned = assignments.find(id);
            m.assignment = assigned == assignments.end() ? ByteVector{} : assigned->second;
          }
          group.set_state(GroupState::stable, impl_->broker.clock().now());
          for (auto& [id, m] : group.members()) {
            if (m.awaiting_sync) impl_->restart_session(shard, group, m);
          }
          impl_->answer_awaiting_sync(group, ErrorCode::NONE, after);
          break;
        }
      }
    }
  }
  for (auto& function : after) function();
}

// --- Heartbeat, LeaveGroup, sessions --------------------------------------------------------------------------------

protocol::HeartbeatResponse Coordinator::heartbeat(const protocol::HeartbeatRequest& request) {
  protocol::HeartbeatResponse response;
  if (request.group_id.empty()) {
    response.error_code = ErrorCode::INVALID_GROUP_ID;
    return response;
  }
  auto shard = impl_->shard_of(request.group_id);
  if (!shard) {
    // A member learns nothing from a group that is still loading, and must not leave it for that.
    const ErrorCode why = impl_->why_no_shard(request.group_id);
    if (why != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS) response.error_code = why;
    return response;
  }
  MutexLock lock(shard->mu);
  auto at = shard->groups.find(request.group_id);
  if (at == shard->groups.end()) {
    response.error_code = ErrorCode::UNKNOWN_MEMBER_ID;
    return response;
  }
  Group& group = at->second;
  response.error_code = group.validate_member(request.member_id, request.group_instance_id);
  if (response.error_code != ErrorCode::NONE) return response;
  if (request.generation_id != group.generation()) {
    response.error_code = ErrorCode::ILLEGAL_GENERATION;
    return response;
  }
  switch (group.state()) {
    case GroupState::empty: response.error_code = ErrorCode::UNKNOWN_MEMBER_ID; return response;
    case GroupState::dead: response.error_code = ErrorCode::COORDINATOR_NOT_AVAILABLE; return response;
    case GroupState::preparing_rebalance: response.error_code = ErrorCode::REBALANCE_IN_PROGRESS; break;
    case GroupState::completing_rebalance:
    case GroupState::stable: break;
  }
  impl_->restart_session(shard, group, *group.find(request.member_id));
  return response;
}

protocol::LeaveGroupResponse Coordinator::leave(const protocol::LeaveGroupRequest& request, const Caller& caller) {
  protocol::LeaveGroupResponse response;
  if (request.group_id.empty()) {
    response.error_code = ErrorCode::INVALID_GROUP_ID;
    return response;
  }
  std::vector<protocol::LeaveGroupRequest::Member> leaving = request.members;
  if (caller.version < 3) {
    leaving.clear();
    leaving.emplace_back().member_id = request.member_id;
  }
  auto shard = impl_->shard_of(request.group_id);
  if (!shard) {
    response.error_code = impl_->why_no_shard(request.group_id);
    return response;
  }
  AfterUnlock after;
  {
    MutexLock lock(shard->mu);
    auto at = shard->groups.find(request.group_id);
    for (const auto& who : leaving) {
      protocol::LeaveGroupResponse::Member result;
      result.member_id = who.member_id;
      result.group_instance_id = who.group_instance_id;
      if (at == shard->groups.end()) {
        result.error_code = ErrorCode::UNKNOWN_MEMBER_ID;
      } else {
        Group& group = at->second;
        std::string id = who.member_id;
        if (id.empty() && who.group_instance_id) {
          // An administrator removes a static member by its instance id alone.
          const std::string* known = group.static_member(*who.group_instance_id);
          if (known == nullptr) {
            result.error_code = ErrorCode::UNKNOWN_MEMBER_ID;
          } else {
            id = *known;
          }
        } else if (group.pending_members().erase(id) > 0) {
          impl_->maybe_complete_join(shard, group, after);
          response.members.push_back(std::move(result));
          continue;
        } else {
          result.error_code = group.validate_member(id, who.group_instance_id);
        }
        if (result.error_code == ErrorCode::NONE) {
          impl_->broker.logger().info("group {}: member {} leaves{}", group.id(), id,
                                      who.reason ? ": " + *who.reason : "");
          impl_->remove_member(shard, group, id, after);
        }
      }
      response.members.push_back(std::move(result));
    }
  }
  for (auto& function : after) function();
  if (caller.version < 3) {
    response.error_code = response.members.front().error_code;
    response.members.clear();
  }
  return response;
}

void Coordinator::Impl::remove_member(const std::shared_ptr<Shard>& shard, Group& group, const std::string& member_id,
                                      AfterUnlock& after) {
  Member* member = group.find(member_id);
  if (member == nullptr) return;
  if (auto done = std::exchange(member->awaiting_join, nullptr)) {
    after.push_back([done = std::move(done)] { done(join_error(ErrorCode::UNKNOWN_MEMBER_ID)); });
  }
  if (auto done = std::exchange(member->awaiting_sync, nullptr)) {
    after.push_back([done = std::move(done)] { done(sync_error(ErrorCode::UNKNOWN_MEMBER_ID)); });
  }
  group.remove(member_id);
  switch (group.state()) {
    case GroupState::stable:
    case GroupState::completing_rebalance: prepare_rebalance(shard, group, after); return;
    case GroupState::preparing_rebalance: maybe_complete_join(shard, group, after); return;
    case GroupState::empty:
    case GroupState::dead: return;
  }
}

void Coordinator::Impl::restart_session(const std::shared_ptr<Shard>& shard, Group& group, Member& member) {
  member.session_deadline = broker.clock().monotonic() + to_ns(member.session_timeout);
  arm_session_timer(shard, group.id(), member);
}

// A heartbeat only moves the deadline, and a timer that comes early arms itself again. A deadline before the timer needs a
// new one: a member that waited long for its first generation has a short session from then on.
void Coordinator::Impl::arm_session_timer(const std::shared_ptr<Shard>& shard, const std::string& group_id,
                                          Member& member) {
  if (member.session_timer_runs && member.session_timer_at <= member.session_deadline) return;
  member.session_timer_runs = true;
  member.session_timer_at = member.session_deadline;
  std::weak_ptr<Impl> weak = weak_from_this();
  broker.background().schedule(member.session_deadline, [weak, shard, group_id, member_id = member.id, at = member.session_timer_at] {
    auto self = weak.lock();
    if (self && !self->stopped) self->expire_session(shard, group_id, member_id, at);
  });
}

void Coordinator::Impl::expire_session(const std::shared_ptr<Shard>& shard, const std::string& group_id,
                                       const std::string& member_id, MonotonicNs timer_at) {
  AfterUnlock after;
  {
    MutexLock lock(shard->mu);
    auto at = shard->groups.find(group_id);
    if (at == shard->groups.end()) return;
    Group& group = at->second;
    Member* member = group.find(member_id);
    if (member == nullptr || !member->session_timer_runs || member->session_timer_at != timer_at) return;
    member->session_timer_runs = false;
    const MonotonicNs now = broker.clock().monotonic();
    if (now < member->session_deadline) {
      arm_session_timer(shard, group_id, *member);
      return;
    }
    // A member that waits for an answer of ours shows no heartbeats and is alive.
    if (!member->is_new && (member->awaiting_join || member->awaiting_sync)) {
      restart_session(shard, group, *member);
      return;
    }
    broker.logger().info("group {}: member {} sent no heartbeat for {} ms and is removed", group_id, member_id,
                         member->session_timeout);
    remove_member(shard, group, member_id, after);
  }
  for (auto& function : after) function();
}

}  // namespace cordwood::broker::groups
