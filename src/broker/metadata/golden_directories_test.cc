// The metadata directories in tests/golden/metadata were written by Apache Kafka 4.4.0; what its dump tool says of them
// lies beside each file.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "base/source_path_testing.h"
#include "broker/metadata/apply.h"
#include "broker/metadata/features.h"
#include "broker/metadata/log_walk.h"
#include "broker/metadata/metadata_log.h"
#include "broker/metadata/snapshot.h"
#include "record/record.h"

namespace cordwood::broker::metadata {
namespace {

const std::string kGolden = source_path("tests/golden/metadata/");

struct Golden {
  const char* directory;
  const char* file;
};
const Golden kFiles[] = {
    {"static-mv33-first-stop", "00000000000000000000.log"},
    {"static-mv33-first-stop", "00000000000000000000-0000000000.checkpoint"},
    {"static-mv33-clean-and-killed", "00000000000000000000.log"},
    {"dynamic-mv33-snapshots", "00000000000000000000.log"},
    {"dynamic-mv33-snapshots", "00000000000000000047.log"},
    {"dynamic-mv33-snapshots", "00000000000000000000-0000000000.checkpoint"},
    {"dynamic-mv33-snapshots", "00000000000000000048-0000000002.checkpoint"},
    {"dynamic-mv33-snapshots", "00000000000000000094-0000000002.checkpoint"},
};

std::string path_of(const Golden& golden) { return kGolden + golden.directory + "/__cluster_metadata-0/" + golden.file; }

// The payloads of the data records in Kafka's dump, in order.
std::vector<boost::json::object> dumped(const Golden& golden) {
  std::ifstream in(path_of(golden) + ".dump.txt");
  std::vector<boost::json::object> payloads;
  for (std::string line; std::getline(in, line);) {
    auto at = line.find("payload: ");
    if (at != std::string::npos) payloads.push_back(boost::json::parse(line.substr(at + 9)).as_object());
  }
  return payloads;
}

// "PartitionChangeRecord" as the dump has it: PARTITION_CHANGE_RECORD.
std::string dump_name(const char* name) {
  std::string result;
  for (const char* c = name; *c != 0; ++c) {
    if (c != name && std::isupper(static_cast<unsigned char>(*c))) result += '_';
    result += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  }
  return result;
}

std::vector<std::int32_t> numbers(const boost::json::value& array) {
  std::vector<std::int32_t> result;
  for (const auto& number : array.as_array()) result.push_back(static_cast<std::int32_t>(number.as_int64()));
  return result;
}

std::string text(const boost::json::object& object, const char* key) { return std::string(object.at(key).as_string()); }

// The fields that replay depends on, against what Kafka read.
void compare(const RecordBody& body, const boost::json::object& data) {
  if (const auto* topic = std::get_if<TopicRecord>(&body)) {
    EXPECT_EQ(topic->name, text(data, "name"));
    EXPECT_EQ(topic->topic_id.to_string(), text(data, "topicId"));
  } else if (const auto* partition = std::get_if<PartitionRecord>(&body)) {
    EXPECT_EQ(partition->partition_id, data.at("partitionId").as_int64());
    EXPECT_EQ(partition->topic_id.to_string(), text(data, "topicId"));
    EXPECT_EQ(partition->replicas, numbers(data.at("replicas")));
    EXPECT_EQ(partition->isr, numbers(data.at("isr")));
    EXPECT_EQ(partition->leader, data.at("leader").as_int64());
    EXPECT_EQ(partition->leader_epoch, data.at("leaderEpoch").as_int64());
    EXPECT_EQ(partition->directories.front().to_string(), std::string(data.at("directories").as_array()[0].as_string()));
  } else if (const auto* change = std::get_if<PartitionChangeRecord>(&body)) {
    EXPECT_EQ(change->partition_id, data.at("partitionId").as_int64());
    EXPECT_EQ(change->isr.has_value(), data.contains("isr"));
    if (change->isr) {
      EXPECT_EQ(*change->isr, numbers(data.at("isr")));
    }
    EXPECT_EQ(change->leader, data.contains("leader") ? data.at("leader").as_int64() : -2);
    EXPECT_EQ(change->eligible_leader_replicas.has_value(), data.contains("eligibleLeaderReplicas"));
    EXPECT_EQ(change->last_known_elr.has_value(), data.contains("lastKnownElr"));
  } else if (const auto* config = std::get_if<ConfigRecord>(&body)) {
    EXPECT_EQ(config->resource_type, data.at("resourceType").as_int64());
    EXPECT_EQ(config->resource_name, text(data, "resourceName"));
    EXPECT_EQ(config->name, text(data, "name"));
    EXPECT_EQ(config->value.has_value(), !data.at("value").is_null());
  } else if (const auto* feature = std::get_if<FeatureLevelRecord>(&body)) {
    EXPECT_EQ(feature->name, text(data, "name"));
    EXPECT_EQ(feature->feature_level, data.at("featureLevel").as_int64());
  } else if (const auto* broker = std::get_if<RegisterBrokerRecord>(&body)) {
    EXPECT_EQ(broker->broker_epoch, data.at("brokerEpoch").as_int64());
    EXPECT_EQ(broker->incarnation_id.to_string(), text(data, "incarnationId"));
    EXPECT_EQ(broker->end_points.size(), data.at("endPoints").as_array().size());
    EXPECT_EQ(broker->features.size(), data.at("features").as_array().size());
    EXPECT_EQ(broker->fenced, data.at("fenced").as_bool());
    EXPECT_EQ(broker->log_dirs.size(), data.at("logDirs").as_array().size());
  } else if (const auto* ids = std::get_if<ProducerIdsRecord>(&body)) {
    EXPECT_EQ(ids->next_producer_id, data.at("nextProducerId").as_int64());
  }
}

TEST(GoldenDirectories, EveryRecordIsReadAsKafkaReadsItAndWrittenBack) {
  io::PosixFileSystem fs;
  for (const Golden& golden : kFiles) {
    SCOPED_TRACE(path_of(golden));
    std::vector<boost::json::object> expected = dumped(golden);
    std::size_t seen = 0;
    auto visit = [&](const record::BatchView& batch, const std::string& where) -> Result<void> {
      bool control = batch.header().is_control();
      return record::for_each_record(batch, [&](const record::RecordView& record) {
        if (control) {
          auto decoded = decode_control_record(record.key, record.value, where);
          EXPECT_TRUE(decoded) << decoded.error().message();
          if (decoded) {
            EXPECT_EQ(encode_control_record(*decoded).key, to_vector(*record.key));
            EXPECT_EQ(encode_control_record(*decoded).value, to_vector(*record.value));
          }
          return record::Walk::go_on;
        }
        auto decoded = decode_record(*record.value, where);
        EXPECT_TRUE(decoded) << decoded.error().message();
        EXPECT_LT(seen, expected.size());
        if (!decoded || seen >= expected.size()) return record::Walk::stop;
        EXPECT_EQ(encode_record(*decoded), to_vector(*record.value)) << name_of(*decoded);
        const boost::json::object& dump = expected[seen++];
        EXPECT_EQ(dump_name(name_of(*decoded)), text(dump, "type"));
        EXPECT_EQ(decoded->version, dump.at("version").as_int64());
        compare(decoded->body, dump.at("data").as_object());
        return record::Walk::go_on;
      });
    };
    Result<void> walked = walk_batch_file(fs, path_of(golden), visit);
    EXPECT_TRUE(walked) << walked.error().message();
    EXPECT_EQ(seen, expected.size());
  }
}

// Kafka wrote these snapshots of its own images: replaying the log up to the same offset must give the same.
TEST(GoldenDirectories, ReplayAgreesWithKafkasSnapshots) {
  io::PosixFileSystem fs;
  std::string directory = kGolden + "dynamic-mv33-snapshots/__cluster_metadata-0";
  Result<std::vector<SnapshotId>> snapshots = list_snapshots(fs, directory);
  ASSERT_TRUE(snapshots);
  ASSERT_EQ(snapshots->size(), 6u);
  for (SnapshotId id : *snapshots) {
    SCOPED_TRACE(snapshot_file_name(id));
    Result<SnapshotContent> content = read_snapshot_file(fs, directory + "/" + snapshot_file_name(id));
    ASSERT_TRUE(content) << content.error().message();
    Result<Image> from_snapshot = image_of(*content, id);
    ASSERT_TRUE(from_snapshot) << from_snapshot.error().message();

    ImageBuilder builder;
    BatchVisitor visitor;
    visitor.metadata = [&](const MetadataRecord& record, Offset offset) -> Result<void> {
      return offset < id.end_offset ? builder.apply(record) : Result<void>{};
    };
    visitor.control = [&](const ControlRecord& record, Offset offset) -> Result<void> {
      if (offset < id.end_offset) builder.apply(record);
      return {};
    };
    auto walked = walk_metadata_log(fs, directory, [&](const record::BatchView& batch, const std::string& where) {
      return decode_batch(batch, where, visitor);
    });
    ASSERT_TRUE(walked) << walked.error().message();
    EXPECT_TRUE(same_content(builder.image(), *from_snapshot));
    // And our own snapshot of that image says the same again.
    Result<Image> again = image_of({from_snapshot->kraft_version, from_snapshot->voters, image_to_records(*from_snapshot)}, id);
    ASSERT_TRUE(again);
    EXPECT_TRUE(same_content(*again, *from_snapshot));
    EXPECT_EQ(image_to_records(*from_snapshot).size(), content->records.size());
  }
}

struct Loaded {
  const char* directory;
  std::int64_t end;
  std::int32_t epoch;
  std::int16_t kraft_version;
  bool fenced;
};

TEST(GoldenDirectories, AreLoadedWhole) {
  io::PosixFileSystem fs;
  MemoryLogger logger;
  const Loaded cases[] = {
      {"static-mv33-first-stop", 193, 1, 0, true},
      {"static-mv33-clean-and-killed", 367, 4, 0, true},
      {"dynamic-mv33-snapshots", 95, 2, 1, true},
  };
  for (const Loaded& c : cases) {
    SCOPED_TRACE(c.directory);
    Result<LoadedMetadata> loaded = load_metadata(fs, kGolden + c.directory, logger);
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_EQ(loaded->end().value, c.end);
    EXPECT_EQ(loaded->epoch, c.epoch);
    EXPECT_EQ(loaded->image.kraft_version, c.kraft_version);
    EXPECT_EQ(loaded->image.metadata_version(), 33);
    EXPECT_TRUE(loaded->has_records);
    EXPECT_FALSE(loaded->in_transaction);
    EXPECT_EQ(loaded->voters_in_log, c.kraft_version == 1);
    EXPECT_TRUE(check_finalized_features(loaded->image.features, c.directory));
    EXPECT_EQ(loaded->image.brokers.at(NodeId{1}).fenced, c.fenced);
    EXPECT_TRUE(logger.lines().empty());
    // A clean stop with eligible leader replicas on leaves every partition without ISR and leader, and us eligible.
    for (const auto& [name, topic] : loaded->image.topics) {
      for (const auto& [index, partition] : topic->partitions) {
        EXPECT_EQ(partition.leader, std::nullopt) << name;
        EXPECT_TRUE(partition.isr.empty());
        EXPECT_EQ(partition.eligible_leader_replicas, std::vector{NodeId{1}});
      }
    }
  }
}

TEST(GoldenDirectories, OnlyTheirOwnVoterMayLead) {
  io::PosixFileSystem fs;
  MemoryLogger logger;
  for (const char* directory : {"static-mv33-first-stop", "dynamic-mv33-snapshots"}) {
    Result<LoadedMetadata> loaded = load_metadata(fs, kGolden + directory, logger);
    ASSERT_TRUE(loaded);
    Uuid own = loaded->image.voters.empty() ? kZeroUuid : loaded->image.voters.front().directory_id;
    EXPECT_TRUE(check_sole_voter(*loaded, NodeId{1}, own));
    Result<void> foreign = check_sole_voter(*loaded, NodeId{2}, own);
    ASSERT_FALSE(foreign);
    EXPECT_NE(foreign.error().what.find("node 2 must not lead it alone"), std::string::npos) << foreign.error().what;
  }
  Result<LoadedMetadata> dynamic = load_metadata(fs, kGolden + "dynamic-mv33-snapshots", logger);
  ASSERT_TRUE(dynamic);
  Result<void> copied = check_sole_voter(*dynamic, NodeId{1}, Uuid{5, 5});
  ASSERT_FALSE(copied);
  EXPECT_NE(copied.error().what.find("the voter is directory"), std::string::npos);
}

}  // namespace
}  // namespace cordwood::broker::metadata
