#include "record/compression.h"

#include <fmt/format.h>

#include "record/codecs.h"

namespace cordwood::record {
namespace {

constexpr int kDefaultGzipLevel = -1;
constexpr int kDefaultLz4Level = 9;
constexpr int kDefaultZstdLevel = 3;

}  // namespace

void compress(const CompressionSettings& settings, BytesView plain, ByteVector& out) {
  switch (settings.codec) {
    case Codec::none:
      out.insert(out.end(), plain.begin(), plain.end());
      return;
    case Codec::gzip:
      compress_gzip(plain, settings.level.value_or(kDefaultGzipLevel), out);
      return;
    case Codec::snappy:
      compress_snappy(plain, out);
      return;
    case Codec::lz4:
      compress_lz4(plain, settings.level.value_or(kDefaultLz4Level), out);
      return;
    case Codec::zstd:
      compress_zstd(plain, settings.level.value_or(kDefaultZstdLevel), out);
      return;
  }
  CHECK(false, "compression settings name codec {}", static_cast<int>(settings.codec));
}

Result<void> decompress_partly(Codec codec, BytesView compressed, ByteCount at_most, ByteVector& out) {
  const std::size_t cap = at_most.value > 0 ? static_cast<std::size_t>(at_most.value) : 0;
  switch (codec) {
    case Codec::none:
      if (compressed.size() > cap)
        return Error{Errc::limit, fmt::format("{} bytes, at most {} are allowed", compressed.size(), cap)};
      out.insert(out.end(), compressed.begin(), compressed.end());
      return {};
    case Codec::gzip:
      return decompress_gzip(compressed, cap, out);
    case Codec::snappy:
      return decompress_snappy(compressed, cap, out);
    case Codec::lz4:
      return decompress_lz4(compressed, cap, out);
    case Codec::zstd:
      return decompress_zstd(compressed, cap, out);
  }
  return Error{Errc::unsupported, fmt::format("compression id {} is no codec", static_cast<int>(codec))};
}

Result<void> decompress(Codec codec, BytesView compressed, ByteCount at_most, ByteVector& out) {
  const std::size_t before = out.size();
  Result<void> result = decompress_partly(codec, compressed, at_most, out);
  if (!result) out.resize(before);
  return result;
}

}  // namespace cordwood::record
