// storage/time_index.h — sparse map from timestamp to offset; one per segment.
//
// File <base offset, 20 digits>.timeindex: entries ascending in both, 12 bytes each:
//   0..7   i64 BE  a timestamp T
//   8..11  i32 BE  last offset of the earliest batch that reached T, minus the segment's base offset
// Meaning of (T, O): every batch of the segment when the entry was made has a max timestamp <= T, and the one ending at O
// reaches T. A record later than T can only come after O.
//
// Threads: one writer; lookup() may run beside it.   Format: docs/formats/time_index.md
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
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

  static Result<std::unique_ptr<TimeIndex>> open(io::FileSystem& fs, const io::Path& path, Offset base_offset,
                                                 ByteCount capacity, OffsetIndex::Growth growth);
  ~TimeIndex();

  // The largest entry with a timestamp <= target, or {-1, base_offset} when there is none.
  TimeEntry lookup(TimestampMs target) const;
  TimeEntry last_or_none() const;  // {-1, base_offset} when empty

  // Taken only when `timestamp` exceeds the last entry's; equal is ignored. A timestamp or an offset below the last
  // entry's is a bug (checked). The last slot is kept for the closing entry: `use_last_slot`.
  enum class Slot { ordinary, closing };
  Result<void> maybe_append(TimestampMs timestamp, Offset offset, Slot slot = Slot::ordinary);

  std::int64_t entries() const { return count_.load(std::memory_order_acquire); }
  std::int64_t max_entries() const { return max_entries_; }
  bool is_full() const { return entries() >= max_entries_ - 1; }  // one slot is reserved
  std::optional<TimeEntry> entry(std::int64_t i) const;

  Result<void> truncate_to(Offset target);
  Result<void> truncate_to_entries(std::int64_t count);
  Result<void> reset();
  Result<void> resize_to_capacity();
  Result<void> trim();
  Result<void> sync();
  ByteCount size_on_disk() const;

 private:
  TimeIndex() = default;
  Result<void> remap(ByteCount size);
  io::FileSystem* fs_ = nullptr;
  io::Path path_;
  Offset base_offset_;
  std::int64_t max_entries_ = 0;
  ByteCount capacity_;
  std::atomic<std::int64_t> count_{0};
  std::shared_ptr<io::File> file_;
  std::shared_ptr<io::MappedFile> map_;
};

}  // namespace cordwood::storage
