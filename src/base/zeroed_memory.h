// base/zeroed_memory.h — a large table's memory: zeros, in huge pages where the system has them.
//
// For tables that are probed all over. With pages of 4 KiB nearly every probe misses the TLB, and the walk of the page
// table costs more than the miss of the cache. Pages that are never touched cost nothing.
#pragma once

#include <cstddef>

namespace cordwood {

// One thread.
class ZeroedMemory {
 public:
  ZeroedMemory() = default;
  // Ends the process when there is no memory.
  explicit ZeroedMemory(std::size_t size);
  ZeroedMemory(ZeroedMemory&& other) noexcept;
  ZeroedMemory& operator=(ZeroedMemory&& other) noexcept;
  ~ZeroedMemory();

  // Aligned to a page; nullptr for size 0.
  void* data() const { return data_; }
  std::size_t size() const { return size_; }
  // Gives whole pages of [begin, end) back: they read as zeros again.
  void release(std::size_t begin, std::size_t end);

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cordwood
