#include "storage/forward_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "io/faulty_file_system.h"
#include "io/memory_file_system.h"

namespace cordwood::storage {
namespace {

constexpr ByteCount kPage{4 * KiB};

// Remembers what it was asked for, and where to.
class WatchedSource final : public ByteSource {
 public:
  explicit WatchedSource(ByteVector content) : content_(std::move(content)) {}
  int native_fd() const override { return -1; }
  Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const override {
    const auto from = std::min(static_cast<std::size_t>(position.value), content_.size());
    const std::size_t size = std::min(into.size(), content_.size() - from);
    std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(from), size, into.begin());
    reads.push_back({position, size, reinterpret_cast<std::uintptr_t>(into.data()) % kPage.value});
    return size;
  }
  void shorten(std::size_t size) { content_.resize(size); }
  BytesView content() const { return content_; }

  struct Read {
    FilePosition position;
    std::size_t size = 0;
    std::uintptr_t in_page = 0;
  };
  mutable std::vector<Read> reads;

 private:
  ByteVector content_;
};

ByteVector random_bytes(std::size_t size, std::uint64_t seed = 1) {
  SeededRandom random(seed);
  ByteVector bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

FilePosition end_of(const WatchedSource& source) { return FilePosition{static_cast<std::int64_t>(source.content().size())}; }

void expect_bytes(ForwardReader& reader, const WatchedSource& source, std::int64_t position, std::size_t size) {
  const auto bytes = reader.bytes_at(FilePosition{position}, size);
  ASSERT_TRUE(bytes && *bytes) << position << " + " << size;
  ASSERT_TRUE(std::ranges::equal(**bytes, source.content().subspan(static_cast<std::size_t>(position), size)))
      << position << " + " << size;
}

TEST(ForwardReader, ReadsEachByteOnceFromPageToPage) {
  const WatchedSource source(random_bytes(1 * MiB + 77));
  ForwardReader reader(source, end_of(source));
  std::int64_t position = 0;
  for (const std::size_t size : {17, 16'000}) {
    while (position + static_cast<std::int64_t>(size) <= end_of(source).value && position < 700'000) {
      expect_bytes(reader, source, position, size);
      position += static_cast<std::int64_t>(size);
    }
  }
  while (position < end_of(source).value) expect_bytes(reader, source, position++, 1);

  std::size_t read = 0;
  for (const WatchedSource::Read& one : source.reads) {
    EXPECT_EQ(one.position.value, static_cast<std::int64_t>(read));
    EXPECT_EQ(one.in_page, 0u);
    EXPECT_EQ(one.position.value % kPage.value, 0);
    read += one.size;
  }
  EXPECT_EQ(read, source.content().size());
}

TEST(ForwardReader, AnyPositionAndSizeGiveTheBytesOfTheFile) {
  for (const ByteCount window : {ByteCount{1}, ByteCount{300}, kPage, ForwardReader::kWindow}) {
    const WatchedSource source(random_bytes(300'000, 2));
    ForwardReader reader(source, end_of(source), window);
    SeededRandom random(3);
    for (int i = 0; i < 500; ++i) {
      const std::size_t size = random.below(random.below(4) == 0 ? 150'000 : 5'000) + 1;
      expect_bytes(reader, source, static_cast<std::int64_t>(random.below(source.content().size() - size + 1)), size);
    }
  }
}

TEST(ForwardReader, BytesLargerThanAWindowComeWhole) {
  const WatchedSource source(random_bytes(3 * MiB));
  ForwardReader reader(source, end_of(source));
  expect_bytes(reader, source, 5, 17);
  expect_bytes(reader, source, 5, 1 * MiB);
  expect_bytes(reader, source, 5 + 1 * MiB, 2 * MiB - 5);
  EXPECT_LE(source.reads.size(), 4u);
}

TEST(ForwardReader, NothingBeyondTheEnd) {
  const WatchedSource source(random_bytes(10'000));
  ForwardReader reader(source, FilePosition{9'000});
  EXPECT_FALSE(reader.bytes_at(FilePosition{8'000}, 1'001)->has_value());
  EXPECT_FALSE(reader.bytes_at(FilePosition{9'001}, 0)->has_value());
  EXPECT_FALSE(reader.bytes_at(FilePosition{9'000}, 1)->has_value());
  EXPECT_TRUE(source.reads.empty());
  expect_bytes(reader, source, 8'000, 1'000);
  ASSERT_EQ(source.reads.size(), 1u);
  EXPECT_EQ(source.reads[0].position.value + static_cast<std::int64_t>(source.reads[0].size), 9'000);
  EXPECT_EQ(reader.at_hand(FilePosition{8'500}, 10).value()->size(), 500u);
}

TEST(ForwardReader, AFileThatBecameShorterEndsThere) {
  WatchedSource source(random_bytes(300'000));
  ForwardReader reader(source, end_of(source));
  expect_bytes(reader, source, 0, 17);
  source.shorten(200'000);
  expect_bytes(reader, source, 150'000, 50'000);
  EXPECT_FALSE(reader.bytes_at(FilePosition{150'000}, 50'001)->has_value());
  EXPECT_FALSE(reader.bytes_at(FilePosition{250'000}, 1)->has_value());
  expect_bytes(reader, source, 199'999, 1);
}

// What was read before a failed read is not mistaken for what was asked for.
TEST(ForwardReader, AFailedReadIsAnErrorAndTheNextOneReadsAgain) {
  for (const io::Fault::Shape shape : {io::Fault::Shape::refuse, io::Fault::Shape::shorten}) {
    const ByteVector content = random_bytes(400'000);
    io::MemFileSystem disk;
    ASSERT_TRUE(io::write_file_atomically(disk, "/file", content));
    io::FaultyFileSystem fs(disk);
    const std::shared_ptr<io::File> file = fs.open("/file", io::OpenMode::read).value();
    ForwardReader reader(*file, FilePosition{400'000});
    ASSERT_TRUE(reader.bytes_at(FilePosition{0}, 100'000)->has_value());
    fs.arm({.counted = io::FileCall::read, .fail_at = 1, .shape = shape});
    const auto failed = reader.bytes_at(FilePosition{100'000}, 100'000);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::io);
    const auto bytes = reader.bytes_at(FilePosition{90'000}, 100'000);
    ASSERT_TRUE(bytes && *bytes);
    EXPECT_TRUE(std::ranges::equal(**bytes, BytesView(content).subspan(90'000, 100'000)));
  }
}

}  // namespace
}  // namespace cordwood::storage
