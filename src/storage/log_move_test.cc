#include "storage/log_move.h"

#include <future>
#include <thread>

#include "io/faulty_file_system.h"
#include "storage/log_manager.h"
#include "storage/log_mover.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

constexpr ByteCount kAll{1 * GiB};
constexpr const char* kFuture = "/other/t-0.0123456789abcdef0123456789abcdef-future";
constexpr const char* kTarget = "/other/t-0";
constexpr const char* kOld = "/data/t-0.0123456789abcdef0123456789abcdef-delete";

LogCopy copy_to(const io::Path& directory) {
  LogCopy copy;
  copy.directory = directory;
  return copy;
}

std::shared_ptr<PartitionLog> filled_log(World& world, int batches = 25) {
  for (const char* directory : {"/data", "/other"}) world.fs->create_directories(directory).value();
  world.fs->sync_directory("/").value();
  auto log = open_log(world, small_segments());
  log->set_topic_id({4, 4}).value();
  for (int i = 0; i < batches; ++i) {
    append(*log, {.records = 2, .timestamp = {1'700'000'000'000 + i}, .producer_id = 7, .sequence = 2 * i});
  }
  return log;
}

TEST(LogMove, TakesEverythingAlong) {
  World world;
  auto log = filled_log(world);
  log->advance_log_start({3}).value();
  const auto before = read_all(*log, {3});
  const auto producers = log->active_producers();
  LogCopy copy = copy_to(kFuture);
  EXPECT_EQ(log->copy_into(copy, kAll).value(), ByteCount{0});
  // A move in small steps, and appends between them.
  append(*log, {.timestamp = {1'700'000'001'000}, .producer_id = 7, .sequence = 50});
  EXPECT_EQ(log->move_into(copy, kTarget, kOld, ByteCount{10}).error().code, Errc::limit);
  EXPECT_EQ(log->directory(), kDirectory);
  ASSERT_TRUE(log->move_into(copy, kTarget, kOld, ByteCount{1000}));
  EXPECT_EQ(log->directory(), kTarget);
  EXPECT_FALSE(world.fs->exists(kDirectory).value());
  EXPECT_FALSE(world.fs->exists(kFuture).value());
  EXPECT_TRUE(world.fs->exists(kOld).value());

  // It goes on.
  append(*log, {.timestamp = {1'700'000'002'000}, .producer_id = 7, .sequence = 51});
  EXPECT_EQ(log->log_start_offset(), Offset{3});
  EXPECT_EQ(log->log_end_offset(), Offset{52});
  const auto after = read_all(*log, {3});
  ASSERT_EQ(after.size(), before.size() + 2);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  EXPECT_EQ(log->find_by_timestamp({1'700'000'001'000}).value()->offset, Offset{50});
  EXPECT_EQ(log->active_producers().size(), producers.size());
  EXPECT_EQ(log->topic_id(), (Uuid{4, 4}));
  log->close_cleanly().value();
  log.reset();
  for (const StopKind stop : {StopKind::clean, StopKind::unclean}) {
    auto again = open_log(world, small_segments(stop), kTarget);
    EXPECT_EQ(read_all(*again, {0}).size(), 27u);
    EXPECT_EQ(again->topic_id(), (Uuid{4, 4}));
    EXPECT_EQ(append(*again, {.timestamp = {1'700'000'002'000}, .producer_id = 7, .sequence = 51}).duplicate, true);
  }
}

TEST(LogMove, WhatRecoveryKeptGoesAlong) {
  World world;
  auto log = filled_log(world);
  const ByteVector kept(40, std::byte{7});
  world.fs->create_directories("/data/t-0/damaged/cut-000001").value();
  io::write_file_atomically(*world.fs, "/data/t-0/damaged/cut-000001/report.txt", kept).value();
  io::write_file_atomically(*world.fs, "/data/t-0/damaged/00000000000000000000.index", kept).value();
  LogCopy copy = copy_to(kFuture);
  ASSERT_EQ(log->copy_into(copy, kAll).value(), ByteCount{0});
  // As a restart in the middle begins anew, over what is there.
  copy = copy_to(kFuture);
  ASSERT_EQ(log->copy_into(copy, kAll).value(), ByteCount{0});
  ASSERT_TRUE(log->move_into(copy, kTarget, kOld, ByteCount{1000}));
  world.fs->remove_directory_tree(kOld).value();
  EXPECT_EQ(io::read_file(*world.fs, "/other/t-0/damaged/cut-000001/report.txt").value(), kept);
  EXPECT_EQ(io::read_file(*world.fs, "/other/t-0/damaged/00000000000000000000.index").value(), kept);
}

