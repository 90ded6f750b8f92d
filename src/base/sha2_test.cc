#include "base/sha2.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace cordwood {
namespace {

std::string hex_digits(BytesView bytes) {
  std::string text;
  for (const std::byte b : bytes) text += fmt::format("{:02x}", std::to_integer<int>(b));
  return text;
}
std::string sha2_hex(Sha2 kind, std::string_view text) {
  return hex_digits(sha2(kind, as_bytes(text)));
}

// FIPS 180-4's examples, and lengths around the end of a block, where the padding takes one more.
TEST(Sha2, HashesAsTheStandardDoes) {
  EXPECT_EQ(sha2_hex(Sha2::sha256, ""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha2_hex(Sha2::sha256, "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha2_hex(Sha2::sha256, std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha2_hex(Sha2::sha256, std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(sha2_hex(Sha2::sha256, std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(sha2_hex(Sha2::sha512, "abc"),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
  EXPECT_EQ(sha2_hex(Sha2::sha512, std::string(112, 'a')),
            "c01d080efd492776a1c43bd23dd99d0a2e626d481e16782e75d54c2503b5dc32"
            "bd05f0f1ba33e568b88fd2d970929b719ecbb152f58f130a407c8830604b70ca");
}

// RFC 4231's second case; a key that is longer than a block, and none.
TEST(Sha2, Hmac) {
  EXPECT_EQ(hex_digits(hmac(Sha2::sha256, as_bytes("Jefe"), as_bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex_digits(hmac(Sha2::sha256, as_bytes(std::string(131, 'k')), as_bytes("text"))),
            "1fe346bf7485c31a64ca3deb326f2a4dd624e4a10b7cbde1e44cd6dcf1065a15");
  EXPECT_EQ(hex_digits(hmac(Sha2::sha512, {}, {})),
            "b936cee86c9f87aa5d3c6f2e84cb5a4239a5fe50480a6ec66b70ab5b1f4ac673"
            "0c6c515421b327ec1d69402e53dfb49ad7381eb067b338fd7b0cb22247225d47");
}

TEST(Sha2, Pbkdf2) {
  EXPECT_EQ(hex_digits(pbkdf2(Sha2::sha256, as_bytes("pencil"), as_bytes("salt"), 4096)),
            "0997564f292923271312698037b6b0a06a8be7fbd912480847c5a1ace4b8d1c7");
  EXPECT_EQ(hex_digits(pbkdf2(Sha2::sha512, as_bytes("pencil"), as_bytes("salt"), 2)),
            "4806c6f4024588473b8620c7cdc1c64a96878fa75effc4626007a9fe19dd231f"
            "37a74235ec3403457a35b6ffacd528abbc1281d3c070cd3b108196a39a87d2d3");
}

}  // namespace
}  // namespace cordwood
