// storage/cleaner/batch_chunks.h — a segment's file in pieces of whole batches, about as large as a window.
//
// Legacy entries count as batches. One thread.
#pragma once

#include "base/bytes.h"
#include "base/file_range.h"
#include "base/result.h"
#include "base/types.h"
#include "storage/forward_reader.h"

namespace cordwood::storage {

class BatchChunks {
 public:
  // `file` must outlive the chunks. `end` is exclusive. A chunk is larger than the window where a batch is.
  BatchChunks(const ByteSource& file, FilePosition from, FilePosition end, ByteCount window)
      : reader_(file, end, window), position_(from), end_(end) {}

  // The next whole batches, at least one; empty at the end. Valid until the next call. Errors: io; corrupt for a length
  // that no batch has, and for an incomplete batch at the end.
  Result<BytesView> next();
  // Where the chunk lies that next() gave last.
  FilePosition position() const { return chunk_; }

 private:
  ForwardReader reader_;
  FilePosition position_;
  FilePosition end_;
  FilePosition chunk_{0};
};

// The entry at the start of `chunk`, which next() gave: its bytes.
BytesView first_entry(BytesView chunk);

}  // namespace cordwood::storage
