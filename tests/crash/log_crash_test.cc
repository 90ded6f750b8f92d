// Nothing acknowledged is lost, at whatever instant the power goes: a log over a file system that knows what was synced
// is cut off at many instants, recovered, and compared with what had been promised.
#include <algorithm>

#include "storage/directory_files.h"
#include "storage/log_manager.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

// What a log had taken, and up to where it had promised durability.
struct Promise {
  std::vector<record::BatchHeader> appended;
  Offset durable_end{0};
};

std::unique_ptr<World> world_over(std::unique_ptr<io::MemFileSystem> fs) {
  auto world = std::make_unique<World>();
  world->memory = std::move(fs);
  world->fs = world->memory.get();
  return world;
}

// What is there is what was appended, without a hole: but for one where an unflushed segment ends and the next begins.
// Of two segments that no flush has reached, the disk may have kept the later one. Kafka cannot tell such a hole from
// one that compaction made, and keeps what is behind it; nor can we.
void expect_appended(const PartitionLog& log, const Promise& promise) {
  std::vector<Offset> bases;
  for (const SegmentInfo& segment : log.segments()) bases.push_back(segment.base_offset);
  std::size_t expected = 0;
  for (const record::BatchHeader& header : read_all(log, log.log_start_offset())) {
    while (expected < promise.appended.size() && promise.appended[expected].base_offset < header.base_offset) {
      ASSERT_GE(promise.appended[expected].base_offset, promise.durable_end) << "flushed, and gone";
      ASSERT_NE(std::ranges::find(bases, header.base_offset), bases.end()) << "a hole inside a segment";
      ++expected;
    }
    ASSERT_LT(expected, promise.appended.size());
    ASSERT_EQ(header, promise.appended[expected]);
    ++expected;
  }
  ASSERT_GE(log.log_end_offset(), promise.durable_end);
}

// The same, and the log can go on.
void expect_usable(PartitionLog& log, const Promise& promise) {
  expect_appended(log, promise);
  ASSERT_LE(log.recovery_point(), log.log_end_offset());
  const Offset end = log.log_end_offset();
  ASSERT_EQ(append(log, {}).base_offset, end);
}

OpenOptions unclean(const OpenOptions& options, Offset recovery_point) {
  OpenOptions changed = options;
  changed.last_stop = StopKind::unclean;
  changed.recovery_point_checkpoint = recovery_point;
  return changed;
}

TEST(LogCrash, KeepsEverythingFlushed) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world;
    SeededRandom random(seed);
    OpenOptions options = small_segments();
    world.fs->create_directories("/data").value();
    world.memory->sync_everything();
    auto log = open_log(world, options);
    Promise promise;
    Offset checkpointed{0};
    std::int32_t sequence = 0;
    for (int step = 0; step < 60; ++step) {
      const bool idempotent = random.below(3) == 0;
      const int records = 1 + static_cast<int>(random.below(3));
      const AppendResult result = append(*log, {.records = records,
                                                .timestamp = world.clock.now(),
                                                .producer_id = idempotent ? 5 : -1,
                                                .sequence = sequence,
                                                .value_size = random.below(100)},
                                         AppendOrigin::client, {step / 20});
      ASSERT_EQ(result.fault, AppendFault::none);
      if (idempotent) sequence += records;
      promise.appended = read_all(*log, {0});
      if (random.below(4) == 0) {
        log->flush().value();
        promise.durable_end = log->log_end_offset();
      }
      if (random.below(6) == 0) checkpointed = log->recovery_point_to_checkpoint();
      if (random.below(5) != 0) continue;

      // The checkpoint file is of its own: it may be older than the recovery point, never newer than what was synced.
      std::unique_ptr<World> after = world_over(world.memory->crash_clone(seed * 1000 + static_cast<std::uint64_t>(step)));
      auto recovered = open_log(*after, unclean(options, checkpointed));
      expect_usable(*recovered, promise);
      if (testing::Test::HasFatalFailure()) return;
      // What a producer sent last is known again, as far as its batches are there.
      for (const ProducerEntry& producer : recovered->active_producers()) EXPECT_EQ(producer.producer_id, 5);
    }
  }
}

TEST(LogCrash, RecoveryMayItselfBeCutOff) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world;
    world.fs->create_directories("/data").value();
    world.memory->sync_everything();
    const OpenOptions options = small_segments();
    auto log = open_log(world, options);
    Promise promise;
    for (int i = 0; i < 40; ++i) append(*log, {.timestamp = world.clock.now(), .producer_id = 1, .sequence = i});
    log->flush().value();
    promise.durable_end = log->log_end_offset();
    for (int i = 40; i < 60; ++i) append(*log, {.timestamp = world.clock.now(), .producer_id = 1, .sequence = i});
    promise.appended = read_all(*log, {0});
    std::unique_ptr<World> current = world_over(world.memory->crash_clone(seed));
    for (std::uint64_t again = 0; again < 5; ++again) {
      auto recovered = PartitionLog::open(current->environment(), kDirectory, {"t", PartitionId{0}}, unclean(options, {0}));
      ASSERT_TRUE(recovered) << recovered.error().message();
      current = world_over(current->memory->crash_clone(seed * 100 + again));
    }
    expect_usable(*open_log(*current, unclean(options, {0})), promise);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(LogCrash, RecoveryIsIdempotent) {
  World world;
  world.fs->create_directories("/data").value();
  world.memory->sync_everything();
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 40; ++i) append(*log, {.timestamp = world.clock.now(), .producer_id = 1, .sequence = i});
  }
  std::unique_ptr<World> after = world_over(world.memory->process_crash_clone());
  open_log(*after, unclean(small_segments(), {0}))->close_cleanly().value();
  const auto once = files_in(*after->fs);
  open_log(*after, unclean(small_segments(), {0}))->close_cleanly().value();
  EXPECT_EQ(files_in(*after->fs), once);
}

