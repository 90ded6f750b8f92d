#include "broker/metadata/adoption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/metadata/controller_testing.h"
#include "storage/checkpoint_file.h"
#include "storage/directory_files.h"

namespace cordwood::broker::metadata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Uuid kOrders{1, 11};
const Uuid kOffsets{1, 12};

// Log directories of node 1 that hold partitions and no metadata log.
class Directories {
 public:
  explicit Directories(std::vector<std::string> paths) : paths_(std::move(paths)) {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      EXPECT_TRUE(fs.create_directories(paths_[i]));
      EXPECT_TRUE(storage::write_meta_properties(fs, paths_[i], {"the-cluster-id-is-22-ch", NodeId{1}, directory_id(i)}, {0}));
    }
  }

  Uuid directory_id(std::size_t index) const { return {9, 900 + index}; }

  void add_partition(const std::string& path, std::optional<Uuid> topic_id, std::optional<std::int32_t> epoch = {}) {
    ASSERT_TRUE(fs.create_directories(path));
    if (topic_id) {
      ASSERT_TRUE(storage::write_partition_metadata(fs, path, *topic_id));
    }
    if (epoch) {
      ASSERT_TRUE(storage::write_epoch_checkpoint(fs, io::join(path, storage::kLeaderEpochCheckpoint),
                                                  {{{0}, Offset{0}}, {{*epoch}, Offset{5}}}));
    }
  }

  Result<std::vector<MetadataRecord>> adopt() {
    storage::LogManagerOptions options;
    options.log_dirs = paths_;
    auto logs = TRY(storage::LogManager::open({&fs, &clock, &random, &logger}, options));
    auto records = adopted_records(fs, *logs, NodeId{1});
    logs->abandon();
    return records;
  }

  std::string fault() {
    auto records = adopt();
    EXPECT_FALSE(records);
    if (records) return "";
    EXPECT_EQ(records.error().code, Errc::invalid);
    return records.error().what;
  }

  io::MemFileSystem fs;
  ManualClock clock;
  SeededRandom random{3};
  MemoryLogger logger;

 private:
  std::vector<std::string> paths_;
};

// One line a record, as far as a take-over decides it.
std::vector<std::string> lines_of(const std::vector<MetadataRecord>& records) {
  std::vector<std::string> lines;
  for (const MetadataRecord& record : records) {
    if (const auto* topic = std::get_if<TopicRecord>(&record.body)) {
      lines.push_back(fmt::format("topic {} {}", topic->name, topic->topic_id.to_string()));
    } else if (const auto* config = std::get_if<ConfigRecord>(&record.body)) {
      lines.push_back(fmt::format("config {} {}={}", config->resource_name, config->name, config->value.value_or("none")));
    } else if (const auto* partition = std::get_if<PartitionRecord>(&record.body)) {
      lines.push_back(fmt::format("partition {} epoch {} leader {} in {}", partition->partition_id, partition->leader_epoch,
                                  partition->leader, partition->directories.at(0).to_string()));
    } else {
      lines.push_back(name_of(record));
    }
  }
  return lines;
}

TEST(Adoption, OfNothingIsNothing) {
  Directories directories({"/a"});
  auto records = directories.adopt();
  ASSERT_TRUE(records) << records.error().message();
  EXPECT_TRUE(records->empty());
}

TEST(Adoption, TakesIdsEpochsAndPlacesFromTheDirectories) {
  Directories directories({"/a", "/b"});
  directories.add_partition("/a/orders-0", kOrders, 7);
  directories.add_partition("/b/orders-2", kOrders);  // orders-1 is nowhere: it will be made, empty
  auto records = directories.adopt();
  ASSERT_TRUE(records) << records.error().message();
  EXPECT_THAT(lines_of(*records),
              ElementsAre("topic orders " + kOrders.to_string(), "config orders retention.ms=-1",
                          "partition 0 epoch 7 leader -1 in " + directories.directory_id(0).to_string(),
                          "partition 1 epoch 0 leader -1 in " + kUnassignedDirectory.to_string(),
                          "partition 2 epoch 0 leader -1 in " + directories.directory_id(1).to_string()));
}

TEST(Adoption, TopicsOfTheBrokerKeepWhatTheyAreMadeWith) {
  Directories directories({"/a"});
  directories.add_partition("/a/__consumer_offsets-0", kOffsets);
  auto records = directories.adopt();
  ASSERT_TRUE(records) << records.error().message();
  EXPECT_THAT(lines_of(*records),
              ElementsAre("topic __consumer_offsets " + kOffsets.to_string(), "config __consumer_offsets cleanup.policy=compact",
                          "config __consumer_offsets segment.bytes=104857600",
                          "config __consumer_offsets compression.type=producer",
                          "partition 0 epoch 0 leader -1 in " + directories.directory_id(0).to_string()));
}

TEST(Adoption, LeavesOutWhatIsNoPartition) {
  Directories directories({"/a"});
  directories.add_partition("/a/lost+found", {});
  directories.add_partition("/a/orders-0.0123456789abcdef0123456789abcdef-delete", {});
  directories.add_partition("/a/orders-0.0123456789abcdef0123456789abcdef-stray", {});
  auto records = directories.adopt();
  ASSERT_TRUE(records) << records.error().message();
  EXPECT_TRUE(records->empty());
}

TEST(Adoption, RefusesWhatCannotBeNamed) {
  {
    Directories directories({"/a"});
    directories.add_partition("/a/orders-0", {});
    EXPECT_EQ(directories.fault(), "/a/orders-0 has no partition.metadata, so its topic has no id");
  }
  {
    Directories directories({"/a"});
    directories.add_partition("/a/orders-0", kOrders);
    directories.add_partition("/a/orders-1", kOffsets);
    EXPECT_THAT(directories.fault(), HasSubstr("another partition of orders to"));
  }
  {
    Directories directories({"/a", "/b"});
    directories.add_partition("/a/orders-0", kOrders);
    directories.add_partition("/b/orders-0", kOrders);
    EXPECT_EQ(directories.fault(), "/a/orders-0 and /b/orders-0 are the same partition");
  }
}

TEST(Adoption, AStartOnSuchADirectoryLeadsThePartitions) {
  Directories directories({"/data"});
  directories.add_partition("/data/orders-0", kOrders, 7);
  directories.add_partition("/data/orders-1", kOrders, 3);
  {
    TestController node(directories.fs);
    Result<void> started = node.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(node.controller().cluster_id(), "the-cluster-id-is-22-ch");
    EXPECT_TRUE(node.logger.contains("topic orders with id " + kOrders.to_string() + " is taken over"));
    EXPECT_EQ(node.image()->topic(std::string("orders"))->id, kOrders);
    EXPECT_EQ(node.partition("orders", 0).leader, NodeId{1});
    // Above every epoch that the files have, as after any other election.
    EXPECT_GT(node.partition("orders", 0).leader_epoch, 7);
    EXPECT_GT(node.partition("orders", 1).leader_epoch, 3);
    ASSERT_TRUE(node.stop());
  }
  // From now on the metadata log says it; nothing is taken over twice.
  TestController again(directories.fs);
  ASSERT_TRUE(again.start());
  EXPECT_FALSE(again.logger.contains("taken over"));
  EXPECT_EQ(again.image()->topics.size(), 1u);
}

}  // namespace
}  // namespace cordwood::broker::metadata
