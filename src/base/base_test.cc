#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"

namespace cordwood {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error{Errc::invalid, fmt::format("{} is odd", n)};
  return n / 2;
}
Result<int> quarter(int n) {
  int h = TRY(half(n));
  return TRY(half(h));
}
Result<void> must_be_even(int n) {
  TRY(half(n));
  return {};
}

TEST(Result, TryHandsTheErrorToTheCaller) {
  EXPECT_EQ(*quarter(8), 2);
  ASSERT_FALSE(quarter(6));
  EXPECT_EQ(quarter(6).error().what, "3 is odd");
  EXPECT_EQ(quarter(6).error().code, Errc::invalid);
  EXPECT_TRUE(must_be_even(2));
  EXPECT_FALSE(must_be_even(1));
}

// A range-for keeps alive only what its range expression gives by value: a reference into the Result would dangle.
static_assert(std::is_same_v<decltype(*std::declval<Result<std::string>>()), std::string>);
static_assert(std::is_same_v<decltype(std::declval<Result<std::string>>().value()), std::string>);
TEST(Result, IsWalkedOverWhileItIsATemporary) {
  auto words = [] { return Result<std::vector<std::string>>(std::vector<std::string>(3, std::string(100, 'x'))); };
  std::string all;
  for (const std::string& word : *words()) all += word;
  EXPECT_EQ(all, std::string(300, 'x'));
}

TEST(Result, SystemErrorsAreSortedByWhatCallersActOn) {
  EXPECT_EQ(system_error("write f", ENOSPC).code, Errc::no_space);
  EXPECT_EQ(system_error("open f", ENOENT).code, Errc::not_found);
  EXPECT_EQ(system_error("open f", EEXIST).code, Errc::exists);
  EXPECT_EQ(system_error("read f", EIO).code, Errc::io);
  EXPECT_EQ(system_error("read f", EIO).message(), "read f: Input/output error (5)");
}

TEST(ResultDeathTest, ValueOfAnErrorIsABugOfOurs) {
  EXPECT_DEATH(static_cast<void>(half(1).value()), "1 is odd");
}

// What must not compile.
template <class A, class B>
concept CanCompare = requires(A a, B b) { a < b; };
static_assert(!CanAdd<Offset, Offset>);
static_assert(!CanAdd<Offset, ByteCount>);
static_assert(!CanAdd<TimestampMs, OffsetDelta>);
static_assert(CanAdd<Offset, OffsetDelta>);
static_assert(!CanAdd<PartitionId, PartitionId>);
static_assert(!CanCompare<Offset, FilePosition>);
static_assert(!std::is_convertible_v<Offset, std::int64_t>);
static_assert(!std::is_convertible_v<std::int64_t, Offset>);

TEST(Types, PointsAndDistances) {
  EXPECT_EQ((Offset{5} - Offset{2}).value, 3);
  EXPECT_EQ(next(Offset{5}), Offset{6});
  EXPECT_EQ((TopicPartition{"a-b", PartitionId{3}}).to_string(), "a-b-3");
  EXPECT_EQ(fmt::format("{} {}", Offset{7}, ByteCount{9}), "7 9");
}

