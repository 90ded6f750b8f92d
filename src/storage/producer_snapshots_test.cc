#include "storage/producer_snapshots.h"

#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

std::vector<Offset> offsets(std::initializer_list<std::int64_t> values) {
  std::vector<Offset> result;
  for (std::int64_t value : values) result.push_back({value});
  return result;
}

ProducerSnapshots snapshots_of(World& world, std::initializer_list<std::int64_t> found) {
  ProducerState empty(DurationMs{1000});
  for (std::int64_t offset : found) {
    world.fs->create_directories(kDirectory).value();
    write_producer_snapshot(*world.fs, io::join(kDirectory, fmt::format("{:020}.snapshot", offset)), empty, io::Fsync::no)
        .value();
  }
  return ProducerSnapshots(*world.fs, world.logger, kDirectory, offsets(found));
}

TEST(ProducerSnapshots, StraysGoButForTheNewest) {
  struct Case {
    std::initializer_list<std::int64_t> bases, found, left;
  };
  const Case cases[] = {
      {{0, 1, 2}, {1, 2, 3, 4}, {1, 2, 4}},
      {{5}, {2, 5, 42}, {5, 42}},
      {{42}, {2, 5, 42}, {42}},
      {{0}, {}, {}},
      {{0, 10}, {3, 7}, {}},
  };
  for (const Case& c : cases) {
    World world;
    ProducerSnapshots snapshots = snapshots_of(world, c.found);
    snapshots.remove_strays(offsets(c.bases)).value();
    EXPECT_EQ(snapshots.offsets(), offsets(c.left));
    world.fs->create_directories(kDirectory).value();
    EXPECT_EQ(names_in(*world.fs).size(), c.left.size());
  }
}

TEST(ProducerSnapshots, AreTakenOncePerOffset) {
  World world;
  world.fs->create_directories(kDirectory).value();
  ProducerSnapshots snapshots = snapshots_of(world, {});
  ProducerState state(DurationMs{1000});
  EXPECT_FALSE(snapshots.take(state, io::Fsync::yes).value());  // nothing at offset 0
  state.set_map_end_offset({3});
  EXPECT_TRUE(snapshots.take(state, io::Fsync::yes).value());
  EXPECT_FALSE(snapshots.take(state, io::Fsync::yes).value());
  EXPECT_EQ(names_in(*world.fs), std::vector<std::string>{"00000000000000000003.snapshot"});
  EXPECT_EQ(content_of(*world.fs, snapshots.path_of({3})).size(), 10u);
}

// A log with one producer whose state at the end is known.
struct ProducerLog {
  World world;
  std::vector<ProducerEntry> at_end;
  explicit ProducerLog(StopKind) {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 30; ++i) append(*log, {.records = 3, .timestamp = world.clock.now(), .producer_id = 7, .sequence = i * 3});
    at_end = log->active_producers();
    log->close_cleanly().value();
  }
  std::vector<std::string> snapshots() {
    std::vector<std::string> found;
    for (const std::string& name : names_in(*world.fs)) {
      if (name.ends_with(".snapshot")) found.push_back(name);
    }
    return found;
  }
};

// The newest batch is what a snapshot keeps of a producer.
std::vector<ProducerEntry> newest_only(std::vector<ProducerEntry> entries) {
  for (ProducerEntry& entry : entries) {
    const CachedBatch newest = entry.batches.back();
    entry.batches = {};
    entry.batches.push_back(newest);
  }
  return entries;
}

TEST(ProducerSnapshots, DamagedOnesGiveWayToOlderOnes) {
  for (const std::string damage : {"", "\0\1xx", "garbage that is long enough to look like one"}) {
    ProducerLog log(StopKind::clean);
    // The newest, then all of them.
    const std::vector<std::string> names = log.snapshots();
    ASSERT_GT(names.size(), 2u);
    for (std::size_t from : {names.size() - 1, std::size_t{0}}) {
      for (std::size_t i = from; i < names.size(); ++i) put(*log.world.fs, io::join(kDirectory, names[i]), damage);
      auto reopened = open_log(log.world, small_segments());
      const auto producers = reopened->active_producers();
      ASSERT_EQ(producers.size(), 1u);
      EXPECT_EQ(producers[0].last_sequence(), log.at_end[0].last_sequence());
      EXPECT_EQ(producers[0].batches.back().last_offset, log.at_end[0].batches.back().last_offset);
      EXPECT_EQ(log.snapshots().back(), names.back());
      reopened->close_cleanly().value();
    }
  }
}

TEST(ProducerSnapshots, BringBackTheNewestBatchOfEachProducer) {
  ProducerLog log(StopKind::clean);
  auto reopened = open_log(log.world, small_segments());
  EXPECT_EQ(reopened->active_producers(), newest_only(log.at_end));
}

TEST(ProducerSnapshots, ExpiredProducersAreForgottenOpenTransactionsAreNot) {
  World world;
  OpenOptions options = small_segments();
  options.producer.expiration_ms = {1000};
  {
    auto log = open_log(world, options);
    append(*log, {.timestamp = world.clock.now(), .producer_id = 1});
    append(*log, {.timestamp = world.clock.now(), .producer_id = 2, .transactional = true});
    log->close_cleanly().value();
  }
  world.clock.advance({1000});
  auto log = open_log(world, options);
  ASSERT_EQ(log->active_producers().size(), 1u);
  EXPECT_EQ(log->active_producers()[0].producer_id, 2);
  EXPECT_EQ(log->expire_producers(), 0u);
}

TEST(ProducerSnapshots, ALogWithoutAnyIsTakenToHaveNoProducers) {
  // The upgrade path: nothing is replayed, empty snapshots appear at the last two bases and at the end.
  ProducerLog log(StopKind::clean);
  for (const std::string& name : log.snapshots()) log.world.fs->remove_file(io::join(kDirectory, name)).value();
  auto reopened = open_log(log.world, small_segments());
  EXPECT_TRUE(reopened->active_producers().empty());
  const auto segments = reopened->segments();
  EXPECT_EQ(log.snapshots(),
            (std::vector<std::string>{fmt::format("{:020}.snapshot", segments[segments.size() - 2].base_offset.value),
                                      fmt::format("{:020}.snapshot", segments.back().base_offset.value),
                                      "00000000000000000090.snapshot"}));
}

TEST(NoteBatch, PassesOverEmptiedControlBatches) {
  ProducerState state(DurationMs{1000});
  record::BatchHeader header;
  header.attributes = 0x30;
  header.producer_id = 4;
  header.batch_length = 49;
  header.record_count = 0;
  ByteVector bytes(61);
  store_be<std::int32_t>(bytes, record::kBatchLength, 49);
  store_be<std::int8_t>(bytes, record::kMagic, 2);
  EXPECT_FALSE(note_batch(state, header, bytes).value());
  EXPECT_TRUE(state.empty());
}

}  // namespace
}  // namespace cordwood::storage
