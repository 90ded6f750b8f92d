#include "storage/cleaner/log_cleaner.h"

#include "io/faulty_file_system.h"
#include "storage/cleaner/cleaner_testing.h"
#include "storage/log_manager.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

const TopicPartition kA{"a", {0}};
const TopicPartition kB{"b", {0}};

// A manager over /d1 with compacted logs; the test runs the cleaner's rounds.
struct Cleaning {
  World world;
  std::unique_ptr<LogManager> manager;
  LogConfig config = compacted().config;

  explicit Cleaning(const CleanerOptions& cleaner = {}) { start(cleaner); }
  void start(const CleanerOptions& cleaner = {}) {
    LogManagerOptions options;
    options.log_dirs = {"/d1"};
    options.recovery_threads_per_dir = 1;
    options.cleaner = cleaner;
    manager = LogManager::open(world.environment(), options).value();
    LogManager::LoadCallbacks callbacks;
    callbacks.config_of = [this](const std::string&) { return config; };
    manager->load(callbacks).value();
  }
  std::shared_ptr<PartitionLog> log(const TopicPartition& partition, std::size_t segments = 4) {
    auto made = manager->get_or_create(partition, {7, static_cast<std::uint64_t>(partition.topic[0])}, config).value();
    dirty(*made, segments);
    return made;
  }
  void dirty(PartitionLog& made, std::size_t segments) {
    while (made.segments().size() < segments) {
      append_keyed(made, {{{"key", std::string(200, 'v'), world.clock.now()}}, {}});
    }
  }
  LogCleaner& cleaner() { return manager->cleaner(); }
  std::string checkpoint() { return content_of(*world.fs, "/d1/cleaner-offset-checkpoint"); }
};

TEST(LogCleaner, CleansTheDirtiestFirstAndWritesItsCheckpoint) {
  Cleaning c;
  auto a = c.log(kA);
  EXPECT_EQ(c.checkpoint(), "");
  EXPECT_TRUE(c.cleaner().clean_once());
  EXPECT_EQ(records_of(*a).size(), 1u + static_cast<std::size_t>((a->log_end_offset() - a->segments().back().base_offset).value));
  EXPECT_EQ(c.checkpoint(), fmt::format("0\n1\na 0 {}\n", a->segments().back().base_offset));
  auto b = c.log(kB);
  c.dirty(*a, a->segments().size() + 1);
  EXPECT_TRUE(c.cleaner().clean_once());
  EXPECT_EQ(c.cleaner().status(kB)->last_run->to, b->segments().back().base_offset) << "b was never cleaned: ratio 1";
  EXPECT_TRUE(c.cleaner().clean_once());
  EXPECT_FALSE(c.cleaner().clean_once());
  const CleanerStatus status = *c.cleaner().status(kA);
  EXPECT_EQ(status.verdict.decision, CleaningDecision::nothing_dirty);
  EXPECT_GT(status.saved_bytes, ByteCount{0});
  EXPECT_EQ(status.state, CleanerStatus::State::idle);
  EXPECT_TRUE(c.world.logger.contains("a-0: cleaned from offset 0 to"));
}

TEST(LogCleaner, LogsWithoutCompactAreNotItsBusiness) {
  Cleaning c;
  auto a = c.log(kA);
  LogConfig config = c.config;
  config.cleanup_compact = false;
  a->update_config(config);
  EXPECT_FALSE(c.cleaner().clean_once());
  EXPECT_TRUE(c.cleaner().statuses().empty());
}

TEST(LogCleaner, TheCheckpointOutlivesARestart) {
  Cleaning c;
  auto a = c.log(kA);
  EXPECT_TRUE(c.cleaner().clean_once());
  const std::string checkpoint = c.checkpoint();
  a.reset();
  c.manager->shut_down(1).value();
  c.start();
  EXPECT_FALSE(c.cleaner().clean_once());
  EXPECT_EQ(c.checkpoint(), checkpoint);
}

