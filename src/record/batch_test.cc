#include "record/batch.h"

#include <gtest/gtest.h>

#include "record/record_testing.h"

namespace cordwood::record {
namespace {

TEST(BatchHeader, ReadsEveryFieldOfAProducersBatch) {
  ByteVector bytes = golden("two_plain");
  BatchHeader header = read_header(bytes).value();
  EXPECT_EQ(header.base_offset, Offset{0});
  EXPECT_EQ(header.batch_length, 71);
  EXPECT_EQ(header.total_size(), ByteCount{83});
  EXPECT_EQ(header.partition_leader_epoch, -1);
  EXPECT_EQ(header.magic, 2);
  EXPECT_EQ(header.crc, 0x0217af83u);
  EXPECT_EQ(header.attributes, 0);
  EXPECT_EQ(header.last_offset_delta, 1);
  EXPECT_EQ(header.base_timestamp, kSomeTime);
  EXPECT_EQ(header.max_timestamp, TimestampMs{kSomeTime.value + 5});
  EXPECT_EQ(header.producer_id, -1);
  EXPECT_EQ(header.producer_epoch, -1);
  EXPECT_EQ(header.base_sequence, -1);
  EXPECT_EQ(header.record_count, 2);
  EXPECT_FALSE(header.has_producer_id());
  EXPECT_EQ(header.last_sequence(), -1);
}

TEST(BatchHeader, ReadsWhatTheAttributesSay) {
  BatchHeader marker = read_header(golden("commit_marker")).value();
  EXPECT_TRUE(marker.is_transactional());
  EXPECT_TRUE(marker.is_control());
  EXPECT_FALSE(marker.has_delete_horizon());
  EXPECT_EQ(marker.timestamp_type(), TimestampType::create_time);
  EXPECT_EQ(marker.producer_id, 4000);
  EXPECT_EQ(marker.producer_epoch, 2);
  EXPECT_EQ(marker.partition_leader_epoch, 7);
  EXPECT_EQ(marker.last_offset(), Offset{42});
  EXPECT_EQ(marker.next_offset(), Offset{43});

  EXPECT_TRUE(read_header(golden("tombstone_with_horizon")).value().has_delete_horizon());
  EXPECT_EQ(read_header(golden("three_zstd")).value().codec_bits(), 4);
  BatchHeader append_time;
  append_time.attributes = 8;
  EXPECT_EQ(append_time.timestamp_type(), TimestampType::log_append_time);
}

TEST(BatchHeader, IsTheSameWhenWrittenBack) {
  for (const char* name : {"two_plain", "two_plain_stored", "commit_marker", "emptied_by_cleaner",
                           "tombstone_with_horizon", "three_gzip", "three_snappy", "three_lz4", "three_zstd"}) {
    ByteVector bytes = golden(name);
    ByteVector rewritten = bytes;
    std::fill_n(rewritten.begin(), kHeaderSize, std::byte{0xaa});
    write_header(rewritten, read_header(bytes).value());
    EXPECT_EQ(to_hex(rewritten), to_hex(bytes)) << name;
    EXPECT_TRUE(BatchView(bytes).crc_is_valid()) << name;
  }
}

TEST(BatchHeader, OffsetsAtTheEdgeWrapInsteadOfOverflowing) {
  BatchHeader header;
  header.base_offset = {INT64_MAX};
  header.last_offset_delta = 1;
  EXPECT_EQ(header.last_offset(), Offset{INT64_MIN});
}

TEST(Sequence, WrapsFromTheLargestToZero) {
  struct {
    std::int32_t from, delta, sum;
  } cases[] = {{0, 0, 0},
               {0, 5, 5},
               {INT32_MAX, 0, INT32_MAX},
               {INT32_MAX, 1, 0},
               {INT32_MAX - 1, 3, 1},
               {10, INT32_MAX, 9},
               {INT32_MAX, INT32_MAX, INT32_MAX - 1}};
  for (auto c : cases) {
    EXPECT_EQ(add_sequence(c.from, c.delta), c.sum) << c.from << " + " << c.delta;
    EXPECT_EQ(subtract_sequence(c.sum, c.delta), c.from) << c.sum << " - " << c.delta;
  }
  BatchHeader header;
  header.base_sequence = INT32_MAX - 1;
  header.last_offset_delta = 4;
  EXPECT_EQ(header.last_sequence(), 2);
}

TEST(BatchView, ParseCutsToTheBatchItself) {
  ByteVector bytes = golden("two_plain");
  bytes.resize(bytes.size() + 40);
  BatchView view = BatchView::parse(bytes).value();
  EXPECT_EQ(view.bytes().size(), 83u);
  EXPECT_EQ(view.payload().size(), 83u - kHeaderSize);
}

TEST(BatchView, ParseRefusesWhatIsNoBatch) {
  const ByteVector good = golden("two_plain");
  auto with_length = [&](std::int32_t length) {
    ByteVector bytes = good;
    store_be(bytes, kBatchLength, length);
    return bytes;
  };
  auto with_magic = [&](std::int8_t magic) {
    ByteVector bytes = good;
    store_be(bytes, kMagic, magic);
    return bytes;
  };
  struct {
    const char* name;
    ByteVector bytes;
    Errc code;
  } cases[] = {
      {"nothing", {}, Errc::corrupt},
      {"16 bytes", to_vector(BytesView(good).first(16)), Errc::corrupt},
      {"cut in the header", to_vector(BytesView(good).first(60)), Errc::corrupt},
      {"cut in the records", to_vector(BytesView(good).first(82)), Errc::corrupt},
      {"length 48", with_length(48), Errc::corrupt},
      {"length 0", with_length(0), Errc::corrupt},
      {"negative length", with_length(-1), Errc::corrupt},
      {"length one too large", with_length(72), Errc::corrupt},
      {"largest length", with_length(INT32_MAX), Errc::corrupt},
      {"magic 0", with_magic(0), Errc::unsupported},
      {"magic 1", with_magic(1), Errc::unsupported},
      {"magic 3", with_magic(3), Errc::corrupt},
      {"magic -1", with_magic(-1), Errc::corrupt},
  };
  for (const auto& c : cases) {
    Result<BatchView> view = BatchView::parse(c.bytes);
    ASSERT_FALSE(view.has_value()) << c.name;
    EXPECT_EQ(view.error().code, c.code) << c.name;
  }
  EXPECT_FALSE(read_header(BytesView(good).first(60)).has_value());
}

TEST(BatchView, EveryByteFromTheAttributesOnIsUnderTheCrc) {
  const ByteVector good = golden("two_plain");
  for (std::size_t at = 0; at < good.size(); ++at) {
    ByteVector bytes = good;
    bytes[at] ^= std::byte{1};
    bool covered = at >= kCrc;  // the CRC field itself included: a changed one does not match either
    EXPECT_EQ(BatchView(bytes).crc_is_valid(), !covered) << "byte " << at;
  }
}

TEST(Append, PatchesOffsetAndEpochWithoutTouchingTheCrc) {
  ByteVector bytes = golden("two_plain");
  set_last_offset(bytes, Offset{1001});
  set_leader_epoch(bytes, 7);
  EXPECT_EQ(to_hex(bytes), to_hex(golden("two_plain_stored")));
}

TEST(SetMaxTimestamp, LeavesABatchAloneThatAlreadyHasIt) {
  ByteVector bytes =
      altered(golden("two_plain"), [](ByteVector& b) { store_be<std::int16_t>(b, kAttributes, 0x7f00); });
  ByteVector before = bytes;
  set_max_timestamp(bytes, TimestampType::create_time, TimestampMs{kSomeTime.value + 5});
  EXPECT_EQ(to_hex(bytes), to_hex(before));
}

TEST(SetMaxTimestamp, RewritesTypeTimeAndCrcAndDropsUnknownAttributes) {
  struct {
    std::int16_t before;
    TimestampType type;
    std::int16_t after;
  } cases[] = {
      {0x0000, TimestampType::log_append_time, 0x0008},
      {0x0008, TimestampType::create_time, 0x0000},
      {0x0054, TimestampType::log_append_time, 0x005c},
      {static_cast<std::int16_t>(0xff80), TimestampType::create_time, 0x0000},
      {static_cast<std::int16_t>(0xffd0), TimestampType::log_append_time, 0x0058},
  };
  for (auto c : cases) {
    ByteVector bytes = altered(golden("two_plain"), [&](ByteVector& b) { store_be(b, kAttributes, c.before); });
    set_max_timestamp(bytes, c.type, TimestampMs{42});
    EXPECT_EQ(BatchView(bytes).attributes(), c.after) << c.before;
    EXPECT_EQ(BatchView(bytes).max_timestamp(), TimestampMs{42});
    EXPECT_TRUE(BatchView(bytes).crc_is_valid());
  }
}

TEST(Codec, NamesAndBits) {
  for (Codec codec : {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd}) {
    EXPECT_EQ(codec_from_name(to_string(codec)), codec);
    EXPECT_EQ(codec_from_bits(static_cast<std::uint8_t>(codec)), codec);
  }
  EXPECT_EQ(codec_from_name("uncompressed"), Codec::none);
  for (const char* wrong : {"", "GZIP", "producer", "zstd ", "brotli"}) EXPECT_EQ(codec_from_name(wrong), std::nullopt);
  for (std::uint8_t bits : {5, 6, 7, 8}) EXPECT_EQ(codec_from_bits(bits), std::nullopt);
}

}  // namespace
}  // namespace cordwood::record
