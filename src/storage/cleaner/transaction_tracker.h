// storage/cleaner/transaction_tracker.h — which batches of a log belong to aborted transactions, and which markers have
// outlived their transaction's data; asked batch by batch, in offset order.
//
// A marker may go once a pass has met no data batch of its transaction: so it lives at least one pass longer than the data.
// Rules: docs/formats/cleaner.md, "transactions" (seen on Kafka 4.4.0). One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "record/batch.h"
#include "storage/txn_index.h"

namespace cordwood::storage {

class TransactionTracker {
 public:
  // Before the batches of a segment: the aborted transactions that overlap it. One may be named for several segments.
  void add(const std::vector<AbortedEntry>& aborted);

  // A batch that is no control batch: whether its transaction was aborted.
  bool is_aborted(const record::BatchHeader& batch);

  struct Marker {
    bool transaction_is_empty = false;  // no data of it was met: the marker has nothing left to say
    std::optional<AbortedEntry> keep;   // the entry that the new transaction index must have
  };
  // A control batch. Errors: corrupt when it does not parse.
  Result<Marker> on_control(const record::BatchView& batch, const record::BatchHeader& header);

 private:
  struct Ongoing {
    AbortedEntry entry;
    bool has_data = false;
  };
  void begin_up_to(Offset offset);

  // Those that begin later: (first offset, producer, marker).
  struct Order {
    bool operator()(const AbortedEntry& a, const AbortedEntry& b) const {
      if (a.first_offset != b.first_offset) return a.first_offset < b.first_offset;
      if (a.producer_id != b.producer_id) return a.producer_id < b.producer_id;
      return a.last_offset < b.last_offset;
    }
  };
  std::set<AbortedEntry, Order> later_;
  std::unordered_map<std::int64_t, Ongoing> ongoing_aborted_;    // by producer
  std::unordered_set<std::int64_t> ongoing_committed_;           // producers with data that nothing aborts
};

}  // namespace cordwood::storage
