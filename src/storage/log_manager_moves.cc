// The part of LogManager that lets a log change its directory.

#include <fmt/format.h>

#include "storage/log_manager_impl.h"
#include "storage/log_move.h"

namespace cordwood::storage {
namespace {

// What may be missing of the copy when the log moves, with appends waiting.
constexpr ByteCount kMostLeft{256 * KiB};

}  // namespace

bool LogManager::Impl::is_moving_to(const TopicPartition& partition, std::size_t directory) const {
  MutexLock lock(moving_mu);
  return moving && moving->first == partition && moving->second == directory;
}

Result<void> LogManager::relocate(const TopicPartition& partition, std::size_t to, LogCopy& copy) {
  Impl& impl = *impl_;
  MutexLock create_lock(impl.create_mu);
  Impl::Entry entry;
  {
    std::shared_lock lock(impl.table_mu);
    const auto it = impl.table.find(partition);
    if (it == impl.table.end()) return Error{Errc::not_found, fmt::format("no log of {}", partition.to_string())};
    entry = it->second;
  }
  if (impl.ended.load() || impl.managed[to]->offline.load()) {
    return Error{Errc::closed, fmt::format("{} is offline", impl.managed[to]->path)};
  }
  const io::Path target = io::join(impl.managed[to]->path, partition.to_string());
  const io::Path old_becomes = io::join(impl.managed[entry.directory]->path,
                                        deleted_directory_name(partition, Uuid::random(*impl.env.random)));
  impl.cleaner->abort_and_pause(partition);
  const auto set_moving = [&](std::optional<std::pair<TopicPartition, std::size_t>> now) {
    MutexLock lock(impl.moving_mu);
    impl.moving = std::move(now);
  };
  const auto move = [&]() -> Result<void> {
    // The checkpoints over there come first: without them deleted records would be back after a crash.
    set_moving(std::pair(partition, to));
    TRY(impl.write_directory_offsets(to, true, true));
    return entry.log->move_into(copy, target, old_becomes, kMostLeft);
  };
  Result<void> moved = move();
  if (moved) {
    std::unique_lock lock(impl.table_mu);
    impl.table[partition].directory = to;
    --impl.managed[entry.directory]->logs;
    ++impl.managed[to]->logs;
  }
  set_moving({});
  if (moved) impl.cleaner->moved(partition, entry.directory, to);
  impl.cleaner->resume(partition);
  if (!moved) return moved;
  impl.env.logger->info("{} has moved to {}", io::join(impl.managed[entry.directory]->path, partition.to_string()), target);
  impl.schedule_removal(old_becomes, entry.log->config().file_delete_delay_ms);
  return impl.write_offsets(true, true);
}

std::vector<LogManager::UnfinishedMove> LogManager::unfinished_moves() const { return impl_->unfinished_moves; }

}  // namespace cordwood::storage
