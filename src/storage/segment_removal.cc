// How segments leave a log: renamed at once, deleted later. See retire() in partition_log_impl.h.

#include <algorithm>
#include <array>

#include "storage/directory_files.h"
#include "storage/partition_log_impl.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {

std::vector<Offset> PartitionLog::Impl::forget_snapshots(const SegmentList& gone) {
  std::vector<Offset> bases;
  for (const auto& segment : gone) bases.push_back(segment->base_offset());
  return snapshots.forget(bases);
}

Result<void> PartitionLog::Impl::retire(const SegmentList& gone, std::span<const Offset> snapshots_gone,
                                        DurationMs delay) {
  if (gone.empty() && snapshots_gone.empty()) return {};
  const io::Path& where = *directory.load(std::memory_order_acquire);
  RetiredFiles files;
  files.due = env.clock->monotonic() + to_ns(std::max(delay, DurationMs{0}));
  const auto rename_all = [&]() -> Result<void> {
    for (const auto& segment : gone) {
      std::array<io::Path, kSegmentSuffixes.size()> old_names;
      std::ranges::transform(kSegmentSuffixes, old_names.begin(), [&](std::string_view s) { return segment->path_of(s); });
      if (Result<void> moved = segment->change_suffix(kDeletedSuffix); !moved) {
        if (moved.error().code != Errc::no_space) return moved;
        // Not even the directory has room for a longer name. These files are what there is too much of.
        for (const io::Path& name : old_names) env.fs->remove_file(name).has_value();
      }
      for (std::string_view suffix : kSegmentSuffixes) {
        files.names.push_back(std::string(io::file_name(segment->path_of(suffix))));
      }
    }
    for (Offset offset : snapshots_gone) {
      const std::string name = segment_file_name(offset, kSnapshotSuffix);
      std::string deleted = name + std::string(kDeletedSuffix);
      Result<void> moved = env.fs->rename(io::join(where, name), io::join(where, deleted));
      if (!moved && moved.error().code == Errc::no_space) moved = env.fs->remove_file(io::join(where, name));
      if (!moved && moved.error().code != Errc::not_found) return moved;
      files.names.push_back(std::move(deleted));
    }
    return {};
  };
  Result<void> result = rename_all();
  std::function<void(DurationMs)> tell;
  {
    MutexLock lock(retired_mu);
    retired.push_back(std::move(files));
    tell = retired_callback;
  }
  if (tell) tell(delay);
  return result;
}

void PartitionLog::on_retired(std::function<void(DurationMs)> callback) {
  MutexLock lock(impl_->retired_mu);
  impl_->retired_callback = std::move(callback);
}

Result<void> PartitionLog::remove_retired_files() {
  std::vector<RetiredFiles> due;
  {
    const MonotonicNs now = impl_->env.clock->monotonic();
    MutexLock lock(impl_->retired_mu);
    std::erase_if(impl_->retired, [&](RetiredFiles& files) {
      if (files.due > now) return false;
      due.push_back(std::move(files));
      return true;
    });
  }
  for (const RetiredFiles& files : due) {
    for (const std::string& name : files.names) {
      Result<void> removed = impl_->env.fs->remove_file(io::join(directory(), name));
      if (!removed && removed.error().code != Errc::not_found) return removed;
    }
  }
  return {};
}

std::vector<RetiredFiles> PartitionLog::retired_files() const {
  MutexLock lock(impl_->retired_mu);
  return {impl_->retired.begin(), impl_->retired.end()};
}

}  // namespace cordwood::storage
