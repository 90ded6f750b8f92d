// broker/metadata/adoption.h — partitions that lie in formatted log directories without any metadata log that names them.
//
// So it is with the data directory of a broker whose controller lived elsewhere, or whose metadata log was lost. Started on
// it, a stand-alone broker takes the partitions over as they are: names and ids from the directories and their
// partition.metadata, leader epochs from leader-epoch-checkpoint. Settings of the topics are not part of these files: they
// are the broker's defaults until somebody sets them, but for retention.ms, which is -1 so that nothing is removed unasked.
// (Kafka would hide such partitions as strays.)
#pragma once

#include <vector>

#include "base/result.h"
#include "broker/metadata/metadata_record.h"
#include "storage/log_manager.h"

namespace cordwood::broker::metadata {

// Topic and Partition records for what the online directories hold; nothing is written. A topic's partition count is its
// highest index + 1: those between that are not here will be made, empty.
// Errors: invalid when a partition has no partition.metadata, when two directories of a topic name different ids, or when a
// partition lies in two log directories; corrupt, io.
Result<std::vector<MetadataRecord>> adopted_records(io::FileSystem& fs, const storage::LogManager& logs, NodeId node_id);

}  // namespace cordwood::broker::metadata
