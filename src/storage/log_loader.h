// storage/log_loader.h — opening a partition directory: left-overs cleaned up, segments opened, the unflushed part
// checked, everything else brought in line with what is left.
//
// The steps and their order are Kafka's (docs/formats/partition_log.md, "loading"; seen on Kafka 4.4.0).
// One thread per directory.
#pragma once

#include <memory>

#include "base/result.h"
#include "storage/partition_log.h"
#include "storage/producer_snapshots.h"
#include "storage/segment.h"

namespace cordwood::storage {

struct LoadedLog {
  SegmentList segments;
  ProducerState producers;
  ProducerSnapshots snapshots;
  LeaderEpochCache epochs;
  Offset log_start;
  Offset recovery_point;
  Offset log_end;
  // Bytes of the active segment that hold whole batches; less than its size only after a clean stop with a torn tail,
  // which is left as it lies.
  FilePosition active_end;
  std::optional<Uuid> topic_id;
  bool directory_is_new = false;  // its name in the log directory is not synced yet
};

Result<LoadedLog> load_log(const LogEnvironment& environment, const io::Path& directory, const OpenOptions& options,
                           RecoveryReport& report);

// The part of a load that checks one segment from its first batch on: cuts it behind the last good one and makes its
// indexes and the snapshot at its end anew. Answers how many bytes went.
struct RecoveryContext {
  const LogEnvironment& environment;
  const OpenOptions& options;
  ProducerSnapshots& snapshots;
  LeaderEpochCache& epochs;
  RecoveryReport& report;
};
Result<ByteCount> recover_segment(RecoveryContext& context, Segment& segment, const SegmentList& segments);

// Removes what a stopped deletion, cleaning or swap left behind, and ends a swap that had got far enough. Answers
// whether any file came or went.
Result<bool> clean_up_unfinished(io::FileSystem& fs, const io::Path& directory,
                                 const std::vector<io::DirectoryEntry>& entries, RecoveryReport& report);

}  // namespace cordwood::storage