TEST(LogMove, StepsAreAsSmallAsAsked) {
  World world;
  auto log = filled_log(world);
  LogCopy copy = copy_to(kFuture);
  ByteCount missing = log->copy_into(copy, ByteCount{100}).value();
  EXPECT_EQ(missing, ByteCount{log->size().value - 100});
  int steps = 1;
  while (missing > ByteCount{0}) {
    const ByteCount left = log->copy_into(copy, ByteCount{100}).value();
    EXPECT_GE(left.value, missing.value - 100);
    missing = left;
    ++steps;
  }
  EXPECT_EQ(steps, (log->size().value + 99) / 100);
}

TEST(LogMove, FollowsRetentionAndTruncation) {
  World world;
  auto log = filled_log(world);
  LogCopy copy = copy_to(kFuture);
  log->copy_into(copy, kAll).value();
  log->advance_log_start({20}).value();
  log->apply_retention(world.clock.now()).value();
  log->truncate_to({40}).value();
  for (int i = 0; i < 3; ++i) append(*log, {.timestamp = {1'700'000'009'000}, .value_size = 33});
  EXPECT_EQ(log->move_into(copy, kTarget, kOld, kAll).error().code, Errc::limit) << "what was copied counts no more";
  EXPECT_EQ(log->copy_into(copy, kAll).value(), ByteCount{0});
  ASSERT_TRUE(log->move_into(copy, kTarget, kOld, kAll));
  const auto headers = read_all(*log, log->log_start_offset());
  log.reset();
  auto again = open_log(world, small_segments(StopKind::unclean), kTarget);
  EXPECT_EQ(read_all(*again, again->log_start_offset()).back(), headers.back());
  EXPECT_GE(again->log_start_offset(), Offset{10});
  std::size_t logs = 0;
  for (const std::string& name : names_in(*world.fs, kTarget)) logs += name.ends_with(".log");
  EXPECT_EQ(logs, again->segments().size()) << "nothing of the segments that went is left";
}

// The power goes at each call of a move: one whole log is left, under its name or as a copy that may take it.
TEST(LogMove, PowerCutAtEachStepLeavesOneWholeLog) {
  int promoted = 0;
  int seen_calls = 0;
  for (std::int64_t n = 1;; ++n) {
    World world;
    auto log = filled_log(world);
    log->flush().value();
    const auto expected = read_all(*log, {0});
    std::unique_ptr<io::MemFileSystem> disk;
    io::FaultyFileSystem counted(*world.memory);
    World moving;
    moving.fs = &counted;
    log.reset();
    moving.memory.reset();
    log = PartitionLog::open(moving.environment(), kDirectory, {"t", PartitionId{0}}, small_segments(StopKind::unclean)).value();
    std::int64_t calls = 0;
    counted.before_each_call([&](io::FileCall call, const std::string&) {
      if (io::contains(io::FileCall::changing, call) && ++calls == n) disk = world.memory->crash_clone(static_cast<std::uint64_t>(n));
    });
    LogCopy copy = copy_to(kFuture);
    ASSERT_EQ(log->copy_into(copy, kAll).value(), ByteCount{0});
    ASSERT_TRUE(log->move_into(copy, kTarget, kOld, kAll));
    counted.before_each_call({});
    if (!disk) break;
    ++seen_calls;
    SCOPED_TRACE(testing::Message() << "call " << n);
    World after;
    after.memory = std::move(disk);
    after.fs = after.memory.get();
    LogManagerOptions options;
    options.log_dirs = {"/data", "/other"};
    auto manager = LogManager::open(after.environment(), options).value();
    LogManager::LoadCallbacks callbacks;
    callbacks.config_of = [](const std::string&) { return small_segments().config; };
    Result<void> loaded = manager->load(callbacks);
    ASSERT_TRUE(loaded) << loaded.error().message();
    auto found = manager->find({"t", PartitionId{0}});
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(read_all(*found, {0}), expected);
    if (found->directory() == kTarget && !after.fs->exists(kFuture).value()) ++promoted;
    ASSERT_LT(n, 1000);
  }
  EXPECT_GT(seen_calls, 20);
  EXPECT_GT(promoted, 0);
}

