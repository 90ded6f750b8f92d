#include "broker/metadata/controller.h"

#include <gtest/gtest.h>

#include "base/source_path_testing.h"
#include "broker/metadata/controller_testing.h"
#include "broker/metadata/log_walk.h"
#include "broker/metadata/metadata_log.h"
#include "broker/metadata/quorum_state.h"
#include "broker/metadata/snapshot.h"
#include "io/faulty_file_system.h"

namespace cordwood::broker::metadata {
namespace {

const std::string kLog = "/data/__cluster_metadata-0/00000000000000000000.log";

std::vector<std::string> names_of(const std::vector<MetadataRecord>& records) {
  std::vector<std::string> names;
  for (const MetadataRecord& record : records) names.push_back(name_of(record));
  return names;
}

std::string text_of(io::FileSystem& fs, const std::string& path) {
  auto bytes = io::read_file(fs, path);
  return bytes ? std::string(as_text(*bytes)) : "absent";
}

TEST(Controller, FormatsAndStartsAsKafkaDoes) {
  io::MemFileSystem fs;
  TestController node(fs);
  Result<void> started = node.start();
  ASSERT_TRUE(started) << started.error().message();
  EXPECT_EQ(names_of(records_in_log(fs)),
            (std::vector<std::string>{"BeginTransactionRecord", "FeatureLevelRecord", "FeatureLevelRecord",
                                      "FeatureLevelRecord", "EndTransactionRecord", "RegisterControllerRecord",
                                      "RegisterBrokerRecord", "BrokerRegistrationChangeRecord"}));
  auto image = node.image();
  EXPECT_EQ(image->features, (std::map<std::string, std::int16_t>{
                                 {"metadata.version", 25}, {"group.version", 1}, {"transaction.version", 2}}));
  EXPECT_EQ(image->kraft_version, 1);
  ASSERT_EQ(image->voters.size(), 1u);
  EXPECT_EQ(image->voters[0].directory_id, node.controller().online_directories().at(0));
  EXPECT_EQ(image->epoch, 1);
  // LEADER_CHANGE, KRAFT_VERSION and KRAFT_VOTERS are offsets 0 to 2; the registration's epoch is its own offset.
  EXPECT_EQ(image->brokers.at(NodeId{1}).epoch, 9);
  EXPECT_EQ(image->next_offset, Offset{11});
  EXPECT_FALSE(image->brokers.at(NodeId{1}).fenced);
  EXPECT_EQ(node.controller().cluster_id().size(), 22u);
  EXPECT_EQ(text_of(fs, "/data/__cluster_metadata-0/quorum-state"),
            R"({"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1})");
  EXPECT_EQ(text_of(fs, "/data/__cluster_metadata-0/leader-epoch-checkpoint"), "0\n1\n1 0\n");

