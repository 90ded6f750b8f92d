#include "storage/load_crew.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace cordwood::storage {
namespace {

// Adds what one log reports to what all have done.
class JobWatch final : public LoadWatch {
 public:
  JobWatch(const std::atomic<bool>& stopping, std::atomic<std::int64_t>& done) : stopping_(stopping), done_(done) {}
  bool stop_requested() const override { return stopping_.load(std::memory_order_acquire); }
  void checked(ByteCount bytes) override {
    reported_ += bytes.value;
    done_.fetch_add(bytes.value, std::memory_order_relaxed);
  }
  // What was expected and did not come (a cut took it away), or came beyond that.
  void settle(ByteCount expected) { done_.fetch_add(expected.value - reported_, std::memory_order_relaxed); }

 private:
  const std::atomic<bool>& stopping_;
  std::atomic<std::int64_t>& done_;
  std::int64_t reported_ = 0;
};

std::string with_unit(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.1f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.0f} MB", bytes / 1e6);
  return fmt::format("{:.0f} KB", bytes / 1e3);
}

}  // namespace

std::string LoadProgress::to_string() const {
  std::string text = fmt::format("{} of {} logs", logs_done, logs_total);
  if (bytes_total == ByteCount{0}) return text;
  const auto done = static_cast<double>(bytes_done.value);
  const auto total = static_cast<double>(bytes_total.value);
  const double seconds = static_cast<double>(elapsed.value) / 1e9;
  text += fmt::format(", {} of {} checked", with_unit(done), with_unit(total));
  if (seconds < 0.1 || done <= 0) return text;
  text += fmt::format(", {}/s", with_unit(done / seconds));
  if (all_surveyed && logs_done < logs_total) {
    text += fmt::format(", about {:.0f} s to go", std::max(0.0, total - done) / (done / seconds));
  }
  return text;
}

LoadCrew::LoadCrew(std::size_t threads, std::size_t jobs, Work work, const Clock& clock)
    : jobs_(jobs),
      work_(std::move(work)),
      clock_(clock),
      began_(clock.monotonic()),
      quick_left_(jobs),
      not_surveyed_(jobs) {
  threads = std::min(std::max<std::size_t>(threads, 1), jobs);
  {
    MutexLock lock(mu_);
    running_ = threads;
  }
  MutexLock lock(join_mu_);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

LoadCrew::~LoadCrew() { stop(); }

void LoadCrew::run() {
  for (std::size_t job = next_.fetch_add(1); job < jobs_ && !is_stopping(); job = next_.fetch_add(1)) {
    const Survey survey = work_.survey(job);
    bytes_total_.fetch_add(survey.bytes.value, std::memory_order_relaxed);
    not_surveyed_.fetch_sub(1, std::memory_order_release);
    if (survey.bytes > kQuick) {
      MutexLock lock(mu_);
      long_.push({survey, job});
    } else {
      do_job(job, survey.bytes);
    }
    quick_left_.fetch_sub(1, std::memory_order_release);
  }
  // Who finds nothing here is not needed: another thread that still surveys does itself what it finds.
  while (!is_stopping()) {
    Long one;
    {
      MutexLock lock(mu_);
      if (long_.empty()) break;
      one = long_.top();
      long_.pop();
    }
    do_job(one.job, one.survey.bytes);
  }
  MutexLock lock(mu_);
  --running_;
  changed_.notify_all();
}

void LoadCrew::do_job(std::size_t job, ByteCount bytes) {
  JobWatch watch(stopping_, bytes_done_);
  work_.load(job, watch);
  if (is_stopping()) return;
  watch.settle(bytes);
  done_.fetch_add(1, std::memory_order_release);
}

bool LoadCrew::wait_a_moment() {
  MutexLock lock(mu_);
  return changed_.wait_for(mu_, std::chrono::milliseconds(50), [&] {
    mu_.assert_held();
    return running_ == 0;
  });
}

LoadProgress LoadCrew::progress() const {
  LoadProgress progress;
  progress.logs_done = done_.load(std::memory_order_acquire);
  progress.logs_total = jobs_;
  progress.all_surveyed = not_surveyed_.load(std::memory_order_acquire) == 0;
  progress.bytes_total = {bytes_total_.load(std::memory_order_relaxed)};
  progress.bytes_done = {std::min(bytes_done_.load(std::memory_order_relaxed), progress.bytes_total.value)};
  progress.elapsed = clock_.monotonic() - began_;
  return progress;
}

void LoadCrew::stop() {
  stopping_.store(true, std::memory_order_release);
  MutexLock lock(join_mu_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace cordwood::storage
