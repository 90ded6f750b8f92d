#include "storage/producer_snapshots.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/damaged_files.h"
#include "storage/directory_files.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {

ProducerSnapshots::ProducerSnapshots(io::FileSystem& fs, Logger& logger, io::Path directory, std::vector<Offset> found)
    : fs_(fs), logger_(logger), directory_(std::move(directory)), offsets_(std::move(found)) {
  std::ranges::sort(offsets_);
  offsets_.erase(std::ranges::unique(offsets_).begin(), offsets_.end());
}

io::Path ProducerSnapshots::path_of(Offset offset) const {
  return io::join(directory_, segment_file_name(offset, kSnapshotSuffix));
}

std::optional<Offset> ProducerSnapshots::latest() const {
  if (offsets_.empty()) return std::nullopt;
  return offsets_.back();
}

Result<bool> ProducerSnapshots::take(const ProducerState& state, io::Fsync fsync) {
  const Offset offset = state.map_end_offset();
  if (offset <= last_taken_) return false;
  TRY(write_producer_snapshot(fs_, path_of(offset), state, fsync));
  const auto at = std::ranges::lower_bound(offsets_, offset);
  if (at == offsets_.end() || *at != offset) offsets_.insert(at, offset);
  last_taken_ = offset;
  return true;
}

Result<bool> ProducerSnapshots::take_if_there_is_room(const ProducerState& state, io::Fsync fsync) {
  Result<bool> taken = take(state, fsync);
  if (taken || taken.error().code != Errc::no_space) return taken;
  logger_.warn("there is no room for producer snapshot {}: a restart reads the batches instead", path_of(state.map_end_offset()));
  return false;
}

Result<void> ProducerSnapshots::remove(Offset offset) {
  Result<void> removed = fs_.remove_file(path_of(offset));
  if (!removed && removed.error().code != Errc::not_found) return removed.error();
  std::erase(offsets_, offset);
  return {};
}

std::vector<Offset> ProducerSnapshots::forget(const std::vector<Offset>& gone) {
  std::vector<Offset> found;
  for (Offset offset : gone) {
    if (std::erase(offsets_, offset) > 0) found.push_back(offset);
  }
  return found;
}

Result<std::vector<std::string>> ProducerSnapshots::remove_strays(const std::vector<Offset>& segment_bases) {
  std::vector<Offset> strays;
  for (Offset offset : offsets_) {
    if (std::ranges::find(segment_bases, offset) == segment_bases.end()) strays.push_back(offset);
  }
  if (!strays.empty() && (segment_bases.empty() || strays.back() >= segment_bases.back())) strays.pop_back();
  std::vector<std::string> removed;
  for (Offset offset : strays) {
    TRY(remove(offset));
    removed.push_back(segment_file_name(offset, kSnapshotSuffix));
  }
  return removed;
}

Result<void> ProducerSnapshots::load_newest(ProducerState& state, Offset log_start, TimestampMs now) {
  while (!offsets_.empty()) {
    const Offset offset = offsets_.back();
    Result<std::vector<ProducerEntry>> entries = read_producer_snapshot(fs_, path_of(offset));
    if (entries) {
      for (ProducerEntry& entry : *entries) state.restore(std::move(entry), now);
      state.set_map_end_offset(offset);
      last_taken_ = offset;
      return {};
    }
    const Errc code = entries.error().code;
    if (code != Errc::corrupt && code != Errc::unsupported && code != Errc::limit && code != Errc::not_found) {
      return entries.error();
    }
    RecoveryVerdict verdict{.file = segment_file_name(offset, kSnapshotSuffix), .finding = RecoveryFinding::unreadable,
                            .action = RecoveryAction::rebuilt, .why = entries.error().message()};
    verdict.kept_as = TRY(keep_aside(fs_, directory_, verdict.file));
    std::erase(offsets_, offset);
    logger_.warn("{}: {}", directory_, describe(verdict));
    verdicts_.push_back(std::move(verdict));
  }
  state.set_map_end_offset(log_start);
  last_taken_ = log_start;
  return {};
}

Result<void> ProducerSnapshots::truncate_and_reload(ProducerState& state, Offset log_start, Offset log_end,
                                                    TimestampMs now) {
  for (Offset offset : std::vector<Offset>(offsets_)) {
    if (offset > log_end || offset <= log_start) TRY(remove(offset));
  }
  if (state.map_end_offset() != log_end) {
    state.clear();
    return load_newest(state, log_start, now);
  }
  state.on_log_start(log_start);
  if (state.map_end_offset() < log_start) state.set_map_end_offset(log_start);
  last_taken_ = latest().value_or(log_start);
  return {};
}

