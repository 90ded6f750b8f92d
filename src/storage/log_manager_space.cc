// The part of LogManager that watches the disks: whether they are there, and how full.

#include <fmt/format.h>

#include <algorithm>

#include "storage/log_manager_impl.h"

namespace cordwood::storage {
namespace {

// Of a small disk only a part is kept free.
constexpr std::int64_t kLargestPart = 20;

}  // namespace

bool LogManager::Impl::is_short_of_space(const io::Path& directory) const {
  if (options.min_free <= ByteCount{0}) return false;
  Result<io::DiskSpace> space = env.fs->space(directory);
  // A disk that cannot be asked tells more by failing a write.
  if (!space) return false;
  return space->available < std::min(options.min_free, ByteCount{space->total.value / kLargestPart});
}

// Nothing that the logs have open notices that: what they write goes into files without a name.
bool LogManager::Impl::has_vanished(std::size_t directory) {
  Result<bool> is_there = env.fs->exists(managed[directory]->path);
  if (!is_there || *is_there) return false;
  set_offline(directory, Error{Errc::not_found, fmt::format("{} has vanished", managed[directory]->path)});
  return true;
}

void LogManager::check_space() {
  Impl& impl = *impl_;
  for (std::size_t i = 0; i < impl.managed.size(); ++i) {
    ManagedDirectory& directory = *impl.managed[i];
    if (directory.offline.load() || impl.has_vanished(i)) continue;
    const bool is_short = impl.is_short_of_space(directory.path);
    if (directory.short_of_space.exchange(is_short) == is_short) continue;
    if (is_short) {
      impl.env.logger->error("log directory {}: the disk is nearly full, no records are taken until there is room again "
                             "(cordwood.min.free.bytes); reading, deleting and committing go on", directory.path);
    } else {
      impl.env.logger->info("log directory {}: there is room again, records are taken", directory.path);
    }
  }
  // Each time: a log may be new, and one that hit a full disk has noticed it by itself.
  for (const Impl::Entry& entry : impl.entries()) {
    const bool is_short = impl.managed[entry.directory]->short_of_space.load();
    if (entry.log->is_short_of_space() != is_short) entry.log->set_short_of_space(is_short);
  }
}

}  // namespace cordwood::storage
