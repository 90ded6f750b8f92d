// offline/opened_logs.h — the logs of data directories, opened by the broker's own code and without a broker: to change them as
// it would, or, on an OverlayFileSystem, to see what it would do.
//
// Opening is what a start does: the .lock is taken, an unclean stop is recovered from, checkpoints are written when it is closed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/session.h"
#include "io/file_system.h"
#include "offline/data_directory.h"
#include "offline/session_clock.h"
#include "storage/log_manager.h"

namespace cordwood::offline {

class OpenedLogs {
 public:
  struct Wish {
    // Between the taking of the locks and the opening of the first log. May be empty.
    std::function<Result<void>(storage::LogManager&, const storage::LogEnvironment&)> before_load;
    // Directories of partitions that the metadata does not know become strays, as at a start; else they are opened like the others.
    bool judge_strays = false;
  };
  // `data` says what lies there and how it is configured. Both must outlive the logs, like the file system. Errors: locked when a
  // broker runs; invalid for a partition directory in place of a log directory; those of LogManager.
  static Result<std::unique_ptr<OpenedLogs>> open(io::FileSystem& fs, cli::Session& session, const DataDirectory& data, Wish wish);
  ~OpenedLogs();

  storage::LogManager& manager() { return *manager_; }
  const storage::LogEnvironment& environment() const { return environment_; }
  // The high watermark is where a start would put it: at the log end where this node is the only replica.
  Result<std::shared_ptr<storage::PartitionLog>> find(const TopicPartition& partition);
  // What was logged at WARN and ERROR, once each.
  std::vector<std::string> complaints() const;
  // A clean stop. Errors: io.
  Result<void> close();

 private:
  OpenedLogs(cli::Session& session, const DataDirectory& data) : clock_(session.clock), data_(data) {}

  SessionClock clock_;
  const DataDirectory& data_;
  MemoryLogger logger_;
  storage::LogEnvironment environment_;
  std::unique_ptr<storage::LogManager> manager_;
};

}  // namespace cordwood::offline
