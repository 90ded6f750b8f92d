#include "broker/metadata/snapshot.h"

#include <gtest/gtest.h>

#include "broker/metadata/apply.h"
#include "io/memory_file_system.h"

namespace cordwood::broker::metadata {
namespace {

Image full_image() {
  Image base;
  base.kraft_version = 1;
  base.voters = {{NodeId{1}, Uuid{5, 6}, {{"CONTROLLER", "localhost", 9093, 0}}, 0, 1}};
  base.next_offset = Offset{40};
  RegisterBrokerRecord broker;
  broker.broker_id = 1;
  broker.broker_epoch = 9;
  broker.rack = "r1";
  broker.fenced = false;
  broker.log_dirs = {Uuid{5, 6}};
  broker.end_points.push_back({"PLAINTEXT", "localhost", 9092, 0});
  RegisterControllerRecord controller;
  controller.controller_id = 1;
  PartitionRecord partition;
  partition.partition_id = 0;
  partition.topic_id = Uuid{1, 100};
  partition.replicas = {1};
  partition.leader_epoch = 4;
  partition.partition_epoch = 7;
  partition.directories = {Uuid{5, 6}};
  partition.eligible_leader_replicas = std::vector{1};
  partition.last_known_elr = std::vector{1};
  partition.leader_recovery_state = 1;
  ClientQuotaRecord quota;
  quota.entity = {{"user", std::nullopt}};
  quota.key = "request_percentage";
  quota.value = 50.5;
  DelegationTokenRecord token;
  token.token_id = "t";
  std::vector<MetadataRecord> records;
  for (RecordBody body : std::initializer_list<RecordBody>{
           FeatureLevelRecord{"metadata.version", 33}, FeatureLevelRecord{"group.version", 1}, broker, controller,
           TopicRecord{"orders", Uuid{1, 100}}, partition, ConfigRecord{2, "orders", "retention.ms", "5"},
           ConfigRecord{4, "", "min.insync.replicas", "1"}, quota, ProducerIdsRecord{1, 9, 3000},
           AccessControlEntryRecord{Uuid{9, 9}, 2, "r", 3, "User:p", "*", 4, 3},
           UserScramCredentialRecord{"u", 1, {std::byte{1}}, {std::byte{2}}, {std::byte{3}}, 4096}, token}) {
    records.push_back(record_for(33, std::move(body)));
  }
  return *apply(base, records, 6);
}

SnapshotContent content_of(const Image& image) { return {image.kraft_version, image.voters, image_to_records(image)}; }

class Snapshot : public testing::Test {
 protected:
  Snapshot() { EXPECT_TRUE(fs.create_directories("m")); }
  void write(SnapshotId id, const Image& image) {
    ASSERT_TRUE(write_snapshot_file(fs, path(id), content_of(image), id, {1000}, {2000}));
  }
  static std::string path(SnapshotId id) { return "m/" + snapshot_file_name(id); }
  void truncate(SnapshotId id, std::int64_t by) {
    auto file = fs.open(path(id), io::OpenMode::read_write);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->truncate({(*file)->size()->value - by}));
  }

  io::MemFileSystem fs;
  MemoryLogger logger;
};

TEST(SnapshotName, IsOffsetAndEpoch) {
  EXPECT_EQ(snapshot_file_name({Offset{76}, 2}), "00000000000000000076-0000000002.checkpoint");
  EXPECT_EQ(parse_snapshot_file_name("00000000000000000076-0000000002.checkpoint"), (SnapshotId{Offset{76}, 2}));
  for (const char* name : {"00000000000000000076-0000000002.checkpoint.part", "00000000000000000076-0000000002.checkpoint.deleted",
                           "76-2.checkpoint", "0000000000000000007x-0000000002.checkpoint",
                           "00000000000000000076_0000000002.checkpoint", "-0000000000000000076-0000000002.checkpoint",
                           "99999999999999999999-0000000002.checkpoint", "bootstrap.checkpoint", ""}) {
    EXPECT_EQ(parse_snapshot_file_name(name), std::nullopt) << name;
  }
}

TEST_F(Snapshot, HoldsTheWholeImage) {
  Image image = full_image();
  SnapshotId id{image.next_offset, image.epoch};
  write(id, image);
  Result<std::optional<LoadedSnapshot>> loaded = load_newest_snapshot(fs, "m", logger);
  ASSERT_TRUE(loaded) << loaded.error().message();
  ASSERT_TRUE(*loaded);
  EXPECT_EQ((*loaded)->id, id);
  EXPECT_TRUE(same_content((*loaded)->image, image));
  EXPECT_EQ((*loaded)->image.next_offset, image.next_offset);
  EXPECT_EQ((*loaded)->image.epoch, image.epoch);
  EXPECT_EQ(fs.list("m")->size(), 1u);
}

TEST_F(Snapshot, IsPassedOverWhenIncomplete) {
  Image image = full_image();
  SnapshotId older{Offset{10}, 1};
  SnapshotId newer{Offset{20}, 1};
  write(older, image);
  std::int64_t size = fs.status(path(older))->size.value;
  // Cut anywhere: in the middle of a batch, or between two, where only the footer tells.
  for (std::int64_t by = 1; by < size; ++by) {
    write(newer, image);
    truncate(newer, by);
    auto loaded = load_newest_snapshot(fs, "m", logger);
    ASSERT_TRUE(loaded && *loaded) << by;
    EXPECT_EQ((*loaded)->id, older) << by;
  }
  EXPECT_TRUE(logger.contains("The metadata snapshot is passed over"));
  truncate(older, 1);
  auto none = load_newest_snapshot(fs, "m", logger);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST_F(Snapshot, PartFilesAndTheZeroCheckpointAreNone) {
  Image image = full_image();
  write({Offset{0}, 0}, image);
  ASSERT_TRUE(fs.open("m/00000000000000000076-0000000002.checkpoint.part", io::OpenMode::create));
  EXPECT_TRUE(list_snapshots(fs, "m")->empty());
  EXPECT_TRUE(list_snapshots(fs, "absent")->empty());
  EXPECT_FALSE(*load_newest_snapshot(fs, "m", logger));
}

TEST_F(Snapshot, IsDurableUnderItsNameOnlyWhole) {
  Image image = full_image();
  SnapshotId id{Offset{20}, 1};
  fs.sync_everything();
  write(id, image);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    auto after = fs.crash_clone(seed);
    auto loaded = load_newest_snapshot(*after, "m", logger);
    ASSERT_TRUE(loaded && *loaded) << seed;
    EXPECT_TRUE(same_content((*loaded)->image, image));
  }
}

TEST_F(Snapshot, ManyRecordsGoIntoSeveralBatches) {
  SnapshotContent content;
  for (int i = 0; i < 5000; ++i) content.records.push_back({ConfigRecord{2, "t", std::to_string(i), "v"}, 0});
  ASSERT_TRUE(write_snapshot_file(fs, path({}), content, {}, {0}, {0}));
  Result<SnapshotContent> read = read_snapshot_file(fs, path({}));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->records, content.records);
  EXPECT_EQ(read->kraft_version, std::nullopt);
}

}  // namespace
}  // namespace cordwood::broker::metadata