TEST(LogCleaner, ADamagedCheckpointCostsAPass) {
  Cleaning c;
  c.log(kA);
  put(*c.world.fs, "/d1/cleaner-offset-checkpoint", "0\nno number\n");
  EXPECT_TRUE(c.cleaner().clean_once());
  EXPECT_TRUE(c.world.logger.contains("dirty from their start"));
}

TEST(LogCleaner, ACheckpointAboveTheLogIsCorrected) {
  Cleaning c;
  auto a = c.log(kA);
  put(*c.world.fs, "/d1/cleaner-offset-checkpoint", "0\n1\na 0 9999\n");
  EXPECT_TRUE(c.cleaner().clean_once());
  EXPECT_EQ(c.checkpoint(), fmt::format("0\n1\na 0 {}\n", a->segments().back().base_offset));
  EXPECT_TRUE(c.world.logger.contains("checkpoint 9999 is not in the log"));
}

TEST(LogCleaner, ADeletedLogLeavesTheCheckpoint) {
  Cleaning c;
  c.log(kA);
  c.log(kB);
  EXPECT_TRUE(c.cleaner().clean_once());
  EXPECT_TRUE(c.cleaner().clean_once());
  c.manager->remove(kA).value();
  EXPECT_EQ(c.checkpoint().substr(0, 7), "0\n1\nb 0");
  EXPECT_FALSE(c.cleaner().status(kA).has_value());
  c.manager->remove(kB).value();
  EXPECT_EQ(c.checkpoint(), "0\n0\n");
}

TEST(LogCleaner, ATruncationLowersTheCheckpoint) {
  Cleaning c;
  auto a = c.log(kA, 5);
  EXPECT_TRUE(c.cleaner().clean_once());
  const Offset second = a->segments()[1].base_offset;
  c.manager->truncate_to(kA, second).value();
  EXPECT_EQ(c.checkpoint(), fmt::format("0\n1\na 0 {}\n", a->segments().back().base_offset));
  c.manager->truncate_fully_and_start_at(kA, {500}).value();
  EXPECT_EQ(a->log_start_offset(), Offset{500});
  EXPECT_EQ(c.manager->truncate_to({"none", {0}}, {0}).error().code, Errc::not_found);
}

