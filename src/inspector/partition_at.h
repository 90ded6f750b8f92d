// inspector/partition_at.h — what the views of one partition work on, whoever has it: a broker that runs, or a data directory that
// is only read.
//
// A snapshot of names and settings. The offsets are asked of the log when a view is made; the files are read where they lie, at
// most up to what the log says is written, by threads of the inspector: no broker ever waits for that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "base/uuid.h"
#include "inspector/api.h"
#include "io/file_system.h"
#include "storage/check/partition_check.h"
#include "storage/cleaner/log_cleaner.h"
#include "storage/log_config.h"
#include "storage/partition_log.h"

namespace cordwood::inspector {

// Where a group stands in the partition.
struct CommittedAt {
  std::string group;
  Offset offset;
  TimestampMs committed;
};

struct PartitionAt {
  TopicPartition partition;
  std::optional<Uuid> topic_id;
  api::PartitionState state = api::PartitionState::online;
  io::FileSystem* fs = nullptr;
  io::Path directory;      // of the partition
  io::Path log_directory;  // its parent, with the checkpoint files
  storage::LogConfig config;
  std::vector<api::Setting> settings;  // the same for people, with their origins
  // The broker's own, to be read only; or, of a directory, one that was opened by the broker's code on a file system whose changes
  // stay in memory. Null where it could not be opened: then the files are shown as they are.
  std::shared_ptr<const storage::PartitionLog> log;
  std::string why_no_log;
  storage::CheckContext next_start;  // what the next start of a broker will know of the directory; of one that runs, never read
  std::optional<Offset> cleaned_to;  // of cleaner-offset-checkpoint
  std::optional<storage::CleanerStatus> cleaner;  // of a broker that runs: LogCleaner::status()
  std::optional<std::int32_t> leader;
  std::optional<std::int32_t> leader_epoch;
  std::vector<std::int32_t> replicas;
  std::vector<std::int32_t> isr;
  std::int32_t topic_partitions = 1;  // the topic has
  std::vector<CommittedAt> groups;
  DurationMs retention_check_interval{300'000};
  bool is_live = false;  // a broker runs on it
};

}  // namespace cordwood::inspector
