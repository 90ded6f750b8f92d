#include "storage/open_files.h"

#include <algorithm>
#include <cerrno>

#include "base/executor.h"
#include "io/faulty_file_system.h"
#include "storage/log_manager.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

struct Toy final : OpenFiles::Holder {
  bool take_used() override { return std::exchange(used, false); }
  bool has_unsynced() const override { return unsynced; }
  bool close_files() override {
    if (!closes) return false;
    open = false;
    return true;
  }
  bool used = false;
  bool unsynced = false;
  bool closes = true;
  bool open = true;
};

struct Toys {
  explicit Toys(std::size_t at_most) : files(at_most) {}
  std::shared_ptr<Toy> add(bool used = false, bool unsynced = false, bool closes = true) {
    auto toy = std::make_shared<Toy>();
    toy->used = used;
    toy->unsynced = unsynced;
    toy->closes = closes;
    all.push_back(toy);
    files.opened(toy);
    return toy;
  }
  std::vector<int> open() const {
    std::vector<int> numbers;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->open) numbers.push_back(static_cast<int>(i));
    }
    return numbers;
  }
  OpenFiles files;
  std::vector<std::shared_ptr<Toy>> all;
};

TEST(OpenFiles, OneTooManyClosesOneThatWasNotUsedLately) {
  Toys toys(3);
  toys.add(true);
  toys.add(false);
  toys.add(true);
  toys.add(true);
  EXPECT_EQ(toys.open(), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(toys.files.count(), 3u);
}

TEST(OpenFiles, UnsyncedOnesGoLast) {
  Toys toys(2);
  toys.add(false, true);
  toys.add(false, false);
  toys.add(true, true);
  EXPECT_EQ(toys.open(), (std::vector<int>{0, 2}));
  toys.add(true, true);
  EXPECT_EQ(toys.files.count(), 2u);
}

TEST(OpenFiles, WhatCannotBeClosedStaysKnown) {
  Toys toys(1);
  for (int i = 0; i < 3; ++i) toys.add(false, true, false);
  EXPECT_EQ(toys.files.count(), 3u);
  for (auto& toy : toys.all) toy->closes = true;
  toys.add();
  EXPECT_EQ(toys.files.count(), 1u);
}

TEST(OpenFiles, TheDeadAreForgotten) {
  Toys toys(2);
  toys.add();
  toys.add();
  toys.all.clear();
  auto live = toys.add();
  EXPECT_TRUE(live->open);
  EXPECT_EQ(toys.files.count(), 2u);
}

TEST(OpenFiles, RoomIsMadeOnceForAnActionThatRanOut) {
  Toys toys(100);
  for (int i = 0; i < 32; ++i) toys.add(true);
  int calls = 0;
  const auto action = [&]() -> Result<int> {
    if (++calls == 1) return system_error("open", EMFILE);
    return 7;
  };
  EXPECT_EQ(with_room(&toys.files, action).value(), 7);
  EXPECT_EQ(toys.files.count(), 28u);
  calls = 0;
  EXPECT_FALSE(with_room(nullptr, action));
  const auto broken = [&]() -> Result<int> { return system_error("open", EIO); };
  EXPECT_FALSE(with_room(&toys.files, broken));
  EXPECT_EQ(toys.files.count(), 28u);
}

TEST(OpenFiles, IdleOnesAreClosedAtTheSecondLook) {
  Toys toys(100);
  toys.add(true);
  toys.add(true, true);
  toys.files.close_idle(100);
  EXPECT_EQ(toys.open().size(), 2u);
  toys.all[0]->used = true;
  toys.files.close_idle(100);
  EXPECT_EQ(toys.open(), std::vector<int>{0});
  toys.files.close_idle(100);
  EXPECT_TRUE(toys.open().empty());
  EXPECT_EQ(toys.files.count(), 0u);
}

TEST(OpenFiles, NoMoreIdleOnesAreSyncedThanAllowed) {
  Toys toys(100);
  for (int i = 0; i < 5; ++i) toys.add(false, true);
  toys.add(false, false);
  toys.files.close_idle(0);
  EXPECT_EQ(toys.open(), (std::vector<int>{0, 1, 2, 3, 4}));
  toys.files.close_idle(2);
  EXPECT_EQ(toys.open().size(), 3u);
}

// --- segments ---

std::vector<std::shared_ptr<PartitionLog>> logs_with_a_batch(LogManager& manager, int count) {
  std::vector<std::shared_ptr<PartitionLog>> logs;
  for (int i = 0; i < count; ++i) {
    logs.push_back(manager.get_or_create({"t", {i}}, Uuid{7, 7}, small_segments().config).value());
    EXPECT_EQ(append(*logs.back(), {}).fault, AppendFault::none);
  }
  return logs;
}

TEST(OpenFilesOfLogs, AreBoundedWhileEveryLogIsWrittenAndRead) {
  World world;
  LogManagerOptions options;
  options.log_dirs = {"/d"};
  options.max_open_segments = 10;
  auto manager = LogManager::open(world.environment(), options).value();
  manager->load({}).value();
  auto logs = logs_with_a_batch(*manager, 100);
  for (int round = 0; round < 40; ++round) {
    for (auto& log : logs) {
      ASSERT_EQ(append(*log, {.producer_id = 5, .sequence = round, .transactional = true}).base_offset, Offset{round + 1});
    }
    EXPECT_LE(manager->open_segments(), 12u);
  }
  for (auto& log : logs) {
    EXPECT_GT(log->segments().size(), 1u);
    EXPECT_EQ(read_all(*log, Offset{0}).size(), 41u);
    append_marker(*log, 5, true);
    EXPECT_TRUE(log->find_by_timestamp({1'700'000'000'000}).value());
  }
  EXPECT_LE(manager->open_segments(), 12u);
  manager->shut_down(1).value();
  // Every byte is there, and so are the aborted transactions.
  manager = LogManager::open(world.environment(), options).value();
  manager->load({}).value();
  for (auto& log : manager->all()) {
    EXPECT_EQ(log->log_end_offset(), Offset{42});
    const ReadResult read = log->read({Offset{0}, ByteCount{500}, true, ReadLimit::last_stable}).value();
    EXPECT_EQ(read.aborted.size(), 1u);
  }
  EXPECT_LE(manager->open_segments(), 12u);
  manager->abandon();
}

// Closing a file that holds records which no fsync has seen must not let a later flush pass them over.
TEST(OpenFilesOfLogs, WhatWasClosedUnsyncedIsDurableAfterAFlush) {
  World world;
  LogManagerOptions options;
  options.log_dirs = {"/d"};
  options.max_open_segments = 1;
  auto manager = LogManager::open(world.environment(), options).value();
  manager->load({}).value();
  auto logs = logs_with_a_batch(*manager, 5);
  for (auto& log : logs) log->flush().value();
  manager->write_checkpoints().value();
  auto after = world.memory->crash_clone(3);
  World other;
  other.fs = after.get();
  auto again = LogManager::open(other.environment(), options).value();
  again->load({}).value();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(again->find({"t", {i}})->log_end_offset(), Offset{1});
  again->abandon();
  manager->abandon();
}

TEST(OpenFilesOfLogs, IdleLogsHoldNothing) {
  World world;
  ManualExecutor executor(world.clock);
  LogManagerOptions options;
  options.log_dirs = {"/d"};
  auto manager = LogManager::open(world.environment(), options).value();
  manager->load({}).value();
  manager->start_background(executor);
  auto logs = logs_with_a_batch(*manager, 20);
  EXPECT_EQ(manager->open_segments(), 20u);
  for (int i = 0; i < 2; ++i) {
    append(*logs[3], {});
    world.clock.advance(LogManager::kIdleCheckInterval);
    executor.run_ready();
  }
  EXPECT_EQ(manager->open_segments(), 1u);
  for (auto& log : logs) EXPECT_EQ(append(*log, {}).fault, AppendFault::none);
  manager->abandon();
}

// Descriptors that are all taken by others are no reason to give a log, or a disk, up.
TEST(OpenFilesOfLogs, RunningOutOfDescriptorsIsSurvived) {
  World world;
  io::FaultyFileSystem faulty(*world.memory);
  world.fs = &faulty;
  LogManagerOptions options;
  options.log_dirs = {"/d"};
  options.max_open_segments = 1;
  auto manager = LogManager::open(world.environment(), options).value();
  manager->load({}).value();
  auto logs = logs_with_a_batch(*manager, 4);
  faulty.arm({.counted = io::FileCall::open, .fail_at = 1, .repeat = io::Fault::Repeat::from_then_on, .sys_errno = EMFILE});
  EXPECT_EQ(append(*logs[0], {}).fault, AppendFault::storage_error);
  EXPECT_EQ(append(*logs[1], {}).fault, AppendFault::storage_error);
  EXPECT_FALSE(logs[0]->read({Offset{0}, ByteCount{1000}, true, ReadLimit::log_end}));
  faulty.disarm();
  EXPECT_FALSE(manager->directories()[0].offline);
  EXPECT_TRUE(world.logger.contains("this process has no descriptor or mapping left"));
  for (auto& log : logs) {
    EXPECT_EQ(append(*log, {}).base_offset, Offset{1});
    EXPECT_EQ(read_all(*log, Offset{0}).size(), 2u);
  }
  manager->shut_down(1).value();
}

}  // namespace
}  // namespace cordwood::storage
