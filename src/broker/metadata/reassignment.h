// broker/metadata/reassignment.h — what a change of a partition's replicas comes to: a record, and an answer.
//
// Nobody but us is alive, so a replica that another broker is to get never comes to be: such a reassignment begins, as Kafka's does
// while that broker is away, and goes on until it is cancelled. One that only takes replicas away, or orders them anew, is done at
// once. A partition never loses its last replica in sync by it.
#pragma once

#include <string>
#include <vector>

#include "broker/metadata/image.h"
#include "broker/metadata/metadata_record.h"
#include "broker/metadata/placement.h"
#include "protocol/messages/alter_partition_reassignments.h"

namespace cordwood::broker::metadata {

struct ReassignedTopic {
  struct Partition {
    std::int32_t index = 0;
    Refusal refusal;
  };
  std::string name;
  std::vector<Partition> partitions;
};

struct ReassignmentDecision {
  std::vector<MetadataRecord> records;
  std::vector<ReassignedTopic> topics;  // as in the request
};

// Checks, codes and texts are Apache Kafka 4.4.0's (seen).
ReassignmentDecision decide_reassignment(const Image& image, const protocol::AlterPartitionReassignmentsRequest& request, NodeId us);

inline bool is_reassigned(const PartitionState& partition) {
  return !partition.adding_replicas.empty() || !partition.removing_replicas.empty();
}

}  // namespace cordwood::broker::metadata
