// Several batches appended together fare as they do one after the other, and leave the same bytes.
#include <gtest/gtest.h>

#include <cerrno>

#include "io/faulty_file_system.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

std::vector<AppendResult> append_together(PartitionLog& log, std::vector<ByteVector> batches, LeaderEpoch epoch = {3}) {
  const std::vector<MutableBytesView> views(batches.begin(), batches.end());
  std::vector<AppendResult> results;
  log.append_all_as_leader(views, epoch, AppendOrigin::client, results);
  return results;
}

std::vector<AppendResult> append_in_turn(PartitionLog& log, std::vector<ByteVector> batches, LeaderEpoch epoch = {3}) {
  std::vector<AppendResult> results;
  for (ByteVector& batch : batches) {
    results.push_back(log.append_as_leader(batch, epoch, AppendOrigin::client, {}, DueFlush::by_caller));
  }
  return results;
}

void expect_same(const AppendResult& a, const AppendResult& b, const std::string& where) {
  EXPECT_EQ(a.fault, b.fault) << where;
  EXPECT_EQ(a.base_offset, b.base_offset) << where;
  EXPECT_EQ(a.last_offset, b.last_offset) << where;
  EXPECT_EQ(a.duplicate, b.duplicate) << where;
  EXPECT_EQ(a.duplicate_timestamp, b.duplicate_timestamp) << where;
  EXPECT_EQ(a.log_start_offset, b.log_start_offset) << where;
  EXPECT_EQ(a.rolled, b.rolled) << where;
  EXPECT_EQ(a.flush_to, b.flush_to) << where;
}

// Batches of any kind, good or refused: of nobody, or of one of four producers with the next sequence, a repeated or a wrong
// one, another epoch, within a transaction, or a marker; with times that go back, are missing, or leap so far that the log
// rolls.
class AnyBatches {
 public:
  enum class Transactions { no, yes };
  explicit AnyBatches(std::uint64_t seed, Transactions transactions = Transactions::yes)
      : random_(seed), transactions_(transactions) {}

  std::vector<ByteVector> some() {
    std::vector<ByteVector> batches;
    for (std::uint64_t left = random_.below(9) + 1; left > 0; --left) batches.push_back(one());
    return batches;
  }
  SeededRandom& random() { return random_; }

 private:
  struct Producer {
    std::int16_t epoch = 0;
    std::int32_t sequence = 0;
    bool in_transaction = false;
  };

  ByteVector one() {
    BatchSpec spec;
    spec.records = 1 + static_cast<int>(random_.below(3));
    spec.value_size = random_.below(60);
    if (random_.below(60) == 0) spec.value_size = 3000;
    if (random_.below(40) == 0) time_ += 200'000;
    time_ += static_cast<std::int64_t>(random_.below(50));
    spec.timestamp = {random_.below(8) == 0 ? time_ - 70 : time_};
    if (random_.below(25) == 0) spec.timestamp = kNoTimestamp;
    if (random_.below(2) == 0) return make_batch(spec);

    const std::size_t id = random_.below(producers_.size());
    Producer& producer = producers_[id];
    if (producer.in_transaction && random_.below(3) == 0) {
      producer.in_transaction = false;
      return make_marker(static_cast<std::int64_t>(id), producer.epoch, random_.below(2) == 0, 0, {time_});
    }
    if (random_.below(30) == 0) {
      ++producer.epoch;
      producer.sequence = 0;
    }
    spec.producer_id = static_cast<std::int64_t>(id);
    spec.producer_epoch = producer.epoch;
    spec.sequence = producer.sequence;
    spec.transactional = producer.in_transaction || (random_.below(6) == 0 && transactions_ == Transactions::yes);
    producer.in_transaction = spec.transactional;
    if (random_.below(14) == 0) {
      spec.sequence += 7;
    } else if (random_.below(20) == 0) {
      spec.producer_epoch = static_cast<std::int16_t>(spec.producer_epoch - 1);
    } else if (random_.below(6) != 0) {
      producer.sequence += spec.records;
    }
    return make_batch(spec);
  }

  SeededRandom random_;
  Transactions transactions_;
  std::array<Producer, 4> producers_;
  std::int64_t time_ = 1'700'000'000'000;
};

