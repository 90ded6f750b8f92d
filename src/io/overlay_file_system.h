// io/overlay_file_system.h — another file system as it lies, with whatever is changed kept in memory: what would happen can be
// tried out without anything happening.
//
// Reads go through until a file is changed; then its changed pages of 4 KiB are here. Nothing below is ever opened for
// writing. Locks are granted, whoever holds them below. Safe for all threads, like the one below, which must outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "io/file_system.h"

namespace cordwood::io {

namespace overlay {
class Content;
}

// Files and mappings must not outlive it.

class OverlayFileSystem final : public FileSystem {
 public:
  // The clock gives the times of changed files.
  OverlayFileSystem(FileSystem& below, const Clock& clock) : below_(below), clock_(clock) {}

  Result<std::shared_ptr<File>> open(const Path& path, OpenMode mode) override;
  Result<FileStatus> status(const Path& path) override;
  Result<bool> exists(const Path& path) override;
  Result<std::vector<DirectoryEntry>> list(const Path& directory) override;
  Result<void> create_directories(const Path& directory) override;
  Result<void> rename(const Path& from, const Path& to) override;
  Result<void> remove_file(const Path& path) override;
  Result<void> remove_directory_tree(const Path& directory) override;
  Result<void> sync_directory(const Path&) override { return {}; }
  Result<void> set_modified(const Path& file, TimestampMs modified) override;
  Result<Path> canonical(const Path& path) override;
  Result<DiskSpace> space(const Path& directory) override;
  Result<std::unique_ptr<FileLock>> lock(const Path& path) override;
  Result<bool> is_locked(const Path& path) override;

  // A handle of this file goes: what was changed is kept.
  void release(const Path& path, const std::shared_ptr<overlay::Content>& content);

 private:
  // What stands at a path here, instead of what is below.
  struct Node {
    enum class Kind { file, directory, gone };
    Kind kind = Kind::gone;
    std::shared_ptr<overlay::Content> content;  // of a file
  };
  const Node* find(const Path& path) const REQUIRES(mu_);
  bool is_hidden(const Path& path) const REQUIRES(mu_);
  Result<std::optional<FileStatus>> look(const Path& path) REQUIRES(mu_);
  Result<std::vector<DirectoryEntry>> list_locked(const Path& directory) REQUIRES(mu_);
  Result<std::shared_ptr<overlay::Content>> content_of(const Path& path) REQUIRES(mu_);
  Result<void> move(const Path& from, const Path& to) REQUIRES(mu_);

  FileSystem& below_;
  const Clock& clock_;
  Mutex mu_;
  std::map<Path, Node> nodes_ GUARDED_BY(mu_);
  // Files that are open, changed or not: one content each.
  std::map<Path, std::weak_ptr<overlay::Content>> open_ GUARDED_BY(mu_);
};

}  // namespace cordwood::io
