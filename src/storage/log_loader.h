// storage/log_loader.h — opening a partition directory: left-overs cleaned up, segments opened, the unflushed part
// checked, everything else brought in line with what is left.
//
// The steps and their order are Kafka's (docs/formats/partition_log.md, "loading"; seen on Kafka 4.4.0).
// One thread per directory.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

// Adds to the report, and says so in a warning.
void note(const LogEnvironment& environment, const io::Path& directory, RecoveryReport& report, RecoveryVerdict verdict);

// Where a segment stops being readable: what lies in [at, end) is to go.
struct FoundCut {
  const Segment& segment;
  FilePosition at;
  FilePosition end;
  Offset next_offset;  // the first one that the log loses
  std::string reason;
};

// The part of a load that checks one segment from its first batch on: cuts it behind the last good one and makes its
// indexes and the snapshot at its end anew. Answers how many bytes went. `before_cut` keeps what must be kept: nothing is
// cut when it fails.
struct RecoveryContext {
  const LogEnvironment& environment;
  const OpenOptions& options;
  ProducerSnapshots& snapshots;
  LeaderEpochCache& epochs;
  RecoveryReport& report;
  std::function<Result<void>(const FoundCut&)> before_cut;
  bool overflowed = false;  // why it failed: an offset does not fit the segment; split_segment() helps
};
Result<ByteCount> recover_segment(RecoveryContext& context, Segment& segment, const SegmentList& segments);

// Makes several segments of one whose offsets lie more than 2^31-1 above its base. A crash leaves the one or the others.
// Errors: io, no_space.
Result<void> split_segment(const LogEnvironment& environment, const io::Path& directory, const OpenOptions& options,
                           Offset base_offset, RecoveryReport& report);

// Puts what a cut would take out of the log below damaged/ when any of it can be read: the end of the segment, and of `later`,
// the segments that will go with it, every one that is not empty. Errors: io; no_space, with nothing changed.
Result<void> keep_what_a_cut_takes(const LogEnvironment& environment, const io::Path& directory, RecoveryReport& report,
                                   const FoundCut& cut, std::span<const std::shared_ptr<Segment>> later);
// The same for a log that is given up as a whole, because it ends at `end`, below its start.
Result<void> keep_what_lies_below_the_start(const LogEnvironment& environment, const io::Path& directory,
                                            RecoveryReport& report, const SegmentList& segments, Offset end,
                                            Offset log_start);

// The leader epochs as the batches tell them. Reads the header of every batch. Errors: io.
Result<std::vector<EpochEntry>> epochs_in(const SegmentList& segments);

// Removes what a stopped deletion, cleaning or swap left behind, and ends a swap that had got far enough. Answers
// whether any file came or went.
Result<bool> clean_up_unfinished(io::FileSystem& fs, const io::Path& directory,
                                 const std::vector<io::DirectoryEntry>& entries, RecoveryReport& report);

}  // namespace cordwood::storage
