#include "storage/group_commit.h"

#include <chrono>
#include <future>
#include <shared_mutex>
#include <map>
#include <set>

#include "io/faulty_file_system.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;
using namespace std::chrono_literals;

OpenOptions flush_every(std::int64_t messages) {
  OpenOptions options = small_segments();
  options.config.flush_messages = messages;
  return options;
}

AppendResult append_unflushed(PartitionLog& log, const BatchSpec& spec = {}) {
  ByteVector batch = make_batch(spec);
  return log.append_as_leader(batch, {0}, AppendOrigin::client, {}, DueFlush::by_caller);
}

std::shared_ptr<PartitionLog> open_at(World& world, const std::string& name, const OpenOptions& options) {
  return PartitionLog::open(world.environment(), "/data/" + name, {name, PartitionId{0}}, options).value();
}

bool is_sync_of_log(io::FileCall call, const std::string& subject) {
  return call == io::FileCall::sync && subject.ends_with(".log");
}

TEST(DueFlush, IsTheCallersWhenItWantsIt) {
  World world;
  auto log = open_log(world, flush_every(3));
  EXPECT_FALSE(append_unflushed(*log).flush_to);
  EXPECT_FALSE(append_unflushed(*log).flush_to);
  EXPECT_EQ(log->settled_end(), Offset{2}) << "nothing is due yet: seen at once, as in Kafka";
  EXPECT_EQ(append_unflushed(*log).flush_to, Offset{3});
  EXPECT_EQ(append_unflushed(*log).flush_to, Offset{4});
  EXPECT_EQ(log->settled_end(), Offset{0});
  ASSERT_TRUE(log->flush_records());
  EXPECT_EQ(log->settled_end(), Offset{4});
  EXPECT_EQ(log->recovery_point(), Offset{4});
  EXPECT_FALSE(append_unflushed(*log).flush_to);
  EXPECT_EQ(append(*log, {.records = 2}).flush_to, std::nullopt) << "flushed by the append itself";
  EXPECT_EQ(log->recovery_point(), Offset{7});
}

TEST(DueFlush, OfRecordsLeavesTheIndexOfTheActiveSegmentOut) {
  World world;
  io::FaultyFileSystem traced(*world.memory);
  world.fs = &traced;
  OpenOptions options = flush_every(1);
  options.config.segment_bytes = ByteCount{3000};
  auto log = open_log(world, options);
  for (int i = 0; i < 5; ++i) append_unflushed(*log, {.value_size = 100});
  ASSERT_TRUE(log->flush_records());
  traced.clear_trace();
  append_unflushed(*log, {.value_size = 100});
  traced.clear_trace();
  ASSERT_TRUE(log->flush_records());
  EXPECT_EQ(traced.trace(), std::vector<std::string>{"sync /data/t-0/00000000000000000000.log"});
  // A roll closes that segment: a checkpoint must not make it trusted before its index files are on the disk.
  while (log->segments().size() == 1) {
    append_unflushed(*log, {.value_size = 100});
    if (log->segments().size() == 1) log->flush_records().value();
  }
  const Offset base = log->segments().back().base_offset;
  ASSERT_EQ(log->recovery_point(), base);
  EXPECT_LT(log->recovery_point_to_checkpoint(), base);
  ASSERT_TRUE(log->flush());
  EXPECT_GE(log->recovery_point_to_checkpoint(), base);
}

// A flush that has looked at the segments, and an append that writes while it is under way: the flush may miss the bytes,
// the next one must not.
TEST(DueFlush, BesideAnAppendForgetsNothing) {
  World world;
  io::FaultyFileSystem gated(*world.memory);
  world.fs = &gated;
  auto log = open_log(world, flush_every(INT64_MAX));
  while (log->segments().size() == 1) append_unflushed(*log, {.value_size = 100});
  const std::string first = "/data/t-0/00000000000000000000.log";
  std::promise<void> flushing;
  std::promise<void> writing;
  std::future<void> flush;
  gated.before_each_call([&, writing_now = writing.get_future().share(), told = std::make_shared<std::atomic<int>>(0)](
                             io::FileCall call, const std::string& subject) {
    if (call == io::FileCall::sync && subject == first) {
      flushing.set_value();
      writing_now.wait();
    }
    if (call == io::FileCall::write && subject.find(".log") != std::string::npos && told->exchange(1) == 0) {
      writing.set_value();
      flush.wait();
    }
  });
  flush = std::async(std::launch::async, [&] { ASSERT_TRUE(log->flush()); });
  flushing.get_future().wait();
  append_unflushed(*log, {.value_size = 100});
  gated.before_each_call({});
  const Offset end = log->log_end_offset();
  ASSERT_TRUE(log->flush());
  EXPECT_EQ(log->recovery_point(), end);
  World after;
  after.memory = world.memory->crash_clone(3);
  after.fs = after.memory.get();
  EXPECT_EQ(open_log(after, small_segments(StopKind::unclean))->log_end_offset(), end);
}

