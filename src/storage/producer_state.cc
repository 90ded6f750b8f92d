#include "storage/producer_state.h"

#include <limits>

namespace cordwood::storage {

using record::BatchHeader;

void RecentBatches::push_back(const CachedBatch& batch) {
  if (size_ == kCapacity) {
    std::move(batches_.begin() + 1, batches_.end(), batches_.begin());
    --size_;
  }
  batches_[size_++] = batch;
}

namespace {

// May a batch that starts with `first` follow one that ended with `last`? -1 stands for no batch.
bool is_next_sequence(std::int32_t last, std::int32_t first) {
  if (last == std::numeric_limits<std::int32_t>::max()) return first == 0;
  return first == last + 1;
}

bool sequence_is_right(const ProducerEntry* entry, const BatchHeader& batch, const TransactionRules& rules) {
  bool nothing_known = entry == nullptr || entry->batches.empty();
  if (nothing_known && rules.producer_bumps_epoch && batch.is_transactional()) return batch.base_sequence == 0;
  // Without an entry any sequence will do: retention may have dropped all that this producer wrote.
  if (entry == nullptr || entry->epoch == -1) return true;
  if (batch.producer_epoch != entry->epoch) return batch.base_sequence == 0;
  return is_next_sequence(entry->last_sequence(), batch.base_sequence);
}

}  // namespace

std::optional<CachedBatch> ProducerState::find_duplicate(const BatchHeader& batch) const {
  if (!batch.has_producer_id() || batch.is_control()) return std::nullopt;
  auto found = producers_.find(batch.producer_id);
  if (found == producers_.end() || found->second.epoch != batch.producer_epoch) return std::nullopt;
  for (const CachedBatch& cached : found->second.batches) {
    if (cached.first_sequence() == batch.base_sequence && cached.last_sequence == batch.last_sequence()) return cached;
  }
  return std::nullopt;
}

ProducerFault ProducerState::check(const BatchHeader& batch, AppendOrigin origin,
                                   std::optional<std::int32_t> marker_coordinator_epoch,
                                   const TransactionRules& rules) const {
  if (!batch.has_producer_id()) return ProducerFault::none;
  auto found = producers_.find(batch.producer_id);
  const ProducerEntry* entry = found == producers_.end() ? nullptr : &found->second;
  if (marker_coordinator_epoch) return check_marker(entry, batch, origin, *marker_coordinator_epoch, rules);
  if (batch.is_control()) return ProducerFault::none;

  // A follower takes what the leader took, out of sequence or fenced since.
  bool fences = origin != AppendOrigin::replication;
  if (fences && entry != nullptr && batch.producer_epoch < entry->epoch) return ProducerFault::invalid_producer_epoch;
  if (origin == AppendOrigin::client && !sequence_is_right(entry, batch, rules)) {
    return ProducerFault::out_of_order_sequence;
  }
  if (entry != nullptr && entry->current_txn_first_offset && !batch.is_transactional()) {
    return ProducerFault::invalid_txn_state;
  }
  return ProducerFault::none;
}

ProducerFault ProducerState::check_marker(const ProducerEntry* entry, const BatchHeader& marker, AppendOrigin origin,
                                          std::int32_t coordinator_epoch, const TransactionRules& rules) const {
  if (entry == nullptr || origin == AppendOrigin::replication) return ProducerFault::none;
  if (marker.producer_epoch < entry->epoch) return ProducerFault::invalid_producer_epoch;
  if (rules.marker_bumps_epoch && marker.producer_epoch == entry->epoch) {
    bool repeated = !entry->current_txn_first_offset;
    bool at_limit = marker.producer_epoch == std::numeric_limits<std::int16_t>::max();
    if (!repeated && !at_limit) return ProducerFault::invalid_producer_epoch;
  }
  if (coordinator_epoch < entry->coordinator_epoch) return ProducerFault::transaction_coordinator_fenced;
  return ProducerFault::none;
}

std::optional<CompletedTransaction> ProducerState::update(const BatchHeader& batch,
                                                          std::optional<std::int32_t> marker_coordinator_epoch,
                                                          bool marker_aborts) {
  end_offset_ = std::max(end_offset_, batch.next_offset());
  if (!batch.has_producer_id()) return std::nullopt;
  if (batch.is_control() && !marker_coordinator_epoch) return std::nullopt;

  ProducerEntry& entry = producers_[batch.producer_id];
  entry.producer_id = batch.producer_id;
  if (entry.epoch != batch.producer_epoch) {
    entry.epoch = batch.producer_epoch;
    entry.batches.clear();
  }
  entry.last_timestamp = batch.max_timestamp;
  if (marker_coordinator_epoch) {
    entry.coordinator_epoch = *marker_coordinator_epoch;
    return end_transaction(entry, batch.last_offset(), marker_aborts);
  }
  entry.batches.push_back({.last_sequence = batch.last_sequence(),
                           .last_offset = batch.last_offset(),
                           .offset_delta = batch.last_offset_delta,
                           .timestamp = batch.max_timestamp});
  if (batch.is_transactional() && !entry.current_txn_first_offset) {
    entry.current_txn_first_offset = batch.base_offset;
    open_transactions_[batch.base_offset] = batch.producer_id;
  }
  return std::nullopt;
}

std::optional<CompletedTransaction> ProducerState::end_transaction(ProducerEntry& entry, Offset marker, bool aborts) {
  if (!entry.current_txn_first_offset) return std::nullopt;
  CompletedTransaction completed{.producer_id = entry.producer_id,
                                 .first_offset = *entry.current_txn_first_offset,
                                 .last_offset = marker,
                                 .aborted = aborts};
  entry.current_txn_first_offset.reset();
  open_transactions_.erase(completed.first_offset);
  unreplicated_transactions_[completed.first_offset] = completed;
  return completed;
}

std::optional<Offset> ProducerState::first_unstable_offset() const {
  std::optional<Offset> first;
  if (!open_transactions_.empty()) first = open_transactions_.begin()->first;
  if (!unreplicated_transactions_.empty()) {
    Offset completed = unreplicated_transactions_.begin()->first;
    first = first ? std::min(*first, completed) : completed;
  }
  return first;
}

Offset ProducerState::last_stable_offset_after(const CompletedTransaction& completed) const {
  for (const auto& [first_offset, producer_id] : open_transactions_) {
    if (producer_id != completed.producer_id) return first_offset;
  }
  return next(completed.last_offset);
}

void ProducerState::forget_completed_below(Offset offset) {
  std::erase_if(unreplicated_transactions_, [&](const auto& item) { return item.second.last_offset < offset; });
}

void ProducerState::on_high_watermark(Offset high_watermark) { forget_completed_below(high_watermark); }

void ProducerState::on_log_start(Offset log_start) {
  forget_completed_below(log_start);
  end_offset_ = std::max(end_offset_, log_start);
}

bool ProducerState::is_expired(const ProducerEntry& entry, TimestampMs now) const {
  if (entry.current_txn_first_offset) return false;
  // The timestamp is the client's and may be any number: the difference wraps, as it does in Kafka.
  auto age = static_cast<std::int64_t>(static_cast<std::uint64_t>(now.value) -
                                       static_cast<std::uint64_t>(entry.last_timestamp.value));
  return age >= expiration_.value;
}

std::size_t ProducerState::expire(TimestampMs now) {
  return std::erase_if(producers_, [&](const auto& item) { return is_expired(item.second, now); });
}

void ProducerState::clear() {
  producers_.clear();
  open_transactions_.clear();
  unreplicated_transactions_.clear();
  end_offset_ = {0};
}

void ProducerState::look_ahead_from(const ProducerState& other, std::int64_t producer_id) {
  const auto known = other.producers_.find(producer_id);
  if (known != other.producers_.end()) producers_.try_emplace(producer_id, known->second);
}

void ProducerState::restore(ProducerEntry entry, TimestampMs now) {
  if (is_expired(entry, now)) return;
  // Only a snapshot that nobody should have written names a producer twice; its last entry holds.
  auto known = producers_.find(entry.producer_id);
  if (known != producers_.end() && known->second.current_txn_first_offset) {
    open_transactions_.erase(*known->second.current_txn_first_offset);
  }
  if (entry.current_txn_first_offset) open_transactions_[*entry.current_txn_first_offset] = entry.producer_id;
  producers_[entry.producer_id] = std::move(entry);
}

}  // namespace cordwood::storage
