// inspector/views/views.h — the views of one partition: what is on the disk and what the engine makes of it, as values of api.h.
//
// Functions of a PartitionAt: they read, keep nothing but what `SegmentMaps` and `PartitionChecks` keep, and change nothing. Each is bounded in what it
// reads and answers, whatever the files hold; what is damaged is told and the rest is shown. Errors: not_found for a segment, a
// batch or a record that is not there; invalid for a parameter; out_of_range for an offset outside of the log; io.
// Threads: any, several at once.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "inspector/api.h"
#include "inspector/partition_at.h"

namespace cordwood::inspector {

class PartitionChecks;
class SegmentMaps;

// What looks at partitions leave behind for the next one.
struct PartitionLook {
  SegmentMaps& maps;
  PartitionChecks& checks;
};

Result<api::Partition> view_partition(const PartitionAt& at, const api::PartitionQuery& query, const PartitionLook& look, TimestampMs now);
Result<api::SegmentMap> view_segment_map(const PartitionAt& at, const api::SegmentMapQuery& query, SegmentMaps& maps);
Result<api::Batch> view_batch(const PartitionAt& at, const api::BatchQuery& query);
Result<api::IndexPage> view_index(const PartitionAt& at, const api::IndexQuery& query);
Result<api::RecordPage> view_records(const PartitionAt& at, const api::RecordsQuery& query);
Result<api::Lookup> view_lookup(const PartitionAt& at, const api::LookupQuery& query, const Clock& clock);
Result<api::Retention> view_retention(const PartitionAt& at, const api::RetentionQuery& query, TimestampMs now);
Result<api::Compaction> view_compaction(const PartitionAt& at, const api::CompactionQuery& query, TimestampMs now);
Result<api::CompactionPreview> view_compaction_keys(const PartitionAt& at, const api::CompactionKeysQuery& query, TimestampMs now);
Result<api::Life> view_life(const PartitionAt& at, const api::LifeQuery& query, TimestampMs now);

}  // namespace cordwood::inspector