TEST(GroupCommit, OneFlushForAllThatWaited) {
  World world;
  io::FaultyFileSystem gated(*world.memory);
  world.fs = &gated;
  auto log = open_log(world, flush_every(1));
  std::promise<void> disk;
  std::promise<void> at_disk;
  gated.before_each_call([&, done = disk.get_future().share(), seen = std::make_shared<std::atomic<int>>(0)](
                             io::FileCall call, const std::string& subject) {
    if (!is_sync_of_log(call, subject)) return;
    if (seen->fetch_add(1) == 0) at_disk.set_value();
    done.wait();
  });
  GroupCommit commits;
  std::atomic<int> called{0};
  const auto count = [&](const Result<void>& flushed) {
    EXPECT_TRUE(flushed);
    called.fetch_add(1);
  };
  append_unflushed(*log);
  commits.when_flushed(log, count);
  at_disk.get_future().wait();
  for (int i = 0; i < 10; ++i) {
    append_unflushed(*log);
    commits.when_flushed(log, count);
  }
  EXPECT_EQ(called.load(), 0);
  disk.set_value();
  commits.stop();
  EXPECT_EQ(called.load(), 11) << "stop() leaves nobody waiting";
  EXPECT_EQ(commits.flushes(), 2);
  EXPECT_EQ(log->recovery_point(), Offset{11});
  commits.when_flushed(log, [&](const Result<void>& flushed) {
    EXPECT_EQ(flushed.error().code, Errc::closed);
    called.fetch_add(1);
  });
  EXPECT_EQ(called.load(), 12);
}

TEST(GroupCommit, FlushesSeveralLogsAtATime) {
  World world;
  io::FaultyFileSystem gated(*world.memory);
  world.fs = &gated;
  std::vector<std::shared_ptr<PartitionLog>> logs;
  for (int i = 0; i < 4; ++i) logs.push_back(open_at(world, "t" + std::to_string(i), flush_every(1)));
  // Nobody leaves the disk before all four are at it.
  std::promise<void> all;
  gated.before_each_call([&, done = all.get_future().share(), at_disk = std::make_shared<std::atomic<int>>(0)](
                             io::FileCall call, const std::string& subject) {
    if (!is_sync_of_log(call, subject)) return;
    if (at_disk->fetch_add(1) == 3) all.set_value();
    EXPECT_EQ(done.wait_for(30s), std::future_status::ready);
  });
  GroupCommit commits(4);
  for (const auto& log : logs) {
    append_unflushed(*log);
    commits.when_flushed(log, [](const Result<void>& flushed) { EXPECT_TRUE(flushed); });
  }
  commits.stop();
  for (const auto& log : logs) EXPECT_EQ(log->recovery_point(), Offset{1});
}

TEST(GroupCommit, FailureIsToldToAllAndNotTriedAgain) {
  World world;
  io::FaultyFileSystem faulty(*world.memory);
  world.fs = &faulty;
  auto log = open_log(world, flush_every(1));
  int failures = 0;
  log->on_failure([&](const Error&) { ++failures; });
  append_unflushed(*log);
  faulty.arm({.counted = io::FileCall::sync, .fail_at = 1, .repeat = io::Fault::Repeat::from_then_on});
  GroupCommit commits;
  std::atomic<int> told{0};
  for (int i = 0; i < 3; ++i) {
    commits.when_flushed(log, [&](const Result<void>& flushed) {
      EXPECT_FALSE(flushed);
      told.fetch_add(1);
    });
  }
  commits.stop();
  EXPECT_EQ(told.load(), 3);
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(faulty.calls(), 1);
  EXPECT_EQ(log->settled_end(), Offset{0});
}

// The power goes right after an acknowledgement, again and again, while several threads append to several logs.
TEST(GroupCommit, WhatWasAcknowledgedSurvivesAPowerCut) {
  constexpr int kLogs = 3;
  constexpr int kThreads = 4;
  World world;
  world.fs->create_directories("/data").value();
  world.fs->sync_directory("/").value();
  std::vector<std::shared_ptr<PartitionLog>> logs;
  for (int i = 0; i < kLogs; ++i) logs.push_back(open_at(world, "t" + std::to_string(i), flush_every(1)));
  GroupCommit commits(2);
  std::mutex mu;
  std::shared_mutex cutting;  // the power goes between two stores through a mapping: a copy made during one is a race
  std::vector<std::pair<std::unique_ptr<io::MemFileSystem>, std::vector<Offset>>> cuts;
  std::vector<Offset> acknowledged(kLogs, Offset{0});
  const auto append_some = [&](int thread) {
    for (int i = 0; i < 30; ++i) {
      const auto index = static_cast<std::size_t>((thread + i) % kLogs);
      const AppendResult result = [&] {
        std::shared_lock no_cut(cutting);
        return append_unflushed(*logs[index], {.value_size = 60});
      }();
      ASSERT_TRUE(result.flush_to);
      std::promise<void> flushed;
      commits.when_flushed(logs[index], [&](const Result<void>& outcome) {
        ASSERT_TRUE(outcome);
        flushed.set_value();
      });
      flushed.get_future().wait();
      std::lock_guard lock(mu);
      acknowledged[index] = std::max(acknowledged[index], *result.flush_to);
      std::unique_lock cut(cutting);
      cuts.emplace_back(world.memory->crash_clone(cuts.size() + 1), acknowledged);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(append_some, i);
  for (std::thread& thread : threads) thread.join();
  commits.stop();
  EXPECT_EQ(cuts.size(), 120u);
  for (auto& [disk, promised] : cuts) {
    World after;
    after.memory = std::move(disk);
    after.fs = after.memory.get();
    for (int i = 0; i < kLogs; ++i) {
      auto log = open_at(after, "t" + std::to_string(i), small_segments(StopKind::unclean));
      ASSERT_GE(log->log_end_offset(), promised[static_cast<std::size_t>(i)]);
      Offset expected{0};
      for (const record::BatchHeader& header : read_all(*log, {0})) {
        const bool was_promised = expected < promised[static_cast<std::size_t>(i)];
        ASSERT_TRUE(!was_promised || header.base_offset == expected) << "a hole at " << expected.value;
        expected = header.next_offset();
      }
    }
  }
}

}  // namespace
}  // namespace cordwood::storage
