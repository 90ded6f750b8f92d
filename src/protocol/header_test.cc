#include "protocol/header.h"

#include <gtest/gtest.h>

#include "protocol/message_bytes_testing.h"

namespace cordwood::protocol {
namespace {

TEST(Header, ReadsEachFormAndFindsTheBody) {
  struct Case {
    const char* hex;
    RequestHeader header;
  };
  const Case cases[] = {
      // Produce v8, classic.
      {"0000 0008 0000002a 0002 6162 ff", {0, 8, 42, "ab", 12}},
      // Produce v9, flexible: the client id is still classic, then the tagged section.
      {"0000 0009 0000002a 0002 6162 00 ff", {0, 9, 42, "ab", 13}},
      {"0000 0009 ffffffff ffff 00", {0, 9, -1, std::nullopt, 11}},
      {"0000 0009 00000001 0000 02 05 01 aa 05 00 ff", {0, 9, 1, "", 16}},
      // Any negative length is null.
      {"0000 0003 00000001 fffe", {0, 3, 1, std::nullopt, 10}},
      // OffsetDelete never became flexible; keys that nobody knows are classic.
      {"002f 0000 00000001 ffff", {47, 0, 1, std::nullopt, 10}},
      {"03e7 0009 00000001 ffff", {999, 9, 1, std::nullopt, 10}},
      {"ffff 0009 00000001 ffff", {-1, 9, 1, std::nullopt, 10}},
      // ApiVersions of a newer client.
      {"0012 0006 00000001 ffff 00", {18, 6, 1, std::nullopt, 11}},
      {"0012 7fff 00000001 ffff 00", {18, 32767, 1, std::nullopt, 11}},
      {"0012 0002 00000001 ffff", {18, 2, 1, std::nullopt, 10}},
      {"0012 ffff 00000001 ffff", {18, -1, 1, std::nullopt, 10}},
      // Bytes of the client id are kept, whether they are UTF-8 or not.
      {"0000 0003 00000001 0002 ffc3", {0, 3, 1, "\xff\xc3", 12}},
  };
  for (const Case& c : cases) {
    Result<RequestHeader> header = decode_request_header(*from_hex(c.hex));
    ASSERT_TRUE(header) << c.hex;
    EXPECT_EQ(*header, c.header) << c.hex;
  }
}

TEST(Header, RefusesWhatIsCutShort) {
  for (const char* hex : {"", "0000", "00000003000000", "0000 0003 00000001", "0000 0003 00000001 0005 61",
                          "0000 0009 00000001 ffff", "0000 0009 00000001 ffff 01 00", "0012 0006 00000001 ffff",
                          "0000 0009 00000001 ffff ffffffff7f"}) {
    Result<RequestHeader> header = decode_request_header(*from_hex(hex));
    ASSERT_FALSE(header) << hex;
    EXPECT_EQ(header.error().code, Errc::invalid);
  }
}

TEST(Header, WritesWhatItReads) {
  for (const char* hex : {"00000008 0000002a 0002 6162", "00000009 0000002a 0002 6162 00", "0012 0003 00000001 ffff 00",
                          "002f 0000 00000001 0000"}) {
    ByteVector bytes = *from_hex(hex);
    Result<RequestHeader> header = decode_request_header(bytes);
    ASSERT_TRUE(header);
    Encoder encoder(request_form(header->api_key, header->version));
    encode_request_header(*header, encoder);
    EXPECT_EQ(hex_of(encoder.take_bytes()), hex_of(bytes));
  }
}

TEST(Header, TheResponseOfApiVersionsIsClassicInEveryVersion) {
  EXPECT_EQ(request_form(18, 3), Form::flexible);
  EXPECT_EQ(response_header_form(18, 3), Form::classic);
  EXPECT_EQ(response_header_form(0, 8), Form::classic);
  EXPECT_EQ(response_header_form(0, 9), Form::flexible);
}

}  // namespace
}  // namespace cordwood::protocol
