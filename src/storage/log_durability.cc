// What PartitionLog does to the disk beside appending: flush, truncation, the clean close.

#include <fmt/format.h>

#include <algorithm>

#include "storage/directory_files.h"
#include "storage/partition_log_impl.h"

namespace cordwood::storage {

// --- flush ---

Result<void> PartitionLog::Impl::save_epochs() {
  std::vector<EpochEntry> entries;
  std::uint64_t version = 0;
  io::Path path;
  {
    MutexLock lock(mu);
    if (renamed || !epochs.is_unwritten()) return {};
    entries = epochs.entries();
    version = epochs.version();
    path = io::join(*directory.load(), kLeaderEpochCheckpoint);
  }
  TRY(write_epoch_checkpoint(*env.fs, path, entries));
  MutexLock lock(mu);
  epochs.mark_written(version);
  return {};
}

Result<void> PartitionLog::Impl::flush_up_to(Offset offset, FlushScope scope) {
  if (std::optional<Error> refused = refusal()) return *refused;
  MutexLock flush_lock(flush_mu);
  const Offset point = recovery_point.load(std::memory_order_acquire);
  SegmentList to_sync;
  std::shared_ptr<Segment> active_segment;
  std::vector<io::Path> small_files;
  std::vector<Offset> due_snapshots;
  bool metadata_due = false;
  io::Path where;
  bool new_files = false;  // their names are not durable yet
  bool new_directory = false;
  {
    MutexLock lock(mu);
    if (renamed) return {};
    offset = std::min(offset, end.load().offset);
    active_segment = segments.back();
    // From the segment before the recovery point on: it may have been closed, and its index files trimmed, after the
    // last flush. What was synced already costs nothing.
    std::size_t first = floor_segment(segments, Offset{point.value - 1});
    if (first == segments.size()) first = 0;
    for (std::size_t i = first; i < segments.size(); ++i) {
      // The clean close takes an empty active segment along.
      if (segments[i]->base_offset() >= offset && !closed) break;
      to_sync.push_back(segments[i]);
      if (segments[i]->base_offset() >= point) new_files = true;
    }
    std::vector<Offset> still_unsynced;
    for (Offset snapshot : unsynced_snapshots) {
      if (snapshot > offset) {
        still_unsynced.push_back(snapshot);
      } else {
        due_snapshots.push_back(snapshot);
        small_files.push_back(snapshots.path_of(snapshot));
      }
    }
    unsynced_snapshots = std::move(still_unsynced);
    where = *directory.load();
    new_directory = std::exchange(directory_unsynced, false);
    if (std::exchange(names_unsynced, false)) new_files = true;
    metadata_due = std::exchange(metadata_unsynced, false);
    if (metadata_due) small_files.push_back(io::join(where, kPartitionMetadata));
  }
  bool epochs_saved = true;
  const auto sync_all = [&]() REQUIRES(flush_mu) -> Result<void> {
    Result<void> saved = save_epochs();
    // Without room for the small file the records are made durable all the same, and their epochs are in them: only the
    // recovery point must wait, so that a restart reads these.
    epochs_saved = saved.has_value();
    if (!saved && saved.error().code != Errc::no_space) return saved;
    for (const io::Path& path : small_files) {
      Result<std::shared_ptr<io::File>> file = env.fs->open(path, io::OpenMode::read_write);
      if (!file && file.error().code == Errc::not_found) continue;  // went with its segment meanwhile
      if (!file) return file.error();
      TRY((*file)->sync());
    }
    for (const auto& segment : to_sync) {
      const bool records_only = scope == FlushScope::records && segment == active_segment;
      TRY(records_only ? segment->sync_records() : segment->sync());
    }
    if (new_files || !small_files.empty()) TRY(env.fs->sync_directory(where));
    if (new_directory) TRY(env.fs->sync_directory(io::Path(io::parent_of(where))));
    return {};
  };
  if (Result<void> synced = sync_all(); !synced) {
    {
      MutexLock lock(mu);
      if (renamed) return {};  // deleted meanwhile: a file that is gone is no failure of the disk
      if (is_out_of_descriptors(synced.error())) {
        // No fsync has failed, some did not come to pass: the next flush has it all to do again.
        unsynced_snapshots.insert(unsynced_snapshots.begin(), due_snapshots.begin(), due_snapshots.end());
        directory_unsynced |= new_directory;
        names_unsynced |= new_files;
        metadata_unsynced |= metadata_due;
        return synced;
      }
    }
    fail(synced.error());
    return synced;
  }
  if (offset > synced_to.load()) synced_to.store(offset, std::memory_order_release);
  if (offset > point && epochs_saved) recovery_point.store(offset, std::memory_order_release);
  last_flush.store(env.clock->now(), std::memory_order_release);
  return {};
}

Result<void> PartitionLog::flush_up_to(Offset offset) {
  Result<void> flushed = impl_->flush_up_to(offset, Impl::FlushScope::everything);
  if (!flushed && flushed.error().code != Errc::closed) impl_->report_failure(flushed.error());
  return flushed;
}

Result<void> PartitionLog::flush_records() {
  Result<void> flushed = impl_->flush_up_to(log_end_offset(), Impl::FlushScope::records);
  if (!flushed && flushed.error().code != Errc::closed) impl_->report_failure(flushed.error());
  return flushed;
}

void PartitionLog::Impl::report_failure(const Error& why) {
  std::function<void(const Error&)> on_failed;
  {
    MutexLock lock(mu);
    on_failed = failure_callback;
  }
  if (on_failed) on_failed(why);
}

Result<void> PartitionLog::flush() { return flush_up_to(log_end_offset()); }

Result<void> PartitionLog::close_cleanly() {
  if (std::optional<Error> refusal = impl_->refusal()) return *refusal;
  {
    MutexLock lock(impl_->mu);
    if (impl_->closed) return {};
    impl_->closed = true;
    if (!impl_->is_metadata_log) {
      if (Result<void> closed = impl_->active().become_inactive(); !closed) {
        impl_->fail(closed.error());
        return closed;
      }
    }
  }
  TRY(flush());
  MutexLock lock(impl_->mu);
  // The metadata log is read as a whole by every start. Any other must not count as clean without its snapshot, or its
  // producers would be forgotten.
  Result<bool> taken = impl_->is_metadata_log
                           ? impl_->snapshots.take_if_there_is_room(impl_->producers, io::Fsync::yes)
                           : impl_->snapshots.take(impl_->producers, io::Fsync::yes);
  if (!taken) impl_->fail(taken.error());
  if (!taken) return taken.error();
  impl_->closed_cleanly.store(true, std::memory_order_release);
  return {};
}

// --- truncation ---

Result<void> PartitionLog::Impl::truncate_fully(Offset offset) {
  ++truncations;
  SegmentList old = std::move(segments);
  segments.clear();
  high_watermark.store(offset, std::memory_order_release);
  // From the last one back: what a crash leaves is a shorter log and no hole.
  std::ranges::reverse(old);
  TRY(retire(old, {}, config.file_delete_delay_ms));
  segments.push_back(TRY(Segment::create(*env.fs, *directory.load(), offset,
                                         Segment::Settings::from(config, *env.random, env.open_files), env.clock->now(),
                                         Segment::IndexFiles::at_once)));
  publish_segments();
  end.store({offset, offset, FilePosition{0}});
  torn_tail = false;
  TRY(epochs.clear());
  TRY(snapshots.truncate_fully(producers, offset));
  log_start.store(offset, std::memory_order_release);
  recovery_point.store(std::min(recovery_point.load(), offset), std::memory_order_release);
  given_up.store(std::min(given_up.load(), offset), std::memory_order_release);
  synced_to.store(std::min(synced_to.load(), offset), std::memory_order_release);
  flush_due.store(std::min(flush_due.load(), offset), std::memory_order_release);
  publish_unstable();
  return env.fs->sync_directory(*directory.load());
}

Result<void> PartitionLog::Impl::truncate_within(Offset offset) {
  ++truncations;
  // Readers must stop looking before the bytes go.
  if (high_watermark.load() > offset) high_watermark.store(offset, std::memory_order_release);
  SegmentList gone;
  while (active().base_offset() > offset) {
    gone.push_back(segments.back());
    segments.pop_back();
  }
  if (!gone.empty()) {
    publish_segments();
    end.store({offset, active().base_offset(), FilePosition{active().size().value}});
    TRY(retire(gone, forget_snapshots(gone), config.file_delete_delay_ms));
  }
  const std::optional<BatchInfo> first_gone =
      TRY(active().find_batch(offset, FilePosition{active().size().value}));
  end.store({offset, active().base_offset(),
             first_gone ? first_gone->position : FilePosition{active().size().value}});
  TRY(active().truncate_to(offset, env.clock->now()));
  torn_tail = false;
  TRY(epochs.truncate_from_end(offset));
  recovery_point.store(std::min(recovery_point.load(), offset), std::memory_order_release);
  given_up.store(std::min(given_up.load(), offset), std::memory_order_release);
  synced_to.store(std::min(synced_to.load(), offset), std::memory_order_release);
  flush_due.store(std::min(flush_due.load(), offset), std::memory_order_release);
  log_start.store(std::min(log_start.load(), offset), std::memory_order_release);
  TRY(rebuild_producer_state(producers, snapshots, segments, log_start.load(), offset, env.clock->now(), Reload::replay));
  producers.on_high_watermark(high_watermark.load());
  publish_unstable();
  return {};
}

Result<void> PartitionLog::truncate_to(Offset offset) {
  if (std::optional<Error> refusal = impl_->refusal()) return *refusal;
  if (offset < Offset{0}) return Error{Errc::invalid, fmt::format("cannot truncate to {}", offset)};
  MutexLock flush_lock(impl_->flush_mu);
  Result<void> truncated = impl_->truncate(offset);
  if (truncated) truncated = impl_->save_epochs();
  if (!truncated && truncated.error().code != Errc::closed) impl_->fail(truncated.error());
  return truncated;
}

Result<void> PartitionLog::Impl::truncate(Offset offset) {
  MutexLock lock(mu);
  if (closed) return Error{Errc::closed, fmt::format("{} is closed", partition.to_string())};
  // A leader that appended nothing has left an entry at the end.
  if (const Offset log_end = end.load().offset; offset >= log_end) return epochs.truncate_from_end(log_end);
  if (segments.front()->base_offset() > offset) return truncate_fully(offset);
  return truncate_within(offset);
}

Result<void> PartitionLog::truncate_fully_and_start_at(Offset offset) {
  if (std::optional<Error> refusal = impl_->refusal()) return *refusal;
  if (offset < Offset{0}) return Error{Errc::invalid, fmt::format("a log cannot start at {}", offset)};
  MutexLock flush_lock(impl_->flush_mu);
  const auto truncate = [&]() REQUIRES(impl_->flush_mu) -> Result<void> {
    MutexLock lock(impl_->mu);
    if (impl_->closed) return Error{Errc::closed, fmt::format("{} is closed", impl_->partition.to_string())};
    return impl_->truncate_fully(offset);
  };
  Result<void> truncated = truncate();
  if (truncated) truncated = impl_->save_epochs();
  if (!truncated && truncated.error().code != Errc::closed) impl_->fail(truncated.error());
  return truncated;
}

}  // namespace cordwood::storage