// Each call fails: the move fails or succeeds, and the log is whole either way.
TEST(LogMove, ErrorAtEachStepLeavesTheLogWhole) {
  for (std::int64_t n = 1;; ++n) {
    SCOPED_TRACE(testing::Message() << "call " << n);
    World world;
    io::FaultyFileSystem faulty(*world.memory);
    world.fs = &faulty;
    auto log = filled_log(world);
    const auto expected = read_all(*log, {0});
    faulty.arm({.counted = io::FileCall::changing, .fail_at = n});
    LogCopy copy = copy_to(kFuture);
    bool moved = false;
    if (log->copy_into(copy, kAll)) moved = log->move_into(copy, kTarget, kOld, kAll).has_value();
    const bool failed = faulty.has_failed();
    faulty.disarm();
    EXPECT_EQ(read_all(*log, {0}), expected);
    log.reset();
    const bool at_target = world.memory->exists(kTarget).value();
    EXPECT_NE(at_target, world.memory->exists(kDirectory).value()) << "one of the two";
    EXPECT_TRUE(!moved || at_target);
    auto again = open_log(world, small_segments(StopKind::unclean), at_target ? kTarget : kDirectory);
    EXPECT_EQ(read_all(*again, {0}), expected);
    if (!failed) break;
    ASSERT_LT(n, 1000);
  }
}

// --- LogMover ---

