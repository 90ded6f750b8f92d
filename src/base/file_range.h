// base/file_range.h — bytes that stay in their file until they are sent.
//
// What PartitionLog::read hands out and net sends: by sendfile where the source has a descriptor, else by read_at. The
// shared pointer keeps the file readable when its segment is deleted meanwhile.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // A descriptor for sendfile(2), or -1. Owned by the source.
  virtual int native_fd() const = 0;
  // Fills `into` from `position` on and returns how many bytes there were: fewer than asked only at the end of the file.
  virtual Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const = 0;
};

struct FileRange {
  std::shared_ptr<const ByteSource> source;
  FilePosition position;
  ByteCount size;  // 0 for "no bytes"; the source may then be null
};

}  // namespace cordwood