LogConfig config_for(std::uint64_t seed) {
  LogConfig config;
  config.segment_bytes = ByteCount{2500};
  config.segment_ms = DurationMs{100'000};
  config.index_interval_bytes = ByteCount{seed % 2 == 0 ? 150 : 0};
  config.segment_index_bytes = ByteCount{seed % 3 == 0 ? 60 : 1024};
  if (seed % 4 == 0) config.message_timestamp_type = record::TimestampType::log_append_time;
  if (seed % 5 == 0) config.flush_messages = 7;
  return config;
}

std::shared_ptr<PartitionLog> open(World& world, const LogConfig& config, StopKind last_stop = StopKind::clean) {
  OpenOptions options;
  options.config = config;
  options.last_stop = last_stop;
  return open_log(world, options);
}

TEST(GatheredAppend, IsTheSameAsOneAfterTheOther) {
  std::size_t refused = 0;
  std::size_t rolled = 0;
  std::size_t duplicates = 0;
  std::size_t flushes_due = 0;
  std::int64_t writes = 0;
  std::int64_t writes_in_turn = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    World one, other;
    io::FaultyFileSystem counted(*one.memory), counted_in_turn(*other.memory);
    one.fs = &counted;
    other.fs = &counted_in_turn;
    counted.arm({.counted = io::FileCall::write});
    counted_in_turn.arm({.counted = io::FileCall::write});
    auto together = open(one, config_for(seed));
    auto in_turn = open(other, config_for(seed));
    std::vector<Offset> rolls, rolls_in_turn;
    together->on_roll([&](Offset base) { rolls.push_back(base); });
    in_turn->on_roll([&](Offset base) { rolls_in_turn.push_back(base); });
    AnyBatches batches(seed);
    LeaderEpoch epoch{3};
    for (int round = 0; round < 30; ++round) {
      const auto some = batches.some();
      if (batches.random().below(10) == 0) ++epoch.value;
      if (batches.random().below(4) == 0) {
        one.clock.advance(DurationMs{40'000});
        other.clock.advance(DurationMs{40'000});
      }
      const auto a = append_together(*together, some, epoch);
      const auto b = append_in_turn(*in_turn, some, epoch);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        expect_same(a[i], b[i], fmt::format("seed {}, round {}, batch {}", seed, round, i));
        refused += b[i].fault != AppendFault::none ? 1 : 0;
        rolled += b[i].rolled ? 1 : 0;
        duplicates += b[i].duplicate ? 1 : 0;
        flushes_due += b[i].flush_to ? 1 : 0;
      }
      ASSERT_FALSE(HasFailure());
      EXPECT_EQ(together->log_end_offset(), in_turn->log_end_offset());
      EXPECT_EQ(together->settled_end(), in_turn->settled_end());
      EXPECT_EQ(together->active_producers(), in_turn->active_producers()) << seed;
      for (PartitionLog* log : {together.get(), in_turn.get()}) {
        log->set_high_watermark(log->settled_end());
        if (round % 7 != 6) continue;
        ASSERT_TRUE(log->flush_records().has_value());
      }
      EXPECT_EQ(together->last_stable_offset(), in_turn->last_stable_offset());
      // Without a stop: what nothing has been trimmed or flushed of.
      if (round % 10 == 0) {
        EXPECT_EQ(files_in(*one.fs), files_in(*other.fs)) << seed;
      }
    }
    ASSERT_TRUE(together->close_cleanly());
    ASSERT_TRUE(in_turn->close_cleanly());
    EXPECT_EQ(files_in(*one.fs), files_in(*other.fs)) << seed;
    EXPECT_EQ(rolls, rolls_in_turn) << seed;
    writes += counted.calls();
    writes_in_turn += counted_in_turn.calls();
  }
  // The seeds bring about what they are for.
  EXPECT_GT(refused, 100u);
  EXPECT_GT(rolled, 100u);
  EXPECT_GT(duplicates, 100u);
  EXPECT_GT(flushes_due, 100u);
  EXPECT_LT(writes, writes_in_turn * 3 / 4);
}

// A log of one batch; its file system counts the calls from now on.
struct CountedLog {
  explicit CountedLog(io::FileCall call) {
    world.fs = &faulty;
    log = open(world, {});
    append_in_turn(*log, {make_batch({})});
    faulty.arm({.counted = call});
  }
  World world;
  io::FaultyFileSystem faulty{*world.memory};
  std::shared_ptr<PartitionLog> log;
};

TEST(GatheredAppend, IsOneWrite) {
  CountedLog counted(io::FileCall::changing);
  const auto results = append_together(*counted.log, std::vector<ByteVector>(5, make_batch({.records = 2})));
  EXPECT_EQ(counted.faulty.calls(), 1);
  ASSERT_EQ(results.size(), 5u);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].fault, AppendFault::none);
    EXPECT_EQ(results[i].base_offset.value, 1 + 2 * static_cast<std::int64_t>(i));
    EXPECT_EQ(results[i].last_offset.value, 2 + 2 * static_cast<std::int64_t>(i));
  }
}

