// storage/check/partition_check.h — whether the files of a partition directory say what they should: an invariant checker for
// tools and tests. Reads only, goes on behind damage, and tells what the next start would do about each thing found.
//
// What is found and what is done are told in the words of storage/recovery_verdict.h, the broker's own; docs/formats/damage.md has
// the table of both.
// Threads: one per directory; directories are independent.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/checkpoint_file.h"
#include "storage/partition_log.h"
#include "storage/recovery_verdict.h"

namespace cordwood::storage {

struct CheckFinding {
  enum class Weight : std::uint8_t {
    damage,  // something is lost, or wrong until the next start
    note,    // left over, or odd, and harmless
  };
  Weight weight = Weight::damage;
  std::string file;                       // its name in the directory
  RecoveryFinding finding = RecoveryFinding::torn_tail;
  std::optional<FilePosition> position;   // of the bad bytes
  ByteCount bytes;                        // how many; 0 when the file as a whole is meant
  std::optional<Offset> first_offset;     // offsets that cannot be read: from here
  std::optional<Offset> end_offset;       // to here, exclusive; absent: to the end
  std::string why;
  RecoveryAction at_next_start = RecoveryAction::passed_over;
  std::string kafka;                      // what Kafka 4.4.0 would do, where it differs; may be empty
  bool operator==(const CheckFinding&) const = default;
};

// One .log file as it was found.
struct CheckedSegment {
  Offset base;
  ByteCount size;
  Offset first_offset;    // of the first good batch; the base when there is none
  Offset end_offset;      // behind the last good batch
  std::int64_t batches = 0;
  std::int64_t records = 0;
  bool is_whole = false;  // good batches one behind the other, and nothing else
  bool operator==(const CheckedSegment&) const = default;
};

struct PartitionCheck {
  std::vector<CheckFinding> findings;
  std::vector<CheckedSegment> checked;  // ascending
  std::vector<EpochEntry> epochs;       // as the good batches tell them
  std::int64_t segments = 0;
  std::int64_t batches = 0;
  std::int64_t records = 0;  // as the headers count them
  ByteCount bytes;           // of .log files
  Offset log_start{0};       // of the first segment
  Offset log_end{0};

  bool is_damaged() const;
};

enum class CheckDepth {
  batches,  // checksums, offsets, epochs, indexes, transactions
  records,  // and every record's structure, for which compressed batches are inflated
};

// What is known of the log from outside of its directory.
struct CheckContext {
  Offset recovery_point{0};
  StopKind last_stop = StopKind::clean;
  CheckDepth depth = CheckDepth::batches;
  bool is_in_use = false;  // a broker writes: what is not finished at the end is no damage
  std::atomic<std::int64_t>* bytes_done = nullptr;  // counted up while it goes on
};

// Errors: io, not_found (the directory or a file of it cannot be read).
Result<PartitionCheck> check_partition(io::FileSystem& fs, const io::Path& directory, const CheckContext& context);

// One sentence: what was found, and with `Describe::all` what the next start would do about it.
enum class Describe { finding, all };
std::string describe(const CheckFinding& finding, Describe how_much = Describe::all);

}  // namespace cordwood::storage