Result<void> ProducerSnapshots::truncate_fully(ProducerState& state, Offset offset) {
  state.clear();
  for (Offset snapshot : std::vector<Offset>(offsets_)) TRY(remove(snapshot));
  state.set_map_end_offset(offset);
  last_taken_ = offset;  // there is nothing that a snapshot at `offset` would hold
  return {};
}

Result<std::optional<CompletedTransaction>> note_batch(ProducerState& state, const record::BatchHeader& header,
                                                       BytesView batch) {
  if (!header.has_producer_id()) return std::optional<CompletedTransaction>();
  if (!header.is_control()) return state.update(header);
  // A control batch that compaction emptied says nothing any more.
  const std::optional<record::MarkerBatch> marker = TRY(record::read_marker(record::BatchView(batch)));
  if (!marker) return std::optional<CompletedTransaction>();
  if (marker->type != record::ControlType::abort && marker->type != record::ControlType::commit) {
    return std::optional<CompletedTransaction>();
  }
  return state.update(header, marker->marker.coordinator_epoch, marker->type == record::ControlType::abort);
}

namespace {

// Feeds the batches of one segment from `from` on, up to but without the one that reaches `end`.
Result<void> replay_segment(ProducerState& state, const Segment& segment, Offset from, std::optional<Offset> end) {
  const FilePosition file_end = segment.valid_end();
  const std::optional<BatchInfo> first = TRY(segment.find_batch(from, file_end));
  if (!first) return {};
  FilePosition stop = file_end;
  if (end) {
    if (const std::optional<BatchInfo> last = TRY(segment.find_batch(*end, file_end))) stop = last->position;
  }
  const std::shared_ptr<io::File> log = TRY(segment.file());
  BatchScan scan(*log, first->position, stop);
  ByteVector control;
  while (const std::optional<BatchInfo> batch = TRY(scan.next())) {
    if (batch->magic < 2) continue;
    const record::BatchHeader header = scan.header();
    if (!header.has_producer_id()) continue;
    if (header.is_control()) {
      control.resize(static_cast<std::size_t>(batch->size.value));
      control.resize(TRY(log->read_at(batch->position, control)));
    }
    TRY(note_batch(state, header, control));
  }
  return {};
}

}  // namespace

Result<void> rebuild_producer_state(ProducerState& state, ProducerSnapshots& snapshots, const SegmentList& segments,
                                    Offset log_start, Offset end, TimestampMs now, Reload reload) {
  std::vector<Offset> snapshot_bases;  // of the last two segments
  for (std::size_t i = segments.size() < 2 ? 0 : segments.size() - 2; i < segments.size(); ++i) {
    snapshot_bases.push_back(segments[i]->base_offset());
  }
  if (!snapshots.latest() && reload == Reload::after_clean_stop) {
    if (!segments.empty()) {
      for (Offset base : snapshot_bases) {
        state.set_map_end_offset(base);
        TRY(snapshots.take_if_there_is_room(state, io::Fsync::no));
      }
      state.set_map_end_offset(end);
      TRY(snapshots.take_if_there_is_room(state, io::Fsync::yes));
    }
    return {};
  }

  const bool nothing_to_forget = state.empty() && state.map_end_offset() >= end;
  TRY(snapshots.truncate_and_reload(state, log_start, end, now));
  if (end > state.map_end_offset() && !nothing_to_forget) {
    const std::size_t end_segment = floor_segment(segments, end);
    const std::size_t first = floor_segment(segments, state.map_end_offset());
    for (std::size_t i = first == segments.size() ? 0 : first; i < segments.size(); ++i) {
      const Segment& segment = *segments[i];
      if (segment.base_offset() >= end) break;
      const Offset from = std::max({segment.base_offset(), state.map_end_offset(), log_start});
      state.set_map_end_offset(from);
      if (std::ranges::find(snapshot_bases, segment.base_offset()) != snapshot_bases.end()) {
        TRY(snapshots.take_if_there_is_room(state, io::Fsync::yes));
      }
      TRY(replay_segment(state, segment, from, i == end_segment ? std::optional<Offset>(end) : std::nullopt));
    }
  }
  state.set_map_end_offset(end);
  TRY(snapshots.take_if_there_is_room(state, io::Fsync::yes));
  return {};
}

}  // namespace cordwood::storage