TEST(GatheredAppend, OfOneProducerIsOneWrite) {
  CountedLog counted(io::FileCall::changing);
  std::vector<ByteVector> batches;
  for (int i = 0; i < 6; ++i) batches.push_back(make_batch({.records = 2, .producer_id = 9, .sequence = 2 * i}));
  for (const AppendResult& result : append_together(*counted.log, batches)) EXPECT_EQ(result.fault, AppendFault::none);
  EXPECT_EQ(counted.faulty.calls(), 1);
  EXPECT_TRUE(append_in_turn(*counted.log, {batches[3]}).front().duplicate);
}

TEST(GatheredAppend, MoreThanOnePwritevTakesGoInSeveral) {
  CountedLog counted(io::FileCall::write);
  const auto results = append_together(*counted.log, std::vector<ByteVector>(150, make_batch({})));
  EXPECT_EQ(counted.faulty.calls(), 3);
  EXPECT_EQ(results.back().base_offset.value, 150);
  EXPECT_EQ(read_all(*counted.log, Offset{0}).size(), 151u);
}

TEST(GatheredAppend, TellsFromWhichBatchOnAFlushIsDue) {
  World world;
  LogConfig config;
  config.flush_messages = 4;
  auto log = open(world, config);
  append_in_turn(*log, {make_batch({})});
  const auto results = append_together(*log, std::vector<ByteVector>(5, make_batch({})));
  EXPECT_EQ(results[0].flush_to, std::nullopt);
  EXPECT_EQ(results[1].flush_to, std::nullopt);
  EXPECT_EQ(results[2].flush_to, Offset{4});
  EXPECT_EQ(results[4].flush_to, Offset{6});
  EXPECT_EQ(log->settled_end(), Offset{0});
  ASSERT_TRUE(log->flush_records().has_value());
  EXPECT_EQ(log->settled_end(), Offset{6});
}

TEST(GatheredAppend, AFailingWriteFailsAll) {
  for (const io::Fault::Shape shape : {io::Fault::Shape::refuse, io::Fault::Shape::shorten, io::Fault::Shape::tear}) {
    World world;
    io::FaultyFileSystem faulty(*world.memory);
    world.fs = &faulty;
    auto log = open(world, {});
    std::string failure;
    log->on_failure([&](const Error& why) { failure = why.message(); });
    append_in_turn(*log, {make_batch({})});
    faulty.arm({.counted = io::FileCall::write, .fail_at = 1, .shape = shape});
    const auto results = append_together(*log, std::vector<ByteVector>(4, make_batch({})));
    ASSERT_EQ(results.size(), 4u);
    for (const AppendResult& result : results) {
      EXPECT_EQ(result.fault, AppendFault::storage_error);
      EXPECT_EQ(result.base_offset.value, -1);
      EXPECT_EQ(result.flush_to, std::nullopt);
    }
    EXPECT_EQ(faulty.calls(), 1) << "those behind are not tried";
    EXPECT_EQ(log->log_end_offset().value, 1);
    EXPECT_NE(failure, "");
    EXPECT_EQ(append_in_turn(*log, {make_batch({})}).front().fault, AppendFault::storage_error);
  }
}

