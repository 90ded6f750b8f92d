// broker/metadata/metadata_retention.h — which snapshots of the metadata go, and with them the log below the next one.
//
// As Apache Kafka 4.4.0: the oldest snapshot goes, while there is a younger one, when log and snapshots together take more
// than metadata.max.retention.bytes; then, again from the oldest one on, when the newest record in it is older than
// metadata.max.retention.ms. The log then starts at the end offset of the snapshot that is the oldest now, and loses the
// segments that lie wholly below. The newest snapshot always stays, and the 0-0 checkpoint counts as one.
//
// A pure rule over facts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "broker/metadata/snapshot.h"
#include "storage/partition_log.h"

namespace cordwood::broker::metadata {

struct MetadataRetention {
  ByteCount max_bytes{100 * MiB};     // metadata.max.retention.bytes; negative: no limit
  DurationMs max_age_ms{604'800'000};  // metadata.max.retention.ms; negative: no limit
};

struct SnapshotFacts {
  SnapshotId id;
  ByteCount size;
  std::optional<TimestampMs> last_contained;  // of the newest record in it; absent when its header cannot be read
  bool operator==(const SnapshotFacts&) const = default;
};

struct SnapshotVerdict {
  enum class Rule { size, age };
  SnapshotId id;
  Rule rule = Rule::size;
  Offset log_start;    // where the log starts without it
  std::string reason;  // the numbers, for the log line
};

// Those that go, ascending. `snapshots` ascending by id; `segments` ascending, the last one active.
std::vector<SnapshotVerdict> snapshots_that_go(std::span<const SnapshotFacts> snapshots,
                                               std::span<const storage::SegmentInfo> segments, Offset log_start,
                                               const MetadataRetention& retention, TimestampMs now);

}  // namespace cordwood::broker::metadata
