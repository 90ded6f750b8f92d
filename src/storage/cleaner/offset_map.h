// storage/cleaner/offset_map.h — key -> last offset, for the dirty part of one log, in bounded memory.
//
// Open addressing over slots of 24 bytes (hash of the key, offset), as many as Kafka has in the same memory, so that one
// pass of both covers the same records. The table of a pass grows with the keys that it meets.
// Rules: docs/formats/cleaner.md, "offset map". One thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/random.h"
#include "base/types.h"
#include "base/zeroed_memory.h"
#include "storage/cleaner/key_hash.h"
#include "storage/cleaner/last_offsets.h"

namespace cordwood::storage {

class OffsetMap {
 public:
  static constexpr std::int64_t kSlotSize = 24;

  // `memory` bounds the table, `load_factor` how much of it may be filled. The secret of the hash is drawn from `random`.
  OffsetMap(ByteCount memory, double load_factor, Random& random);

  // Empty again, for a pass that puts at most `at_most` different keys. With `first`: they are those of the `at_most` offsets
  // from there on, and standing() can tell.
  void start(std::int64_t at_most, std::optional<Offset> first = {});
  void release_memory();

  KeyHash hash(BytesView key) const { return hasher_(key); }
  // Fetches the slot into the cache: for many keys in a row, before put() or find() of each.
  void prefetch(const KeyHash& key) const {
    const Slot& slot = slots_[home(key)];
    __builtin_prefetch(&slot);
    __builtin_prefetch(&slot.offset_plus_one);  // a slot may lie over the border of two cache lines
  }

  // No further key may be put, not even one that is in the map already (Kafka's rule).
  bool is_full() const { return size_ >= limit_; }
  // The offset counts as the latest. Not when full (checked).
  void put(const KeyHash& key, Offset offset) {
    CHECK(size_ < limit_, "put into a full offset map of {} keys", limit_);
    Slot& slot = slots_[find_slot(key)];
    std::optional<Offset> before;
    if (slot.offset_plus_one == 0) {
      slot.key = key;
      ++size_;
    } else {
      before = Offset{slot.offset_plus_one - 1};
    }
    slot.offset_plus_one = offset.value + 1;
    if (offset <= latest_) last_offsets_.give_up();
    last_offsets_.put(offset, before);
    latest_ = offset;
    if (size_ >= grow_at_) grow();
  }
  std::optional<Offset> find(const KeyHash& key) const {
    const Slot& slot = slots_[find_slot(key)];
    if (slot.offset_plus_one == 0) return std::nullopt;
    return Offset{slot.offset_plus_one - 1};
  }

  // The same as comparing `offset` with what find() answers for the key of the record there, without the key. Unknown
  // where no record of that offset was put, and always when offsets did not go up.
  LastOffsets::Standing standing(Offset offset) const { return last_offsets_.standing(offset); }

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

  std::size_t home(const KeyHash& key) const {
    return static_cast<std::size_t>((static_cast<unsigned __int128>(key.low) * slot_count_) >> 64);
  }
  std::size_t after(std::size_t at) const { return at + 1 == slot_count_ ? 0 : at + 1; }
  std::size_t find_slot(const KeyHash& key) const {
    std::size_t at = home(key);
    while (slots_[at].offset_plus_one != 0 && slots_[at].key != key) at = after(at);
    return at;
  }
  static std::size_t bytes_of(std::int64_t slots) { return static_cast<std::size_t>(slots) * sizeof(Slot); }
  void use(ZeroedMemory memory);
  void grow();

  KeyHasher hasher_;
  std::int64_t largest_slot_count_;
  std::int64_t limit_;
  std::int64_t largest_of_pass_ = 0;
  ZeroedMemory memory_;
  Slot* slots_ = nullptr;  // all of memory_
  std::size_t slot_count_ = 0;
  std::int64_t grow_at_ = 0;  // keys
  LastOffsets last_offsets_;
  std::int64_t size_ = 0;
  Offset latest_{-1};
};

}  // namespace cordwood::storage
