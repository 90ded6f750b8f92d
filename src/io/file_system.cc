#include "io/file_system.h"

#include <fmt/format.h>

namespace cordwood::io {

Path join(std::string_view directory, std::string_view name) {
  if (directory.empty()) return Path(name);
  if (directory.back() == '/') return fmt::format("{}{}", directory, name);
  return fmt::format("{}/{}", directory, name);
}

namespace {
// "a/b/" names the same thing as "a/b"; the root keeps its slash.
std::string_view without_trailing_slashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}
}  // namespace

std::string_view file_name(std::string_view path) {
  path = without_trailing_slashes(path);
  std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view parent_of(std::string_view path) {
  path = without_trailing_slashes(path);
  std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  if (slash == 0) return "/";
  return without_trailing_slashes(path.substr(0, slash));
}

Result<ByteVector> read_file(FileSystem& fs, const Path& path, ByteCount at_most) {
  std::shared_ptr<File> file = TRY(fs.open(path, OpenMode::read));
  ByteCount size = TRY(file->size());
  if (size > at_most) return Error{Errc::limit, fmt::format("{} has {} bytes, more than {}", path, size, at_most)};
  ByteVector bytes(static_cast<std::size_t>(size.value));
  std::size_t got = TRY(file->read_at({0}, bytes));
  bytes.resize(got);
  return bytes;
}

Result<void> write_file_atomically(FileSystem& fs, const Path& path, BytesView bytes, Fsync fsync) {
  Path temporary = path + ".tmp";
  const auto write = [&]() -> Result<void> {
    std::shared_ptr<File> file = TRY(fs.open(temporary, OpenMode::truncate));
    TRY(file->write_at({0}, bytes));
    if (fsync == Fsync::yes) TRY(file->sync());
    return file->close();
  };
  if (Result<void> written = write(); !written) {
    // What is there of it would take up the room that is missing.
    if (written.error().code == Errc::no_space) fs.remove_file(temporary).has_value();
    return written;
  }
  TRY(fs.rename(temporary, path));
  if (fsync == Fsync::yes) TRY(fs.sync_directory(Path(parent_of(path))));
  return {};
}

}  // namespace cordwood::io
