#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "io/file_system.h"
#include "io/posix_file.h"
#include "io/stream_file.h"

namespace cordwood::io {

namespace {

using Kind = DirectoryEntry::Kind;

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::read: return O_RDONLY | O_NONBLOCK;  // a pipe nobody writes to is not waited for
    case OpenMode::read_write: return O_RDWR;
    case OpenMode::create: return O_RDWR | O_CREAT;
    case OpenMode::create_new: return O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::truncate: return O_RDWR | O_CREAT | O_TRUNC;
  }
  return O_RDONLY;
}

Kind kind_of_mode(mode_t mode) {
  if (S_ISDIR(mode)) return Kind::directory;
  if (S_ISREG(mode)) return Kind::file;
  return Kind::other;
}

// What a name in a directory is, following a link: a link to a file counts as the file.
Kind kind_of(const Path& path, unsigned char type_hint) {
  if (type_hint == DT_REG) return Kind::file;
  if (type_hint == DT_DIR) return Kind::directory;
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return Kind::other;
  if (!S_ISLNK(status.st_mode)) return kind_of_mode(status.st_mode);
  if (::stat(path.c_str(), &status) != 0) return Kind::other;  // a dangling link
  return S_ISDIR(status.st_mode) ? Kind::symlink_to_directory : kind_of_mode(status.st_mode);
}

struct OpenDirectory {
  DIR* handle = nullptr;
  ~OpenDirectory() {
    if (handle != nullptr) ::closedir(handle);
  }
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(UniqueFd fd) : fd_(std::move(fd)) {}

 private:
  UniqueFd fd_;  // closing it gives the lock up
};

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace

Result<std::shared_ptr<File>> PosixFileSystem::open(const Path& path, OpenMode mode) {
  UniqueFd fd = TRY(open_fd(path, flags_of(mode)));
  if (mode == OpenMode::read) {
    // A directory can be opened for reading, but none of a File's functions works on it.
    struct stat status;
    if (::fstat(fd.get(), &status) != 0) return call_failed("fstat", path);
    if (S_ISDIR(status.st_mode)) return system_error(fmt::format("open {}", path), EISDIR);
    if (!S_ISREG(status.st_mode)) return read_stream(std::move(fd), path);
  }
  return std::shared_ptr<File>(std::make_shared<PosixFile>(std::move(fd), path));
}

Result<FileStatus> PosixFileSystem::status(const Path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return call_failed("stat", path);
  return FileStatus{.is_directory = S_ISDIR(status.st_mode),
                    .size = {status.st_size},
                    .modified = {status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000},
                    .allocated = ByteCount{status.st_blocks * 512}};
}

Result<bool> PosixFileSystem::exists(const Path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return call_failed("stat", path);
}

Result<std::vector<DirectoryEntry>> PosixFileSystem::list(const Path& directory) {
  OpenDirectory open{::opendir(directory.c_str())};
  if (open.handle == nullptr) return call_failed("opendir", directory);
  std::vector<DirectoryEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* found = ::readdir(open.handle);
    if (found == nullptr) {
      if (errno != 0) return call_failed("readdir", directory);
      break;
    }
    std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({std::string(name), kind_of(join(directory, name), found->d_type)});
  }
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

