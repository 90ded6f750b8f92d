// LZ4 frames exactly as Kafka writes them: independent blocks of 64 KiB, no checksums but the header's, no content
// size. liblz4's own frame functions would decide some of this differently (block size, incompressible blocks, what
// follows the end mark), so that the frame is laid out here and only blocks go to the library.
#include <lz4.h>
#include <lz4hc.h>

#include <memory>

#include "record/codec_output.h"
#include "record/codecs.h"
#include "record/little_endian.h"

namespace cordwood::record {
namespace {

constexpr std::uint32_t kFrameMagic = 0x184d2204;
constexpr std::uint8_t kFlags = 0x60;            // version 01, independent blocks
constexpr std::uint8_t kBlockDescriptor = 0x40;  // 64 KiB
constexpr std::size_t kWrittenBlockSize = 64 * 1024;
constexpr std::uint32_t kStoredBit = 0x80000000;  // of a block's size: the block is not compressed
constexpr int kFastLevel = 9;

const char* lz4_chars(const std::byte* bytes) {
  return reinterpret_cast<const char*>(bytes);
}
char* lz4_chars(std::byte* bytes) {
  return reinterpret_cast<char*>(bytes);
}

// The second byte of the hash of everything between the magic and the checksum itself.
std::uint8_t header_checksum(BytesView descriptor) {
  return static_cast<std::uint8_t>(xxhash32(descriptor) >> 8);
}

struct LZ4StreamDeleter {
  void operator()(LZ4_stream_t* stream) const { LZ4_freeStream(stream); }
  void operator()(LZ4_streamHC_t* stream) const { LZ4_freeStreamHC(stream); }
};

int compress_block(BytesView block, int level, std::byte* to, int room) {
  int size = static_cast<int>(block.size());
  if (level == kFastLevel) {
    thread_local std::unique_ptr<LZ4_stream_t, LZ4StreamDeleter> fast(LZ4_createStream());
    return LZ4_compress_fast_extState(fast.get(), lz4_chars(block.data()), lz4_chars(to), size, room, 1);
  }
  thread_local std::unique_ptr<LZ4_streamHC_t, LZ4StreamDeleter> high(LZ4_createStreamHC());
  return LZ4_compress_HC_extStateHC(high.get(), lz4_chars(block.data()), lz4_chars(to), size, room, level);
}

struct FrameHeader {
  std::size_t size = 0;
  std::size_t largest_block = 0;
  bool block_checksum = false;
  bool content_checksum = false;
};

Result<FrameHeader> read_frame_header(BytesView bytes, Lz4HeaderChecksum checksum) {
  constexpr std::size_t kFlagsAt = 4;
  constexpr std::size_t kDescriptorAt = kFlagsAt + 1;
  constexpr std::size_t kShortest = kDescriptorAt + 2;  // with the checksum
  if (bytes.size() < kShortest) return Error{Errc::corrupt, "lz4: the data ends inside the frame header"};
  if (load_le32(bytes, 0) != kFrameMagic) return Error{Errc::corrupt, "lz4: no frame magic"};
  auto flags = std::to_integer<std::uint8_t>(bytes[kFlagsAt]);
  auto descriptor = std::to_integer<std::uint8_t>(bytes[kDescriptorAt]);
  if ((flags & 0x03) != 0) return Error{Errc::corrupt, "lz4: reserved flags are set"};
  if ((flags & 0x20) == 0) return Error{Errc::corrupt, "lz4: the blocks depend on one another"};
  if (flags >> 6 != 1) return Error{Errc::corrupt, fmt::format("lz4: frame version {}", flags >> 6)};
  int size_id = (descriptor >> 4) & 7;
  if ((descriptor & 0x8f) != 0 || size_id < 4)
    return Error{Errc::corrupt, fmt::format("lz4: block descriptor {:#04x}", descriptor)};
  FrameHeader header;
  header.largest_block = std::size_t{1} << (8 + 2 * size_id);
  header.block_checksum = (flags & 0x10) != 0;
  header.content_checksum = (flags & 0x04) != 0;
  std::size_t checksum_at = kDescriptorAt + 1 + ((flags & 0x08) != 0 ? 8 : 0);
  if (bytes.size() <= checksum_at) return Error{Errc::corrupt, "lz4: the data ends inside the frame header"};
  if (checksum == Lz4HeaderChecksum::required && header_checksum(bytes.subspan(kFlagsAt, checksum_at - kFlagsAt)) !=
                                                     std::to_integer<std::uint8_t>(bytes[checksum_at]))
    return Error{Errc::corrupt, "lz4: the frame header does not match its checksum"};
  header.size = checksum_at + 1;
  return header;
}

}  // namespace

std::uint32_t xxhash32(BytesView bytes) {
  constexpr std::uint32_t kP1 = 0x9e3779b1, kP2 = 0x85ebca77, kP3 = 0xc2b2ae3d, kP4 = 0x27d4eb2f, kP5 = 0x165667b1;
  auto rotate = [](std::uint32_t value, int by) { return (value << by) | (value >> (32 - by)); };
  std::size_t at = 0;
  std::uint32_t hash = kP5;
  if (bytes.size() >= 16) {
    std::uint32_t lanes[4] = {kP1 + kP2, kP2, 0, 0u - kP1};
    for (; at + 16 <= bytes.size(); at += 16)
      for (std::size_t i = 0; i < 4; ++i) lanes[i] = rotate(lanes[i] + load_le32(bytes, at + 4 * i) * kP2, 13) * kP1;
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
  }
  hash += static_cast<std::uint32_t>(bytes.size());
  for (; at + 4 <= bytes.size(); at += 4) hash = rotate(hash + load_le32(bytes, at) * kP3, 17) * kP4;
  for (; at < bytes.size(); ++at) hash = rotate(hash + std::to_integer<std::uint32_t>(bytes[at]) * kP5, 11) * kP1;
  hash = (hash ^ (hash >> 15)) * kP2;
  hash = (hash ^ (hash >> 13)) * kP3;
  return hash ^ (hash >> 16);
}

void compress_lz4(BytesView plain, int level, ByteVector& out) {
  append_le32(out, kFrameMagic);
  std::size_t descriptor = out.size();
  out.push_back(std::byte{kFlags});
  out.push_back(std::byte{kBlockDescriptor});
  out.push_back(std::byte{header_checksum(BytesView(out).subspan(descriptor))});
  while (!plain.empty()) {
    BytesView block = plain.first(std::min(plain.size(), kWrittenBlockSize));
    plain = plain.subspan(block.size());
    std::size_t at = out.size();
    int bound = LZ4_compressBound(static_cast<int>(block.size()));
    out.resize(at + 4 + static_cast<std::size_t>(bound));
    auto size = static_cast<std::size_t>(compress_block(block, level, out.data() + at + 4, bound));
    std::uint32_t tag = static_cast<std::uint32_t>(size);
    if (size == 0 || size >= block.size()) {
      size = block.size();
      tag = static_cast<std::uint32_t>(size) | kStoredBit;
      std::copy(block.begin(), block.end(), out.begin() + static_cast<std::ptrdiff_t>(at + 4));
    }
    store_be<std::uint32_t>(out, at, __builtin_bswap32(tag));
    out.resize(at + 4 + size);
  }
  append_le32(out, 0);  // the end mark
}

Result<void> decompress_lz4(BytesView compressed, std::size_t at_most, ByteVector& out, Lz4HeaderChecksum checksum) {
  FrameHeader header = TRY(read_frame_header(compressed, checksum));
  compressed = compressed.subspan(header.size);
  CodecOutput output(out, at_most);
  for (;;) {
    if (compressed.size() < 4) return Error{Errc::corrupt, "lz4: the data ends without an end mark"};
    std::uint32_t tag = load_le32(compressed, 0);
    compressed = compressed.subspan(4);
    std::size_t size = tag & ~kStoredBit;
    if (size == 0) break;
    if (size > header.largest_block)
      return Error{Errc::corrupt, fmt::format("lz4: a block of {} bytes, at most {}", size, header.largest_block)};
    if (size > compressed.size()) return Error{Errc::corrupt, "lz4: the data ends inside a block"};
    BytesView block = compressed.first(size);
    compressed = compressed.subspan(size);
    if (header.block_checksum) {
      if (compressed.size() < 4) return Error{Errc::corrupt, "lz4: the data ends inside a block checksum"};
      if (load_le32(compressed, 0) != xxhash32(block))
        return Error{Errc::corrupt, "lz4: a block does not match its checksum"};
      compressed = compressed.subspan(4);
    }
    if ((tag & kStoredBit) != 0) {
      output.append(block);
    } else {
      MutableBytesView room = output.room(std::min(header.largest_block, std::max<std::size_t>(size * 4, kWrittenBlockSize)));
      std::size_t offered = std::min(room.size(), header.largest_block);
      int inflated = LZ4_decompress_safe(lz4_chars(block.data()), lz4_chars(room.data()), static_cast<int>(size),
                                         static_cast<int>(offered));
      if (inflated < 0 && offered < header.largest_block) {
        // Either damaged or larger than the room offered: decide with all the room that a block may take.
        room = output.room(header.largest_block);
        offered = std::min(room.size(), header.largest_block);
        inflated = LZ4_decompress_safe(lz4_chars(block.data()), lz4_chars(room.data()), static_cast<int>(size),
                                       static_cast<int>(offered));
        if (inflated < 0 && offered < header.largest_block) {
          output.advance(room.size());
          return output.limit_error();
        }
      }
      if (inflated < 0) return Error{Errc::corrupt, "lz4: a block does not decompress"};
      output.advance(static_cast<std::size_t>(inflated));
    }
    if (output.exceeded()) return output.limit_error();
  }
  // What follows the end mark (a content checksum, another frame) is not looked at, as Kafka does not.
  if (header.content_checksum && compressed.size() < 4)
    return Error{Errc::corrupt, "lz4: the data ends inside the content checksum"};
  return {};
}

}  // namespace cordwood::record