  // Both bootstrap files, in the form of Kafka 4.0 to 4.3.
  auto zero = read_snapshot_file(fs, "/data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint");
  ASSERT_TRUE(zero) << zero.error().message();
  EXPECT_TRUE(zero->records.empty());
  EXPECT_EQ(zero->kraft_version, 1);
  EXPECT_EQ(zero->voters, image->voters);
  auto bootstrap = read_snapshot_file(fs, "/data/bootstrap.checkpoint");
  ASSERT_TRUE(bootstrap) << bootstrap.error().message();
  EXPECT_EQ(bootstrap->records, default_bootstrap_records());
}

TEST(Controller, AFirstStartSyncsLittle) {
  io::MemFileSystem memory;
  io::FaultyFileSystem fs(memory);
  TestController node(fs);
  fs.arm({.counted = io::FileCall::sync | io::FileCall::sync_directory, .fail_at = 0});
  ASSERT_TRUE(node.start());
  // The small files of a directory each cost a sync of themselves and of their name; the log is flushed once.
  EXPECT_LE(fs.calls(), 24);
}

TEST(Controller, ACleanRestartGoesOnWithHigherEpochs) {
  io::MemFileSystem fs;
  std::string cluster;
  {
    TestController node(fs);
    ASSERT_TRUE(node.start());
    cluster = node.controller().cluster_id();
    ASSERT_EQ(node.create_topic("orders", 3), "");
    EXPECT_EQ(node.partition("orders", 2).leader_epoch, 0);
    ASSERT_TRUE(node.stop());
  }
  EXPECT_EQ(names_of(records_in_log(fs)).back(), "BrokerRegistrationChangeRecord");
  TestController node(fs);
  Result<void> started = node.start();
  ASSERT_TRUE(started) << started.error().message();
  EXPECT_EQ(node.controller().cluster_id(), cluster);
  EXPECT_EQ(node.controller().epoch(), 2);
  EXPECT_EQ(node.partition("orders", 2).leader_epoch, 2);
  EXPECT_EQ(node.partition("orders", 2).partition_epoch, 2);
  EXPECT_EQ(node.partition("orders", 2).leader, NodeId{1});
  EXPECT_EQ(text_of(fs, "/data/__cluster_metadata-0/leader-epoch-checkpoint").substr(0, 8), "0\n2\n1 0\n");
  EXPECT_TRUE(node.logger.lines().empty() || !node.logger.contains("WARN"));
}

TEST(Controller, AKillIsNoticedAndCostsTwoLeaderEpochs) {
  io::MemFileSystem fs;
  {
    TestController node(fs);
    ASSERT_TRUE(node.start());
    ASSERT_EQ(node.create_topic("orders"), "");
    node.kill();
  }
  TestController node(fs);
  ASSERT_TRUE(node.start());
  EXPECT_EQ(node.partition("orders").leader, NodeId{1});
  EXPECT_EQ(node.partition("orders").leader_epoch, 2);
}

TEST(Controller, APowerCutLosesNothingThatWasAnswered) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    io::MemFileSystem fs;
    std::set<std::string> answered;
    std::unique_ptr<io::MemFileSystem> after;
    {
      TestController node(fs);
      ASSERT_TRUE(node.start());
      for (std::uint64_t i = 0; i < seed % 7; ++i) {
        std::string name = "t" + std::to_string(i);
        ASSERT_EQ(node.create_topic(name, 2), "");
        answered.insert(name);
      }
      if (seed % 3 == 0 && !answered.empty()) {
        ASSERT_EQ(node.delete_topic(*answered.begin()), "");
        answered.erase(answered.begin());
      }
      after = fs.crash_clone(seed);
    }
    TestController again(*after);
    Result<void> started = again.start();
    ASSERT_TRUE(started) << started.error().message();
    std::set<std::string> there;
    for (const auto& [name, topic] : again.image()->topics) there.insert(name);
    EXPECT_EQ(there, answered);
  }
}

TEST(Controller, APowerCutWhileFormattingLeavesSomethingThatStarts) {
  // Every point between the first write and the end of the first start.
  std::int64_t calls = 0;
  for (std::int64_t fail_at = 1;; ++fail_at) {
    SCOPED_TRACE(fail_at);
    io::MemFileSystem memory;
    io::FaultyFileSystem fs(memory);
    fs.arm({.counted = io::FileCall::changing, .fail_at = fail_at, .repeat = io::Fault::Repeat::from_then_on});
    {
      TestController node(fs, {"/data", "/more"});
      Result<void> started = node.start();
      calls = fs.calls();
      if (!fs.has_failed()) break;
      node.kill();
    }
    auto after = memory.crash_clone(static_cast<std::uint64_t>(fail_at));
    TestController again(*after, {"/data", "/more"});
    Result<void> started = again.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(again.create_topic("orders", 4), "");
  }
  EXPECT_GT(calls, 20);
}

