// One RFC 1952 member with the ten-byte header that Java 17 writes. Readers take members that follow one another, and
// stop at the first bytes that are no member, as Java does.
#include <zlib.h>

#include <array>
#include <memory>

#include "base/crc32c.h"
#include "record/codec_output.h"
#include "record/codecs.h"

namespace cordwood::record {
namespace {

constexpr int kRawDeflate = -15;        // window bits: no header or trailer of zlib's own
constexpr int kGzipOnly = 15 + 16;      // window bits: header and trailer parsed and checked by zlib
constexpr int kMemoryLevel = 8;
constexpr std::array<unsigned char, 10> kMemberHeader = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
constexpr std::size_t kTrailerSize = 8;

// zlib's signatures predate const and std::byte.
Bytef* zlib_in(const std::byte* bytes) { return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes)); }
Bytef* zlib_out(std::byte* bytes) { return reinterpret_cast<Bytef*>(bytes); }

void append_le32(ByteVector& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(value >> shift));
}

class Deflater {
 public:
  Deflater() {
    CHECK(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kRawDeflate, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK,
          "deflateInit2");
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void run(BytesView plain, int level, ByteVector& out) {
    CHECK(deflateReset(&stream_) == Z_OK, "deflateReset");
    if (level != level_) {
      CHECK(deflateParams(&stream_, level, Z_DEFAULT_STRATEGY) == Z_OK, "gzip level {}", level);
      level_ = level;
    }
    // zlib counts its input and output in 32 bits; a batch is below 2^31, and its bound is too for all but the last MiB.
    std::size_t bound = deflateBound(&stream_, static_cast<uLong>(plain.size()));
    std::size_t start = out.size();
    out.resize(start + bound);
    stream_.next_in = zlib_in(plain.data());
    stream_.avail_in = static_cast<uInt>(plain.size());
    stream_.next_out = zlib_out(out.data() + start);
    stream_.avail_out = static_cast<uInt>(bound);
    CHECK(deflate(&stream_, Z_FINISH) == Z_STREAM_END, "deflate of {} bytes", plain.size());
    out.resize(start + bound - stream_.avail_out);
  }

 private:
  z_stream stream_{};
  int level_ = Z_DEFAULT_COMPRESSION;
};

class Inflater {
 public:
  Inflater() { CHECK(inflateInit2(&stream_, kGzipOnly) == Z_OK, "inflateInit2"); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Inflates one member from the front of `input` and drops it there.
  Result<void> member(BytesView& input, CodecOutput& output) {
    CHECK(inflateReset2(&stream_, kGzipOnly) == Z_OK, "inflateReset2");
    stream_.next_in = zlib_in(input.data());
    stream_.avail_in = static_cast<uInt>(input.size());
    for (;;) {
      MutableBytesView room = output.room(first_guess(input.size()));
      std::size_t offered = std::min<std::size_t>(room.size(), UINT32_MAX);
      stream_.next_out = zlib_out(room.data());
      stream_.avail_out = static_cast<uInt>(offered);
      int answer = inflate(&stream_, Z_NO_FLUSH);
      output.advance(offered - stream_.avail_out);
      if (output.exceeded()) return output.limit_error();
      if (answer == Z_STREAM_END) break;
      if (answer != Z_OK || (stream_.avail_in == 0 && stream_.avail_out != 0))
        return Error{Errc::corrupt, fmt::format("gzip: {}", stream_.msg != nullptr ? stream_.msg : "the data ends early")};
    }
    input = input.last(stream_.avail_in);
    return {};
  }

 private:
  z_stream stream_{};
};

bool starts_member(BytesView bytes) {
  return bytes.size() >= kMemberHeader.size() + kTrailerSize && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b} &&
         bytes[2] == std::byte{8};
}

}  // namespace

void compress_gzip(BytesView plain, int level, ByteVector& out) {
  thread_local std::unique_ptr<Deflater> deflater;
  if (!deflater) deflater = std::make_unique<Deflater>();
  BytesView header = std::as_bytes(std::span(kMemberHeader));
  out.insert(out.end(), header.begin(), header.end());
  deflater->run(plain, level, out);
  append_le32(out, crc32_ieee(plain));
  append_le32(out, static_cast<std::uint32_t>(plain.size()));
}

Result<void> decompress_gzip(BytesView compressed, std::size_t at_most, ByteVector& out) {
  thread_local std::unique_ptr<Inflater> inflater;
  if (!inflater) inflater = std::make_unique<Inflater>();
  if (compressed.size() > UINT32_MAX) return Error{Errc::limit, "gzip: more than 4 GiB of input"};
  CodecOutput output(out, at_most);
  do {
    TRY(inflater->member(compressed, output));
  } while (starts_member(compressed));
  return {};
}

}  // namespace cordwood::record
