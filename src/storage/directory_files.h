// storage/directory_files.h — the small files that give a log directory and a partition directory their identity:
// meta.properties, .kafka_cleanshutdown, partition.metadata. Formats: docs/formats/directory_files.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "io/file_system.h"

namespace cordwood::storage {

inline constexpr const char* kMetaProperties = "meta.properties";
inline constexpr const char* kCleanShutdown = ".kafka_cleanshutdown";
inline constexpr const char* kLockFile = ".lock";
inline constexpr const char* kPartitionMetadata = "partition.metadata";

struct MetaProperties {
  std::string cluster_id;             // any non-empty text
  NodeId node_id;
  std::optional<Uuid> directory_id;   // absent in directories of Kafka before 3.7
  bool operator==(const MetaProperties&) const = default;
};

// Absent: nullopt. Errors: corrupt (names the key), unsupported for version 0 (ZooKeeper era).
Result<std::optional<MetaProperties>> read_meta_properties(io::FileSystem& fs, const io::Path& directory);
// The text of the file, decoded; `path` is for messages.
Result<MetaProperties> parse_meta_properties(std::string_view text, std::string_view path);
// `now` goes into the date comment that Java writes.
Result<void> write_meta_properties(io::FileSystem& fs, const io::Path& directory, const MetaProperties& properties,
                                   TimestampMs now);

struct CleanShutdown {
  std::int64_t broker_epoch = -1;  // -1 for an empty or old file, which still means clean
};
CleanShutdown parse_clean_shutdown(std::string_view text);
// Absent: nullopt.
Result<std::optional<CleanShutdown>> read_clean_shutdown(io::FileSystem& fs, const io::Path& directory);
Result<void> write_clean_shutdown(io::FileSystem& fs, const io::Path& directory, CleanShutdown mark);
// Durable when it returns; absent is fine.
Result<void> remove_clean_shutdown(io::FileSystem& fs, const io::Path& directory);

// The topic id in partition.metadata. Absent: nullopt. Errors: corrupt.
Result<std::optional<Uuid>> read_partition_metadata(io::FileSystem& fs, const io::Path& partition_directory);
Result<Uuid> parse_partition_metadata(std::string_view text, std::string_view path);
Result<void> write_partition_metadata(io::FileSystem& fs, const io::Path& partition_directory, Uuid topic_id,
                                      io::Fsync fsync = io::Fsync::yes);

// What the name of a sub-directory of a log directory says.
struct PartitionDirectoryName {
  enum class Kind { current, deleted, future, stray };
  TopicPartition partition;
  Kind kind = Kind::current;
};
// "topic-3", "topic-3.<hex>-delete", "-future", "-stray". Nothing when the name is none of them.
std::optional<PartitionDirectoryName> parse_partition_directory(std::string_view name);
// "topic-3.<32 hex>-delete"; the topic part is cut so that the whole is at most 255 bytes.
std::string deleted_directory_name(const TopicPartition& partition, Uuid unique);
std::string stray_directory_name(const TopicPartition& partition, Uuid unique);

// "00000000000000000042" + suffix, for example ".log".
std::string segment_file_name(Offset base_offset, std::string_view suffix);

}  // namespace cordwood::storage
