// net/frame_memory.h — where the bytes of a request lie: memory that grows as they arrive, and the pool it comes from.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/types.h"

namespace cordwood::net {

// A piece of malloc'ed memory: grown by realloc, which moves large pieces by remapping their pages, and never
// zero-filled.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  explicit MemoryBlock(std::size_t capacity);
  MemoryBlock(MemoryBlock&& other) noexcept;
  MemoryBlock& operator=(MemoryBlock&& other) noexcept;
  ~MemoryBlock();

  std::byte* data() { return data_; }
  std::size_t capacity() const { return capacity_; }
  void grow(std::size_t capacity);

 private:
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
};

// Keeps a few large blocks, so that a steady stream of large requests neither allocates nor touches fresh pages. Small
// ones are left to malloc, which is as good at them. Safe for all threads: a frame is freed by its last holder.
class FramePool {
 public:
  explicit FramePool(ByteCount keep_at_most) : keep_at_most_(static_cast<std::size_t>(keep_at_most.value)) {}

  // A block that is kept, or a new one of `at_least` bytes.
  MemoryBlock take(std::size_t at_least);
  // Kept when there is room for it, else freed.
  void give_back(MemoryBlock block);
  std::size_t bytes_kept() const;

  static constexpr std::size_t kSmallestKept = 64 * KiB;
  static constexpr std::size_t kLargestKept = 4 * MiB;

 private:
  const std::size_t keep_at_most_;
  mutable Mutex mu_;
  std::vector<MemoryBlock> kept_ GUARDED_BY(mu_);
  std::size_t bytes_kept_ GUARDED_BY(mu_) = 0;
};

}  // namespace cordwood::net
