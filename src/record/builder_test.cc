#include "record/builder.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "record/record_testing.h"

namespace cordwood::record {
namespace {

std::optional<BytesView> text(std::string_view text) {
  return as_bytes(text);
}

TEST(Builder, WritesWhatKafkaWrites) {
  BatchBuilder builder({});
  HeaderToWrite header{"h", text("x")};
  builder.add(kSomeTime, text("k1"), text("v1"), {&header, 1});
  builder.add(TimestampMs{kSomeTime.value + 5}, std::nullopt, std::nullopt);
  EXPECT_EQ(builder.count(), 2);
  EXPECT_EQ(builder.plain_size(), 83 - kHeaderSize);
  EXPECT_EQ(to_hex(builder.build()), to_hex(golden("two_plain")));
}

TEST(Builder, WritesATombstoneWithItsHorizon) {
  BatchOptions options;
  options.base_offset = {200};
  options.partition_leader_epoch = 7;
  options.delete_horizon = TimestampMs{kSomeTime.value + 86'400'000};
  BatchBuilder builder(options);
  builder.add(kSomeTime, text("k"), std::nullopt);
  EXPECT_EQ(to_hex(builder.build()), to_hex(golden("tombstone_with_horizon")));
}

TEST(Builder, WithoutRecordsThereIsNoBatch) {
  BatchBuilder builder({});
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(builder.plain_size(), 0u);
  EXPECT_TRUE(builder.build().empty());
}

TEST(Builder, ResetForgetsEverything) {
  BatchOptions other;
  other.compression.codec = Codec::gzip;
  other.producer_id = 9;
  BatchBuilder builder(other);
  builder.add(TimestampMs{1}, text("old"), text("old"));
  builder.reset({});
  HeaderToWrite header{"h", text("x")};
  builder.add(kSomeTime, text("k1"), text("v1"), {&header, 1});
  builder.add(TimestampMs{kSomeTime.value + 5}, std::nullopt, std::nullopt);
  EXPECT_EQ(to_hex(builder.build()), to_hex(golden("two_plain")));
  builder.reset({});
  EXPECT_TRUE(builder.build().empty());
}

TEST(Builder, FlagsAndFields) {
  BatchOptions options;
  options.base_offset = {50};
  options.partition_leader_epoch = 3;
  options.compression.codec = Codec::lz4;
  options.timestamp_type = TimestampType::log_append_time;
  options.log_append_time = TimestampMs{999};
  options.producer_id = 4;
  options.producer_epoch = 5;
  options.base_sequence = 6;
  options.transactional = true;
  options.last_offset_delta = 9;
  BatchBuilder builder(options);
  builder.add_at(2, TimestampMs{10}, std::nullopt, text("a"));
  builder.add_at(7, TimestampMs{20}, std::nullopt, text("b"));
  BatchHeader header = read_header(builder.build()).value();
  EXPECT_EQ(header.base_offset, Offset{50});
  EXPECT_EQ(header.last_offset(), Offset{59});
  EXPECT_EQ(header.partition_leader_epoch, 3);
  EXPECT_EQ(header.attributes, 3 | 8 | 16);
  EXPECT_EQ(header.base_timestamp, TimestampMs{10});
  EXPECT_EQ(header.max_timestamp, TimestampMs{999});
  EXPECT_EQ(header.producer_id, 4);
  EXPECT_EQ(header.producer_epoch, 5);
  EXPECT_EQ(header.base_sequence, 6);
  EXPECT_EQ(header.record_count, 2);
}

TEST(Builder, RecordsWithoutTimestamp) {
  BatchBuilder builder({});
  builder.add(kNoTimestamp, std::nullopt, text("a"));
  builder.add(kNoTimestamp, std::nullopt, text("b"));
  ByteVector batch = builder.build();
  EXPECT_EQ(read_header(batch).value().base_timestamp, kNoTimestamp);
  EXPECT_EQ(read_header(batch).value().max_timestamp, kNoTimestamp);
  for (const OwnedRecord& record : read_records(batch)) EXPECT_EQ(record.timestamp, kNoTimestamp);
}

TEST(BuilderDeathTest, ChecksItsCaller) {
  BatchBuilder builder({});
  builder.add_at(4, kSomeTime, std::nullopt, std::nullopt);
  EXPECT_DEATH(builder.add_at(4, kSomeTime, std::nullopt, std::nullopt), "offset delta 4 after 4");
  EXPECT_DEATH(builder.add(TimestampMs{-2}, std::nullopt, std::nullopt), "timestamp -2");
}

TEST(EmptyBatch, KeepsWhatReadersAndProducersNeed) {
  BatchHeader original = read_header(golden("emptied_by_cleaner")).value();
  original.attributes = 4 | 0x40;  // zstd and a delete horizon, both lost
  original.base_timestamp = {12345};
  original.record_count = 5;
  EXPECT_EQ(to_hex(make_empty_batch(original)), to_hex(golden("emptied_by_cleaner")));
  original.attributes = static_cast<std::int16_t>(0xff00 | 3 | 0x08 | 0x10 | 0x20);
  EXPECT_EQ(read_header(make_empty_batch(original)).value().attributes, 0x38);
}

// Any records that a builder may be given read back as they were, whatever the codec.
TEST(BuilderProperty, WhatIsBuiltReadsBack) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SeededRandom random(seed);
    auto chance = [&](std::uint64_t percent) { return random.below(100) < percent; };
    auto some_text = [&]() -> std::optional<std::string> {
      if (chance(15)) return std::nullopt;
      std::string made(chance(95) ? random.below(80) : random.below(40'000), 'a');
      for (char& c : made) c = chance(50) ? static_cast<char>(random.next()) : 'e';
      return made;
    };
    auto view = [](const std::optional<std::string>& owned) -> std::optional<BytesView> {
      if (!owned) return std::nullopt;
      return as_bytes(*owned);
    };
    BatchOptions options;
    options.base_offset = {static_cast<std::int64_t>(random.below(1'000'000))};
    options.compression.codec = static_cast<Codec>(random.below(5));
    BatchBuilder builder(options);
    std::vector<OwnedRecord> expected;
    std::int32_t delta = -1;
    for (std::uint64_t i = 0, count = 1 + random.below(40); i < count; ++i) {
      delta += chance(80) ? 1 : 1 + static_cast<std::int32_t>(random.below(1000));
      OwnedRecord record;
      record.offset = options.base_offset + OffsetDelta{delta};
      record.timestamp =
          chance(10) ? kNoTimestamp : TimestampMs{static_cast<std::int64_t>(random.next() >> (1 + random.below(40)))};
      record.key = some_text();
      record.value = some_text();
      for (std::uint64_t h = random.below(chance(30) ? 4 : 1); h > 0; --h)
        record.headers.emplace_back(fmt::format("header{}", random.below(3)), some_text());
      std::vector<HeaderToWrite> headers;
      for (const auto& [key, value] : record.headers) headers.push_back({key, view(value)});
      builder.add_at(delta, record.timestamp, view(record.key), view(record.value), headers);
      expected.push_back(std::move(record));
    }
    ByteVector batch = builder.build();
    BatchView parsed = BatchView::parse(batch).value();
    ASSERT_TRUE(parsed.crc_is_valid());
    ASSERT_EQ(parsed.header().last_offset(), expected.back().offset);
    std::vector<OwnedRecord> read = read_records(batch);
    ASSERT_EQ(read.size(), expected.size());
    for (std::size_t i = 0; i < read.size(); ++i) ASSERT_TRUE(read[i] == expected[i]) << "record " << i;
  }
}

}  // namespace
}  // namespace cordwood::record
