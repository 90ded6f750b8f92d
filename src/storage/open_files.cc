#include "storage/open_files.h"

#include <algorithm>
#include <cerrno>

namespace cordwood::storage {

bool is_out_of_descriptors(const Error& error) {
  return error.sys_errno == EMFILE || error.sys_errno == ENFILE || error.sys_errno == ENOMEM;
}

void OpenFiles::take_out(std::size_t place) {
  ring_[place] = std::move(ring_.back());
  ring_.pop_back();
}

std::shared_ptr<OpenFiles::Holder> OpenFiles::pick(Visit visit) {
  // Where nearly all hold unsynced records, looking at every one for the few that do not costs more than an fsync.
  constexpr std::size_t kPatience = 64;
  std::size_t first_unsynced = ring_.size();
  const std::size_t steps = std::min(2 * ring_.size(), kPatience);
  for (std::size_t step = 0; step < steps; ++step, ++hand_) {
    if (hand_ >= ring_.size()) hand_ = 0;
    std::shared_ptr<Holder> holder = ring_[hand_].lock();
    if (!holder) {
      take_out(hand_);
      return nullptr;
    }
    if (holder->take_used() && visit == Visit::spare_used) continue;
    if (holder->has_unsynced()) {
      if (first_unsynced == ring_.size()) first_unsynced = hand_;
      continue;
    }
    take_out(hand_);
    return holder;
  }
  if (first_unsynced == ring_.size()) return nullptr;
  std::shared_ptr<Holder> holder = ring_[first_unsynced].lock();
  take_out(first_unsynced);
  return holder;
}

bool OpenFiles::close(const std::shared_ptr<Holder>& holder) {
  if (holder->close_files()) return true;
  MutexLock lock(mu_);
  ring_.push_back(holder);
  return false;
}

void OpenFiles::opened(std::weak_ptr<Holder> holder) {
  bool is_new = true;
  // Not for ever: where nothing can be closed the bound is exceeded.
  for (int round = 0; round < 4; ++round) {
    std::shared_ptr<Holder> victim;
    {
      MutexLock lock(mu_);
      if (std::exchange(is_new, false)) ring_.push_back(std::move(holder));
      if (ring_.size() <= at_most_) return;
      victim = pick(Visit::spare_used);
    }
    if (victim) close(victim);
  }
}

bool OpenFiles::make_room() {
  std::size_t wanted = 0;
  {
    MutexLock lock(mu_);
    wanted = std::max<std::size_t>(1, ring_.size() / 8);
  }
  bool closed_any = false;
  for (std::size_t i = 0; i < wanted; ++i) {
    std::shared_ptr<Holder> victim;
    {
      MutexLock lock(mu_);
      if (ring_.empty()) break;
      victim = pick(Visit::take_any);
    }
    if (!victim || close(victim)) closed_any = true;
  }
  return closed_any;
}

void OpenFiles::close_idle(std::size_t at_most_syncs) {
  std::vector<std::shared_ptr<Holder>> idle;
  std::size_t syncs = 0;
  {
    MutexLock lock(mu_);
    for (std::size_t i = 0; i < ring_.size();) {
      std::shared_ptr<Holder> holder = ring_[i].lock();
      if (holder && (holder->take_used() || (holder->has_unsynced() && ++syncs > at_most_syncs))) {
        ++i;
        continue;
      }
      take_out(i);
      if (holder) idle.push_back(std::move(holder));
    }
  }
  for (const auto& holder : idle) close(holder);
}

std::size_t OpenFiles::count() const {
  MutexLock lock(mu_);
  return ring_.size();
}

}  // namespace cordwood::storage