TEST(LogCrash, ATornTailIsCutAtEveryByte) {
  World world;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 3; ++i) append(*log, {.timestamp = world.clock.now(), .producer_id = 1, .sequence = i});
    for (int i = 0; i < 2; ++i) append(*log, {.records = 3});
  }
  const io::Path path = io::join(kDirectory, "00000000000000000000.log");
  const std::string whole = content_of(*world.fs, path);
  std::vector<std::size_t> ends = {0};
  for (BytesView rest = as_bytes(whole); !rest.empty();) {
    const auto entry = record::check_entry(rest).value();
    ends.push_back(ends.back() + static_cast<std::size_t>(entry.size.value));
    rest = rest.subspan(static_cast<std::size_t>(entry.size.value));
  }
  ASSERT_EQ(ends.size(), 6u);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    for (const bool zeros : {false, true}) {
      // Cut off, or never written: a hole of zeros up to where the length had grown.
      std::string torn = whole.substr(0, size);
      if (zeros) torn.resize(whole.size(), '\0');
      std::unique_ptr<World> after = world_over(world.memory->process_crash_clone());
      put(*after->fs, path, torn);
      auto log = open_log(*after, unclean(small_segments(), {0}));
      // The bytes that were lost may have been zeros.
      std::size_t kept = 0;
      for (std::size_t end : ends) {
        if (torn.starts_with(whole.substr(0, end))) kept = end;
      }
      ASSERT_EQ(content_of(*after->fs, path), whole.substr(0, kept)) << size;
      const auto batches = read_all(*log, {0});
      ASSERT_EQ(batches.size(), static_cast<std::size_t>(std::ranges::find(ends, kept) - ends.begin()));
      ASSERT_EQ(append(*log, {}).base_offset, batches.empty() ? Offset{0} : batches.back().next_offset());
    }
  }
}

TEST(LogCrash, TruncationLosesNothingBelowItsTarget) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world;
    world.fs->create_directories("/data").value();
    world.memory->sync_everything();
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 40; ++i) append(*log, {});
    log->flush().value();
    Promise promise;
    promise.appended = read_all(*log, {0});
    const Offset to{static_cast<std::int64_t>(seed)};
    log->truncate_to(to).value();
    promise.durable_end = to;
    std::unique_ptr<World> after = world_over(world.memory->crash_clone(seed));
    auto recovered = open_log(*after, unclean(small_segments(), std::min(to, log->recovery_point())));
    expect_usable(*recovered, promise);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// The whole storage of a broker, through its checkpoint files: a power cut at any instant, a restart, and so on.
TEST(LogCrash, ABrokersDirectoryComesBack) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SeededRandom random(seed);
    World world;
    world.fs->create_directories("/d").value();
    world.memory->sync_everything();
    LogManagerOptions options;
    options.log_dirs = {"/d"};
    options.recovery_threads_per_dir = 1;
    LogManager::LoadCallbacks callbacks;
    callbacks.config_of = [](const std::string&) { return small_segments().config; };
    std::vector<Promise> promises(3);
    for (int life = 0; life < 4; ++life) {
      auto manager = LogManager::open(world.environment(), options).value();
      const auto loaded = manager->load(callbacks);
      ASSERT_TRUE(loaded) << loaded.error().message();
      std::vector<std::shared_ptr<PartitionLog>> logs;
      for (int p = 0; p < 3; ++p) {
        auto log = manager->get_or_create({"t", PartitionId{p}}, {4, 4}, small_segments().config).value();
        Promise& promise = promises[static_cast<std::size_t>(p)];
        expect_appended(*log, promise);
        if (testing::Test::HasFatalFailure()) return;
        logs.push_back(log);
      }
      const std::uint64_t steps = random.below(80);
      for (std::uint64_t step = 0; step < steps; ++step) {
        const std::size_t p = random.below(3);
        append(*logs[p], {.value_size = random.below(200)}, AppendOrigin::client, {life});
        if (random.below(6) == 0) {
          logs[p]->flush().value();
          promises[p].durable_end = logs[p]->log_end_offset();
        }
        if (random.below(15) == 0) manager->write_checkpoints().value();
      }
      const bool clean = random.below(3) == 0;
      for (std::size_t p = 0; p < 3; ++p) {
        promises[p].appended = read_all(*logs[p], {0});
        if (clean) promises[p].durable_end = logs[p]->log_end_offset();
      }
      if (clean) manager->shut_down(life).value();
      auto crashed = world.memory->crash_clone(seed * 10 + static_cast<std::uint64_t>(life));
      logs.clear();
      manager.reset();
      world.memory = std::move(crashed);
      world.fs = world.memory.get();
    }
  }
}

}  // namespace
}  // namespace cordwood::storage
