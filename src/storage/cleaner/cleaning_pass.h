// storage/cleaner/cleaning_pass.h — one pass of the cleaner over one log: the last offset of each key in the dirty part,
// then every segment below anew, without the records that were superseded.
//
// Writes <base>.*.cleaned files, then has the log swap them in (PartitionLog::replace_segments); a crash at any instant
// leaves the old or the new data of a group of segments. Takes none of the log's locks while it reads and writes.
// Rules: docs/formats/cleaner.md (seen on Kafka 4.4.0). One thread; appends and readers go on beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/types.h"
#include "storage/cleaner/cleanable.h"
#include "storage/cleaner/offset_map.h"
#include "storage/partition_log.h"

namespace cordwood::storage {

struct PassSettings {
  ByteCount read_buffer{256 * KiB};
  // Called between pieces of work with the bytes that were read or written since: where the pass waits for its turn, and
  // where it is stopped: an error ends it and is handed on.
  std::function<Result<void>(ByteCount)> between;
};

struct PassStatistics {
  std::int64_t records_mapped = 0;   // read while the offset map was built
  std::int64_t keys = 0;             // in the offset map
  std::int64_t key_limit = 0;        // what it could have held
  std::int64_t records_read = 0;
  std::int64_t records_kept = 0;
  std::int64_t records_without_key = 0;
  std::int64_t tombstones_removed = 0;  // whose time was over
  ByteCount bytes_read;              // of the segments that were written anew
  ByteCount bytes_written;
  std::int64_t segments_before = 0;
  std::int64_t segments_after = 0;
  bool operator==(const PassStatistics&) const = default;
};

struct PassResult {
  Offset end;                     // everything below is clean now; may lie inside a batch when the map was full
  bool covers_everything = false;  // end is the verdict's first uncleanable offset
  PassStatistics statistics;
};

// `verdict` says what is dirty. Errors: those of `between`; io, no_space; corrupt for data that cannot be cleaned;
// closed when the log was truncated or closed meanwhile. Files that were not swapped in are removed.
Result<PassResult> clean_log(PartitionLog& log, const LogEnvironment& environment, const CleaningVerdict& verdict,
                             OffsetMap& map, const PassSettings& settings);

}  // namespace cordwood::storage
