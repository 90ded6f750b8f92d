// inspector/views/partition_checks.h — what storage/check finds in a small partition directory, kept until its files change.
//
// Threads: any; two that ask at once wait for each other.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "storage/check/partition_check.h"

namespace cordwood::inspector {

class PartitionChecks {
 public:
  // A directory is checked when its .log files are no more and no larger.
  static constexpr ByteCount kLargest{16 * MiB};
  static constexpr std::size_t kMostSegments = 200;
  static constexpr std::size_t kKept = 32;

  // `names`: the entries of the directory; `next_start`: what the next start knows of it, on which what it will do depends.
  // Errors: io, not_found; limit when it is too large.
  Result<std::shared_ptr<const storage::PartitionCheck>> check(io::FileSystem& fs, const io::Path& directory,
                                                               const std::vector<io::DirectoryEntry>& names,
                                                               const storage::CheckContext& next_start);

 private:
  struct Kept {
    io::Path directory;
    std::string files;  // names, sizes and times, and what the next start knows
    std::shared_ptr<const storage::PartitionCheck> check;
  };

  Mutex mu_;
  std::list<Kept> kept_ GUARDED_BY(mu_);  // the last one that was asked for first
};

}  // namespace cordwood::inspector
