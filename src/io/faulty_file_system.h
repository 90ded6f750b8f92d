// io/faulty_file_system.h — another file system whose Nth call goes wrong; for tests that fail call 1, 2, 3 ... until a
// run passes untouched.
//
//   for (std::int64_t n = 1;; ++n) {
//     MemFileSystem disk;
//     FaultyFileSystem fs(disk);
//     fs.arm({.fail_at = n});
//     ... work, and look at what the errors did ...
//     if (!fs.has_failed()) break;
//   }
//
// Safe for all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/file_system.h"

namespace cordwood::io {

// Kinds of calls, to be combined with |.
enum class FileCall : std::uint32_t {
  open = 1 << 0,         // lock() as well
  read = 1 << 1,         // read_at
  look = 1 << 2,         // size, status, exists, list, canonical, space
  write = 1 << 3,        // write_at, each piece list one call
  truncate = 1 << 4,     // truncate
  reserve = 1 << 5,
  sync = 1 << 6,         // sync and sync_data of a file, sync of a mapping
  map = 1 << 7,
  close = 1 << 8,
  create = 1 << 9,       // create_directories
  rename = 1 << 10,
  remove = 1 << 11,      // remove_file, remove_directory_tree
  sync_directory = 1 << 12,
  set_modified = 1 << 13,
  changing = open | write | truncate | reserve | sync | map | close | create | rename | remove | sync_directory |
             set_modified,
  all = changing | read | look,
};
constexpr FileCall operator|(FileCall a, FileCall b) {
  return static_cast<FileCall>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool contains(FileCall set, FileCall call) {
  return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(call)) != 0;
}
const char* to_string(FileCall call);  // of one kind

struct Fault {
  enum class Shape {
    refuse,   // nothing happens, an error is answered
    shorten,  // the first half of a write or read happens, then the error; other calls are refused
    tear,     // the second half of a write happens (the disk wrote out of order), then the error; other calls do all
              // their work and answer the error nevertheless, as an fsync or rename may
  };
  enum class Repeat { once, from_then_on };
  FileCall counted = FileCall::changing;
  std::int64_t fail_at = 0;  // the first counted call is 1; 0 is never
  Shape shape = Shape::refuse;
  Repeat repeat = Repeat::once;  // the calls after the first failed one are refused, whatever the shape
  int sys_errno = 5;             // EIO; 28 is ENOSPC
};

class FaultyFileSystem final : public FileSystem {
 public:
  // `inner` must outlive this and the files that it opened.
  explicit FaultyFileSystem(FileSystem& inner);
  ~FaultyFileSystem() override;

  // Counts from zero again and lets the fault happen. Also reaches files that are open already.
  void arm(Fault fault);
  void disarm() { arm({}); }
  std::int64_t calls() const;  // counted ones since arm()
  bool has_failed() const;     // since arm()

  // Runs before each call of any kind, on the thread that makes it, with no lock of ours held: a test may let a call wait for
  // something else to happen. Empty for nothing.
  void before_each_call(std::function<void(FileCall call, const std::string& subject)> hook);

  // Every call of a kind that changes something, since the start or clear_trace(): "write /d/a.log 0+61", "sync
  // /d/a.log". For tests of the order of calls.
  std::vector<std::string> trace() const;
  void clear_trace();

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

  class Plan;  // what is counted and when it fails; shared with the open files

 private:
  FileSystem& inner_;
  std::shared_ptr<Plan> plan_;
};

}  // namespace cordwood::io
