// Every I/O error is handled: the first, second, third ... call of a scenario fails, until a run passes untouched. No
// run may crash, acknowledge what is lost, or go on writing after a failed write.
#include <algorithm>

#include "io/faulty_file_system.h"
#include "storage/log_manager.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

// Runs `scenario` with the Nth call failing, for every N that it has, in each shape; `verify` looks at the disk after.
template <class Scenario, class Verify>
void fail_every_call(io::FileCall counted, Scenario scenario, Verify verify) {
  for (const auto shape : {io::Fault::Shape::refuse, io::Fault::Shape::shorten, io::Fault::Shape::tear}) {
    for (const auto repeat : {io::Fault::Repeat::once, io::Fault::Repeat::from_then_on}) {
      std::int64_t n = 1;
      for (;; ++n) {
        SCOPED_TRACE(testing::Message() << "call " << n << ", shape " << static_cast<int>(shape) << ", repeat "
                                        << static_cast<int>(repeat));
        World world;
        io::FaultyFileSystem faulty(*world.memory);
        world.fs = &faulty;
        faulty.arm({.counted = counted, .fail_at = n, .shape = shape, .repeat = repeat});
        scenario(world);
        const bool failed = faulty.has_failed();
        faulty.disarm();
        world.fs = world.memory.get();
        verify(world);
        if (testing::Test::HasFatalFailure()) return;
        if (!failed) break;
        ASSERT_LT(n, 5000);
      }
      EXPECT_GT(n, 10) << "a scenario without calls shows nothing";
    }
  }
}

struct Acknowledged {
  std::vector<record::BatchHeader> batches;  // by a log that had not failed
  Offset flushed_end{0};
};

TEST(LogFault, AnAppendThatWasAcknowledgedIsThere) {
  Acknowledged acknowledged;
  const auto scenario = [&](World& world) {
    acknowledged = {};
    auto opened = PartitionLog::open(world.environment(), kDirectory, {"t", PartitionId{0}}, small_segments());
    if (!opened) return;
    PartitionLog& log = **opened;
    bool failed = false;
    for (int i = 0; i < 25; ++i) {
      ByteVector batch = make_batch({.timestamp = world.clock.now(), .producer_id = 1, .sequence = i});
      const AppendResult result = log.append_as_leader(batch, {0}, AppendOrigin::client);
      if (failed) {
        // After a failed write the page cache cannot be trusted: nothing is taken any more.
        ASSERT_EQ(result.fault, AppendFault::storage_error);
        ASSERT_EQ(result.error->code, Errc::closed);
      }
      if (result.fault == AppendFault::storage_error) {
        ASSERT_TRUE(result.error);
        failed = true;
        continue;
      }
      ASSERT_EQ(result.fault, AppendFault::none);
      acknowledged.batches.push_back(record::BatchView(batch).header());
      if (i % 6 == 5 && log.flush()) acknowledged.flushed_end = log.log_end_offset();
      if (!log.read({{0}, ByteCount{100}, true, ReadLimit::log_end})) failed = true;
    }
    log.close_cleanly().has_value();
  };
  const auto verify = [&](World& world) {
    // Whatever failed, a later start finds every acknowledged batch: the process did not lose its page cache.
    OpenOptions options = small_segments(StopKind::unclean);
    auto log = open_log(world, options);
    const auto found = read_all(*log, {0});
    ASSERT_GE(found.size(), acknowledged.batches.size());
    for (std::size_t i = 0; i < acknowledged.batches.size(); ++i) ASSERT_EQ(found[i], acknowledged.batches[i]);
    ASSERT_LE(found.size(), acknowledged.batches.size() + 1) << "one write may have got through with an error";
  };
  fail_every_call(io::FileCall::changing, scenario, verify);
}

