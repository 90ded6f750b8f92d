// storage/published.h — values that one thread writes and many read without making it wait.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/mutex.h"

namespace cordwood::storage {

// A few numbers that belong together and are read as one. Writers exclude each other (the caller sees to it); a reader
// takes no lock and repeats its read in the rare case that a write came between.
template <class T>
  requires std::is_trivially_copyable_v<T>
class PublishedValue {
 public:
  PublishedValue() { store(T{}); }
  explicit PublishedValue(const T& value) { store(value); }

  void store(const T& value) {
    std::array<std::uint64_t, kWords> raw{};
    std::memcpy(raw.data(), &value, sizeof(T));
    const std::uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);  // odd: a write is under way
    // The words are released one by one, so that whoever sees a new word also sees the odd version before it.
    for (std::size_t i = 0; i < kWords; ++i) words_[i].store(raw[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  T load() const {
    std::array<std::uint64_t, kWords> raw;
    while (true) {
      const std::uint64_t before = version_.load(std::memory_order_acquire);
      for (std::size_t i = 0; i < kWords; ++i) raw[i] = words_[i].load(std::memory_order_acquire);
      if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) break;
    }
    T value;
    std::memcpy(static_cast<void*>(&value), raw.data(), sizeof(T));
    return value;
  }

 private:
  static constexpr std::size_t kWords = (sizeof(T) + 7) / 8;
  std::atomic<std::uint64_t> version_{0};
  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

// An immutable object that is replaced whole. The mutex is held for the copy of a pointer and never over I/O:
// std::atomic<std::shared_ptr> of g++ 12 does the same with a spin bit, which ThreadSanitizer does not understand.
template <class T>
class PublishedPointer {
 public:
  void store(std::shared_ptr<const T> next) {
    {
      MutexLock lock(mu_);
      std::swap(pointer_, next);
    }
    // The old object dies here, outside of the lock.
  }
  std::shared_ptr<const T> load() const {
    MutexLock lock(mu_);
    return pointer_;
  }

 private:
  mutable Mutex mu_;
  std::shared_ptr<const T> pointer_ GUARDED_BY(mu_);
};

}  // namespace cordwood::storage
