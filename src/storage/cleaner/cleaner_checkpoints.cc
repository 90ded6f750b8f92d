#include "storage/cleaner/cleaner_checkpoints.h"

namespace cordwood::storage {

CleanerCheckpoints::CleanerCheckpoints(io::FileSystem& fs, Logger& logger, std::vector<io::Path> directories)
    : fs_(fs), logger_(logger) {
  for (const io::Path& directory : directories) {
    File file;
    file.path = io::join(directory, kCleanerCheckpoint);
    files_.push_back(std::move(file));
  }
}

OffsetsByPartition& CleanerCheckpoints::offsets_of(std::size_t directory) {
  File& file = files_[directory];
  if (!file.is_read) {
    file.is_read = true;
    Result<OffsetsByPartition> read = read_offset_checkpoint(fs_, file.path);
    if (read) {
      file.offsets = std::move(*read);
    } else {
      logger_.warn("{}; the logs in this directory are taken to be dirty from their start", read.error().message());
    }
  }
  return file.offsets;
}

Result<void> CleanerCheckpoints::write(std::size_t directory) {
  if (files_[directory].is_gone) return {};
  return write_offset_checkpoint(fs_, files_[directory].path, files_[directory].offsets);
}

std::optional<Offset> CleanerCheckpoints::find(std::size_t directory, const TopicPartition& partition) {
  MutexLock lock(mu_);
  if (files_[directory].is_gone) return std::nullopt;
  const OffsetsByPartition& offsets = offsets_of(directory);
  const auto it = offsets.find(partition);
  if (it == offsets.end()) return std::nullopt;
  return it->second;
}

Result<void> CleanerCheckpoints::set(std::size_t directory, const TopicPartition& partition, Offset offset,
                                     const IsLive& is_live) {
  MutexLock lock(mu_);
  OffsetsByPartition& offsets = offsets_of(directory);
  std::erase_if(offsets, [&](const auto& line) { return !is_live(line.first); });
  offsets[partition] = offset;
  return write(directory);
}

Result<void> CleanerCheckpoints::remove(std::size_t directory, const TopicPartition& partition, const IsLive& is_live) {
  MutexLock lock(mu_);
  OffsetsByPartition& offsets = offsets_of(directory);
  std::erase_if(offsets, [&](const auto& line) { return line.first == partition || !is_live(line.first); });
  return write(directory);
}

Result<void> CleanerCheckpoints::lower(std::size_t directory, const TopicPartition& partition, Offset offset) {
  MutexLock lock(mu_);
  OffsetsByPartition& offsets = offsets_of(directory);
  const auto it = offsets.find(partition);
  if (it == offsets.end() || it->second <= offset) return {};
  it->second = offset;
  return write(directory);
}

Result<void> CleanerCheckpoints::move(const TopicPartition& partition, std::size_t from, std::size_t to) {
  MutexLock lock(mu_);
  OffsetsByPartition& offsets = offsets_of(from);
  const auto it = offsets.find(partition);
  if (it == offsets.end()) return {};
  offsets_of(to)[partition] = it->second;
  offsets.erase(it);
  TRY(write(from));
  return write(to);
}

void CleanerCheckpoints::forget_directory(std::size_t directory) {
  MutexLock lock(mu_);
  files_[directory].is_gone = true;
  files_[directory].is_read = true;
  files_[directory].offsets.clear();
}

}  // namespace cordwood::storage
