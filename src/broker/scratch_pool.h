// broker/scratch_pool.h — objects that are expensive to make, kept between the requests of one loop.
//
// A request message keeps the capacity of its vectors and strings when it is decoded into again; so each loop decodes
// into the one it used before. The slot is chosen by the loop's address: a loop finds its own object in its cache, and
// two loops on one slot merely make a second object now and then.
// Threads: safe for all; taking and giving back are one atomic exchange each.
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
    for (Slot& slot : slots_) delete slot.kept.load();
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
    std::unique_ptr<T> kept(slots_[slot].kept.exchange(nullptr, std::memory_order_acquire));
    return Lease(this, slot, kept ? std::move(kept) : std::make_unique<T>());
  }

 private:
  static constexpr std::size_t kSlotBits = 6;
  static constexpr std::size_t kCacheLine = 64;

  static std::size_t slot_of(const void* owner) {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(owner) * 0x9e3779b97f4a7c15ULL) >> (64 - kSlotBits));
  }
  void give_back(std::size_t slot, std::unique_ptr<T> object) {
    delete slots_[slot].kept.exchange(object.release(), std::memory_order_acq_rel);
  }

  struct alignas(kCacheLine) Slot {
    std::atomic<T*> kept{nullptr};
  };
  std::array<Slot, std::size_t{1} << kSlotBits> slots_;
};

}  // namespace cordwood::broker
