// storage/leader_epoch_cache.h — which leader epoch wrote from which offset on; kept in leader-epoch-checkpoint.
//
// Rules: docs/formats/checkpoints.md, "leader epochs" (seen on Kafka 4.4.0). Externally locked (by its PartitionLog).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/checkpoint_file.h"

namespace cordwood::storage {

struct EpochEndOffset {
  std::int32_t epoch = -1;  // -1: undefined
  Offset end_offset{-1};    // -1: undefined
  bool operator==(const EpochEndOffset&) const = default;
};

class LeaderEpochCache {
 public:
  // Reads `path`; absent or empty is an empty cache. `fs` must outlive it. Errors: io, corrupt.
  static Result<LeaderEpochCache> open(io::FileSystem& fs, io::Path path);

  // Only the first offset of an epoch counts: no-op when `epoch` is the latest and starts at or below `start_offset`;
  // else entries with an epoch >= or a start >= are removed first. Written to the file at once when something changed.
  // Errors: io; invalid for a negative epoch or offset.
  Result<void> assign(LeaderEpoch epoch, Offset start_offset);
  // The truncations write the file when something changed. A caller that cannot wait for a disk (it holds the append
  // lock) passes Fsync::no and calls flush() later: until then a power cut may leave the file empty.
  // Removes the entries that start at or above `end`.
  Result<void> truncate_from_end(Offset end, io::Fsync fsync = io::Fsync::yes);
  // Of the entries that start at or below `start` keeps only the last, raised to `start`.
  Result<void> truncate_from_start(Offset start, io::Fsync fsync = io::Fsync::yes);
  Result<void> clear();  // and writes "0\n0\n"
  Result<void> flush();  // writes the file whatever happened before

  // From now on changes stay in memory: the owner writes entries() when is_unwritten(), outside of its lock, and says
  // which version() it has written. What a crash loses like this is found again in the batches behind the recovery point,
  // as long as the file is written before that point moves.
  void defer_writes() { deferred_ = true; }
  bool is_unwritten() const { return version_ != written_version_; }
  std::uint64_t version() const { return version_; }
  void mark_written(std::uint64_t version) { written_version_ = version; }

  std::optional<EpochEntry> latest() const;
  std::optional<EpochEntry> earliest() const;
  std::optional<LeaderEpoch> epoch_of(Offset offset) const;
  // OffsetForLeaderEpoch: the end of the largest epoch <= `requested` (-1 is undefined); `log_end` ends the latest. An
  // epoch below all known ones is answered as itself, ending where the first known one starts.
  EpochEndOffset end_offset_for(std::int32_t requested, Offset log_end) const;
  const std::vector<EpochEntry>& entries() const { return entries_; }

 private:
  LeaderEpochCache(io::FileSystem& fs, io::Path path) : fs_(&fs), path_(std::move(path)) {}
  Result<void> changed(io::Fsync fsync);
  io::FileSystem* fs_;
  io::Path path_;
  bool deferred_ = false;
  std::uint64_t version_ = 0;
  std::uint64_t written_version_ = 0;
  std::vector<EpochEntry> entries_;  // ascending by epoch and by start
};

}  // namespace cordwood::storage
