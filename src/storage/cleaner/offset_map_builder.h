// storage/cleaner/offset_map_builder.h — fills an offset map from the dirty part of a log.
//
// Every key of a record that is no control record and of no aborted transaction. When the map is full it ends at once, in
// the middle of a batch as well: what lies behind OffsetMap::latest() is left for the next pass.
// Rules: docs/formats/cleaner.md, "offset map". One thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "record/record.h"
#include "record/record_walk.h"
#include "storage/cleaner/offset_map.h"
#include "storage/cleaner/transaction_tracker.h"
#include "storage/segment.h"

namespace cordwood::storage {

// The aborted transactions that reach into [from, to).
Result<std::vector<AbortedEntry>> aborted_between(const SegmentList& segments, Offset from, Offset to);

class OffsetMapBuilder {
 public:
  struct Range {
    Offset first_dirty;
    Offset end;  // the base of a segment
  };
  // Everything must outlive the builder; the files are read by so much as `window` at once.
  OffsetMapBuilder(OffsetMap& map, std::shared_ptr<const SegmentList> segments, Range range, ByteCount window,
                   const std::function<Result<void>(ByteCount)>& between)
      : map_(map), segments_(std::move(segments)), range_(range), window_(window), between_(between) {}
  record::DecompressionLimits limits;

  // Errors: those of `between`; io; corrupt.
  Result<void> run();
  std::int64_t records_read() const { return records_read_; }

 private:
  enum class Goes { on, full };
  Result<Goes> take_segment(const Segment& segment, Offset next_base);
  Result<Goes> take_entry(BytesView entry);
  Result<Goes> take_batch(const record::BatchView& batch, const record::BatchHeader& header);
  Result<Goes> take_legacy(BytesView entry);
  Goes put(const KeyHash& key, Offset offset);

  OffsetMap& map_;
  const std::shared_ptr<const SegmentList> segments_;
  const Range range_;
  const ByteCount window_;
  const std::function<Result<void>(ByteCount)>& between_;
  TransactionTracker transactions_;
  std::int64_t records_read_ = 0;
  struct KeyAt {
    KeyHash key;
    Offset offset;
  };
  std::vector<KeyAt> keys_;  // of the batch at hand; kept for its capacity
};

}  // namespace cordwood::storage
