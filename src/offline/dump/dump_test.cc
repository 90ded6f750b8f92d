#include <gtest/gtest.h>

#include "offline/dump/java_text.h"
#include "offline/dump/kafka_records.h"
#include "offline/dump/record_decoders.h"
#include "offline/dump/text_writer.h"
#include "offline/records/message_json.h"

namespace cordwood::offline {
namespace {

std::string decoded(std::string_view bytes) {
  std::string out;
  append_utf8(out, as_bytes(bytes));
  return out;
}

TEST(JavaText, ReplacesMalformedUtf8WhereJavaDoes) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(decoded("plain"), "plain");
  EXPECT_EQ(decoded("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(decoded("\xff" "a"), r + "a");
  EXPECT_EQ(decoded("\xc3"), r);
  EXPECT_EQ(decoded("\xe2\x82"), r);                   // a cut end is one
  EXPECT_EQ(decoded("\xe2\x82" "a"), r + "a");
  EXPECT_EQ(decoded("\xed\xa0\x80"), r);               // a surrogate is one
  EXPECT_EQ(decoded("\xe0\x80\x80"), r + r + r);       // too long a form is three
  EXPECT_EQ(decoded("\xf0\x9f\x98" "a"), r + "a");
  EXPECT_EQ(decoded("\xf5\x80\x80\x80"), r + r + r + r);
}

TEST(JavaText, WritesNumbersAsJavaDoes) {
  EXPECT_EQ(java_double(1), "1.0");
  EXPECT_EQ(java_double(0.5), "0.5");
  EXPECT_EQ(java_double(1e7), "1.0E7");
  EXPECT_EQ(java_double(12345678.5), "1.23456785E7");
  EXPECT_EQ(java_double(-0.0001), "-1.0E-4");
  EXPECT_EQ(java_hex(0xfffffff8u), "fffffff8");
  EXPECT_EQ(parse_java_long("+7"), 7);
  EXPECT_EQ(parse_java_long("-7"), -7);
  EXPECT_EQ(parse_java_long("+-7"), std::nullopt);
  EXPECT_EQ(parse_java_long(""), std::nullopt);
  EXPECT_EQ(parse_java_long("9223372036854775808"), std::nullopt);
}

TEST(JavaText, NormalizesPathsAndEscapesJson) {
  EXPECT_EQ(java_path("a//b/"), "a/b");
  EXPECT_EQ(java_path("/"), "/");
  std::string json;
  append_jackson_string(json, "a\"\\\n\x01");
  EXPECT_EQ(json, "\"a\\\"\\\\\\n\\u0001\"");
}

TEST(TextWriter, WritesEveryNumber) {
  cli::MemoryOutput out;
  {
    TextWriter writer(out);
    for (const std::int64_t number : {std::int64_t{0}, std::int64_t{9}, std::int64_t{10}, std::int64_t{-100}, INT64_MAX, INT64_MIN}) {
      writer.number(number);
      writer.character(' ');
    }
  }
  EXPECT_EQ(out.text(), "0 9 10 -100 9223372036854775807 -9223372036854775808 ");
}

TEST(TextWriter, PassesLongTextsOn) {
  cli::MemoryOutput out;
  const std::string longer(600'000, 'x');
  {
    TextWriter writer(out);
    writer.text("a");
    writer.text(longer);
    writer.text("b");
  }
  EXPECT_EQ(out.text(), "a" + longer + "b");
}

TEST(KafkaRecords, SequencesWrap) {
  EXPECT_EQ(increment_sequence(INT32_MAX, 1), 0);
  EXPECT_EQ(increment_sequence(INT32_MAX - 1, 1), INT32_MAX);
  EXPECT_EQ(increment_sequence(0, 5), 5);
}

ByteVector hex(std::string_view digits) {
  ByteVector bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::string shown_value(const RecordDecoder& decoder, const ByteVector& value) {
  ShownRecord shown;
  decoder.decode({Offset{3}, std::nullopt, BytesView(value)}, shown).value();
  return shown.value.value_or("(none)");
}

// The bytes are those of Kafka's own serializer, the texts what its tool prints of them.
TEST(RecordDecoders, ShowRemoteLogMetadataAsKafkaDoes) {
  const auto decoder = remote_log_metadata_decoder();
  EXPECT_EQ(shown_value(*decoder, hex("01020004666f6f0000000000000001000000000000000200000003000000000200000000000000060100")),
            "RemotePartitionDeleteMetadata{topicPartition=AAAAAAAAAAEAAAAAAAAAAg:foo-3, state=DELETE_PARTITION_STARTED, "
            "eventTimestampMs=6, brokerId=2}");
  EXPECT_EQ(shown_value(*decoder, hex("010300000000000000000300000000000000040000000000000000000000000000006400000001ffffffffffffffff"
                                      "000000000000000a030000000000000000000000000000000007000000000000000c0000000400000300")),
            "RemoteLogSegmentMetadataSnapshot{segmentId=AAAAAAAAAAMAAAAAAAAABA, startOffset=0, endOffset=100, maxTimestampMs=-1, "
            "segmentLeaderEpochs={0=0, 7=12}, segmentSizeInBytes=1024, customMetadata=Optional.empty, state=DELETE_SEGMENT_FINISHED, "
            "txnIdxEmpty=false}");
  EXPECT_EQ(shown_value(*decoder, hex("01010004666f6f000000000000000100000000000000020000000300000000000000000300000000000000040000000001"
                                      "000000000000000502010100")),
            "RemoteLogSegmentMetadataUpdate{remoteLogSegmentId=RemoteLogSegmentId{topicIdPartition=AAAAAAAAAAEAAAAAAAAAAg:foo-3, "
            "id=AAAAAAAAAAMAAAAAAAAABA}, customMetadata=Optional[CustomMetadata{1 bytes}], state=COPY_SEGMENT_FINISHED, "
            "eventTimestampMs=5, brokerId=1}");
}

TEST(RecordDecoders, SayWhatCannotBeRead) {
  EXPECT_EQ(shown_value(*cluster_metadata_decoder(), hex("00")),
            "Error at 3, skipping. Could not deserialize metadata record with frame version 0. Note that upgrades from the preview "
            "release of KRaft in 2.8 to newer versions are not supported.");
  ShownRecord shown;
  const ByteVector key = hex("6b31");
  offsets_decoder()->decode({Offset{0}, BytesView(key), std::nullopt}, shown).value();
  EXPECT_EQ(shown.key, "Unknown record type 27441 at offset 0, skipping.");
  EXPECT_FALSE(offsets_decoder()->decode({Offset{2}, std::nullopt, std::nullopt}, shown).has_value());
  EXPECT_FALSE(class_decoder("no.Such", "no.Such").has_value());
}

TEST(Base64, ComesBack) {
  for (std::size_t size = 0; size < 9; ++size) {
    ByteVector bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(37 * i + 5));
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
  EXPECT_EQ(to_base64(as_bytes("ab")), "YWI=");
  EXPECT_EQ(from_base64("a!"), std::nullopt);
}

}  // namespace
}  // namespace cordwood::offline