class LogMoverTest : public ::testing::Test {
 protected:
  LogMoverTest() {
    LogManagerOptions options;
    options.log_dirs = {"/d1", "/d2"};
    logs_ = LogManager::open(world_.environment(), options).value();
    logs_->format("c", NodeId{1}).value();
    logs_->load({}).value();
    LogConfig config;
    config.segment_bytes = {1000};
    log_ = logs_->get_or_create(kName, {4, 4}, config, logs_->directories()[0].id).value();
    for (int i = 0; i < 30; ++i) append(*log_, {});
    logs_->start_background(executor_);
  }
  void wait_until_over(LogMover& mover) {
    while (!mover.moves().empty()) std::this_thread::yield();
  }
  // Of which there is too much to recover for a start to wait for it.
  void add_slow_log() {
    const auto log = logs_->get_or_create(slow_, {6, 6}, LogConfig(), logs_->directories()[0].id).value();
    for (int i = 0; i < 8; ++i) append(*log, {.value_size = 50'000});
  }
  // An unclean stop with half a copy of the slow log in the other directory: its path.
  io::Path restart_amid_the_move_of_a_slow_log() {
    log_.reset();
    add_slow_log();
    logs_->abandon();
    const io::Path copy = "/d2/s-0.0123456789abcdef0123456789abcdef-future";
    put(*world_.fs, copy + "/00000000000000000000.log", "half a batch");
    LogManagerOptions options;
    options.log_dirs = {"/d1", "/d2"};
    logs_ = LogManager::open(world_.environment(), options).value();
    return copy;
  }
  const TopicPartition kName{"t", PartitionId{0}};
  const TopicPartition slow_{"s", PartitionId{0}};
  World world_;
  ManualExecutor executor_{world_.clock};
  std::unique_ptr<LogManager> logs_;
  std::shared_ptr<PartitionLog> log_;
};

TEST_F(LogMoverTest, MovesBesideAppends) {
  std::vector<std::pair<TopicPartition, Uuid>> moved;
  LogMover mover(world_.environment(), *logs_, [&](const TopicPartition& partition, Uuid to) { moved.emplace_back(partition, to); });
  EXPECT_EQ(mover.move({"nope", PartitionId{0}}, 1).error().code, Errc::not_found);
  ASSERT_TRUE(mover.move(kName, 0)) << "it lies there";
  EXPECT_TRUE(mover.moves().empty());
  log_->advance_log_start({5}).value();
  ASSERT_TRUE(mover.move(kName, 1));
  for (int i = 0; i < 200; ++i) ASSERT_EQ(append(*log_, {}).base_offset, Offset{30 + i});
  wait_until_over(mover);
  mover.stop();
  EXPECT_EQ(moved, (std::vector<std::pair<TopicPartition, Uuid>>{{kName, logs_->directories()[1].id}}));
  EXPECT_EQ(log_->directory(), "/d2/t-0");
  EXPECT_EQ(logs_->directory_of(kName), logs_->directories()[1].id);
  EXPECT_EQ(read_all(*log_, {5}).size(), 225u);
  // The old one goes after file.delete.delay.ms.
  const auto left = [&] {
    std::size_t count = 0;
    for (const std::string& name : names_in(*world_.fs, "/d1")) count += name.starts_with("t-0");
    return count;
  };
  EXPECT_EQ(left(), 1u);
  world_.clock.advance({60'000});
  executor_.run_ready();
  EXPECT_EQ(left(), 0u);
  logs_->shut_down(1).value();
  EXPECT_NE(content_of(*world_.fs, "/d2/log-start-offset-checkpoint").find("t 0 5"), std::string::npos);
  EXPECT_EQ(content_of(*world_.fs, "/d1/recovery-point-offset-checkpoint").find("t 0"), std::string::npos);
}

TEST_F(LogMoverTest, GivenUpAndBegunAnew) {
  {
    LogMover stopped(world_.environment(), *logs_, [](const TopicPartition&, Uuid) { FAIL(); });
    stopped.stop();
    EXPECT_EQ(stopped.move(kName, 1).error().code, Errc::closed);
  }
  // What a kill leaves: a copy beside the log.
  logs_->shut_down(1).value();
  put(*world_.fs, "/d2/t-0.0123456789abcdef0123456789abcdef-future/00000000000000000000.log", "half a batch");
  LogManagerOptions options;
  options.log_dirs = {"/d1", "/d2"};
  logs_.reset();
  logs_ = LogManager::open(world_.environment(), options).value();
  logs_->load({}).value();
  ASSERT_EQ(logs_->unfinished_moves().size(), 1u);
  EXPECT_EQ(logs_->unfinished_moves()[0].to, 1u);
  log_ = logs_->find(kName);
  EXPECT_EQ(log_->directory(), "/d1/t-0");
  LogMover mover(world_.environment(), *logs_, [](const TopicPartition&, Uuid) {});
  mover.go_on(logs_->unfinished_moves());
  wait_until_over(mover);
  EXPECT_EQ(log_->directory(), "/d2/t-0");
  EXPECT_EQ(read_all(*log_, {0}).size(), 30u);
}

// Of a log in a directory that log.dirs does not name any more, as when a dying disk was to be emptied.
TEST_F(LogMoverTest, AnUnfinishedCopyNeverBecomesTheLog) {
  const io::Path copy = "/d2/t-0.0123456789abcdef0123456789abcdef-future";
  LogCopy under_way;
  under_way.directory = copy;
  log_->flush().value();
  EXPECT_GT(log_->copy_into(under_way, ByteCount{500}).value(), ByteCount{0});
  under_way.parts.clear();
  logs_->shut_down(1).value();
  logs_.reset();
  LogManagerOptions options;
  options.log_dirs = {"/d2"};
  logs_ = LogManager::open(world_.environment(), options).value();
  logs_->load({}).value();
  EXPECT_EQ(logs_->find(kName), nullptr);
  EXPECT_TRUE(logs_->unfinished_moves().empty());
  EXPECT_TRUE(world_.fs->exists(copy).value());
  logs_->shut_down(2).value();
  logs_.reset();
  options.log_dirs = {"/d1", "/d2"};
  logs_ = LogManager::open(world_.environment(), options).value();
  logs_->load({}).value();
  EXPECT_EQ(logs_->unfinished_moves().size(), 1u);
  EXPECT_EQ(read_all(*logs_->find(kName), {0}).size(), 30u);
}

// A move that a restart interrupted, of a log that takes its time to load, waits for that and holds up no other one.
TEST_F(LogMoverTest, GoesOnOnceTheLogIsOpen) {
  const TopicPartition other{"u", PartitionId{0}};
  append(*logs_->get_or_create(other, {5, 5}, LogConfig(), logs_->directories()[0].id).value(), {});
  const io::Path copy = restart_amid_the_move_of_a_slow_log();
  std::vector<TopicPartition> moved;
  LogMover mover(world_.environment(), *logs_, [&](const TopicPartition& partition, Uuid) { moved.push_back(partition); });
  std::promise<void> disk_answers;
  LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [&, answer = disk_answers.get_future().share()](const std::string& topic) {
    if (topic == "s") answer.wait();
    return LogConfig();
  };
  callbacks.grace = DurationMs{0};
  callbacks.loaded_late = [&](const TopicPartition& partition) { mover.log_loaded(partition); };
  logs_->load(callbacks).value();
  ASSERT_TRUE(logs_->is_loading(slow_));
  mover.go_on(logs_->unfinished_moves());
  while (!logs_->find(other)) std::this_thread::yield();
  ASSERT_TRUE(mover.move(other, 1));
  while (mover.moves().size() > 1) std::this_thread::yield();
  EXPECT_EQ(logs_->find(other)->directory(), "/d2/u-0");
  EXPECT_EQ(mover.moves().at(0).partition, slow_);
  EXPECT_TRUE(world_.fs->exists(copy).value());
  disk_answers.set_value();
  wait_until_over(mover);
  mover.stop();
  EXPECT_EQ(moved, (std::vector<TopicPartition>{other, slow_}));
  EXPECT_EQ(logs_->find(slow_)->directory(), "/d2/s-0");
  EXPECT_EQ(read_all(*logs_->find(slow_), {0}).size(), 8u);
  EXPECT_FALSE(world_.fs->exists(copy).value());
}

// Apache Kafka takes what has that file for a log, and would lose what is missing in it.
TEST_F(LogMoverTest, ACopyHasNoPartitionMetadataBeforeItIsComplete) {
  const io::Path directory = "/d2/t-0.0123456789abcdef0123456789abcdef-future";
  put(*world_.fs, directory + "/00000000000000000000.log", "left by a move that failed in its last step");
  put(*world_.fs, directory + "/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAQAAAAAAAAABA\n");
  io::FaultyFileSystem traced(*world_.memory);
  LogCopy copy;
  copy.directory = directory;
  log_->flush().value();
  // Of the two files the one that counts goes first, and for good.
  mark_unfinished(traced, directory).value();
  EXPECT_EQ(traced.trace(), (std::vector<std::string>{"remove " + directory + "/partition.metadata", "sync_directory " + directory}));
  mark_unfinished(traced, directory).value();
  put(*world_.fs, directory + "/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAQAAAAAAAAABA\n");
  while (log_->copy_into(copy, ByteCount{500}).value() > ByteCount{0}) {
    EXPECT_FALSE(world_.fs->exists(directory + "/partition.metadata").value());
  }
  EXPECT_FALSE(world_.fs->exists(directory + "/partition.metadata").value());
  logs_->relocate(kName, 1, copy).value();
  EXPECT_TRUE(world_.fs->exists("/d2/t-0/partition.metadata").value());
}

// It is given up while it waits: the copy goes at once.
TEST_F(LogMoverTest, AMoveThatWaitsForItsLogCanBeGivenUpByARemoval) {
  const io::Path copy = restart_amid_the_move_of_a_slow_log();
  LogMover mover(world_.environment(), *logs_, [](const TopicPartition&, Uuid) { FAIL(); });
  std::promise<void> disk_answers;
  LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [answer = disk_answers.get_future().share()](const std::string& topic) {
    if (topic == "s") answer.wait();
    return LogConfig();
  };
  callbacks.grace = DurationMs{0};
  callbacks.loaded_late = [&](const TopicPartition& partition) { mover.log_loaded(partition); };
  logs_->load(callbacks).value();
  mover.go_on(logs_->unfinished_moves());
  logs_->remove(slow_).value();
  disk_answers.set_value();
  wait_until_over(mover);
  mover.stop();
  EXPECT_EQ(logs_->find(slow_), nullptr);
  EXPECT_FALSE(world_.fs->exists(copy).value());
}

TEST_F(LogMoverTest, CopyWithoutItsLogIsOnlyTrustedWhenNothingIsMissing) {
  logs_->shut_down(1).value();
  logs_.reset();
  world_.fs->rename("/d1/t-0", "/d2/t-0.0123456789abcdef0123456789abcdef-future").value();
  LogManagerOptions options;
  options.log_dirs = {"/d1", "/d2"};
  io::FaultyFileSystem faulty(*world_.memory);
  world_.fs = &faulty;
  // The first directory cannot be locked, so the log may be there.
  faulty.arm({.counted = io::FileCall::open, .fail_at = 1});
  logs_ = LogManager::open(world_.environment(), options).value();
  faulty.disarm();
  logs_->load({}).value();
  EXPECT_EQ(logs_->find(kName), nullptr);
  EXPECT_TRUE(faulty.exists("/d2/t-0.0123456789abcdef0123456789abcdef-future").value());
  logs_.reset();
  logs_ = LogManager::open(world_.environment(), options).value();
  logs_->load({}).value();
  ASSERT_NE(logs_->find(kName), nullptr);
  EXPECT_EQ(logs_->find(kName)->directory(), "/d2/t-0");
  EXPECT_EQ(read_all(*logs_->find(kName), {0}).size(), 30u);
}

}  // namespace
}  // namespace cordwood::storage
