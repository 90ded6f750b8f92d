// storage/index_builder.h — the entries that the indexes of a segment hold, computed from its batches.
//
// By the rule of docs/formats/partition_log.md, "index entries", as if the segment had been written in one run: what a recovery
// makes. Pure; batches are given in their order.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/types.h"
#include "storage/batch_scan.h"
#include "storage/offset_index.h"
#include "storage/time_index.h"

namespace cordwood::storage {

class IndexBuilder {
 public:
  // Entries beyond what `index_bytes` has room for are left out.
  IndexBuilder(Offset base_offset, ByteCount index_interval_bytes, ByteCount index_bytes);

  void add(const BatchInfo& batch);
  TimeEntry max_timestamp() const { return max_; }  // {-1, base} when no batch has a time
  FilePosition last_indexed() const { return last_indexed_; }  // the position of the batch with the last offset entry

  // The bytes of the files. With the closing entry, as those of a closed segment or behind a clean stop.
  ByteVector offset_index() const;
  enum class Closing { no, yes };
  ByteVector time_index(Closing closing) const;

 private:
  bool takes(const TimeEntry& entry) const;

  const Offset base_offset_;
  const std::int64_t interval_;
  const std::size_t most_offsets_;
  const std::size_t most_times_;
  std::vector<IndexEntry> offsets_;
  std::vector<TimeEntry> times_;
  TimeEntry max_;
  FilePosition last_indexed_{0};
};

// Feeds every batch of [0, end); stops where the headers stop making sense. Errors: io.
Result<IndexBuilder> build_indexes(const ByteSource& log, FilePosition end, Offset base_offset,
                                   ByteCount index_interval_bytes, ByteCount index_bytes);

}  // namespace cordwood::storage
