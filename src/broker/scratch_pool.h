// broker/scratch_pool.h — objects that are expensive to make, kept between the requests of one loop.
//
// A request message keeps the capacity of its vectors and strings when it is decoded into again; so each loop decodes
// into the one it used before. The slot is chosen by the loop's address: a loop finds its own object in its cache, and
// two loops on one slot merely make another object now and then. A few are kept for each, as of requests that wait together.
// Threads: safe for all, by atomic exchanges.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace cordwood::broker {

template <class T>
class ScratchPool {
 public:
  ScratchPool() = default;
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;
  ~ScratchPool() {
    for (Slot& slot : slots_) {
      for (std::atomic<T*>& kept : slot.kept) delete kept.load();
    }
  }

  // Goes back to the pool when destroyed, which must be before the pool is.
  class Lease {
   public:
    Lease(ScratchPool* pool, std::size_t slot, std::unique_ptr<T> object)
        : pool_(pool), slot_(slot), object_(std::move(object)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (object_) pool_->give_back(slot_, std::move(object_));
    }
    T& operator*() const { return *object_; }
    T* operator->() const { return object_.get(); }

   private:
    ScratchPool* pool_;
    std::size_t slot_;
    std::unique_ptr<T> object_;
  };

  // An object in whatever state it was left, or a new one.
  Lease take(const void* owner) {
    std::size_t slot = slot_of(owner);
    for (std::atomic<T*>& place : slots_[slot].kept) {
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      std::unique_ptr<T> kept(place.exchange(nullptr, std::memory_order_acquire));
      if (kept) return Lease(this, slot, std::move(kept));
    }
    return Lease(this, slot, std::make_unique<T>());
  }

 private:
  static constexpr std::size_t kSlotBits = 6;
  static constexpr std::size_t kCacheLine = 64;

  static std::size_t slot_of(const void* owner) {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(owner) * 0x9e3779b97f4a7c15ULL) >> (64 - kSlotBits));
  }
  void give_back(std::size_t slot, std::unique_ptr<T> object) {
    for (std::atomic<T*>& place : slots_[slot].kept) {
      T* none = nullptr;
      if (place.compare_exchange_strong(none, object.get(), std::memory_order_release, std::memory_order_relaxed)) {
        object.release();
        return;
      }
    }
  }

  struct alignas(kCacheLine) Slot {
    std::array<std::atomic<T*>, kCacheLine / sizeof(std::atomic<T*>)> kept{};
  };
  std::array<Slot, std::size_t{1} << kSlotBits> slots_;
};

}  // namespace cordwood::broker
