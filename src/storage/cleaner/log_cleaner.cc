#include "storage/cleaner/log_cleaner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace cordwood::storage {
namespace {

// A log whose run failed is tried again after a minute, then after twice as long each time, up to an hour.
constexpr DurationMs kFirstRetry{60'000};
constexpr DurationMs kLongestRetry{3'600'000};

DurationMs retry_delay(std::int32_t faults_in_a_row) {
  DurationMs delay = kFirstRetry;
  for (std::int32_t i = 1; i < faults_in_a_row && delay < kLongestRetry; ++i) delay += delay;
  return std::min(delay, kLongestRetry);
}

ByteCount share(ByteCount all, int threads) { return {all.value / std::max(threads, 1)}; }

}  // namespace

const char* to_string(CleanerStatus::State state) {
  switch (state) {
    case CleanerStatus::State::idle: return "idle";
    case CleanerStatus::State::cleaning: return "cleaning";
    case CleanerStatus::State::paused: return "paused";
  }
  return "unknown";
}

// An executor and what its runs need, shared with the functions that were given to the executor.
struct LogCleaner::Worker {
  Worker(ByteCount memory, double load_factor, Random& random) : map(memory, load_factor, random) {}
  OffsetMap map;
  std::unique_ptr<Executor> executor;
  Mutex mu;  // held while a round runs
  bool stopped GUARDED_BY(mu) = false;
};

LogCleaner::LogCleaner(LogEnvironment environment, std::vector<io::Path> directories, CleanerOptions options, Owner owner)
    : env_(environment),
      owner_(std::move(owner)),
      checkpoints_(*environment.fs, *environment.logger, std::move(directories)),
      throttle_(*environment.clock, options.io_max_bytes_per_second),
      options_(options) {}

LogCleaner::~LogCleaner() { stop(); }

// --- threads ---

void LogCleaner::start(ExecutorFactory factory) {
  MutexLock lock(workers_mu_);
  factory_ = std::move(factory);
  start_workers();
}

void LogCleaner::start_workers() {
  CleanerOptions options;
  {
    MutexLock lock(mu_);
    options = options_;
  }
  stopping_.store(false);
  if (!options.enable) return;
  for (int i = 0; i < options.threads; ++i) {
    auto worker = std::make_shared<Worker>(share(options.dedupe_buffer_size, options.threads), options.load_factor,
                                           *env_.random);
    worker->executor = factory_(i);
    workers_.push_back(worker);
    worker->executor->post([this, worker] { run_worker(worker); });
  }
}

void LogCleaner::run_worker(const std::shared_ptr<Worker>& worker) {
  MutexLock running(worker->mu);
  if (worker->stopped) return;
  const bool cleaned = round(worker->map);
  if (!cleaned) worker->map.release_memory();
  DurationMs pause{0};
  if (!cleaned) {
    MutexLock lock(mu_);
    pause = std::min(options_.backoff, DurationMs{INT32_MAX});
  }
  worker->executor->schedule(env_.clock->monotonic() + to_ns(pause), [this, worker] { run_worker(worker); });
}

void LogCleaner::stop_workers() {
  stopping_.store(true);
  {
    MutexLock lock(mu_);
    changed_.notify_all();
  }
  for (const auto& worker : workers_) {
    MutexLock running(worker->mu);
    worker->stopped = true;
  }
  // Not under the mutex of the worker: its thread may wait for that.
  for (const auto& worker : workers_) worker->executor.reset();
  workers_.clear();
}

void LogCleaner::stop() {
  MutexLock lock(workers_mu_);
  stop_workers();
  factory_ = nullptr;
}

void LogCleaner::reconfigure(const CleanerOptions& options) {
  MutexLock lock(workers_mu_);
  {
    MutexLock inner(mu_);
    if (options_ == options) return;
    options_ = options;
  }
  throttle_.set_rate(options.io_max_bytes_per_second);
  if (!factory_) return;
  stop_workers();
  start_workers();
}

// --- one round ---

bool LogCleaner::clean_once() {
  CleanerOptions options;
  {
    MutexLock lock(mu_);
    options = options_;
  }
  OffsetMap map(share(options.dedupe_buffer_size, options.threads), options.load_factor, *env_.random);
  return round(map);
}

Result<std::optional<CleanerStatus::Run>> LogCleaner::clean_now(const TopicPartition& partition) {
  const std::vector<ManagedLog> logs = owner_.logs();
  const auto managed = std::ranges::find(logs, partition, [](const ManagedLog& one) { return one.log->partition(); });
  if (managed == logs.end()) return Error{Errc::not_found, fmt::format("no log of {}", partition.to_string())};
  if (!managed->log->config().cleanup_compact) {
    return Error{Errc::invalid, fmt::format("{} is not compacted: its cleanup.policy is delete", partition.to_string())};
  }
  CleanerOptions options;
  {
    MutexLock lock(mu_);
    options = options_;
  }
  const std::shared_ptr<Claim> claimed = claim(partition);
  if (!claimed) return Error{Errc::locked, fmt::format("{} is being cleaned, moved or truncated", partition.to_string())};
  const auto facts = managed->log->cleanable_facts(checkpoints_.find(managed->directory, partition));
  if (!facts) {
    release(partition);
    return facts.error();
  }
  Candidate candidate{*managed, judge(*facts, managed->log->config(), env_.clock->now())};
  if (!candidate.verdict.is_due() && candidate.verdict.decision != CleaningDecision::not_dirty_enough) {
    release(partition);
    return std::optional<CleanerStatus::Run>();
  }
  OffsetMap map(share(options.dedupe_buffer_size, options.threads), options.load_factor, *env_.random);
  const bool cleaned = clean(candidate, claimed, map);
  const std::optional<CleanerStatus> now = status(partition);
  if (cleaned && now && now->last_run) return now->last_run;
  if (now && now->last_error) return *now->last_error;
  return Error{Errc::closed, fmt::format("the run over {} was stopped", partition.to_string())};
}

bool LogCleaner::is_enabled() const {
  MutexLock lock(mu_);
  return options_.enable;
}

bool LogCleaner::round(OffsetMap& map) {
  std::vector<Candidate> candidates = look_at_logs();
  bool cleaned = false;
  while (!candidates.empty() && !stopping_.load()) {
    std::vector<CleaningVerdict> verdicts;
    for (const Candidate& candidate : candidates) verdicts.push_back(candidate.verdict);
    const std::optional<std::size_t> next = filthiest(verdicts);
    if (!next) break;
    const Candidate candidate = candidates[*next];
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(*next));
    // Another thread may have taken it meanwhile, or it was paused.
    const std::shared_ptr<Claim> claimed = claim(candidate.managed.log->partition());
    if (!claimed) continue;
    cleaned = clean(candidate, claimed, map);
    break;
  }
  if (!stopping_.load()) delete_from_compacted();
  return cleaned;
}

