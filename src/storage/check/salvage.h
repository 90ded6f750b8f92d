// storage/check/salvage.h — which batches of a damaged log can be kept, and the .log files that they make: the plan of
// `cordwood repair`. Reads only.
//
// Every batch with a good checksum keeps its bytes and its offsets; offsets that cannot be read stay a gap. Files that are as
// they should be are not looked at a second time. In a damaged one batches are searched byte by byte, as after a recovery
// (readable_batches.h); what is found is taken where its offsets have a place:
//   - in the file that is named for them, in rising order; where one batch between two neighbours tells another offset than the
//     only one that fits there, its offset (no checksum covers it) is what is damaged, and put right;
//   - in another file (two were swapped, one was renamed) where the file that is named for them has nothing at all, or where
//     they fit between two batches that are kept.
// Whole batches that have no place are told, and left out: they may be of another log.
// Threads: one per directory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/check/partition_check.h"

namespace cordwood::storage {

// Batches that lie side by side in one .log file, with rising offsets.
struct SalvagedRun {
  Offset file;  // the base that the file is named after
  FilePosition start;
  FilePosition end;
  Offset first_offset;
  Offset last_offset;
  std::int64_t batches = 0;
  std::int64_t records = 0;  // as the headers count them
  bool is_movable = false;    // one batch of magic 2
  bool is_corrected = false;  // one batch, whose bytes tell another base offset than first_offset
  bool operator==(const SalvagedRun&) const = default;
};

// A .log file as it is to be.
struct SalvagedSegment {
  Offset base;
  std::vector<SalvagedRun> runs;  // ascending; none: an empty active segment
  bool is_as_it_was = false;      // nothing needs to be written
  ByteCount size() const;
};

// Bytes of a .log file that will be in none.
struct LeftOut {
  Offset file;
  FilePosition start;
  FilePosition end;
  std::int64_t batches = 0;  // whole ones that have no place; 0: nothing can be read here
  std::optional<Offset> first_offset;
  std::optional<Offset> last_offset;
};

// Offsets of which no batch is there any more, because of damage.
struct LostOffsets {
  Offset first;
  std::optional<Offset> end;  // exclusive; absent: to wherever the log ended
};

struct Salvage {
  std::vector<SalvagedSegment> segments;  // ascending
  std::vector<Offset> gone;               // bases of .log files that hold nothing to keep
  std::vector<LeftOut> left_out;          // by file and position
  std::vector<LostOffsets> lost;          // ascending
  Offset log_start{0};
  Offset log_end{0};
  bool changes_logs() const;
};

// `check` is of these very files. With CheckDepth::records, batches whose records cannot be walked are left out as well.
// Errors: io.
Result<Salvage> plan_salvage(io::FileSystem& fs, const io::Path& directory, const PartitionCheck& check, CheckDepth depth);

}  // namespace cordwood::storage
