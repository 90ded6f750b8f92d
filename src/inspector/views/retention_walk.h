// inspector/views/retention_walk.h — the engine's rule of retention over the segments of a view, bounded in what it reads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/types.h"
#include "inspector/partition_at.h"
#include "inspector/views/partition_files.h"
#include "storage/retention.h"

namespace cordwood::inspector {

struct JudgedSegments {
  std::vector<storage::RetentionVerdict> verdicts;  // of the segments in [from, end) of the extent
  std::int64_t goes_segments = 0;                   // of all
  ByteCount goes_bytes;
  std::int64_t goes_records = 0;
  bool complete = true;  // false: of some segments nobody knows the largest timestamp yet; the next look knows more
};

// Segments whose largest timestamp is not known are looked at in their files, at most so many a call. `sizes` go with the
// extent's segments.
inline constexpr int kMostTimestampsRead = 4000;
JudgedSegments judge_segments(const PartitionAt& at, const ExtentAt& extent, const std::vector<ByteCount>& sizes,
                              const storage::RetentionLimits& limits, TimestampMs now, std::size_t from, std::size_t end);

// Which settings are not those of the topic, but a question's.
struct WhatIf {
  bool retention_ms = false;
  bool retention_bytes = false;
  bool cleanup_policy = false;
};

// In plain words: "This segment stays: its newest record is 3 h old, retention.ms is 7 days, from the broker default."
std::string plain_words(const storage::RetentionVerdict& verdict, TimestampMs now, const WhatIf& what_if = {});

// Of every segment of the extent, by the log or by a look at the file.
std::vector<ByteCount> sizes_of(const PartitionAt& at, const ExtentAt& extent);
// The largest timestamp by the last entry of the time index, where no log knows it; else the file's time.
void fill_timestamp(const PartitionAt& at, const SegmentAt& segment, storage::RetentionSegment& facts);

}  // namespace cordwood::inspector