// A disk that is full at any of the writes, wholly or in the middle of one: what was not acknowledged is not in the log, which
// goes on as one that never saw it.
TEST(GatheredAppend, AFullDiskLeavesTheLogAsItWas) {
  std::size_t failures = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (std::int64_t fail_at = 1;; ++fail_at) {
      World one, other;
      io::FaultyFileSystem faulty(*one.memory);
      one.fs = &faulty;
      LogConfig config = config_for(seed);
      config.segment_bytes = ByteCount{100'000};  // no roll, whose files could be what is refused
      config.segment_ms = DurationMs{INT64_MAX};
      config.segment_index_bytes = ByteCount{1 * MiB};
      auto together = open(one, config);
      auto in_turn = open(other, config);
      // Nor an aborted transaction: no room for its entry is as bad as a broken disk.
      AnyBatches batches(seed, AnyBatches::Transactions::no);
      append_together(*together, {make_batch({})});
      append_in_turn(*in_turn, {make_batch({})});
      const auto shape = fail_at % 2 == 0 ? io::Fault::Shape::shorten : io::Fault::Shape::refuse;
      faulty.arm({.counted = io::FileCall::write, .fail_at = fail_at, .shape = shape, .sys_errno = ENOSPC});
      for (int round = 0; round < 6; ++round) {
        const auto some = batches.some();
        const auto a = append_together(*together, some);
        for (std::size_t i = 0; i < some.size(); ++i) {
          if (a[i].fault == AppendFault::storage_error) {
            ++failures;
            EXPECT_EQ(a[i].error->code, Errc::no_space);
            continue;
          }
          const auto alone = append_in_turn(*in_turn, {some[i]});
          expect_same(a[i], alone.front(), fmt::format("seed {}, call {}, batch {}", seed, fail_at, i));
        }
      }
      EXPECT_EQ(files_in(*one.memory), files_in(*other.memory)) << seed << " " << fail_at;
      EXPECT_EQ(together->active_producers(), in_turn->active_producers());
      const bool has_failed = faulty.has_failed();
      faulty.disarm();
      ASSERT_TRUE(together->close_cleanly());
      ASSERT_TRUE(in_turn->close_cleanly());
      EXPECT_EQ(files_in(*one.memory), files_in(*other.memory)) << seed << " " << fail_at;
      ASSERT_FALSE(HasFailure());
      if (!has_failed) break;
    }
  }
  EXPECT_GT(failures, 100u);
}

// Any call of any kind that fails: what was acknowledged is in the log of the next life, whole and in order, with its offsets.
TEST(GatheredAppend, KeepsWhatWasAcknowledgedWhateverFails) {
  std::size_t runs_with_failures = 0;
  for (const io::Fault::Shape shape : {io::Fault::Shape::refuse, io::Fault::Shape::shorten, io::Fault::Shape::tear}) {
    for (std::int64_t fail_at = 1;; ++fail_at) {
      World world;
      io::FaultyFileSystem faulty(*world.memory);
      world.fs = &faulty;
      const LogConfig config = config_for(2);
      auto log = open(world, config);
      AnyBatches batches(static_cast<std::uint64_t>(fail_at));
      faulty.arm({.fail_at = fail_at, .shape = shape});
      std::vector<std::pair<Offset, Offset>> acknowledged;
      for (int round = 0; round < 8; ++round) {
        for (const AppendResult& result : append_together(*log, batches.some())) {
          if (result.fault != AppendFault::none || result.duplicate) continue;
          acknowledged.emplace_back(result.base_offset, result.last_offset);
        }
      }
      log->close_abruptly();
      runs_with_failures += faulty.has_failed() ? 1 : 0;
      faulty.disarm();
      auto again = open(world, config, StopKind::unclean);
      std::vector<std::pair<Offset, Offset>> found;
      for (const record::BatchHeader& header : read_all(*again, Offset{0})) found.emplace_back(header.base_offset, header.last_offset());
      ASSERT_GE(found.size(), acknowledged.size()) << fail_at;
      found.resize(acknowledged.size());
      ASSERT_EQ(found, acknowledged) << fail_at;
      if (fail_at > 60) break;
    }
  }
  EXPECT_GT(runs_with_failures, 30u);
}

TEST(GatheredAppend, OfAClosedLogIsRefused) {
  World world;
  auto log = open(world, {});
  append_in_turn(*log, {make_batch({})});
  log->close_abruptly();
  for (const AppendResult& result : append_together(*log, std::vector<ByteVector>(3, make_batch({})))) {
    EXPECT_EQ(result.fault, AppendFault::storage_error);
    EXPECT_EQ(result.error->code, Errc::closed);
  }
}

}  // namespace
}  // namespace cordwood::storage
