// The generated records of __consumer_offsets: every version comes back, and Kafka's own classes write the same bytes.
#include "broker/groups/group_records.h"

#include <gtest/gtest.h>

#include "broker/groups/random_group_records_testing.h"
#include "protocol/message_bytes_testing.h"

namespace cordwood::broker::groups {
namespace {

using protocol::expect_bytes;

TEST(GroupRecords, RoundTripInEveryVersion) {
  for_each_message([]<class Message>() { protocol::expect_round_trips<Message>(50); });
}

// The same fields set by name, here and in Kafka 4.4.0's classes.
TEST(GroupRecords, AreWrittenAsKafkaWritesThem) {
  expect_bytes(OffsetCommitKey{.group = "g", .topic = "orders", .partition = 3}, 0, "0001 67 0006 6f7264657273 00000003");
  expect_bytes(OffsetCommitValue{.offset = 77, .leader_epoch = 4, .metadata = "note",
                                 .commit_timestamp = 1700000000000,
                                 .topic_id = {0x1112131415161718, 0x2122232425262728}},
               4, "000000000000004d 00000004 05 6e6f7465 0000018bcfe56800 01 00 10 1112131415161718 2122232425262728");
  expect_bytes(OffsetCommitValue{.offset = 77, .metadata = "note", .commit_timestamp = 1700000000000,
                                 .expire_timestamp = 1800000000000},
               1, "000000000000004d 0004 6e6f7465 0000018bcfe56800 000001a3185c5000");
  GroupMetadataValue group{.protocol_type = "consumer", .generation = 4, .protocol = "range", .leader = "m",
                           .current_state_timestamp = 1700000000000};
  group.members.push_back({.member_id = "m", .client_id = "c", .client_host = "/h", .rebalance_timeout = 300000,
                           .session_timeout = 45000, .subscription = to_vector(as_bytes("su")),
                           .assignment = to_vector(as_bytes("as"))});
  expect_bytes(group, 3,
               "0008 636f6e73756d6572 00000004 0005 72616e6765 0001 6d 0000018bcfe56800 00000001 0001 6d ffff 0001 63"
               "0002 2f68 000493e0 0000afc8 00000002 7375 00000002 6173");
}

}  // namespace
}  // namespace cordwood::broker::groups
