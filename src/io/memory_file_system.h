// io/memory_file_system.h — a whole file system in memory that knows what was synced; for crash and property tests.
//
// What it promises is what POSIX promises and no more: the bytes and the length of a file are durable after sync() or
// sync_data() of it, a name in a directory after sync_directory() of that directory. Syncing a file does not make its
// name durable, and a directory's own name is in its parent.
//
// Paths are absolute whether they start with '/' or not; there are no links. Safe for all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "io/file_system.h"

namespace cordwood::io {

namespace memory {
struct Node;
struct Change;
}  // namespace memory

class MemFileSystem final : public FileSystem {
 public:
  // Modification times come from `clock`, which must outlive the file system and its files; without one they are 0.
  explicit MemFileSystem(const Clock* clock = nullptr);
  ~MemFileSystem() override;

  // A power cut: what was synced, plus a random part of the rest down to single 512-byte sectors. Creations, removals
  // and renames that no sync_directory() covered have happened or not, each as a whole. In the clone all is durable and
  // nothing is locked. The same seed on the same history gives the same clone. This file system goes on unharmed.
  std::unique_ptr<MemFileSystem> crash_clone(std::uint64_t seed) const;

  // A kill -9: everything that was written is there, nothing is locked; what is durable and what is not stays so, for
  // a power cut soon after.
  std::unique_ptr<MemFileSystem> process_crash_clone() const;

  // Makes all that is there durable, names included: the state in which a test starts.
  void sync_everything();

  void set_space(DiskSpace space);  // what space() answers from now on

  Result<std::shared_ptr<File>> open(const Path& path, OpenMode mode) override;
  Result<FileStatus> status(const Path& path) override;
  Result<bool> exists(const Path& path) override;
  Result<std::vector<DirectoryEntry>> list(const Path& directory) override;
  Result<void> create_directories(const Path& directory) override;
  Result<void> rename(const Path& from, const Path& to) override;
  Result<void> remove_file(const Path& path) override;
  Result<void> remove_directory_tree(const Path& directory) override;
  Result<void> sync_directory(const Path& directory) override;
  Result<void> set_modified(const Path& file, TimestampMs modified) override;
  Result<Path> canonical(const Path& path) override;
  Result<DiskSpace> space(const Path& directory) override;
  Result<std::unique_ptr<FileLock>> lock(const Path& path) override;
  Result<bool> is_locked(const Path& path) override;

 private:
  using NodePointer = std::shared_ptr<memory::Node>;
  struct Place {
    NodePointer directory;
    std::string name;
    NodePointer node;  // null when nothing has the name
  };
  Result<NodePointer> find(std::string_view call, const Path& path) const REQUIRES(mu_);
  Result<NodePointer> find_directory(std::string_view call, const Path& path) const REQUIRES(mu_);
  // The directory that holds, or would hold, the last part of `path`.
  Result<Place> place_of(std::string_view call, const Path& path) const REQUIRES(mu_);
  void assign(std::vector<std::pair<NodePointer, std::string>> names, std::vector<NodePointer> nodes) REQUIRES(mu_);
  void remove_tree(const NodePointer& directory) REQUIRES(mu_);
  TimestampMs now() const { return clock_ == nullptr ? TimestampMs{0} : clock_->now(); }

  const Clock* clock_;
  mutable Mutex mu_;
  NodePointer root_ GUARDED_BY(mu_);
  std::vector<memory::Change> pending_ GUARDED_BY(mu_);  // changes of names that are not durable, oldest first
  DiskSpace space_ GUARDED_BY(mu_){.total = {1024 * GiB}, .available = {512 * GiB}};
};

}  // namespace cordwood::io
