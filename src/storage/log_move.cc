// How a log moves into another directory. See log_move.h.
#include "storage/log_move.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/damaged_files.h"
#include "storage/directory_files.h"
#include "storage/partition_log_impl.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

constexpr ByteCount kMovedAtOnce{256 * KiB};

// Copies [from, to) of a file, at the same positions.
Result<void> copy_bytes(const io::File& source, io::File& target, ByteCount from, ByteCount to) {
  ByteVector chunk(static_cast<std::size_t>(std::min(kMovedAtOnce, ByteCount{to.value - from.value}).value));
  while (from < to) {
    const auto wanted = static_cast<std::size_t>(std::min(kMovedAtOnce, ByteCount{to.value - from.value}).value);
    const MutableBytesView piece = MutableBytesView(chunk).first(wanted);
    if (TRY(source.read_at(FilePosition{from.value}, piece)) != wanted) {
      return Error{Errc::io, fmt::format("{} ends before byte {}", source.path(), to)};
    }
    TRY(target.write_at(FilePosition{from.value}, piece));
    from += ByteCount{static_cast<std::int64_t>(wanted)};
  }
  return {};
}

// Durable when it returns. False: there is no such file.
Result<bool> copy_file(io::FileSystem& fs, const io::Path& from, const io::Path& to) {
  Result<std::shared_ptr<io::File>> source = fs.open(from, io::OpenMode::read);
  if (!source && source.error().code == Errc::not_found) return false;
  if (!source) return source.error();
  const std::shared_ptr<io::File> target = TRY(fs.open(to, io::OpenMode::truncate));
  const ByteCount size = TRY((*source)->size());
  TRY(copy_bytes(**source, *target, ByteCount{0}, size));
  TRY(target->sync());
  TRY(target->close());
  return true;
}

constexpr std::string_view kCompanions[] = {kOffsetIndexSuffix, kTimeIndexSuffix, kTxnIndexSuffix};

Result<void> copy_companions(io::FileSystem& fs, const Segment& segment, const io::Path& directory) {
  for (std::string_view suffix : kCompanions) {
    TRY(copy_file(fs, segment.path_of(suffix), io::join(directory, segment_file_name(segment.base_offset(), suffix))));
  }
  return {};
}

// Of a segment that the log has given up meanwhile.
Result<void> remove_part(io::FileSystem& fs, const LogCopy::Part& part, const io::Path& directory) {
  for (std::string_view suffix : kSegmentSuffixes) {
    Result<void> removed = fs.remove_file(io::join(directory, segment_file_name(part.of->base_offset(), suffix)));
    if (!removed && removed.error().code != Errc::not_found) return removed;
  }
  return {};
}

// What recoveries have kept goes along: the old directory is deleted, and it may be the only copy. Absent is fine.
Result<void> copy_kept(io::FileSystem& fs, const io::Path& from, const io::Path& to) {
  Result<std::vector<io::DirectoryEntry>> entries = fs.list(from);
  if (!entries && entries.error().code == Errc::not_found) return {};
  if (!entries) return entries.error();
  TRY(fs.create_directories(to));
  for (const io::DirectoryEntry& entry : *entries) {
    const io::Path inner = io::join(from, entry.name);
    if (entry.kind == io::DirectoryEntry::Kind::directory) TRY(copy_kept(fs, inner, io::join(to, entry.name)));
    if (entry.kind == io::DirectoryEntry::Kind::file) TRY(copy_file(fs, inner, io::join(to, entry.name)));
  }
  return fs.sync_directory(to);
}

Result<void> begin(io::FileSystem& fs, const io::Path& log, LogCopy& copy) {
  if (copy.has_begun) return {};
  TRY(fs.create_directories(copy.directory));
  TRY(mark_unfinished(fs, copy.directory));
  // Emptied, not removed: the directory itself is the wish to move, and survives a restart.
  for (const io::DirectoryEntry& entry : TRY(fs.list(copy.directory))) {
    const io::Path path = io::join(copy.directory, entry.name);
    TRY(entry.kind == io::DirectoryEntry::Kind::directory ? fs.remove_directory_tree(path) : fs.remove_file(path));
  }
  TRY(copy_kept(fs, io::join(log, kDamagedDirectory), io::join(copy.directory, kDamagedDirectory)));
  TRY(fs.sync_directory(io::Path(io::parent_of(copy.directory))));
  copy.has_begun = true;
  return {};
}

