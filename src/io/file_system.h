// io/file_system.h — the one door to disks. Three implementations: posix, in memory, faulty.
//
// Loops over EINTR and short counts live behind this interface and nowhere else. Paths are plain strings with '/'
// between the parts. Errors are Errc::io, no_space, not_found, exists, locked; `what` names the call and the path.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/file_range.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood::io {

using Path = std::string;

Path join(std::string_view directory, std::string_view name);
std::string_view file_name(std::string_view path);    // the part after the last '/'
std::string_view parent_of(std::string_view path);    // the part before it, "." when there is none

enum class OpenMode {
  read,             // must exist; what a pipe or a device gives is read whole, at once (io/stream_file.h)
  read_write,       // must exist
  create,           // read and write; made when absent, kept when there
  create_new,       // read and write; Errc::exists when there
  truncate,         // read and write; made when absent, emptied when there
};

// A mapping of the first bytes of a file, shared with the file. Unmapped by the destructor.
// Threads: as plain memory; the caller orders its writes.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual MutableBytesView bytes() = 0;
  // Waits until changed pages are on the disk (msync). The file's length is not covered: sync() the File for that,
  // which covers changes made through mappings as well.
  virtual Result<void> sync() = 0;
};

// An open file. Reads are safe beside one writer. Closing happens in the destructor, which only logs nothing: use
// close() where a failure of close(2) must be seen.
class File : public ByteSource {
 public:
  // read_at and native_fd come from ByteSource.

  // Writes all of `bytes` at `position` (pwritev of one or several pieces), making the file longer when needed.
  virtual Result<void> write_at(FilePosition position, BytesView bytes) = 0;
  virtual Result<void> write_at(FilePosition position, std::span<const BytesView> pieces) = 0;
  virtual Result<ByteCount> size() const = 0;
  virtual Result<void> truncate(ByteCount size) = 0;
  // Asks for room on the disk for the first `size` bytes without changing the file's length or content (fallocate
  // KEEP_SIZE). Not supported by a file system is not an error.
  virtual Result<void> reserve(ByteCount size) = 0;
  virtual Result<void> sync_data() = 0;  // fdatasync
  virtual Result<void> sync() = 0;       // fsync
  // Maps `size` bytes for reading and writing; the file must be at least that long (truncate first).
  virtual Result<std::unique_ptr<MappedFile>> map(ByteCount size) = 0;
  virtual Result<void> close() = 0;
  virtual const Path& path() const = 0;
};

struct DirectoryEntry {
  enum class Kind { file, directory, symlink_to_directory, other };
  std::string name;
  Kind kind = Kind::file;
};

struct FileStatus {
  bool is_directory = false;
  ByteCount size;
  TimestampMs modified;
  std::optional<ByteCount> allocated = {};  // blocks on the disk, where that is known: less than the size of a file with holes
};

struct DiskSpace {
  ByteCount total;
  ByteCount available;  // to this process
};

// Held until destroyed, which unlocks and closes but does not remove the file.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// Safe for all threads.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::shared_ptr<File>> open(const Path& path, OpenMode mode) = 0;
  virtual Result<FileStatus> status(const Path& path) = 0;
  virtual Result<bool> exists(const Path& path) = 0;
  virtual Result<std::vector<DirectoryEntry>> list(const Path& directory) = 0;  // no "." and "..", sorted by name
  virtual Result<void> create_directories(const Path& directory) = 0;           // there already is fine
  virtual Result<void> rename(const Path& from, const Path& to) = 0;            // replaces a file that is there
  virtual Result<void> remove_file(const Path& path) = 0;                       // absent is Errc::not_found
  virtual Result<void> remove_directory_tree(const Path& directory) = 0;        // absent is fine
  virtual Result<void> sync_directory(const Path& directory) = 0;
  // What status() of the file answers as its modification time, until the next write. Not durable by itself.
  virtual Result<void> set_modified(const Path& file, TimestampMs modified) = 0;
  // The same directory under two names has one canonical path.
  virtual Result<Path> canonical(const Path& path) = 0;
  virtual Result<DiskSpace> space(const Path& directory) = 0;
  // Makes the file when absent and locks all of it against the POSIX record lock that a JVM takes, in both directions.
  // Errors: locked when another process (or another open lock of this one) holds it.
  virtual Result<std::unique_ptr<FileLock>> lock(const Path& path) = 0;
  // Whether somebody holds that lock. Looks and takes nothing, so that whoever wants the lock meanwhile gets it. Errors: io; not_found.
  virtual Result<bool> is_locked(const Path& path) = 0;
};

// The whole file. Errors: limit when it is longer than `at_most`.
Result<ByteVector> read_file(FileSystem& fs, const Path& path, ByteCount at_most = {64 * MiB});

enum class Fsync { no, yes };

// Replaces `path` by `bytes` so that a crash leaves the old or the new content: writes path + ".tmp", fsync, rename,
// fsync of the directory (both only with Fsync::yes).
Result<void> write_file_atomically(FileSystem& fs, const Path& path, BytesView bytes, Fsync fsync = Fsync::yes);

// The real one. Stateless.
class PosixFileSystem final : public FileSystem {
 public:
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
};

}  // namespace cordwood::io
