// storage/time_index.h — sparse map from timestamp to offset; one per segment.
//
// File <base offset, 20 digits>.timeindex: entries ascending in both, 12 bytes each:
//   0..7   i64 BE  a timestamp T
//   8..11  i32 BE  last offset of the earliest batch that reached T, minus the segment's base offset
// Meaning of (T, O): every batch of the segment when the entry was made has a max timestamp <= T, and the one ending at O
// reaches T. A record later than T can only come after O.
//
// Threads: one writer; lookups may run beside it, and sync().   Format: docs/formats/time_index.md
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/index_file.h"
#include "storage/offset_index.h"

namespace cordwood::storage {

struct TimeEntry {
  TimestampMs timestamp;
  Offset offset;
  bool operator==(const TimeEntry&) const = default;
};

class TimeIndex {
 public:
  static constexpr std::int64_t kEntrySize = 12;

  // As OffsetIndex::open.
  static Result<std::unique_ptr<TimeIndex>> open(io::FileSystem& fs, const io::Path& path, Offset base_offset,
                                                 ByteCount capacity, OffsetIndex::Growth growth);

  // The largest entry with a timestamp <= target, or {-1, base_offset} when there is none.
  TimeEntry lookup(TimestampMs target, LookupTrace* trace = nullptr) const;
  TimeEntry last_or_none() const;  // {-1, base_offset} when empty

  // Taken only when `timestamp` exceeds the last entry's; equal is ignored. The last slot is kept for the closing entry.
  // Errors: corrupt when `timestamp` or `offset` lies below the last entry's (the file holds entries of something
  // else); out_of_range when `offset` does not fit 32 bits; limit when full; io, no_space.
  enum class Slot { ordinary, closing };
  Result<void> maybe_append(TimestampMs timestamp, Offset offset, Slot slot = Slot::ordinary);

  Result<void> fill(BytesView entries);  // as OffsetIndex::fill

  std::int64_t entries() const { return file_->entries(); }
  std::int64_t max_entries() const { return file_->max_entries(); }
  bool is_full() const { return entries() >= max_entries() - 1; }  // one slot is reserved
  std::optional<TimeEntry> entry(std::int64_t i) const;
  // The number of the first entry that lies below base_offset or does not exceed the one before it in both fields.
  std::optional<std::int64_t> first_disorder() const;

  // These as in OffsetIndex.
  Result<void> truncate_to(Offset target);
  Result<void> truncate_to_entries(std::int64_t count);
  Result<void> reset();
  Result<void> resize_to_capacity();
  Result<void> trim();
  Result<void> sync();
  Result<void> rename_to(const io::Path& path) { return file_->rename_to(path); }
  void close_files() { file_->close_files(); }  // until it is needed again
  void moved_to(const io::Path& path) { file_->moved_to(path); }
  Result<void> remove() { return file_->remove(); }
  Result<void> map() const { return file_->map(); }
  Result<void> replaced() { return file_->replaced(); }
  ByteCount size_on_disk() const { return file_->size_on_disk(); }
  io::Path path() const { return file_->path(); }

 private:
  TimeIndex(std::unique_ptr<IndexFile> file, Offset base_offset) : file_(std::move(file)), base_offset_(base_offset) {}
  std::unique_ptr<IndexFile> file_;
  Offset base_offset_;
};

}  // namespace cordwood::storage
