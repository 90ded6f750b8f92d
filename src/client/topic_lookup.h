// client/topic_lookup.h — what producers and consumers know of topics: partitions and their leaders, asked for again when they get old.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "client/cluster.h"
#include "client/failure.h"
#include "protocol/error_code.h"

namespace cordwood::client {

struct TopicPartitions {
  struct Partition {
    std::int32_t leader = -1;
    std::int32_t leader_epoch = -1;
  };
  std::vector<Partition> partitions;    // by number
  std::vector<std::int32_t> available;  // those that have a leader
  bool is_internal = false;
};

struct TopicMistake {
  std::string topic;
  protocol::ErrorCode code = protocol::ErrorCode::NONE;
};

// One answer of a broker.
struct Lookup {
  std::map<std::string, TopicPartitions> topics;
  std::map<std::int32_t, Node> nodes;
  std::vector<TopicMistake> mistakes;  // topics that are not there, have no leaders, or may not be seen
  std::int32_t correlation_id = 0;     // of the request, counted from 0 as Java does

  const Node* leader_of(const TopicPartition& partition) const;
};

// Asks once, on any broker that can be reached before `deadline`; nothing for `topics` asks for all. `create`: a broker that creates
// topics on demand may do so. Failures: of the connection, or what the broker says of the whole request.
Outcome<Lookup> look_up(Cluster& cluster, const std::optional<std::vector<std::string>>& topics, bool create,
                        MonotonicNs deadline);

// "{a=UNKNOWN_TOPIC_OR_PARTITION, b=LEADER_NOT_AVAILABLE}"
std::string to_text(const std::vector<TopicMistake>& mistakes);

}  // namespace cordwood::client
