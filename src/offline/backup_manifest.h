// offline/backup_manifest.h — what a backup holds: one JSON line for the whole, one for each file with its size and checksum.
//
//   BACKUP/manifest.jsonl           written last: without it there is no backup
//   BACKUP/0/…, BACKUP/1/…          the files of each log directory, under their names
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"

namespace cordwood::offline {

inline constexpr const char* kManifest = "manifest.jsonl";

struct BackupFile {
  std::string name;  // "0/orders-0/00000000000000000000.log"
  ByteCount size;
  std::uint32_t crc = 0;  // CRC-32C
  bool operator==(const BackupFile&) const = default;
};

struct BackupManifest {
  std::string cluster_id;
  TimestampMs created;
  int log_dirs = 1;
  bool clean = false;  // of directories that were stopped cleanly
  std::vector<BackupFile> files;
  bool operator==(const BackupManifest&) const = default;
};

std::string to_text(const BackupManifest& manifest);
// Errors: corrupt with the line; unsupported for a later version; corrupt for names that lead out of the backup.
Result<BackupManifest> parse_manifest(std::string_view text);
Result<BackupManifest> read_manifest(io::FileSystem& fs, const io::Path& backup);

}  // namespace cordwood::offline
