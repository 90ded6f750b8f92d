// storage/index_file.h — a mapped file of entries of one size, appended by one writer: what OffsetIndex and TimeIndex share.
//
// The file of an active segment is as long as its capacity and sparse; its entries are the first entries() ones. There is
// no stored count: on disk the zeros behind them look like entries, which recovery knows.
//
// Opening is cheap: nothing is mapped, and for an inactive segment not even opened, before the first read or append. No
// descriptor is kept: where it is needed the file is opened, for a moment. What is mapped can be let go at any time.
// Threads: one writer, and readers beside it. Append and readers never wait for each other; only what shortens, maps or
// unmaps the file waits for them, because touching a page behind the end of a file is SIGBUS. sync() and close_files() may
// run on a third thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/readers_gate.h"

namespace cordwood::storage {

// What opening does to the file's length.
enum class IndexGrowth {
  as_it_is,        // an inactive segment's: stays as long as it is, read-only in effect
  full,            // an active segment's: as long as the capacity at once
  full_on_append,  // the same, but the file is made or made longer by the first append (a segment made by a roll)
};

class IndexFile {
 public:
  // `fs` must outlive the index. With `as_it_is` an absent file is made with 0 bytes. A file that holds more whole
  // entries than the capacity keeps them all. Errors: io; invalid when the capacity is less than one entry.
  static Result<std::unique_ptr<IndexFile>> open(io::FileSystem& fs, io::Path path, std::size_t entry_size,
                                                 ByteCount capacity, IndexGrowth growth);

  // Calls `use` with all entries, valid during the call. Empty when the file cannot be mapped (map() says why): an
  // index is a hint, and every lookup has a right answer without one.
  template <class Use>
  auto read(Use use) const {
    for (bool can_be_mapped = true;;) {
      {
        ReadersGate::Pass inside(gate_);
        std::int64_t count = entries();
        if (mapped_entries_ >= count || !can_be_mapped) {
          return use(BytesView(start_, static_cast<std::size_t>(std::min(count, mapped_entries_)) * entry_size_));
        }
      }
      can_be_mapped = map().has_value();
    }
  }
  // Maps the file when it is not yet. Errors: io.
  Result<void> map() const;

  // Writer only. One entry or several, all or none. Errors: limit when there is no room for them; io, no_space.
  Result<void> append(BytesView added);

  std::int64_t entries() const { return count_.load(std::memory_order_acquire); }
  std::int64_t max_entries() const { return max_entries_.load(std::memory_order_relaxed); }
  ByteCount size_on_disk() const;
  io::Path path() const;

  // Writer only, each excludes readers. Errors: io.
  void keep_first(std::int64_t count);   // forgets the entries behind; the file's length stays
  Result<void> reset();                  // no entries, all bytes zero, as long as the capacity
  Result<void> resize_to_capacity();     // ready for appends: as long as the capacity
  Result<void> trim();                   // as long as its entries; full for appends until resized
  // Moves the file, if it was made yet. What was not mapped yet is found under the new name from now on.
  Result<void> rename_to(io::Path path);
  // The file was moved by somebody else: its directory was renamed.
  void moved_to(io::Path path);
  // The file was replaced by another one under its name. What is read from now on is that one's; before an append:
  // resize_to_capacity(). Errors: io.
  Result<void> replaced();
  // Removes the file; absent is fine. Lookups go on as long as it is mapped, else find nothing.
  Result<void> remove();
  // Waits until entries and length are on the disk; nothing to do when nothing changed. Errors: io.
  Result<void> sync();
  // Unmaps the file until the next read or append. Changes that were not synced stay to be synced.
  void close_files();
  bool is_mapped() const;

 private:
  IndexFile(io::FileSystem& fs, io::Path path, std::size_t entry_size, ByteCount capacity);
  std::int64_t entry_size() const { return static_cast<std::int64_t>(entry_size_); }
  // The descriptor goes when the operation that needed it is over.
  struct Descriptor {
    const IndexFile& owner;
    ~Descriptor() { owner.file_.reset(); }
  };
  Result<void> reserve(ByteCount end);
  // These expect the gate to be closed.
  Result<void> open_locked() const;
  Result<void> map_locked() const;
  Result<void> set_length_locked(ByteCount length);
  Result<void> grow_locked();
  void unmap_locked() const;

  io::FileSystem* fs_;
  const std::size_t entry_size_;
  const ByteCount capacity_;  // whole entries
  std::atomic<std::int64_t> count_{0};
  std::atomic<std::int64_t> max_entries_{0};
  std::atomic<bool> changed_{false};  // since the last sync

  // Changes only while it is closed:
  mutable ReadersGate gate_;
  io::Path path_;
  ByteCount length_;
  mutable std::shared_ptr<io::File> file_;  // within an operation
  mutable std::unique_ptr<io::MappedFile> map_;
  mutable std::byte* start_ = nullptr;
  mutable std::int64_t mapped_entries_ = 0;
  bool ready_for_appends_ = false;  // mapped at full length

  // The writer's own.
  ByteCount reserved_;  // disk blocks that are certainly there: writing to a mapped hole of a full disk is SIGBUS

  std::mutex sync_;  // one fsync at a time, so that a second caller cannot return before the first one's is done
};

}  // namespace cordwood::storage
