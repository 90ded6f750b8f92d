// io/gated_file_system_testing.h — another file system that can be made to wait: whoever opens a file below a closed gate
// goes on once it is opened. For tests of what happens while a thread is held up by its disk.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "io/file_system.h"

namespace cordwood::io {

class GatedFileSystem final : public FileSystem {
 public:
  explicit GatedFileSystem(FileSystem& inner) : inner_(&inner) {}
  ~GatedFileSystem() override { open_gate(); }

  // Opening a file whose path holds `part` waits from now on.
  void close_gate(std::string part) {
    MutexLock lock(mu_);
    closed_for_ = std::move(part);
  }
  void open_gate() {
    MutexLock lock(mu_);
    closed_for_.clear();
    changed_.notify_all();
  }
  void wait_for_visitor() {
    MutexLock lock(mu_);
    changed_.wait(mu_, [&] { return waiting_ > 0; });
  }

  Result<std::shared_ptr<File>> open(const Path& path, OpenMode mode) override {
    pass(path);
    return inner_->open(path, mode);
  }
  Result<FileStatus> status(const Path& path) override { return inner_->status(path); }
  Result<bool> exists(const Path& path) override { return inner_->exists(path); }
  Result<std::vector<DirectoryEntry>> list(const Path& directory) override { return inner_->list(directory); }
  Result<void> create_directories(const Path& directory) override { return inner_->create_directories(directory); }
  Result<void> rename(const Path& from, const Path& to) override { return inner_->rename(from, to); }
  Result<void> remove_file(const Path& path) override { return inner_->remove_file(path); }
  Result<void> remove_directory_tree(const Path& directory) override { return inner_->remove_directory_tree(directory); }
  Result<void> sync_directory(const Path& directory) override { return inner_->sync_directory(directory); }
  Result<void> set_modified(const Path& file, TimestampMs modified) override {
    return inner_->set_modified(file, modified);
  }
  Result<Path> canonical(const Path& path) override { return inner_->canonical(path); }
  Result<DiskSpace> space(const Path& directory) override { return inner_->space(directory); }
  Result<std::unique_ptr<FileLock>> lock(const Path& path) override { return inner_->lock(path); }
  Result<bool> is_locked(const Path& path) override { return inner_->is_locked(path); }

 private:
  void pass(const Path& path) {
    MutexLock lock(mu_);
    const auto is_closed = [&] { return !closed_for_.empty() && path.find(closed_for_) != Path::npos; };
    if (!is_closed()) return;
    ++waiting_;
    changed_.notify_all();
    changed_.wait(mu_, [&] { return !is_closed(); });
    --waiting_;
  }

  FileSystem* inner_;
  Mutex mu_;
  ConditionVariable changed_;
  std::string closed_for_;
  int waiting_ = 0;
};

}  // namespace cordwood::io
