#include "storage/cleaner/cleaning_pass.h"

#include <algorithm>
#include <set>

#include "io/faulty_file_system.h"
#include "storage/cleaner/cleaner_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

std::vector<std::int64_t> bases_of(const PartitionLog& log) {
  std::vector<std::int64_t> bases;
  for (const SegmentInfo& segment : log.segments()) bases.push_back(segment.base_offset.value);
  return bases;
}

// Keys k0..k9 over and over, some without value, until there are `segments`.
std::vector<ReadBack> fill(PartitionLog& log, std::size_t segments, std::uint64_t seed, TimestampMs now) {
  SeededRandom random(seed);
  std::vector<ReadBack> written;
  while (log.segments().size() < segments) {
    KeyedBatch spec;
    const std::size_t count = 1 + random.below(4);
    for (std::size_t i = 0; i < count; ++i) {
      KeyedRecord r{"k" + std::to_string(random.below(10)), std::string(random.below(60), 'v'), now};
      if (random.below(5) == 0) r.value.reset();
      spec.records.push_back(std::move(r));
    }
    const auto codec = random.below(8);
    if (codec < 5) spec.options.compression.codec = static_cast<record::Codec>(codec);
    std::int64_t offset = append_keyed(log, spec).value;
    for (const KeyedRecord& r : spec.records) written.push_back({offset++, *r.key, r.value});
  }
  return written;
}

// What a cleaned log must hold of what was written: below `clean_end` the last record of each key, above it everything.
// Tombstones below may be gone once their time has come.
void expect_model(const std::vector<ReadBack>& written, const std::vector<ReadBack>& found, Offset clean_end,
                  bool tombstones_went) {
  std::map<std::string, std::int64_t> last;
  for (const ReadBack& r : written) {
    if (r.offset < clean_end.value) last[r.key] = r.offset;
  }
  std::vector<ReadBack> expected;
  for (const ReadBack& r : written) {
    const bool is_last = r.offset >= clean_end.value || last.at(r.key) == r.offset;
    if (is_last && (r.value || !tombstones_went || r.offset >= clean_end.value)) expected.push_back(r);
  }
  EXPECT_EQ(found.size(), expected.size());
  EXPECT_TRUE(found == expected);
}

TEST(CleaningPass, LeavesTheLastRecordOfEachKey) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    World world;
    auto log = open_log(world, compacted());
    std::vector<ReadBack> written = fill(*log, 5, seed, world.clock.now());
    const Offset active = log->segments().back().base_offset;
    const PassResult first = clean(*log, world);
    EXPECT_EQ(first.end, active);
    EXPECT_TRUE(first.covers_everything);
    expect_model(written, records_of(*log), active, false);
    const Offset end = log->log_end_offset();

    // Tombstones got a horizon and go with a pass behind it.
    world.clock.advance(log->config().delete_retention_ms);
    for (const ReadBack& r : fill(*log, log->segments().size() + 3, seed + 100, world.clock.now())) written.push_back(r);
    EXPECT_GE(log->log_end_offset(), end);
    const Offset second_active = log->segments().back().base_offset;
    EXPECT_EQ(clean(*log, world, first.end).end, second_active);
    std::map<std::string, std::int64_t> last;
    for (const ReadBack& r : written) {
      if (r.offset < second_active.value) last[r.key] = r.offset;
    }
    for (const ReadBack& r : records_of(*log)) {
      if (r.offset >= second_active.value) break;
      EXPECT_EQ(last.at(r.key), r.offset) << r.key;
      EXPECT_TRUE(r.value || r.offset >= first.end.value) << "a tombstone whose horizon is over";
    }
    // The same after a restart, recovered or not.
    const std::vector<ReadBack> before = records_of(*log);
    log->close_cleanly().value();
    log.reset();
    log = open_log(world, compacted(seed % 2 == 0 ? StopKind::clean : StopKind::unclean));
    EXPECT_EQ(records_of(*log), before);
    log->set_high_watermark(log->log_end_offset());
  }
}

