// io/stream_file.h — what a pipe or a device gives, taken whole, as a file to read: `<(…)` of a shell, /dev/stdin.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/types.h"
#include "io/posix_file.h"

namespace cordwood::io {

// More than this of a stream is refused: it must fit into memory.
inline constexpr ByteCount kLargestStream{256 * MiB};

// Reads `fd`, opened with O_NONBLOCK, to its end; waits where there is nothing yet. Errors: io, also for a signal that came
// while it waited; limit.
Result<std::shared_ptr<File>> read_stream(UniqueFd fd, const Path& path, ByteCount at_most = kLargestStream);

}  // namespace cordwood::io
