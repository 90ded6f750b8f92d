// One RFC 1952 member with the ten-byte header that Java 17 writes. Readers take members that follow one another, and
// stop at the first bytes that are no member, as Java does. zlib does the deflating; header and trailer are done here,
// because zlib is stricter about the former and slower at the checksum of the latter.
#include <zlib.h>

#include <array>
#include <memory>

#include "base/crc32c.h"
#include "record/codec_output.h"
#include "record/codecs.h"
#include "record/little_endian.h"

namespace cordwood::record {
namespace {

constexpr int kRawDeflate = -15;  // window bits: no header or trailer of zlib's own
constexpr int kMemoryLevel = 8;
constexpr std::array<unsigned char, 10> kMemberHeader = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
constexpr std::size_t kTrailerSize = 8;

// zlib's signatures predate const and std::byte.
Bytef* zlib_in(const std::byte* bytes) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes));
}
Bytef* zlib_out(std::byte* bytes) {
  return reinterpret_cast<Bytef*>(bytes);
}

class Deflater {
 public:
  Deflater() {
    CHECK(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kRawDeflate, kMemoryLevel, Z_DEFAULT_STRATEGY) ==
              Z_OK,
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
    // zlib counts its input and output in 32 bits; a batch is below 2^31, and its bound is too for all but the last
    // MiB.
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

std::uint16_t load_le16(BytesView bytes, std::size_t at) {
  return __builtin_bswap16(load_be<std::uint16_t>(bytes, at));
}

// The size of the member header at the start of `bytes`. Reserved flags are not looked at, as Java does not.
Result<std::size_t> member_header_size(BytesView bytes) {
  constexpr std::size_t kMethodAt = 2;
  constexpr std::size_t kFlagsAt = kMethodAt + 1;
  constexpr int kHeaderCrc = 2, kExtraField = 4, kFileName = 8, kComment = 16;
  const Error short_of_bytes{Errc::corrupt, "gzip: the data ends inside the header"};
  std::size_t at = kMemberHeader.size();
  if (bytes.size() < at) return short_of_bytes;
  if (bytes[0] != std::byte{0x1f} || bytes[1] != std::byte{0x8b}) return Error{Errc::corrupt, "gzip: no magic"};
  if (bytes[kMethodAt] != std::byte{8}) return Error{Errc::corrupt, "gzip: the method is not deflate"};
  const int flags = std::to_integer<int>(bytes[kFlagsAt]);
  if ((flags & kExtraField) != 0) {
    if (bytes.size() - at < 2) return short_of_bytes;
    at += 2 + std::size_t{load_le16(bytes, at)};
    if (at > bytes.size()) return short_of_bytes;
  }
  for (int text : {kFileName, kComment}) {
    if ((flags & text) == 0) continue;
    auto end = std::find(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), std::byte{0});
    if (end == bytes.end()) return short_of_bytes;
    at = static_cast<std::size_t>(end - bytes.begin()) + 1;
  }
  if ((flags & kHeaderCrc) != 0) {
    if (bytes.size() - at < 2) return short_of_bytes;
    if (load_le16(bytes, at) != static_cast<std::uint16_t>(crc32_ieee(bytes.first(at))))
      return Error{Errc::corrupt, "gzip: the header does not match its checksum"};
    at += 2;
  }
  return at;
}

class Inflater {
 public:
  Inflater() { CHECK(inflateInit2(&stream_, kRawDeflate) == Z_OK, "inflateInit2"); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Inflates one member from the front of `input` and drops it there.
  Result<void> member(BytesView& input, CodecOutput& output) {
    input = input.subspan(TRY(member_header_size(input)));
    CHECK(inflateReset(&stream_) == Z_OK, "inflateReset");
    stream_.next_in = zlib_in(input.data());
    stream_.avail_in = static_cast<uInt>(input.size());
    const std::size_t before = output.written();
    for (;;) {
      MutableBytesView room = output.room(first_guess(input.size()));
      std::size_t offered = std::min<std::size_t>(room.size(), UINT32_MAX);
      stream_.next_out = zlib_out(room.data());
      stream_.avail_out = static_cast<uInt>(offered);
      int answer = inflate(&stream_, Z_NO_FLUSH);
      if (answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR)
        return Error{Errc::corrupt, fmt::format("gzip: {}", stream_.msg != nullptr ? stream_.msg : "bad data")};
      output.advance(offered - stream_.avail_out);
      if (output.exceeded()) return output.limit_error();
      if (answer == Z_STREAM_END) break;
      if (stream_.avail_in == 0 && stream_.avail_out != 0) return Error{Errc::corrupt, "gzip: the data ends early"};
    }
    input = input.last(stream_.avail_in);
    if (input.size() < kTrailerSize) return Error{Errc::corrupt, "gzip: the data ends inside the trailer"};
    BytesView inflated = output.since(before);
    if (load_le32(input, 0) != crc32_ieee(inflated))
      return Error{Errc::corrupt, "gzip: the data does not match its checksum"};
    if (load_le32(input, 4) != static_cast<std::uint32_t>(inflated.size()))
      return Error{Errc::corrupt, "gzip: the data does not match its size"};
    input = input.subspan(kTrailerSize);
    return {};
  }

 private:
  z_stream stream_{};
};

// After a member: is there another? Java looks only when more follows than any header and trailer could take.
bool another_member(BytesView bytes) {
  return bytes.size() > kMemberHeader.size() + kTrailerSize && member_header_size(bytes).has_value();
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
  } while (another_member(compressed));
  return {};
}

}  // namespace cordwood::record
