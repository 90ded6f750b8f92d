// A life of the log manager whose Nth call to the disk fails, or is the last one: a start after an unclean stop, appends, a
// new log, a deletion, checkpoints, the stop. Whatever happens, nothing that was acknowledged is lost, and the next start
// succeeds.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <set>

#include "base/executor.h"
#include "io/faulty_file_system.h"
#include "storage/log_manager.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

TopicPartition tp(const std::string& topic) { return {topic, {0}}; }

LogManagerOptions one_directory() {
  LogManagerOptions options;
  options.log_dirs = {"/d"};
  options.recovery_threads_per_dir = 1;
  return options;
}

LogManager::LoadCallbacks callbacks() {
  LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [](const std::string&) { return small_segments().config; };
  return callbacks;
}

struct Acknowledged {
  std::map<std::string, std::int64_t> written;  // records, by topic
  std::map<std::string, std::int64_t> flushed;
  std::set<std::string> removed;
  std::vector<std::string> refusals;
};

// Kept across an unclean stop: what every later life begins with. `world` must outlive it.
std::unique_ptr<io::MemFileSystem> earlier_life(World& world, Acknowledged& known) {
  auto manager = LogManager::open(world.environment(), one_directory()).value();
  manager->format("cluster", NodeId{1}).value();
  manager->load(callbacks()).value();
  for (const char* topic : {"kept", "doomed"}) {
    auto log = manager->get_or_create(tp(topic), Uuid{7, 7}, small_segments().config).value();
    for (int i = 0; i < 9; ++i) append(*log, {.value_size = 200});
    log->flush().value();
    known.written[topic] = known.flushed[topic] = 9;
  }
  manager->abandon();
  return world.memory->crash_clone(1);
}

