// broker/metadata/start_reserve.h — room that a start and a clean stop have on a disk that is full to the last byte.
//
// While the broker runs, blocks are allocated behind the end of the newest segment of __cluster_metadata-0, without making
// the file longer: what the log appends goes into them, full disk or not. A start or a stop that finds no room gives the
// rest of them back first, which pays for the small files that are written anew. Kafka does not see any of this.
//
// Threads: none may append to the metadata log during release(), which cuts behind the present end. keep() may run beside.
#pragma once

#include "base/result.h"
#include "io/file_system.h"

namespace cordwood::broker::metadata {

inline constexpr ByteCount kStartReserve{1 * MiB};

// Allocates the reserve again, or as much of it as there is room for. What fails costs the next start its room and nothing
// else, so nothing is answered.
void keep_start_reserve(io::FileSystem& fs, const io::Path& metadata_dir);

// Gives it back when less than that is free. Absent directories are fine. Errors: io.
Result<void> release_start_reserve(io::FileSystem& fs, const io::Path& metadata_dir);

}  // namespace cordwood::broker::metadata
