// storage/index_search.h — binary search among the entries of a mapped index.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace cordwood::storage {

// How many entries at the front satisfy `is_before`, which must hold for a prefix of them and for no others; where it
// does not (a damaged file) the answer is some number from 0 to the count. `is_before` is given an entry's bytes.
//
// Readers are mostly near the end of the log. The last two pages of entries are tried first, so that such a search
// touches neither cold pages of the middle nor a page that only a search of another count would touch.
template <class IsBefore>
std::int64_t count_entries_before(BytesView entries, std::size_t entry_size, IsBefore is_before) {
  constexpr std::size_t kWarmBytes = 8192;
  auto entry = [&](std::int64_t i) { return entries.subspan(static_cast<std::size_t>(i) * entry_size, entry_size); };
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
