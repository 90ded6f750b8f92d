#include "storage/cleaner/transaction_tracker.h"

#include "record/control_record.h"

namespace cordwood::storage {

void TransactionTracker::add(const std::vector<AbortedEntry>& aborted) { later_.insert(aborted.begin(), aborted.end()); }

void TransactionTracker::begin_up_to(Offset offset) {
  while (!later_.empty() && later_.begin()->first_offset <= offset) {
    const AbortedEntry entry = *later_.begin();
    later_.erase(later_.begin());
    ongoing_aborted_.try_emplace(entry.producer_id, Ongoing{entry});
  }
}

bool TransactionTracker::is_aborted(const record::BatchHeader& batch) {
  begin_up_to(batch.last_offset());
  if (!batch.is_transactional()) return false;
  if (const auto it = ongoing_aborted_.find(batch.producer_id); it != ongoing_aborted_.end()) {
    it->second.has_data = true;
    return true;
  }
  ongoing_committed_.insert(batch.producer_id);
  return false;
}

Result<TransactionTracker::Marker> TransactionTracker::on_control(const record::BatchView& batch,
                                                                  const record::BatchHeader& header) {
  begin_up_to(header.last_offset());
  Marker result;
  const std::optional<record::MarkerBatch> marker = TRY(record::read_marker(batch));
  if (!marker) {
    // Emptied by an earlier pass.
    result.transaction_is_empty = true;
    return result;
  }
  switch (marker->type) {
    case record::ControlType::abort: {
      const auto it = ongoing_aborted_.find(header.producer_id);
      if (it != ongoing_aborted_.end() && it->second.has_data) {
        result.keep = it->second.entry;
      } else {
        result.transaction_is_empty = true;
      }
      if (it != ongoing_aborted_.end()) ongoing_aborted_.erase(it);
      return result;
    }
    case record::ControlType::commit:
      result.transaction_is_empty = ongoing_committed_.erase(header.producer_id) == 0;
      return result;
    default: return result;
  }
}

}  // namespace cordwood::storage
