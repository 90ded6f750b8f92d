#include "record/record.h"

#include <gtest/gtest.h>

#include "record/builder.h"
#include "record/compression.h"
#include "record/record_testing.h"
#include "record/record_walk.h"

namespace cordwood::record {
namespace {

// The error of walking `batch`, or "" when it reads.
std::string fault_of(BytesView batch, const DecompressionLimits& limits = {}) {
  BatchView view = BatchView::parse(batch).value();
  Result<void> walked = for_each_record(view, [](const RecordView&) { return Walk::go_on; }, limits);
  return walked ? "" : fmt::format("{}: {}", to_string(walked.error().code), walked.error().what);
}

TEST(Record, ReadsAProducersBatch) {
  std::vector<OwnedRecord> expected = {
      {Offset{0}, kSomeTime, "k1", "v1", {{"h", "x"}}},
      {Offset{1}, TimestampMs{kSomeTime.value + 5}, std::nullopt, std::nullopt, {}},
  };
  EXPECT_EQ(read_records(golden("two_plain")), expected);
  expected[0].offset = {1000};
  expected[1].offset = {1001};
  EXPECT_EQ(read_records(golden("two_plain_stored")), expected);
}

TEST(Record, ReadsATombstoneWithAHorizonAtItsOwnTime) {
  std::vector<OwnedRecord> expected = {{Offset{200}, kSomeTime, "k", std::nullopt, {}}};
  EXPECT_EQ(read_records(golden("tombstone_with_horizon")), expected);
}

TEST(Record, ReadsWhatKafkaCompressed) {
  std::vector<OwnedRecord> expected;
  for (int i = 0; i < 3; ++i)
    expected.push_back({Offset{i},
                        TimestampMs{kSomeTime.value + i},
                        fmt::format("key-{}", i),
                        fmt::format("the same words, again and again, and again, number {}", i),
                        {}});
  expected[1].headers.emplace_back("h", std::nullopt);
  for (const char* name : {"three_gzip", "three_snappy", "three_lz4", "three_zstd"})
    EXPECT_EQ(read_records(golden(name)), expected) << name;
}

TEST(Record, AnEmptiedBatchHasNoRecords) {
  EXPECT_TRUE(read_records(golden("emptied_by_cleaner")).empty());
}

TEST(Record, AnEmptyBatchIsReadWithoutLookingAtItsCodec) {
  ByteVector batch =
      altered(golden("emptied_by_cleaner"), [](ByteVector& b) { store_be<std::int16_t>(b, kAttributes, 4); });
  EXPECT_TRUE(read_records(batch).empty());
}

TEST(Record, LogAppendTimeGivesEveryRecordTheMaxTimestamp) {
  ByteVector batch = golden("two_plain");
  set_max_timestamp(batch, TimestampType::log_append_time, TimestampMs{77});
  for (const OwnedRecord& record : read_records(batch)) EXPECT_EQ(record.timestamp, TimestampMs{77});
}

TEST(Record, NegativeLengthsOfKeyValueAndHeaderValueAreNull) {
  // Lengths -2 (03) and -64 (7f) instead of the usual -1 (01).
  std::vector<OwnedRecord> expected = {{Offset{0}, kSomeTime, std::nullopt, std::nullopt, {{"h", std::nullopt}}}};
  EXPECT_EQ(read_records(batch_of(1, "12 00 00 00 03 7f 02 02 68 05")), expected);
}

TEST(Record, OffsetAndTimestampDeltasAreNotChecked) {
  // Offset deltas 3 and -1, a timestamp delta of 2^63-1.
  ByteVector batch = batch_of(2, "0c 00 00 06 01 01 00  1e 00 fe ff ff ff ff ff ff ff ff 01 01 01 01 00");
  std::vector<OwnedRecord> records = read_records(batch);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].offset, Offset{3});
  EXPECT_EQ(records[1].offset, Offset{-1});
  EXPECT_EQ(records[1].timestamp, TimestampMs{add_wrapping(kSomeTime.value, INT64_MAX)});
}

