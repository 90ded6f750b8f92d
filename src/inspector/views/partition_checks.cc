#include "inspector/views/partition_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "storage/segment_file_name.h"

namespace cordwood::inspector {

Result<std::shared_ptr<const storage::PartitionCheck>> PartitionChecks::check(io::FileSystem& fs, const io::Path& directory,
                                                                              const std::vector<io::DirectoryEntry>& names,
                                                                              const storage::CheckContext& context) {
  std::string files = fmt::format("{}/{}/{}/", context.recovery_point, static_cast<int>(context.last_stop), context.is_in_use);
  ByteCount size{0};
  std::size_t segments = 0;
  if (names.size() > kMostSegments * 8) return Error{Errc::limit, "it has too many files to be checked whole"};
  for (const io::DirectoryEntry& entry : names) {
    const auto status = fs.status(io::join(directory, entry.name));
    if (!status) continue;
    fmt::format_to(std::back_inserter(files), "{}/{}/{}/", entry.name, status->size, status->modified);
    const storage::SegmentFileName name = storage::parse_segment_file_name(entry.name);
    if (name.kind != storage::SegmentFileKind::log || name.state != storage::SegmentFileState::current) continue;
    ++segments;
    size += status->size;
  }
  if (size > kLargest || segments > kMostSegments) {
    return Error{Errc::limit, fmt::format("it is too large to be checked whole: {} bytes in {} segments", size, segments)};
  }
  MutexLock lock(mu_);
  const auto known = std::ranges::find(kept_, directory, &Kept::directory);
  if (known != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, known);
    if (kept_.front().files == files) return kept_.front().check;
    kept_.pop_front();
  }
  auto check = std::make_shared<const storage::PartitionCheck>(TRY(storage::check_partition(fs, directory, context)));
  kept_.push_front({directory, std::move(files), check});
  if (kept_.size() > kKept) kept_.pop_back();
  return check;
}

}  // namespace cordwood::inspector
