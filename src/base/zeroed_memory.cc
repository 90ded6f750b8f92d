#include "base/zeroed_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cordwood {

ZeroedMemory::ZeroedMemory(std::size_t size) : size_(size) {
  if (size == 0) return;
  void* start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(start != MAP_FAILED, "no memory for a table of {} bytes", size);
  data_ = start;
  // Advice that is not taken costs speed only.
  ::madvise(data_, size_, MADV_HUGEPAGE);
}

ZeroedMemory::ZeroedMemory(ZeroedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

ZeroedMemory& ZeroedMemory::operator=(ZeroedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void ZeroedMemory::release(std::size_t begin, std::size_t end) {
  constexpr std::size_t kPage = 4096;
  begin = (begin + kPage - 1) / kPage * kPage;
  end = std::min(end, size_) / kPage * kPage;
  if (begin < end) ::madvise(static_cast<char*>(data_) + begin, end - begin, MADV_DONTNEED);
}

ZeroedMemory::~ZeroedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace cordwood
