// storage/cleaner/segment_rewriter.h — the segments that a group of old ones becomes: <base>.*.cleaned files.
//
// One segment as a rule; where its offsets or bytes would not fit 31 bits any more, another one begins. One thread.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "storage/cleaner/batch_filter.h"
#include "storage/partition_log.h"
#include "storage/segment.h"

namespace cordwood::storage {

class SegmentRewriter {
 public:
  // Both must outlive the rewriter.
  SegmentRewriter(const LogEnvironment& environment, io::Path directory, const LogConfig& config);

  Result<void> begin(Offset base_offset);

  // Where the filter puts the next batch.
  ByteVector& output() { return output_; }
  // Takes note of what the filter has put there. Errors: io; corrupt when offsets do not go up.
  Result<void> take(const FilteredBatch& batch);
  // Appends the output to the segment; answers how much that was.
  Result<ByteCount> write_out();
  // The files are complete and on the disk; the .log gets this modification time.
  Result<void> finish(TimestampMs modified);
  // Removes what was written.
  void discard();

  const SegmentList& segments() const { return segments_; }
  ByteCount bytes_written() const { return bytes_written_; }

 private:
  Result<void> close_current();
  Result<void> start_another(Offset base_offset, const FilteredBatch& first);

  const LogEnvironment& env_;
  io::Path directory_;
  const LogConfig& config_;
  SegmentList segments_;
  ByteVector output_;
  std::vector<BatchInfo> batches_;       // in output_
  std::vector<AbortedEntry> aborted_;
  Offset last_offset_{-1};
  ByteCount bytes_written_;
};

}  // namespace cordwood::storage
