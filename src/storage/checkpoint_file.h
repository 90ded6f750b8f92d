// storage/checkpoint_file.h — the text files with one number per partition, and leader-epoch-checkpoint.
//
//   0\n<count>\n<topic> <partition> <offset>\n ...      docs/formats/checkpoints.md
//
// Written as .tmp, fsync, rename, fsync of the directory. An empty or absent file has no entries. A new file with no
// entries is "0\n0\n"; a fresh directory starts with empty files.
#pragma once

#include <map>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"

namespace cordwood::storage {

// Names of the files in a log directory.
inline constexpr const char* kRecoveryPointCheckpoint = "recovery-point-offset-checkpoint";
inline constexpr const char* kLogStartCheckpoint = "log-start-offset-checkpoint";
inline constexpr const char* kReplicationCheckpoint = "replication-offset-checkpoint";
inline constexpr const char* kCleanerCheckpoint = "cleaner-offset-checkpoint";
inline constexpr const char* kLeaderEpochCheckpoint = "leader-epoch-checkpoint";

using OffsetsByPartition = std::map<TopicPartition, Offset>;

// Errors: io; corrupt for another version, a wrong count or a malformed line (names file and line).
Result<OffsetsByPartition> read_offset_checkpoint(io::FileSystem& fs, const io::Path& path);
Result<void> write_offset_checkpoint(io::FileSystem& fs, const io::Path& path, const OffsetsByPartition& offsets);

struct EpochEntry {
  LeaderEpoch epoch;
  Offset start_offset;
  bool operator==(const EpochEntry&) const = default;
};

Result<std::vector<EpochEntry>> read_epoch_checkpoint(io::FileSystem& fs, const io::Path& path);
Result<void> write_epoch_checkpoint(io::FileSystem& fs, const io::Path& path, const std::vector<EpochEntry>& entries,
                                    io::Fsync fsync = io::Fsync::yes);

}  // namespace cordwood::storage