TEST(CleaningPass, SmallSegmentsAreJoined) {
  World world;
  auto log = open_log(world, compacted());
  fill(*log, 6, 1, world.clock.now());
  PassResult result = clean(*log, world);
  EXPECT_EQ(result.statistics.segments_before, 5);
  EXPECT_EQ(result.statistics.segments_after, 5) << "groups are made of the sizes before";
  fill(*log, log->segments().size() + 1, 2, world.clock.now());
  result = clean(*log, world, result.end);
  EXPECT_LT(result.statistics.segments_after, result.statistics.segments_before);
  const std::vector<std::int64_t> bases = bases_of(*log);
  EXPECT_EQ(bases.front(), 0);
  EXPECT_EQ(bases.size(), static_cast<std::size_t>(result.statistics.segments_after) + 1);
  // The old files wait for file.delete.delay.ms; nothing else is left.
  for (const std::string& name : names_in(*world.fs)) {
    EXPECT_FALSE(name.ends_with(".swap") || name.ends_with(".cleaned")) << name;
  }
}

TEST(CleaningPass, TheTimeOfTheFileStays) {
  World world;
  auto log = open_log(world, compacted());
  fill(*log, 3, 1, world.clock.now());
  const io::Path path = io::join(kDirectory, "00000000000000000000.log");
  const TimestampMs before = world.fs->status(path)->modified;
  world.clock.advance({5000});
  clean(*log, world);
  EXPECT_EQ(world.fs->status(path)->modified, before);
}

TEST(CleaningPass, AFullMapTakesSeveralPasses) {
  World world;
  auto log = open_log(world, compacted());
  const std::vector<ReadBack> written = fill(*log, 5, 4, world.clock.now());
  const Offset active = log->segments().back().base_offset;
  std::optional<Offset> checkpoint;
  int passes = 0;
  while (!checkpoint || *checkpoint < active) {
    // Room for four keys of the ten.
    const PassResult result = clean(*log, world, checkpoint, 5);
    EXPECT_LE(result.statistics.keys, 4);
    ASSERT_TRUE(!checkpoint || result.end > *checkpoint) << "each pass comes further";
    checkpoint = result.end;
    ASSERT_LT(++passes, 200);
  }
  EXPECT_GT(passes, 2);
  expect_model(written, records_of(*log), active, false);
}

TEST(CleaningPass, AMapWithoutRoomIsAFault) {
  World world;
  auto log = open_log(world, compacted());
  fill(*log, 3, 1, world.clock.now());
  const auto result = try_clean(*log, world.environment(), {}, 1);
  ASSERT_TRUE(result && !*result);
  EXPECT_EQ(result->error().code, Errc::limit);
}

