// storage/index_search.h — the entries of a mapped index, and binary search among them.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/types.h"

namespace cordwood::storage {

// An entry's offset. Wraps where a file's name promises offsets near the largest; such an entry then lies below its base.
inline Offset offset_of_entry(Offset base, std::int32_t relative) {
  return {static_cast<std::int64_t>(static_cast<std::uint64_t>(base.value) +
                                    static_cast<std::uint64_t>(static_cast<std::int64_t>(relative)))};
}

inline BytesView index_entry(BytesView entries, std::size_t entry_size, std::int64_t i) {
  return entries.subspan(static_cast<std::size_t>(i) * entry_size, entry_size);
}

// How many entries at the front satisfy `is_before`, which must hold for a prefix of them and for no others; where it
// does not (a damaged file) the answer is some number from 0 to the count. `is_before` is given an entry's bytes.
//
// Readers are mostly near the end of the log. The last two pages of entries are tried first, so that such a search
// touches neither cold pages of the middle nor a page that only a search of another count would touch.
template <class IsBefore>
std::int64_t count_entries_before(BytesView entries, std::size_t entry_size, IsBefore is_before) {
  constexpr std::size_t kWarmBytes = 8192;
  auto entry = [&](std::int64_t i) { return index_entry(entries, entry_size, i); };
  auto low = std::int64_t{0};
  auto high = static_cast<std::int64_t>(entries.size() / entry_size);
  std::int64_t warm = high - static_cast<std::int64_t>(kWarmBytes / entry_size);
  if (warm > 0) {
    if (is_before(entry(warm))) {
      low = warm + 1;
    } else {
      high = warm;
    }
  }
  while (low < high) {
    std::int64_t middle = low + (high - low) / 2;
    if (is_before(entry(middle))) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace cordwood::storage
