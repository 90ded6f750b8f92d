#include "record/validation.h"

#include <gtest/gtest.h>

#include "record/builder.h"
#include "record/record_testing.h"

namespace cordwood::record {
namespace {

ValidationRules plain_rules() {
  ValidationRules rules;
  rules.topic_partition = "pc-0";
  rules.now = kSomeTime;
  return rules;
}

const char* name_of(ProduceFault fault) {
  switch (fault) {
    case ProduceFault::none:
      return "none";
    case ProduceFault::invalid_record:
      return "invalid_record";
    case ProduceFault::corrupt_message:
      return "corrupt_message";
    case ProduceFault::message_too_large:
      return "message_too_large";
    case ProduceFault::invalid_timestamp:
      return "invalid_timestamp";
    case ProduceFault::unsupported_compression:
      return "unsupported_compression";
    case ProduceFault::unknown_server_error:
      return "unknown_server_error";
  }
  return "?";
}

// The verdict on `records` in a line: the fault and the message, if there is one.
std::string verdict(ByteVector records, const ValidationRules& rules = plain_rules()) {
  ValidatedBatch validated = validate_produce(records, rules);
  EXPECT_EQ(validated.fault == ProduceFault::none, !validated.batch.empty());
  std::string text = name_of(validated.fault);
  if (validated.message) text += ": " + *validated.message;
  return text;
}

struct RecordToSend {
  std::int64_t timestamp = kSomeTime.value;
  std::optional<std::string_view> key = "k";
  std::optional<std::string_view> value = "v";
};

ByteVector batch_of_records(std::initializer_list<RecordToSend> records, BatchOptions options = {}) {
  BatchBuilder builder(options);
  auto bytes = [](std::optional<std::string_view> text) -> std::optional<BytesView> {
    if (!text) return std::nullopt;
    return as_bytes(*text);
  };
  for (const RecordToSend& record : records) builder.add({record.timestamp}, bytes(record.key), bytes(record.value));
  return builder.build();
}

BatchOptions with_codec(Codec codec) {
  BatchOptions options;
  options.compression.codec = codec;
  return options;
}

template <class T>
ByteVector with_field(ByteVector batch, std::size_t at, T value) {
  return altered(std::move(batch), [&](ByteVector& bytes) { store_be<T>(bytes, at, value); });
}

ByteVector followed_by(ByteVector bytes, const ByteVector& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

TEST(Validation, ASoundBatchIsTakenAsItCame) {
  ByteVector records = golden("two_plain");
  const ByteVector sent = records;
  ValidatedBatch validated = validate_produce(records, plain_rules());
  EXPECT_EQ(validated.fault, ProduceFault::none);
  EXPECT_EQ(validated.message, std::nullopt);
  EXPECT_EQ(validated.batch.data(), records.data());
  EXPECT_TRUE(validated.rebuilt.empty());
  EXPECT_EQ(to_hex(records), to_hex(sent));
  EXPECT_EQ(validated.header, BatchView(sent).header());
}

// Each answer was seen on Apache Kafka 4.4.0.
TEST(Validation, EnvelopeAndHeader) {
  const ByteVector good = golden("two_plain");
  auto cut_to = [&](std::size_t size) {
    return ByteVector(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
  };
  auto raw = [&](std::size_t at, auto value) {  // the CRC is left as it was
    ByteVector bytes = good;
    store_be(bytes, at, value);
    return bytes;
  };
  auto counts = [&](std::int32_t count, std::int32_t last_delta) {
    return with_field(with_field(good, kRecordCount, count), kLastOffsetDelta, last_delta);
  };
  auto shortened_to = [&](std::int32_t length) {
    ByteVector bytes = cut_to(static_cast<std::size_t>(length) + kLogOverhead);
    store_be(bytes, kBatchLength, length);
    return bytes;
  };
  struct {
    const char* name;
    ByteVector records;
    const char* verdict;
  } cases[] = {
      {"nothing", {}, "invalid_record"},
      {"5 bytes", cut_to(5), "invalid_record"},
      {"16 bytes", cut_to(16), "invalid_record"},
      {"cut in the header", cut_to(40), "invalid_record"},
      {"cut in the records", cut_to(82), "invalid_record"},
      {"length beyond the field", raw(kBatchLength, std::int32_t{72}), "invalid_record"},
      {"length 10", raw(kBatchLength, std::int32_t{10}),
       "corrupt_message: Record size 10 is less than the minimum record overhead (14)"},
      {"length -5", raw(kBatchLength, std::int32_t{-5}),
       "corrupt_message: Record size -5 is less than the minimum record overhead (14)"},
      {"length 10 and nothing behind it", ByteVector(12),
       "corrupt_message: Record size 0 is less than the minimum record overhead (14)"},
      {"length 14, no room for what is read", shortened_to(14), "unknown_server_error"},
      {"length 15", shortened_to(15), "corrupt_message"},
      {"length 48, no room for the header", shortened_to(48), "corrupt_message"},
      {"magic 0", raw(kMagic, std::int8_t{0}), "invalid_record"},
      {"magic 1", raw(kMagic, std::int8_t{1}), "invalid_record"},
      {"magic 3", raw(kMagic, std::int8_t{3}), "corrupt_message: Invalid magic found in record: 3"},
      {"magic -1", raw(kMagic, std::int8_t{-1}), "corrupt_message: Invalid magic found in record: -1"},
      {"bad CRC", raw(kCrc, std::uint32_t{0x0217af84}), "corrupt_message"},
      {"changed byte", raw(kHeaderSize + 5, std::int8_t{'x'}), "corrupt_message"},
      {"base offset 7", raw(kBaseOffset, std::int64_t{7}), "invalid_record"},
      {"base offset -1", raw(kBaseOffset, std::int64_t{-1}), "invalid_record"},
      {"base offset before CRC", with_field(raw(kCrc, std::uint32_t{1}), kBaseOffset, std::int64_t{7}),
       "invalid_record"},
      {"leader epoch 5", raw(kPartitionLeaderEpoch, std::int32_t{5}), "none"},
      {"count 0", counts(0, -1), "invalid_record"},
      {"count -1", counts(-1, 1), "invalid_record"},
      {"count and last delta disagree", counts(2, 2), "invalid_record"},
      {"last delta -1", counts(2, -1), "invalid_record"},
      {"last delta 2^31-1", counts(INT32_MIN, INT32_MAX), "invalid_record"},
      {"more records than count", counts(1, 0), "invalid_record"},
      {"fewer records than count", counts(3, 2), "invalid_record"},
      {"control bit", with_field(good, kAttributes, std::int16_t{0x20}), "invalid_record"},
      {"attribute bits 6 to 15", with_field(good, kAttributes, static_cast<std::int16_t>(0xffc0)), "none"},
      {"compression id 5", with_field(good, kAttributes, std::int16_t{5}), "unknown_server_error"},
      {"compression id 7", with_field(good, kAttributes, std::int16_t{7}), "unknown_server_error"},
      {"compression id 5 and a bad CRC", raw(kAttributes, std::int16_t{5}), "corrupt_message"},
      {"gzip bit on plain records", with_field(good, kAttributes, std::int16_t{1}), "unknown_server_error"},
      {"snappy bit on plain records", with_field(good, kAttributes, std::int16_t{2}), "unknown_server_error"},
      {"lz4 bit on plain records", with_field(good, kAttributes, std::int16_t{3}), "unknown_server_error"},
      {"zstd bit on plain records", with_field(good, kAttributes, std::int16_t{4}), "unknown_server_error"},
      {"producer id with sequence -1", with_field(good, kProducerId, std::int64_t{5}), "invalid_record"},
      {"producer id with epoch -1 and sequence 0",
       with_field(with_field(good, kProducerId, std::int64_t{5}), kBaseSequence, 0), "none"},
      {"sequence without producer id", with_field(good, kBaseSequence, 5), "none"},
      {"11 stray bytes", followed_by(good, ByteVector(11)), "none"},
      {"12 stray zero bytes", followed_by(good, ByteVector(12)), "corrupt_message"},
      {"an incomplete second batch", followed_by(good, cut_to(80)), "none"},
      {"a second batch", followed_by(good, good), "invalid_record"},
      {"a second batch of magic 3", followed_by(good, raw(kMagic, std::int8_t{3})), "corrupt_message"},
  };
  for (const auto& c : cases) EXPECT_EQ(verdict(c.records), c.verdict) << c.name;
}

TEST(Validation, MalformedRecords) {
  struct {
    const char* name;
    std::int32_t count;
    const char* records;
    const char* plain;
  } cases[] = {
      {"sound", 1, "0c 00 00 00 01 01 00", "none"},
      {"record attribute bits", 1, "0c ff 00 00 01 01 00", "none"},
      {"a record's length beyond the batch", 1, "20 00 00 00 01 01 00", "invalid_record"},
      {"bytes left over", 1, "0c 00 00 00 01 01 00 00", "invalid_record"},
      {"null header key", 1, "10 00 00 00 01 01 02 01 01", "invalid_record"},
      {"one record of two", 2, "0c 00 00 00 01 01 00", "invalid_record"},
      {"a varint too long", 1, "8c 80 80 80 80 00", "invalid_record"},
  };
  for (const auto& c : cases)
    for (Codec codec : {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd})
      EXPECT_EQ(verdict(batch_of(c.count, c.records, codec)), c.plain) << c.name << " in " << to_string(codec);
}

TEST(Validation, WhatIsCutOffIsNotPartOfTheBatch) {
  ByteVector records = followed_by(golden("two_plain"), ByteVector(11, std::byte{0xee}));
  ValidatedBatch validated = validate_produce(records, plain_rules());
  EXPECT_EQ(validated.batch.size(), 83u);
  EXPECT_EQ(validated.batch.data(), records.data());
}

TEST(Validation, WrongOffsetDeltas) {
  // 3 instead of 0, and twice 0: stored as sent when plain. In a compressed batch they are numbered anew.
  for (const char* records :
       {"0c 00 00 06 01 01 00  0c 00 00 08 01 01 00", "0c 00 00 00 01 01 00  0c 00 00 00 01 01 00"}) {
    ByteVector plain = batch_of(2, records);
    const ByteVector sent = plain;
    ValidatedBatch validated = validate_produce(plain, plain_rules());
    EXPECT_EQ(validated.fault, ProduceFault::none);
    EXPECT_EQ(to_hex(validated.batch), to_hex(sent));
    for (Codec codec : {Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd}) {
      ByteVector packed = batch_of(2, records, codec);
      ValidatedBatch rebuilt = validate_produce(packed, plain_rules());
      ASSERT_EQ(rebuilt.fault, ProduceFault::none);
      EXPECT_FALSE(rebuilt.rebuilt.empty());
      EXPECT_EQ(rebuilt.header.codec_bits(), static_cast<std::uint8_t>(codec));
      std::vector<OwnedRecord> read = read_records(rebuilt.batch);
      ASSERT_EQ(read.size(), 2u);
      EXPECT_EQ(read[0].offset, Offset{0});
      EXPECT_EQ(read[1].offset, Offset{1});
    }
  }
}

TEST(Validation, SizeLimitIsStrictAndComesBeforeTheCrc) {
  ByteVector good = golden("two_plain");
  ValidationRules rules = plain_rules();
  rules.max_message_bytes = {83};
  EXPECT_EQ(verdict(good, rules), "none");
  EXPECT_EQ(verdict(followed_by(good, ByteVector(11)), rules), "none");
  rules.max_message_bytes = {82};
  EXPECT_EQ(verdict(good, rules), "message_too_large");
  store_be<std::uint32_t>(good, kCrc, 1);
  EXPECT_EQ(verdict(good, rules), "message_too_large");
  store_be<std::int64_t>(good, kBaseOffset, 1);
  EXPECT_EQ(verdict(good, rules), "invalid_record");
}

TEST(Validation, ZstdNeedsVersionSeven) {
  ValidationRules rules = plain_rules();
  rules.zstd_allowed = false;
  EXPECT_EQ(verdict(golden("three_zstd"), rules), "unsupported_compression");
  EXPECT_EQ(verdict(followed_by(golden("three_zstd"), golden("two_plain")), rules), "unsupported_compression");
  EXPECT_EQ(verdict(golden("three_lz4"), rules), "none");
  EXPECT_EQ(verdict(golden("three_zstd")), "none");
  // Ids that are no codec fail before the CRC is looked at, in these versions only.
  ByteVector wrong = golden("two_plain");
  store_be<std::int16_t>(wrong, kAttributes, 6);
  EXPECT_EQ(verdict(wrong, rules), "unknown_server_error");
  EXPECT_EQ(verdict(wrong), "corrupt_message");
}

TEST(Validation, CompactedTopicsWantKeys) {
  ValidationRules rules = plain_rules();
  rules.compacted = true;
  ByteVector records = batch_of_records({{}, {.key = std::nullopt}, {.key = std::nullopt}, {.key = ""}});
  ValidatedBatch validated = validate_produce(records, rules);
  EXPECT_EQ(validated.fault, ProduceFault::invalid_record);
  EXPECT_EQ(
      validated.message.value_or("null"),
      "One or more records have been rejected due to 2 record errors in total, and only showing the first three "
      "errors at most: [RecordError(batchIndex=1, message='Compacted topic cannot accept message without key in "
      "topic partition pc-0'), RecordError(batchIndex=2, message='Compacted topic cannot accept message without key "
      "in topic partition pc-0')]");
  ASSERT_EQ(validated.record_faults.size(), 2u);
  EXPECT_EQ(validated.record_faults[0].batch_index, 1);
  EXPECT_EQ(validated.record_faults[1].batch_index, 2);
  EXPECT_EQ(validated.record_faults[1].message,
            "Compacted topic cannot accept message without key in topic partition pc-0");
  EXPECT_EQ(verdict(records), "none");
}

TEST(Validation, TheTextShowsThreeErrorsAndTheListAll) {
  ValidationRules rules = plain_rules();
  rules.compacted = true;
  RecordToSend keyless{.key = std::nullopt};
  ByteVector records = batch_of_records({keyless, keyless, keyless, keyless, keyless});
  ValidatedBatch validated = validate_produce(records, rules);
  EXPECT_EQ(validated.record_faults.size(), 5u);
  EXPECT_NE(validated.message->find("due to 5 record errors in total"), std::string::npos);
  EXPECT_NE(validated.message->find("batchIndex=2"), std::string::npos);
  EXPECT_EQ(validated.message->find("batchIndex=3"), std::string::npos);
}

TEST(Validation, TimestampBounds) {
  const std::int64_t now = kSomeTime.value;
  struct {
    std::int64_t timestamp;
    std::int64_t before;
    std::int64_t after;
    const char* text;  // of the record's error; empty when accepted
  } cases[] = {
      {now, 60'000, 60'000, ""},
      {now - 60'000, 60'000, 60'000, ""},
      {now + 60'000, 60'000, 60'000, ""},
      {now - 60'001, 60'000, 60'000,
       "Timestamp 1699999939999 of message with offset 0 is out of range. The timestamp should be within "
       "[1699999940000, 1700000060000]"},
      {now + 60'001, 60'000, 60'000,
       "Timestamp 1700000060001 of message with offset 0 is out of range. The timestamp should be within "
       "[1699999940000, 1700000060000]"},
      {-1, 60'000, 60'000, ""},
      {0, INT64_MAX, 3'600'000, ""},
      {now + 1'800'000, INT64_MAX, 3'600'000, ""},
      {now + 7'200'000, INT64_MAX, 3'600'000,
       "Timestamp 1700007200000 of message with offset 0 is out of range. The timestamp should be within "
       "[-9223370336854775807, 1700003600000]"},
      {INT64_MAX, INT64_MAX, INT64_MAX, ""},
      {now + 1, 0, 0,
       "Timestamp 1700000000001 of message with offset 0 is out of range. The timestamp should be within "
       "[1700000000000, 1700000000000]"},
  };
  for (const auto& c : cases) {
    ValidationRules rules = plain_rules();
    rules.timestamp_before_max = {c.before};
    rules.timestamp_after_max = {c.after};
    ByteVector records = batch_of_records({{.timestamp = c.timestamp}});
    ValidatedBatch validated = validate_produce(records, rules);
    if (*c.text == 0) {
      EXPECT_EQ(validated.fault, ProduceFault::none) << c.timestamp;
      continue;
    }
    EXPECT_EQ(validated.fault, ProduceFault::invalid_timestamp) << c.timestamp;
    EXPECT_EQ(validated.message, "One or more records have been rejected due to invalid timestamp");
    ASSERT_EQ(validated.record_faults.size(), 1u);
    EXPECT_EQ(validated.record_faults[0].message, c.text);
  }
}

TEST(Validation, TheOffsetInATimestampTextIsTheRecordsOwn) {
  ValidationRules rules = plain_rules();
  rules.timestamp_before_max = {0};
  // Offset delta 3 and timestamp delta -1.
  ByteVector records = batch_of(1, "0c 00 01 06 01 01 00");
  ValidatedBatch validated = validate_produce(records, rules);
  ASSERT_EQ(validated.record_faults.size(), 1u);
  EXPECT_EQ(validated.record_faults[0].batch_index, 0);
  EXPECT_EQ(validated.record_faults[0].message.substr(0, 51), "Timestamp 1699999999999 of message with offset 3 is");
}

TEST(Validation, ATimestampErrorNamesTheWholeRefusal) {
  ValidationRules rules = plain_rules();
  rules.compacted = true;
  rules.timestamp_before_max = {10};
  ByteVector records =
      batch_of_records({{.key = std::nullopt}, {.timestamp = 5}, {.timestamp = 5, .key = std::nullopt}});
  ValidatedBatch validated = validate_produce(records, rules);
  EXPECT_EQ(validated.fault, ProduceFault::invalid_timestamp);
  ASSERT_EQ(validated.record_faults.size(), 3u);
  EXPECT_EQ(validated.record_faults[0].message.substr(0, 9), "Compacted");
  EXPECT_EQ(validated.record_faults[1].message.substr(0, 9), "Timestamp");
  // One error a record: the key's comes first.
  EXPECT_EQ(validated.record_faults[2].message.substr(0, 9), "Compacted");
}

TEST(Validation, AMalformedRecordOutweighsRefusedOnes) {
  ValidationRules rules = plain_rules();
  rules.compacted = true;
  EXPECT_EQ(verdict(batch_of(2, "0c 00 00 00 01 01 00  0c 00 00 02 08 01 00"), rules), "invalid_record");
}

TEST(Validation, AWrongMaxTimestampIsCorrected) {
  for (std::int64_t wrong : {std::int64_t{0}, kSomeTime.value + 6, std::int64_t{-1}, INT64_MAX}) {
    ByteVector records = with_field(golden("two_plain"), kMaxTimestamp, wrong);
    ValidatedBatch validated = validate_produce(records, plain_rules());
    ASSERT_EQ(validated.fault, ProduceFault::none);
    EXPECT_EQ(to_hex(validated.batch), to_hex(golden("two_plain"))) << wrong;
    EXPECT_EQ(validated.header.max_timestamp, TimestampMs{kSomeTime.value + 5});
    EXPECT_EQ(validated.header.crc, BatchView(golden("two_plain")).stored_crc());
  }
}

TEST(Validation, LogAppendTimeBitOnACreateTimeTopic) {
  ByteVector records = with_field(golden("two_plain"), kAttributes, std::int16_t{8});
  ValidatedBatch validated = validate_produce(records, plain_rules());
  ASSERT_EQ(validated.fault, ProduceFault::none);
  EXPECT_EQ(validated.header.attributes, 0);
  EXPECT_TRUE(BatchView(validated.batch).crc_is_valid());
  // Every record has the batch's max timestamp then, and -1 there cannot be.
  records = with_field(with_field(golden("two_plain"), kAttributes, std::int16_t{8}), kMaxTimestamp, std::int64_t{-1});
  validated = validate_produce(records, plain_rules());
  EXPECT_EQ(validated.fault, ProduceFault::invalid_timestamp);
  ASSERT_EQ(validated.record_faults.size(), 2u);
  EXPECT_EQ(
      validated.record_faults[1].message,
      "Invalid timestamp type in message DefaultRecord(offset=1, timestamp=-1, key=0 bytes, value=0 bytes). Producer "
      "should not set timestamp type to LogAppendTime.");
}

TEST(Validation, LogAppendTimeBitOnALogAppendTimeTopic) {
  ValidationRules rules = plain_rules();
  rules.timestamp_type = TimestampType::log_append_time;
  BatchOptions options;
  options.timestamp_type = TimestampType::log_append_time;
  struct {
    Codec sent;
    std::optional<CompressionSettings> target;
    const char* text;
  } cases[] = {
      {Codec::none, {}, "DefaultRecord(offset=0, timestamp=1000, key=1 bytes, value=0 bytes)"},
      {Codec::gzip, {}, "PartialDefaultRecord(offset=0, timestamp=1000, key=1 bytes, value=-1 bytes)"},
      {Codec::gzip, CompressionSettings{Codec::zstd, {}},
       "DefaultRecord(offset=0, timestamp=1000, key=1 bytes, value=0 bytes)"},
  };
  for (const auto& c : cases) {
    options.compression.codec = c.sent;
    rules.target_compression = c.target;
    ByteVector records = batch_of_records({{.timestamp = 1000, .value = std::nullopt}}, options);
    ValidatedBatch validated = validate_produce(records, rules);
    EXPECT_EQ(validated.fault, ProduceFault::invalid_timestamp);
    ASSERT_EQ(validated.record_faults.size(), 1u);
    EXPECT_EQ(
        validated.record_faults[0].message,
        fmt::format("Invalid timestamp type in message {}. Producer should not set timestamp type to LogAppendTime.",
                    c.text));
  }
}

TEST(Validation, ALogAppendTimeTopicSetsTheBrokersTime) {
  ValidationRules rules = plain_rules();
  rules.timestamp_type = TimestampType::log_append_time;
  rules.now = {kSomeTime.value + 99};
  rules.timestamp_before_max = {0};  // not looked at
  for (const char* name : {"two_plain", "three_zstd"}) {
    ByteVector records = golden(name);
    ValidatedBatch validated = validate_produce(records, rules);
    ASSERT_EQ(validated.fault, ProduceFault::none);
    EXPECT_TRUE(validated.rebuilt.empty());
    EXPECT_EQ(validated.header.timestamp_type(), TimestampType::log_append_time);
    EXPECT_EQ(validated.header.base_timestamp, kSomeTime);
    EXPECT_EQ(validated.header.max_timestamp, rules.now);
    EXPECT_TRUE(BatchView(validated.batch).crc_is_valid());
    for (const OwnedRecord& record : read_records(validated.batch)) EXPECT_EQ(record.timestamp, rules.now);
  }
}

TEST(Validation, AnotherCodecRebuildsTheBatch) {
  BatchOptions options;
  options.producer_id = 7;
  options.producer_epoch = 3;
  options.base_sequence = 11;
  options.transactional = true;
  for (Codec from : {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd})
    for (Codec to : {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd}) {
      SCOPED_TRACE(fmt::format("{} to {}", to_string(from), to_string(to)));
      options.compression.codec = from;
      ByteVector records = batch_of_records(
          {{}, {.timestamp = kSomeTime.value - 5, .key = std::nullopt}, {.value = std::nullopt}}, options);
      const ByteVector sent = records;
      ValidationRules rules = plain_rules();
      rules.target_compression = CompressionSettings{to, {}};
      ValidatedBatch validated = validate_produce(records, rules);
      ASSERT_EQ(validated.fault, ProduceFault::none);
      EXPECT_EQ(validated.rebuilt.empty(), from == to);
      EXPECT_EQ(validated.header, BatchView(validated.batch).header());
      EXPECT_EQ(validated.header.codec_bits(), static_cast<std::uint8_t>(to));
      EXPECT_EQ(validated.header.producer_id, 7);
      EXPECT_EQ(validated.header.producer_epoch, 3);
      EXPECT_EQ(validated.header.base_sequence, 11);
      EXPECT_TRUE(validated.header.is_transactional());
      EXPECT_EQ(validated.header.max_timestamp, kSomeTime);
      EXPECT_TRUE(BatchView(validated.batch).crc_is_valid());
      EXPECT_EQ(read_records(validated.batch), read_records(sent));
    }
}

TEST(Validation, ARebuiltBatchNumbersAnewAndKeepsHeaders) {
  ByteVector records = golden("two_plain");
  store_be<std::int32_t>(records, kLastOffsetDelta, 1);
  update_crc(records);
  ValidationRules rules = plain_rules();
  rules.target_compression = CompressionSettings{Codec::gzip, 1};
  rules.timestamp_type = TimestampType::log_append_time;
  ValidatedBatch validated = validate_produce(records, rules);
  ASSERT_EQ(validated.fault, ProduceFault::none);
  std::vector<OwnedRecord> expected = {{Offset{0}, rules.now, "k1", "v1", {{"h", "x"}}},
                                       {Offset{1}, rules.now, std::nullopt, std::nullopt, {}}};
  EXPECT_EQ(read_records(validated.batch), expected);
  EXPECT_EQ(validated.header.base_timestamp, kSomeTime);
}

TEST(Validation, TheRebuiltSizeIsCheckedAgain) {
  BatchOptions options = with_codec(Codec::gzip);
  std::string long_value(5000, 'a');
  ByteVector records = batch_of_records({{.value = long_value}}, options);
  ValidationRules rules = plain_rules();
  rules.max_message_bytes = {1000};
  EXPECT_EQ(verdict(records, rules), "none");
  rules.target_compression = CompressionSettings{Codec::none, {}};
  EXPECT_EQ(verdict(records, rules), "message_too_large");
  std::size_t rebuilt_size = batch_of_records({{.value = long_value}}).size();
  rules.max_message_bytes = {static_cast<std::int64_t>(rebuilt_size)};
  EXPECT_EQ(verdict(records, rules), "none");
  rules.max_message_bytes = {static_cast<std::int64_t>(rebuilt_size) - 1};
  EXPECT_EQ(verdict(records, rules), "message_too_large");
}

TEST(Validation, WhatOnlyARebuildRefuses) {
  ValidationRules rebuilding = plain_rules();
  rebuilding.target_compression = CompressionSettings{Codec::lz4, {}};
  const ByteVector good = golden("two_plain");
  struct {
    const char* name;
    ByteVector records;
  } cases[] = {
      {"a timestamp below -1",
       with_field(with_field(good, kBaseTimestamp, std::int64_t{-9}), kMaxTimestamp, std::int64_t{-4})},
      {"transactional without producer id", with_field(good, kAttributes, std::int16_t{0x10})},
      {"producer epoch -1", with_field(with_field(good, kProducerId, std::int64_t{5}), kBaseSequence, 0)},
      {"producer id -2 with sequence -1",
       with_field(with_field(good, kProducerId, std::int64_t{-2}), kProducerEpoch, std::int16_t{0})},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(verdict(c.records), "none") << c.name;
    EXPECT_EQ(verdict(c.records, rebuilding), "unknown_server_error") << c.name;
  }
}

TEST(Validation, DecompressedRecordsHaveALimit) {
  ValidationRules rules = plain_rules();
  rules.limits.largest_record = {6};
  EXPECT_EQ(verdict(batch_of(1, "0c 00 00 00 01 01 00", Codec::gzip), rules), "none");
  rules.limits.largest_record = {5};
  EXPECT_EQ(verdict(batch_of(1, "0c 00 00 00 01 01 00", Codec::gzip), rules), "invalid_record");
  EXPECT_EQ(verdict(batch_of(1, "0c 00 00 00 01 01 00"), rules), "none");
  rules = plain_rules();
  rules.limits.largest_batch = {1 * MiB};
  std::string zeros(4 * MiB, '\0');
  EXPECT_EQ(verdict(batch_of_records({{.value = zeros}}, with_codec(Codec::zstd)), rules), "invalid_record");
}

// A stream that breaks off: what is wrong in front of the break decides, as for a reader that streams.
TEST(Validation, DamageBehindAMalformedRecord) {
  auto cut_batch = [](const char* records) {
    ByteVector batch = batch_of(2, records, Codec::lz4);
    batch.resize(batch.size() - 4);  // the end mark
    store_be<std::int32_t>(batch, kBatchLength, static_cast<std::int32_t>(batch.size() - kLogOverhead));
    update_crc(batch);
    return batch;
  };
  EXPECT_EQ(verdict(cut_batch("0c 00 00 00 01 01 00  0c 00 00 02 01 01 00")), "unknown_server_error");
  EXPECT_EQ(verdict(cut_batch("0c 00 00 00 01 01 01  0c 00 00 02 01 01 00")), "invalid_record");
  EXPECT_EQ(verdict(cut_batch("0c 00 00 00 01 01 00  0c 00")), "unknown_server_error");
}

TEST(Validation, EveryFlippedBitIsRefusedOrHarmless) {
  for (const char* name : {"two_plain", "three_gzip", "three_zstd"}) {
    const ByteVector good = golden(name);
    for (std::size_t at = 0; at < good.size(); ++at)
      for (int bit = 0; bit < 8; ++bit) {
        ByteVector bytes = good;
        bytes[at] ^= static_cast<std::byte>(1 << bit);
        bool harmless = at >= kPartitionLeaderEpoch && at < kMagic;
        EXPECT_EQ(verdict(bytes) == "none", harmless) << name << " byte " << at << " bit " << bit;
      }
  }
}

}  // namespace
}  // namespace cordwood::record
