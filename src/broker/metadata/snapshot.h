// broker/metadata/snapshot.h — an Image as a file: OFFSET-EPOCH.checkpoint, and the bootstrap files of the same form.
//
// A plain file of record batches with offsets of its own from 0, partitionLeaderEpoch = the snapshot's epoch:
//   control batch  SNAPSHOT_HEADER, with kraft.version 1 also KRAFT_VERSION and KRAFT_VOTERS
//   data batches   the image as records
//   control batch  SNAPSHOT_FOOTER: without it the file is incomplete
// The name holds the end offset (exclusive, 20 digits) and the epoch of the last record inside (10 digits).
//
//   0-0 checkpoint         the voters of a formatted directory, and in Kafka 4.4's directories the bootstrap records
//   bootstrap.checkpoint   the bootstrap records, in the log directory itself (formatters of Kafka 4.0 to 4.3, and ours)
//
// Written as .part, fsync, rename, fsync of the directory, and never ahead of the log: Kafka drops a log that ends
// before its newest snapshot.   Format: docs/formats/metadata_log.md
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "broker/metadata/control_record.h"
#include "broker/metadata/image.h"
#include "broker/metadata/metadata_record.h"
#include "io/file_system.h"

namespace cordwood::broker::metadata {

inline constexpr const char* kBootstrapCheckpoint = "bootstrap.checkpoint";

struct SnapshotId {
  Offset end_offset{0};  // exclusive
  std::int32_t epoch = 0;
  friend auto operator<=>(const SnapshotId&, const SnapshotId&) = default;
};

std::string snapshot_file_name(SnapshotId id);
// Nothing for any other name, ".part" and ".deleted" files among them.
std::optional<SnapshotId> parse_snapshot_file_name(std::string_view name);
// Ascending; the 0-0 checkpoint is not among them. A missing directory has none.
Result<std::vector<SnapshotId>> list_snapshots(io::FileSystem& fs, const io::Path& directory);

// What such a file holds.
struct SnapshotContent {
  std::optional<std::int16_t> kraft_version;  // absent: no KRAFT_VERSION record
  std::vector<Voter> voters;
  std::vector<MetadataRecord> records;
};

// Errors: io; not_found; corrupt when damaged or without a footer; unsupported for records that we do not know.
Result<SnapshotContent> read_snapshot_file(io::FileSystem& fs, const io::Path& path);
// From its header: the timestamp of the newest record that went in. Nothing when the header cannot be read. Errors: io.
Result<std::optional<TimestampMs>> read_snapshot_timestamp(io::FileSystem& fs, const io::Path& path);
// `last_contained` is the timestamp of the last record that went in. Mode 0400 as Kafka's is not wanted: nobody else
// could read the file after a change of the user.
Result<void> write_snapshot_file(io::FileSystem& fs, const io::Path& path, const SnapshotContent& content, SnapshotId id,
                                 TimestampMs last_contained, TimestampMs now);

// The image as records, in the order of Kafka's snapshots, with the versions of its metadata.version. A replay of them
// gives the same image.
std::vector<MetadataRecord> image_to_records(const Image& image);
Result<Image> image_of(const SnapshotContent& content, SnapshotId id);

// The newest snapshot that is complete; an incomplete one is passed over with a warning. Nothing when there is none.
// Errors: io; unsupported.
struct LoadedSnapshot {
  SnapshotId id;
  Image image;
};
Result<std::optional<LoadedSnapshot>> load_newest_snapshot(io::FileSystem& fs, const io::Path& directory, Logger& logger);

}  // namespace cordwood::broker::metadata
