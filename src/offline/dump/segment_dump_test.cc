#include "offline/dump/segment_dump.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "io/memory_file_system.h"
#include "record/builder.h"

namespace cordwood::offline {
namespace {

constexpr const char* kFile = "/log/00000000000000000000.log";

struct Dumped {
  std::string text;
  std::string failure;
  OffsetPairs gaps;
  bool operator==(const Dumped&) const = default;
};

Dumped dump_of(const ByteVector& bytes, int threads, std::size_t block_bytes) {
  io::MemFileSystem fs;
  EXPECT_TRUE(fs.create_directories("/log").has_value());
  auto file = fs.open(kFile, io::OpenMode::create).value();
  EXPECT_TRUE(file->write_at(FilePosition{0}, bytes).has_value());
  const auto decoder = class_decoder("org.apache.kafka.tools.api.StringDecoder", "org.apache.kafka.tools.api.StringDecoder").value();
  SegmentDumpOptions options;
  options.records = options.contents = true;
  options.threads = threads;
  options.block_bytes = block_bytes;
  Dumped dumped;
  cli::MemoryOutput out;
  {
    TextWriter writer(out);
    const Result<void> outcome = dump_segment(*file, kFile, options, *decoder, dumped.gaps, writer);
    if (!outcome) dumped.failure = outcome.error().what;
  }
  dumped.text = out.text();
  return dumped;
}

// Records of every kind: null, empty, longer, no ASCII, with headers; offsets with gaps; every codec.
ByteVector make_mixed_log(int batches, std::uint64_t seed) {
  SeededRandom random(seed);
  ByteVector log;
  std::int64_t offset = 98;
  for (int i = 0; i < batches; ++i) {
    record::BatchOptions options;
    options.base_offset = Offset{offset};
    options.compression.codec = static_cast<record::Codec>(random.below(5));
    if (random.below(3) == 0) {
      options.producer_id = 7;
      options.producer_epoch = 0;
      options.base_sequence = static_cast<std::int32_t>(INT32_MAX - 1);
    }
    record::BatchBuilder builder(options);
    const int records = 1 + static_cast<int>(random.below(6));
    for (int k = 0; k < records; ++k) {
      const std::string text(random.below(40), static_cast<char>('a' + random.below(26)));
      const std::string odd = text + "\xc3\xa4\xff";
      const std::string name = "h";
      const record::HeaderToWrite header{name, as_bytes(text)};
      const TimestampMs time{1'700'000'000'000 + static_cast<std::int64_t>(random.below(3))};
      switch (random.below(5)) {
        case 0: builder.add(time, std::nullopt, as_bytes(text)); break;
        case 1: builder.add(time, as_bytes(text), std::nullopt); break;
        case 2: builder.add(time, as_bytes(text), as_bytes(odd)); break;
        case 3: builder.add(time, as_bytes(text), as_bytes(text), std::span(&header, 1)); break;
        default: builder.add(time, as_bytes(text), as_bytes(text)); break;
      }
    }
    offset += records + (random.below(10) == 0 ? 3 : 0);
    const ByteVector batch = builder.build();
    log.insert(log.end(), batch.begin(), batch.end());
  }
  return log;
}

TEST(SegmentDump, OfSeveralThreadsIsThatOfOne) {
  const ByteVector log = make_mixed_log(400, 1);
  const Dumped one = dump_of(log, 1, 1024 * 1024);
  EXPECT_EQ(one.failure, "");
  EXPECT_NE(one.text.find("| offset: 98 CreateTime: 1700000000"), std::string::npos);
  EXPECT_NE(one.text.find("headerKeys: [h]"), std::string::npos);
  EXPECT_GT(one.gaps.size(), 10U);
  for (const std::size_t block : {std::size_t{100}, std::size_t{500}, std::size_t{3000}}) {
    EXPECT_EQ(dump_of(log, 3, block), one) << block;
  }
}

TEST(SegmentDump, OfSeveralThreadsEndsWhereThatOfOneDoes) {
  const ByteVector whole = make_mixed_log(120, 2);
  SeededRandom random(3);
  int failures = 0;
  int torn = 0;
  for (int i = 0; i < 300; ++i) {
    ByteVector log = whole;
    if (i % 3 == 0) log.resize(log.size() - random.below(log.size()));
    for (int k = 0; k < 1 + i % 3 && !log.empty(); ++k) {
      log[random.below(log.size())] = static_cast<std::byte>(random.below(256));
    }
    const Dumped one = dump_of(log, 1, 1024 * 1024);
    ASSERT_EQ(dump_of(log, 3, 200), one) << i;
    failures += !one.failure.empty();
    torn += one.text.find("invalid bytes at the end") != std::string::npos;
  }
  EXPECT_GT(failures, 20);
  EXPECT_GT(torn, 20);
}

TEST(SegmentDump, TellsEveryOffsetAndTime) {
  // Nines that carry, and one digit more.
  record::BatchOptions options;
  options.base_offset = Offset{9'997};
  record::BatchBuilder builder(options);
  for (int i = 0; i < 5; ++i) builder.add(TimestampMs{i < 3 ? 999 : 1000 + i}, std::nullopt, as_bytes("v"));
  const Dumped dumped = dump_of(builder.build(), 1, 1024);
  const std::size_t records = dumped.text.find('\n') + 1;
  EXPECT_EQ(dumped.text.substr(records),
            "| offset: 9997 CreateTime: 999 keySize: -1 valueSize: 1 sequence: -1 headerKeys: [] payload: v\n"
            "| offset: 9998 CreateTime: 999 keySize: -1 valueSize: 1 sequence: -1 headerKeys: [] payload: v\n"
            "| offset: 9999 CreateTime: 999 keySize: -1 valueSize: 1 sequence: -1 headerKeys: [] payload: v\n"
            "| offset: 10000 CreateTime: 1003 keySize: -1 valueSize: 1 sequence: -1 headerKeys: [] payload: v\n"
            "| offset: 10001 CreateTime: 1004 keySize: -1 valueSize: 1 sequence: -1 headerKeys: [] payload: v\n");
}

}  // namespace
}  // namespace cordwood::offline
