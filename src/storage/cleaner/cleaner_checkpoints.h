// storage/cleaner/cleaner_checkpoints.h — the cleaner-offset-checkpoint of each log directory: up to where each log is clean.
//
// Text as in storage/checkpoint_file.h. Written after each pass, with the lines of logs that are there. A lost or damaged
// file costs one pass over the whole log. Safe for all threads.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/checkpoint_file.h"

namespace cordwood::storage {

class CleanerCheckpoints {
 public:
  // Directories are named by their place. `fs` and `logger` must outlive this.
  CleanerCheckpoints(io::FileSystem& fs, Logger& logger, std::vector<io::Path> directories);

  std::optional<Offset> find(std::size_t directory, const TopicPartition& partition);
  // Sets a line and drops those of which `is_live` says no. Errors: io.
  using IsLive = std::function<bool(const TopicPartition&)>;
  Result<void> set(std::size_t directory, const TopicPartition& partition, Offset offset, const IsLive& is_live);
  // The same without a new line, and without that of `partition`.
  Result<void> remove(std::size_t directory, const TopicPartition& partition, const IsLive& is_live);
  // The log was truncated to `offset`: a line above it is lowered.
  Result<void> lower(std::size_t directory, const TopicPartition& partition, Offset offset);
  // The log lies in another directory now.
  Result<void> move(const TopicPartition& partition, std::size_t from, std::size_t to);
  // The directory went offline: never read or written again.
  void forget_directory(std::size_t directory);

 private:
  struct File {
    io::Path path;
    bool is_read = false;
    bool is_gone = false;
    OffsetsByPartition offsets;
  };
  OffsetsByPartition& offsets_of(std::size_t directory) REQUIRES(mu_);
  Result<void> write(std::size_t directory) REQUIRES(mu_);

  io::FileSystem& fs_;
  Logger& logger_;
  Mutex mu_;  // held while a file is written: the cleaner's threads alone wait for that
  std::vector<File> files_ GUARDED_BY(mu_);
};

}  // namespace cordwood::storage