TEST(Controller, ManyChangesAreOrderedAndSurvive) {
  io::MemFileSystem fs;
  TestController node(fs);
  ASSERT_TRUE(node.start());
  std::vector<std::string> seen;
  node.controller().add_listener([&](const Image& before, const std::shared_ptr<const Image>& after) {
    EXPECT_EQ(before.topics.size() + 1, after->topics.size());
    seen.push_back(std::to_string(after->topics.size()));
  });
  std::vector<std::future<Result<void>>> waiting;
  for (int i = 0; i < 300; ++i) {
    Uuid id{1, 1000 + static_cast<std::uint64_t>(i)};
    waiting.push_back(node.submit({{TopicRecord{"t" + std::to_string(i), id}, 0}}));
  }
  for (auto& outcome : waiting) EXPECT_TRUE(outcome.get());
  EXPECT_EQ(seen.size(), 300u);
  auto before = node.image();
  node.kill();
  TestController again(fs);
  ASSERT_TRUE(again.start());
  EXPECT_EQ(again.image()->topics.size(), 300u);
  EXPECT_EQ(before->topics.size(), 300u);
}

TEST(Controller, RecordsThatContradictTheImageNeverReachTheLog) {
  io::MemFileSystem fs;
  TestController node(fs);
  ASSERT_TRUE(node.start());
  std::size_t before = records_in_log(fs).size();
  Result<void> outcome = node.submit({{RemoveTopicRecord{Uuid{4, 4}}, 0}}).get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(records_in_log(fs).size(), before);
  EXPECT_EQ(node.create_topic("orders"), "");
}

