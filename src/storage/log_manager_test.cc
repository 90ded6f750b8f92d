#include "storage/log_manager.h"

#include "base/executor.h"
#include "storage/checkpoint_file.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

LogManagerOptions options_for(std::vector<io::Path> directories = {"/d1"}) {
  LogManagerOptions options;
  options.log_dirs = std::move(directories);
  return options;
}

LogManager::LoadCallbacks plain_callbacks() {
  LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [](const std::string&) { return small_segments().config; };
  return callbacks;
}

std::unique_ptr<LogManager> started(World& world, const LogManagerOptions& options = options_for()) {
  auto manager = LogManager::open(world.environment(), options);
  EXPECT_TRUE(manager.has_value()) << manager.error().message();
  EXPECT_TRUE((*manager)->load(plain_callbacks()).has_value());
  return std::move(*manager);
}

TopicPartition tp(std::string topic, int partition = 0) { return {std::move(topic), {partition}}; }

std::shared_ptr<PartitionLog> create(LogManager& manager, const TopicPartition& partition, Uuid topic_id = {7, 7},
                                     std::optional<Uuid> directory = {}) {
  auto log = manager.get_or_create(partition, topic_id, small_segments().config, directory);
  EXPECT_TRUE(log.has_value()) << log.error().message();
  return *log;
}

std::vector<std::string> names_of(const LogManager& manager) {
  std::vector<std::string> names;
  for (const auto& log : manager.all()) names.push_back(log->partition().to_string());
  return names;
}

// --- directories ---

TEST(LogManager, HoldsTheLocksOfItsDirectories) {
  World world;
  auto manager = started(world);
  const auto second = LogManager::open(world.environment(), options_for());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::locked);
  EXPECT_EQ(second.error().what, "log directory /d1 is in use by another process (its .lock is held)");
  manager->shut_down(1).value();
  EXPECT_FALSE(world.fs->exists("/d1/.lock").value());
  started(world);
}

TEST(LogManager, RefusesTheSameDirectoryTwiceAndNone) {
  World world;
  EXPECT_EQ(LogManager::open(world.environment(), options_for({"/d1", "/d1/"})).error().code, Errc::invalid);
  EXPECT_EQ(LogManager::open(world.environment(), options_for({})).error().code, Errc::invalid);
}

TEST(LogManager, FormatsWhatIsNotFormatted) {
  World world;
  auto manager = LogManager::open(world.environment(), options_for({"/d1", "/d2"})).value();
  EXPECT_FALSE(manager->directories()[0].meta);
  manager->format("a-cluster", NodeId{3}).value();
  const auto directories = manager->directories();
  EXPECT_EQ(directories[0].meta->cluster_id, "a-cluster");
  EXPECT_NE(directories[0].id, directories[1].id);
  EXPECT_FALSE(directories[0].id.is_zero());
  manager.reset();
  auto again = LogManager::open(world.environment(), options_for({"/d1", "/d2"})).value();
  EXPECT_EQ(again->directories()[0].id, directories[0].id);
  EXPECT_EQ(again->directories()[1].meta, directories[1].meta);
}

TEST(LogManager, RefusesDirectoriesThatDisagree) {
  struct Case {
    MetaProperties first, second;
  };
  const Case cases[] = {
      {{"a", {1}, Uuid{9, 1}}, {"b", {1}, Uuid{9, 2}}},
      {{"a", {1}, Uuid{9, 1}}, {"a", {2}, Uuid{9, 2}}},
      {{"a", {1}, Uuid{9, 1}}, {"a", {1}, Uuid{9, 1}}},
  };
  for (const Case& c : cases) {
    World world;
    world.fs->create_directories("/d1").value();
    world.fs->create_directories("/d2").value();
    write_meta_properties(*world.fs, "/d1", c.first, world.clock.now()).value();
    write_meta_properties(*world.fs, "/d2", c.second, world.clock.now()).value();
    const auto manager = LogManager::open(world.environment(), options_for({"/d1", "/d2"}));
    ASSERT_FALSE(manager);
    EXPECT_EQ(manager.error().code, Errc::invalid);
    EXPECT_NE(manager.error().what.find("/d1"), std::string::npos);
    EXPECT_NE(manager.error().what.find("/d2"), std::string::npos);
  }
}

