#include "broker/metadata/start_reserve.h"

#include <memory>
#include <string>

namespace cordwood::broker::metadata {
namespace {

constexpr ByteCount kLeastReserve{64 * KiB};

// The newest segment; null when there is none. Names are base offsets of equal length.
Result<std::shared_ptr<io::File>> newest_segment(io::FileSystem& fs, const io::Path& metadata_dir) {
  const io::Path directory = io::join(metadata_dir, "__cluster_metadata-0");
  if (!TRY(fs.exists(directory))) return std::shared_ptr<io::File>();
  std::string newest;
  for (const io::DirectoryEntry& entry : TRY(fs.list(directory))) {
    if (entry.kind == io::DirectoryEntry::Kind::file && entry.name.ends_with(".log")) newest = entry.name;
  }
  if (newest.empty()) return std::shared_ptr<io::File>();
  return fs.open(io::join(directory, newest), io::OpenMode::read_write);
}

}  // namespace

void keep_start_reserve(io::FileSystem& fs, const io::Path& metadata_dir) {
  Result<std::shared_ptr<io::File>> file = newest_segment(fs, metadata_dir);
  if (!file || *file == nullptr) return;
  Result<ByteCount> size = (*file)->size();
  if (!size) return;
  for (ByteCount wanted = kStartReserve; wanted >= kLeastReserve; wanted = {wanted.value / 2}) {
    if ((*file)->reserve(*size + wanted)) return;
  }
}

Result<void> release_start_reserve(io::FileSystem& fs, const io::Path& metadata_dir) {
  Result<io::DiskSpace> space = fs.space(metadata_dir);
  if (space && space->available >= kStartReserve) return {};
  const std::shared_ptr<io::File> file = TRY(newest_segment(fs, metadata_dir));
  if (file == nullptr) return {};
  return file->truncate(TRY(file->size()));
}

}  // namespace cordwood::broker::metadata
