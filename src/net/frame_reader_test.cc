#include "net/frame_reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "net/net_testing.h"

namespace cordwood::net {
namespace {

using State = FrameReader::State;

struct Reading {
  explicit Reading(std::int64_t budget_bytes = 512 * MiB, std::int64_t largest = 100 * MiB)
      : budget(std::make_shared<ByteBudget>(ByteCount{budget_bytes})), reader(pool, budget, {largest}) {}
  std::shared_ptr<FramePool> pool = std::make_shared<FramePool>(ByteCount{8 * MiB});
  std::shared_ptr<ByteBudget> budget;
  FrameReader reader;
};

// As a connection does: into the frame where the reader says so, through take() else. Gives one byte at a time.
State feed_byte_by_byte(FrameReader& reader, BytesView bytes) {
  State state = State::need_bytes;
  for (std::byte byte : bytes) {
    auto room = reader.room();
    if (!room.empty()) {
      room[0] = byte;
      state = reader.filled(1);
    } else {
      BytesView one(&byte, 1);
      state = reader.take(one);
    }
  }
  return state;
}

TEST(FrameReader, CutsSeveralFramesOutOfOneRead) {
  Reading r;
  ByteVector stream;
  for (auto text : {"one", "two", "three"}) {
    auto frame = framed(text);
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  BytesView input = stream;
  for (auto text : {"one", "two", "three"}) {
    ASSERT_EQ(r.reader.take(input), State::frame_ready);
    EXPECT_EQ(as_text(r.reader.frame()->bytes()), text);
  }
  EXPECT_TRUE(input.empty());
  EXPECT_EQ(r.reader.take(input), State::need_bytes);
  EXPECT_FALSE(r.reader.inside_frame());
}

TEST(FrameReader, TakesOneByteAtATimeInEverySize) {
  for (std::size_t size : {1ul, 2ul, 5ul, 65535ul, 65536ul, 65537ul, 131072ul, 200001ul}) {
    Reading r;
    auto content = pattern(size);
    auto frame = framed(as_text(content));
    ASSERT_EQ(feed_byte_by_byte(r.reader, frame), State::frame_ready) << size;
    auto whole = r.reader.frame();
    ASSERT_EQ(whole->bytes().size(), size);
    EXPECT_EQ(std::memcmp(whole->bytes().data(), content.data(), size), 0);
  }
}

TEST(FrameReader, RefusesSizesOutsideOfTheLimit) {
  for (std::int32_t size : {0, -1, INT32_MIN, 1001, INT32_MAX}) {
    Reading r(512 * MiB, 1000);
    ByteWriter writer;
    writer.i32(size);
    BytesView input = writer.view();
    EXPECT_EQ(r.reader.take(input), State::bad_size) << size;
  }
  Reading r(512 * MiB, 1000);
  auto frame = framed(std::string(1000, 'x'));
  BytesView input = frame;
  EXPECT_EQ(r.reader.take(input), State::frame_ready);
}

TEST(FrameReader, TakesMemoryAsBytesArriveAndNotAsAnnounced) {
  Reading r;
  ByteWriter writer;
  writer.i32(100 * MiB);
  BytesView input = writer.view();
  EXPECT_EQ(r.reader.take(input), State::need_bytes);
  EXPECT_EQ(r.budget->used(), ByteCount{64 * KiB});
  std::size_t filled = 0;
  while (filled < 3 * MiB) {
    auto room = r.reader.room();
    ASSERT_FALSE(room.empty());
    filled += room.size();
    ASSERT_EQ(r.reader.filled(room.size()), State::need_bytes);
    EXPECT_LE(r.budget->used().value, static_cast<std::int64_t>(2 * filled));
  }
}

TEST(FrameReader, GivesTheMemoryBackWithTheFrame) {
  Reading r;
  auto small = framed("abc");
  auto large = framed(std::string(MiB, 'x'));
  BytesView input = small;
  ASSERT_EQ(r.reader.take(input), State::frame_ready);
  auto first = r.reader.frame();
  input = large;
  ASSERT_EQ(r.reader.take(input), State::frame_ready);
  auto second = r.reader.frame();
  EXPECT_EQ(r.budget->used(), ByteCount{3 + MiB});
  first.reset();
  EXPECT_EQ(r.budget->used(), ByteCount{MiB});
  EXPECT_EQ(r.pool->bytes_kept(), 0u);
  second.reset();
  EXPECT_EQ(r.budget->used(), ByteCount{0});
  EXPECT_EQ(r.pool->bytes_kept(), static_cast<std::size_t>(MiB));  // for the next large one
  // A reader that goes in the middle of a frame gives back, too.
  {
    FrameReader gone(r.pool, r.budget, {100 * MiB});
    input = BytesView(large).first(1000);
    EXPECT_EQ(gone.take(input), State::need_bytes);
    EXPECT_EQ(r.pool->bytes_kept(), 0u);
  }
  EXPECT_EQ(r.budget->used(), ByteCount{0});
  EXPECT_EQ(r.pool->bytes_kept(), static_cast<std::size_t>(MiB));
}

TEST(FrameReader, OneFrameMayOverdrawTheBudgetTheOthersWait) {
  auto pool = std::make_shared<FramePool>(ByteCount{0});
  auto budget = std::make_shared<ByteBudget>(ByteCount{200 * KiB});
  FrameReader first(pool, budget, {100 * MiB});
  FrameReader second(pool, budget, {100 * MiB});
  auto large = framed(std::string(300 * KiB, 'x'));
  BytesView first_input = large;
  BytesView second_input = large;
  EXPECT_EQ(first.take(first_input), State::frame_ready);
  EXPECT_TRUE(first.overdrawn());
  EXPECT_EQ(second.take(second_input), State::need_memory);
  EXPECT_FALSE(second.overdrawn());
  EXPECT_EQ(second.memory_wanted(), ByteCount{64 * KiB});
  int woken = 0;
  budget->wait(second.memory_wanted(), [&] { ++woken; });
  EXPECT_EQ(woken, 0);
  auto frame = first.frame();  // complete: the overdraft is free for the next
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(second.take(second_input), State::frame_ready);
  EXPECT_TRUE(second.overdrawn());
  auto small = framed("small ones are always let in");
  FrameReader third(pool, budget, {100 * MiB});
  BytesView third_input = small;
  EXPECT_EQ(third.take(third_input), State::frame_ready);
}

TEST(ByteBudget, WakesThoseWhoFitAndOnlyOnce) {
  ByteBudget budget({100});
  int a = 0, b = 0, c = 0;
  EXPECT_EQ(budget.try_take({100}, &a), ByteBudget::Taken::yes);
  EXPECT_EQ(budget.try_take({1}, &b), ByteBudget::Taken::overdrawn);
  EXPECT_EQ(budget.try_take({1}, &c), ByteBudget::Taken::no);
  budget.wait({60}, [&] { ++a; });
  budget.wait({60}, [&] { ++b; });
  budget.give_back({41});
  EXPECT_EQ(a + b, 0);
  budget.give_back({20});
  EXPECT_EQ(a + b, 1);
  budget.give_back({40});
  EXPECT_EQ(a + b, 2);
  budget.give_back({0});
  EXPECT_EQ(a + b, 2);
  // With room or with the overdraft free, waiting ends at once.
  budget.wait({60}, [&] { ++c; });
  EXPECT_EQ(c, 1);
  budget.end_overdraft(&b);
  budget.wait({1000}, [&] { ++c; });
  EXPECT_EQ(c, 2);
  EXPECT_EQ(budget.used(), ByteCount{0});
}

TEST(FramePool, KeepsUpToItsLimit) {
  FramePool pool({150 * KiB});
  pool.give_back(MemoryBlock(32 * KiB));
  EXPECT_EQ(pool.bytes_kept(), 0u) << "small blocks are malloc's business";
  pool.give_back(MemoryBlock(100 * KiB));
  pool.give_back(MemoryBlock(100 * KiB));
  EXPECT_EQ(pool.bytes_kept(), static_cast<std::size_t>(100 * KiB));
  EXPECT_EQ(pool.take(64 * KiB).capacity(), static_cast<std::size_t>(100 * KiB));
  EXPECT_EQ(pool.take(64 * KiB).capacity(), static_cast<std::size_t>(64 * KiB));
}

}  // namespace
}  // namespace cordwood::net
