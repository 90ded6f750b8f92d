// storage/offset_index.h — sparse map from record offset to where its batch starts; one per segment.
//
// File <base offset, 20 digits>.index: no header, no checksum, entries ascending, 8 bytes each:
//   0..3  i32 BE  last offset of the batch, minus the segment's base offset (>= 0)
//   4..7  i32 BE  position of the batch's first byte in the .log file
//
// A hint, never the truth: after an unclean stop it is rebuilt from the .log, so appends do not fsync it.
// Threads: one writer; lookup() may run beside it.   Format: docs/formats/offset_index.md
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"

namespace cordwood::storage {

struct IndexEntry {
  Offset offset;
  FilePosition position;
  bool operator==(const IndexEntry&) const = default;
};

class OffsetIndex {
 public:
  static constexpr std::int64_t kEntrySize = 8;

  // Opens or creates. `fs` must outlive the index. `capacity` is rounded down to whole entries. With Growth::full the
  // file is made as long as the capacity (an active segment's), else it is opened at its own length, read-only in
  // effect. The count of entries is the file's old length over 8, a partial one is cut.
  enum class Growth { as_it_is, full };
  static Result<std::unique_ptr<OffsetIndex>> open(io::FileSystem& fs, const io::Path& path, Offset base_offset,
                                                   ByteCount capacity, Growth growth);
  ~OffsetIndex();

  // The largest entry at or below `target`, or {base_offset, 0} when there is none.
  IndexEntry lookup(Offset target) const;
  // The smallest entry whose position is at or above `position`; used for the upper bound of aborted transactions.
  std::optional<IndexEntry> first_at_or_after(FilePosition position) const;

  // `last_offset` must exceed the previous entry's (checked). Errors: limit when full.
  Result<void> append(Offset last_offset, FilePosition batch_start);

  std::int64_t entries() const { return count_.load(std::memory_order_acquire); }
  std::int64_t max_entries() const { return max_entries_; }
  bool is_full() const { return entries() >= max_entries_; }
  std::optional<IndexEntry> entry(std::int64_t i) const;  // nothing when i is out of range
  std::optional<IndexEntry> last() const;

  Result<void> truncate_to(Offset target);  // keeps entries with an offset < target
  Result<void> truncate_to_entries(std::int64_t count);
  Result<void> reset();                     // no entries, full length again
  Result<void> resize_to_capacity();        // full length again (the active segment's)
  Result<void> trim();                      // the file becomes as long as its entries
  Result<void> sync();                      // msync and fsync
  ByteCount size_on_disk() const;

 private:
  OffsetIndex() = default;
  struct Mapping;
  Result<void> remap(ByteCount size);
  io::FileSystem* fs_ = nullptr;
  io::Path path_;
  Offset base_offset_;
  std::int64_t max_entries_ = 0;
  ByteCount capacity_;
  std::atomic<std::int64_t> count_{0};
  std::shared_ptr<io::File> file_;
  std::shared_ptr<io::MappedFile> map_;  // replaced on resize; readers hold a reference (see .cc)
};

}  // namespace cordwood::storage
