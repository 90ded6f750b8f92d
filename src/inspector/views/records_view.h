// inspector/views/records_view.h — the records from an offset on, entry by entry, for the views that read them.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/types.h"
#include "inspector/views/partition_files.h"

namespace cordwood::inspector {

// An entry of the log with its bytes.
struct EntryAt {
  const OpenSegment& open;
  const storage::BatchInfo& info;
  BytesView bytes;
  std::optional<record::BatchHeader> header;  // of magic 2
};

struct EntryWalk {
  ByteCount scanned;
  Offset next;            // where the walk would go on
  bool complete = false;  // it came to `end`
  std::string problem;    // what it had to pass over, the first of it
};

// Calls `visit` for each entry that reaches into [from, end), ascending, as long as no more than `most_bytes` were read. What is
// damaged is passed over to the next segment. Errors: io.
Result<EntryWalk> walk_log(const PartitionAt& at, const ExtentAt& extent, Offset from, Offset end, ByteCount most_bytes,
                           const std::function<record::Walk(const EntryAt&)>& visit);

// The record with this offset. Errors: not_found, which says why: below the log start, not written yet, compacted away, damaged.
struct FoundLogRecord {
  api::LogRecord record;
  storage::BatchInfo batch;
  std::optional<record::BatchHeader> header;
  SegmentAt segment;
  bool aborted = false;
  std::optional<ByteVector> key;
  bool has_value = true;
  std::string problem;  // of its batch; empty where there is none
};
Result<FoundLogRecord> find_log_record(const PartitionAt& at, const ExtentAt& extent, Offset offset);

}  // namespace cordwood::inspector
