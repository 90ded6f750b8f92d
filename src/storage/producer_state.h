// storage/producer_state.h — what a partition knows of its producers: duplicates, sequences, epochs, open transactions.
//
// Rules: docs/formats/producer_snapshot.md (seen on Kafka 4.4.0). Externally locked (by its PartitionLog).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "record/batch.h"

namespace cordwood::storage {

// Where an append comes from: which checks apply.
enum class AppendOrigin {
  client,       // everything is checked
  coordinator,  // our own coordinators: no sequence checks
  replication,  // a follower, recovery, or a KRaft log: neither sequences nor epochs are fenced
};

enum class ProducerFault {
  none,
  out_of_order_sequence,           // 45
  invalid_producer_epoch,          // 47
  invalid_txn_state,               // 48
  transaction_coordinator_fenced,  // 52
};

struct CachedBatch {
  std::int32_t last_sequence = -1;
  Offset last_offset{-1};
  std::int32_t offset_delta = 0;
  TimestampMs timestamp = kNoTimestamp;
  std::int32_t first_sequence() const { return record::subtract_sequence(last_sequence, offset_delta); }
  // Wraps, as in Kafka, for the numbers of a snapshot that nobody should have written.
  Offset first_offset() const {
    return {static_cast<std::int64_t>(static_cast<std::uint64_t>(last_offset.value) -
                                      static_cast<std::uint64_t>(static_cast<std::int64_t>(offset_delta)))};
  }
  bool operator==(const CachedBatch&) const = default;
};

// The newest batches of a producer, oldest first; a sixth pushes the oldest out. In place, as there may be very many
// producers.
class RecentBatches {
 public:
  static constexpr std::size_t kCapacity = 5;
  void push_back(const CachedBatch& batch);
  void clear() { size_ = 0; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const CachedBatch& back() const { return batches_[size_ - 1]; }
  const CachedBatch* begin() const { return batches_.data(); }
  const CachedBatch* end() const { return batches_.data() + size_; }
  bool operator==(const RecentBatches& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  std::array<CachedBatch, kCapacity> batches_;
  std::uint8_t size_ = 0;
};

struct ProducerEntry {
  std::int64_t producer_id = -1;
  std::int16_t epoch = -1;
  RecentBatches batches;
  std::int32_t coordinator_epoch = -1;
  TimestampMs last_timestamp = kNoTimestamp;
  std::optional<Offset> current_txn_first_offset;
  std::int32_t last_sequence() const { return batches.empty() ? -1 : batches.back().last_sequence; }
  bool operator==(const ProducerEntry&) const = default;
};

// What check() must know beyond the log when transactions of version 2 are in use (KIP-890, KIP-1228). The defaults are
// the rules of versions 0 and 1.
struct TransactionRules {
  // The epoch of a marker must exceed the producer's, unless it is a repeated one (no open transaction) or at its limit.
  bool marker_bumps_epoch = false;
  // The producer was verified and bumps its epoch itself, so that the first batch we see of it has sequence 0.
  bool producer_bumps_epoch = false;
};

// A transaction whose marker was appended.
struct CompletedTransaction {
  std::int64_t producer_id = -1;
  Offset first_offset;
  Offset last_offset;  // of the marker
  bool aborted = false;
};

class ProducerState {
 public:
  explicit ProducerState(DurationMs expiration) : expiration_(expiration) {}

  // The batch of this producer that `batch` repeats exactly (same epoch, first and last sequence), if any.
  std::optional<CachedBatch> find_duplicate(const record::BatchHeader& batch) const;

  // May this data batch or marker be appended? Changes nothing. `marker_coordinator_epoch` is given for markers; a
  // control batch without one is an empty control batch, which is let through and which update() passes over.
  ProducerFault check(const record::BatchHeader& batch, AppendOrigin origin,
                      std::optional<std::int32_t> marker_coordinator_epoch = {},
                      const TransactionRules& rules = {}) const;

  // Takes note of an appended batch (base offset set). For a marker give its coordinator epoch and whether it aborts;
  // the answer is the transaction that it ended, if one was open.
  std::optional<CompletedTransaction> update(const record::BatchHeader& batch,
                                             std::optional<std::int32_t> marker_coordinator_epoch = {},
                                             bool marker_aborts = false);

  // Transactions stay "unstable" until the high watermark has passed their marker.
  std::optional<Offset> first_unstable_offset() const;
  // The first offset of the earliest open transaction of another producer than `completed`, else marker + 1.
  Offset last_stable_offset_after(const CompletedTransaction& completed) const;
  void on_high_watermark(Offset high_watermark);  // forgets the transactions whose marker lies below
  void on_log_start(Offset log_start);            // the same, and the map ends at `log_start` or later

  // Removes entries without open transaction whose last timestamp is `expiration` or more before `now`.
  std::size_t expire(TimestampMs now);

  // The next offset after the last batch that the state knows of; a snapshot is named after it.
  Offset map_end_offset() const { return end_offset_; }
  void set_map_end_offset(Offset end) { end_offset_ = end; }
  bool empty() const { return producers_.empty(); }
  const std::unordered_map<std::int64_t, ProducerEntry>& producers() const { return producers_; }
  void clear();  // as new

  // Knows of this producer's batches what `other` knows, to see which ones could follow them. Of transactions nothing but
  // the producer's own.
  void look_ahead_from(const ProducerState& other, std::int64_t producer_id);

  // Restores an entry read from a snapshot; expired ones (no open transaction) are dropped.
  void restore(ProducerEntry entry, TimestampMs now);

 private:
  bool is_expired(const ProducerEntry& entry, TimestampMs now) const;
  ProducerFault check_marker(const ProducerEntry* entry, const record::BatchHeader& marker, AppendOrigin origin,
                             std::int32_t coordinator_epoch, const TransactionRules& rules) const;
  void forget_completed_below(Offset offset);
  std::optional<CompletedTransaction> end_transaction(ProducerEntry& entry, Offset marker, bool aborts);

  DurationMs expiration_;
  std::unordered_map<std::int64_t, ProducerEntry> producers_;
  std::map<Offset, std::int64_t> open_transactions_;              // first offset -> producer
  std::map<Offset, CompletedTransaction> unreplicated_transactions_;  // by first offset
  Offset end_offset_{0};
};

// --- snapshots: <next offset, 20 digits>.snapshot, version 1, CRC-32C; docs/formats/producer_snapshot.md ---

// Entries ascend by producer id. Only the newest batch of each producer is kept, so duplicates of older ones are not
// known after a restart (as in Kafka).
ByteVector encode_producer_snapshot(const ProducerState& state);
// Errors: corrupt (length, CRC, count), unsupported (version).
Result<std::vector<ProducerEntry>> decode_producer_snapshot(BytesView bytes, std::string_view path);

// Replaces the file as a whole (io::write_file_atomically).
Result<void> write_producer_snapshot(io::FileSystem& fs, const io::Path& path, const ProducerState& state,
                                     io::Fsync fsync);
Result<std::vector<ProducerEntry>> read_producer_snapshot(io::FileSystem& fs, const io::Path& path);

}  // namespace cordwood::storage
