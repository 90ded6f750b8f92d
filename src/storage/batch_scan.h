// storage/batch_scan.h — walking the headers of a .log file, batch by batch, without reading records.
//
// Reads a window at a time, so that many small batches cost one pread. Stops silently where Kafka's walk does: fewer
// than 17 bytes left, or a batch that reaches beyond the end.
#pragma once

#include <array>
#include <optional>

#include "base/file_range.h"
#include "base/result.h"
#include "base/types.h"
#include "record/batch.h"

namespace cordwood::storage {

// One batch as its header tells. For magic 0 and 1 base_offset is unknown without decompression and repeats last_offset.
struct BatchInfo {
  FilePosition position;
  ByteCount size;
  std::int8_t magic = 2;
  Offset base_offset;
  Offset last_offset;
  TimestampMs max_timestamp = kNoTimestamp;
  std::int32_t leader_epoch = -1;
  FilePosition end() const { return position + size; }
};

// The header at the start of `bytes`, which lie at `position`. Errors: corrupt when fewer bytes than a header of this
// magic needs, or when the length field is below what any batch has.
Result<BatchInfo> describe_batch(BytesView bytes, FilePosition position);

class BatchScan {
 public:
  // `file` must outlive the scan. `end` is exclusive; bytes behind it are not looked at.
  BatchScan(const ByteSource& file, FilePosition from, FilePosition end) : file_(file), position_(from), end_(end) {}

  // Nothing at the end, and before an incomplete batch. Errors: io; corrupt.
  Result<std::optional<BatchInfo>> next();
  // The header of the batch that next() gave last. Only for magic 2.
  record::BatchHeader header() const { return record::BatchView(header_).header(); }
  // Its first bytes as they lie, of a magic 2 batch the header; valid until the next call.
  BytesView header_bytes() const { return header_; }
  // Where the next batch starts: after a walk that ended without error, the end of the last whole batch.
  FilePosition position() const { return position_; }

 private:
  Result<BytesView> header_at(FilePosition position);

  const ByteSource& file_;
  FilePosition position_;
  FilePosition end_;
  FilePosition window_start_{0};
  std::size_t window_size_ = 0;
  // Then a window holds one header, and reading a big one would be a waste. Taken to be so until the first batch says
  // otherwise: most look-ups end with it, and 8 KiB copied for a header are a good part of their time.
  bool large_batches_ = true;
  BytesView header_;            // into the window
  std::array<std::byte, 8 * KiB> window_;
};

// The first batch in [from, end) whose last offset is at or above `target`.
Result<std::optional<BatchInfo>> first_batch_reaching(const ByteSource& file, Offset target, FilePosition from,
                                                      FilePosition end);

}  // namespace cordwood::storage
