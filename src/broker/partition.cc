#include "broker/partition.h"

#include <algorithm>
#include <mutex>

#include "broker/storage_errors.h"

namespace cordwood::broker {

using protocol::ErrorCode;

Partition::Partition(TopicPartition name, Uuid topic_id, NodeId this_node, std::shared_ptr<storage::PartitionLog> log)
    : name_(std::move(name)), topic_id_(topic_id), this_node_(this_node), log_(std::move(log)) {}

bool Partition::leads() const { return applied_ && !retired_ && !lost_ && role_.leader == this_node_; }

ErrorCode Partition::why_not_leader() const {
  if (leads()) return ErrorCode::NONE;
  return lost_ && !retired_ ? ErrorCode::KAFKA_STORAGE_ERROR : ErrorCode::NOT_LEADER_OR_FOLLOWER;
}

void Partition::advance_high_watermark() {
  if (role_.isr_is_this_node) log_->set_high_watermark(log_->settled_end());
}

Result<void> Partition::apply(const metadata::PartitionState& state) {
  Result<void> noted;
  {
    std::unique_lock lock(role_mu_);
    bool led = leads();
    bool new_epoch = !applied_ || role_.leader_epoch != state.leader_epoch;
    role_ = {.leader = state.leader,
             .leader_epoch = state.leader_epoch,
             .isr_size = static_cast<std::uint32_t>(state.isr.size()),
             .isr_is_this_node = state.isr == std::vector{this_node_},
             .replicas = state.replicas};
    applied_ = true;
    if (leads()) {
      // An epoch without records is on the disk as well: OffsetForLeaderEpoch must know where it began.
      if (!led || new_epoch) noted = log_->begin_leader_epoch(LeaderEpoch{state.leader_epoch});
      advance_high_watermark();
    }
  }
  wake_all();
  return noted;
}

Partition::Leadership Partition::leadership() const {
  std::shared_lock lock(role_mu_);
  if (!applied_) return {};
  return {leads(), role_.leader_epoch, role_.leader, role_.isr_size, role_.replicas.size()};
}

ErrorCode Partition::check_leader(std::int32_t current_epoch) const {
  std::shared_lock lock(role_mu_);
  // The epoch first: a client with an old epoch learns that rather than that we do not lead.
  if (current_epoch >= 0 && applied_ && !retired_ && !lost_) {
    if (current_epoch < role_.leader_epoch) return ErrorCode::FENCED_LEADER_EPOCH;
    if (current_epoch > role_.leader_epoch) return ErrorCode::UNKNOWN_LEADER_EPOCH;
  }
  return why_not_leader();
}

bool Partition::is_remote_replica(NodeId node) const {
  std::shared_lock lock(role_mu_);
  return applied_ && node != this_node_ && std::ranges::find(role_.replicas, node) != role_.replicas.end();
}

std::optional<Partition::Appended> Partition::refusal(storage::AppendOrigin origin) const {
  Appended appended;
  appended.fault = storage::AppendFault::storage_error;
  if (!leads()) {
    appended.error = Error{Errc::closed, name_.to_string() + " is not led by this broker"};
    appended.code = why_not_leader();
    return appended;
  }
  if (origin == storage::AppendOrigin::client && log_->is_short_of_space()) {
    appended.error = Error{Errc::no_space, "no records are taken: the disk of " + log_->directory() + " is nearly full"};
    appended.code = ErrorCode::KAFKA_STORAGE_ERROR;
    return appended;
  }
  return std::nullopt;
}

Partition::Appended Partition::append(MutableBytesView batch, storage::AppendOrigin origin, storage::DueFlush due_flush) {
  Appended appended;
  {
    std::shared_lock lock(role_mu_);
    if (std::optional<Appended> refused = refusal(origin)) return std::move(*refused);
    static_cast<storage::AppendResult&>(appended) =
        log_->append_as_leader(batch, LeaderEpoch{role_.leader_epoch}, origin, {}, due_flush);
    if (appended.fault != storage::AppendFault::none) {
      appended.code = error_code_of(appended);
      return appended;
    }
    if (!appended.duplicate) {
      count_appended(appended, batch.size());
      advance_high_watermark();
    }
  }
  if (!appended.duplicate) wake_all();
  return appended;
}

std::vector<Partition::Appended> Partition::append_all(std::span<const MutableBytesView> batches, storage::AppendOrigin origin) {
  if (batches.size() == 1) return {append(batches.front(), origin, storage::DueFlush::by_caller)};
  std::vector<Appended> all;
  all.reserve(batches.size());
  bool has_new = false;
  {
    std::shared_lock lock(role_mu_);
    if (std::optional<Appended> refused = refusal(origin)) return std::vector<Appended>(batches.size(), *refused);
    std::vector<storage::AppendResult> results;
    log_->append_all_as_leader(batches, LeaderEpoch{role_.leader_epoch}, origin, results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      Appended& appended = all.emplace_back();
      static_cast<storage::AppendResult&>(appended) = std::move(results[i]);
      if (appended.fault != storage::AppendFault::none) {
        appended.code = error_code_of(appended);
      } else if (!appended.duplicate) {
        count_appended(appended, batches[i].size());
        has_new = true;
      }
    }
    if (has_new) advance_high_watermark();
  }
  if (has_new) wake_all();
  return all;
}

void Partition::count_appended(const storage::AppendResult& result, std::size_t bytes) {
  records_in_.fetch_add(static_cast<std::uint64_t>(result.last_offset.value - result.base_offset.value + 1), std::memory_order_relaxed);
  bytes_in_.fetch_add(bytes, std::memory_order_relaxed);
}

void Partition::on_flushed() {
  {
    std::shared_lock lock(role_mu_);
    if (leads()) advance_high_watermark();
  }
  wake_all();
}

Partition::WaiterId Partition::add_waiter(std::function<void()> wake) {
  MutexLock lock(waiters_mu_);
  waiters_.emplace_back(++last_waiter_, std::move(wake));
  return last_waiter_;
}

void Partition::remove_waiter(WaiterId id) {
  // Destroyed after the lock is let go: it may own what waits, and that may come back here.
  std::function<void()> dropped;
  MutexLock lock(waiters_mu_);
  auto at = std::ranges::find(waiters_, id, &std::pair<WaiterId, std::function<void()>>::first);
  if (at == waiters_.end()) return;
  dropped = std::move(at->second);
  waiters_.erase(at);
}

void Partition::wake_all() {
  std::vector<std::pair<WaiterId, std::function<void()>>> woken;
  {
    MutexLock lock(waiters_mu_);
    woken.swap(waiters_);
  }
  for (auto& [id, wake] : woken) wake();
}

void Partition::retire() {
  {
    std::unique_lock lock(role_mu_);
    retired_ = true;
  }
  wake_all();
}

void Partition::lose_log() {
  {
    std::unique_lock lock(role_mu_);
    lost_ = true;
  }
  wake_all();
}

}  // namespace cordwood::broker
