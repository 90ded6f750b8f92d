// The part of PartitionLog that deals with indexes which do not fit the batches.
//
// An offset or time index is a hint: look-ups find out by themselves and go on without it, and it is made anew in the
// background. A transaction index is none: what it lacks is served as committed. So before a reader of committed records
// is answered from one that was found on the disk, it is compared with the markers in its segment, once. That reads the
// headers of the segment's batches; not where the producer snapshot at the segment's end knows of no marker.

#include <fmt/format.h>

#include <algorithm>

#include "record/control_record.h"
#include "storage/directory_files.h"
#include "storage/partition_log_impl.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

constexpr Offset kNothingOpen{INT64_MAX};

Offset first_open(const std::vector<ProducerEntry>& producers) {
  Offset first = kNothingOpen;
  for (const ProducerEntry& entry : producers) {
    if (entry.current_txn_first_offset) first = std::min(first, *entry.current_txn_first_offset);
  }
  return first;
}

bool any_marker(const std::vector<ProducerEntry>& producers) {
  return std::ranges::any_of(producers, [](const ProducerEntry& entry) {
    return entry.coordinator_epoch >= 0 || entry.current_txn_first_offset.has_value();
  });
}

// A producer that ended its transactions and expired before the segment did is in no snapshot of its end.
Result<bool> spans_less_than(DurationMs duration, const Segment& segment) {
  const MaxTimestamp newest = TRY(segment.max_timestamp());
  const TimestampMs first = TRY(segment.first_batch_timestamp());
  // Timestamps are the clients': any number is possible.
  return static_cast<std::uint64_t>(newest.timestamp.value) - static_cast<std::uint64_t>(first.value) <
         static_cast<std::uint64_t>(duration.value);
}

// A snapshot that is missing or does not parse says nothing.
Result<std::optional<std::vector<ProducerEntry>>> snapshot_at(io::FileSystem& fs, const io::Path& directory, Offset offset) {
  Result<std::vector<ProducerEntry>> entries =
      read_producer_snapshot(fs, io::join(directory, segment_file_name(offset, kSnapshotSuffix)));
  if (entries) return std::optional(std::move(*entries));
  if (entries.error().code == Errc::io) return entries.error();
  return std::optional<std::vector<ProducerEntry>>();
}

// Feeds the batches of a segment to `state`, and hands out the transactions that end in it.
template <class Completed>
Result<void> replay(ProducerState& state, const Segment& segment, FilePosition end, Completed completed_one) {
  const std::shared_ptr<io::File> log = TRY(segment.file());
  BatchScan scan(*log, FilePosition{0}, end);
  ByteVector bytes;
  while (true) {
    const Result<std::optional<BatchInfo>> batch = scan.next();
    if (!batch && batch.error().code != Errc::corrupt) return batch.error();
    if (!batch || !*batch) return {};
    if ((*batch)->magic < 2) continue;
    const record::BatchHeader header = scan.header();
    if (!header.has_producer_id()) continue;
    if (header.is_control()) {
      bytes.resize(static_cast<std::size_t>((*batch)->size.value));
      bytes.resize(TRY(log->read_at((*batch)->position, bytes)));
    }
    const Result<std::optional<CompletedTransaction>> completed = note_batch(state, header, bytes);
    if (completed && *completed) completed_one(**completed);
  }
}

// What the segment's transaction index must hold, by the batches.
Result<std::vector<AbortedEntry>> aborted_by_batches(io::FileSystem& fs, const io::Path& directory, const SegmentList& list,
                                                     std::size_t index, FilePosition end, ProducerState& state) {
  // The newest snapshot at the base of this or an earlier segment, and the batches behind it.
  std::size_t from = index + 1;
  while (from > 0) {
    --from;
    const auto entries = TRY(snapshot_at(fs, directory, list[from]->base_offset()));
    if (!entries) continue;
    // As of the beginning of time: nobody has expired.
    for (const ProducerEntry& entry : *entries) state.restore(entry, TimestampMs{0});
    break;
  }
  for (std::size_t i = from; i < index; ++i) TRY(replay(state, *list[i], list[i]->valid_end(), [](const auto&) {}));
  std::vector<AbortedEntry> aborted;
  TRY(replay(state, *list[index], end, [&](const CompletedTransaction& completed) {
    if (!completed.aborted) return;
    aborted.push_back({completed.producer_id, completed.first_offset, completed.last_offset,
                       state.last_stable_offset_after(completed)});
  }));
  return aborted;
}

