// client/groups.h — what a tool asks the coordinators of consumer groups, with the versions and the retries of Kafka's
// AdminClient (seen on Kafka 4.4.0).
//
// Blocking; one thread. Failures are what the brokers answer for good, or REQUEST_TIMED_OUT when `deadline` is over.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/cluster.h"

namespace cordwood::client {

struct GroupPartition {
  std::string topic;
  std::int32_t partition = 0;
  auto operator<=>(const GroupPartition&) const = default;
  std::string to_string() const;  // "topic-0"
};

struct GroupListing {
  std::string group_id;
  std::string protocol_type;
  std::string state;  // "Stable"
  std::string type;   // "Classic"
};

struct DescribedMember {
  std::string member_id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string host;  // "/127.0.0.1"
  std::vector<GroupPartition> assignment;
  // What members of the newer protocol (KIP-848) have.
  std::optional<std::vector<GroupPartition>> target_assignment;
  std::optional<std::int32_t> epoch;
  std::optional<bool> upgraded;  // false: a member of the classic protocol in a newer group
};

struct GroupDescription {
  std::string group_id;
  std::string state;
  std::string assignor;
  bool classic = true;
  Node coordinator;
  std::optional<std::int32_t> group_epoch;
  std::optional<std::int32_t> target_assignment_epoch;
  std::vector<DescribedMember> members;
};

struct CommittedOffset {
  std::int64_t offset = 0;
  std::optional<std::int32_t> leader_epoch;
};

// What ListOffsets found: nothing where no record has such a time.
using FoundOffset = std::optional<std::int64_t>;
inline constexpr std::int64_t kLatestTimestamp = -1;
inline constexpr std::int64_t kEarliestTimestamp = -2;

class Groups {
 public:
  // Tells what Java's client logs as ERROR: a text and the name of the logger.
  using Log = std::function<void(const std::string& text, std::string_view logger)>;

  Groups(Cluster& cluster, Log log) : cluster_(cluster), log_(std::move(log)) {}

  // Groups of all brokers. Empty filters take all.
  Outcome<std::vector<GroupListing>> list(const std::vector<std::string>& states, const std::vector<std::string>& types,
                                          MonotonicNs deadline);
  // Asked as a group of the newer protocol first, where the broker knows it. Failures: GROUP_ID_NOT_FOUND.
  Outcome<GroupDescription> describe(const std::string& group, MonotonicNs deadline);
  Outcome<Nothing> remove(const std::string& group, MonotonicNs deadline);
  // Partitions without a committed offset are left out.
  Outcome<std::map<GroupPartition, CommittedOffset>> committed(const std::string& group, MonotonicNs deadline);
  // The first failure of a partition is that of all.
  Outcome<Nothing> commit(const std::string& group, const std::map<GroupPartition, std::int64_t>& offsets,
                          MonotonicNs deadline);
  // NONE or what went wrong, by partition.
  Outcome<std::map<GroupPartition, protocol::ErrorCode>> remove_offsets(const std::string& group,
                                                                      const std::set<GroupPartition>& which,
                                                                      MonotonicNs deadline);
  // Partitions of a topic in order. Failures: UNKNOWN_TOPIC_OR_PARTITION.
  Outcome<std::vector<std::int32_t>> partitions_of(const std::string& topic, std::string_view call,
                                                   MonotonicNs deadline);
  // The first offset at or after each time, or a special one. Absent partitions are waited for until the deadline.
  Outcome<std::map<GroupPartition, FoundOffset>> offsets_at(const std::map<GroupPartition, std::int64_t>& timestamps,
                                                          MonotonicNs deadline);

 private:
  // Calls `ask` with the link to the group's coordinator again while the answer says that it has moved or is loading.
  template <class T, class Ask>
  Outcome<T> at_coordinator(const std::string& group, std::string_view call, MonotonicNs deadline, Ask ask);
  void log_unexpected(std::string_view request, const std::string& group, protocol::ErrorCode code,
                      std::string_view logger);

  Cluster& cluster_;
  Log log_;
};

// The partitions of an assignment in the embedded consumer protocol, sorted; empty when it cannot be read.
std::vector<GroupPartition> parse_consumer_assignment(BytesView bytes);

}  // namespace cordwood::client
