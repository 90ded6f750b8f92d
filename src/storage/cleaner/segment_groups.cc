#include "storage/cleaner/segment_groups.h"

namespace cordwood::storage {

std::vector<SegmentGroup> group_segments(const std::vector<SegmentFacts>& segments, const GroupLimits& limits) {
  std::vector<SegmentGroup> groups;
  const auto last_offset_of = [&](std::size_t i) {
    const Offset end = i + 1 < segments.size() ? segments[i + 1].base_offset : limits.first_uncleanable;
    return Offset{end.value - 1};
  };
  std::size_t first = 0;
  while (first < segments.size()) {
    const Offset base = segments[first].base_offset;
    ByteCount size = segments[first].size;
    ByteCount offset_index_size = segments[first].offset_index_size;
    ByteCount time_index_size = segments[first].time_index_size;
    std::size_t end = first + 1;
    for (; end < segments.size(); ++end) {
      const SegmentFacts& next = segments[end];
      const bool offsets_fit = next.size == ByteCount{0} || last_offset_of(end) - base <= OffsetDelta{INT32_MAX};
      if (size + next.size > limits.segment_bytes || !offsets_fit ||
          offset_index_size + next.offset_index_size > limits.segment_index_bytes ||
          time_index_size + next.time_index_size > limits.segment_index_bytes) {
        break;
      }
      size += next.size;
      offset_index_size += next.offset_index_size;
      time_index_size += next.time_index_size;
    }
    groups.push_back({first, end});
    first = end;
  }
  return groups;
}

}  // namespace cordwood::storage
