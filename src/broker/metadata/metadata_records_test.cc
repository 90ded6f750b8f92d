// The generated records of the metadata log: every version comes back, and Kafka's own classes write the same bytes.
#include "broker/metadata/metadata_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "broker/metadata/random_metadata_records_testing.h"
#include "protocol/message_bytes_testing.h"

namespace cordwood::broker::metadata {
namespace {

using protocol::expect_bytes;

constexpr Uuid kId{0x1112131415161718, 0x2122232425262728};

TEST(MetadataRecords, RoundTripInEveryVersion) {
  for_each_message([]<class Message>() { protocol::expect_round_trips<Message>(20); });
}

TEST(MetadataRecords, HaveEachTheirOwnId) {
  std::vector<std::int16_t> ids;
  for_each_record([&]<class Record>() { ids.push_back(Record::kRecordId); });
  EXPECT_EQ(std::ranges::adjacent_find(ids, std::greater_equal<>()), ids.end());
  EXPECT_EQ(ids.front(), 0);
  EXPECT_EQ(ids.back(), 29);
  EXPECT_EQ(ids.size(), 27u);  // 6, 13 and 16 left Kafka before 4.0
}

// The same fields set by name, here and in Kafka 4.4.0's classes.
TEST(MetadataRecords, AreWrittenAsKafkaWritesThem) {
  RegisterBrokerRecord broker{.broker_id = 1, .incarnation_id = kId, .broker_epoch = 9,
                              .end_points = {{"PLAINTEXT", "h", 9092, 0}}, .features = {{"metadata.version", 7, 33}},
                              .log_dirs = {kId}};
  broker.cordoned_log_dirs.emplace();
  expect_bytes(broker, 4,
               "00000001 00 1112131415161718 2122232425262728 0000000000000009 02 0a 504c41494e54455854 02 68 2384 0000"
               "00 02 11 6d657461646174612e76657273696f6e 0007 0021 00 00 01 00 02 00 11 02 1112131415161718"
               "2122232425262728 01 01 01");
  PartitionChangeRecord change{.partition_id = 2, .topic_id = kId, .leader = 1};
  change.isr = {1};
  change.directories = {kId};
  expect_bytes(change, 1,
               "00000002 1112131415161718 2122232425262728 03 00 05 02 00000001 01 04 00000001 08 11 02"
               "1112131415161718 2122232425262728");
  VotersRecord voters;
  voters.voters.push_back({.voter_id = 1, .voter_directory_id = kId, .endpoints = {{"CONTROLLER", "h", 9093}},
                           .kraft_version_feature = {0, 1}});
  expect_bytes(voters, 0,
               "0000 02 00000001 1112131415161718 2122232425262728 02 0b 434f4e54524f4c4c4552 02 68 2385 00"
               "0000 0001 00 00 00");
}

}  // namespace
}  // namespace cordwood::broker::metadata
