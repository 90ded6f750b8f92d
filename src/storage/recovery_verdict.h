// storage/recovery_verdict.h — what the opening of a log found wrong with its files and what was done about each: plain
// values for the log line, the offline checker and the tests.
//
// docs/formats/damage.md has the table of all cases, docs/decisions/0006 the reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"

namespace cordwood::storage {

enum class RecoveryFinding : std::uint8_t {
  torn_tail,        // the last batch is incomplete or bad, and nothing that can be read follows
  hole,             // a bad batch, and batches that can be read behind it
  behind_hole,      // a whole segment that lies behind a cut
  below_log_start,  // the log ends below the start that its checkpoint tells
  offset_overflow,  // offsets that lie more than 2^31-1 above the segment's base
  unreadable,       // a small file or a snapshot that does not parse
  missing,          // a file that must have been there
  wrong_entries,    // an index whose entries do not fit the batches
  odd_name,         // looks like a file of a log, and its name is none
};

enum class RecoveryAction : std::uint8_t {
  cut,          // bytes went that held nothing readable
  kept,         // taken out of the log, and kept below damaged/
  rebuilt,      // made anew from the batches
  split,        // the segment became several
  removed,      // it was of no use
  passed_over,  // untouched and not looked at
};

struct RecoveryVerdict {
  std::string file;                       // its name in the partition directory
  std::optional<FilePosition> position;   // where the trouble starts
  RecoveryFinding finding = RecoveryFinding::torn_tail;
  RecoveryAction action = RecoveryAction::cut;
  ByteCount bytes;                        // that left the log
  std::optional<Offset> offset;           // first one that is gone from the log
  std::string why;
  std::string kept_as;                    // path below the partition directory; empty when nothing is kept
  bool operator==(const RecoveryVerdict&) const = default;
};

const char* to_string(RecoveryFinding finding);
const char* to_string(RecoveryAction action);
// One sentence.
std::string describe(const RecoveryVerdict& verdict);

}  // namespace cordwood::storage
