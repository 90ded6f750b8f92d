// Rules with names; whole histories against Kafka are in producer_state_golden_test.cc.
#include "storage/producer_state.h"

#include <gtest/gtest.h>

#include <limits>

#include "io/memory_file_system.h"

namespace cordwood::storage {
namespace {

using record::BatchHeader;

constexpr std::int32_t kLastSequence = std::numeric_limits<std::int32_t>::max();

enum class Kind { plain, transactional };

BatchHeader batch(std::int64_t producer, std::int16_t epoch, std::int32_t sequence, std::int32_t count,
                  std::int64_t offset, Kind kind = Kind::plain, std::int64_t time = 1000) {
  BatchHeader header;
  header.producer_id = producer;
  header.producer_epoch = epoch;
  header.base_sequence = sequence;
  header.record_count = count;
  header.last_offset_delta = count - 1;
  header.base_offset = {offset};
  header.max_timestamp = {time};
  if (kind == Kind::transactional) header.attributes = 0x10;
  return header;
}

BatchHeader marker(std::int64_t producer, std::int16_t epoch, std::int64_t offset) {
  BatchHeader header = batch(producer, epoch, -1, 1, offset, Kind::transactional);
  header.attributes = 0x30;
  return header;
}

struct ProducerStateTest : testing::Test {
  ProducerState state{DurationMs{86'400'000}};
  ProducerFault check(const BatchHeader& b) { return state.check(b, AppendOrigin::client); }
};

TEST_F(ProducerStateTest, ABatchWithoutProducerIsNoConcern) {
  BatchHeader plain = batch(-1, -1, -1, 3, 10);
  EXPECT_EQ(check(plain), ProducerFault::none);
  EXPECT_FALSE(state.update(plain));
  EXPECT_TRUE(state.empty());
  EXPECT_EQ(state.map_end_offset().value, 13);
  EXPECT_FALSE(state.find_duplicate(plain));
}

TEST_F(ProducerStateTest, TheFiveNewestBatchesAreKnownAsDuplicates) {
  for (std::int32_t i = 0; i < 6; ++i) state.update(batch(1, 0, i * 2, 2, i * 2));
  EXPECT_FALSE(state.find_duplicate(batch(1, 0, 0, 2, 100)));
  EXPECT_EQ(check(batch(1, 0, 0, 2, 100)), ProducerFault::out_of_order_sequence);
  for (std::int32_t i = 1; i < 6; ++i) {
    auto known = state.find_duplicate(batch(1, 0, i * 2, 2, 100));
    ASSERT_TRUE(known) << i;
    EXPECT_EQ(known->first_offset().value, i * 2);
    EXPECT_EQ(known->last_offset.value, i * 2 + 1);
  }
  // Another length, another epoch, another producer: no duplicate.
  EXPECT_FALSE(state.find_duplicate(batch(1, 0, 10, 1, 100)));
  EXPECT_FALSE(state.find_duplicate(batch(1, 1, 10, 2, 100)));
  EXPECT_FALSE(state.find_duplicate(batch(2, 0, 10, 2, 100)));
}

TEST_F(ProducerStateTest, SequencesWrapFromTheLargestToZero) {
  state.update(batch(1, 0, kLastSequence, 1, 0));
  EXPECT_EQ(check(batch(1, 0, 0, 1, 1)), ProducerFault::none);
  EXPECT_EQ(check(batch(1, 0, 1, 1, 1)), ProducerFault::out_of_order_sequence);
  // A batch that wraps inside, and a duplicate of it.
  state.update(batch(2, 0, kLastSequence - 1, 4, 1));
  EXPECT_EQ(state.producers().at(2).last_sequence(), 1);
  EXPECT_EQ(check(batch(2, 0, 2, 1, 5)), ProducerFault::none);
  EXPECT_TRUE(state.find_duplicate(batch(2, 0, kLastSequence - 1, 4, 5)));
}

TEST_F(ProducerStateTest, OriginsAreCheckedDifferently) {
  state.update(batch(1, 3, 0, 1, 0));
  BatchHeader gap = batch(1, 3, 7, 1, 1), stale = batch(1, 2, 1, 1, 1);
  EXPECT_EQ(state.check(gap, AppendOrigin::client), ProducerFault::out_of_order_sequence);
  EXPECT_EQ(state.check(gap, AppendOrigin::coordinator), ProducerFault::none);
  EXPECT_EQ(state.check(gap, AppendOrigin::replication), ProducerFault::none);
  EXPECT_EQ(state.check(stale, AppendOrigin::client), ProducerFault::invalid_producer_epoch);
  EXPECT_EQ(state.check(stale, AppendOrigin::coordinator), ProducerFault::invalid_producer_epoch);
  EXPECT_EQ(state.check(stale, AppendOrigin::replication), ProducerFault::none);
}

TEST_F(ProducerStateTest, AnEmptyControlBatchIsPassedOver) {
  BatchHeader empty = marker(1, 5, 10);
  empty.record_count = 0;
  EXPECT_EQ(check(empty), ProducerFault::none);
  EXPECT_FALSE(state.update(empty));
  EXPECT_TRUE(state.empty());
  EXPECT_EQ(state.map_end_offset().value, 11);
}

TEST_F(ProducerStateTest, MarkersAreFencedByCoordinatorAndEpoch) {
  EXPECT_EQ(state.check(marker(1, 0, 0), AppendOrigin::coordinator, 4), ProducerFault::none);
  state.update(marker(1, 1, 0), 4);
  EXPECT_EQ(state.check(marker(1, 1, 1), AppendOrigin::coordinator, 3), ProducerFault::transaction_coordinator_fenced);
  EXPECT_EQ(state.check(marker(1, 1, 1), AppendOrigin::coordinator, 4), ProducerFault::none);
  EXPECT_EQ(state.check(marker(1, 0, 1), AppendOrigin::coordinator, 5), ProducerFault::invalid_producer_epoch);
  EXPECT_EQ(state.check(marker(1, 0, 1), AppendOrigin::replication, 3), ProducerFault::none);
}

TEST_F(ProducerStateTest, MarkersOfTransactionsOfVersionTwoBumpTheEpoch) {
  TransactionRules v2{.marker_bumps_epoch = true};
  state.update(batch(1, 5, 0, 1, 0, Kind::transactional));
  auto checked = [&](std::int16_t epoch) { return state.check(marker(1, epoch, 1), AppendOrigin::coordinator, 0, v2); };
  EXPECT_EQ(checked(5), ProducerFault::invalid_producer_epoch);
  EXPECT_EQ(checked(6), ProducerFault::none);
  state.update(marker(1, 6, 1), 0);
  EXPECT_EQ(checked(6), ProducerFault::none) << "a repeated marker: no transaction is open";
  state.update(batch(1, 32767, 0, 1, 2, Kind::transactional));
  EXPECT_EQ(checked(32767), ProducerFault::none) << "there is no higher epoch";
}

TEST_F(ProducerStateTest, TransactionsStayUnstableUntilTheHighWatermarkPassesTheirMarker) {
  state.update(batch(1, 0, 0, 2, 0, Kind::transactional));
  state.update(batch(2, 0, 0, 2, 2, Kind::transactional));
  EXPECT_EQ(state.first_unstable_offset()->value, 0);
  auto done = state.update(marker(1, 0, 4), 0, true);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->aborted);
  EXPECT_EQ(done->first_offset.value, 0);
  EXPECT_EQ(done->last_offset.value, 4);
  EXPECT_EQ(state.last_stable_offset_after(*done).value, 2);
  EXPECT_EQ(state.first_unstable_offset()->value, 0);
  state.on_high_watermark({4});
  EXPECT_EQ(state.first_unstable_offset()->value, 0);
  state.on_high_watermark({5});
  EXPECT_EQ(state.first_unstable_offset()->value, 2);
  done = state.update(marker(2, 0, 5), 0);
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->aborted);
  EXPECT_EQ(state.last_stable_offset_after(*done).value, 6);
  state.on_log_start({6});
  EXPECT_FALSE(state.first_unstable_offset());
  EXPECT_FALSE(state.update(marker(2, 0, 6), 0)) << "no transaction, nothing to complete";
  state.on_log_start({100});
  EXPECT_EQ(state.map_end_offset().value, 100);
}

