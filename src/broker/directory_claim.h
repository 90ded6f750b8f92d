// broker/directory_claim.h — whether the cluster knows a partition directory that lies on our disk as a replica of ours: what
// it does not know becomes a stray.
#pragma once

#include <optional>

#include "base/types.h"
#include "base/uuid.h"
#include "broker/metadata/image.h"
#include "storage/log_manager.h"

namespace cordwood::broker {

// `topic_id` as the directory has it; absent: it is known by its name.
storage::DirectoryClaim claim_of(const metadata::Image& image, NodeId us, const TopicPartition& partition,
                                 std::optional<Uuid> topic_id);

}  // namespace cordwood::broker
