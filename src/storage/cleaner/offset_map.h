// storage/cleaner/offset_map.h — key -> last offset, for the dirty part of one log, in bounded memory.
//
// Open addressing over slots of 24 bytes (hash of the key, offset), as many as Kafka has in the same memory, so that one
// pass of both covers the same records. The table of a pass is only as large as the pass can fill it.
// Rules: docs/formats/cleaner.md, "offset map". One thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/check.h"
#include "base/random.h"
#include "base/types.h"
#include "storage/cleaner/key_hash.h"

namespace cordwood::storage {

class OffsetMap {
 public:
  static constexpr std::int64_t kSlotSize = 24;

  // `memory` bounds the table, `load_factor` how much of it may be filled. The secret of the hash is drawn from `random`.
  OffsetMap(ByteCount memory, double load_factor, Random& random);

  // Empty again, for a pass that puts at most `at_most` different keys.
  void start(std::int64_t at_most);
  void release_memory();

  KeyHash hash(BytesView key) const { return hasher_(key); }
  // Fetches the slot into the cache: for many keys in a row, before put() or find() of each.
  void prefetch(const KeyHash& key) const { __builtin_prefetch(&slots_[home(key)]); }

  // No further key may be put, not even one that is in the map already (Kafka's rule).
  bool is_full() const { return size_ >= limit_; }
  // The offset counts as the latest. Not when full (checked).
  void put(const KeyHash& key, Offset offset) {
    CHECK(size_ < limit_, "put into a full offset map of {} keys", limit_);
    Slot& slot = slots_[find_slot(key)];
    if (slot.offset_plus_one == 0) {
      slot.key = key;
      ++size_;
    }
    slot.offset_plus_one = offset.value + 1;
    latest_ = offset;
  }
  std::optional<Offset> find(const KeyHash& key) const {
    const Slot& slot = slots_[find_slot(key)];
    if (slot.offset_plus_one == 0) return std::nullopt;
    return Offset{slot.offset_plus_one - 1};
  }

  std::int64_t size() const { return size_; }
  std::int64_t limit() const { return limit_; }  // of keys
  // The highest offset that the map covers; -1 before the first.
  Offset latest() const { return latest_; }
  void set_latest(Offset offset) { latest_ = offset; }

 private:
  struct Slot {
    KeyHash key;
    std::int64_t offset_plus_one;  // 0: nothing here
  };
  static_assert(sizeof(Slot) == kSlotSize);
  struct Free {
    void operator()(Slot* slots) const { std::free(slots); }
  };

  std::size_t home(const KeyHash& key) const {
    return static_cast<std::size_t>((static_cast<unsigned __int128>(key.low) * slot_count_) >> 64);
  }
  std::size_t find_slot(const KeyHash& key) const {
    std::size_t at = home(key);
    while (slots_[at].offset_plus_one != 0 && slots_[at].key != key) {
      if (++at == slot_count_) at = 0;
    }
    return at;
  }

  KeyHasher hasher_;
  std::int64_t largest_slot_count_;
  std::int64_t limit_;
  std::unique_ptr<Slot[], Free> slots_;
  std::size_t slot_count_ = 0;
  std::int64_t size_ = 0;
  Offset latest_{-1};
};

}  // namespace cordwood::storage