TEST(Controller, LargeOperationsAreOneMetadataTransaction) {
  io::MemFileSystem fs;
  TestController node(fs);
  ASSERT_TRUE(node.start());
  std::vector<MetadataRecord> records;
  for (int i = 0; i < 25'000; ++i) records.push_back({ConfigRecord{2, "t", std::to_string(i), "v"}, 0});
  ASSERT_TRUE(node.submit(records).get());
  auto names = names_of(records_in_log(fs));
  EXPECT_EQ(std::ranges::count(names, "BeginTransactionRecord"), 2);
  EXPECT_EQ(names.back(), "EndTransactionRecord");
  EXPECT_EQ(node.image()->next_offset.value, static_cast<std::int64_t>(names.size()) + 3);
  node.kill();
  TestController again(fs);
  ASSERT_TRUE(again.start());
  EXPECT_EQ(again.image()->config({ResourceType::topic, "t"}).size(), 25'000u);
}

TEST(Controller, ProducerIdsAreGivenOnce) {
  io::MemFileSystem fs;
  auto next_block = [](TestController& node) {
    std::promise<std::int64_t> promise;
    node.controller().allocate_producer_ids([&](Result<Controller::ProducerIdBlock> block) {
      promise.set_value(block ? block->first : -1);
    });
    return promise.get_future().get();
  };
  TestController node(fs);
  ASSERT_TRUE(node.start());
  EXPECT_EQ(next_block(node), 0);
  EXPECT_EQ(next_block(node), 1000);
  node.kill();
  TestController again(fs);
  ASSERT_TRUE(again.start());
  EXPECT_EQ(next_block(again), 2000);
}

TEST(Controller, SnapshotsReplaceTheReplayOfWhatIsBelow) {
  io::MemFileSystem fs;
  TestController node(fs);
  node.options.snapshot_after_bytes = {4 * KiB};
  ASSERT_TRUE(node.start());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(node.create_topic("t" + std::to_string(i)), "");
  auto before = node.image();
  node.kill();
  auto snapshots = list_snapshots(fs, "/data/__cluster_metadata-0");
  ASSERT_TRUE(snapshots);
  EXPECT_GE(snapshots->size(), 2u);
  Result<LoadedMetadata> loaded = load_metadata(fs, "/data", node.logger);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->snapshot, snapshots->back());
  EXPECT_TRUE(same_content(loaded->image, *before));
  TestController again(fs);
  ASSERT_TRUE(again.start());
  EXPECT_EQ(again.image()->topics.size(), 100u);
}

std::vector<SnapshotId> snapshots_in(io::FileSystem& fs) {
  auto found = list_snapshots(fs, "/data/__cluster_metadata-0");
  EXPECT_TRUE(found);
  return *found;
}

TEST(Controller, ASnapshotIsAlsoDueByTime) {
  io::MemFileSystem fs;
  TestController node(fs);
  node.options.snapshot_after_ms = {3'600'000};
  ASSERT_TRUE(node.start());
  node.clock.advance(DurationMs{3'599'999});
  node.controller().keep_house();
  ASSERT_EQ(node.create_topic("early"), "");
  EXPECT_TRUE(snapshots_in(fs).empty());
  // The controller looks by itself as well, perhaps at this very moment; it finds the same.
  node.clock.advance(DurationMs{1});
  node.controller().keep_house();
  ASSERT_EQ(snapshots_in(fs).size(), 1u);
  EXPECT_EQ(snapshots_in(fs)[0].end_offset, node.image()->next_offset);
  // Nothing changed since: there is nothing to write.
  node.clock.advance(DurationMs{7'200'000});
  node.controller().keep_house();
  EXPECT_EQ(snapshots_in(fs).size(), 1u);
}

TEST(Controller, WithoutAnIntervalNoSnapshotIsDueByTime) {
  io::MemFileSystem fs;
  TestController node(fs);
  node.options.snapshot_after_ms = {0};
  ASSERT_TRUE(node.start());
  node.clock.advance(DurationMs{1'000'000'000});
  node.controller().keep_house();
  EXPECT_TRUE(snapshots_in(fs).empty());
}

TEST(Controller, RetentionRemovesSnapshotsAndTheLogBelowThem) {
  io::MemFileSystem fs;
  TestController node(fs);
  node.options.snapshot_after_bytes = {8 * KiB};
  node.options.log.segment_bytes = {4 * KiB};
  node.options.log.retention.max_bytes = {40 * KiB};
  ASSERT_TRUE(node.start());
  for (int i = 0; i < 150; ++i) ASSERT_EQ(node.create_topic("t" + std::to_string(i % 10) + "-" + std::to_string(i)), "");
  for (int i = 0; i < 140; ++i) {
    ASSERT_EQ(node.delete_topic("t" + std::to_string(i % 10) + "-" + std::to_string(i)), "");
  }
  node.controller().keep_house();
  auto before = node.image();
  std::vector<SnapshotId> left = snapshots_in(fs);
  ASSERT_FALSE(left.empty());
  EXPECT_TRUE(node.logger.contains("Removing the metadata snapshot 00000000000000000000-0000000000.checkpoint"));
  EXPECT_TRUE(node.logger.contains("metadata.max.retention.bytes is 40960"));
  EXPECT_EQ(text_of(fs, kLog), "absent");
  EXPECT_NE(text_of(fs, kLog + ".deleted"), "absent");
  node.clock.advance(DurationMs{60'000});
  node.controller().keep_house();
  EXPECT_EQ(text_of(fs, kLog + ".deleted"), "absent");
  node.kill();

  // What is left is whole: it starts, and a power cut of it as well.
  TestController again(fs);
  Result<void> started = again.start();
  ASSERT_TRUE(started) << started.error().message();
  EXPECT_EQ(again.image()->topics.size(), 10u);
  EXPECT_EQ(again.image()->topics.size(), before->topics.size());
  EXPECT_EQ(again.image()->voters, before->voters);
  EXPECT_EQ(again.create_topic("one-more"), "");
}

TEST(Controller, RetentionByAgeLeavesTheNewestSnapshot) {
  io::MemFileSystem fs;
  TestController node(fs);
  node.options.snapshot_after_bytes = {4 * KiB};
  ASSERT_TRUE(node.start());
  for (int i = 0; i < 60; ++i) ASSERT_EQ(node.create_topic("t" + std::to_string(i)), "");
  node.controller().keep_house();
  ASSERT_GE(snapshots_in(fs).size(), 2u);
  SnapshotId newest = snapshots_in(fs).back();
  node.options.snapshot_after_ms = {0};
  node.clock.advance(DurationMs{604'800'001});
  node.controller().keep_house();
  std::vector<SnapshotId> left = snapshots_in(fs);
  EXPECT_LE(left.size(), 2u);
  EXPECT_GE(left.back(), newest);
}

TEST(Controller, APowerCutInRetentionLosesNothing) {
  // Each call that changes a file fails once, and everything after it: what is on the disk then must start.
  for (std::int64_t fail_at = 1;; ++fail_at) {
    SCOPED_TRACE(fail_at);
    io::MemFileSystem memory;
    io::FaultyFileSystem fs(memory);
    bool untouched = false;
    {
      TestController node(fs);
      node.options.snapshot_after_bytes = {2 * KiB};
      node.options.log.segment_bytes = {1 * KiB};
      ASSERT_TRUE(node.start());
      for (int i = 0; i < 40; ++i) ASSERT_EQ(node.create_topic("t" + std::to_string(i)), "");
      node.controller().keep_house();
      ASSERT_GE(snapshots_in(memory).size(), 2u);
      node.clock.advance(DurationMs{604'800'001});
      fs.arm({.counted = io::FileCall::changing, .fail_at = fail_at, .repeat = io::Fault::Repeat::from_then_on});
      node.controller().keep_house();
      untouched = !fs.has_failed();
      node.kill();
    }
    auto after = memory.crash_clone(static_cast<std::uint64_t>(fail_at));
    TestController again(*after);
    Result<void> started = again.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(again.image()->topics.size(), 40u);
    if (untouched) {
      EXPECT_GT(fail_at, 3);
      break;
    }
  }
}

TEST(Controller, AFailedDiskEndsAllChanges) {
  io::MemFileSystem memory;
  io::FaultyFileSystem fs(memory);
  TestController node(fs);
  ASSERT_TRUE(node.start());
  ASSERT_EQ(node.create_topic("first"), "");
  fs.arm({.counted = io::FileCall::sync, .fail_at = 1});
  EXPECT_NE(node.create_topic("second").find("the metadata log failed"), std::string::npos);
  // The disk works again, but what the page cache holds cannot be trusted any more.
  EXPECT_NE(node.create_topic("third").find("the metadata log failed"), std::string::npos);
  EXPECT_EQ(node.image()->topics.size(), 1u);
  EXPECT_FALSE(node.controller().shut_down());
}

TEST(Controller, AfterTheStopChangesAreRefused) {
  io::MemFileSystem fs;
  TestController node(fs);
  ASSERT_TRUE(node.start());
  ASSERT_TRUE(node.controller().shut_down());
  EXPECT_NE(node.create_topic("late").find("the controller has shut down"), std::string::npos);
}

TEST(Controller, AnOpenTransactionAtTheEndIsAborted) {
  io::MemFileSystem fs;
  {
    TestController node(fs);
    ASSERT_TRUE(node.start());
    ASSERT_TRUE(node.stop());
  }
  Result<LoadedMetadata> loaded = load_metadata(fs, "/data", *std::make_unique<MemoryLogger>());
  ASSERT_TRUE(loaded);
  std::vector<MetadataRecord> half{{BeginTransactionRecord{"half"}, 0}, {TopicRecord{"ghost", Uuid{6, 6}}, 0}};
  auto file = fs.open(kLog, io::OpenMode::read_write);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at({(*file)->size()->value},
                                encode_batch(std::span<const MetadataRecord>(half), {loaded->end(), loaded->epoch, {1}})));
  for (int start = 0; start < 2; ++start) {
    TestController node(fs);
    Result<void> started = node.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_TRUE(node.image()->topics.empty());
    ASSERT_TRUE(node.stop());
  }
  auto names = names_of(records_in_log(fs));
  EXPECT_EQ(std::ranges::count(names, "AbortTransactionRecord"), 1);
}

TEST(Controller, SeveralDirectoriesShareThePartitions) {
  io::MemFileSystem fs;
  TestController node(fs, {"/a", "/b"});
  ASSERT_TRUE(node.start());
  ASSERT_EQ(node.create_topic("orders", 6), "");
  std::map<Uuid, int> counts;
  for (int i = 0; i < 6; ++i) ++counts[node.partition("orders", i).directories.at(0)];
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts.begin()->second, 3);
  EXPECT_EQ(node.image()->brokers.at(NodeId{1}).log_dirs.size(), 2u);
  EXPECT_FALSE(*fs.exists("/b/bootstrap.checkpoint"));
}

struct Refused {
  const char* what;
  std::function<void(io::MemFileSystem&, TestController&)> spoil;  // of a directory that was stopped cleanly
  Errc code;
  const char* part;
};

void append(io::MemFileSystem& fs, const std::vector<MetadataRecord>& records) {
  MemoryLogger logger;
  Result<LoadedMetadata> loaded = load_metadata(fs, "/data", logger);
  ASSERT_TRUE(loaded);
  auto file = fs.open(kLog, io::OpenMode::read_write);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at({(*file)->size()->value}, encode_batch(std::span<const MetadataRecord>(records),
                                                                       {loaded->end(), loaded->epoch, {1}})));
}

void replace(io::MemFileSystem& fs, const std::string& path, const std::string& from, const std::string& to) {
  std::string text = text_of(fs, path);
  auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, from.size(), to);
  auto file = fs.open(path, io::OpenMode::truncate);
  ASSERT_TRUE(file && (*file)->write_at({0}, as_bytes(text)));
}

TEST(Controller, RefusesWhatWouldEndInDataBeingHidden) {
  const Refused cases[] = {
      {"another node's directory", [](auto&, auto& node) { node.options.node_id = NodeId{7}; }, Errc::invalid,
       "stored node id 1 does not match the configured node.id 7"},
      {"another cluster's directory", [](auto&, auto& node) { node.options.cluster_id = "other"; }, Errc::invalid,
       "Invalid cluster.id in: /data/meta.properties. Expected other, but read"},
      {"no identity", [](auto& fs, auto&) { ASSERT_TRUE(fs.remove_file("/data/meta.properties")); }, Errc::invalid,
       "No `meta.properties` found in /data"},
      {"feature level above ours",
       [](auto& fs, auto&) { append(fs, {{FeatureLevelRecord{"metadata.version", 40}, 0}}); }, Errc::unsupported,
       "needs metadata.version at level 40, where levels 7 to 33 are supported"},
      {"damage in the middle",
       [](auto& fs, auto&) {
         auto file = fs.open(kLog, io::OpenMode::read_write);
         ASSERT_TRUE(file && (*file)->write_at({100}, as_bytes("x")));
       },
       Errc::corrupt, "the metadata log is damaged: /data/__cluster_metadata-0/00000000000000000000.log at position"},
      {"a partition without a topic",
       [](auto& fs, auto&) { append(fs, {{PartitionRecord{0, Uuid{8, 8}, {1}, {1}, {}, {}, 1, 0, 0, 0, {}, {}, {}}, 0}}); },
       Errc::corrupt, "a PartitionRecord for partition 0 of topic id"},
      {"a snapshot beyond the log",
       [](auto& fs, auto&) {
         Image image;
         image.features["metadata.version"] = 25;
         SnapshotId id{Offset{1000}, 1};
         ASSERT_TRUE(write_snapshot_file(fs, "/data/__cluster_metadata-0/" + snapshot_file_name(id),
                                         {{}, {}, image_to_records(image)}, id, {0}, {0}));
       },
       Errc::corrupt, "is a snapshot up to offset 1000, but the log ends at"},
      {"the metadata is gone, partitions are there",
       [](auto& fs, auto&) {
         ASSERT_TRUE(fs.remove_directory_tree("/data/__cluster_metadata-0"));
         ASSERT_TRUE(fs.remove_file("/data/bootstrap.checkpoint"));
         ASSERT_TRUE(fs.create_directories("/data/orders-0"));
       },
       Errc::invalid, "/data/orders-0 has no partition.metadata, so its topic has no id"},
      {"a broken quorum-state",
       [](auto& fs, auto&) { replace(fs, "/data/__cluster_metadata-0/quorum-state", "{", "["); }, Errc::corrupt,
       "/data/__cluster_metadata-0/quorum-state: not a JSON object"},
  };
  for (const Refused& c : cases) {
    SCOPED_TRACE(c.what);
    io::MemFileSystem fs;
    {
      TestController node(fs);
      ASSERT_TRUE(node.start());
      ASSERT_TRUE(node.stop());
    }
    TestController node(fs);
    c.spoil(fs, node);
    Result<void> started = node.start();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, c.code) << started.error().message();
    EXPECT_NE(started.error().what.find(c.part), std::string::npos) << started.error().what;
  }
}