TEST(LogCleaner, AFaultStopsOneLogAndIsTriedAgain) {
  Cleaning c;
  auto a = c.log(kA);
  auto b = c.log(kB);
  // A flipped bit in a record of a.
  const io::Path path = "/d1/a-0/00000000000000000000.log";
  std::string content = content_of(*c.world.fs, path);
  content[100] = static_cast<char>(content[100] ^ 1);
  put(*c.world.fs, path, content);
  EXPECT_FALSE(c.cleaner().clean_once());
  CleanerStatus status = *c.cleaner().status(kA);
  ASSERT_TRUE(status.last_error.has_value());
  EXPECT_EQ(status.last_error->code, Errc::corrupt);
  EXPECT_EQ(status.verdict.decision, CleaningDecision::waits_after_fault);
  EXPECT_TRUE(c.world.logger.contains("a-0 cannot be cleaned: "));
  EXPECT_TRUE(c.cleaner().clean_once());
  EXPECT_TRUE(c.cleaner().status(kB)->last_run.has_value()) << "b is cleaned all the same";
  EXPECT_FALSE(a->read({{0}, ByteCount{10}, true, ReadLimit::log_end})->range.size == ByteCount{0}) << "a is served";
  // Not before its time; then the second failure waits twice as long.
  c.world.clock.advance({59'999});
  EXPECT_FALSE(c.cleaner().clean_once());
  EXPECT_EQ(c.cleaner().status(kA)->faults_in_a_row, 1);
  c.world.clock.advance({1});
  EXPECT_FALSE(c.cleaner().clean_once());
  EXPECT_EQ(c.cleaner().status(kA)->faults_in_a_row, 2);
  EXPECT_EQ(c.cleaner().status(kA)->retry_at, c.world.clock.now() + DurationMs{120'000});
  // Mended.
  content[100] = static_cast<char>(content[100] ^ 1);
  put(*c.world.fs, path, content);
  c.world.clock.advance({120'000});
  EXPECT_TRUE(c.cleaner().clean_once());
  status = *c.cleaner().status(kA);
  EXPECT_FALSE(status.last_error.has_value());
  EXPECT_EQ(status.faults_in_a_row, 0);
}

TEST(LogCleaner, AFullDiskIsNoFailureOfTheDirectory) {
  Cleaning c;
  auto a = c.log(kA);
  a.reset();
  c.manager->shut_down(1).value();
  io::FaultyFileSystem faulty(*c.world.memory);
  c.world.fs = &faulty;
  c.start();
  a = c.manager->find(kA);
  a->set_high_watermark(a->log_end_offset());
  faulty.arm({.counted = io::FileCall::write, .fail_at = 1, .sys_errno = 28});
  EXPECT_FALSE(c.cleaner().clean_once());
  faulty.disarm();
  EXPECT_EQ(c.cleaner().status(kA)->last_error->code, Errc::no_space);
  EXPECT_FALSE(c.manager->directories()[0].offline.has_value());
  c.world.clock.advance({60'000});
  EXPECT_TRUE(c.cleaner().clean_once());

  // A failing disk is one.
  c.dirty(*a, a->segments().size() + 2);
  faulty.arm({.counted = io::FileCall::sync, .fail_at = 1});
  EXPECT_FALSE(c.cleaner().clean_once());
  faulty.disarm();
  EXPECT_TRUE(c.manager->directories()[0].offline.has_value());
  c.manager.reset();
}

TEST(LogCleaner, APausedLogIsLeftAlone) {
  Cleaning c;
  c.log(kA);
  c.cleaner().abort_and_pause(kA);
  c.cleaner().abort_and_pause(kA);
  EXPECT_FALSE(c.cleaner().clean_once());
  c.cleaner().resume(kA);
  EXPECT_FALSE(c.cleaner().clean_once());
  c.cleaner().resume(kA);
  EXPECT_TRUE(c.cleaner().clean_once());
}

// Kafka's interval of retention leaves compacted logs alone as well.
TEST(LogCleaner, RetentionOfACompactedLogIsTheCleanersWork) {
  Cleaning c;
  auto a = c.log(kA);
  const Offset second = a->segments()[1].base_offset;
  a->advance_log_start(second).value();
  c.manager->check_retention();
  EXPECT_EQ(a->segments().front().base_offset, Offset{0});
  c.cleaner().abort_and_pause(kA);
  c.cleaner().clean_once();
  EXPECT_EQ(a->segments().front().base_offset, Offset{0}) << "paused";
  c.cleaner().resume(kA);
  LogConfig never = a->config();
  never.min_cleanable_dirty_ratio = 1;
  a->update_config(never);
  EXPECT_FALSE(c.cleaner().clean_once());
  EXPECT_EQ(a->segments().front().base_offset, second) << "what lies below the log start goes whatever the policy";

  never.cleanup_delete = true;
  never.retention_ms = {1000};
  a->update_config(never);
  c.world.clock.advance({10'000});
  c.cleaner().clean_once();
  EXPECT_EQ(a->log_start_offset(), a->log_end_offset());
}

TEST(LogCleaner, RetentionGoesOnWithoutACleaner) {
  CleanerOptions off;
  off.enable = false;
  Cleaning c(off);
  auto a = c.log(kA);
  a->advance_log_start(a->segments()[1].base_offset).value();
  c.manager->check_retention();
  EXPECT_EQ(a->segments().front().base_offset, a->log_start_offset());
}

TEST(LogCleaner, RetentionThatFailsTakesTheDirectoryOffline) {
  Cleaning c;
  auto a = c.log(kA);
  a.reset();
  c.manager->shut_down(1).value();
  io::FaultyFileSystem faulty(*c.world.memory);
  c.world.fs = &faulty;
  c.config.min_cleanable_dirty_ratio = 1;
  c.start();
  a = c.manager->find(kA);
  a->set_high_watermark(a->log_end_offset());
  a->advance_log_start(a->segments()[1].base_offset).value();
  faulty.arm({.counted = io::FileCall::rename, .fail_at = 1});
  EXPECT_FALSE(c.cleaner().clean_once());
  faulty.disarm();
  EXPECT_TRUE(c.manager->directories()[0].offline.has_value());
  c.manager.reset();
}

// The executors live as long as the cleaner cleans.
TEST(LogCleaner, RunsOnItsExecutorsUntilItIsStopped) {
  CleanerOptions options;
  options.backoff = {1000};
  Cleaning c(options);
  auto a = c.log(kA);
  ManualExecutor* executor = nullptr;
  int made = 0;
  const auto factory = [&](int) {
    ++made;
    auto fresh = std::make_unique<ManualExecutor>(c.world.clock);
    executor = fresh.get();
    return fresh;
  };
  c.manager->start_cleaner(factory);
  EXPECT_EQ(made, 1);
  executor->run_ready();
  EXPECT_TRUE(c.cleaner().status(kA)->last_run.has_value());
  const Offset first = c.cleaner().status(kA)->last_run->to;
  c.dirty(*a, a->segments().size() + 1);
  c.world.clock.advance({999});
  executor->run_ready();
  EXPECT_EQ(c.cleaner().status(kA)->last_run->to, first);
  c.world.clock.advance({1});
  executor->run_ready();
  EXPECT_GT(c.cleaner().status(kA)->last_run->to, first);
  options.threads = 2;
  c.cleaner().reconfigure(options);
  EXPECT_EQ(made, 3);
  options.enable = false;
  c.cleaner().reconfigure(options);
  EXPECT_EQ(made, 3);
}

TEST(IoThrottle, SpreadsBytesOverTime) {
  ManualClock clock;
  IoThrottle throttle(clock, 1000);
  EXPECT_EQ(throttle.note({500}), DurationNs{500'000'000});
  clock.advance({500});
  EXPECT_EQ(throttle.note({0}), DurationNs{0});
  EXPECT_EQ(throttle.note({100}), DurationNs{100'000'000});
  EXPECT_EQ(throttle.note({100}), DurationNs{200'000'000}) << "the second thread waits behind the first";
  clock.advance({10'000});
  EXPECT_EQ(throttle.note({1000}), DurationNs{1'000'000'000}) << "idle time is not saved up";
  throttle.set_rate(DBL_MAX);
  EXPECT_EQ(throttle.note({INT64_MAX}), DurationNs{0});
}

TEST(LogCleaner, WaitsForItsTurnAtTheDisk) {
  World world;
  auto log = open_log(world, compacted());
  while (log->segments().size() < 4) append_keyed(*log, {{{"key", std::string(200, 'v'), world.clock.now()}}, {}});
  CleanerOptions options;
  options.io_max_bytes_per_second = 1000;
  LogCleaner::Owner owner;
  owner.logs = [&] { return std::vector<LogCleaner::ManagedLog>{{log, 0}}; };
  owner.directory_failed = [](std::size_t, const Error& why) { ADD_FAILURE() << why.message(); };
  DurationNs waited{0};
  owner.wait = [&](DurationNs how_long) {
    waited += how_long;
    world.clock.advance({how_long.value / 1'000'000 + 1});
  };
  LogCleaner cleaner(world.environment(), {"/data"}, options, owner);
  const ByteCount size = log->size() - log->segments().back().size;
  EXPECT_TRUE(cleaner.clean_once());
  // Read twice and partly written, at 1000 bytes a second.
  EXPECT_GE(waited.value, size.value * 2 * 1'000'000);
  EXPECT_LT(waited.value, size.value * 4 * 1'000'000);
}

}  // namespace
}  // namespace cordwood::storage