Result<void> PosixFileSystem::create_directories(const Path& directory) {
  if (::mkdir(directory.c_str(), 0777) == 0) return {};
  if (errno == ENOENT) {
    Path parent(parent_of(directory));
    if (parent == directory || parent == ".") return call_failed("mkdir", directory);
    TRY(create_directories(parent));
    if (::mkdir(directory.c_str(), 0777) == 0) return {};
  }
  int failure = errno;
  struct stat status;
  if (failure == EEXIST && ::stat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
  return system_error(fmt::format("mkdir {}", directory), failure);
}

Result<void> PosixFileSystem::rename(const Path& from, const Path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return call_failed("rename", fmt::format("{} to {}", from, to));
  return {};
}

Result<void> PosixFileSystem::remove_file(const Path& path) {
  if (::unlink(path.c_str()) != 0) return call_failed("unlink", path);
  return {};
}

Result<void> PosixFileSystem::remove_directory_tree(const Path& directory) {
  struct stat status;
  if (::lstat(directory.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return call_failed("lstat", directory);
  }
  // A link is removed, never followed: what it points to is not part of this tree.
  if (S_ISLNK(status.st_mode)) return remove_file(directory);
  std::vector<DirectoryEntry> entries = TRY(list(directory));
  for (const DirectoryEntry& entry : entries) {
    Path path = join(directory, entry.name);
    Result<void> removed = entry.kind == Kind::directory ? remove_directory_tree(path) : remove_file(path);
    // Somebody else may be clearing the same tree.
    if (!removed && removed.error().code != Errc::not_found) return removed;
  }
  if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) return call_failed("rmdir", directory);
  return {};
}

Result<void> PosixFileSystem::sync_directory(const Path& directory) {
  UniqueFd fd = TRY(open_fd(directory, O_RDONLY | O_DIRECTORY));
  PosixFile file(std::move(fd), directory);
  return file.sync();
}

Result<void> PosixFileSystem::set_modified(const Path& file, TimestampMs modified) {
  // Rounded down, so that times before 1970 have a nanosecond part that is not negative either.
  const std::int64_t ms = ((modified.value % 1000) + 1000) % 1000;
  timespec times[2] = {{0, UTIME_OMIT}, {(modified.value - ms) / 1000, ms * 1'000'000}};
  if (::utimensat(AT_FDCWD, file.c_str(), times, 0) != 0) return call_failed("utimensat", file);
  return {};
}

Result<Path> PosixFileSystem::canonical(const Path& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) return call_failed("realpath", path);
  return Path(resolved);
}

Result<DiskSpace> PosixFileSystem::space(const Path& directory) {
  struct statvfs status;
  if (::statvfs(directory.c_str(), &status) != 0) return call_failed("statvfs", directory);
  auto unit = static_cast<std::int64_t>(status.f_frsize);
  return DiskSpace{.total = {static_cast<std::int64_t>(status.f_blocks) * unit},
                   .available = {static_cast<std::int64_t>(status.f_bavail) * unit}};
}

// A lock of the open file description (F_OFD_SETLK): it and the record locks of F_SETLK, a JVM's, exclude each other.
// Unlike those it also excludes a second holder in this process, and is not lost when another descriptor of the same
// file is closed.
Result<std::unique_ptr<FileLock>> PosixFileSystem::lock(const Path& path) {
  for (;;) {
    UniqueFd fd = TRY(open_fd(path, O_RDWR | O_CREAT));
    struct flock whole_file {};
    whole_file.l_type = F_WRLCK;
    whole_file.l_whence = SEEK_SET;
    if (::fcntl(fd.get(), F_OFD_SETLK, &whole_file) != 0) {
      if (errno == EAGAIN || errno == EACCES) {
        return Error{Errc::locked, fmt::format("{} is locked by another process or another part of this one", path)};
      }
      if (errno == EINTR) continue;
      return call_failed("fcntl(F_OFD_SETLK)", path);
    }
    // The holder before us may have removed the file between our open and our lock: then the lock excludes nobody.
    struct stat locked, named;
    if (::fstat(fd.get(), &locked) != 0) return call_failed("fstat", path);
    if (::stat(path.c_str(), &named) == 0 && same_file(locked, named)) {
      return std::unique_ptr<FileLock>(std::make_unique<PosixFileLock>(std::move(fd)));
    }
  }
}

Result<bool> PosixFileSystem::is_locked(const Path& path) {
  const UniqueFd fd = TRY(open_fd(path, O_RDONLY));
  struct flock whole_file {};
  whole_file.l_type = F_WRLCK;
  whole_file.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_OFD_GETLK, &whole_file) != 0) return call_failed("fcntl(F_OFD_GETLK)", path);
  return whole_file.l_type != F_UNLCK;
}

}  // namespace cordwood::io
