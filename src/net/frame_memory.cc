#include "net/frame_memory.h"

#include <cstdlib>
#include <utility>

#include "base/check.h"

namespace cordwood::net {

MemoryBlock::MemoryBlock(std::size_t capacity) { grow(capacity); }

MemoryBlock::MemoryBlock(MemoryBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}

MemoryBlock& MemoryBlock::operator=(MemoryBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

MemoryBlock::~MemoryBlock() { std::free(data_); }

void MemoryBlock::grow(std::size_t capacity) {
  if (capacity <= capacity_) return;
  auto* grown = static_cast<std::byte*>(std::realloc(data_, capacity));
  CHECK(grown != nullptr, "out of memory");
  data_ = grown;
  capacity_ = capacity;
}

MemoryBlock FramePool::take(std::size_t at_least) {
  {
    MutexLock lock(mu_);
    if (!kept_.empty() && kept_.back().capacity() >= at_least) {
      MemoryBlock block = std::move(kept_.back());
      kept_.pop_back();
      bytes_kept_ -= block.capacity();
      return block;
    }
  }
  return MemoryBlock(at_least);
}

void FramePool::give_back(MemoryBlock block) {
  if (block.capacity() < kSmallestKept || block.capacity() > kLargestKept) return;
  MutexLock lock(mu_);
  if (bytes_kept_ + block.capacity() > keep_at_most_) return;
  bytes_kept_ += block.capacity();
  kept_.push_back(std::move(block));
}

std::size_t FramePool::bytes_kept() const {
  MutexLock lock(mu_);
  return bytes_kept_;
}

}  // namespace cordwood::net
