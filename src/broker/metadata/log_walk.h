// broker/metadata/log_walk.h — reads the metadata log from its files without changing anything.
//
// Runs before the log is opened for writing, because opening cuts a damaged tail. A crash leaves at most an incomplete
// tail; where whole batches follow the bad bytes, acknowledged metadata would go with them, so that is refused with the
// file and the position. (Kafka 4.4.0 cuts there with one warning and then hides every partition created later.)
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "record/batch.h"

namespace cordwood::broker::metadata {

struct TornTail {
  io::Path file;
  FilePosition position;  // of the first bad byte
  ByteCount size;         // from there to the end of the file
  std::string reason;
};

struct WalkReport {
  bool has_files = false;            // a .log file is there, perhaps an empty one
  Offset start{0};                   // the base offset of the first segment that counts
  Offset end{0};                     // one past the last whole batch
  std::int32_t last_epoch = 0;       // of the last whole batch; 0 when there is none
  std::optional<TornTail> torn_tail;
};

// Calls `visit` for every whole batch in order; an error from it ends the walk and is handed on. `where` says file and
// position of the batch. The view lives until `visit` returns.
// A gap in front of a segment that begins at or below `covered`, where a snapshot ends, is what a crash leaves when old
// segments were being removed: the log starts behind it.
// Errors: io; corrupt for damage that is no torn tail, for offsets with any other gap and for an epoch that falls.
using VisitBatch = std::function<Result<void>(const record::BatchView& batch, const std::string& where)>;
Result<WalkReport> walk_metadata_log(io::FileSystem& fs, const io::Path& directory, const VisitBatch& visit,
                                     Offset covered = {0});

// The same for one file of batches that must be whole to the end: a snapshot. Errors: io, corrupt.
Result<void> walk_batch_file(io::FileSystem& fs, const io::Path& path, const VisitBatch& visit);

}  // namespace cordwood::broker::metadata