TEST_F(ProducerStateTest, ProducersExpireUnlessATransactionIsOpen) {
  ProducerState brief{DurationMs{100}};
  brief.update(batch(1, 0, 0, 1, 0, Kind::plain, 1000));
  brief.update(batch(2, 0, 0, 1, 1, Kind::transactional, 1000));
  EXPECT_EQ(brief.expire({1099}), 0u);
  EXPECT_EQ(brief.expire({1100}), 1u);
  EXPECT_TRUE(brief.producers().contains(2));
  EXPECT_EQ(brief.first_unstable_offset()->value, 1);
  // Timestamps are the clients': any number is possible.
  brief.update(batch(3, 0, 0, 1, 2, Kind::plain, std::numeric_limits<std::int64_t>::max()));
  brief.update(batch(4, 0, 0, 1, 3, Kind::plain, std::numeric_limits<std::int64_t>::min()));
  brief.update(batch(5, 0, 0, 1, 4, Kind::plain, -1));
  EXPECT_EQ(brief.expire({1100}), 1u);
  EXPECT_FALSE(brief.producers().contains(5));
}

TEST_F(ProducerStateTest, ClearForgetsEverything) {
  state.update(batch(1, 0, 0, 1, 0, Kind::transactional));
  state.update(marker(1, 0, 1), 0);
  state.update(batch(1, 0, 1, 1, 2, Kind::transactional));
  state.clear();
  EXPECT_TRUE(state.empty());
  EXPECT_FALSE(state.first_unstable_offset());
  EXPECT_EQ(state.map_end_offset().value, 0);
}

