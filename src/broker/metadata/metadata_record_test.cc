#include "broker/metadata/metadata_record.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "broker/metadata/control_record.h"
#include "broker/metadata/random_metadata_records_testing.h"

namespace cordwood::broker::metadata {
namespace {

ByteVector bytes(std::initializer_list<int> values) {
  ByteVector result;
  for (int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

template <std::size_t... Index>
void round_trip_all(Random& random, std::index_sequence<Index...>) {
  auto round_trip = [&]<class Record>() {
    for (std::int16_t version = 0; version <= Record::kMaxVersion; ++version) {
      for (int i = 0; i < 20; ++i) {
        Record body;
        randomize(body, random, version);
        MetadataRecord record{body, version};
        ByteVector encoded = encode_record(record);
        Result<MetadataRecord> decoded = decode_record(encoded, "here");
        ASSERT_TRUE(decoded) << Record::kName << " " << decoded.error().message();
        EXPECT_EQ(*decoded, record) << Record::kName;
        EXPECT_STREQ(name_of(record), Record::kName);
        // Cut anywhere it is refused, and never read beyond its end.
        for (std::size_t length = 0; length < encoded.size(); ++length) {
          ASSERT_FALSE(decode_record(BytesView(encoded).first(length), "here")) << Record::kName << " cut to " << length;
        }
      }
    }
  };
  (round_trip.template operator()<std::variant_alternative_t<Index, RecordBody>>(), ...);
}

TEST(MetadataRecord, GoesThroughBytesInEveryKindAndVersion) {
  SeededRandom random(20);
  round_trip_all(random, std::make_index_sequence<std::variant_size_v<RecordBody>>{});
}

TEST(MetadataRecord, HasKafkasBytes) {
  // FeatureLevelRecord {metadata.version, 25}: frame 1, id 12, version 0, the name with its length + 1, the level, no tags.
  EXPECT_EQ(encode_record({FeatureLevelRecord{"metadata.version", 25}, 0}),
            bytes({1, 12, 0, 17, 'm', 'e', 't', 'a', 'd', 'a', 't', 'a', '.', 'v', 'e', 'r', 's', 'i', 'o', 'n', 0, 25, 0}));
  EXPECT_EQ(encode_record({NoOpRecord{}, 0}), bytes({1, 20, 0, 0}));
}

TEST(MetadataRecord, RefusesWhatIsAboveUs) {
  struct Case {
    ByteVector value;
    Errc code;
    const char* part;
  };
  const Case cases[] = {
      {bytes({}), Errc::corrupt, "a metadata record of 0 bytes"},
      {bytes({1}), Errc::corrupt, "a metadata record of 1 bytes"},
      {bytes({0, 20, 0, 0}), Errc::unsupported, "metadata frame version 0; only 1 is known"},
      {bytes({2, 20, 0, 0}), Errc::unsupported, "metadata frame version 2; only 1 is known"},
      {bytes({1, 6, 0, 0}), Errc::unsupported, "metadata record id 6 is not known"},
      {bytes({1, 30, 0, 0}), Errc::unsupported, "metadata record id 30 is not known"},
      {bytes({1, 20, 1, 0}), Errc::unsupported, "NoOpRecord version 1; versions up to 0 are known"},
      {bytes({1, 0, 5, 0}), Errc::unsupported, "RegisterBrokerRecord version 5; versions up to 4 are known"},
      {bytes({1, 20, 0, 0, 0}), Errc::corrupt, "1 bytes behind a NoOpRecord"},
      {bytes({1, 12, 0, 200}), Errc::corrupt, "a FeatureLevelRecord that is cut short or malformed"},
  };
  for (const Case& c : cases) {
    Result<MetadataRecord> record = decode_record(c.value, "file at position 7");
    ASSERT_FALSE(record) << c.part;
    EXPECT_EQ(record.error().code, c.code) << c.part;
    EXPECT_NE(record.error().what.find(c.part), std::string::npos) << record.error().what;
    EXPECT_TRUE(record.error().what.starts_with("file at position 7"));
  }
}

TEST(MetadataRecord, ReadsOverUnknownTags) {
  // A NoOp with tag 99 of two bytes.
  Result<MetadataRecord> record = decode_record(bytes({1, 20, 0, 1, 99, 2, 7, 7}), "here");
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_TRUE(std::holds_alternative<NoOpRecord>(record->body));
}

TEST(MetadataRecord, HasTheVersionOfTheMetadataVersion) {
  struct Case {
    std::int16_t metadata_version;
    std::int16_t register_broker;
    std::int16_t partition;
  };
  const Case cases[] = {{7, 1, 0}, {8, 2, 0}, {16, 2, 0}, {17, 3, 1}, {22, 3, 1}, {23, 3, 2}, {29, 3, 2}, {30, 4, 2}, {33, 4, 2}};
  for (const Case& c : cases) {
    EXPECT_EQ(record_for(c.metadata_version, RegisterBrokerRecord{}).version, c.register_broker) << c.metadata_version;
    EXPECT_EQ(record_for(c.metadata_version, PartitionRecord{}).version, c.partition) << c.metadata_version;
    EXPECT_EQ(record_for(c.metadata_version, PartitionChangeRecord{}).version, c.partition) << c.metadata_version;
    EXPECT_EQ(record_for(c.metadata_version, TopicRecord{}).version, 0);
  }
}

TEST(MetadataRecord, RegistrationChangesGoByWhatTheyCarry) {
  BrokerRegistrationChangeRecord change;
  change.fenced = 1;
  EXPECT_EQ(record_for(25, change).version, 0);
  change.in_controlled_shutdown = 1;
  EXPECT_EQ(record_for(25, change).version, 1);
  change.log_dirs = {Uuid{1, 2}};
  EXPECT_EQ(record_for(25, change).version, 2);
  change.cordoned_log_dirs.emplace();
  EXPECT_EQ(record_for(33, change).version, 3);
}

TEST(ControlRecord, GoesThroughBytes) {
  LeaderChangeMessage leader;
  leader.leader_id = 1;
  leader.voters.push_back({1, {}});
  leader.granting_voters.push_back({1, {}});
  Voter voter{NodeId{1}, Uuid{3, 4}, {{"CONTROLLER", "localhost", 9093, 0}}, 0, 1};
  for (const ControlRecord& record : std::initializer_list<ControlRecord>{
           leader, SnapshotHeaderRecord{0, 77}, SnapshotFooterRecord{}, KRaftVersionRecord{0, 1}, to_record({voter})}) {
    EncodedControlRecord encoded = encode_control_record(record);
    EXPECT_EQ(encoded.key.size(), 4u);
    Result<ControlRecord> decoded = decode_control_record(encoded.key, encoded.value, "here");
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(*decoded, record);
  }
  EXPECT_EQ(from_record(to_record({voter})), std::vector{voter});
}

TEST(ControlRecord, RefusesWhatItDoesNotKnow) {
  ByteVector value = bytes({0, 0, 0});
  EXPECT_EQ(decode_control_record(std::nullopt, value, "x").error().code, Errc::corrupt);
  EXPECT_EQ(decode_control_record(bytes({0, 0, 0}), value, "x").error().code, Errc::corrupt);
  EXPECT_EQ(decode_control_record(bytes({0, 0, 0, 7}), value, "x").error().what, "x: control record type 7 is not known");
  EXPECT_EQ(decode_control_record(bytes({0, 0, 0, 4}), bytes({0, 1, 0}), "x").error().what,
            "x: SnapshotFooterRecord version 1; versions up to 0 are known");
  EXPECT_EQ(decode_control_record(bytes({0, 0, 0, 4}), bytes({0, 0}), "x").error().code, Errc::corrupt);
}

}  // namespace
}  // namespace cordwood::broker::metadata
