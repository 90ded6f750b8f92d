// storage/log_move.h — a log on its way into another log directory: what has been copied of it so far.
//
// The copy lies in a directory named `<topic>-<partition>.<unique>-future`, as Kafka names it, and holds the very files of
// the log. It grows chunk by chunk beside appends and retention (PartitionLog::copy_into); in the end the log itself moves
// over (move_into), so that whoever holds it goes on with it. Until then the copy counts for nothing, and after a restart
// it is begun anew.
//
// It has no partition.metadata before it is complete. On the way it may lack segments in the middle, and whoever took it for the
// beginning of the log would lose those: Apache Kafka 4.4.0 does, unless that file is missing (then it becomes a -stray).
//
// Threads: one at a time.   Crashes at each step: docs/formats/directory_files.md
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/file_system.h"
#include "storage/partition_log.h"

namespace cordwood::storage {

struct LogCopy {
  struct Part {
    std::shared_ptr<Segment> of;  // held, so that no other can be taken for it
    std::shared_ptr<io::File> file;  // the copy of its .log; closed once it is complete
    ByteCount copied;             // of the .log
    bool is_complete = false;     // a closed segment with its companions, all durable
  };
  io::Path directory;
  std::vector<Part> parts;        // as the segments of the log stand
  std::uint64_t truncations = 0;  // what the log had seen of them when the parts were copied
  bool has_begun = false;
};

// Takes away what makes the copy count as complete. Before anything else of it is removed.
Result<void> mark_unfinished(io::FileSystem& fs, const io::Path& copy);

}  // namespace cordwood::storage