TEST(CleaningPass, TransactionsAreReadAsBefore) {
  World world;
  auto log = open_log(world, compacted());
  std::map<std::int64_t, std::int32_t> sequence;
  const auto put = [&](std::int64_t producer, const char* key, const char* value) {
    KeyedBatch spec;
    spec.options = from_producer(producer, sequence[producer]++, true);
    spec.records = {{key, value, world.clock.now()}};
    append_keyed(*log, spec);
  };
  put(1, "a", "committed");
  put(2, "a", "aborted");
  append_marker(*log, 1, false);
  append_marker(*log, 2, true);
  fill(*log, 4, 8, world.clock.now());
  clean(*log, world);
  std::vector<std::string> values;
  for (const ReadBack& r : records_of(*log)) {
    if (r.key == "a") values.push_back(r.value.value_or("-"));
  }
  EXPECT_EQ(values, (std::vector<std::string>{"committed"}));
  // The marker is there, and so is its entry in the transaction index, for those who look for its data.
  auto read = log->read({{0}, ByteCount{10'000}, true, ReadLimit::last_stable}).value();
  ASSERT_EQ(read.aborted.size(), 1u);
  EXPECT_EQ(read.aborted[0].producer_id, 2);
}

// Its data stays as if it were committed: the transaction index is asked from the log start on.
TEST(CleaningPass, AnAbortBelowTheLogStartIsForgotten) {
  World world;
  auto log = open_log(world, compacted());
  KeyedBatch spec;
  spec.options = from_producer(2, 0, true);
  spec.records = {{"a", "aborted", world.clock.now()}};
  append_keyed(*log, spec);
  append_marker(*log, 2, true);
  const Offset behind = log->log_end_offset();
  fill(*log, 3, 8, world.clock.now());
  const io::Path index = io::join(log->directory(), "00000000000000000000.txnindex");
  ASSERT_TRUE(world.fs->exists(index).value());
  log->advance_log_start(behind).value();
  clean(*log, world, behind);
  EXPECT_FALSE(world.fs->exists(index).value());
  const std::string data = content_of(*world.fs, io::join(log->directory(), "00000000000000000000.log"));
  EXPECT_NE(data.find("aborted"), std::string::npos);
}

TEST(CleaningPass, ALiveProducerGoesOnAfterARestart) {
  World world;
  auto log = open_log(world, compacted());
  KeyedBatch spec;
  spec.options = from_producer(5, 0, false);
  spec.records = {{"k1", "old", world.clock.now()}};
  append_keyed(*log, spec);
  fill(*log, 4, 8, world.clock.now());
  append_keyed(*log, {{{"k1", "new", world.clock.now()}}, {}});
  fill(*log, log->segments().size() + 1, 9, world.clock.now());
  clean(*log, world);
  log->close_abruptly();
  log = open_log(world, compacted(StopKind::unclean));
  spec.options.base_sequence = 1;
  append_keyed(*log, spec);
}

TEST(CleaningPass, AStoppedRunLeavesNothingBehind) {
  World world;
  auto log = open_log(world, compacted());
  fill(*log, 4, 1, world.clock.now());
  const auto before = files_in(*world.fs);
  for (int steps = 0;; ++steps) {
    auto facts = log->cleanable_facts({}).value();
    const CleaningVerdict verdict = judge(facts, log->config(), world.clock.now());
    SeededRandom secret(1);
    OffsetMap map(ByteCount{1 * MiB}, 0.9, secret);
    PassSettings settings;
    int left = steps;
    settings.between = [&](ByteCount) -> Result<void> {
      if (left-- == 0) return Error{Errc::closed, "stopped"};
      return {};
    };
    const auto result = clean_log(*log, world.environment(), verdict, map, settings);
    if (result) break;
    EXPECT_EQ(result.error().code, Errc::closed);
    for (const std::string& name : names_in(*world.fs)) EXPECT_FALSE(name.ends_with(".cleaned")) << name;
    if (steps == 0) {
      EXPECT_EQ(files_in(*world.fs), before);
    }
  }
}

TEST(CleaningPass, ATruncationMeanwhileWins) {
  World world;
  auto log = open_log(world, compacted());
  fill(*log, 5, 1, world.clock.now());
  auto facts = log->cleanable_facts({}).value();
  const CleaningVerdict verdict = judge(facts, log->config(), world.clock.now());
  SeededRandom secret(1);
  OffsetMap map(ByteCount{1 * MiB}, 0.9, secret);
  PassSettings settings;
  bool truncated = false;
  settings.between = [&](ByteCount) -> Result<void> {
    if (!std::exchange(truncated, true)) log->truncate_to({10}).value();
    return {};
  };
  const auto result = clean_log(*log, world.environment(), verdict, map, settings);
  ASSERT_FALSE(result);
  EXPECT_EQ(log->log_end_offset(), Offset{10});
  EXPECT_FALSE(append(*log, {}).error.has_value()) << "the log itself is well";
  for (const std::string& name : names_in(*world.fs)) EXPECT_FALSE(name.ends_with(".cleaned")) << name;
}

// --- crashes and faults ---

struct Filled {
  World world;
  std::shared_ptr<PartitionLog> log;
  std::vector<ReadBack> written;
  Offset clean_end;
  Filled() {
    log = open_log(world, compacted());
    written = fill(*log, 4, 21, world.clock.now());
    PassResult first = clean(*log, world);
    for (const ReadBack& r : fill(*log, log->segments().size() + 2, 22, world.clock.now())) written.push_back(r);
    log->flush().value();
    clean_end = first.end;
    world.memory->sync_everything();
  }
};

// Whatever the crash left: each key's last record is there, nothing twice, offsets ascending, and all that was above.
void expect_old_or_new(const std::vector<ReadBack>& written, const std::vector<ReadBack>& found) {
  std::map<std::string, std::int64_t> last;
  std::map<std::int64_t, ReadBack> by_offset;
  for (const ReadBack& r : written) {
    last[r.key] = r.offset;
    by_offset.emplace(r.offset, r);
  }
  std::set<std::int64_t> offsets;
  std::int64_t before = -1;
  for (const ReadBack& r : found) {
    EXPECT_GT(r.offset, before);
    before = r.offset;
    ASSERT_TRUE(by_offset.contains(r.offset));
    EXPECT_TRUE(by_offset.at(r.offset) == r);
    offsets.insert(r.offset);
  }
  for (const auto& [key, offset] : last) EXPECT_TRUE(offsets.contains(offset)) << key << " at " << offset;
}

// Fails the Nth call that changes something, so that the pass dies there; then the power goes.
TEST(CleaningPass, ACrashAtAnyCallLeavesTheOldOrTheNew) {
  for (std::int64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 2000);
    Filled f;
    io::FaultyFileSystem faulty(*f.world.memory);
    // Reopened through the faulty file system, so that every call is counted.
    f.log->close_cleanly().value();
    f.log.reset();
    f.world.memory->sync_everything();
    f.world.fs = &faulty;
    f.log = open_log(f.world, compacted());
    f.log->set_high_watermark(f.log->log_end_offset());
    faulty.arm({.fail_at = n, .repeat = io::Fault::Repeat::from_then_on});
    const auto result = try_clean(*f.log, f.world.environment(), f.clean_end);
    ASSERT_TRUE(result.has_value());
    const bool failed = faulty.has_failed();
    EXPECT_EQ(failed, !result->has_value());
    faulty.disarm();
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      World after;
      after.memory = seed == 1 ? f.world.memory->process_crash_clone() : f.world.memory->crash_clone(seed);
      after.fs = after.memory.get();
      after.clock.set(f.world.clock.now());
      auto log = open_log(after, compacted(StopKind::unclean));
      EXPECT_EQ(log->log_end_offset(), Offset{f.written.back().offset + 1});
      expect_old_or_new(f.written, records_of(*log));
      for (const std::string& name : names_in(*after.fs)) {
        EXPECT_FALSE(name.ends_with(".swap") || name.ends_with(".cleaned")) << name;
      }
    }
    if (!failed) {
      EXPECT_GT(n, 20);
      break;
    }
  }
}

// One call fails and the next ones work: the log goes on as it was, or takes nothing more.
TEST(CleaningPass, EveryFailingCallIsHandled) {
  for (const auto counted : {io::FileCall::changing, io::FileCall::read | io::FileCall::look}) {
    for (std::int64_t n = 1;; ++n) {
      SCOPED_TRACE(n);
      ASSERT_LT(n, 2000);
      Filled f;
      io::FaultyFileSystem faulty(*f.world.memory);
      f.log->close_cleanly().value();
      f.log.reset();
      f.world.fs = &faulty;
      f.log = open_log(f.world, compacted());
      f.log->set_high_watermark(f.log->log_end_offset());
      faulty.arm({.counted = counted, .fail_at = n});
      const auto result = try_clean(*f.log, f.world.environment(), f.clean_end);
      const bool failed = faulty.has_failed();
      faulty.disarm();
      ByteVector batch = make_keyed({{{"new", "record", f.world.clock.now()}}, {}});
      const AppendResult appended = f.log->append_as_leader(batch, {0}, AppendOrigin::client);
      std::vector<ReadBack> written = f.written;
      if (appended.fault == AppendFault::none) {
        written.push_back({appended.base_offset.value, "new", "record"});
        expect_old_or_new(written, records_of(*f.log));
      }
      f.log->close_abruptly();
      f.log.reset();
      f.world.fs = f.world.memory.get();
      auto log = open_log(f.world, compacted(StopKind::unclean));
      expect_old_or_new(written, records_of(*log));
      if (!failed) {
        EXPECT_TRUE(result && result->has_value());
        break;
      }
    }
  }
}

}  // namespace
}  // namespace cordwood::storage
