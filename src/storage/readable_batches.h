// storage/readable_batches.h — which parts of a damaged .log file still hold whole batches with a good checksum.
//
// Unlike every other walk this one goes on behind a bad batch: first where the bad one says that it ends, then at every
// byte. What looks like a batch inside of another one's records (a copy of a log kept as a value) may be taken for one:
// the answer decides what is kept, never what is served.
#pragma once

#include <vector>

#include "base/file_range.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood::storage {

// Neighbouring batches that can be read.
struct ReadableRun {
  FilePosition start;
  FilePosition end;
  Offset first_offset;  // base offset of the first batch
  Offset last_offset;   // of the last one
  std::int64_t batches = 0;
  std::int64_t records = 0;  // as the headers count them
  bool operator==(const ReadableRun&) const = default;
};

enum class Survey { everything, first_batch_only };

// The runs in [from, end), ascending; with first_batch_only at most one run of one batch. Byte by byte only such batches are
// found whose offset lies within 2^31-1 of `segment_base`. Errors: io.
Result<std::vector<ReadableRun>> find_readable(const ByteSource& log, FilePosition from, FilePosition end,
                                               Offset segment_base, Survey survey = Survey::everything);

}  // namespace cordwood::storage
