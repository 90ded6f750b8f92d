#include "broker/metadata/metadata_retention.h"

#include <fmt/format.h>

namespace cordwood::broker::metadata {
namespace {

// What is left of the log once it starts at `start`: a segment goes when the next one begins at or below it.
ByteCount log_size_from(std::span<const storage::SegmentInfo> segments, Offset start) {
  ByteCount size;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    bool wholly_below = i + 1 < segments.size() && segments[i + 1].base_offset <= start;
    if (!wholly_below) size += segments[i].size;
  }
  return size;
}

}  // namespace

std::vector<SnapshotVerdict> snapshots_that_go(std::span<const SnapshotFacts> snapshots,
                                               std::span<const storage::SegmentInfo> segments, Offset log_start,
                                               const MetadataRetention& retention, TimestampMs now) {
  std::vector<SnapshotVerdict> gone;
  ByteCount snapshot_bytes;
  for (const SnapshotFacts& snapshot : snapshots) snapshot_bytes += snapshot.size;

  // The oldest one that is left, when it may go at all: there is a younger one, and the log starts below that.
  const auto oldest = [&]() -> const SnapshotFacts* {
    std::size_t at = gone.size();
    if (at + 1 >= snapshots.size() || snapshots[at + 1].id.end_offset <= log_start) return nullptr;
    return &snapshots[at];
  };
  const auto goes = [&](const SnapshotFacts& snapshot, SnapshotVerdict::Rule rule, std::string reason) {
    log_start = snapshots[gone.size() + 1].id.end_offset;
    gone.push_back({snapshot.id, rule, log_start, std::move(reason)});
    snapshot_bytes -= snapshot.size;
  };

  if (retention.max_bytes >= ByteCount{0}) {
    while (const SnapshotFacts* snapshot = oldest()) {
      ByteCount total = log_size_from(segments, log_start) + snapshot_bytes;
      if (total <= retention.max_bytes) break;
      goes(*snapshot, SnapshotVerdict::Rule::size,
           fmt::format("log and snapshots take {} bytes, metadata.max.retention.bytes is {}", total, retention.max_bytes));
    }
  }
  if (retention.max_age_ms >= DurationMs{0}) {
    while (const SnapshotFacts* snapshot = oldest()) {
      if (!snapshot->last_contained) break;
      DurationMs age = now - *snapshot->last_contained;
      if (age <= retention.max_age_ms) break;
      goes(*snapshot, SnapshotVerdict::Rule::age,
           fmt::format("its newest record is {} ms old, metadata.max.retention.ms is {}", age, retention.max_age_ms));
    }
  }
  return gone;
}

}  // namespace cordwood::broker::metadata
