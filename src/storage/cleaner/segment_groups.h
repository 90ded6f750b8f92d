// storage/cleaner/segment_groups.h — which segments of a log a pass writes into one.
//
// Rules: docs/formats/cleaner.md, "groups" (seen on Kafka 4.4.0). Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "base/types.h"

namespace cordwood::storage {

struct SegmentFacts {
  Offset base_offset;
  ByteCount size;
  ByteCount offset_index_size;
  ByteCount time_index_size;
};

struct GroupLimits {
  ByteCount segment_bytes;
  ByteCount segment_index_bytes;
  // Exclusive upper bound of the offsets in the last segment.
  Offset first_uncleanable;
};

// Neighbours, as [first, end) places in `segments`: a group grows while the sums of what its segments hold before they
// are cleaned stay within the limits, and its offsets within 2^31 of its base.
struct SegmentGroup {
  std::size_t first = 0;
  std::size_t end = 0;
  bool operator==(const SegmentGroup&) const = default;
};
std::vector<SegmentGroup> group_segments(const std::vector<SegmentFacts>& segments, const GroupLimits& limits);

}  // namespace cordwood::storage
