// offline/partition_repair.h — one partition directory mended: the plan, as a value, and carrying it out.
//
// Batches that can be read keep their bytes and offsets (storage/check/salvage.h has the choice); everything else in the directory
// is made anew from them by the broker's own code. The order is that of what must not be lost: copies of all that changes are
// durable in the quarantine, then hints go, then each damaged .log is replaced by a rename. A crash leaves the directory damaged or
// mended, and the next repair goes on from there.
// One thread per directory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "io/file_system.h"
#include "storage/check/partition_check.h"
#include "storage/check/salvage.h"
#include "storage/partition_log.h"

namespace cordwood::offline {

struct PartitionRepair {
  TopicPartition partition;
  io::Path directory;
  storage::PartitionCheck check;
  storage::Salvage salvage;
  // Files that leave the directory; all but .log files are made anew where the log needs them. Names, ascending.
  std::vector<std::string> set_aside;
  std::vector<std::string> made_anew;

  bool is_needed() const { return check.is_damaged(); }
  bool loses_something() const { return !salvage.lost.empty() || !salvage.left_out.empty(); }
  // Those of salvage.segments that are written, by name.
  std::vector<std::string> written() const;
};

// What the files are like and what is to be done. Changes nothing. Errors: io, not_found.
Result<PartitionRepair> plan_repair(io::FileSystem& fs, const io::Path& directory, const TopicPartition& partition,
                                    const storage::CheckContext& context);

struct RepairSettings {
  storage::LogEnvironment environment;
  storage::LogConfig config;
  Offset log_start;                 // as its checkpoint has it
  std::optional<Uuid> topic_id;     // of the metadata, for a partition.metadata that cannot be read
  std::optional<io::Path> quarantine;  // a directory for this partition's originals, made here; absent: they are copies
};

struct Repaired {
  Offset log_start;
  Offset log_end;
  storage::PartitionCheck check;  // of what is there now
};

// Errors: io, no_space. An error before the first rename leaves the directory as it was.
Result<Repaired> carry_out(const PartitionRepair& plan, const RepairSettings& settings);

}  // namespace cordwood::offline