std::vector<LogCleaner::Candidate> LogCleaner::look_at_logs() {
  std::vector<Candidate> due;
  const std::vector<ManagedLog> logs = owner_.logs();
  {
    MutexLock lock(mu_);
    std::erase_if(statuses_, [&](const auto& status) {
      return std::ranges::none_of(logs, [&](const ManagedLog& managed) {
        return managed.log->partition() == status.first && managed.log->config().cleanup_compact;
      });
    });
  }
  for (const ManagedLog& managed : logs) {
    if (stopping_.load()) return {};
    if (!managed.log->config().cleanup_compact) continue;
    const std::optional<CleaningVerdict> verdict = look_at(managed);
    if (verdict && verdict->is_due()) due.push_back({managed, *verdict});
  }
  // Of equals the same one whatever order the owner has them in.
  std::ranges::sort(due, {}, [](const Candidate& candidate) { return candidate.managed.log->partition(); });
  return due;
}

std::optional<CleaningVerdict> LogCleaner::look_at(const ManagedLog& managed) {
  const TopicPartition& partition = managed.log->partition();
  const TimestampMs now = env_.clock->now();
  {
    MutexLock lock(mu_);
    if (claims_.contains(partition)) return std::nullopt;
    const auto status = statuses_.find(partition);
    if (status != statuses_.end() && status->second.last_error && now < status->second.retry_at) {
      status->second.verdict.decision = CleaningDecision::waits_after_fault;
      status->second.verdict.retry_at = status->second.retry_at;
      return std::nullopt;
    }
  }
  const std::optional<Offset> checkpoint = checkpoints_.find(managed.directory, partition);
  Result<CleanableFacts> facts = managed.log->cleanable_facts(checkpoint);
  if (!facts) {
    finish_fault({managed, {}}, facts.error(), false);
    return std::nullopt;
  }
  const LogConfig config = managed.log->config();
  const CleaningVerdict verdict = judge(*facts, config, now);
  if (verdict.corrects_checkpoint()) {
    // With "delete" in the policy retention moves the log start past the checkpoint all the time.
    if (!config.cleanup_delete || verdict.dirty_start == DirtyStart::above_log_end) {
      env_.logger->warn("{}: the cleaner's checkpoint {} is not in the log, which holds offsets {} to {}; it is cleaned from {}",
                        partition.to_string(), *checkpoint, facts->log_start, facts->log_end, verdict.first_dirty);
    }
    write_checkpoint(managed, verdict.first_dirty);
  }
  note_verdict(partition, verdict, now);
  return verdict;
}

