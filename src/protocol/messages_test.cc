// Every message in every version, and the rules of generated code that a single message shows.
#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/header.h"
#include "protocol/message_bytes_testing.h"
#include "protocol/messages/random_messages_testing.h"

namespace cordwood::protocol {
namespace {

TEST(Messages, RoundTripInEveryVersion) {
  for_each_message([]<class Message>() { expect_round_trips<Message>(20); });
}

TEST(Messages, RequestsAndResponsesComeInPairsWithTheFormOfTheirHeader) {
  std::vector<std::int16_t> requests, responses;
  for_each_request([&]<class Message>() {
    requests.push_back(Message::kApiKey);
    for (int version = Message::kMinVersion; version <= Message::kMaxVersion; ++version) {
      EXPECT_EQ(Message::form(version), request_form(Message::kApiKey, static_cast<std::int16_t>(version)))
          << Message::kName << " v" << version;
    }
  });
  for_each_response([&]<class Message>() {
    responses.push_back(Message::kApiKey);
    if (Message::kApiKey == 18) return;  // its header is classic, its body is not
    for (int version = Message::kMinVersion; version <= Message::kMaxVersion; ++version) {
      EXPECT_EQ(Message::form(version), response_header_form(Message::kApiKey, static_cast<std::int16_t>(version)))
          << Message::kName << " v" << version;
    }
  });
  EXPECT_EQ(requests, responses);
  EXPECT_TRUE(std::ranges::is_sorted(requests));
  EXPECT_EQ(requests.size(), 47u);
}

TEST(Messages, FieldsThatAVersionLacksAreLeftOutAndReadAsTheirDefault) {
  FetchRequest sent;
  sent.session_id = 5;           // v7
  sent.rack_id = "r1";           // v11
  sent.replica_state.replica_id = 3;  // v15, tagged
  sent.max_wait_ms = 9;
  FetchRequest got = sent;
  got.session_epoch = 77;
  ASSERT_TRUE(read_whole(got, bytes_of(sent, 4), 4));
  EXPECT_EQ(got.session_id, 0);
  EXPECT_EQ(got.session_epoch, -1);
  EXPECT_EQ(got.rack_id, "");
  EXPECT_EQ(got.replica_state.replica_id, -1);
  EXPECT_EQ(got.max_wait_ms, 9);
}

TEST(Messages, NullGoesOutAsEmptyWhereAVersionCannotSayNull) {
  MetadataRequest all;  // topics: null
  EXPECT_EQ(hex_of(bytes_of(all, 0)), "00000000");
  EXPECT_EQ(hex_of(bytes_of(all, 1)), "ffffffff");
  JoinGroupResponse answer;
  EXPECT_EQ(hex_of(bytes_of(answer, 0)), "0000" "ffffffff" "0000" "0000" "0000" "00000000");
  EXPECT_EQ(hex_of(bytes_of(answer, 7)), "00000000" "0000" "ffffffff" "00" "00" "01" "01" "01" "00");
}

TEST(Messages, NullIsRefusedWhereAVersionCannotSayNull) {
  MetadataRequest request;
  EXPECT_FALSE(read_whole(request, *from_hex("ffffffff"), 0));
  EXPECT_TRUE(read_whole(request, *from_hex("ffffffff"), 1));
  EXPECT_FALSE(request.topics.has_value());
  // Any negative count is null, as in Kafka's decoder.
  EXPECT_TRUE(read_whole(request, *from_hex("fffffffe"), 1));
  EXPECT_FALSE(request.topics.has_value());
}

// Bodies of Fetch v12 up to the tagged section.
constexpr const char* kFetch12 = "ffffffff 00000000 00000000 00000000 00 00000000 ffffffff 01 01 01";

TEST(Messages, TaggedFieldsAreReadAsKafkaReadsThem) {
  struct Case {
    const char* section;
    bool accepted;
    std::optional<std::string> cluster_id;
  };
  const Case cases[] = {
      {"00", true, std::nullopt},
      {"01 00 02 0261", true, "a"},
      {"01 00 01 0261", true, "a"},                 // the size of a known tag is not looked at
      {"01 00 05 0261", true, "a"},
      {"02 00 02 0261 00 02 0262", true, "b"},      // the last one counts
      {"02 09 01 02 09 00", true, std::nullopt},    // unknown, repeated
      {"02 09 00 03 00", true, std::nullopt},       // falling
      {"01 09 03 0261", false, std::nullopt},       // unknown, longer than what is left
      {"01 01 0d 00000001 0000000000000001 00", false, std::nullopt},  // known, but only from v15
      {"01 09 ffffffff0f", false, std::nullopt},
      {"ffffffff0f", false, std::nullopt},
      {"", false, std::nullopt},
  };
  for (const Case& c : cases) {
    FetchRequest request;
    EXPECT_EQ(read_whole(request, *from_hex(std::string(kFetch12) + c.section), 12), c.accepted) << c.section;
    if (c.accepted) {
      EXPECT_EQ(request.cluster_id, c.cluster_id) << c.section;
    }
  }
}

TEST(Messages, TaggedFieldsEqualToTheirDefaultAreNotWritten) {
  ApiVersionsResponse answer;
  EXPECT_EQ(hex_of(bytes_of(answer, 3)), "0000" "01" "00000000" "00");
  answer.finalized_features_epoch = 0;  // the default is -1
  EXPECT_EQ(hex_of(bytes_of(answer, 3)), "0000" "01" "00000000" "01" "01" "08" "0000000000000000");
}

TEST(Messages, ReadingAgainKeepsWhatWasAllocated) {
  ProduceRequest sent;
  sent.topic_data.resize(3);
  for (auto& topic : sent.topic_data) {
    topic.name = "a topic whose name is too long for the small string";
    topic.partition_data.resize(5);
  }
  ByteVector bytes = bytes_of(sent, 9);
  ProduceRequest request;
  ASSERT_TRUE(read_whole(request, bytes, 9));
  const void* topics = request.topic_data.data();
  const void* name = request.topic_data[2].name.data();
  const void* partitions = request.topic_data[2].partition_data.data();
  ASSERT_TRUE(read_whole(request, bytes, 9));
  EXPECT_EQ(request.topic_data.data(), topics);
  EXPECT_EQ(request.topic_data[2].name.data(), name);
  EXPECT_EQ(request.topic_data[2].partition_data.data(), partitions);
}

TEST(Messages, UnknownErrorNumbersAreKept) {
  HeartbeatResponse answer;
  ASSERT_TRUE(read_whole(answer, *from_hex("7abc"), 0));
  EXPECT_EQ(to_wire(answer.error_code), 0x7abc);
  EXPECT_EQ(hex_of(bytes_of(answer, 0)), "7abc");
}

TEST(Messages, RecordsAreViewsIntoTheFrame) {
  ByteVector frame = *from_hex("ffff 0001 00000000 00000001 0001 61 00000001 00000000 00000003 010203");
  ProduceRequest request;
  ASSERT_TRUE(read_whole(request, frame, 3));
  const Records& records = *request.topic_data[0].partition_data[0].records;
  EXPECT_EQ(records.bytes.data(), frame.data() + frame.size() - 3);
  EXPECT_EQ(records.size(), 3);
}

// A count may promise a million elements of more than a hundred bytes each and be followed by next to nothing.
TEST(Messages, MemoryGrowsWithWhatIsReadAndNotWithWhatIsPromised) {
  ByteVector frame(1'000'004 + 12);
  store_be<std::int32_t>(frame, 0, 0);            // throttle time
  store_be<std::int32_t>(frame, 4, 1'000'000);    // groups
  std::fill(frame.begin() + 8, frame.end(), std::byte{0xff});  // the first one is broken
  DescribeGroupsResponse answer;
  EXPECT_FALSE(read_whole(answer, frame, 1));
  EXPECT_LE(answer.groups.capacity(), 1024u);
}

}  // namespace
}  // namespace cordwood::protocol
