// client/assignors.h — how the leader of a group shares partitions out among its members: the rules of Kafka's own assignors, of
// which groups of mixed clients depend on the same answer.
//
// Pure functions over what the members said. Each gives every partition of a subscribed topic to exactly one member that wants the
// topic; partitions of topics that are not there are left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood::client {

// What a member says when it joins.
struct Subscription {
  std::vector<std::string> topics;
  std::vector<TopicPartition> owned;
  std::int32_t generation = -1;  // in which it came to own them; -1: unknown
  std::optional<std::string> instance_id;
  bool operator==(const Subscription&) const = default;
};

using Subscriptions = std::map<std::string, Subscription>;               // by member id
using PartitionCounts = std::map<std::string, std::int32_t>;             // by topic
using Assignment = std::map<std::string, std::vector<TopicPartition>>;  // by member id; each member has an entry

// Topic by topic, each member a run of neighbours; members by instance id where they have one, else by member id.
Assignment assign_ranges(const PartitionCounts& counts, const Subscriptions& members);
// All partitions in turn, over members that want the topic.
Assignment assign_round_robin(const PartitionCounts& counts, const Subscriptions& members);
// As even as can be, with as few partitions moved as can be.
Assignment assign_sticky(const PartitionCounts& counts, const Subscriptions& members);
// The same; but a partition that changes hands is given to nobody in this round: its owner lets go of it first.
Assignment assign_cooperatively(const PartitionCounts& counts, const Subscriptions& members);

// Where a member tells what it owns, by the assignor that it offers. Kafka's eager sticky one looks for partitions and generation in its
// user data alone, since an eager member owns nothing when it joins; the cooperative one for the generation there, if anywhere.
enum class StickyProtocol { none, eager, cooperative };

// The bytes in which members tell their subscription (version 3, the newest) and learn their share (version 3).
ByteVector encode_subscription(const Subscription& subscription, StickyProtocol protocol = StickyProtocol::none);
// Reads any version, and what is owned from either place. User data that are no sticky assignor's are passed over. Errors: corrupt.
Result<Subscription> decode_subscription(BytesView bytes);
ByteVector encode_assignment(const std::vector<TopicPartition>& partitions);
Result<std::vector<TopicPartition>> decode_assignment(BytesView bytes);

}  // namespace cordwood::client
