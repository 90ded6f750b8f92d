#include "storage/group_commit.h"

#include <pthread.h>

#include <utility>

namespace cordwood::storage {

GroupCommit::GroupCommit(std::size_t most_threads) : most_threads_(most_threads) {}

GroupCommit::~GroupCommit() { stop(); }

void GroupCommit::when_flushed(std::shared_ptr<PartitionLog> log, Done done) {
  {
    MutexLock lock(mu_);
    if (!stopping_) {
      PartitionLog* key = log.get();
      Waiting& waiting = waiting_[key];
      waiting.log = std::move(log);
      waiting.done.push_back(std::move(done));
      if (waiting.done.size() == 1 && !waiting.is_flushing) make_ready(key);
      return;
    }
  }
  done(Error{Errc::closed, "the broker has stopped"});
}

void GroupCommit::make_ready(PartitionLog* log) {
  ready_.push_back(log);
  if (stopping_ || idle_ >= ready_.size() || threads_.size() == most_threads_) {
    wake_.notify_one();
    return;
  }
  threads_.emplace_back([this] { work(); });
  ::pthread_setname_np(threads_.back().native_handle(), "group-commit");
}

void GroupCommit::work() {
  MutexLock lock(mu_);
  while (true) {
    ++idle_;
    wake_.wait(mu_, [this]() REQUIRES(mu_) { return stopping_ || !ready_.empty(); });
    --idle_;
    if (ready_.empty()) return;
    flush_one();
  }
}

void GroupCommit::flush_one() {
  PartitionLog* key = ready_.front();
  ready_.pop_front();
  std::vector<Done> done;
  std::shared_ptr<PartitionLog> log;
  {
    Waiting& waiting = waiting_.at(key);
    waiting.is_flushing = true;
    done.swap(waiting.done);
    log = waiting.log;
  }
  ++flushes_;
  mu_.unlock();
  Result<void> flushed = log->flush_records();
  for (Done& function : done) function(flushed);
  done.clear();
  mu_.lock();
  Waiting& waiting = waiting_.at(key);
  waiting.is_flushing = false;
  if (waiting.done.empty()) {
    waiting_.erase(key);
  } else {
    make_ready(key);
  }
}

void GroupCommit::stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    threads.swap(threads_);
    wake_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

std::int64_t GroupCommit::flushes() const {
  MutexLock lock(mu_);
  return flushes_;
}

}  // namespace cordwood::storage
