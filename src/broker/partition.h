// broker/partition.h — a partition's role on this broker: leader or not, ISR, high watermark, who waits for it.
//
// Has a replica set and an ISR from the first day, of one. Threads: safe for all. Lock order: this, then its log.
// Appends and look-ups share the role's lock, a change of role takes it alone: no append runs while leadership goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/types.h"
#include "broker/metadata/image.h"
#include "protocol/error_code.h"
#include "storage/partition_log.h"

namespace cordwood::broker {

class Partition {
 public:
  Partition(TopicPartition name, Uuid topic_id, NodeId this_node, std::shared_ptr<storage::PartitionLog> log);

  const TopicPartition& name() const { return name_; }
  Uuid topic_id() const { return topic_id_; }
  const std::shared_ptr<storage::PartitionLog>& log() const { return log_; }

  // Takes over what the metadata says. Becoming leader notes the epoch in the log at once and, with an ISR of one, lifts
  // the high watermark to the log end. Losing leadership wakes every waiter.
  Result<void> apply(const metadata::PartitionState& state);

  struct Leadership {
    bool is_leader = false;
    std::int32_t leader_epoch = -1;
    std::optional<NodeId> leader;
    std::size_t isr_size = 0;
    std::size_t replica_count = 0;
  };
  Leadership leadership() const;
  // NONE, NOT_LEADER_OR_FOLLOWER (6), KAFKA_STORAGE_ERROR (56) once its directory failed, FENCED_LEADER_EPOCH (74),
  // UNKNOWN_LEADER_EPOCH (75). `current_epoch` -1: no check.
  protocol::ErrorCode check_leader(std::int32_t current_epoch) const;

  // Whether `node` follows this partition from elsewhere.
  bool is_remote_replica(NodeId node) const;

  // What became of an append, with the code that a client gets. When this broker does not lead, `code` says so and
  // `fault` is storage_error.
  struct Appended : storage::AppendResult {
    protocol::ErrorCode code = protocol::ErrorCode::NONE;
  };
  // Appends one validated batch and moves the high watermark (ISR of one: to the log end), then wakes waiters. Where the
  // result has a `flush_to` (DueFlush::by_caller), the records are acknowledged and seen after the flush, by on_flushed().
  // A client's records are refused while the disk is nearly full: KAFKA_STORAGE_ERROR, with an error of no_space.
  Appended append(MutableBytesView batch, storage::AppendOrigin origin,
                  storage::DueFlush due_flush = storage::DueFlush::by_append);
  // The same for several batches, one after the other, as with DueFlush::by_caller; in as few writes as can be, and the high
  // watermark moves once.
  std::vector<Appended> append_all(std::span<const MutableBytesView> batches, storage::AppendOrigin origin);
  // More of the log is on the disk: the high watermark follows, waiters wake.
  void on_flushed();

  // What clients have written and read since the broker started. Nobody waits for these numbers: each is right by itself.
  struct Traffic {
    std::uint64_t records_in = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
  };
  Traffic traffic() const {
    return {records_in_.load(std::memory_order_relaxed), bytes_in_.load(std::memory_order_relaxed),
            bytes_out_.load(std::memory_order_relaxed)};
  }
  void count_fetched(ByteCount bytes) {
    bytes_out_.fetch_add(static_cast<std::uint64_t>(bytes.value), std::memory_order_relaxed);
  }

  // `wake` runs (on any thread, once at most, no lock of ours held) when the log end, the high watermark, the last stable
  // offset, the leadership changes or the partition goes away. It must be cheap: post to a loop.
  using WaiterId = std::uint64_t;
  WaiterId add_waiter(std::function<void()> wake);
  void remove_waiter(WaiterId id);
  // Something else changed that waiters care about (DeleteRecords, deletion).
  void wake_all();
  // The partition is being deleted: answers NOT_LEADER / UNKNOWN from now on, wakes all.
  void retire();
  // Its log directory failed: answers KAFKA_STORAGE_ERROR from now on, wakes all.
  void lose_log();

 private:
  const TopicPartition name_;
  const Uuid topic_id_;
  const NodeId this_node_;
  const std::shared_ptr<storage::PartitionLog> log_;

  bool leads() const;  // with role_mu_ held
  protocol::ErrorCode why_not_leader() const;  // with role_mu_ held; NONE when it leads
  // With role_mu_ held: what an append is answered that does not get as far as the log.
  std::optional<Appended> refusal(storage::AppendOrigin origin) const;
  // An ISR of ourselves alone: what we wrote is replicated.
  void advance_high_watermark();  // with role_mu_ held

  mutable std::shared_mutex role_mu_;  // guards what follows
  // Of the metadata's state what matters here.
  struct Role {
    std::optional<NodeId> leader;
    std::int32_t leader_epoch = 0;
    std::uint32_t isr_size = 0;
    bool isr_is_this_node = false;  // and nobody else
    std::vector<NodeId> replicas;
  };
  Role role_;
  bool applied_ = false;  // role_ was set once
  bool retired_ = false;
  bool lost_ = false;  // the log directory failed

  void count_appended(const storage::AppendResult& result, std::size_t bytes);
  std::atomic<std::uint64_t> records_in_{0};
  std::atomic<std::uint64_t> bytes_in_{0};
  std::atomic<std::uint64_t> bytes_out_{0};

  mutable Mutex waiters_mu_;
  WaiterId last_waiter_ GUARDED_BY(waiters_mu_) = 0;
  std::vector<std::pair<WaiterId, std::function<void()>>> waiters_ GUARDED_BY(waiters_mu_);
};

}  // namespace cordwood::broker