// Makes the parts stand as the segments do. A truncation may have changed bytes that were copied: all of them go.
Result<void> follow(io::FileSystem& fs, LogCopy& copy, const SegmentList& segments, std::uint64_t truncations) {
  std::vector<LogCopy::Part> kept;
  const bool forget_all = copy.truncations != truncations;
  copy.truncations = truncations;
  for (LogCopy::Part& part : copy.parts) {
    if (!forget_all && std::ranges::find(segments, part.of) != segments.end()) {
      kept.push_back(std::move(part));
    } else {
      TRY(remove_part(fs, part, copy.directory));
    }
  }
  copy.parts.clear();
  for (const auto& segment : segments) {
    const auto at = std::ranges::find(kept, segment, &LogCopy::Part::of);
    if (at != kept.end()) {
      copy.parts.push_back(std::move(*at));
    } else {
      copy.parts.push_back({segment, nullptr, {}, false});
    }
  }
  return {};
}

Result<void> extend(io::FileSystem& fs, LogCopy::Part& part, const io::Path& directory, ByteCount to) {
  if (part.file == nullptr) {
    part.file = TRY(fs.open(io::join(directory, segment_file_name(part.of->base_offset(), kLogSuffix)), io::OpenMode::create));
  }
  const std::shared_ptr<io::File> source = TRY(part.of->file());
  TRY(copy_bytes(*source, *part.file, part.copied, to));
  part.copied = to;
  return {};
}

}  // namespace

Result<void> mark_unfinished(io::FileSystem& fs, const io::Path& copy) {
  Result<void> removed = fs.remove_file(io::join(copy, kPartitionMetadata));
  if (!removed) return removed.error().code == Errc::not_found ? Result<void>() : removed;
  return fs.sync_directory(copy);
}

Result<ByteCount> PartitionLog::copy_into(LogCopy& copy, ByteCount at_most) const {
  io::FileSystem& fs = *impl_->env.fs;
  std::shared_ptr<const SegmentList> segments;
  LogEnd end;
  std::uint64_t truncations = 0;
  {
    MutexLock lock(impl_->mu);
    if (impl_->closed || impl_->renamed) return Error{Errc::closed, fmt::format("{} is closed", impl_->partition.to_string())};
    segments = impl_->segments_view.load();
    end = impl_->end.load();
    truncations = impl_->truncations;
  }
  TRY(begin(fs, directory(), copy));
  TRY(follow(fs, copy, *segments, truncations));
  ByteCount missing{0};
  for (LogCopy::Part& part : copy.parts) {
    if (part.is_complete) continue;
    const bool is_active = part.of == segments->back();
    const ByteCount size = is_active ? ByteCount{end.position.value} : part.of->size();
    const ByteCount wanted = std::min(size, part.copied + std::max(at_most, ByteCount{0}));
    at_most = {at_most.value - (wanted.value - part.copied.value)};
    TRY(extend(fs, part, copy.directory, wanted));
    missing += {size.value - part.copied.value};
    if (part.copied < size) continue;
    // What a move must still sync, with appends waiting for it, is little.
    TRY(part.file->sync());
    if (is_active) continue;
    TRY(copy_companions(fs, *part.of, copy.directory));
    TRY(part.file->close());
    part.file.reset();
    part.is_complete = true;
  }
  return missing;
}