TEST(Controller, RefusesASecondMetadataLog) {
  io::MemFileSystem fs;
  {
    TestController node(fs, {"/a", "/b"});
    ASSERT_TRUE(node.start());
    ASSERT_TRUE(node.stop());
  }
  TestController node(fs, {"/b", "/a"});
  Result<void> started = node.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().what, "/a holds __cluster_metadata-0, but the metadata log directory is /b");
}

TEST(Controller, RefusesANewDirectoryBesideFormattedOnes) {
  io::MemFileSystem fs;
  {
    TestController node(fs, {"/a"});
    ASSERT_TRUE(node.start());
    ASSERT_TRUE(node.stop());
  }
  TestController node(fs, {"/a", "/new"});
  Result<void> started = node.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().what.find("No `meta.properties` found in /new"), std::string::npos) << started.error().what;
}

TEST(Controller, ATornTailIsCutAndSaid) {
  io::MemFileSystem fs;
  {
    TestController node(fs);
    ASSERT_TRUE(node.start());
    ASSERT_EQ(node.create_topic("kept"), "");
    ASSERT_EQ(node.create_topic("torn"), "");
    node.kill();
  }
  auto file = fs.open(kLog, io::OpenMode::read_write);
  ASSERT_TRUE(file && (*file)->truncate({(*file)->size()->value - 5}));
  TestController node(fs);
  Result<void> started = node.start();
  ASSERT_TRUE(started) << started.error().message();
  EXPECT_NE(node.image()->topic("kept"), nullptr);
  EXPECT_EQ(node.image()->topic("torn"), nullptr);
  EXPECT_TRUE(node.logger.contains("a write that a crash interrupted")) << ::testing::PrintToString(node.logger.lines());
}

