#include "storage/cleaner/offset_map.h"

#include <algorithm>
#include <cmath>

namespace cordwood::storage {
namespace {

// A table is rarely filled beyond this where the memory allows: a search is then short.
constexpr std::int64_t kSlotsPerKey = 2;
constexpr std::int64_t kSmallestTable = 64;

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

void OffsetMap::start(std::int64_t at_most) {
  const std::int64_t keys = std::clamp<std::int64_t>(at_most, 0, limit_);
  std::int64_t wanted = std::max(keys * kSlotsPerKey, kSmallestTable);
  wanted = std::min(wanted, std::max<std::int64_t>(largest_slot_count_, 2));
  // Fresh pages of zeros cost less than clearing old ones, and nothing where no key ever lands.
  slots_.reset(static_cast<Slot*>(std::calloc(static_cast<std::size_t>(wanted), sizeof(Slot))));
  CHECK(slots_ != nullptr, "no memory for an offset map of {} slots", wanted);
  slot_count_ = static_cast<std::size_t>(wanted);
  size_ = 0;
  latest_ = Offset{-1};
}

void OffsetMap::release_memory() { start(0); }

}  // namespace cordwood::storage
