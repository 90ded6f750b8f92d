// offline/file_copy.h — a file copied as it is, with its checksum on the way.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"

namespace cordwood::offline {

struct CopiedFile {
  ByteCount size;
  std::uint32_t crc = 0;  // CRC-32C
};

// Copies the first `size` bytes, or as many as there are, and answers how many and their checksum. With an empty `to` it only
// reads. Durable when it returns, but for the name. Errors: exists; io, no_space.
Result<CopiedFile> copy_file(io::FileSystem& fs, const io::Path& from, const io::Path& to, ByteCount size);

}  // namespace cordwood::offline
