// storage/offset_index.h — sparse map from record offset to where its batch starts; one per segment.
//
// File <base offset, 20 digits>.index: no header, no checksum, entries ascending, 8 bytes each:
//   0..3  i32 BE  last offset of the batch, minus the segment's base offset (>= 0)
//   4..7  i32 BE  position of the batch's first byte in the .log file
//
// A hint, never the truth: after an unclean stop it is rebuilt from the .log, so appends do not fsync it.
// Opening maps nothing; the first lookup or append does (storage/index_file.h).
// Threads: one writer; lookups may run beside it, and sync().   Format: docs/formats/offset_index.md
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/index_file.h"

namespace cordwood::storage {

struct IndexEntry {
  Offset offset;
  FilePosition position;
  bool operator==(const IndexEntry&) const = default;
};

class LookupTrace;

class OffsetIndex {
 public:
  static constexpr std::int64_t kEntrySize = 8;
  using Growth = IndexGrowth;

  // Opens or creates. `fs` must outlive the index. `capacity` is rounded down to whole entries. With Growth::full the
  // file is made as long as the capacity (an active segment's), else it is opened at its own length, read-only in
  // effect. The count of entries is the file's old length over 8, a partial one is left out.
  // Errors: io; invalid when the capacity is less than one entry.
  static Result<std::unique_ptr<OffsetIndex>> open(io::FileSystem& fs, const io::Path& path, Offset base_offset,
                                                   ByteCount capacity, Growth growth);

  // The largest entry at or below `target`, or {base_offset, 0} when there is none.
  IndexEntry lookup(Offset target, LookupTrace* trace = nullptr) const;
  // The smallest entry whose position is at or above `position`; used for the upper bound of aborted transactions.
  std::optional<IndexEntry> first_at_or_after(FilePosition position) const;

  // The largest entry whose position is at or below `position`, if any.
  std::optional<IndexEntry> last_at_or_before(FilePosition position) const;

  // Errors: limit when full; out_of_range when `last_offset` or `batch_start` does not fit 32 bits; corrupt when
  // `last_offset` does not exceed the previous entry's (the file holds entries of something else); io, no_space.
  Result<void> append(Offset last_offset, FilePosition batch_start);

  // Entries as IndexBuilder makes them, all or none, of an index that has none. Errors: limit when they do not fit; io, no_space.
  Result<void> fill(BytesView entries);

  std::int64_t entries() const { return file_->entries(); }
  std::int64_t max_entries() const { return file_->max_entries(); }
  bool is_full() const { return entries() >= max_entries(); }
  std::optional<IndexEntry> entry(std::int64_t i) const;  // nothing when i is out of range
  std::optional<IndexEntry> last() const;
  // The number of the first entry that lies below base_offset or does not exceed the one before it in both fields.
  std::optional<std::int64_t> first_disorder() const;

  Result<void> truncate_to(Offset target);  // keeps entries with an offset < target
  Result<void> truncate_to_entries(std::int64_t count);
  Result<void> reset();                     // no entries, full length again
  Result<void> resize_to_capacity();        // full length again (the active segment's)
  Result<void> trim();                      // the file becomes as long as its entries
  Result<void> sync();                      // entries and length are on the disk
  // Renames the file and goes on under the new name, which fs.rename() alone would not: what is not open yet would be
  // looked for under the old one.
  Result<void> rename_to(const io::Path& path) { return file_->rename_to(path); }
  void close_files() { file_->close_files(); }  // until it is needed again
  void moved_to(const io::Path& path) { file_->moved_to(path); }  // by a rename of the directory
  Result<void> remove() { return file_->remove(); }               // absent is fine
  Result<void> map() const { return file_->map(); }  // what the first lookup does, with its error
  Result<void> replaced() { return file_->replaced(); }           // by another file under its name
  ByteCount size_on_disk() const { return file_->size_on_disk(); }
  io::Path path() const { return file_->path(); }

 private:
  OffsetIndex(std::unique_ptr<IndexFile> file, Offset base_offset) : file_(std::move(file)), base_offset_(base_offset) {}
  std::unique_ptr<IndexFile> file_;
  Offset base_offset_;
};

}  // namespace cordwood::storage
