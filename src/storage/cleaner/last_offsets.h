// storage/cleaner/last_offsets.h — two bits for each offset of the dirty part: was a record there put into the offset map,
// and is it still the last one of its key?
//
// The second half of a pass then asks for the fate of such a record by its offset, in memory that it walks through in
// order, instead of hashing the key again and looking for it all over the map. Only a record that was put is known; for any
// other the map itself must be asked. One thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/types.h"
#include "base/zeroed_memory.h"

namespace cordwood::storage {

class LastOffsets {
 public:
  enum class Standing { unknown, superseded, last };

  // For offsets in [first, first + count), none of which is known. Where that takes more than `at_most` none ever will be.
  void start(Offset first, std::int64_t count, ByteCount at_most) {
    first_ = first;
    count_ = count > 0 && count / kPerByte < at_most.value ? count : 0;
    memory_ = ZeroedMemory();
    if (count_ > 0) memory_ = ZeroedMemory(static_cast<std::size_t>(count_ / kPerByte + 1));
    bits_ = static_cast<std::uint8_t*>(memory_.data());
  }

  // The record at `offset` is the last of its key now, the one at `before` no longer.
  void put(Offset offset, std::optional<Offset> before) {
    if (holds(offset)) set(offset, kKnown | kLast);
    if (before && holds(*before)) set(*before, kKnown);
  }
  // Forgets everything, for good: where one offset was put twice, its bits speak of two records.
  void give_up() { count_ = 0; }

  Standing standing(Offset offset) const {
    if (!holds(offset)) return Standing::unknown;
    switch ((bits_[at(offset)] >> shift(offset)) & (kKnown | kLast)) {
      case kKnown | kLast: return Standing::last;
      case kKnown: return Standing::superseded;
      default: return Standing::unknown;
    }
  }

 private:
  static constexpr std::int64_t kPerByte = 4;
  static constexpr unsigned kKnown = 1;
  static constexpr unsigned kLast = 2;

  // Offsets come from files and may be anything: the difference is taken without a sign, which cannot overflow.
  bool holds(Offset offset) const {
    return static_cast<std::uint64_t>(offset.value) - static_cast<std::uint64_t>(first_.value) <
           static_cast<std::uint64_t>(count_);
  }
  std::size_t at(Offset offset) const { return static_cast<std::size_t>((offset - first_).value / kPerByte); }
  void set(Offset offset, unsigned bits) {
    std::uint8_t& byte = bits_[at(offset)];
    byte = static_cast<std::uint8_t>((byte & ~((kKnown | kLast) << shift(offset))) | (bits << shift(offset)));
  }
  unsigned shift(Offset offset) const { return static_cast<unsigned>((offset - first_).value % kPerByte) * 2; }

  Offset first_{0};
  std::int64_t count_ = 0;
  ZeroedMemory memory_;
  std::uint8_t* bits_ = nullptr;  // all of memory_
};

}  // namespace cordwood::storage
