#include "record/legacy.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "record/compression.h"
#include "record/record_testing.h"
#include "record/walk.h"

namespace cordwood::record {
namespace {

// A message of an old format; `timestamp` is left out for magic 0.
ByteVector message(std::int8_t magic, std::int64_t offset, std::uint8_t attributes, std::int64_t timestamp,
                   std::optional<std::string_view> key, std::optional<BytesView> value) {
  ByteWriter to;
  to.i64(offset);
  to.i32(0);
  to.u32(0);
  to.i8(magic);
  to.u8(attributes);
  if (magic == 1) to.i64(timestamp);
  to.i32(key ? static_cast<std::int32_t>(key->size()) : -1);
  if (key) to.text(*key);
  to.i32(value ? static_cast<std::int32_t>(value->size()) : -1);
  if (value) to.bytes(*value);
  to.patch(kBatchLength, static_cast<std::int32_t>(to.size() - kLogOverhead));
  to.patch(kLegacyCrc, crc32_ieee(to.view().subspan(kMagic)));
  return to.take();
}

ByteVector wrapper(std::int8_t magic, std::int64_t offset, std::uint8_t attributes, std::int64_t timestamp,
                   std::initializer_list<ByteVector> inner, Codec codec = Codec::gzip) {
  ByteVector plain;
  for (const ByteVector& one : inner) plain.insert(plain.end(), one.begin(), one.end());
  ByteVector packed;
  compress({codec, {}}, plain, packed);
  return message(magic, offset, static_cast<std::uint8_t>(attributes | static_cast<std::uint8_t>(codec)), timestamp,
                 std::nullopt, packed);
}

// "offset@timestamp key=value" for each record, or the error.
std::string records_of(BytesView entry, const DecompressionLimits& limits = {}) {
  std::string seen;
  auto shown = [](const std::optional<BytesView>& bytes) { return bytes ? std::string(as_text(*bytes)) : "null"; };
  Result<void> walked = for_each_legacy_record(
      entry,
      [&](const LegacyRecord& record) {
        seen += fmt::format("{}{}@{} {}={}", seen.empty() ? "" : ", ", record.offset, record.timestamp,
                            shown(record.key), shown(record.value));
        return Walk::go_on;
      },
      limits);
  if (!walked) return fmt::format("{}: {}", to_string(walked.error().code), walked.error().what);
  return seen;
}

TEST(Legacy, ReadsSingleMessages) {
  EXPECT_EQ(records_of(golden("legacy_v0")), "5@-1 k=v");
  EXPECT_EQ(records_of(golden("legacy_v1")), "5@1700000000000 k=v");
  EXPECT_EQ(records_of(message(0, 9, 0, 0, std::nullopt, std::nullopt)), "9@-1 null=null");
  // Attribute bit 3 has no meaning in format 0.
  EXPECT_EQ(records_of(message(0, 9, 8, 0, "k", std::nullopt)), "9@-1 k=null");
}

TEST(Legacy, ReadsASegmentThatKafkaKept) {
  // Both formats, every codec they have, create and log append time, and a batch v2 behind them. What each line says is
  // what kafka-dump-log of 4.4.0 says.
  const char* expected[] = {
      "0@-1 k0=g-v0",
      "1@-1 null=null",
      "2@-1 k2=g, 3@-1 null=v3, 4@-1 k4=null",
      "5@1700000000000 k5=g-v5",
      "6@1700000000300 k6=v6, 7@1700000000200 k7=v7",
      "8@-1 k8=v8, 9@-1 k9=v9",
      "10@1795991748529 k10=g, 11@1795991748529 k11=v11",
      "12@-1 k12=g",
      "13@1700000000500 k13=null",
  };
  ByteVector segment = golden_file("legacy_segment.log");
  BytesView rest(segment);
  std::int64_t next_offset = 0;
  for (const char* line : expected) {
    EntryPrefix prefix = read_prefix(rest).value();
    BytesView entry = rest.first(static_cast<std::size_t>(prefix.total_size().value));
    EXPECT_EQ(records_of(entry), line);
    EXPECT_EQ(legacy_base_offset(entry).value(), Offset{next_offset});
    EntryInfo info = check_entry(entry).value();
    EXPECT_EQ(info.magic, prefix.magic);
    EXPECT_EQ(info.last_offset, prefix.offset);
    EXPECT_FALSE(info.header.has_value());
    next_offset = prefix.offset.value + 1;
    rest = rest.subspan(entry.size());
  }
  EXPECT_EQ(read_prefix(rest).value().magic, 2);
  EXPECT_EQ(read_records(rest).size(), 1u);
}

TEST(Legacy, OffsetsInsideAWrapper) {
  auto v1 = [](std::int64_t relative) { return message(1, relative, 0, 100 + relative, "k", std::nullopt); };
  auto v0 = [](std::int64_t absolute) { return message(0, absolute, 0, 0, "k", std::nullopt); };
  struct {
    const char* name;
    ByteVector entry;
    const char* records;
  } cases[] = {
      {"v1 are relative to the last", wrapper(1, 12, 0, 102, {v1(0), v1(1), v1(2)}),
       "10@100 k=null, 11@101 k=null, 12@102 k=null"},
      {"v1 with gaps", wrapper(1, 15, 0, 105, {v1(0), v1(5)}), "10@100 k=null, 15@105 k=null"},
      {"a v1 wrapper at 0 has base 0", wrapper(1, 0, 0, 102, {v1(0), v1(2)}), "0@100 k=null, 2@102 k=null"},
      {"v0 are absolute", wrapper(0, 12, 0, 0, {v0(7), v0(12)}), "7@-1 k=null, 12@-1 k=null"},
      {"log append time is the wrapper's", wrapper(1, 11, 8, 555, {v1(0), v1(1)}), "10@555 k=null, 11@555 k=null"},
      {"v1 below its last", wrapper(1, 1, 0, 102, {v1(0), v1(2)}),
       "corrupt: wrapper offset 1 below its last inner offset 2"},
  };
  for (const auto& c : cases) EXPECT_EQ(records_of(c.entry), c.records) << c.name;
}

TEST(Legacy, WrappersThatCannotBe) {
  ByteVector v0 = message(0, 0, 0, 0, "k", std::nullopt);
  ByteVector v1 = message(1, 0, 0, 5, "k", std::nullopt);
  ByteVector bad_crc = v1;
  bad_crc.back() ^= std::byte{1};
  ByteVector cut(v1.begin(), v1.end() - 1);
  ByteVector short_length = v1;
  store_be<std::int32_t>(short_length, kBatchLength, 13);
  struct {
    const char* name;
    ByteVector entry;
    const char* fault;
  } cases[] = {
      {"no value", message(1, 0, 1, 5, std::nullopt, std::nullopt), "corrupt: a compressed message has no value"},
      {"no messages", wrapper(1, 0, 0, 5, {}), "corrupt: a compressed message holds no messages"},
      {"only half a message", wrapper(1, 0, 0, 5, {cut}), "corrupt: a compressed message holds no messages"},
      {"v0 in v1", wrapper(1, 0, 0, 5, {v0}), "corrupt: a message of magic 0 inside one of magic 1"},
      {"v1 in v0", wrapper(0, 0, 0, 0, {v1}), "corrupt: a message of magic 1 inside one of magic 0"},
      {"compressed twice", wrapper(1, 0, 0, 5, {wrapper(1, 0, 0, 5, {v1})}),
       "corrupt: an inner message is itself compressed"},
      {"an inner length below 14", wrapper(1, 0, 0, 5, {short_length}), "corrupt: an inner message of length 13"},
      {"zstd", wrapper(1, 0, 0, 5, {v1}, Codec::zstd), "corrupt: zstd in a message of an old format"},
      {"codec 5", message(1, 0, 5, 5, std::nullopt, as_bytes("x")), "unsupported: compression id 5 is no codec"},
      {"garbage", message(1, 0, 1, 5, std::nullopt, as_bytes("garbage garbage")), "corrupt: gzip: no magic"},
  };
  for (const auto& c : cases) EXPECT_EQ(records_of(c.entry), c.fault) << c.name;
  EXPECT_EQ(records_of(wrapper(1, 0, 0, 5, {bad_crc})).substr(0, 23), "corrupt: a message's CR");
  // A torn message at the end is left out, as Kafka does; what is before it counts.
  EXPECT_EQ(records_of(wrapper(1, 0, 0, 5, {v1, cut})), "0@5 k=null");
}

TEST(Legacy, ABombInsideAWrapperIsStopped) {
  ByteVector large(1 * MiB);
  ByteVector entry = wrapper(1, 0, 0, 5, {message(1, 0, 0, 5, "k", large)});
  EXPECT_LT(entry.size(), 10'000u);
  EXPECT_EQ(records_of(entry, {.largest_batch = {1000}}).substr(0, 6), "limit:");
}

TEST(Legacy, MessagesThatCannotBe) {
  const ByteVector good = golden("legacy_v1");
  for (std::size_t at = 0; at < good.size(); ++at) {
    ByteVector bytes = good;
    bytes[at] ^= std::byte{1};
    // The offset is not under the CRC, and a length that reaches beyond the bytes is seen as well.
    EXPECT_EQ(parse_legacy(bytes).has_value(), at < kBatchLength) << "byte " << at;
  }
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parse_legacy(BytesView(good).first(size)).has_value()) << size;
  for (std::int8_t magic : {-1, 2, 3}) {
    ByteVector bytes = good;
    store_be(bytes, kMagic, magic);
    EXPECT_EQ(parse_legacy(bytes).error().code, Errc::unsupported);
  }
  // Key and value are only looked at when they are asked for: recovery does not.
  ByteVector long_key = message(0, 1, 0, 0, "k", std::nullopt);
  store_be<std::int32_t>(long_key, kLegacyBodyV0, 100);
  store_be<std::uint32_t>(long_key, kLegacyCrc, crc32_ieee(BytesView(long_key).subspan(kMagic)));
  EXPECT_TRUE(parse_legacy_header(long_key).has_value());
  EXPECT_EQ(parse_legacy(long_key).error().what, "a message's key reaches beyond it");
}

TEST(Legacy, SmallestLengths) {
  for (auto [magic, smallest] : {std::pair<std::int8_t, std::int32_t>{0, 14}, {1, 22}}) {
    ByteVector bytes = message(magic, 1, 0, 5, std::nullopt, std::nullopt);
    EXPECT_EQ(load_be<std::int32_t>(bytes, kBatchLength), smallest);
    EXPECT_TRUE(parse_legacy(bytes).has_value());
    store_be<std::int32_t>(bytes, kBatchLength, smallest - 1);
    EXPECT_EQ(parse_legacy(bytes).error().what,
              fmt::format("a message of length {}, at least {}", smallest - 1, smallest));
  }
}

}  // namespace
}  // namespace cordwood::record