void live(World& world, Acknowledged& known) {
  const auto refused = [&](const Error& why) { known.refusals.push_back(why.message()); };
  auto opened = LogManager::open(world.environment(), one_directory());
  if (!opened) return refused(opened.error());
  LogManager& manager = **opened;
  if (Result<void> loaded = manager.load(callbacks()); !loaded) return refused(loaded.error());
  ManualExecutor executor(world.clock);
  manager.start_background(executor);
  const auto write = [&](const std::string& topic, bool is_new) {
    std::shared_ptr<PartitionLog> log = manager.find(tp(topic));
    if (!log && !is_new) return;  // its directory is offline
    if (!log) {
      auto made = manager.get_or_create(tp(topic), Uuid{8, 8}, small_segments().config);
      if (!made) return refused(made.error());
      log = *made;
    }
    for (int i = 0; i < 6; ++i) {
      const AppendResult appended = append(*log, {.value_size = 200});
      if (appended.fault != AppendFault::none) return refused(*appended.error);
      known.written[topic] = appended.last_offset.value + 1;
    }
    if (Result<void> flushed = log->flush(); !flushed) return refused(flushed.error());
    known.flushed[topic] = known.written[topic];
  };
  write("kept", false);
  write("made", true);
  if (Result<void> written = manager.write_checkpoints(); !written) refused(written.error());
  if (manager.find(tp("doomed"))) {
    Result<void> removed = manager.remove(tp("doomed"));
    if (removed) {
      known.removed.insert("doomed");
    } else {
      refused(removed.error());
    }
  }
  executor.run_ready();
  world.clock.advance({120'000});
  executor.run_ready();
  if (Result<void> stopped = manager.shut_down(1); !stopped) refused(stopped.error());
}

void expect_there(io::FileSystem& fs, const std::map<std::string, std::int64_t>& records, const Acknowledged& known,
                  const std::string& what) {
  World world;
  world.fs = &fs;
  auto manager = LogManager::open(world.environment(), one_directory());
  ASSERT_TRUE(manager) << what << ": " << manager.error().message();
  Result<void> loaded = (*manager)->load(callbacks());
  ASSERT_TRUE(loaded) << what << ": " << loaded.error().message();
  for (const auto& [topic, count] : records) {
    if (topic == "doomed") continue;
    auto log = (*manager)->find(tp(topic));
    ASSERT_TRUE(log || count == 0) << what << ": " << topic << " is gone";
    if (!log) continue;
    EXPECT_GE(log->log_end_offset().value, count) << what << ": " << topic;
    // Behind what is promised a power cut may leave gaps.
    const std::vector<record::BatchHeader> found = read_all(*log, Offset{0});
    ASSERT_GE(static_cast<std::int64_t>(found.size()), count) << what << ": " << topic;
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(found[static_cast<std::size_t>(i)].base_offset, Offset{i}) << what << ": " << topic;
    }
  }
  for (const std::string& topic : known.removed) EXPECT_FALSE((*manager)->find(tp(topic))) << what << ": " << topic;
  (*manager)->shut_down(1).value();
}

// Goes through the calls until a life is not touched. The everyday suite takes one of seven, another one for each kind of
// fault; CORDWOOD_EVERY_CALL has all of them tried.
template <class Check>
void fail_every_call(io::Fault fault, Check check) {
  const std::int64_t step = std::getenv("CORDWOOD_EVERY_CALL") != nullptr ? 1 : 7;
  const std::int64_t first = step == 1 ? 1 : 1 + fault.sys_errno % step;
  Acknowledged before;
  World earlier;
  const std::unique_ptr<io::MemFileSystem> disk = earlier_life(earlier, before);
  for (std::int64_t n = first;; n += step) {
    World world;
    world.memory = disk->crash_clone(1);
    io::FaultyFileSystem faulty(*world.memory);
    world.fs = &faulty;
    fault.fail_at = n;
    faulty.arm(fault);
    Acknowledged known = before;
    live(world, known);
    const bool failed = faulty.has_failed();
    faulty.disarm();
    check(world, known, fmt::format("call {} fails with {}", n, fault.sys_errno), failed);
    if (!failed || testing::Test::HasFatalFailure()) return;
  }
}

void expect_survived(const io::Fault& fault) {
  fail_every_call(fault, [](World& world, const Acknowledged& known, const std::string& what, bool failed) {
    expect_there(*world.memory, known.written, known, what);
    EXPECT_TRUE(failed || known.refusals.empty()) << what;
    // Who was refused something finds the reason in the log, or was told it by a start that failed.
    if (known.refusals.empty()) return;
    const std::vector<std::string> lines = world.logger.lines();
    const bool told = std::ranges::any_of(lines, [](const std::string& line) {
      return line.starts_with("ERROR") || line.starts_with("WARN");
    });
    EXPECT_TRUE(told || known.refusals.front().find("/d") != std::string::npos) << what << ": " << known.refusals.front();
  });
}

TEST(LogManagerFaults, EveryCallFailsOnce) { expect_survived({.sys_errno = EIO}); }

TEST(LogManagerFaults, EveryCallIsTheFirstOneToFail) {
  expect_survived({.repeat = io::Fault::Repeat::from_then_on, .sys_errno = EIO});
}

TEST(LogManagerFaults, TheDiskIsFullFromEveryCallOn) {
  expect_survived({.counted = io::FileCall::write | io::FileCall::create | io::FileCall::open | io::FileCall::reserve,
                   .repeat = io::Fault::Repeat::from_then_on,
                   .sys_errno = ENOSPC});
}

TEST(LogManagerFaults, EveryOpenFindsNoDescriptor) {
  expect_survived({.counted = io::FileCall::open, .sys_errno = EMFILE});
  expect_survived({.counted = io::FileCall::open | io::FileCall::map,
                   .repeat = io::Fault::Repeat::from_then_on,
                   .sys_errno = EMFILE});
}

// The power goes at every call: nothing that was flushed, and no deletion that was answered, is undone.
TEST(LogManagerFaults, ThePowerGoesAtEveryCall) {
  fail_every_call({.repeat = io::Fault::Repeat::from_then_on, .sys_errno = EIO},
                  [](World& world, const Acknowledged& known, const std::string& what, bool) {
                    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                      auto after = world.memory->crash_clone(seed);
                      expect_there(*after, known.flushed, known, fmt::format("{}, then the power, seed {}", what, seed));
                    }
                  });
}

}  // namespace
}  // namespace cordwood::storage
