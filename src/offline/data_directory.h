// offline/data_directory.h — one or more log directories as they lie on the disk, read and never changed: partitions and
// their segments, checkpoints, and what the metadata log says of topics and settings.
//
// What cannot be read is told in `warnings` and left out; the rest is as good as it is. A value: the disk is looked at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "broker/config.h"
#include "broker/metadata/image.h"
#include "io/file_system.h"
#include "storage/directory_files.h"
#include "storage/log_config.h"

namespace cordwood::offline {

struct SegmentOnDisk {
  Offset base_offset;
  ByteCount size;  // of the .log file
};

struct PartitionOnDisk {
  TopicPartition partition;
  io::Path directory;
  std::size_t log_dir = 0;  // its place in DataDirectory::log_dirs
  storage::PartitionDirectoryName::Kind kind = storage::PartitionDirectoryName::Kind::current;
  std::optional<Uuid> topic_id;
  std::vector<SegmentOnDisk> segments;  // ascending
  // Of the checkpoint files; absent when they do not name the partition.
  std::optional<Offset> log_start;
  std::optional<Offset> recovery_point;
  std::optional<Offset> high_watermark;
  std::optional<Offset> cleaned_to;

  io::Path log_file(const SegmentOnDisk& segment) const;
};

struct LogDirOnDisk {
  io::Path path;
  std::optional<storage::MetaProperties> meta;
  bool in_use = false;  // a broker holds its .lock
  bool clean = false;   // .kafka_cleanshutdown is there
  bool is_whole = true;  // all of it was looked at, not one partition of it
};

struct DataDirectory {
  std::vector<LogDirOnDisk> log_dirs;
  std::vector<PartitionOnDisk> partitions;  // by name, then by log directory; -delete, -future and -stray ones too
  std::shared_ptr<const broker::metadata::Image> image;  // never null; empty without a metadata log
  bool has_metadata = false;
  broker::Config config;  // of the file given, else the defaults; with the node id of the directories
  std::vector<std::string> warnings;

  bool in_use() const;
  // The settings of a topic's logs, with their origins.
  storage::LogConfig config_of(const std::string& topic) const;
};

// `dirs` is a path or several with commas between them: log directories, or partition directories ("…/orders-0"). `config_file`
// is a server.properties; only what concerns logs is read of it. Errors: not_found when a path is no directory, or one in
// which nothing of Kafka's lies; invalid for the settings; io.
Result<DataDirectory> open_data_directory(io::FileSystem& fs, std::string_view dirs,
                                          const std::optional<std::string>& config_file = {});

// "orders", "orders:3". A pattern may end in '*'.
struct PartitionChoice {
  std::string topic;
  std::optional<PartitionId> partition;
  bool matches(const TopicPartition& tested) const;
};
// Errors: invalid for a partition that is no number.
Result<PartitionChoice> parse_choice(std::string_view text);

// Each of them, of which one may also be a partition's directory name ("orders-3"). Errors: invalid; not_found for one that fits nothing of
// what is there.
Result<std::vector<PartitionChoice>> parse_choices(const std::vector<std::string>& choices, std::span<const TopicPartition> there);

// The partitions that one of `choices` names, or whose directory is called so ("orders-3"); all but the metadata log when there
// are none. Only current directories. Errors: not_found when a choice names none.
Result<std::vector<const PartitionOnDisk*>> choose(const DataDirectory& data, const std::vector<std::string>& choices);

}  // namespace cordwood::offline
