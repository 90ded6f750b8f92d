// Bytes that Kafka's own classes wrote: what they mean, and that every message reads and writes them unchanged.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/source_path_testing.h"
#include "protocol/message_bytes_testing.h"
#include "protocol/messages/every_message.h"

namespace cordwood::protocol {
namespace {

constexpr Uuid kId{0x1112131415161718, 0x2122232425262728};

// Each with the fields set by name, here and in Kafka's classes (kafka-clients 4.4.0), spaces put in by hand.

TEST(MessageGolden, Produce) {
  ProduceRequest request{.acks = -1, .timeout_ms = 30000};
  request.topic_data.push_back({.name = "orders", .partition_data = {{3, Records{as_bytes("batch"), {}}}}});
  expect_bytes(request, 3, "ffff ffff 00007530 00000001 0006 6f7264657273 00000001 00000003 00000005 6261746368");
  expect_bytes(request, 9, "00 ffff 00007530 02 07 6f7264657273 02 00000003 06 6261746368 00 00 00");
  request.topic_data[0].name.clear();
  request.topic_data[0].topic_id = kId;
  expect_bytes(request, 13,
               "00 ffff 00007530 02 1112131415161718 2122232425262728 02 00000003 06 6261746368 00 00 00");

  ProduceResponse response{.throttle_time_ms = 7};
  ProduceResponse::Partition partition{.index = 3,
                                       .error_code = ErrorCode::INVALID_RECORD,
                                       .base_offset = -1,
                                       .log_start_offset = 12,
                                       .record_errors = {{2, std::nullopt}},
                                       .error_message = "bad"};
  response.responses.push_back({.name = "orders", .partition_responses = {partition}});
  expect_bytes(response, 8,
               "00000001 0006 6f7264657273 00000001 00000003 0057 ffffffffffffffff ffffffffffffffff 000000000000000c"
               "00000001 00000002 ffff 0003 626164 00000007");
  response.responses[0].partition_responses[0].current_leader = {5, 6};
  response.node_endpoints.push_back({.node_id = 5, .host = "h5", .port = 9092});
  expect_bytes(response, 10,
               "02 07 6f7264657273 02 00000003 0057 ffffffffffffffff ffffffffffffffff 000000000000000c"
               "02 00000002 00 00 04 626164 01 00 09 00000005 00000006 00 00 00000007"
               "01 00 0e 02 00000005 03 6835 00002384 00 00");
}

TEST(MessageGolden, Fetch) {
  FetchRequest request{.max_wait_ms = 500, .min_bytes = 1, .max_bytes = 1000, .isolation_level = 1, .session_id = 9,
                       .session_epoch = 2, .rack_id = "r"};
  request.topics.push_back({.topic = "orders", .partitions = {{.partition = 3, .current_leader_epoch = 4,
                                                               .fetch_offset = 77, .partition_max_bytes = 100}}});
  request.forgotten_topics_data.push_back({.topic = "old", .partitions = {1, 2}});
  expect_bytes(request, 11,
               "ffffffff 000001f4 00000001 000003e8 01 00000009 00000002 00000001 0006 6f7264657273 00000001 00000003"
               "00000004 000000000000004d ffffffffffffffff 00000064 00000001 0003 6f6c64 00000002 00000001 00000002"
               "0001 72");
  expect_bytes(request, 12,
               "ffffffff 000001f4 00000001 000003e8 01 00000009 00000002 02 07 6f7264657273 02 00000003"
               "00000004 000000000000004d ffffffff ffffffffffffffff 00000064 00 00 02 04 6f6c64 03 00000001 00000002 00"
               "02 72 00");

  FetchResponse response{.throttle_time_ms = 1, .session_id = 9};
  FetchResponse::Partition partition{.partition_index = 3, .high_watermark = 80, .last_stable_offset = 79,
                                     .log_start_offset = 5, .aborted_transactions = {{{4000, 60}}},
                                     .records = Records{as_bytes("batch"), {}}};
  response.responses.push_back({.topic = "orders", .partitions = {partition}});
  expect_bytes(response, 11,
               "00000001 0000 00000009 00000001 0006 6f7264657273 00000001 00000003 0000 0000000000000050"
               "000000000000004f 0000000000000005 00000001 0000000000000fa0 000000000000003c ffffffff"
               "00000005 6261746368");
  response.responses[0].partitions[0].diverging_epoch = {2, 50};
  expect_bytes(response, 12,
               "00000001 0000 00000009 02 07 6f7264657273 02 00000003 0000 0000000000000050"
               "000000000000004f 0000000000000005 02 0000000000000fa0 000000000000003c 00 ffffffff"
               "06 6261746368 01 00 0d 00000002 0000000000000032 00 00 00");
}

TEST(MessageGolden, Metadata) {
  MetadataResponse response{.cluster_id = "c", .controller_id = 1};
  response.brokers.push_back({.node_id = 1, .host = "h", .port = 9092});
  response.topics.push_back({.name = "orders",
                             .topic_id = kId,
                             .partitions = {{.leader_id = 1, .leader_epoch = 4, .replica_nodes = {1, 2},
                                             .isr_nodes = {1}, .offline_replicas = {2}}}});
  expect_bytes(response, 12,
               "00000000 02 00000001 02 68 00002384 00 00 02 63 00000001 02 0000 07 6f7264657273"
               "1112131415161718 2122232425262728 00 02 0000 00000000 00000001 00000004 03 00000001 00000002"
               "02 00000001 02 00000002 00 80000000 00 00");
}

TEST(MessageGolden, JoinGroup) {
  JoinGroupRequest request{.group_id = "g", .session_timeout_ms = 45000, .rebalance_timeout_ms = 300000,
                           .member_id = "m", .group_instance_id = "i", .protocol_type = "consumer",
                           .protocols = {{"range", to_vector(as_bytes("md"))}}, .reason = "rejoin"};
  expect_bytes(request, 9,
               "02 67 0000afc8 000493e0 02 6d 02 69 09 636f6e73756d6572 02 06 72616e6765 03 6d64 00"
               "07 72656a6f696e 00");
}

TEST(MessageGolden, ApiVersions) {
  ApiVersionsResponse response{.api_keys = {{18, 0, 5}}, .supported_features = {{"metadata.version", 7, 33}},
                               .finalized_features_epoch = 142, .finalized_features = {{"metadata.version", 33, 33}}};
  expect_bytes(response, 4,
               "0000 02 0012 0000 0005 00 00000000 03 00 17 02 11 6d657461646174612e76657273696f6e 0007 0021 00"
               "01 08 000000000000008e 02 17 02 11 6d657461646174612e76657273696f6e 0021 0021 00");
}

TEST(MessageGolden, OffsetCommit) {
  OffsetCommitRequest request{.group_id = "g", .generation_id_or_member_epoch = 4, .member_id = "m"};
  request.topics.push_back({.name = "orders", .partitions = {{3, 77, 4, "note"}}});
  expect_bytes(request, 8,
               "02 67 00000004 02 6d 00 02 07 6f7264657273 02 00000003 000000000000004d 00000004 05 6e6f7465 00 00 00");
}

TEST(MessageGolden, CreateTopics) {
  CreateTopicsRequest request{.timeout_ms = 1000, .validate_only = true};
  request.topics.push_back({.name = "orders", .num_partitions = -1, .replication_factor = -1,
                            .assignments = {{0, {1, 2}}}, .configs = {{"k", std::nullopt}}});
  expect_bytes(request, 7,
               "02 07 6f7264657273 ffffffff ffff 02 00000000 03 00000001 00000002 00 02 02 6b 00 00 00 000003e8 01 00");
}

TEST(MessageGolden, DescribeTopicPartitions) {
  DescribeTopicPartitionsRequest request{.topics = {{"orders"}}, .response_partition_limit = 5};
  request.cursor = {"orders", 2};
  expect_bytes(request, 0, "02 07 6f7264657273 00 00000005 01 07 6f7264657273 00000002 00 00");
}

// tests/golden/protocol/*.hex: random contents, so that no field is where another one would do as well.
TEST(MessageGolden, EveryMessageIsReadAndWrittenUnchanged) {
  std::map<std::string, std::map<int, std::string>> golden;  // by name and version
  for (const auto& file : std::filesystem::directory_iterator(source_path("tests/golden/protocol"))) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("#")) continue;
      std::istringstream words(line);
      std::string name, version, hex;
      words >> name >> version >> hex;
      ASSERT_TRUE(version.starts_with("v")) << file.path() << ": " << line;  // hex is empty where there is no field
      ASSERT_TRUE(golden[name].emplace(std::stoi(version.substr(1)), hex).second) << line;
    }
  }
  std::size_t checked = 0;
  for_each_message([&]<class Message>() {
    std::map<int, std::string>& versions = golden[Message::kName];
    EXPECT_TRUE(versions.contains(Message::kMinVersion)) << Message::kName;
    EXPECT_TRUE(versions.contains(Message::kMaxVersion)) << Message::kName;
    for (const auto& [version, hex] : versions) {
      SCOPED_TRACE(fmt::format("{} v{} {}", Message::kName, version, hex));
      auto bytes = from_hex(hex);
      ASSERT_TRUE(bytes);
      Message message;
      ASSERT_TRUE(read_whole(message, *bytes, static_cast<std::int16_t>(version)));
      EXPECT_EQ(hex_of(bytes_of(message, static_cast<std::int16_t>(version))), hex);
      ++checked;
    }
    golden.erase(Message::kName);
  });
  EXPECT_GT(checked, 150u);
  for (const auto& [name, versions] : golden) ADD_FAILURE() << "no message is called " << name;
}

}  // namespace
}  // namespace cordwood::protocol
