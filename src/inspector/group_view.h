// inspector/group_view.h — what a group's positions mean against the logs: lag, standing, when retention overtakes it, what
// auto.offset.reset would do. Pure but for the retention verdicts, which the log gives.
#pragma once

#include <optional>
#include <vector>

#include "base/types.h"
#include "inspector/api.h"
#include "inspector/source.h"
#include "storage/retention.h"

namespace cordwood::inspector {

// One position. `verdicts`: of the partition's segments, oldest first; empty where they are not known. It is warned of when what it
// wants next is gone, or goes within a tenth of retention.ms.
api::GroupOffset view_offset(const GroupCommit& commit, const PartitionBounds& bounds,
                             const std::vector<storage::RetentionVerdict>& verdicts, TimestampMs now);

}  // namespace cordwood::inspector