TEST(LogManager, NamesForeignEntriesAndLeavesThemAlone) {
  World world;
  for (const char* name : {"lost+found", ".cache", "noDash", "remote-log-index-cache", "__cluster_metadata-0"}) {
    world.fs->create_directories(io::join("/d1", name)).value();
  }
  put(*world.fs, "/d1/a-file", "x");
  auto manager = started(world);
  EXPECT_EQ(manager->foreign_entries(), (std::vector<std::string>{"/d1/.cache", "/d1/lost+found", "/d1/noDash"}));
  EXPECT_TRUE(world.logger.contains("/d1/lost+found"));
  EXPECT_TRUE(manager->all().empty());
  manager->shut_down(1).value();
  for (const char* name : {"lost+found", ".cache", "noDash", "remote-log-index-cache", "__cluster_metadata-0"}) {
    EXPECT_TRUE(world.fs->exists(io::join("/d1", name)).value()) << name;
  }
}

// --- logs ---

TEST(LogManager, CreatesFindsAndKeepsLogs) {
  World world;
  {
    auto manager = started(world);
    auto log = create(*manager, tp("a", 3));
    EXPECT_EQ(create(*manager, tp("a", 3)), log);
    EXPECT_EQ(manager->find(tp("a", 3)), log);
    EXPECT_EQ(manager->find(tp("a", 2)), nullptr);
    EXPECT_EQ(manager->get_or_create(tp("a", 3), {8, 8}, {}, {}).error().code, Errc::invalid) << "another topic's id";
    create(*manager, tp("b.c-d"));
    for (int i = 0; i < 30; ++i) append(*log, {});
    manager->shut_down(77).value();
    EXPECT_EQ(manager->get_or_create(tp("late"), {1, 1}, {}, {}).error().code, Errc::closed);
  }
  EXPECT_EQ(content_of(*world.fs, "/d1/.kafka_cleanshutdown"), R"({"version":0,"brokerEpoch":77})");
  EXPECT_EQ(content_of(*world.fs, "/d1/recovery-point-offset-checkpoint"), "0\n2\na 3 30\nb.c-d 0 0\n");
  EXPECT_EQ(content_of(*world.fs, "/d1/replication-offset-checkpoint"), "0\n2\na 3 30\nb.c-d 0 0\n");
  EXPECT_EQ(content_of(*world.fs, "/d1/log-start-offset-checkpoint"), "0\n0\n");
  EXPECT_EQ(content_of(*world.fs, "/d1/cleaner-offset-checkpoint"), "");
  auto manager = LogManager::open(world.environment(), options_for()).value();
  EXPECT_EQ(manager->directories()[0].clean_shutdown->broker_epoch, 77);
  manager->load(plain_callbacks()).value();
  EXPECT_FALSE(world.fs->exists("/d1/.kafka_cleanshutdown").value()) << "a crash from now on is an unclean stop";
  EXPECT_EQ(names_of(*manager), (std::vector<std::string>{"a-3", "b.c-d-0"}));
  EXPECT_EQ(manager->find(tp("a", 3))->high_watermark(), Offset{30});
  EXPECT_EQ(manager->find(tp("a", 3))->recovery().segments_recovered, 0);
  EXPECT_EQ(manager->find(tp("a", 3))->topic_id(), (Uuid{7, 7}));
}

TEST(LogManager, AnUncleanStopRecovers) {
  World world;
  {
    auto manager = started(world);
    auto log = create(*manager, tp("a"));
    for (int i = 0; i < 30; ++i) append(*log, {});
    log->flush_up_to(log->segments()[1].base_offset).value();
    manager->write_checkpoints().value();
    manager->abandon();
  }
  auto manager = started(world);
  EXPECT_GT(manager->find(tp("a"))->recovery().segments_recovered, 0);
  EXPECT_LT(manager->find(tp("a"))->recovery().segments_recovered, static_cast<std::int64_t>(manager->find(tp("a"))->segments().size()));
  EXPECT_EQ(manager->find(tp("a"))->log_end_offset(), Offset{30});
  EXPECT_TRUE(world.logger.contains("recovered"));
}

