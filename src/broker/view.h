// broker/view.h — a running broker to look at: what others than its clients (the inspector, metrics) read of it.
//
// Everything here is a copy, an atomic number or an immutable value. A look takes the locks that a request takes, one at a time
// and no longer than that; nothing of the broker waits for whoever looks. Threads: safe for all; the broker must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/types.h"
#include "broker/configs/config_entry.h"
#include "broker/metadata/image.h"
#include "broker/partition.h"
#include "storage/cleaner/log_cleaner.h"
#include "storage/log_manager.h"

namespace cordwood::broker {

class Broker;
struct Config;

struct MemberView {
  std::string id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;  // "/127.0.0.1"
  ByteVector assignment;    // in the form of its protocol
};

struct OffsetView {
  TopicPartition partition;
  Offset committed;
  std::string metadata;
  TimestampMs committed_at;
};

struct GroupView {
  std::string id;
  std::string state;  // "Stable"
  std::string protocol_type;
  std::optional<std::string> protocol;
  std::int32_t generation = 0;
  std::optional<std::string> leader;
  std::size_t member_count = 0;
  std::vector<MemberView> members;   // left out of a list of all
  std::vector<OffsetView> offsets;   // by topic and partition
};

// Where a group stands in one partition.
struct CommittedView {
  std::string group;
  Offset committed;
  TimestampMs committed_at;
};

class View {
 public:
  explicit View(Broker& broker) : broker_(broker) {}

  const Config& config() const;
  std::shared_ptr<const metadata::Image> image() const;
  const std::string& cluster_id() const;

  // Partitions that are served here, or were until their directory failed.
  std::vector<std::shared_ptr<Partition>> partitions() const;
  std::shared_ptr<Partition> find(const TopicPartition& partition) const;  // null: none
  bool is_loading(const TopicPartition& partition) const;
  // The log of the metadata, which is in none of the above. Its high watermark is what is durable and applied.
  std::shared_ptr<const storage::PartitionLog> metadata_log() const;
  std::vector<storage::LogDirectory> directories() const;
  io::FileSystem& files() const;

  // All groups, or one of them. A shard of the coordinator is held for a few groups at a time.
  std::vector<GroupView> groups() const;
  std::optional<GroupView> group(const std::string& id) const;
  std::vector<CommittedView> committed_in(const TopicPartition& partition) const;
  std::size_t group_count() const;

  // What the cleaner says of a log, and up to where it is clean.
  std::optional<storage::CleanerStatus> cleaner_status(const TopicPartition& partition) const;
  std::optional<Offset> cleaned_to(const TopicPartition& partition) const;

  // Requests since the start, by the name of their API; those that never came are left out.
  std::vector<std::pair<std::string_view, std::uint64_t>> requests() const;

 private:
  Broker& broker_;
};

}  // namespace cordwood::broker