Result<void> PartitionLog::move_into(LogCopy& copy, const io::Path& directory, const io::Path& old_becomes,
                                     ByteCount at_most) {
  Impl& impl = *impl_;
  io::FileSystem& fs = *impl.env.fs;
  if (std::optional<Error> refusal = impl.refusal()) return *refusal;
  MutexLock flush_lock(impl.flush_mu);
  TRY(impl.save_epochs());
  // Held to the end, over the disk as well: once in the life of a move appends wait until the last bytes are over there. In
  // no other way can the copy be complete, and durable, when it takes the name.
  MutexLock lock(impl.mu);
  if (impl.closed || impl.renamed) return Error{Errc::closed, fmt::format("{} is closed", impl.partition.to_string())};
  const LogEnd end = impl.end.load();
  const auto lags = [&] {
    return Error{Errc::limit, fmt::format("{} has moved on; the copy in {} must follow first", impl.partition.to_string(),
                                          copy.directory)};
  };
  if (copy.truncations != impl.truncations || copy.parts.size() != impl.segments.size()) return lags();
  for (std::size_t i = 0; i < copy.parts.size(); ++i) {
    if (copy.parts[i].of != impl.segments[i]) return lags();
    if (i + 1 < copy.parts.size() && !copy.parts[i].is_complete) return lags();
  }
  LogCopy::Part& last = copy.parts.back();
  if (end.position.value - last.copied.value > at_most.value) return lags();

  TRY(extend(fs, last, copy.directory, ByteCount{end.position.value}));
  TRY(last.file->sync());
  // As at a clean stop: what is opened over there finds the times of the last records.
  TRY(impl.active().become_inactive());
  TRY(copy_companions(fs, impl.active(), copy.directory));
  for (Offset snapshot : impl.snapshots.offsets()) {
    const io::Path path = impl.snapshots.path_of(snapshot);
    TRY(copy_file(fs, path, io::join(copy.directory, io::file_name(path))));
  }
  TRY(copy_file(fs, io::join(this->directory(), kLeaderEpochCheckpoint), io::join(copy.directory, kLeaderEpochCheckpoint)));
  TRY(copy_file(fs, io::join(this->directory(), kPartitionMetadata), io::join(copy.directory, kPartitionMetadata)));
  TRY(fs.sync_directory(copy.directory));

  SegmentList moved;
  for (const auto& segment : impl.segments) {
    Segment::Companions companions;
    companions.offset_index = TRY(fs.exists(io::join(copy.directory, segment_file_name(segment->base_offset(), kOffsetIndexSuffix))));
    companions.time_index = TRY(fs.exists(io::join(copy.directory, segment_file_name(segment->base_offset(), kTimeIndexSuffix))));
    companions.txn_index = TRY(fs.exists(io::join(copy.directory, segment_file_name(segment->base_offset(), kTxnIndexSuffix))));
    moved.push_back(TRY(Segment::open(fs, copy.directory, segment->base_offset(),
                                      Segment::Settings::from(impl.config, *impl.env.random, impl.env.open_files), impl.env.clock->now(),
                                      companions)));
  }
  TRY(moved.back()->prepare_for_append());

  const io::Path from = this->directory();
  TRY(fs.rename(from, old_becomes));
  const auto take_the_name = [&]() -> Result<void> {
    TRY(fs.sync_directory(io::Path(io::parent_of(from))));
    TRY(fs.rename(copy.directory, directory));
    return fs.sync_directory(io::Path(io::parent_of(directory)));
  };
  if (Result<void> named = take_the_name(); !named) {
    // The old one is whole, and the one that counts: it gets its name back, and never are there two under that name. Where
    // this fails as well, the log is at an end, and a start finds the one that is left.
    Result<void> back = fs.rename(directory, copy.directory);
    if (back || back.error().code == Errc::not_found) back = fs.rename(old_becomes, from);
    if (!back) impl.fail(back.error());
    return named;
  }
  for (const auto& segment : impl.segments) segment->set_directory(old_becomes);
  for (const auto& segment : moved) segment->set_directory(directory);
  impl.directories.push_front(directory);
  impl.directory.store(&impl.directories.front(), std::memory_order_release);
  impl.snapshots.set_directory(directory);
  impl.unsynced_snapshots.clear();
  impl.directory_unsynced = false;
  impl.metadata_unsynced = false;
  impl.segments = std::move(moved);
  impl.torn_tail = false;
  impl.publish_segments();
  impl.end.store(end);
  return {};
}

}  // namespace cordwood::storage
