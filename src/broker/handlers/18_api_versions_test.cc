// Negotiation as Apache Kafka 4.4.0 does it: framing, headers, ApiVersions and its quirks.
#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/api_versions.h"

namespace cordwood::broker {
namespace {

using protocol::ApiVersionsRequest;
using protocol::ApiVersionsResponse;
using protocol::ErrorCode;
using Kind = TestOutcome::Kind;

class NegotiationTest : public ::testing::Test {
 protected:
  // A frame of a header and whatever follows; header v2 has an empty tagged section.
  ByteVector frame(std::int16_t key, std::int16_t version, bool tagged_section, BytesView body = {}) {
    ByteWriter writer;
    writer.i16(key);
    writer.i16(version);
    writer.i32(-77);
    writer.i16(1);
    writer.text("c");
    if (tagged_section) writer.i8(0);
    writer.bytes(body);
    return writer.take();
  }
  ApiVersionsRequest software() {
    ApiVersionsRequest request;
    request.client_software_name = "apache-kafka-java";
    request.client_software_version = "4.4.0";
    return request;
  }
  ErrorCode error_of(const ApiVersionsRequest& request, std::int16_t version) {
    auto answer = broker_.call<ApiVersionsResponse>(request, version);
    EXPECT_EQ(answer->api_keys.empty(), answer->error_code != ErrorCode::NONE);
    return answer->error_code;
  }