TEST(LogManager, AMalformedCheckpointCountsAsEmpty) {
  World world;
  {
    auto manager = started(world);
    auto log = create(*manager, tp("a"));
    for (int i = 0; i < 30; ++i) append(*log, {});
    manager->shut_down(1).value();
  }
  world.fs->remove_file("/d1/.kafka_cleanshutdown").value();
  put(*world.fs, "/d1/recovery-point-offset-checkpoint", "0\nmany\n");
  put(*world.fs, "/d1/replication-offset-checkpoint", "");
  auto manager = started(world);
  EXPECT_EQ(manager->find(tp("a"))->recovery().segments_recovered,
            static_cast<std::int64_t>(manager->find(tp("a"))->segments().size()));
  EXPECT_TRUE(world.logger.contains("taken to be 0"));
}

TEST(LogManager, TheLogStartIsKeptWhereTheFirstSegmentDoesNotTellIt) {
  World world;
  {
    auto manager = started(world);
    auto log = create(*manager, tp("a"));
    for (int i = 0; i < 5; ++i) append(*log, {});
    log->advance_log_start({3}).value();
    manager->shut_down(1).value();
  }
  EXPECT_EQ(content_of(*world.fs, "/d1/log-start-offset-checkpoint"), "0\n1\na 0 3\n");
  EXPECT_EQ(started(world)->find(tp("a"))->log_start_offset(), Offset{3});
}

TEST(LogManager, PutsNewLogsWhereTheyAreWantedOrFewest) {
  World world;
  auto manager = LogManager::open(world.environment(), options_for({"/d1", "/d2"})).value();
  manager->format("c", NodeId{1}).value();
  manager->load(plain_callbacks()).value();
  const Uuid second = manager->directories()[1].id;
  create(*manager, tp("a"), {7, 7}, second);
  create(*manager, tp("b"), {7, 7}, second);
  EXPECT_EQ(manager->directory_of(tp("b")), second);
  create(*manager, tp("c"));
  create(*manager, tp("d"));
  EXPECT_EQ(manager->directory_of(tp("c")), manager->directories()[0].id);
  EXPECT_EQ(manager->directory_of(tp("d")), manager->directories()[0].id);
  create(*manager, tp("e"), {7, 7}, Uuid{123, 456});  // unknown: as if none were wanted
  EXPECT_EQ(manager->directory_of(tp("x")), std::nullopt);
}

TEST(LogManager, TheSamePartitionInTwoDirectoriesIsRefused) {
  World world;
  world.fs->create_directories("/d1/a-0").value();
  world.fs->create_directories("/d2/a-0").value();
  auto manager = LogManager::open(world.environment(), options_for({"/d1", "/d2"})).value();
  const auto loaded = manager->load(plain_callbacks());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().what, "a-0 is found in both /d1 and /d2");
}

// A topic was deleted and made again while one of the directories was not there.
TEST(LogManager, AStrayMakesWayForThePartitionOfItsName) {
  const Uuid first{7, 7}, second{8, 8};
  for (const std::optional<Uuid> known : {std::optional(first), std::optional(second), std::optional<Uuid>()}) {
    World world;
    for (const auto& [directory, id, records] : {std::tuple("/d1", first, 3), std::tuple("/d2", second, 5)}) {
      auto manager = started(world, options_for({directory}));
      auto log = create(*manager, tp("a"), id);
      for (int i = 0; i < records; ++i) append(*log, {});
      manager->shut_down(1).value();
    }
    auto manager = LogManager::open(world.environment(), options_for({"/d1", "/d2"})).value();
    auto callbacks = plain_callbacks();
    callbacks.claim = [&](const TopicPartition&, std::optional<Uuid> topic_id, Uuid) {
      return topic_id == known ? DirectoryClaim::ours : DirectoryClaim::stray;
    };
    manager->load(callbacks).value();
    EXPECT_EQ(manager->logs_loading(), 0u);
    EXPECT_EQ(names_of(*manager), known ? std::vector<std::string>{"a-0"} : std::vector<std::string>{});
    if (known) {
      EXPECT_EQ(manager->find(tp("a"))->log_end_offset(), known == first ? Offset{3} : Offset{5});
    }
    for (const auto& [directory, id] : {std::pair("/d1", first), std::pair("/d2", second)}) {
      int kept = 0, strays = 0;
      for (const std::string& name : names_in(*world.fs, directory)) {
        kept += name == "a-0";
        strays += name.starts_with("a-0.") && name.ends_with("-stray");
      }
      EXPECT_EQ(kept, known == id ? 1 : 0) << directory;
      EXPECT_EQ(strays, known == id ? 0 : 1) << directory;
    }
    manager->shut_down(1).value();
    EXPECT_TRUE(world.fs->exists("/d1/.kafka_cleanshutdown").value());
    EXPECT_TRUE(world.fs->exists("/d2/.kafka_cleanshutdown").value());
  }
}