// The header of the batch that holds `offset`, when there is one.
Result<std::optional<record::BatchHeader>> header_at(const SegmentList& list, Offset offset) {
  const std::size_t index = floor_segment(list, offset);
  if (index == list.size()) return std::optional<record::BatchHeader>();
  const Result<std::optional<BatchInfo>> batch = list[index]->find_batch(offset, list[index]->valid_end());
  if (!batch && batch.error().code != Errc::corrupt) return batch.error();
  if (!batch || !*batch || (*batch)->magic < 2 || (*batch)->base_offset > offset) return std::optional<record::BatchHeader>();
  const std::shared_ptr<io::File> log = TRY(list[index]->file());
  std::array<std::byte, record::kHeaderSize> raw;
  TRY(log->read_at((*batch)->position, raw));
  return std::optional(record::BatchView(raw).header());
}

// The data of some transactions went with compaction: then there is nothing to hide.
Result<bool> has_data(const SegmentList& list, const AbortedEntry& entry) {
  const std::optional<record::BatchHeader> header = TRY(header_at(list, entry.first_offset));
  return header && header->base_offset == entry.first_offset && header->producer_id == entry.producer_id &&
         header->is_transactional() && !header->is_control();
}

Result<bool> has_marker(const SegmentList& list, const AbortedEntry& entry) {
  const std::optional<record::BatchHeader> header = TRY(header_at(list, entry.last_offset));
  return header && header->is_control() && header->producer_id == entry.producer_id &&
         entry.first_offset <= entry.last_offset && entry.last_stable_offset <= next(entry.last_offset);
}

}  // namespace

Result<void> PartitionLog::Impl::compare_txn_index(const SegmentList& list, std::size_t index, bool has_markers,
                                                   Offset open_at_end) const {
  Segment& segment = *list[index];
  std::vector<AbortedEntry> found;
  bool wrong = false;
  if (segment.has_txn_index()) {
    Result<std::vector<AbortedEntry>> entries = segment.aborted_entries();
    if (!entries && entries.error().code != Errc::unsupported) return entries.error();
    wrong = !entries;
    if (entries) found = std::move(*entries);
    const ByteCount size = TRY(env.fs->status(segment.path_of(kTxnIndexSuffix))).size;
    wrong = wrong || size.value % TxnIndex::kEntrySize != 0;
    // The cleaner takes aborted records away and keeps their entries: there the batches cannot tell what is missing.
    if (!wrong && was_compacted) {
      segment.trust_txn_index(open_at_end);
      return {};
    }
  } else if (!has_markers) {
    segment.trust_txn_index(open_at_end);
    return {};
  }

  ProducerState state(producer_expiration);
  std::vector<AbortedEntry> right;
  for (const AbortedEntry& entry :
       TRY(aborted_by_batches(*env.fs, *directory.load(), list, index, segment.valid_end(), state))) {
    const auto same = std::ranges::find(found, entry.last_offset, &AbortedEntry::last_offset);
    // One that starts below what the batches tell has lost its first ones to DeleteRecords or the cleaner.
    const bool is_there = same != found.end() && same->producer_id == entry.producer_id &&
                          same->first_offset <= entry.first_offset && same->last_stable_offset <= entry.last_stable_offset;
    if (is_there && (same->first_offset == entry.first_offset || !TRY(has_data(list, entry)))) {
      right.push_back(*same);
    } else if (TRY(has_data(list, entry))) {
      right.push_back(entry);
    }
  }
  for (const AbortedEntry& entry : found) {
    if (std::ranges::find(right, entry.last_offset, &AbortedEntry::last_offset) != right.end()) continue;
    if (TRY(has_marker(list, entry))) right.push_back(entry);
  }
  std::ranges::sort(right, {}, &AbortedEntry::last_offset);
  if (wrong || right != found) {
    env.logger->warn("{}: {}", *directory.load(),
                     describe({.file = segment_file_name(segment.base_offset(), kTxnIndexSuffix),
                               .finding = segment.has_txn_index() ? RecoveryFinding::wrong_entries : RecoveryFinding::missing,
                               .action = RecoveryAction::rebuilt,
                               .why = fmt::format("{} entries, {} by the batches", found.size(), right.size())}));
    TRY(segment.replace_aborted(right));
  }
  std::vector<ProducerEntry> at_end;
  for (const auto& [id, entry] : state.producers()) at_end.push_back(entry);
  // Of a transaction that the cleaner has emptied the batches do not tell that it was open here.
  segment.trust_txn_index(was_compacted ? Offset{INT64_MIN} : first_open(at_end));
  return {};
}

