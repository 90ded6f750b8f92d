// Snappy as Kafka frames it (the "xerial" stream): a 16-byte header, then blocks of at most 32 KiB of input, each
// behind its compressed size. Readers also take one raw block without any framing, which some clients send.
#include <snappy.h>

#include <array>
#include <cstring>

#include "record/codec_output.h"
#include "record/codecs.h"

namespace cordwood::record {
namespace {

constexpr std::array<unsigned char, 8> kStreamMagic = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
constexpr std::int32_t kVersion = 1;
constexpr std::size_t kStreamHeaderSize = kStreamMagic.size() + 4 + 4;  // magic, version, lowest compatible version
constexpr std::size_t kBlockSize = 32 * 1024;

const char* chars(const std::byte* bytes) {
  return reinterpret_cast<const char*>(bytes);
}

bool starts_stream(BytesView bytes) {
  return bytes.size() >= kStreamHeaderSize && std::memcmp(bytes.data(), kStreamMagic.data(), kStreamMagic.size()) == 0;
}

Result<void> decompress_block(BytesView block, CodecOutput& output) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(chars(block.data()), block.size(), &size))
    return Error{Errc::corrupt, "snappy: a block has no readable length"};
  // A block expands to at most 64 bytes for each 3 it has (a copy element), so a larger claim is a lie that would size
  // memory.
  constexpr std::size_t kLargestExpansion = 32;
  if (size > block.size() * kLargestExpansion)
    return Error{Errc::corrupt, "snappy: a block claims an impossible length"};
  MutableBytesView room = output.room(size);
  if (room.size() < size) {
    output.advance(room.size());
    return output.limit_error();
  }
  if (!snappy::RawUncompress(chars(block.data()), block.size(), reinterpret_cast<char*>(room.data())))
    return Error{Errc::corrupt, "snappy: a block does not decompress"};
  output.advance(size);
  if (output.exceeded()) return output.limit_error();
  return {};
}

}  // namespace

void compress_snappy(BytesView plain, ByteVector& out) {
  BytesView magic = std::as_bytes(std::span(kStreamMagic));
  std::size_t at = out.size();
  out.resize(at + kStreamHeaderSize);
  std::copy(magic.begin(), magic.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
  store_be<std::int32_t>(out, at + kStreamMagic.size(), kVersion);
  store_be<std::int32_t>(out, at + kStreamMagic.size() + 4, kVersion);
  while (!plain.empty()) {
    BytesView block = plain.first(std::min(plain.size(), kBlockSize));
    plain = plain.subspan(block.size());
    at = out.size();
    out.resize(at + 4 + snappy::MaxCompressedLength(block.size()));
    std::size_t size = 0;
    snappy::RawCompress(chars(block.data()), block.size(), reinterpret_cast<char*>(out.data() + at + 4), &size);
    store_be<std::int32_t>(out, at, static_cast<std::int32_t>(size));
    out.resize(at + 4 + size);
  }
}

Result<void> decompress_snappy(BytesView compressed, std::size_t at_most, ByteVector& out) {
  CodecOutput output(out, at_most);
  if (!starts_stream(compressed)) return decompress_block(compressed, output);
  // Of the first header only the magic counts; of a repeated one the version too. Seen on Kafka 4.4.0, as is that fewer
  // than four bytes where a block's size should be are the end.
  compressed = compressed.subspan(kStreamHeaderSize);
  while (compressed.size() >= 4) {
    if (starts_stream(compressed)) {
      if (auto version = load_be<std::int32_t>(compressed, kStreamMagic.size()); version < kVersion)
        return Error{Errc::corrupt, fmt::format("snappy: stream version {}", version)};
      compressed = compressed.subspan(kStreamHeaderSize);
      continue;
    }
    auto size = load_be<std::int32_t>(compressed, 0);
    compressed = compressed.subspan(4);
    if (size < 0 || static_cast<std::size_t>(size) > compressed.size())
      return Error{Errc::corrupt, fmt::format("snappy: a block of {} bytes, {} are left", size, compressed.size())};
    TRY(decompress_block(compressed.first(static_cast<std::size_t>(size)), output));
    compressed = compressed.subspan(static_cast<std::size_t>(size));
  }
  return {};
}

}  // namespace cordwood::record