void LogCleaner::note_verdict(const TopicPartition& partition, const CleaningVerdict& verdict, TimestampMs now) {
  MutexLock lock(mu_);
  CleanerStatus& status = statuses_[partition];
  status.partition = partition;
  status.verdict = verdict;
  status.looked_at = now;
}

// --- one log ---

std::shared_ptr<LogCleaner::Claim> LogCleaner::claim(const TopicPartition& partition) {
  MutexLock lock(mu_);
  auto fresh = std::make_shared<Claim>();
  fresh->running = true;
  if (!claims_.emplace(partition, fresh).second) return nullptr;
  return fresh;
}

void LogCleaner::release(const TopicPartition& partition) {
  MutexLock lock(mu_);
  const auto it = claims_.find(partition);
  it->second->running = false;
  it->second->aborted.store(false);
  if (it->second->pauses == 0) claims_.erase(it);
  changed_.notify_all();
}

bool LogCleaner::clean(const Candidate& candidate, const std::shared_ptr<Claim>& claim, OffsetMap& map) {
  PartitionLog& log = *candidate.managed.log;
  CleanerStatus::Run run;
  run.started = env_.clock->now();
  run.from = candidate.verdict.first_dirty;
  PassSettings settings;
  {
    MutexLock lock(mu_);
    settings.read_buffer = ByteCount{std::max<std::int64_t>(share(options_.io_buffer_size, options_.threads).value / 2, 1)};
  }
  settings.between = [&](ByteCount bytes) { return between(*claim, bytes); };
  Result<PassResult> result = clean_log(log, env_, candidate.verdict, map, settings);
  const bool was_aborted = claim->aborted.load() || stopping_.load();
  if (result) {
    run.took = env_.clock->now() - run.started;
    run.to = result->end;
    run.statistics = result->statistics;
    finish_run(candidate, run);
  } else {
    finish_fault(candidate, result.error(), was_aborted);
  }
  // A checkpoint says "clean up to here" also of a run that failed, as Kafka's does; one that was stopped leaves it alone:
  // whoever stopped it may be about to change the log.
  if (!was_aborted && (result || result.error().code != Errc::closed)) {
    write_checkpoint(candidate.managed, result ? result->end : candidate.verdict.first_dirty);
  }
  release(log.partition());
  return result.has_value();
}

Result<void> LogCleaner::between(const Claim& claim, ByteCount bytes) {
  const auto stopped = [&] { return claim.aborted.load() || stopping_.load(); };
  if (!stopped()) {
    const DurationNs pause = throttle_.note(bytes);
    if (pause > DurationNs{0}) wait(pause, claim);
  }
  if (stopped()) return Error{Errc::closed, "the run of the cleaner was stopped"};
  return {};
}

void LogCleaner::wait(DurationNs how_long, const Claim& claim) {
  if (owner_.wait) return owner_.wait(how_long);
  MutexLock lock(mu_);
  changed_.wait_for(mu_, std::chrono::nanoseconds(how_long.value),
                    [&] { return claim.aborted.load() || stopping_.load(); });
}

void LogCleaner::finish_run(const Candidate& candidate, const CleanerStatus::Run& run) {
  const PassStatistics& pass = run.statistics;
  const TopicPartition& partition = candidate.managed.log->partition();
  const ByteCount saved = pass.bytes_read - pass.bytes_written;
  env_.logger->info("{}: cleaned from offset {} to {} in {} ms: {} of {} records stay, {} of {} bytes, {} of {} segments ({})",
                    partition.to_string(), run.from, run.to, run.took, pass.records_kept, pass.records_read,
                    pass.bytes_written, pass.bytes_read, pass.segments_after, pass.segments_before,
                    explain(candidate.verdict));
  if (pass.records_without_key > 0) {
    env_.logger->warn("{}: {} records without a key were dropped: its cleanup.policy is compact", partition.to_string(),
                      pass.records_without_key);
  }
  MutexLock lock(mu_);
  CleanerStatus& status = statuses_[partition];
  status.partition = partition;
  status.last_run = run;
  status.saved_bytes += saved;
  status.last_error.reset();
  status.faults_in_a_row = 0;
  status.retry_at = kNoTimestamp;
}