TEST(LogFault, RecoveryFailsOrGivesTheSameLog) {
  std::vector<record::BatchHeader> batches;
  const auto scenario = [&](World& world) {
    // The disk is prepared without faults counting: through the inner file system.
    World before;
    before.memory = std::make_unique<io::MemFileSystem>(&before.clock);
    before.fs = world.memory.get();
    {
      auto log = open_log(before, small_segments());
      for (int i = 0; i < 25; ++i) append(*log, {.timestamp = before.clock.now(), .producer_id = 1, .sequence = i});
      batches = read_all(*log, {0});
    }
    auto opened =
        PartitionLog::open(world.environment(), kDirectory, {"t", PartitionId{0}}, small_segments(StopKind::unclean));
    if (!opened) return;
    (*opened)->close_cleanly().has_value();
  };
  const auto verify = [&](World& world) {
    auto log = open_log(world, small_segments(StopKind::unclean));
    ASSERT_EQ(read_all(*log, {0}), batches);
  };
  fail_every_call(io::FileCall::all, scenario, verify);
}

TEST(LogFault, AManagerNeverMarksCleanWhatIsNot) {
  std::vector<record::BatchHeader> acknowledged;
  LogManagerOptions options;
  options.log_dirs = {"/d"};
  options.recovery_threads_per_dir = 1;
  LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [](const std::string&) { return small_segments().config; };
  const auto scenario = [&](World& world) {
    acknowledged.clear();
    auto manager = LogManager::open(world.environment(), options);
    if (!manager || !(*manager)->load(callbacks)) return;
    auto log = (*manager)->get_or_create({"t", PartitionId{0}}, {4, 4}, small_segments().config);
    if (log) {
      for (int i = 0; i < 12; ++i) {
        ByteVector batch = make_batch({});
        if ((*log)->append_as_leader(batch, {0}, AppendOrigin::client).fault != AppendFault::none) break;
        acknowledged.push_back(record::BatchView(batch).header());
        (*log)->set_high_watermark((*log)->log_end_offset());
      }
    }
    (*manager)->write_checkpoints().has_value();
    (*manager)->shut_down(1).has_value();
  };
  const auto verify = [&](World& world) {
    auto manager = LogManager::open(world.environment(), options);
    ASSERT_TRUE(manager) << manager.error().message();
    ASSERT_TRUE((*manager)->load(callbacks).has_value());
    const auto log = (*manager)->find({"t", PartitionId{0}});
    if (!log) {
      ASSERT_TRUE(acknowledged.empty());
      return;
    }
    const auto found = read_all(*log, {0});
    ASSERT_GE(found.size(), acknowledged.size());
    for (std::size_t i = 0; i < acknowledged.size(); ++i) ASSERT_EQ(found[i], acknowledged[i]);
  };
  fail_every_call(io::FileCall::changing, scenario, verify);
}

TEST(LogFault, AFailedWriteTakesTheDirectoryOffline) {
  World world;
  io::FaultyFileSystem faulty(*world.memory);
  world.fs = &faulty;
  LogManagerOptions options;
  options.log_dirs = {"/d1", "/d2"};
  auto manager = LogManager::open(world.environment(), options).value();
  manager->format("c", NodeId{1}).value();
  manager->load({}).value();
  auto first = manager->get_or_create({"a", PartitionId{0}}, {4, 4}, LogConfig(), manager->directories()[0].id).value();
  auto other = manager->get_or_create({"b", PartitionId{0}}, {4, 4}, LogConfig(), manager->directories()[0].id).value();
  auto second = manager->get_or_create({"c", PartitionId{0}}, {4, 4}, LogConfig(), manager->directories()[1].id).value();
  append(*first, {});
  faulty.arm({.counted = io::FileCall::write, .fail_at = 1});
  ByteVector batch = make_batch({});
  const AppendResult result = first->append_as_leader(batch, {0}, AppendOrigin::client);
  EXPECT_EQ(result.fault, AppendFault::storage_error);
  EXPECT_EQ(result.error->code, Errc::io);
  EXPECT_TRUE(manager->directories()[0].offline);
  EXPECT_FALSE(manager->directories()[1].offline);
  EXPECT_EQ(manager->find({"b", PartitionId{0}}), nullptr);
  EXPECT_EQ(append(*other, {}).fault, AppendFault::storage_error);
  EXPECT_EQ(append(*second, {}).fault, AppendFault::none);
  // A failed fsync does the same, and is not tried again.
  faulty.arm({.counted = io::FileCall::sync, .fail_at = 1});
  EXPECT_FALSE(second->flush());
  EXPECT_EQ(second->flush().error().code, Errc::closed);
  EXPECT_TRUE(manager->directories()[1].offline);
}

}  // namespace
}  // namespace cordwood::storage
