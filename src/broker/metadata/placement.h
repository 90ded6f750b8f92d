// broker/metadata/placement.h — which brokers and directories a new partition gets.
//
// One broker places: its own replica comes first, further ones go to the other registered brokers, which are fenced here
// and so not in sync. Our replica goes into the online directory that has the fewest partitions. Decisions only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "broker/metadata/image.h"
#include "broker/metadata/metadata_record.h"
#include "protocol/error_code.h"

namespace cordwood::broker::metadata {

// What a request is refused for: the code and the text that tools print. A null text lets them print their own.
struct Refusal {
  protocol::ErrorCode code = protocol::ErrorCode::NONE;
  std::optional<std::string> message;
  bool operator==(const Refusal&) const = default;
};
inline Refusal invalid_request(std::string message) {
  return {protocol::ErrorCode::INVALID_REQUEST, std::move(message)};
}
inline Refusal invalid_config(std::string message) { return {protocol::ErrorCode::INVALID_CONFIG, std::move(message)}; }

class Placement {
 public:
  // `directories`: the online ones. `image` must outlive the object.
  Placement(const Image& image, NodeId us, const std::vector<Uuid>& directories);

  // A replica list of `replication_factor` brokers.
  std::optional<Refusal> choose(std::int32_t replication_factor, std::vector<NodeId>& replicas) const;
  // What is wrong with a list of replicas that the client named; `replication_factor` is that of the partitions before.
  std::optional<Refusal> check_manual(const std::vector<std::int32_t>& brokers,
                                      std::optional<std::size_t> replication_factor) const;
  // The record of a new partition with these replicas. Refused when none of them is alive, or no directory is online.
  std::optional<Refusal> place(Uuid topic_id, PartitionId partition, const std::vector<NodeId>& replicas,
                               std::vector<MetadataRecord>& records);

 private:
  Uuid next_directory();

  const Image& image_;
  NodeId us_;
  std::map<Uuid, std::size_t> partitions_in_;  // online directory -> partitions of ours in it
};

}  // namespace cordwood::broker::metadata