  TestBroker broker_;
};

TEST_F(NegotiationTest, EveryVersionListsWhatIsServed) {
  for (std::int16_t version = 0; version <= 5; ++version) {
    auto answer = broker_.call<ApiVersionsResponse>(software(), version);
    EXPECT_EQ(answer->error_code, ErrorCode::NONE);
    ASSERT_EQ(answer->api_keys.size(), api_table().size()) << version;
    for (std::size_t i = 0; i < api_table().size(); ++i) {
      EXPECT_EQ(answer->api_keys[i].api_key, api_table()[i].key);
      EXPECT_EQ(answer->api_keys[i].min_version, api_table()[i].min_advertised);
      EXPECT_EQ(answer->api_keys[i].max_version, api_table()[i].max_version);
    }
    EXPECT_EQ(answer->api_keys[0].api_key, 0);
    EXPECT_EQ(answer->api_keys[0].min_version, 0);
    EXPECT_FALSE(answer->zk_migration_ready);
    EXPECT_EQ(answer->finalized_features.empty(), version < 3);
  }
}

TEST_F(NegotiationTest, Features) {
  auto v3 = broker_.call<ApiVersionsResponse>(software(), 3);
  for (const auto& feature : v3->supported_features) EXPECT_GT(feature.min_version, 0) << feature.name;
  auto v4 = broker_.call<ApiVersionsResponse>(software(), 4);
  EXPECT_GT(v4->supported_features.size(), v3->supported_features.size());
  bool has_metadata_version = false;
  for (const auto& feature : v4->finalized_features) {
    EXPECT_EQ(feature.min_version_level, feature.max_version_level);
    EXPECT_GT(feature.max_version_level, 0) << feature.name;
    has_metadata_version |= feature.name == "metadata.version";
  }
  EXPECT_TRUE(has_metadata_version);
  EXPECT_EQ(v4->finalized_features_epoch, broker_->image()->next_offset.value - 1);
  broker_.create_topic("t");
  EXPECT_GT(broker_.call<ApiVersionsResponse>(software(), 4)->finalized_features_epoch, v4->finalized_features_epoch);
}

TEST_F(NegotiationTest, SoftwareNames) {
  for (const char* bad : {"", "a b", "-a", "a.", "a_b", "ü"}) {
    ApiVersionsRequest name = software();
    name.client_software_name = bad;
    EXPECT_EQ(error_of(name, 3), ErrorCode::INVALID_REQUEST) << bad;
    ApiVersionsRequest version = software();
    version.client_software_version = bad;
    EXPECT_EQ(error_of(version, 4), ErrorCode::INVALID_REQUEST) << bad;
  }
  ApiVersionsRequest odd = software();
  odd.client_software_name = "a--b..c";
  odd.client_software_version = "1";
  EXPECT_EQ(error_of(odd, 3), ErrorCode::NONE);
  // Before version 3 there is no name to check.
  EXPECT_EQ(error_of(ApiVersionsRequest{}, 2), ErrorCode::NONE);
}

TEST_F(NegotiationTest, ClusterCheck) {
  std::string cluster = broker_->controller().cluster_id();
  struct Row {
    std::optional<std::string> cluster_id;
    std::int32_t node_id;
    ErrorCode code;
  };
  for (const Row& row : std::vector<Row>{{std::nullopt, -1, ErrorCode::NONE},
                                         {cluster, 1, ErrorCode::NONE},
                                         {cluster, -1, ErrorCode::INVALID_REQUEST},
                                         {std::nullopt, 1, ErrorCode::INVALID_REQUEST},
                                         {"other", 1, ErrorCode::REBOOTSTRAP_REQUIRED},
                                         {cluster, 2, ErrorCode::REBOOTSTRAP_REQUIRED},
                                         {cluster, -2, ErrorCode::REBOOTSTRAP_REQUIRED}}) {
    ApiVersionsRequest request = software();
    request.cluster_id = row.cluster_id;
    request.node_id = row.node_id;
    EXPECT_EQ(error_of(request, 5), row.code) << row.cluster_id.value_or("null") << " " << row.node_id;
  }
}

TEST_F(NegotiationTest, UnknownVersionsAreAnsweredInVersion0) {
  struct Row {
    std::int16_t version;
    bool tagged_section;
  };
  for (const Row& row : std::vector<Row>{{6, true}, {32767, true}, {-1, false}, {-32768, false}}) {
    TestOutcome outcome = broker_.send_raw(frame(18, row.version, row.tagged_section, as_bytes("anything at all")));
    ASSERT_EQ(outcome.kind, Kind::answered) << row.version;
    ByteReader reader(outcome.bytes);
    EXPECT_EQ(reader.i32(), -77);
    EXPECT_EQ(reader.i16(), 35);
    EXPECT_EQ(reader.i32(), 1);
    EXPECT_EQ(reader.i16(), 18);
    EXPECT_EQ(reader.i16(), 0);
    EXPECT_EQ(reader.i16(), 5);
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.remaining(), 0u);
  }
  // Version 6 has a header of version 2, whatever else it may have; this one's section is cut short.
  EXPECT_EQ(broker_.send_raw(frame(18, 6, false)).kind, Kind::closed);
}

TEST_F(NegotiationTest, TheAnswersHeaderIsNeverFlexible) {
  protocol::Encoder body(protocol::Form::flexible);
  encode(software(), body, 3);
  TestOutcome outcome = broker_.send_raw(frame(18, 3, true, body.take_bytes()));
  ByteReader reader(outcome.bytes);
  EXPECT_EQ(reader.i32(), -77);
  EXPECT_EQ(reader.i16(), 0);
  EXPECT_EQ(reader.uvarint(), api_table().size() + 1);
}

TEST_F(NegotiationTest, WhatIsNotServedClosesTheConnection) {
  for (std::int16_t key : {999, -1, 4, 52, 58, 63}) {
    EXPECT_EQ(broker_.send_raw(frame(key, 0, false)).kind, Kind::closed) << key;
  }
  for (auto [key, version] : std::vector<std::pair<std::int16_t, std::int16_t>>{
           {0, 0}, {0, 2}, {0, 14}, {1, 3}, {1, 19}, {3, 14}, {2, 0}, {22, 6}}) {
    EXPECT_EQ(broker_.send_raw(frame(key, version, true)).kind, Kind::closed) << key << " v" << version;
  }
}

TEST_F(NegotiationTest, ShortFramesCloseTheConnection) {
  ByteVector whole = frame(18, 0, false);
  EXPECT_EQ(broker_.send_raw(whole).kind, Kind::answered);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(broker_.send_raw(BytesView(whole).first(size)).kind, Kind::closed) << size;
  }
}

TEST_F(NegotiationTest, OddHeadersThatAreFine) {
  ByteWriter null_id;
  null_id.i16(18);
  null_id.i16(0);
  null_id.i32(-1);
  null_id.i16(-1);
  EXPECT_EQ(broker_.send_raw(null_id.view()).kind, Kind::answered);
  ByteWriter no_utf8;
  no_utf8.i16(18);
  no_utf8.i16(0);
  no_utf8.i32(0);
  no_utf8.i16(2);
  no_utf8.u16(0xff80);
  EXPECT_EQ(broker_.send_raw(no_utf8.view()).kind, Kind::answered);
  EXPECT_EQ(broker_.send_raw(frame(18, 0, false, as_bytes("bytes behind the end"))).kind, Kind::answered);
}

}  // namespace
}  // namespace cordwood::broker