TEST(Record, SurplusBitsOfAFiveByteNumberAreDropped) {
  // The key length 1 as 82 80 80 80 70: bits 32 and up are set.
  std::vector<OwnedRecord> expected = {{Offset{0}, kSomeTime, "k", std::nullopt, {}}};
  EXPECT_EQ(read_records(batch_of(1, "16 00 00 00 82 80 80 80 70 6b 01 00")), expected);
}

TEST(Record, MalformedRecordsAreNamed) {
  struct {
    const char* name;
    std::int32_t count;
    const char* records;
    const char* fault;
  } cases[] = {
      {"no bytes at all", 1, "", "record 0 of the batch: the records end before the declared count, or inside one"},
      {"one record of two", 2, "0c 00 00 00 01 01 00",
       "record 1 of the batch: the records end before the declared count, or inside one"},
      {"two records of one", 1, "0c 00 00 00 01 01 00 0c 00 00 02 01 01 00",
       "record 1 of the batch: bytes are left after the declared count of records"},
      {"length beyond the batch", 1, "0e 00 00 00 01 01 00",
       "record 0 of the batch: the records end before the declared count, or inside one"},
      {"length cut off", 1, "8c", "record 0 of the batch: the records end before the declared count, or inside one"},
      {"length shorter than the fields", 1, "0a 00 00 00 01 01 00",
       "record 0 of the batch: a field reaches beyond the record"},
      {"length longer than the fields", 1, "0e 00 00 00 01 01 00 00",
       "record 0 of the batch: the record's length does not match its fields"},
      {"negative length", 1, "01 00 00 00 01 01 00",
       "record 0 of the batch: the record's length does not match its fields"},
      {"length 0", 1, "00", "record 0 of the batch: a field reaches beyond the record"},
      {"length of six bytes", 1, "8c 80 80 80 80 00 00 00 00 01 01 00",
       "record 0 of the batch: a variable-length number is too long"},
      {"timestamp delta of eleven bytes", 1, "20 00 80 80 80 80 80 80 80 80 80 80 00 00 01 01 00",
       "record 0 of the batch: a variable-length number is too long"},
      {"key beyond the record", 1, "0c 00 00 00 08 01 00", "record 0 of the batch: a field reaches beyond the record"},
      {"value beyond the record", 1, "0c 00 00 00 01 08 00",
       "record 0 of the batch: a field reaches beyond the record"},
      {"negative header count", 1, "0c 00 00 00 01 01 01",
       "record 0 of the batch: the header count is negative or too large"},
      {"too many headers", 1, "0c 00 00 00 01 01 02",
       "record 0 of the batch: the header count is negative or too large"},
      {"null header key", 1, "10 00 00 00 01 01 02 01 01", "record 0 of the batch: a header key is null"},
      {"header key beyond the record", 1, "10 00 00 00 01 01 02 08 01",
       "record 0 of the batch: a field reaches beyond the record"},
      {"header without value", 1, "10 00 00 00 01 01 02 02 68",
       "record 0 of the batch: a field reaches beyond the record"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(fault_of(batch_of(c.count, c.records)), fmt::format("corrupt: {}", c.fault)) << c.name;
    // What a walk may touch does not depend on the codec.
    EXPECT_EQ(fault_of(batch_of(c.count, c.records, Codec::lz4)), fmt::format("corrupt: {}", c.fault)) << c.name;
  }
}

TEST(Record, ACutBatchNeverReads) {
  const std::string plain = to_hex(BytesView(golden("two_plain")).subspan(kHeaderSize));
  for (std::size_t cut = 0; cut < plain.size(); cut += 2)
    EXPECT_NE(fault_of(batch_of(2, std::string_view(plain).substr(0, cut))), "") << cut / 2 << " bytes";
  EXPECT_EQ(fault_of(batch_of(2, plain)), "");
}

TEST(Record, CountsAndCodecsThatCannotBe) {
  ByteVector negative =
      altered(golden("two_plain"), [](ByteVector& b) { store_be<std::int32_t>(b, kRecordCount, -1); });
  EXPECT_EQ(fault_of(negative), "corrupt: record count -1");
  for (std::int16_t bits : {5, 6, 7}) {
    ByteVector batch =
        altered(golden("two_plain"), [&](ByteVector& b) { store_be<std::int16_t>(b, kAttributes, bits); });
    EXPECT_EQ(fault_of(batch), fmt::format("unsupported: compression id {} is no codec", bits));
  }
}

TEST(Record, TheRecordsBeforeABadOneAreVisited) {
  ByteVector bytes = batch_of(2, "0c 00 00 00 01 01 00 0c 00 00 02 08 01 00");
  int visited = 0;
  EXPECT_FALSE(for_each_record(BatchView(bytes), [&](const RecordView&) {
                 ++visited;
                 return Walk::go_on;
               }).has_value());
  EXPECT_EQ(visited, 1);
}

TEST(Record, AVisitorMayStop) {
  ByteVector bytes = golden("three_zstd");
  int visited = 0;
  ASSERT_TRUE(for_each_record(BatchView(bytes), [&](const RecordView&) {
                return ++visited == 2 ? Walk::stop : Walk::go_on;
              }).has_value());
  EXPECT_EQ(visited, 2);
}

TEST(Record, AWalkInsideAWalkHasABufferOfItsOwn) {
  ByteVector outer = golden("three_gzip");
  ByteVector inner = golden("three_lz4");
  std::vector<std::string> keys;
  ASSERT_TRUE(for_each_record(BatchView(outer), [&](const RecordView& record) {
                EXPECT_EQ(read_records(inner).size(), 3u);
                keys.emplace_back(as_text(*record.key));
                return Walk::go_on;
              }).has_value());
  EXPECT_EQ(keys, (std::vector<std::string>{"key-0", "key-1", "key-2"}));
}

TEST(Record, CapsHoldForCompressedBatchesOnly) {
  BatchOptions options;
  ByteVector value(5000, std::byte{'a'});
  for (Codec codec : {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd}) {
    options.compression.codec = codec;
    BatchBuilder builder(options);
    builder.add(kSomeTime, std::nullopt, value);
    builder.add(kSomeTime, std::nullopt, value);
    const auto plain_size = static_cast<std::int64_t>(builder.plain_size());
    const std::int64_t body_size = plain_size / 2 - 2;  // the length field takes two bytes
    ByteVector batch = builder.build();
    struct {
      DecompressionLimits limits;
      const char* fault;
    } cases[] = {
        {{.largest_batch = {plain_size}, .largest_record = {body_size}}, ""},
        {{.largest_batch = {plain_size - 1}, .largest_record = {body_size}},
         "limit: the data inflates to more than the"},
        {{.largest_batch = {plain_size}, .largest_record = {body_size - 1}},
         "limit: record 0 of the batch: the decompressed"},
    };
    for (const auto& c : cases) {
      std::string fault = fault_of(batch, c.limits);
      EXPECT_EQ(fault.substr(0, std::string_view(c.fault).size()), codec == Codec::none ? "" : c.fault)
          << to_string(codec);
      EXPECT_EQ(fault.empty(), codec == Codec::none || *c.fault == 0) << fault;
    }
  }
}

TEST(RecordShapes, SayWhatChecksNeed) {
  ByteVector bytes = golden("two_plain");
  std::vector<std::string> seen;
  WalkEnd end =
      walk_shapes(BatchView(bytes).payload(), 2, INT64_MAX, [&](std::int32_t index, const RecordShape& shape) {
        seen.push_back(fmt::format("{}: size {} time +{} offset +{} key {} value {} headers {}", index, shape.body_size,
                                   shape.timestamp_delta, shape.offset_delta, shape.key_size, shape.value_size,
                                   shape.header_count));
        return Walk::go_on;
      });
  EXPECT_TRUE(end.ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"0: size 14 time +0 offset +0 key 2 value 2 headers 1",
                                            "1: size 6 time +5 offset +1 key -1 value -1 headers 0"}));
}

}  // namespace
}  // namespace cordwood::record