TEST_F(ProducerStateTest, RestoringAProducerTwiceLeavesOneOpenTransaction) {
  ProducerEntry entry;
  entry.producer_id = 1;
  entry.last_timestamp = {1000};
  entry.current_txn_first_offset = Offset{5};
  state.restore(entry, {1000});
  entry.current_txn_first_offset = Offset{9};
  state.restore(entry, {1000});
  EXPECT_EQ(state.first_unstable_offset()->value, 9);
  state.update(marker(1, 0, 10), 0);
  state.on_high_watermark({100});
  EXPECT_FALSE(state.first_unstable_offset());
}

// --- snapshots ---

std::string to_hex(BytesView bytes) {
  std::string hex;
  for (std::byte b : bytes) hex += fmt::format("{:02x}", std::to_integer<int>(b));
  return hex;
}

ByteVector example() {
  ProducerState state{DurationMs{1000}};
  state.update(batch(4000, 2, 6, 5, 100, Kind::transactional, 1'700'000'000'000));
  return encode_producer_snapshot(state);
}

TEST(ProducerSnapshot, HasKafkasBytes) {
  EXPECT_EQ(to_hex(example()),
            "0001d300fcf1000000010000000000000fa000020000000a000000000000006800000004"
            "0000018bcfe56800ffffffff0000000000000064");
  EXPECT_EQ(to_hex(encode_producer_snapshot(ProducerState{DurationMs{1}})), "000148674bc700000000");
}

TEST(ProducerSnapshot, KeepsTheNewestBatchAndTheMarkerOnlyProducers) {
  ProducerState state{DurationMs{1000}};
  for (std::int32_t i = 0; i < 3; ++i) state.update(batch(7, 1, i, 1, i));
  state.update(marker(3, 4, 3), 6);
  auto entries = decode_producer_snapshot(encode_producer_snapshot(state), "f").value();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].producer_id, 3);
  EXPECT_EQ(entries[0].epoch, 4);
  EXPECT_EQ(entries[0].coordinator_epoch, 6);
  EXPECT_TRUE(entries[0].batches.empty());
  EXPECT_EQ(entries[1].producer_id, 7);
  ASSERT_EQ(entries[1].batches.size(), 1u);
  EXPECT_EQ(entries[1].batches.back(), state.producers().at(7).batches.back());
}

TEST(ProducerSnapshot, RefusesEveryDamage) {
  ByteVector good = example();
  ASSERT_TRUE(decode_producer_snapshot(good, "f"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_producer_snapshot(BytesView(good).first(size), "f")) << size;
  }
  for (std::size_t i = 0; i < good.size() * 8; ++i) {
    ByteVector flipped = good;
    flipped[i / 8] ^= static_cast<std::byte>(1 << (i % 8));
    auto decoded = decode_producer_snapshot(flipped, "f");
    ASSERT_FALSE(decoded) << i;
    EXPECT_EQ(decoded.error().code, i < 16 ? Errc::unsupported : Errc::corrupt) << i;
  }
  ByteVector longer = good;
  longer.push_back(std::byte{0});
  EXPECT_EQ(decode_producer_snapshot(longer, "f").error().code, Errc::corrupt);
}

TEST(ProducerSnapshot, ReplacesALongerFile) {
  io::MemFileSystem fs;
  ProducerState many{DurationMs{1000}}, one{DurationMs{1000}};
  for (std::int64_t p = 0; p < 10; ++p) many.update(batch(p, 0, 0, 1, p));
  one.update(batch(1, 0, 0, 1, 0));
  for (io::Fsync fsync : {io::Fsync::yes, io::Fsync::no}) {
    write_producer_snapshot(fs, "/s", many, fsync).value();
    write_producer_snapshot(fs, "/s", one, fsync).value();
    EXPECT_EQ(read_producer_snapshot(fs, "/s")->size(), 1u);
  }
  EXPECT_EQ(read_producer_snapshot(fs, "/no").error().code, Errc::not_found);
}

}  // namespace
}  // namespace cordwood::storage
