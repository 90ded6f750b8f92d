#include "storage/leader_epoch_cache.h"

#include <fmt/format.h>

#include <algorithm>

namespace cordwood::storage {

namespace {

// The rule of assign(): true when `entries` changed.
bool assign_to(std::vector<EpochEntry>& entries, EpochEntry added) {
  if (!entries.empty() && entries.back().epoch == added.epoch && added.start_offset >= entries.back().start_offset) {
    return false;
  }
  while (!entries.empty() &&
         (entries.back().epoch >= added.epoch || entries.back().start_offset >= added.start_offset)) {
    entries.pop_back();
  }
  entries.push_back(added);
  return true;
}

}  // namespace

Result<LeaderEpochCache> LeaderEpochCache::open(io::FileSystem& fs, io::Path path) {
  LeaderEpochCache cache(fs, std::move(path));
  // Entries of a file that somebody edited may be out of order: taken one by one, the later line wins.
  std::vector<EpochEntry> read = TRY(read_epoch_checkpoint(fs, cache.path_));
  for (const EpochEntry& entry : read) assign_to(cache.entries_, entry);
  return cache;
}

Result<void> LeaderEpochCache::assign(LeaderEpoch epoch, Offset start_offset) {
  if (epoch.value < 0 || start_offset.value < 0) {
    return Error{Errc::invalid, fmt::format("{}: epoch {} from offset {} on", path_, epoch, start_offset)};
  }
  if (!assign_to(entries_, {epoch, start_offset})) return {};
  return changed(io::Fsync::yes);
}

Result<void> LeaderEpochCache::truncate_from_end(Offset end, io::Fsync fsync) {
  if (entries_.empty() || entries_.back().start_offset < end) return {};
  while (!entries_.empty() && entries_.back().start_offset >= end) entries_.pop_back();
  return changed(fsync);
}

Result<void> LeaderEpochCache::truncate_from_start(Offset start, io::Fsync fsync) {
  // The first entry that starts behind `start`; the one before it, if any, is the epoch that `start` belongs to.
  auto behind = std::ranges::find_if(entries_, [&](const EpochEntry& e) { return e.start_offset > start; });
  if (behind == entries_.begin()) return {};
  auto holder = behind - 1;
  if (holder == entries_.begin() && holder->start_offset == start) return {};
  holder->start_offset = start;
  entries_.erase(entries_.begin(), holder);
  return changed(fsync);
}

Result<void> LeaderEpochCache::clear() {
  entries_.clear();
  return changed(io::Fsync::yes);
}

Result<void> LeaderEpochCache::changed(io::Fsync fsync) {
  ++version_;
  if (deferred_) return {};
  return write_epoch_checkpoint(*fs_, path_, entries_, fsync);
}

Result<void> LeaderEpochCache::flush() { return write_epoch_checkpoint(*fs_, path_, entries_); }

std::optional<EpochEntry> LeaderEpochCache::latest() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.back();
}

std::optional<EpochEntry> LeaderEpochCache::earliest() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.front();
}

std::optional<LeaderEpoch> LeaderEpochCache::epoch_of(Offset offset) const {
  auto behind = std::ranges::find_if(entries_, [&](const EpochEntry& e) { return e.start_offset > offset; });
  if (behind == entries_.begin()) return std::nullopt;
  return (behind - 1)->epoch;
}

EpochEndOffset LeaderEpochCache::end_offset_for(std::int32_t requested, Offset log_end) const {
  if (requested < 0 || entries_.empty() || requested > entries_.back().epoch.value) return {};
  if (requested == entries_.back().epoch.value) return {requested, log_end};
  auto higher = std::ranges::find_if(entries_, [&](const EpochEntry& e) { return e.epoch.value > requested; });
  // Older than everything known: whatever that epoch wrote is gone, so it ends where the known ones begin.
  if (higher == entries_.begin()) return {requested, higher->start_offset};
  return {(higher - 1)->epoch.value, higher->start_offset};
}

}  // namespace cordwood::storage
