#include "protocol/wire.h"

#include <gtest/gtest.h>

#include "protocol/message_bytes_testing.h"
#include "protocol/message_coding.h"

namespace cordwood::protocol {
namespace {

Decoder decoder_of(const ByteVector& bytes, Form form) { return Decoder(bytes, form); }

TEST(Wire, StringsOfBothForms) {
  struct Case {
    Form form;
    const char* hex;
    bool plain_ok;                     // as a string that cannot be null
    std::optional<std::string> value;  // as one that can
    bool ok = true;
  };
  const Case cases[] = {
      {Form::classic, "0000", true, ""},
      {Form::classic, "0002 6869", true, "hi"},
      {Form::classic, "ffff", false, std::nullopt},
      {Form::classic, "8000", false, std::nullopt},
      {Form::classic, "0003 6869", false, std::nullopt, false},
      {Form::classic, "00", false, std::nullopt, false},
      {Form::flexible, "01", true, ""},
      {Form::flexible, "03 6869", true, "hi"},
      {Form::flexible, "8300 6869", true, "hi"},  // a longer form of the same length
      {Form::flexible, "00", false, std::nullopt},
      {Form::flexible, "8180808008", false, std::nullopt},  // 2^31 + 1, which is negative to Kafka
      {Form::flexible, "8080808008", false, std::nullopt, false},  // 2^31, which is a length of 2^31 - 1
      {Form::flexible, "04 6869", false, std::nullopt, false},
      {Form::flexible, "ffffffffff01 61", false, std::nullopt, false},
      {Form::flexible, "", false, std::nullopt, false},
  };
  for (const Case& c : cases) {
    ByteVector bytes = *from_hex(c.hex);
    Decoder plain = decoder_of(bytes, c.form);
    std::string text = "before";
    plain.string(text);
    EXPECT_EQ(plain.ok(), c.plain_ok) << c.hex;
    EXPECT_EQ(text, c.plain_ok ? *c.value : "") << c.hex;
    Decoder nullable = decoder_of(bytes, c.form);
    std::optional<std::string> maybe = "before";
    nullable.nullable_string(maybe);
    EXPECT_EQ(nullable.ok(), c.ok) << c.hex;
    if (c.ok) {
      EXPECT_EQ(maybe, c.value) << c.hex;
    }
  }
}

TEST(Wire, StringsAreAtMost32767BytesInFlexibleFormToo) {
  for (std::size_t size : {0x7fffu, 0x8000u}) {
    ByteWriter writer;
    writer.uvarint(size + 1);
    writer.text(std::string(size, 'a'));
    Decoder decoder(writer.view(), Form::flexible);
    std::string text;
    decoder.string(text);
    EXPECT_EQ(decoder.ok(), size == 0x7fff);
    Decoder nullable(writer.view(), Form::flexible);
    std::optional<std::string> maybe;
    nullable.nullable_string(maybe);
    EXPECT_EQ(nullable.ok(), size == 0x7fff);
  }
}

TEST(Wire, TooLongStringsAreCutBeforeACharacter) {
  std::string text(0x7ffe, 'a');
  text += "\xc3\xa9 and more";  // its second byte would be the 32768th
  for (Form form : {Form::classic, Form::flexible}) {
    Encoder encoder(form);
    encoder.string(text);
    ByteVector bytes = encoder.take_bytes();
    Decoder decoder(bytes, form);
    std::string got;
    decoder.string(got);
    ASSERT_TRUE(decoder.ok());
    EXPECT_EQ(decoder.remaining(), 0u);
    EXPECT_EQ(got, std::string(0x7ffe, 'a'));
  }
}

TEST(Wire, BytesAndRecordsOfBothForms) {
  struct Case {
    Form form;
    const char* hex;
    bool plain_ok;
    std::optional<std::string> value;
    bool ok = true;
  };
  const Case cases[] = {
      {Form::classic, "00000000", true, ""},
      {Form::classic, "00000002 6869", true, "hi"},
      {Form::classic, "ffffffff", false, std::nullopt},
      {Form::classic, "80000000", false, std::nullopt},
      {Form::classic, "00000003 6869", false, std::nullopt, false},
      {Form::classic, "7fffffff 6869", false, std::nullopt, false},
      {Form::flexible, "01", true, ""},
      {Form::flexible, "03 6869", true, "hi"},
      {Form::flexible, "00", false, std::nullopt},
      {Form::flexible, "04 6869", false, std::nullopt, false},
  };
  for (const Case& c : cases) {
    ByteVector bytes = *from_hex(c.hex);
    ByteVector plain_into = to_vector(as_bytes("before"));
    Decoder plain = decoder_of(bytes, c.form);
    plain.bytes(plain_into);
    EXPECT_EQ(plain.ok(), c.plain_ok) << c.hex;
    Records records_into;
    Decoder records = decoder_of(bytes, c.form);
    records.records(records_into);
    EXPECT_EQ(records.ok(), c.plain_ok) << c.hex;
    if (c.plain_ok) {
      EXPECT_EQ(as_text(plain_into), *c.value) << c.hex;
      EXPECT_EQ(as_text(records_into.bytes), *c.value) << c.hex;
    }
    std::optional<ByteVector> maybe = to_vector(as_bytes("before"));
    Decoder nullable = decoder_of(bytes, c.form);
    nullable.nullable_bytes(maybe);
    EXPECT_EQ(nullable.ok(), c.ok) << c.hex;
    std::optional<Records> maybe_records = Records{};
    Decoder nullable_records = decoder_of(bytes, c.form);
    nullable_records.nullable_records(maybe_records);
    EXPECT_EQ(nullable_records.ok(), c.ok) << c.hex;
    if (!c.ok) continue;
    EXPECT_EQ(maybe.has_value(), c.value.has_value()) << c.hex;
    EXPECT_EQ(maybe_records.has_value(), c.value.has_value()) << c.hex;
    if (c.value) {
      EXPECT_EQ(as_text(*maybe), *c.value) << c.hex;
      EXPECT_EQ(as_text(maybe_records->bytes), *c.value) << c.hex;
    }
  }
}

TEST(Wire, CountsOfArrays) {
  struct Case {
    Form form;
    std::string hex;
    bool ok;
    std::int64_t count;
  };
  const Case cases[] = {
      {Form::classic, "00000000", true, 0},
      {Form::classic, "00000002 0000", true, 2},
      {Form::classic, "00000003 0000", false, 0},  // an element is a byte at least
      {Form::classic, "ffffffff", true, -1},
      {Form::classic, "80000000", true, -1},
      {Form::flexible, "00", true, -1},
      {Form::flexible, "01", true, 0},
      {Form::flexible, "03 0000", true, 2},
      {Form::flexible, "04 0000", false, 0},
      {Form::flexible, "8180808008", true, -1},
      {Form::classic, "000f4240" + std::string(2'000'000, '0'), true, 1'000'000},
      {Form::classic, "000f4241" + std::string(2'000'002, '0'), false, 0},  // Kafka's own limit
  };
  for (const Case& c : cases) {
    ByteVector bytes = *from_hex(c.hex);
    Decoder decoder = decoder_of(bytes, c.form);
    EXPECT_EQ(decoder.array_count(), c.count) << c.hex.substr(0, 20);
    EXPECT_EQ(decoder.ok(), c.ok) << c.hex.substr(0, 20);
  }
}

TEST(Wire, ArraysOfFixedSizeElementsAreCheckedBeforeAnythingIsSized) {
  ByteVector bytes = *from_hex("00000003 00000001 00000002 0000");  // three were promised, two and a half came
  Decoder decoder(bytes, Form::classic);
  std::vector<std::int32_t> into;
  array(decoder, into, 4, [&](auto& element) { element = decoder.i32(); });
  EXPECT_FALSE(decoder.ok());
  EXPECT_EQ(into.capacity(), 0u);
}

TEST(Wire, NullableStructs) {
  for (auto [hex, present] : {std::pair("01", true), {"00", true}, {"05", true}, {"ff", false}, {"fe", false}}) {
    ByteVector bytes = *from_hex(hex);
    EXPECT_EQ(decoder_of(bytes, Form::flexible).struct_is_present(), present) << hex;
  }
  Encoder encoder(Form::flexible);
  encoder.struct_mark(true);
  encoder.struct_mark(false);
  EXPECT_EQ(hex_of(encoder.take_bytes()), "01ff");
}

TEST(Wire, AtMostTenThousandTaggedFields) {
  for (std::uint32_t count : {kMostTaggedFields, kMostTaggedFields + 1}) {
    ByteWriter writer;
    writer.uvarint(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      writer.uvarint(9);
      writer.uvarint(0);
    }
    Decoder decoder(writer.view(), Form::flexible);
    decoder.skip_tagged_fields();
    EXPECT_EQ(decoder.ok(), count == kMostTaggedFields);
  }
}

TEST(Wire, IsStickyAfterTheFirstFailure) {
  ByteVector bytes = *from_hex("0005 6869 00000001 00000002 0000000000000003 7f");
  Decoder decoder(bytes, Form::classic);
  std::string text;
  std::optional<std::string> maybe = "x";
  ByteVector blob;
  std::optional<Records> records = Records{};
  std::string ten;
  decoder.string(ten);  // "hi" and three bytes of what follows
  EXPECT_TRUE(decoder.ok());
  decoder.fail();
  EXPECT_FALSE(decoder.ok());
  EXPECT_EQ(decoder.i8(), 0);
  EXPECT_EQ(decoder.i32(), 0);
  EXPECT_EQ(decoder.i64(), 0);
  EXPECT_EQ(decoder.uvarint(), 0u);
  EXPECT_EQ(decoder.array_count(), 0);
  EXPECT_TRUE(decoder.uuid().is_zero());
  EXPECT_FALSE(decoder.boolean());
  decoder.string(text);
  decoder.nullable_string(maybe);
  decoder.bytes(blob);
  decoder.nullable_records(records);
  EXPECT_EQ(text, "");
  EXPECT_FALSE(maybe.has_value());
  EXPECT_TRUE(blob.empty());
  EXPECT_FALSE(records.has_value());
  EXPECT_EQ(decoder.remaining(), 0u);
  EXPECT_FALSE(decoder.ok());
}

TEST(Wire, NumbersAreBigEndian) {
  Encoder encoder(Form::classic);
  encoder.boolean(true);
  encoder.i8(-2);
  encoder.i16(-3);
  encoder.u16(0xfffe);
  encoder.i32(0x01020304);
  encoder.u32(0xfffffffe);
  encoder.i64(0x0102030405060708);
  encoder.f64(1.5);
  encoder.uuid({0x1112131415161718, 0x2122232425262728});
  encoder.uvarint(300);
  ByteVector bytes = encoder.take_bytes();
  EXPECT_EQ(hex_of(bytes), "01" "fe" "fffd" "fffe" "01020304" "fffffffe" "0102030405060708" "3ff8000000000000"
                           "11121314151617182122232425262728" "ac02");
  Decoder decoder(bytes, Form::classic);
  EXPECT_TRUE(decoder.boolean());
  EXPECT_EQ(decoder.i8(), -2);
  EXPECT_EQ(decoder.i16(), -3);
  EXPECT_EQ(decoder.u16(), 0xfffe);
  EXPECT_EQ(decoder.i32(), 0x01020304);
  EXPECT_EQ(decoder.u32(), 0xfffffffeu);
  EXPECT_EQ(decoder.i64(), 0x0102030405060708);
  EXPECT_EQ(decoder.f64(), 1.5);
  EXPECT_EQ(decoder.uuid(), (Uuid{0x1112131415161718, 0x2122232425262728}));
  EXPECT_EQ(decoder.uvarint(), 300u);
  EXPECT_TRUE(decoder.ok());
  EXPECT_EQ(decoder.remaining(), 0u);
}

TEST(Wire, EveryByteButZeroIsTrue) {
  ByteVector bytes = *from_hex("00 01 02 ff");
  Decoder decoder(bytes, Form::classic);
  EXPECT_FALSE(decoder.boolean());
  EXPECT_TRUE(decoder.boolean());
  EXPECT_TRUE(decoder.boolean());
  EXPECT_TRUE(decoder.boolean());
}

class NoBytes final : public ByteSource {
 public:
  int native_fd() const override { return -1; }
  Result<std::size_t> read_at(FilePosition, MutableBytesView) const override { return std::size_t{0}; }
};

TEST(Wire, FileRangesStayFilesBetweenPiecesOfMemory) {
  auto source = std::make_shared<NoBytes>();
  Records in_file{.bytes = {}, .range = {source, FilePosition{100}, ByteCount{70}}};
  Records in_memory{.bytes = as_bytes("batch"), .range = {}};
  Encoder encoder(Form::flexible);
  encoder.i16(7);
  encoder.records(in_file);
  encoder.nullable_records(in_memory);
  encoder.nullable_records(std::nullopt);
  encoder.records(in_file);
  EXPECT_EQ(encoder.bytes_so_far(), 3u + 70 + 1 + 5 + 1 + 1 + 70);
  Payload payload = encoder.take();
  ASSERT_EQ(payload.pieces.size(), 4u);
  EXPECT_EQ(hex_of(std::get<ByteVector>(payload.pieces[0])), "000747");
  EXPECT_EQ(std::get<FileRange>(payload.pieces[1]).position, FilePosition{100});
  EXPECT_EQ(std::get<FileRange>(payload.pieces[1]).source, source);
  EXPECT_EQ(hex_of(std::get<ByteVector>(payload.pieces[2])), "06" "6261746368" "00" "47");
  EXPECT_EQ(std::get<FileRange>(payload.pieces[3]).size, ByteCount{70});
  EXPECT_EQ(payload.size(), 3 + 70 + 8 + 70);
  // Empty afterwards.
  EXPECT_EQ(encoder.bytes_so_far(), 0u);
  EXPECT_TRUE(encoder.take().pieces.empty());
}

TEST(Wire, TaggedFieldsCarryTheirSize) {
  Encoder encoder(Form::flexible);
  tagged(encoder, 200, [](Encoder& body) { body.string("hi"); });
  EXPECT_EQ(hex_of(encoder.take_bytes()), "c801" "03" "036869");
}

TEST(Wire, OneVectorIsRefusedWhenThereAreFiles) {
  auto source = std::make_shared<NoBytes>();
  EXPECT_DEATH(
      {
        Encoder encoder(Form::classic);
        encoder.records({.bytes = {}, .range = {source, FilePosition{0}, ByteCount{1}}});
        encoder.take_bytes();
      },
      "one vector");
}

}  // namespace
}  // namespace cordwood::protocol