void LogCleaner::finish_fault(const Candidate& candidate, const Error& error, bool was_aborted) {
  // A log that was closed, truncated, or is to be changed by others is no fault.
  if (was_aborted || error.code == Errc::closed) return;
  const TopicPartition& partition = candidate.managed.log->partition();
  if (error.code == Errc::io) {
    owner_.directory_failed(candidate.managed.directory, error);
    return;
  }
  TimestampMs retry_at;
  {
    MutexLock lock(mu_);
    CleanerStatus& status = statuses_[partition];
    status.partition = partition;
    status.last_error = error;
    ++status.faults_in_a_row;
    status.retry_at = retry_at = env_.clock->now() + retry_delay(status.faults_in_a_row);
    status.verdict.decision = CleaningDecision::waits_after_fault;
    status.verdict.retry_at = retry_at;
  }
  env_.logger->error("{} cannot be cleaned: {}; it is left as it is and tried again in {} s", partition.to_string(),
                     error.message(), (retry_at - env_.clock->now()).value / 1000);
}

void LogCleaner::write_checkpoint(const ManagedLog& managed, Offset offset) {
  Result<void> written = checkpoints_.set(managed.directory, managed.log->partition(), offset,
                                          [&](const TopicPartition& partition) { return is_live(partition); });
  if (!written) owner_.directory_failed(managed.directory, written.error());
}

bool LogCleaner::is_live(const TopicPartition& partition) const {
  if (owner_.is_pending && owner_.is_pending(partition)) return true;
  return std::ranges::any_of(owner_.logs(), [&](const ManagedLog& managed) { return managed.log->partition() == partition; });
}

void LogCleaner::delete_from_compacted() {
  if (!owner_.apply_retention) return;
  for (const ManagedLog& managed : owner_.logs()) {
    if (stopping_.load()) return;
    if (!managed.log->config().cleanup_compact || !claim(managed.log->partition())) continue;
    owner_.apply_retention(managed);
    release(managed.log->partition());
  }
}

// --- what others do to a log ---

void LogCleaner::abort_and_pause(const TopicPartition& partition) {
  MutexLock lock(mu_);
  std::shared_ptr<Claim>& slot = claims_[partition];
  if (!slot) slot = std::make_shared<Claim>();
  const std::shared_ptr<Claim> held = slot;
  ++held->pauses;
  if (!held->running) return;
  held->aborted.store(true);
  changed_.notify_all();
  changed_.wait(mu_, [&] { return !held->running; });
}

void LogCleaner::resume(const TopicPartition& partition) {
  MutexLock lock(mu_);
  const auto it = claims_.find(partition);
  if (it == claims_.end() || it->second->pauses == 0) return;
  if (--it->second->pauses == 0 && !it->second->running) claims_.erase(it);
}

void LogCleaner::forget(const TopicPartition& partition, std::size_t directory) {
  {
    MutexLock lock(mu_);
    statuses_.erase(partition);
  }
  Result<void> written =
      checkpoints_.remove(directory, partition, [&](const TopicPartition& other) { return is_live(other); });
  if (!written) owner_.directory_failed(directory, written.error());
}

void LogCleaner::truncated(const TopicPartition& partition, std::size_t directory, Offset active_base) {
  Result<void> written = checkpoints_.lower(directory, partition, active_base);
  if (!written) owner_.directory_failed(directory, written.error());
}

void LogCleaner::moved(const TopicPartition& partition, std::size_t from, std::size_t to) {
  Result<void> written = checkpoints_.move(partition, from, to);
  if (!written) owner_.directory_failed(to, written.error());
}

void LogCleaner::forget_directory(std::size_t directory) { checkpoints_.forget_directory(directory); }

// --- looking ---

std::vector<CleanerStatus> LogCleaner::statuses() const {
  MutexLock lock(mu_);
  std::vector<CleanerStatus> all;
  for (const auto& [partition, status] : statuses_) {
    all.push_back(status);
    const auto claimed = claims_.find(partition);
    if (claimed == claims_.end()) continue;
    all.back().state = claimed->second->running ? CleanerStatus::State::cleaning : CleanerStatus::State::paused;
  }
  return all;
}

std::optional<CleanerStatus> LogCleaner::status(const TopicPartition& partition) const {
  for (CleanerStatus& status : statuses()) {
    if (status.partition == partition) return status;
  }
  return std::nullopt;
}

}  // namespace cordwood::storage
