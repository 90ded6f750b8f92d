// storage/cleaner/batch_chunks.h — a segment's file in pieces of whole batches, as large as a buffer.
//
// Legacy entries count as batches. One thread.
#pragma once

#include "base/bytes.h"
#include "base/file_range.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood::storage {

class BatchChunks {
 public:
  // `file` and `buffer` must outlive the chunks; `buffer` is as large as a chunk should be, and grows where a batch is
  // larger. `end` is exclusive.
  BatchChunks(const ByteSource& file, FilePosition from, FilePosition end, ByteVector& buffer)
      : file_(file), position_(from), end_(end), buffer_(buffer) {}

  // The next whole batches, at least one; empty at the end. Valid until the next call. Errors: io; corrupt for a length
  // that no batch has, and for an incomplete batch at the end.
  Result<BytesView> next();
  // Where the chunk lies that next() gave last.
  FilePosition position() const { return chunk_; }

 private:
  const ByteSource& file_;
  FilePosition position_;
  FilePosition end_;
  FilePosition chunk_{0};
  ByteVector& buffer_;
};

// The entry at the start of `chunk`, which next() gave: its bytes.
BytesView first_entry(BytesView chunk);

}  // namespace cordwood::storage