// Nobody can lock it, make it or read it: the others are served.
TEST(LogManager, AFileInThePlaceOfADirectoryIsAnOfflineDirectory) {
  World world;
  put(*world.fs, "/d2", "no directory");
  auto manager = started(world, options_for({"/d1", "/d2"}));
  EXPECT_FALSE(manager->directories()[0].offline);
  EXPECT_TRUE(manager->directories()[1].offline);
  append(*create(*manager, tp("a")), {});
  manager->shut_down(1).value();
  EXPECT_EQ(LogManager::open(world.environment(), options_for({"/d2"})).error().code, Errc::exists);
}

TEST(LogManager, AnImpossibleFileStopsTheLoadAndTheCleanMark) {
  World world;
  put(*world.fs, "/d1/a-0/00000000000000000000.log", "");
  auto file = world.fs->open("/d1/a-0/00000000000000000000.log", io::OpenMode::read_write).value();
  file->truncate(ByteCount{2 * GiB}).value();  // longer than any segment
  auto manager = LogManager::open(world.environment(), options_for()).value();
  const auto loaded = manager->load(plain_callbacks());
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().what.find("/d1/a-0"), std::string::npos);
  manager->shut_down(1).has_value();
  EXPECT_FALSE(world.fs->exists("/d1/.kafka_cleanshutdown").value());
}

TEST(LogManager, StraysAreRenamedAndKept) {
  World world;
  {
    auto manager = started(world);
    append(*create(*manager, tp("mine")), {});
    append(*create(*manager, tp("stray")), {});
    manager->shut_down(1).value();
  }
  for (int start = 0; start < 2; ++start) {
    auto manager = LogManager::open(world.environment(), options_for()).value();
    auto callbacks = plain_callbacks();
    callbacks.claim = [](const TopicPartition& partition, std::optional<Uuid> topic_id, Uuid) {
      EXPECT_EQ(topic_id, (Uuid{7, 7}));
      return partition.topic == "stray" ? DirectoryClaim::stray : DirectoryClaim::ours;
    };
    manager->load(callbacks).value();
    EXPECT_EQ(names_of(*manager), std::vector<std::string>{"mine-0"});
    manager->shut_down(1).value();
    int strays = 0;
    for (const std::string& name : names_in(*world.fs, "/d1")) strays += name.starts_with("stray-0.") && name.ends_with("-stray");
    EXPECT_EQ(strays, 1);
  }
}

TEST(LogManager, ReportsProgressAndUsesItsThreads) {
  World world;
  {
    auto manager = started(world);
    for (int i = 0; i < 25; ++i) append(*create(*manager, tp("t", i)), {});
    manager->shut_down(1).value();
  }
  LogManagerOptions options = options_for();
  options.recovery_threads_per_dir = 4;
  auto manager = LogManager::open(world.environment(), options).value();
  auto callbacks = plain_callbacks();
  LoadProgress last;
  callbacks.progress = [&](const LoadProgress& progress) { last = progress; };
  manager->load(callbacks).value();
  EXPECT_EQ(last.logs_total, 25u);
  EXPECT_EQ(last.logs_done, 25u);
  EXPECT_EQ(last.to_string(), "25 of 25 logs");
  EXPECT_EQ(manager->all().size(), 25u);
  manager->shut_down(1).value();
}

