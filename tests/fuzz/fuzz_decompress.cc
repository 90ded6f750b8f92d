// Fuzz entry point: the readers of the four codecs. Input: byte 0 picks the codec (5 is LZ4 as in messages of magic 0),
// the rest is the compressed data.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "record/codecs.h"
#include "record/compression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordwood;
  using namespace cordwood::record;
  if (size == 0) return 0;
  constexpr ByteCount kCap{1 * MiB};
  BytesView compressed = std::as_bytes(std::span(data + 1, size - 1));
  ByteVector plain;
  if (data[0] % 6 == 5) {
    (void)decompress_lz4(compressed, static_cast<std::size_t>(kCap.value), plain, Lz4HeaderChecksum::ignored);
    CHECK(plain.size() <= static_cast<std::size_t>(kCap.value) + 1, "{} bytes beyond the cap", plain.size());
    return 0;
  }
  const Codec codec = static_cast<Codec>(data[0] % 6);
  Result<void> result = decompress(codec, compressed, kCap, plain);
  CHECK(plain.size() <= static_cast<std::size_t>(kCap.value), "{} bytes beyond the cap", plain.size());
  if (!result) {
    CHECK(plain.empty(), "an error left {} bytes behind", plain.size());
    return 0;
  }
  ByteVector packed;
  ByteVector again;
  compress({codec, std::nullopt}, plain, packed);
  CHECK(decompress(codec, packed, kCap, again).has_value() && again == plain, "a round trip changes the data");
  return 0;
}
