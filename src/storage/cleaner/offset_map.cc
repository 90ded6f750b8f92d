#include "storage/cleaner/offset_map.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"

namespace cordwood::storage {
namespace {

// A table is rarely filled beyond this where the memory allows: a search is then short.
constexpr std::int64_t kSlotsPerKey = 2;
constexpr std::int64_t kSmallestTable = 64;
// A table begins with this many slots and doubles: how many different keys a pass will meet is not known, and probes
// into a table that is larger than it must be miss the caches for nothing.
constexpr std::int64_t kFirstTable = 64 * 1024;
// What the bits of LastOffsets may take beside the table.
constexpr std::int64_t kLastOffsetsShare = 16;

}  // namespace

OffsetMap::OffsetMap(ByteCount memory, double load_factor, Random& random)
    : hasher_(random),
      largest_slot_count_(std::min<std::int64_t>(memory.value, INT32_MAX) / kSlotSize),
      // One slot stays empty, which is what ends a search.
      limit_(std::clamp<std::int64_t>(
          static_cast<std::int64_t>(static_cast<double>(largest_slot_count_) * load_factor), 0,
          std::max<std::int64_t>(largest_slot_count_ - 1, 0))) {
  start(0);
}

void OffsetMap::start(std::int64_t at_most, std::optional<Offset> first) {
  const std::int64_t keys = std::clamp<std::int64_t>(at_most, 0, limit_);
  const std::int64_t wanted = std::max(keys * kSlotsPerKey, kSmallestTable);
  largest_of_pass_ = std::min(wanted, std::max<std::int64_t>(largest_slot_count_, 2));
  // Fresh pages of zeros cost less than clearing old ones, and nothing where no key ever lands. The old ones go first:
  // two tables at once could be twice the memory that was allowed.
  memory_ = ZeroedMemory();
  use(ZeroedMemory(bytes_of(std::min(largest_of_pass_, kFirstTable))));
  last_offsets_.start(first.value_or(Offset{0}), first ? at_most : 0,
                      ByteCount{largest_slot_count_ * kSlotSize / kLastOffsetsShare});
  size_ = 0;
  latest_ = Offset{-1};
}

void OffsetMap::use(ZeroedMemory memory) {
  memory_ = std::move(memory);
  slots_ = static_cast<Slot*>(memory_.data());
  slot_count_ = memory_.size() / sizeof(Slot);
  const auto slots = static_cast<std::int64_t>(slot_count_);
  grow_at_ = slots < largest_of_pass_ ? slots / kSlotsPerKey : INT64_MAX;
}

// Homes ascend with the hash, so the old table's order is, but for collisions, that of the new one: both are walked through
// once from front to back. What was moved is given back on the way, so that the two never take more than the new one alone.
void OffsetMap::grow() {
  constexpr std::size_t kReleased = 2 * MiB / sizeof(Slot);
  ZeroedMemory old = std::move(memory_);
  const Slot* const from = slots_;
  const std::size_t count = slot_count_;
  use(ZeroedMemory(bytes_of(std::min(static_cast<std::int64_t>(count) * 2, largest_of_pass_))));
  for (std::size_t i = 0; i < count; ++i) {
    if (i % kReleased == 0) old.release((i - std::min(i, kReleased)) * sizeof(Slot), i * sizeof(Slot));
    if (from[i].offset_plus_one == 0) continue;
    std::size_t at = home(from[i].key);
    while (slots_[at].offset_plus_one != 0) at = after(at);
    slots_[at] = from[i];
  }
}

void OffsetMap::release_memory() { start(0); }

}  // namespace cordwood::storage
