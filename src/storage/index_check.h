// storage/index_check.h — whether the entries of an index can be believed, by looking at the batches that they speak of.
//
// Every check looks at a bounded number of places, whatever the length of the files. Nothing is changed or kept open.
#pragma once

#include "base/file_range.h"
#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/batch_scan.h"
#include "storage/offset_index.h"
#include "storage/time_index.h"

namespace cordwood::storage {

// Whether `batch`, found where `entry` says, can be what it speaks of: one that ends at the entry's offset or, in files of
// Kafka before 4.0, before it. A search for a later offset that starts there misses nothing.
inline bool fits(const IndexEntry& entry, const BatchInfo& batch, Offset base_offset) {
  return batch.last_offset <= entry.offset && batch.base_offset >= base_offset && batch.base_offset <= batch.last_offset &&
         batch.magic >= 0 && batch.magic <= 2;
}
// Whether `batch`, the first one that reaches the entry's offset, has the time that the entry tells.
inline bool fits(const TimeEntry& entry, const BatchInfo& batch) {
  return batch.max_timestamp == entry.timestamp && (batch.magic < 2 || batch.base_offset <= entry.offset);
}

struct SegmentPaths {
  io::Path log;
  io::Path offset_index;
  io::Path time_index;
};

struct CheckedMaxTimestamp {
  TimeEntry max;              // right in any case; {-1, base} when no batch has a time
  bool index_fits = true;
};

// The largest timestamp of a segment that is not being written, by the last entry of its time index. That entry must be right
// about its batch, and no batch behind the last entry of the offset index may be newer; else every batch of [0, end) is
// looked at. Errors: io.
Result<CheckedMaxTimestamp> check_max_timestamp(io::FileSystem& fs, const SegmentPaths& paths, Offset base_offset,
                                                FilePosition end);

}  // namespace cordwood::storage