// Directories that Kafka 4.4.0 left, taken over and left again twice.
TEST(Controller, TakesOverKafkasDirectories) {
  io::PosixFileSystem disk;
  const std::string golden = source_path("tests/golden/metadata/");
  for (const char* name : {"static-mv33-first-stop", "static-mv33-clean-and-killed", "dynamic-mv33-snapshots"}) {
    SCOPED_TRACE(name);
    io::MemFileSystem fs;
    copy_tree(disk, golden + name, fs, "/data");
    std::map<std::string, std::int32_t> epochs;
    std::int32_t raft_epoch = 0;
    for (int round = 0; round < 2; ++round) {
      TestController node(fs, {"/data"}, static_cast<std::uint64_t>(round));
      Result<void> started = node.start();
      ASSERT_TRUE(started) << started.error().message();
      EXPECT_GT(node.controller().epoch(), raft_epoch);
      raft_epoch = node.controller().epoch();
      auto image = node.image();
      EXPECT_GT(image->topics.size(), 0u);
      for (const auto& [topic, state] : image->topics) {
        for (const auto& [index, partition] : state->partitions) {
          EXPECT_EQ(partition.leader, NodeId{1}) << topic;
          EXPECT_EQ(partition.isr, std::vector{NodeId{1}});
          EXPECT_TRUE(partition.eligible_leader_replicas.empty());
          std::int32_t& epoch = epochs[topic + "-" + std::to_string(index.value)];
          if (round > 0) {
            EXPECT_EQ(partition.leader_epoch, epoch + 2);
          }
          epoch = partition.leader_epoch;
        }
      }
      EXPECT_EQ(image->metadata_version(), 33);
      ASSERT_EQ(node.create_topic("ours" + std::to_string(round)), "");
      epochs["ours" + std::to_string(round) + "-0"] = 0;
      ASSERT_TRUE(node.stop());
    }
  }
}

}  // namespace
}  // namespace cordwood::broker::metadata