// --- deletion ---

TEST(LogManager, RemovesLogsAfterTheirDelay) {
  World world;
  ManualExecutor executor(world.clock);
  auto manager = started(world);
  manager->start_background(executor);
  auto log = create(*manager, tp("a"));
  append(*log, {});
  manager->remove(tp("a")).value();
  manager->remove(tp("a")).value();  // absent is fine
  EXPECT_EQ(manager->find(tp("a")), nullptr);
  EXPECT_TRUE(log->directory().ends_with("-delete"));
  EXPECT_EQ(log->read({{0}, ByteCount{1}, true, ReadLimit::log_end}).error().code, Errc::closed);
  // The name is free at once, and nothing of the old log comes back with it.
  EXPECT_EQ(create(*manager, tp("a"), {8, 8})->log_end_offset(), Offset{0});
  world.clock.advance({59'999});
  executor.run_ready();
  EXPECT_TRUE(world.fs->exists(log->directory()).value());
  world.clock.advance({1});
  executor.run_ready();
  EXPECT_FALSE(world.fs->exists(log->directory()).value());
  EXPECT_TRUE(world.fs->exists("/d1/a-0").value());
}

TEST(LogManager, ARecreatedPartitionDoesNotInheritCheckpoints) {
  World world;
  {
    auto manager = started(world);
    auto log = create(*manager, tp("a"));
    for (int i = 0; i < 30; ++i) append(*log, {});
    log->advance_log_start({20}).value();
    log->flush().value();
    manager->write_checkpoints().value();
    manager->remove(tp("a")).value();
    log = create(*manager, tp("a"), {8, 8});
    for (int i = 0; i < 25; ++i) append(*log, {});
    manager->abandon();
  }
  auto manager = started(world);
  EXPECT_EQ(manager->find(tp("a"))->log_start_offset(), Offset{0});
  EXPECT_EQ(manager->find(tp("a"))->recovery().segments_recovered,
            static_cast<std::int64_t>(manager->find(tp("a"))->segments().size()));
}

TEST(LogManager, FinishesRemovalsOfAnEarlierLife) {
  World world;
  put(*world.fs, "/d1/a-0.0123456789abcdef0123456789abcdef-delete/00000000000000000000.log", "");
  ManualExecutor executor(world.clock);
  auto manager = started(world);
  EXPECT_TRUE(manager->all().empty());
  manager->start_background(executor);
  world.clock.advance({60'000});
  executor.run_ready();
  for (const std::string& name : names_in(*world.fs, "/d1")) EXPECT_FALSE(name.ends_with("-delete"));
}

// --- background ---

TEST(LogManager, FlushesWhatARollClosed) {
  World world;
  ManualExecutor executor(world.clock);
  auto manager = started(world);
  manager->start_background(executor);
  auto log = create(*manager, tp("a"));
  while (log->segments().size() < 3) append(*log, {});
  EXPECT_EQ(log->recovery_point(), Offset{0});
  executor.run_ready();
  EXPECT_EQ(log->recovery_point(), log->segments().back().base_offset);
}

TEST(LogManager, WritesCheckpointsOnItsTimers) {
  World world;
  ManualExecutor executor(world.clock);
  auto manager = started(world);
  manager->start_background(executor);
  auto log = create(*manager, tp("a"));
  append(*log, {});
  log->flush().value();
  append(*log, {});
  executor.run_ready();
  EXPECT_EQ(content_of(*world.fs, "/d1/replication-offset-checkpoint"), "");
  world.clock.advance({5'000});
  executor.run_ready();
  EXPECT_EQ(content_of(*world.fs, "/d1/replication-offset-checkpoint"), "0\n1\na 0 2\n");
  EXPECT_EQ(content_of(*world.fs, "/d1/recovery-point-offset-checkpoint"), "");
  world.clock.advance({25'000});
  executor.run_ready();
  EXPECT_EQ(content_of(*world.fs, "/d1/recovery-point-offset-checkpoint"), "0\n1\na 0 1\n");
  append(*log, {});
  log->flush().value();
  for (int second = 0; second < 60; ++second) {
    world.clock.advance({1'000});
    executor.run_ready();
  }
  EXPECT_EQ(content_of(*world.fs, "/d1/recovery-point-offset-checkpoint"), "0\n1\na 0 2\n") << "one below the end while running";
  EXPECT_EQ(content_of(*world.fs, "/d1/replication-offset-checkpoint"), "0\n1\na 0 3\n");
}

TEST(LogManager, FlushesByTimeWhereAskedTo) {
  World world;
  ManualExecutor executor(world.clock);
  LogManagerOptions options = options_for();
  options.flush_scheduler_interval = {1'000};
  options.initial_task_delay = {0};
  auto manager = started(world, options);
  manager->start_background(executor);
  auto log = create(*manager, tp("a"));
  LogConfig config = small_segments().config;
  config.flush_ms = {10'000};
  log->update_config(config);
  append(*log, {});
  const auto pass = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      world.clock.advance({1'000});
      executor.run_ready();
    }
  };
  pass(9);
  EXPECT_EQ(log->recovery_point(), Offset{0});
  pass(2);
  EXPECT_EQ(log->recovery_point(), Offset{1});
}

TEST(LogManager, ForgetsIdleProducers) {
  World world;
  ManualExecutor executor(world.clock);
  auto manager = started(world);
  manager->start_background(executor);
  auto log = create(*manager, tp("a"));
  append(*log, {.timestamp = world.clock.now(), .producer_id = 5});
  world.clock.advance({86'400'000});
  executor.run_ready();
  EXPECT_TRUE(log->active_producers().empty());
}

// --- failure ---

TEST(LogManager, AnOfflineDirectoryTakesItsLogsAlong) {
  World world;
  auto manager = LogManager::open(world.environment(), options_for({"/d1", "/d2"})).value();
  manager->format("c", NodeId{1}).value();
  manager->load(plain_callbacks()).value();
  auto first = create(*manager, tp("a"), {7, 7}, manager->directories()[0].id);
  auto second = create(*manager, tp("b"), {7, 7}, manager->directories()[1].id);
  manager->mark_offline(first->directory(), {Errc::io, "it broke"});
  manager->mark_offline("/d1", {Errc::io, "again"});
  EXPECT_EQ(manager->directories()[0].offline->what, "it broke");
  EXPECT_EQ(names_of(*manager), std::vector<std::string>{"b-0"});
  ByteVector batch = make_batch({});
  EXPECT_EQ(first->append_as_leader(batch, {0}, AppendOrigin::client).error->code, Errc::closed);
  append(*second, {});
  create(*manager, tp("c"), {7, 7}, manager->directories()[0].id);
  EXPECT_EQ(manager->directory_of(tp("c")), manager->directories()[1].id);
  manager->shut_down(1).value();
  EXPECT_FALSE(world.fs->exists("/d1/.kafka_cleanshutdown").value());
  EXPECT_TRUE(world.fs->exists("/d2/.kafka_cleanshutdown").value());
}

TEST(LogManager, ShutsDownOnce) {
  World world;
  auto manager = started(world);
  append(*create(*manager, tp("a")), {});
  manager->shut_down(5).value();
  world.fs->remove_file("/d1/.kafka_cleanshutdown").value();
  manager->shut_down(6).value();
  EXPECT_FALSE(world.fs->exists("/d1/.kafka_cleanshutdown").value());
}

TEST(LogManager, AbandoningWritesNothing) {
  World world;
  auto manager = started(world);
  auto log = create(*manager, tp("a"));
  append(*log, {});
  const auto before = files_in(*world.fs, "/d1/a-0");
  manager.reset();
  EXPECT_EQ(files_in(*world.fs, "/d1/a-0"), before);
  EXPECT_FALSE(world.fs->exists("/d1/.kafka_cleanshutdown").value());
  EXPECT_EQ(started(world)->find(tp("a"))->log_end_offset(), Offset{1});
}

}  // namespace
}  // namespace cordwood::storage
