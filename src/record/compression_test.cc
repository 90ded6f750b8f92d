#include "record/compression.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "record/codecs.h"
#include "record/record_testing.h"

namespace cordwood::record {
namespace {

constexpr ByteCount kPlenty{64 * MiB};

ByteVector bytes_of(std::string_view text) {
  return to_vector(as_bytes(text));
}

ByteVector compressed(const CompressionSettings& settings, BytesView plain) {
  ByteVector out;
  compress(settings, plain, out);
  return out;
}

// What comes out, or the error's code and text.
std::string inflated(Codec codec, BytesView bytes, ByteCount at_most = kPlenty) {
  ByteVector out;
  Result<void> result = decompress(codec, bytes, at_most, out);
  if (!result) return fmt::format("{}: {}", to_string(result.error().code), result.error().what);
  return std::string(as_text(out));
}

ByteVector joined(std::initializer_list<ByteVector> parts) {
  ByteVector all;
  for (const ByteVector& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Runs of a few repeated words between runs of chance, so that every codec finds both kinds of blocks.
ByteVector mixed_bytes(SeededRandom& random, std::size_t size) {
  ByteVector bytes;
  while (bytes.size() < size) {
    std::size_t run = std::min<std::size_t>(size - bytes.size(), 1 + random.below(50'000));
    if (random.below(2) == 0) {
      for (std::size_t i = 0; i < run; ++i) bytes.push_back(static_cast<std::byte>(random.next()));
    } else {
      std::string word = fmt::format("word{} ", random.below(100));
      for (std::size_t i = 0; i < run; ++i) bytes.push_back(static_cast<std::byte>(word[i % word.size()]));
    }
  }
  return bytes;
}

constexpr Codec kCodecs[] = {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd};

TEST(Compression, GivesBackWhatWentInAtEveryLevel) {
  std::vector<CompressionSettings> all = {{Codec::none, {}}, {Codec::snappy, {}}};
  for (int level : {-1, 1, 2, 5, 6, 9}) all.push_back({Codec::gzip, level});
  for (int level : {1, 3, 8, 9, 10, 17}) all.push_back({Codec::lz4, level});
  for (int level : {-131072, -5, 0, 1, 3, 9, 19}) all.push_back({Codec::zstd, level});
  for (Codec codec : kCodecs) all.push_back({codec, std::nullopt});
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SeededRandom random(seed);
    for (std::size_t size : {0uz, 1uz, 100uz, 32'767uz, 32'768uz, 32'769uz, 65'535uz, 65'536uz, 65'537uz, 300'000uz}) {
      ByteVector plain = mixed_bytes(random, size);
      for (const CompressionSettings& settings : all) {
        ByteVector out = bytes_of("before");
        Result<void> result = decompress(settings.codec, compressed(settings, plain), kPlenty, out);
        ASSERT_TRUE(result.has_value()) << result.error().message();
        ASSERT_TRUE(out == joined({bytes_of("before"), plain}))
            << to_string(settings.codec) << " level " << settings.level.value_or(-999) << ", " << size
            << " bytes, seed " << seed;
      }
    }
  }
}

TEST(Compression, HigherLevelsCompressMoreExceptThatLz4LevelNineIsFast) {
  SeededRandom random(7);
  ByteVector plain;
  for (int i = 0; i < 5000; ++i) {
    ByteVector word = bytes_of(fmt::format("name={} value={};", random.below(300), random.below(300)));
    plain.insert(plain.end(), word.begin(), word.end());
  }
  auto size = [&](Codec codec, int level) { return compressed({codec, level}, plain).size(); };
  EXPECT_LT(size(Codec::gzip, 9), size(Codec::gzip, 1));
  EXPECT_LT(size(Codec::zstd, 19), size(Codec::zstd, -50));
  EXPECT_GT(size(Codec::lz4, 9), size(Codec::lz4, 1));
  EXPECT_LT(size(Codec::lz4, 17), size(Codec::lz4, 9));
  EXPECT_EQ(size(Codec::lz4, 9), compressed({Codec::lz4, {}}, plain).size());
  EXPECT_EQ(size(Codec::gzip, 6), compressed({Codec::gzip, {}}, plain).size());
  EXPECT_EQ(size(Codec::zstd, 3), compressed({Codec::zstd, {}}, plain).size());
}

TEST(Compression, FramingIsKafkas) {
  ByteVector plain(40'000, std::byte{'x'});
  struct {
    Codec codec;
    const char* starts;
  } cases[] = {
      {Codec::gzip, "1f8b08000000000000ff"},
      {Codec::snappy, "82534e41505059000000000100000001"},
      {Codec::lz4, "04224d18604082"},
      {Codec::zstd, "28b52ffd00"},  // no content size, no checksum, a window descriptor
  };
  for (const auto& c : cases)
    EXPECT_EQ(to_hex(compressed({c.codec, {}}, plain)).substr(0, std::string_view(c.starts).size()), c.starts);
}

TEST(Compression, EmptyInput) {
  EXPECT_EQ(to_hex(compressed({Codec::lz4, {}}, {})), "04224d1860408200000000");
  EXPECT_EQ(to_hex(compressed({Codec::snappy, {}}, {})), "82534e41505059000000000100000001");
  for (Codec codec : kCodecs) EXPECT_EQ(inflated(codec, compressed({codec, {}}, {})), "") << to_string(codec);
  EXPECT_EQ(inflated(Codec::gzip, {}), "corrupt: gzip: the data ends inside the header");
  EXPECT_EQ(inflated(Codec::snappy, {}), "corrupt: snappy: a block has no readable length");
  EXPECT_EQ(inflated(Codec::lz4, {}), "corrupt: lz4: the data ends inside the frame header");
  EXPECT_EQ(inflated(Codec::zstd, {}), "");
}

TEST(Compression, WhatFollowsTheFirstFrame) {
  ByteVector one = bytes_of("one ");
  ByteVector two = bytes_of("two");
  for (Codec codec : {Codec::gzip, Codec::snappy, Codec::zstd})
    EXPECT_EQ(inflated(codec, joined({compressed({codec, {}}, one), compressed({codec, {}}, two)})), "one two")
        << to_string(codec);
  // Kafka's LZ4 reader stops at the end mark, whatever comes then; its gzip reader looks for another header.
  EXPECT_EQ(inflated(Codec::lz4, joined({compressed({Codec::lz4, {}}, one), compressed({Codec::lz4, {}}, two)})),
            "one ");
  EXPECT_EQ(inflated(Codec::lz4, joined({compressed({Codec::lz4, {}}, one), two})), "one ");
  EXPECT_EQ(inflated(Codec::gzip, joined({compressed({Codec::gzip, {}}, one), ByteVector(40)})), "one ");
  EXPECT_EQ(inflated(Codec::snappy, joined({compressed({Codec::snappy, {}}, one), ByteVector(3)})), "one ");
  EXPECT_EQ(inflated(Codec::zstd, joined({compressed({Codec::zstd, {}}, one), two})).substr(0, 13), "corrupt: zstd");
}

TEST(Compression, ACutStreamIsAnErrorAndLeavesTheOutputAlone) {
  SeededRandom random(3);
  ByteVector plain = mixed_bytes(random, 2000);
  for (Codec codec : {Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd}) {
    ByteVector whole = compressed({codec, {}}, plain);
    for (std::size_t size = 1; size < whole.size(); ++size) {
      ByteVector out = bytes_of("kept");
      // An snappy stream may end where a block would start.
      bool complete = codec == Codec::snappy && size >= 16 && size < 20;
      EXPECT_EQ(decompress(codec, BytesView(whole).first(size), kPlenty, out).has_value(), complete)
          << to_string(codec) << " cut at " << size << " of " << whole.size();
      EXPECT_EQ(as_text(out), "kept");
    }
  }
}

TEST(Compression, ABombIsStoppedAtTheCap) {
  ByteVector zeros(8 * MiB);
  for (Codec codec : {Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd}) {
    ByteVector bomb = compressed({codec, {}}, zeros);
    for (std::int64_t cap : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, 100 * KiB, 8 * MiB - 1}) {
      ByteVector out;
      Result<void> result = decompress(codec, bomb, ByteCount{cap}, out);
      ASSERT_FALSE(result.has_value()) << to_string(codec);
      EXPECT_EQ(result.error().code, Errc::limit) << to_string(codec) << " cap " << cap << ": " << result.error().what;
      // Memory follows what was inflated, and stops soon after the cap.
      EXPECT_LE(out.capacity(), static_cast<std::size_t>(2 * cap) + 4 * MiB) << to_string(codec);
    }
    EXPECT_EQ(inflated(codec, bomb, ByteCount{8 * MiB}).size(), zeros.size()) << to_string(codec);
  }
}

TEST(Compression, ACodecThatIsNoneIsUnsupported) {
  EXPECT_EQ(inflated(static_cast<Codec>(5), bytes_of("x")), "unsupported: compression id 5 is no codec");
}

TEST(Gzip, ReadsOptionalHeaderFieldsAndChecksTheTrailer) {
  ByteVector member = compressed({Codec::gzip, {}}, bytes_of("hello"));
  ByteVector deflated(member.begin() + 10, member.end());
  auto with_header = [&](std::string_view header) { return joined({from_hex(header), deflated}); };
  struct {
    const char* name;
    ByteVector bytes;
    const char* result;
  } cases[] = {
      {"plain", member, "hello"},
      {"extra field", with_header("1f8b0804 00000000 00ff 0300 616263"), "hello"},
      {"file name and comment", with_header("1f8b0818 00000000 00ff 6e00 63636300"), "hello"},
      {"reserved flags", with_header("1f8b08e0 00000000 00ff"), "hello"},
      {"extra field beyond the data", from_hex("1f8b0804 00000000 00ff ff00 616263"),
       "corrupt: gzip: the data ends inside the header"},
      {"file name without end", from_hex("1f8b0808 00000000 00ff 616263"),
       "corrupt: gzip: the data ends inside the header"},
      {"header checksum", with_header("1f8b0802 00000000 00ff 0000"),
       "corrupt: gzip: the header does not match its checksum"},
      {"no magic", with_header("1f8c0800 00000000 00ff"), "corrupt: gzip: no magic"},
      {"another method", with_header("1f8b0700 00000000 00ff"), "corrupt: gzip: the method is not deflate"},
  };
  for (const auto& c : cases) EXPECT_EQ(inflated(Codec::gzip, c.bytes), c.result) << c.name;
  ByteVector bad_crc = member;
  bad_crc[member.size() - 8] ^= std::byte{1};
  EXPECT_EQ(inflated(Codec::gzip, bad_crc), "corrupt: gzip: the data does not match its checksum");
  ByteVector bad_size = member;
  bad_size[member.size() - 1] ^= std::byte{1};
  EXPECT_EQ(inflated(Codec::gzip, bad_size), "corrupt: gzip: the data does not match its size");
}

TEST(Gzip, AHeaderChecksumThatFitsIsAccepted) {
  ByteVector member = compressed({Codec::gzip, {}}, bytes_of("hello"));
  // Of all that the field can hold, exactly one is right.
  ByteVector header = from_hex("1f8b0802 00000000 00ff");
  ByteVector bytes = joined({header, from_hex("0000"), ByteVector(member.begin() + 10, member.end())});
  int accepted = 0;
  for (int crc = 0; crc < 0x10000; ++crc) {
    bytes[10] = static_cast<std::byte>(crc & 0xff);
    bytes[11] = static_cast<std::byte>(crc >> 8);
    if (inflated(Codec::gzip, bytes) == "hello") ++accepted;
  }
  EXPECT_EQ(accepted, 1);
}

TEST(Snappy, ReadsRawBlocksAndStreams) {
  const char* raw_hello = "05 10 68 65 6c 6c 6f";
  const char* magic = "82 53 4e 41 50 50 59 00";
  auto stream = [&](std::string_view rest) { return joined({from_hex(magic), from_hex(rest)}); };
  struct {
    const char* name;
    ByteVector bytes;
    const char* result;
  } cases[] = {
      {"a raw block", from_hex(raw_hello), "hello"},
      {"a stream", stream("00000001 00000001 00000007 05 10 68 65 6c 6c 6f"), "hello"},
      {"a stream without blocks", stream("00000001 00000001"), ""},
      {"first header of any version", stream("00000000 00000000 00000007 05 10 68 65 6c 6c 6f"), "hello"},
      {"repeated header of version 0", stream("00000001 00000001 82534e4150505900 00000000 00000001"),
       "corrupt: snappy: stream version 0"},
      {"a block beyond the data", stream("00000001 00000001 00000008 05 10 68 65 6c 6c 6f"),
       "corrupt: snappy: a block of 8 bytes, 7 are left"},
      {"a negative block size", stream("00000001 00000001 ffffffff 05 10 68 65 6c 6c 6f"),
       "corrupt: snappy: a block of -1 bytes, 7 are left"},
      {"an empty block", stream("00000001 00000001 00000000"), "corrupt: snappy: a block has no readable length"},
      {"a length that no block can have", from_hex("ff ff ff ff 0f 10 68 65 6c 6c 6f"),
       "corrupt: snappy: a block claims an impossible length"},
      {"a length that does not match", from_hex("06 10 68 65 6c 6c 6f"),
       "corrupt: snappy: a block does not decompress"},
  };
  for (const auto& c : cases) EXPECT_EQ(inflated(Codec::snappy, c.bytes), c.result) << c.name;
}

TEST(Lz4, ReadsWhatTheFrameFormatAllowsAndKafkaAccepts) {
  // "hello", stored; the checksums come from liblz4's frame writer.
  struct {
    const char* name;
    const char* bytes;
    const char* result;
  } cases[] = {
      {"stored block", "04224d18 6040 82 05000080 68656c6c6f 00000000", "hello"},
      {"wrong magic", "04224d19 6040 82 05000080 68656c6c6f 00000000", "corrupt: lz4: no frame magic"},
      {"wrong header checksum", "04224d18 6040 83 05000080 68656c6c6f 00000000",
       "corrupt: lz4: the frame header does not match its checksum"},
      {"the broken checksum of magic 0", "04224d18 6040 1a 05000080 68656c6c6f 00000000",
       "corrupt: lz4: the frame header does not match its checksum"},
      {"frame version 2", "04224d18 a040 82 00000000", "corrupt: lz4: frame version 2"},
      {"dependent blocks", "04224d18 4040 82 00000000", "corrupt: lz4: the blocks depend on one another"},
      {"reserved flag", "04224d18 6240 82 00000000", "corrupt: lz4: reserved flags are set"},
      {"block size 3", "04224d18 6030 82 00000000", "corrupt: lz4: block descriptor 0x30"},
      {"reserved bits of the descriptor", "04224d18 6041 82 00000000", "corrupt: lz4: block descriptor 0x41"},
      {"no end mark", "04224d18 6040 82 05000080 68656c6c6f", "corrupt: lz4: the data ends without an end mark"},
      {"block beyond the data", "04224d18 6040 82 06000080 68656c6c6f", "corrupt: lz4: the data ends inside a block"},
      {"block larger than the descriptor says", "04224d18 6040 82 01000180 00",
       "corrupt: lz4: a block of 65537 bytes, at most 65536"},
      {"garbage in a block", "04224d18 6040 82 05000000 68656c6c6f 00000000",
       "corrupt: lz4: a block does not decompress"},
      {"a stored block of no bytes ends the frame", "04224d18 6040 82 00000080 68656c6c6f", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(inflated(Codec::lz4, from_hex(c.bytes)), c.result) << c.name;
}

// A frame around a stored "hello", with the checksum that its descriptor needs.
ByteVector hello_frame(std::string_view descriptor, std::string_view after_block, std::string_view end) {
  ByteVector described = from_hex(descriptor);
  auto checksum = static_cast<std::byte>(xxhash32(described) >> 8);
  return joined({from_hex("04224d18"),
                 described,
                 {checksum},
                 from_hex("05000080 68656c6c6f"),
                 from_hex(after_block),
                 from_hex(end)});
}

TEST(Lz4, OptionalFieldsOfTheFrame) {
  ByteVector hello = bytes_of("hello");
  std::uint32_t sum = __builtin_bswap32(xxhash32(hello));
  std::string block_checksum = fmt::format("{:08x}", sum);
  struct {
    const char* name;
    ByteVector bytes;
    const char* result;
  } cases[] = {
      {"content size, skipped", hello_frame("6840 ffffffffffffff7f", "", "00000000"), "hello"},
      {"block checksum", hello_frame("7040", block_checksum, "00000000"), "hello"},
      {"wrong block checksum", hello_frame("7040", "00000000", "00000000"),
       "corrupt: lz4: a block does not match its checksum"},
      {"content checksum, not verified", hello_frame("6440", "", "00000000 deadbeef"), "hello"},
      {"content checksum cut off", hello_frame("6440", "", "00000000 dead"),
       "corrupt: lz4: the data ends inside the content checksum"},
      {"blocks of 4 MiB", hello_frame("6070", "", "00000000"), "hello"},
  };
  for (const auto& c : cases) EXPECT_EQ(inflated(Codec::lz4, c.bytes), c.result) << c.name;
}

TEST(Lz4, OldWrappersMayHaveTheWrongHeaderChecksum) {
  ByteVector out;
  ByteVector frame = from_hex("04224d18 6040 1a 05000080 68656c6c6f 00000000");
  ASSERT_TRUE(decompress_lz4(frame, 100, out, Lz4HeaderChecksum::ignored).has_value());
  EXPECT_EQ(as_text(out), "hello");
}

TEST(Lz4, ABlockThatWouldNotShrinkIsStored) {
  SeededRandom random(11);
  ByteVector noise;
  for (int i = 0; i < 70'000; ++i) noise.push_back(static_cast<std::byte>(random.next()));
  ByteVector frame = compressed({Codec::lz4, {}}, noise);
  EXPECT_EQ(frame.size(), 7 + 4 + 65'536 + 4 + (70'000 - 65'536) + 4u);
  EXPECT_EQ(to_hex(BytesView(frame).subspan(7, 4)), "00000180");
}

TEST(XxHash32, KnownValues) {
  struct {
    const char* text;
    std::uint32_t hash;
  } cases[] = {
      {"", 0x02cc5d05},
      {"a", 0x550d7456},
      {"abc", 0x32d153ff},
      {"Nobody inspects the spammish repetition", 0xe2293b2f},
  };
  for (const auto& c : cases) EXPECT_EQ(xxhash32(as_bytes(c.text)), c.hash) << c.text;
}

}  // namespace
}  // namespace cordwood::record
