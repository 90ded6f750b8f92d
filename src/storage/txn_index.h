// storage/txn_index.h — the aborted transactions whose ABORT marker lies in a segment; one per segment, made with the
// first of them.
//
// File <base offset, 20 digits>.txnindex: entries in the order of their markers, 34 bytes each:
//    0..1   i16 BE  version, 0
//    2..9   i64 BE  producer id
//   10..17  i64 BE  first offset of the transaction
//   18..25  i64 BE  last offset: that of the marker
//   26..33  i64 BE  last stable offset when the marker was appended, own transaction not counted
// A trailing partial entry is ignored. Format: docs/formats/partition_log.md, "transaction index".
//
// Threads: one writer; entries() may run beside it.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"

namespace cordwood::storage {

struct AbortedEntry {
  std::int64_t producer_id = -1;
  Offset first_offset;
  Offset last_offset;
  Offset last_stable_offset;
  bool operator==(const AbortedEntry&) const = default;
};

// The bytes of a file with these entries.
ByteVector encode_txn_index(std::span<const AbortedEntry> entries);

class TxnIndex {
 public:
  static constexpr std::int64_t kEntrySize = 34;

  // Opens or creates.
  static Result<std::unique_ptr<TxnIndex>> open(io::FileSystem& fs, const io::Path& path);

  // Has the disk keep room for so many further entries, so that the next appends cannot meet a full one. Errors: io, no_space.
  Result<void> reserve(std::int64_t entries);
  // Errors: io; out_of_range when the marker does not lie behind that of the last entry.
  Result<void> append(const AbortedEntry& entry);
  // Errors: io; unsupported for another version than 0.
  Result<std::vector<AbortedEntry>> entries() const;
  Result<void> truncate_to(Offset target);  // drops from the first entry whose last offset is at or above `target`
  Result<void> reset();
  Result<void> sync();

 private:
  explicit TxnIndex(std::shared_ptr<io::File> file, std::int64_t count) : file_(std::move(file)), count_(count) {}

  const std::shared_ptr<io::File> file_;
  ByteCount reserved_;  // the writer's: the disk has room for so much of the file
  std::atomic<std::int64_t> count_;
};

}  // namespace cordwood::storage