TEST(Uuid, TextForm) {
  struct Case {
    Uuid id;
    const char* text;
  } cases[] = {
      {kZeroUuid, "AAAAAAAAAAAAAAAAAAAAAA"},
      {kMetadataTopicId, "AAAAAAAAAAAAAAAAAAAAAQ"},
      {{0xffffffffffffffffULL, 0xffffffffffffffffULL}, "_____________________w"},
      {{0x0123456789abcdefULL, 0xfedcba9876543210ULL}, "ASNFZ4mrze_-3LqYdlQyEA"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.id.to_string(), c.text);
    EXPECT_EQ(Uuid::parse(c.text), c.id);
  }
  for (const char* bad : {"", "AAAA", "AAAAAAAAAAAAAAAAAAAAAB", "AAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAAA",
                          "AAAAAAAAAA AAAAAAAAAAA"}) {
    EXPECT_EQ(Uuid::parse(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(kMetadataTopicId.to_hex(), "00000000000000000000000000000001");
}

TEST(Uuid, RandomOnesAreNeitherReservedNorStartWithADash) {
  SeededRandom random(1);
  for (int i = 0; i < 2000; ++i) {
    Uuid id = Uuid::random(random);
    EXPECT_FALSE(id.is_reserved());
    EXPECT_NE(id.to_string().front(), '-');
    EXPECT_EQ(Uuid::parse(id.to_string()), id);
  }
}

TEST(Crc, CheckValues) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32_ieee(as_bytes("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(as_bytes("6789"), crc32c(as_bytes("12345"))), 0xe3069283u);
}

std::string hex(BytesView bytes) {
  std::string out;
  for (std::byte b : bytes) out += fmt::format("{:02x}", static_cast<unsigned>(b));
  return out;
}

TEST(Bytes, VarintsAsInTheFormatPage) {
  struct Case {
    std::int32_t value;
    const char* bytes;
  } cases[] = {{0, "00"},     {-1, "01"},    {1, "02"},           {-2, "03"},         {63, "7e"},
               {-64, "7f"},   {64, "8001"},  {300, "d804"},       {2147483647, "feffffff0f"},
               {-2147483648, "ffffffff0f"}};
  for (const auto& c : cases) {
    ByteWriter writer;
    writer.varint(c.value);
    EXPECT_EQ(hex(writer.view()), c.bytes);
    EXPECT_EQ(writer.size(), varint_size(c.value));
    ByteReader reader(writer.view());
    EXPECT_EQ(reader.varint(), c.value);
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.remaining(), 0u);
  }
  for (std::int64_t value : {INT64_MIN, INT64_MAX, std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    ByteWriter writer;
    writer.varlong(value);
    EXPECT_EQ(writer.size(), varlong_size(value));
    ByteReader reader(writer.view());
    EXPECT_EQ(reader.varlong(), value);
    EXPECT_TRUE(reader.ok());
  }
}

TEST(Bytes, AContinuationBitOnTheLastAllowedByteFails) {
  ByteVector five(5, std::byte{0x80});
  ByteReader reader(five);
  EXPECT_EQ(reader.uvarint(), 0u);
  EXPECT_FALSE(reader.ok());
  ByteVector ten(10, std::byte{0xff});
  ByteReader longer(ten);
  EXPECT_EQ(longer.uvarlong(), 0u);
  EXPECT_FALSE(longer.ok());
}

TEST(Bytes, ReadingPastTheEndIsSticky) {
  ByteWriter writer;
  writer.i32(-7);
  writer.i16(9);
  ByteReader reader(writer.view());
  EXPECT_EQ(reader.i32(), -7);
  EXPECT_EQ(reader.i32(), 0);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.i16(), 0) << "two bytes are left, but a reader that failed gives nothing more";
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_TRUE(reader.rest().empty());
}

TEST(Bytes, LengthsFromOutsideAreChecked) {
  ByteVector data(4);
  for (std::int64_t length : {std::int64_t{-1}, std::int64_t{5}, INT64_MAX, INT64_MIN}) {
    ByteReader reader(data);
    EXPECT_TRUE(reader.bytes(length).empty());
    EXPECT_FALSE(reader.ok()) << length;
  }
  ByteReader reader(data);
  EXPECT_EQ(reader.bytes(4).size(), 4u);
  EXPECT_TRUE(reader.ok());
}

TEST(Executor, TimersRunInOrderAndCanBeCancelled) {
  ManualClock clock;
  ManualExecutor executor(clock);
  std::string order;
  MonotonicNs start = clock.monotonic();
  executor.schedule(start + to_ns({20}), [&] { order += "b"; });
  executor.schedule(start + to_ns({10}), [&] { order += "a"; });
  TimerId cancelled = executor.schedule(start + to_ns({15}), [&] { order += "x"; });
  executor.post([&] { order += "p"; });
  EXPECT_EQ(executor.run_ready(), 1u);
  executor.cancel(cancelled);
  clock.advance({20});
  EXPECT_EQ(executor.run_ready(), 2u);
  EXPECT_EQ(order, "pab");
}

TEST(Executor, AThreadRunsWhatIsPosted) {
  SystemClock clock;
  ThreadExecutor executor(clock, "test");
  std::promise<int> answer;
  executor.schedule(clock.monotonic() + to_ns({1}), [&] { answer.set_value(42); });
  EXPECT_EQ(answer.get_future().get(), 42);
  executor.stop();
  executor.post([] { FAIL() << "stopped"; });
}

TEST(Log, KeepsLinesAndDropsBelowTheMinimum) {
  MemoryLogger logger;
  logger.debug("not {}", "kept");
  logger.warn("disk {} full", "/a");
  EXPECT_EQ(logger.lines(), std::vector<std::string>{"WARN disk /a full"});
}

TEST(Random, SeedsRepeat) {
  SeededRandom a(7), b(7), c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
  EXPECT_EQ(a.below(0), 0u);
  for (int i = 0; i < 100; ++i) EXPECT_LT(a.below(3), 3u);
}

}  // namespace
}  // namespace cordwood