Result<void> PartitionLog::Impl::trust_txn_index(const SegmentList& list, std::size_t index) const {
  Segment& segment = *list[index];
  {
    MutexLock lock(mu);
    if (segments.back().get() == &segment) return trust_active_txn_index();
  }
  // Nothing removes or renames the segment's files meanwhile. Closed ones stay closed but for a truncation, which waits.
  MutexLock flush_lock(flush_mu);
  if (segment.txn_index_is_trusted()) return {};
  Offset next_base{0};
  {
    MutexLock lock(mu);
    const auto at = std::ranges::find(segments, list[index]);
    if (at == segments.end() || renamed) {
      segment.trust_txn_index(Offset{INT64_MIN});  // on its way out, and not ours to change
      return {};
    }
    if (at + 1 == segments.end()) return trust_active_txn_index();
    next_base = (*(at + 1))->base_offset();
  }
  bool has_markers = true;
  Offset open_at_end = Offset{INT64_MIN};
  if (const auto entries = TRY(snapshot_at(*env.fs, *directory.load(), next_base))) {
    has_markers = any_marker(*entries) || !TRY(spans_less_than(producer_expiration, segment));
    open_at_end = first_open(*entries);
  }
  return compare_txn_index(list, index, has_markers, open_at_end);
}

Result<void> PartitionLog::Impl::trust_active_txn_index() const {
  if (segments.back()->txn_index_is_trusted()) return {};
  std::vector<ProducerEntry> entries;
  for (const auto& [id, entry] : producers.producers()) entries.push_back(entry);
  const bool has_markers =
      any_marker(entries) || !TRY(spans_less_than(producer_expiration, *segments.back()));
  return compare_txn_index(segments, segments.size() - 1, has_markers, Offset{INT64_MIN});
}

Result<void> PartitionLog::trust_txn_indexes(const CleaningView& view, Offset end) const {
  const SegmentList& list = *view.segments;
  for (std::size_t i = 0; i + 1 < list.size() && list[i]->base_offset() < end; ++i) {
    if (!list[i]->txn_index_is_trusted()) TRY(impl_->trust_txn_index(list, i));
  }
  return {};
}

// --- hints ---

void PartitionLog::Impl::ask_for_repair() const {
  if (repair_asked.exchange(true, std::memory_order_relaxed)) return;
  std::function<void()> callback;
  {
    MutexLock lock(mu);
    callback = repair_callback;
  }
  if (callback) callback();
}

void PartitionLog::on_index_damage(std::function<void()> callback) {
  MutexLock lock(impl_->mu);
  impl_->repair_callback = std::move(callback);
}

Result<std::size_t> PartitionLog::Impl::rebuild_indexes(RebuildWhich which) {
  if (std::optional<Error> refused = refusal()) return *refused;
  MutexLock flush_lock(flush_mu);
  SegmentList list;
  {
    MutexLock lock(mu);
    if (closed) return Error{Errc::closed, fmt::format("{} is closed", partition.to_string())};
    list = segments;
  }
  std::size_t rebuilt = 0;
  for (const auto& segment : list) {
    const bool is_suspect = segment->index_is_suspect();
    if (which == RebuildWhich::suspect && !is_suspect) continue;
    if (is_suspect) {
      env.logger->warn("{}: {}", *directory.load(),
                       describe({.file = segment_file_name(segment->base_offset(), kOffsetIndexSuffix),
                                 .finding = RecoveryFinding::wrong_entries, .action = RecoveryAction::rebuilt,
                                 .why = "it or the time index beside it does not fit the batches"}));
    }
    bool is_active = false;
    {
      // An active one takes appends; a closed one stays closed while flush_mu is held.
      MutexLock lock(mu);
      is_active = segment == segments.back();
      if (is_active) {
        TRY(segment->prepare_for_append());
        TRY(segment->rebuild_indexes(true));
      }
    }
    if (!is_active) TRY(segment->rebuild_indexes(false));
    ++rebuilt;
  }
  // Only now: of what cannot be made anew nobody is asked again.
  repair_asked.store(false, std::memory_order_relaxed);
  return rebuilt;
}

Result<void> PartitionLog::repair_indexes() {
  TRY(impl_->rebuild_indexes(Impl::RebuildWhich::suspect));
  return {};
}

Result<std::size_t> PartitionLog::rebuild_indexes() { return impl_->rebuild_indexes(Impl::RebuildWhich::all); }

}  // namespace cordwood::storage
