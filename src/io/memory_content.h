// io/memory_content.h — the bytes of one file of a MemFileSystem, as the programs see them and as the disk has them.
//
// Beside the current bytes it keeps the durable ones: what the last sync left. Between the two stands what a power cut
// decides. Safe for all threads; bytes changed through a mapping are plain memory, ordered by whoever changes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood::io::memory {

// The unit that a disk writes whole or not at all.
inline constexpr std::int64_t kSectorSize = 512;

// Bytes at one address that read as zero until written. A page that nobody wrote takes no memory, so that sparse files
// of any length cost nothing.
class Region {
 public:
  Region() = default;
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Makes room for `size` bytes; with `pinned` only without moving. False when that is not possible.
  bool make_room(std::int64_t size, bool pinned);
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::int64_t capacity() const { return capacity_; }
  // Bytes from here on were never written.
  std::int64_t touched_end() const { return touched_end_; }
  void touch(std::int64_t end);
  void write(std::int64_t position, BytesView bytes);
  void zero(std::int64_t begin, std::int64_t end);  // gives whole pages back
  // Makes [begin, end) equal to the same bytes of `other`, leaving pages alone that are equal already.
  void copy_from(const Region& other, std::int64_t begin, std::int64_t end);

 private:
  std::byte* data_ = nullptr;
  std::int64_t capacity_ = 0;
  std::int64_t touched_end_ = 0;
};

class FileContent {
 public:
  FileContent() = default;

  std::int64_t size() const;
  std::size_t read(std::int64_t position, MutableBytesView into) const;
  // Errors: invalid when the file would have to move in memory while it is mapped.
  Result<void> write(std::int64_t position, std::span<const BytesView> pieces);
  Result<void> truncate(std::int64_t size);
  void sync();                            // bytes and length are durable
  void sync_bytes(std::int64_t end);      // msync: the bytes below `end`, not the length
  // The first `size` bytes, at an address that holds until unmap().
  Result<MutableBytesView> map(std::int64_t size);
  void unmap();

  // A copy that knows what is durable just as this one does.
  std::shared_ptr<FileContent> copy() const;
  // What a power cut leaves: the durable bytes, with a random part of what changed since.
  std::shared_ptr<FileContent> after_power_cut(Random& random) const;

  void set_modified(TimestampMs now) { modified_ = now.value; }
  TimestampMs modified() const { return {modified_}; }
  // The lock of FileSystem::lock(): true when it was free.
  bool try_lock() { return !locked_.exchange(true); }
  void unlock() { locked_ = false; }

 private:
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  void mark_changed(std::int64_t begin, std::int64_t end) REQUIRES(mu_);
  Range changed_range() const REQUIRES(mu_);  // with what is mapped now
  void set_all_durable(std::int64_t size) REQUIRES(mu_);

  mutable Mutex mu_;
  Region current_ GUARDED_BY(mu_);
  Region durable_ GUARDED_BY(mu_);
  std::int64_t size_ GUARDED_BY(mu_) = 0;
  std::int64_t durable_size_ GUARDED_BY(mu_) = 0;
  // The shortest that the file has been since the last sync, at most durable_size_.
  std::int64_t lowest_size_ GUARDED_BY(mu_) = 0;
  // Outside of this range current and durable bytes are equal.
  Range changed_ GUARDED_BY(mu_);
  int mappings_ GUARDED_BY(mu_) = 0;
  std::int64_t mapped_end_ GUARDED_BY(mu_) = 0;

  std::atomic<std::int64_t> modified_{0};
  std::atomic<bool> locked_{false};
};

}  // namespace cordwood::io::memory
