#include "storage/log_mover.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>

#include "storage/segment.h"

namespace cordwood::storage {
namespace {

constexpr ByteCount kStep{1 * MiB};
constexpr std::size_t kLongestName = 255;

}  // namespace

LogMover::LogMover(LogEnvironment environment, LogManager& logs, Moved moved)
    : env_(environment), logs_(logs), moved_(std::move(moved)) {}

LogMover::~LogMover() { stop(); }

Result<void> LogMover::move(const TopicPartition& partition, std::size_t directory) {
  const std::vector<LogDirectory> directories = logs_.directories();
  const std::optional<Uuid> present = logs_.directory_of(partition);
  if (!present) return Error{Errc::not_found, fmt::format("no log of {}", partition.to_string())};
  const std::string name = fmt::format("{}.{}-future", partition.to_string(), Uuid::random(*env_.random).to_hex());
  if (name.size() > kLongestName) return Error{Errc::limit, fmt::format("{} is too long a name", name)};
  MutexLock lock(mu_);
  if (stopping_) return Error{Errc::closed, "the broker stops"};
  for (const auto& move : moves_) {
    if (move->partition != partition || move->given_up) continue;
    if (move->directory == directory) return {};
    move->given_up = true;
  }
  if (directories[directory].id != *present) begin(partition, directory, io::join(directories[directory].path, name));
  wake_.notify_all();
  return {};
}

void LogMover::go_on(const std::vector<LogManager::UnfinishedMove>& moves) {
  MutexLock lock(mu_);
  for (const LogManager::UnfinishedMove& move : moves) begin(move.partition, move.to, move.future);
  wake_.notify_all();
}

void LogMover::begin(const TopicPartition& partition, std::size_t directory, io::Path future) {
  auto move = std::make_shared<Move>();
  move->partition = partition;
  move->directory = directory;
  move->copy.directory = std::move(future);
  moves_.push_back(std::move(move));
  if (thread_) return;
  thread_.emplace([this] { work(); });
  ::pthread_setname_np(thread_->native_handle(), "log-mover");
}

void LogMover::work() {
  for (std::size_t turn = 0;; ++turn) {
    std::shared_ptr<Move> move;
    {
      MutexLock lock(mu_);
      const auto may_advance = [](const std::shared_ptr<Move>& one) { return one->may_advance(); };
      wake_.wait(mu_, [&]() REQUIRES(mu_) { return stopping_ || std::ranges::any_of(moves_, may_advance); });
      if (stopping_) return;
      while (!moves_[turn % moves_.size()]->may_advance()) ++turn;
      move = moves_[turn % moves_.size()];
    }
    if (advance(*move)) continue;
    MutexLock lock(mu_);
    std::erase(moves_, move);
  }
}

bool LogMover::advance(Move& move) {
  {
    MutexLock lock(mu_);
    if (move.given_up) {
      env_.logger->info("{} stays where it is; {} is removed", move.partition.to_string(), move.copy.directory);
      drop(move);
      return false;
    }
  }
  const std::optional<std::shared_ptr<PartitionLog>> found = find_log(move);
  if (!found) return true;
  const std::shared_ptr<PartitionLog>& log = *found;
  if (!log) {
    drop(move);
    return false;
  }
  const auto step = [&]() -> Result<bool> {
    const ByteCount missing = TRY(log->copy_into(move.copy, kStep));
    ByteCount copied{0};
    std::optional<Offset> reached;
    for (const LogCopy::Part& part : move.copy.parts) {
      copied += part.copied;
      if (!part.is_complete && !reached) reached = part.of->base_offset();
    }
    {
      MutexLock lock(mu_);
      move.copied = copied;
      move.lag = missing == ByteCount{0} || !reached ? OffsetDelta{0} : log->log_end_offset() - *reached;
    }
    if (missing > ByteCount{0}) return true;
    Result<void> moved = logs_.relocate(move.partition, move.directory, move.copy);
    // Appends were faster: once more.
    if (!moved && moved.error().code == Errc::limit) return true;
    if (!moved) return moved.error();
    moved_(move.partition, logs_.directories()[move.directory].id);
    return false;
  };
  Result<bool> goes_on = step();
  if (goes_on) return *goes_on;
  if (goes_on.error().code != Errc::closed && goes_on.error().code != Errc::not_found) {
    env_.logger->error("{} cannot be moved to {} and stays where it is: {}", move.partition.to_string(),
                       logs_.directories()[move.directory].path, goes_on.error().message());
  }
  drop(move);
  return false;
}

std::optional<std::shared_ptr<PartitionLog>> LogMover::find_log(Move& move) {
  const auto set_waiting = [&](bool waits) {
    MutexLock lock(mu_);
    move.awaits_log = waits;
  };
  // Marked before looking: whoever says then that it is loaded takes the mark away.
  set_waiting(true);
  std::shared_ptr<PartitionLog> log = logs_.find(move.partition);
  if (!log && logs_.is_loading(move.partition)) return std::nullopt;
  // It may have come between the two looks.
  if (!log) log = logs_.find(move.partition);
  set_waiting(false);
  return log;
}

void LogMover::log_loaded(const TopicPartition& partition) {
  MutexLock lock(mu_);
  for (const auto& move : moves_) {
    if (move->partition == partition) move->awaits_log = false;
  }
  wake_.notify_all();
}

void LogMover::drop(Move& move) {
  move.copy.parts.clear();
  // What cannot be removed is found, and begun anew, by the next start.
  Result<void> removed = mark_unfinished(*env_.fs, move.copy.directory);
  if (removed) removed = env_.fs->remove_directory_tree(move.copy.directory);
  if (!removed) env_.logger->warn("{}", removed.error().message());
}

std::vector<LogMover::Status> LogMover::moves() const {
  std::vector<Status> all;
  MutexLock lock(mu_);
  for (const auto& move : moves_) {
    if (!move->given_up) all.push_back({move->partition, move->directory, move->copied, move->lag});
  }
  return all;
}

void LogMover::stop() {
  std::optional<std::thread> thread;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    thread.swap(thread_);
    wake_.notify_all();
  }
  if (thread) thread->join();
}

}  // namespace cordwood::storage
