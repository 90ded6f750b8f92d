// Logs that are served while others recover, and what may happen to those meanwhile.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "storage/checkpoint_file.h"
#include "storage/directory_files.h"
#include "storage/log_manager.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

TopicPartition tp(std::string topic, int partition = 0) { return {std::move(topic), {partition}}; }

LogConfig config() {
  LogConfig config;
  config.segment_bytes = ByteCount{128 * KiB};
  config.segment_index_bytes = ByteCount{4 * KiB};
  return config;
}

// A disk so slow that it takes until open() before the log of a topic can be opened.
class SlowTopics {
 public:
  explicit SlowTopics(std::set<std::string> names) : names_(std::move(names)) {}
  void wait(const std::string& topic) {
    std::unique_lock lock(mu_);
    if (!names_.contains(topic)) return;
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !names_.contains(topic); });
  }
  void open() {
    std::lock_guard lock(mu_);
    names_.clear();
    changed_.notify_all();
  }
  void wait_for_visitors(int count) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  std::set<std::string> names_;
  int waiting_ = 0;
};

struct Loading {
  World world;
  std::unique_ptr<LogManager> manager;
  SlowTopics slow{{"slow"}};
  std::mutex mu;
  std::vector<std::string> late;

  LogManager::LoadCallbacks callbacks() {
    LogManager::LoadCallbacks callbacks;
    callbacks.config_of = [this](const std::string& topic) {
      slow.wait(topic);
      return config();
    };
    callbacks.grace = DurationMs{0};
    callbacks.loaded_late = [this](const TopicPartition& partition) {
      std::lock_guard lock(mu);
      late.push_back(partition.to_string());
    };
    return callbacks;
  }
  void open() {
    LogManagerOptions options;
    options.log_dirs = {"/d1"};
    manager = LogManager::open(world.environment(), options).value();
  }
  // Ends as a kill of the process would, with logs of several segments that must be recovered, and a small one.
  void fill(const std::vector<std::string>& large) {
    open();
    manager->load({}).value();
    for (const std::string& topic : large) {
      auto log = manager->get_or_create(tp(topic), Uuid{7, 7}, config()).value();
      for (int i = 0; i < 8; ++i) append(*log, {.value_size = 50'000});
    }
    append(*manager->get_or_create(tp("small"), Uuid{7, 7}, config()).value(), {});
    manager->write_checkpoints().value();
    manager->abandon();
    manager.reset();
    world.memory->sync_directory("/").value();  // the log directory itself is older than this
  }
  ~Loading() { slow.open(); }
};

// --- the crew ---

TEST(LoadCrew, QuickOnesComeFirstThenTheLongestAndUrgentOnesBefore) {
  SystemClock clock;
  const std::vector<std::pair<ByteCount, bool>> costs = {
      {{500 * MiB}, false}, {{0}, false}, {{2 * GiB}, false}, {{10 * MiB}, true}, {{1 * KiB}, false}, {{600 * MiB}, false}};
  std::vector<std::size_t> order;
  LoadCrew::Work work;
  work.survey = [&](std::size_t job) { return LoadCrew::Survey{costs[job].first, costs[job].second}; };
  work.load = [&](std::size_t job, LoadWatch& watch) {
    order.push_back(job);
    watch.checked(ByteCount{1 * KiB});
  };
  LoadCrew crew(1, costs.size(), work, clock);
  while (!crew.wait_a_moment()) {
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{1, 4, 3, 2, 5, 0}));
  const LoadProgress progress = crew.progress();
  EXPECT_EQ(progress.logs_done, 6u);
  EXPECT_TRUE(progress.all_surveyed);
  // What a cut took away counts as done.
  EXPECT_EQ(progress.bytes_done, progress.bytes_total);
  EXPECT_EQ(progress.bytes_total, ByteCount(500 * MiB + 2 * GiB + 10 * MiB + 1 * KiB + 600 * MiB));
}

TEST(LoadCrew, StopsBetweenJobs) {
  SystemClock clock;
  std::atomic<int> begun{0};
  LoadCrew::Work work;
  work.survey = [](std::size_t) { return LoadCrew::Survey{}; };
  work.load = [&](std::size_t, LoadWatch& watch) {
    ++begun;
    while (!watch.stop_requested()) std::this_thread::yield();
  };
  LoadCrew crew(2, 100, work, clock);
  while (begun < 2) std::this_thread::yield();
  EXPECT_FALSE(crew.quick_ones_are_done());
  crew.stop();
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(crew.progress().logs_done, 0u);
}

TEST(LoadProgress, SaysWhenItWillBeThrough) {
  LoadProgress progress{3, 10, {2'000'000'000}, {40'000'000'000}, false, {2'000'000'000}};
  EXPECT_EQ(progress.to_string(), "3 of 10 logs, 2.0 GB of 40.0 GB checked, 1.0 GB/s");
  progress.all_surveyed = true;
  EXPECT_EQ(progress.to_string(), "3 of 10 logs, 2.0 GB of 40.0 GB checked, 1.0 GB/s, about 38 s to go");
  progress.logs_done = 10;
  EXPECT_EQ(progress.to_string(), "10 of 10 logs, 2.0 GB of 40.0 GB checked, 1.0 GB/s");
}

// --- serving while one recovers ---

TEST(LogManagerLoading, OthersAreThereWhileOneRecovers) {
  Loading test;
  test.fill({"slow"});
  test.open();
  test.manager->load(test.callbacks()).value();
  EXPECT_TRUE(test.manager->find(tp("small")));
  EXPECT_FALSE(test.manager->find(tp("slow")));
  EXPECT_TRUE(test.manager->is_loading(tp("slow")));
  EXPECT_FALSE(test.manager->is_loading(tp("small")));
  EXPECT_EQ(test.manager->logs_loading(), 1u);
  append(*test.manager->find(tp("small")), {});
  const auto made = test.manager->get_or_create(tp("slow"), Uuid{7, 7}, config());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().what, "the log of slow-0 is still loading");

  test.slow.open();
  test.manager->finish_loading();
  EXPECT_EQ(test.late, std::vector<std::string>{"slow-0"});
  EXPECT_EQ(test.manager->logs_loading(), 0u);
  ASSERT_TRUE(test.manager->find(tp("slow")));
  EXPECT_EQ(test.manager->find(tp("slow"))->log_end_offset(), Offset{8});
  EXPECT_EQ(test.manager->get_or_create(tp("slow"), Uuid{7, 7}, config()).value(), test.manager->find(tp("slow")));
  test.manager->shut_down(1).value();
  EXPECT_TRUE(test.world.fs->exists("/d1/.kafka_cleanshutdown").value());
}

TEST(LogManagerLoading, CheckpointsKeepTheLinesOfLogsThatAreNotOpenYet) {
  Loading test;
  test.fill({"slow"});
  const auto line = [&](const char* file) {
    const OffsetsByPartition offsets = read_offset_checkpoint(*test.world.fs, io::join("/d1", file)).value();
    return offsets.contains(tp("slow")) ? offsets.at(tp("slow")) : Offset{-1};
  };
  OffsetsByPartition offsets = {{tp("slow"), Offset{3}}, {tp("small"), Offset{0}}};
  for (const char* file : {kRecoveryPointCheckpoint, kLogStartCheckpoint, kReplicationCheckpoint}) {
    write_offset_checkpoint(*test.world.fs, io::join("/d1", file), offsets).value();
  }
  test.open();
  test.manager->load(test.callbacks()).value();
  append(*test.manager->find(tp("small")), {});
  test.manager->write_checkpoints().value();
  for (const char* file : {kRecoveryPointCheckpoint, kLogStartCheckpoint, kReplicationCheckpoint}) {
    EXPECT_EQ(line(file), Offset{3}) << file;
  }
  // The end comes while the log is not open.
  std::thread stopper([&] { test.manager->shut_down(1).value(); });
  test.slow.open();
  stopper.join();
  // Either comes first: the stop, and the directory is not clean, or the log, and it was closed like all others.
  const bool was_opened = test.late == std::vector<std::string>{"slow-0"};
  EXPECT_EQ(test.world.fs->exists("/d1/.kafka_cleanshutdown").value(), was_opened);
  test.open();
  test.manager->load({}).value();
  EXPECT_EQ(test.manager->find(tp("slow"))->log_start_offset(), Offset{3});
  EXPECT_EQ(test.manager->find(tp("slow"))->log_end_offset(), Offset{8});
  EXPECT_EQ(test.manager->find(tp("small"))->log_end_offset(), Offset{2});
}

TEST(LogManagerLoading, AnInterruptedLoadKeepsWhatItRecovered) {
  Loading test;
  test.fill({"slow", "done"});
  test.open();
  auto callbacks = test.callbacks();
  callbacks.grace.reset();
  callbacks.stop_requested = [&] {
    if (!test.manager->find(tp("done"))) return false;
    EXPECT_GT(test.manager->find(tp("done"))->recovery().segments_recovered, 1);
    test.slow.open();
    return true;
  };
  const auto loaded = test.manager->load(callbacks);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Errc::closed);
  EXPECT_TRUE(loaded.error().what.starts_with("stopped while the logs were loading (")) << loaded.error().what;
  test.manager.reset();
  EXPECT_FALSE(test.world.fs->exists("/d1/.kafka_cleanshutdown").value());
  // A power cut afterwards takes nothing of it.
  auto after = test.world.memory->crash_clone(7);
  test.world.fs = after.get();
  test.open();
  test.manager->load({}).value();
  auto log = test.manager->find(tp("done"));
  EXPECT_EQ(log->log_end_offset(), Offset{8});
  EXPECT_EQ(log->recovery().segments_recovered, 1);  // the active one, as after any stop that is not clean
  test.manager->abandon();
}

TEST(LogManagerLoading, ALogMayBeRemovedBeforeItIsOpen) {
  Loading test;
  test.fill({"slow"});
  test.open();
  test.manager->load(test.callbacks()).value();
  test.slow.wait_for_visitors(1);
  test.manager->remove(tp("slow")).value();
  test.slow.open();
  test.manager->finish_loading();
  EXPECT_EQ(test.late, std::vector<std::string>{"slow-0"});
  EXPECT_FALSE(test.manager->find(tp("slow")));
  EXPECT_FALSE(test.manager->is_loading(tp("slow")));
  EXPECT_FALSE(test.world.fs->exists("/d1/slow-0").value());
  const auto names = names_in(*test.world.fs, "/d1");
  EXPECT_TRUE(std::ranges::any_of(names, [](const std::string& name) {
    return name.starts_with("slow-0.") && name.ends_with("-delete");
  }));
  EXPECT_EQ(test.manager->get_or_create(tp("slow"), Uuid{8, 8}, config()).value()->log_end_offset(), Offset{0});
  test.manager->shut_down(1).value();
  EXPECT_TRUE(test.world.fs->exists("/d1/.kafka_cleanshutdown").value());
}

TEST(LogManagerLoading, ALogMayBeRemovedBeforeAnybodyComesToIt) {
  // More than there are threads.
  const int count = static_cast<int>(std::max(2u, std::thread::hardware_concurrency())) + 2;
  Loading test;
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("t" + std::to_string(i));
  test.fill(names);
  SlowTopics all(std::set<std::string>(names.begin(), names.end()));
  test.open();
  auto callbacks = test.callbacks();
  callbacks.config_of = [&](const std::string& topic) {
    all.wait(topic);
    return config();
  };
  test.manager->load(callbacks).value();
  all.wait_for_visitors(count - 2);
  for (const std::string& name : names) test.manager->remove(tp(name)).value();
  all.open();
  test.manager->finish_loading();
  EXPECT_EQ(test.manager->logs_loading(), 0u);
  EXPECT_EQ(test.manager->all().size(), 1u);
  for (const std::string& name : names) EXPECT_FALSE(test.world.fs->exists("/d1/" + name + "-0").value());
  test.manager->shut_down(1).value();
}

TEST(LogManagerLoading, ALogThatFailsLaterIsNotReplacedByAnEmptyOne) {
  Loading test;
  test.fill({"slow"});
  auto file = test.world.fs->open("/d1/slow-0/00000000000000000000.log", io::OpenMode::read_write).value();
  file->truncate(ByteCount{2 * GiB}).value();  // longer than any segment
  test.open();
  test.manager->load(test.callbacks()).value();
  test.slow.open();
  test.manager->finish_loading();
  EXPECT_FALSE(test.manager->find(tp("slow")));
  EXPECT_FALSE(test.manager->is_loading(tp("slow")));
  EXPECT_TRUE(test.world.logger.contains("/d1/slow-0 cannot be opened and is not served"));
  EXPECT_EQ(test.manager->get_or_create(tp("slow"), Uuid{7, 7}, config()).error().what,
            "the log of slow-0 could not be opened");
  test.manager->shut_down(1).value();
  EXPECT_FALSE(test.world.fs->exists("/d1/.kafka_cleanshutdown").value());
}

// A kill leaves records in the page cache that no fsync has seen. Once a flush has moved the recovery point past them,
// a power cut must not take them.
TEST(LogManagerLoading, AFlushAfterARecoverySyncsWhatWasRecovered) {
  Loading test;
  test.fill({"a"});
  test.open();
  test.manager->load({}).value();
  test.manager->find(tp("a"))->flush().value();
  test.manager->write_checkpoints().value();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto after = test.world.memory->crash_clone(seed);
    World world;
    world.fs = after.get();
    LogManagerOptions options;
    options.log_dirs = {"/d1"};
    auto manager = LogManager::open(world.environment(), options).value();
    manager->load({}).value();
    ASSERT_EQ(manager->find(tp("a"))->log_end_offset(), Offset{8}) << "seed " << seed;
    EXPECT_EQ(read_all(*manager->find(tp("a")), Offset{0}).size(), 8u) << "seed " << seed;
    manager->abandon();
  }
  test.manager->abandon();
}

}  // namespace
}  // namespace cordwood::storage
