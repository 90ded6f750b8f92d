// inspector/source.h — where the inspector's data comes from: a broker that runs, or directories that nobody may change.
//
// What is cheap is given for all topics at once; a PartitionAt, for which a log may have to be opened, for one partition. Nothing
// here waits for a broker, and nothing changes one: that is actions.h. Threads: any, several at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "inspector/api.h"
#include "inspector/partition_at.h"
#include "storage/retention.h"

namespace cordwood::inspector {

struct TopicFacts {
  std::string name;
  std::optional<Uuid> topic_id;
  bool internal = false;
  std::int64_t partitions = 0;
  std::int64_t records = 0;  // log end minus log start; of a directory, as far as its checkpoints tell
  std::int64_t size_bytes = 0;
  std::int64_t problems = 0;
  // Of a broker only: what clients have written since it started, and of the last seconds.
  std::uint64_t records_in = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::optional<double> records_per_second;
  std::optional<double> bytes_per_second;
};

// All topics, by name, at one time.
struct TopicTable {
  MonotonicNs taken;
  std::vector<TopicFacts> topics;
  std::int64_t groups = 0;
  const TopicFacts* find(std::string_view name) const;  // null: none
};

struct GroupMember {
  std::string id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string host;
  std::vector<TopicPartition> assignment;  // of the consumer protocol
};

struct GroupCommit {
  TopicPartition partition;
  Offset offset;
  std::string metadata;
  TimestampMs committed_at;
};

struct GroupFacts {
  std::string name;
  std::string state;
  std::string protocol_type;
  std::optional<std::string> assignor;
  std::optional<std::int64_t> generation;
  std::optional<std::string> leader;
  std::int64_t member_count = 0;
  std::vector<GroupMember> members;  // only where one group was asked for
  std::vector<GroupCommit> commits;  // by topic and partition
};

// Offsets of a partition, as far as they are known without opening anything.
struct PartitionBounds {
  std::optional<Offset> log_start;
  std::optional<Offset> log_end;
};

class Source {
 public:
  virtual ~Source() = default;

  virtual api::Mode mode() const = 0;
  // All but version, actions and the time.
  virtual api::About about() = 0;
  // Not older than half a second, or of a directory what is said about its refreshing.
  virtual std::shared_ptr<const TopicTable> topics() = 0;
  virtual std::string cleanup_policy(const std::string& topic) = 0;
  // Errors: not_found.
  virtual Result<api::Topic> topic(const std::string& name) = 0;
  // Errors: not_found.
  virtual Result<PartitionAt> partition(const TopicPartition& partition) = 0;
  // Its log alone. Null: there is none, or it cannot be opened. Of a directory it may have to be opened for that.
  virtual std::shared_ptr<const storage::PartitionLog> log(const TopicPartition& partition) = 0;
  virtual PartitionBounds bounds(const TopicPartition& partition) = 0;
  // What retention makes of its segments, oldest first; nothing where that is not known. No log is opened for it.
  virtual std::vector<storage::RetentionVerdict> retention(const TopicPartition& partition, TimestampMs now) = 0;
  virtual Result<std::vector<GroupFacts>> groups() = 0;
  // Errors: not_found.
  virtual Result<GroupFacts> group(const std::string& name) = 0;
  // What moves in one partition; nothing when there is no such partition, or nothing can move.
  virtual std::optional<api::PartitionTick> partition_tick(const TopicPartition& partition) = 0;
};

}  // namespace cordwood::inspector
