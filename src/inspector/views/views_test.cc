#include "inspector/views/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "inspector/views/partition_checks.h"
#include "inspector/views/partition_files.h"
#include "inspector/views/segment_maps.h"
#include "offline/offline_testing.h"
#include "record/legacy.h"
#include "storage/directory_files.h"
#include "storage/log_testing.h"
#include "storage/lookup_trace.h"

namespace cordwood::inspector {
namespace {

using storage::testing_support::append;
using storage::testing_support::append_marker;
using storage::testing_support::BatchSpec;
using storage::testing_support::kDirectory;
using storage::testing_support::make_batch;
using storage::testing_support::open_log;
using storage::testing_support::put;
using storage::testing_support::small_segments;
using storage::testing_support::World;
using ::testing::HasSubstr;

constexpr TimestampMs kNow{1'700'000'010'000};

PartitionAt files_only(io::FileSystem& fs, const io::Path& directory = kDirectory, const std::string& topic = "t") {
  PartitionAt at;
  at.partition = {topic, PartitionId{0}};
  at.fs = &fs;
  at.directory = directory;
  at.log_directory = io::Path(io::parent_of(directory));
  return at;
}

// A log of five batches of three records in each of a few segments.
struct LogWorld {
  World world;
  std::shared_ptr<storage::PartitionLog> log;
  PartitionAt at;
  explicit LogWorld(storage::OpenOptions options = small_segments(), int batches = 20) {
    log = open_log(world, options);
    for (int i = 0; i < batches; ++i) {
      BatchSpec spec;
      spec.records = 3;
      spec.timestamp = TimestampMs{1'700'000'000'000 + i * 10};
      append(*log, spec);
    }
    at = files_only(*world.fs);
    at.log = log;
    at.config = options.config;
    at.is_live = true;
  }
};

Result<api::Partition> partition_of(const PartitionAt& at, const api::PartitionQuery& query) {
  const ManualClock clock;
  SegmentMaps maps(clock);
  PartitionChecks checks;
  return view_partition(at, query, {maps, checks}, kNow);
}

const api::FileRow* file_named(const api::Partition& partition, std::string_view name) {
  const auto found = std::ranges::find(partition.files, name, &api::FileRow::name);
  return found == partition.files.end() ? nullptr : &*found;
}

TEST(PartitionView, ShowsSegmentsFilesAndOffsetsOfALog) {
  LogWorld w;
  const auto view = partition_of(w.at, {});
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ(view->log_start, 0);
  EXPECT_EQ(view->log_end, 60);
  EXPECT_EQ(view->high_watermark, 60);
  ASSERT_GE(view->segments.size(), 3U);
  EXPECT_EQ(view->segments_total, static_cast<std::int64_t>(view->segments.size()));
  EXPECT_EQ(view->segments.front().base, 0);
  EXPECT_EQ(view->segments.front().state, api::SegmentState::closed);
  EXPECT_EQ(view->segments.back().state, api::SegmentState::active);
  EXPECT_EQ(view->segments.back().next, 60);
  EXPECT_EQ(view->segments.front().first_timestamp_ms, 1'700'000'000'002);
  EXPECT_THAT(view->segments.front().says, HasSubstr("This segment stays: its newest record is 9 s old, retention.ms is 7 days"));
  std::int64_t sum = 0;
  for (const api::Segment& segment : view->segments) sum += segment.size_bytes;
  EXPECT_EQ(view->size_bytes, sum);
  const api::FileRow* log = file_named(*view, "00000000000000000000.log");
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->kind, api::FileKind::log);
  EXPECT_THAT(log->says, HasSubstr("The records of offsets 0 to "));
  EXPECT_EQ(view->damage.size(), 0U);
  EXPECT_THAT(view->says, HasSubstr("60 offsets, from 0 to 60"));
}

TEST(PartitionView, ShowsAWindowOfTheSegments) {
  LogWorld w;
  api::PartitionQuery query;
  query.segments_from = 1;
  query.segments_limit = 1;
  const auto view = partition_of(w.at, query);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->segments.size(), 1U);
  EXPECT_GT(view->segments[0].base, 0);
  query.segments_limit = 0;
  EXPECT_EQ(partition_of(w.at, query).error().code, Errc::invalid);
  query.segments_limit = 1;
  query.segments_from = -1;
  EXPECT_EQ(partition_of(w.at, query).error().code, Errc::invalid);
}

TEST(PartitionView, WorksFromTheFilesAlone) {
  LogWorld w;
  const PartitionAt at = files_only(*w.world.fs);
  const auto with_log = partition_of(w.at, {});
  const auto view = partition_of(at, {});
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ(view->log_end, 60);
  ASSERT_EQ(view->segments.size(), with_log->segments.size());
  for (std::size_t i = 0; i < view->segments.size(); ++i) {
    EXPECT_EQ(view->segments[i].base, with_log->segments[i].base);
    EXPECT_EQ(view->segments[i].next, with_log->segments[i].next);
    EXPECT_EQ(view->segments[i].size_bytes, with_log->segments[i].size_bytes);
  }
  EXPECT_THAT(view->says, HasSubstr("from its files alone"));
}

TEST(PartitionView, TellsOfTransactionsAndProducers) {
  LogWorld w(storage::OpenOptions{}, 1);
  BatchSpec spec;
  spec.producer_id = 7;
  spec.transactional = true;
  append(*w.log, spec);          // offset 3
  append_marker(*w.log, 7, true);  // aborts it at 4
  spec.producer_id = 8;
  append(*w.log, spec);  // 5, left open
  const auto view = partition_of(w.at, {});
  ASSERT_TRUE(view);
  ASSERT_EQ(view->transactions.size(), 2U);
  EXPECT_EQ(view->transactions[0].producer_id, 8);
  EXPECT_FALSE(view->transactions[0].last.has_value());
  EXPECT_EQ(view->transactions[1].producer_id, 7);
  EXPECT_EQ(view->transactions[1].first, 3);
  EXPECT_EQ(view->transactions[1].last, 4);
  EXPECT_TRUE(view->transactions[1].aborted);
  EXPECT_EQ(view->last_stable, 5);
  ASSERT_EQ(view->producers.size(), 2U);
  EXPECT_EQ(view->producers[1].open_transaction_from, 5);
  EXPECT_EQ(view->producers[1].source, "memory");

  // The record is told as aborted, in the batch, in the map and by the list of records.
  SegmentMaps maps(w.world.clock);
  const auto map = view_segment_map(w.at, {"t", 0, 0, {}, {}, {}}, maps);
  ASSERT_TRUE(map);
  ASSERT_EQ(map->cells.flags.size(), 4U);
  EXPECT_EQ(map->cells.flags[1], kTransactionalCell | kAbortedCell);
  EXPECT_EQ(map->cells.flags[2], kTransactionalCell | kControlCell);
  EXPECT_EQ(map->cells.flags[3], kTransactionalCell);
  const auto records = view_records(w.at, {"t", 0, 3, {}});
  ASSERT_TRUE(records);
  ASSERT_EQ(records->rows.size(), 3U);
  EXPECT_TRUE(records->rows[0].aborted);
  EXPECT_EQ(records->rows[1].kind, api::RecordKind::abort);
  EXPECT_FALSE(records->rows[2].aborted);
  EXPECT_THAT(view_life(w.at, {"t", 0, 3}, kNow)->steps[1].says, HasSubstr("in a transaction that was aborted"));
}

TEST(PartitionView, ForeignAndOddFilesAreNamedAndHarmNothing) {
  LogWorld w;
  put(*w.world.fs, std::string(kDirectory) + "/notes.txt", "hello");
  put(*w.world.fs, std::string(kDirectory) + "/12.log", "x");
  put(*w.world.fs, std::string(kDirectory) + "/00000000000000000000.log.deleted", "x");
  put(*w.world.fs, std::string(kDirectory) + "/00000000000000000555.snapshot", "not a snapshot");
  const auto view = partition_of(w.at, {});
  ASSERT_TRUE(view);
  EXPECT_EQ(file_named(*view, "notes.txt")->kind, api::FileKind::other);
  EXPECT_THAT(file_named(*view, "notes.txt")->says, HasSubstr("Not a file of the log"));
  EXPECT_THAT(file_named(*view, "12.log")->says, HasSubstr("its name is none"));
  EXPECT_EQ(file_named(*view, "00000000000000000000.log.deleted")->kind, api::FileKind::deleted);
  ASSERT_EQ(view->damage.size(), 1U);
  EXPECT_EQ(view->damage[0].file, "00000000000000000555.snapshot");
}

TEST(PartitionView, ManySegmentsGiveABoundedAnswer) {
  World world;
  for (int i = 0; i < 5000; ++i) put(*world.fs, std::string(kDirectory) + "/" + storage::segment_file_name(Offset{i * 10}, ".log"), "");
  const auto view = partition_of(files_only(*world.fs), {});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->segments_total, 5000);
  EXPECT_EQ(view->files_total, 5000);
  EXPECT_EQ(view->segments.size(), 1000U);
  EXPECT_EQ(view->segments.back().base, 49'990);
  EXPECT_EQ(view->files.size(), 2000U);
  EXPECT_EQ(view->files.front().segment, 49'990);
}

// --- maps ---

TEST(SegmentMapView, OneCellABatch) {
  LogWorld w(storage::OpenOptions{}, 20);
  SegmentMaps maps(w.world.clock);
  const auto map = view_segment_map(w.at, {"t", 0, 0, {}, {}, {}}, maps);
  ASSERT_TRUE(map) << map.error().message();
  ASSERT_EQ(map->cells.position.size(), 20U);
  EXPECT_EQ(map->cells.position[0], 0);
  EXPECT_EQ(map->cells.base[19], 57);
  EXPECT_EQ(map->cells.last[19], 59);
  EXPECT_EQ(map->cells.records[19], 3);
  EXPECT_EQ(map->cells.timestamp_ms[19], 1'700'000'000'192);
  EXPECT_EQ(map->to_position, map->file_bytes);
  EXPECT_TRUE(map->complete);
  EXPECT_GT(map->scanned_bytes, 0);
  // The second look reads the fingerprints alone, and what was appended since.
  const auto again = view_segment_map(w.at, {"t", 0, 0, {}, {}, {}}, maps);
  EXPECT_EQ(again->cells.position, map->cells.position);
  EXPECT_LE(again->scanned_bytes, 122);
  append(*w.log, {});
  const auto longer = view_segment_map(w.at, {"t", 0, 0, {}, {}, {}}, maps);
  ASSERT_EQ(longer->cells.position.size(), 21U);
  EXPECT_EQ(longer->cells.base[20], 60);
}

TEST(SegmentMapView, NeighboursAreMergedAndNothingIsLost) {
  LogWorld w(storage::OpenOptions{}, 50);
  SegmentMaps maps(w.world.clock);
  const auto whole = view_segment_map(w.at, {"t", 0, 0, {}, {}, 4000}, maps);
  const auto map = view_segment_map(w.at, {"t", 0, 0, {}, {}, 7}, maps);
  ASSERT_TRUE(map);
  EXPECT_LE(map->cells.position.size(), 7U);
  EXPECT_GT(map->cells.position.size(), 1U);
  std::int64_t batches = 0;
  std::int64_t records = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < map->cells.position.size(); ++i) {
    EXPECT_EQ(map->cells.position[i], bytes);
    batches += map->cells.batches[i];
    records += map->cells.records[i];
    bytes += map->cells.size_bytes[i];
  }
  EXPECT_EQ(batches, 50);
  EXPECT_EQ(records, 150);
  EXPECT_EQ(bytes, whole->file_bytes);
  EXPECT_EQ(view_segment_map(w.at, {"t", 0, 0, {}, {}, 0}, maps).error().code, Errc::invalid);
  EXPECT_EQ(view_segment_map(w.at, {"t", 0, 1, {}, {}, {}}, maps).error().code, Errc::not_found);
}

TEST(SegmentMapView, AWindowBeginsOnABatchBoundary) {
  storage::OpenOptions options;
  options.config.index_interval_bytes = ByteCount{200};
  LogWorld w(options, 50);
  SegmentMaps maps(w.world.clock);
  const auto whole = view_segment_map(w.at, {"t", 0, 0, {}, {}, {}}, maps);
  const std::int64_t second = whole->cells.position[30];
  const auto map = view_segment_map(w.at, {"t", 0, 0, second + 5, second + 6, {}}, maps);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->from_position, second);
  EXPECT_EQ(map->to_position, whole->cells.position[31]);
  EXPECT_EQ(map->cells.base, std::vector<std::int64_t>{90});
  // The same of maps that know nothing: by the index.
  SegmentMaps fresh(w.world.clock);
  const auto unread = view_segment_map(w.at, {"t", 0, 0, second + 5, second + 6, {}}, fresh);
  EXPECT_EQ(unread->cells.base, std::vector<std::int64_t>{90});
  EXPECT_GT(whole->index_entries, 5);
  EXPECT_EQ(whole->index.position.size(), static_cast<std::size_t>(whole->index_entries));
}

TEST(SegmentMapView, DamageIsAPlaceAndTheRestIsShown) {
  LogWorld w(storage::OpenOptions{}, 20);
  SegmentMaps maps(w.world.clock);
  const auto before = view_segment_map(w.at, {"t", 0, 0, {}, {}, {}}, maps);
  const std::string path = std::string(kDirectory) + "/00000000000000000000.log";
  auto file = w.world.fs->open(path, io::OpenMode::read_write).value();
  // The length of the batch of offsets 15 to 17 becomes nonsense.
  const std::int64_t at = before->cells.position[5];
  const std::byte bad[4] = {std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  file->write_at(FilePosition{at + 8}, BytesView(bad)).value();
  SegmentMaps fresh(w.world.clock);
  const auto map = view_segment_map(w.at, {"t", 0, 0, {}, {}, {}}, fresh);
  ASSERT_TRUE(map) << map.error().message();
  ASSERT_EQ(map->cells.position.size(), 20U);
  EXPECT_EQ(map->cells.flags[5], kDamagedCell);
  EXPECT_EQ(map->cells.position[6], before->cells.position[6]);
  EXPECT_EQ(map->cells.base[6], 18);
  ASSERT_EQ(map->damage.size(), 1U);
  EXPECT_EQ(map->damage[0].position, at);
  // The batch itself cannot be shown, its neighbour can.
  EXPECT_EQ(view_batch(w.at, {"t", 0, 0, at, {}, {}}).error().code, Errc::not_found);
  EXPECT_EQ(view_batch(w.at, {"t", 0, 0, before->cells.position[6], {}, {}})->base, 18);
}

TEST(SegmentMapView, FlippedBytesInsideABatchAreMarked) {
  LogWorld w(storage::OpenOptions{}, 20);
  SegmentMaps maps(w.world.clock);
  const auto before = view_segment_map(w.at, {"t", 0, 0, {}, {}, {}}, maps);
  EXPECT_EQ(before->verified_to, before->file_bytes);
  EXPECT_TRUE(before->damage.empty());
  const std::string path = std::string(kDirectory) + "/00000000000000000000.log";
  auto file = w.world.fs->open(path, io::OpenMode::read_write).value();
  const std::int64_t at = before->cells.position[5];
  const std::byte bad[1] = {std::byte{0x55}};
  file->write_at(FilePosition{at + before->cells.size_bytes[5] - 3}, BytesView(bad)).value();
  SegmentMaps fresh(w.world.clock);
  const auto map = view_segment_map(w.at, {"t", 0, 0, {}, {}, {}}, fresh);
  ASSERT_EQ(map->cells.position.size(), 20U);
  EXPECT_EQ(map->cells.flags[5], kDamagedCell);
  EXPECT_EQ(map->cells.flags[4] + map->cells.flags[6], 0);
  // Its header is read all the same.
  EXPECT_EQ(map->cells.base[5], 15);
  EXPECT_EQ(map->cells.records[5], 3);
  ASSERT_EQ(map->damage.size(), 1U);
  EXPECT_EQ(map->damage[0].position, at);
  EXPECT_EQ(map->damage[0].first_offset, 15);
  EXPECT_EQ(map->damage[0].last_offset, 17);
  EXPECT_THAT(map->damage[0].says, HasSubstr("offsets 15 to 17"));
  EXPECT_THAT(map->damage[0].says, HasSubstr("CRC"));
  EXPECT_EQ(map->verified_to, map->file_bytes);
  // The partition tells it once a map has met it, of a broker's log; and of a directory at once.
  PartitionChecks checks;
  EXPECT_TRUE(partition_of(w.at, {})->damage.empty());
  const auto met = view_partition(w.at, {}, {fresh, checks}, kNow);
  ASSERT_EQ(met->damage.size(), 1U);
  EXPECT_EQ(met->damage[0].position, at);
  EXPECT_THAT(met->damage_checked, HasSubstr("Not every batch was checked"));
  const auto of_files = partition_of(files_only(*w.world.fs), {});
  // What a check tells of the indexes beside it comes with it.
  EXPECT_TRUE(std::ranges::any_of(of_files->damage, [&](const api::Damage& row) {
    return row.position == at && row.file == "00000000000000000000.log" && row.first_offset == 15;
  })) << of_files->damage.front().says;
  EXPECT_EQ(of_files->damage_checked, "Every batch, index and snapshot was checked.");
  // Whoever reads its records is told, and so is who asks for one of them; of the others nothing is said.
  EXPECT_THAT(*view_records(w.at, {"t", 0, 15, {}})->says, HasSubstr("wrong checksum"));
  EXPECT_FALSE(view_records(w.at, {"t", 0, 18, {}})->says.has_value());
  const auto told = view_life(w.at, {"t", 0, 16}, kNow);
  EXPECT_TRUE(std::ranges::any_of(told->steps, [](const api::LifeStep& step) { return step.says.find("wrong checksum") != std::string::npos; }));
  // What the next start makes of it depends on how the last stop was; the same check is not taken for both.
  PartitionAt at_rest = files_only(*w.world.fs);
  SegmentMaps nothing_met(w.world.clock);
  at_rest.next_start.last_stop = storage::StopKind::clean;
  const std::string after_clean = view_partition(at_rest, {}, {nothing_met, checks}, kNow)->damage.front().says;
  at_rest.next_start.last_stop = storage::StopKind::unclean;
  const std::string after_crash = view_partition(at_rest, {}, {nothing_met, checks}, kNow)->damage.front().says;
  EXPECT_THAT(after_clean, HasSubstr("at the next start: passed over"));
  EXPECT_THAT(after_crash, HasSubstr("at the next start: kept"));
  // Where a broker writes, nothing is checked: what a cleaning has half done would look like damage.
  at_rest.next_start.is_in_use = true;
  const auto written = view_partition(at_rest, {}, {nothing_met, checks}, kNow);
  EXPECT_TRUE(written->damage.empty());
  EXPECT_THAT(written->damage_checked, HasSubstr("a broker writes here"));
}

TEST(SegmentMapView, ChecksumsAreVerifiedOnFromWhereTheLastAnswerCame) {
  World world;
  // Batches of 1 MiB, more than one answer verifies.
  std::string log;
  for (int i = 0; i < 40; ++i) log.append(as_text(make_batch({.records = 1, .value_size = 1 << 20, .base_offset = Offset{i}})));
  const std::int64_t last = static_cast<std::int64_t>(log.size()) * 39 / 40;
  log[log.size() - 100] ^= 1;
  put(*world.fs, std::string(kDirectory) + "/00000000000000000000.log", log);
  const PartitionAt at = files_only(*world.fs);
  SegmentMaps maps(world.clock);
  const auto first = view_segment_map(at, {"t", 0, 0, {}, {}, {}}, maps);
  EXPECT_GT(first->verified_to, 8 * MiB);
  EXPECT_LE(first->verified_to, SegmentMaps::kMostVerified.value);
  EXPECT_TRUE(first->damage.empty());
  EXPECT_EQ(first->cells.position.size(), 40U);
  const auto second = view_segment_map(at, {"t", 0, 0, {}, {}, {}}, maps);
  EXPECT_GT(second->verified_to, first->verified_to);
  const auto third = view_segment_map(at, {"t", 0, 0, {}, {}, {}}, maps);
  EXPECT_EQ(third->verified_to, third->file_bytes);
  EXPECT_EQ(third->damage.size(), 1U);
  // A look at the place itself meets it at once.
  SegmentMaps fresh(world.clock);
  EXPECT_EQ(view_segment_map(at, {"t", 0, 0, last, {}, {}}, fresh)->damage.size(), 1U);
}

TEST(SegmentMapView, ASegmentThatWasReplacedIsReadAnew) {
  World world;
  ByteVector a = make_batch({.records = 2, .base_offset = Offset{0}});
  ByteVector b = make_batch({.records = 1, .value_size = 33, .base_offset = Offset{0}});
  const std::string path = std::string(kDirectory) + "/00000000000000000000.log";
  put(*world.fs, path, as_text(a));
  SegmentMaps maps(world.clock);
  const PartitionAt at = files_only(*world.fs);
  EXPECT_EQ(view_segment_map(at, {"t", 0, 0, {}, {}, {}}, maps)->cells.records, std::vector<std::int64_t>{2});
  put(*world.fs, path, as_text(b));
  EXPECT_EQ(view_segment_map(at, {"t", 0, 0, {}, {}, {}}, maps)->cells.records, std::vector<std::int64_t>{1});
}

TEST(SegmentMapView, ManyTinyBatchesAreBounded) {
  World world;
  std::string content;
  for (int i = 0; i < 500'000; ++i) content.append(as_text(make_batch({.value_size = 0, .base_offset = Offset{i}})));
  put(*world.fs, std::string(kDirectory) + "/00000000000000000000.log", content);
  SegmentMaps maps(world.clock);
  const PartitionAt at = files_only(*world.fs);
  api::SegmentMapQuery query{"t", 0, 0, {}, {}, 1000};
  const auto map = view_segment_map(at, query, maps);
  ASSERT_TRUE(map);
  EXPECT_FALSE(map->complete);
  EXPECT_LE(map->cells.position.size(), 1000U);
  EXPECT_GT(map->to_position, 0);
  query.from_position = map->to_position;
  const auto rest = view_segment_map(at, query, maps);
  EXPECT_EQ(rest->from_position, map->to_position);
  EXPECT_EQ(rest->to_position, rest->file_bytes);
  EXPECT_TRUE(rest->complete);
  std::int64_t batches = 0;
  for (const std::int64_t n : map->cells.batches) batches += n;
  for (const std::int64_t n : rest->cells.batches) batches += n;
  EXPECT_EQ(batches, 500'000);
  EXPECT_LE(maps.kept(), SegmentMaps::kMostBytes);
}

// --- batches and indexes ---

TEST(BatchView, ShowsEveryByteOfTheHeader) {
  LogWorld w;
  const auto batch = view_batch(w.at, {"t", 0, 0, 3, 1, 1});  // any byte of it
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_EQ(batch->position, 0);
  EXPECT_EQ(batch->base, 0);
  EXPECT_EQ(batch->last, 2);
  EXPECT_TRUE(batch->checksum_ok);
  std::int64_t at = 0;
  for (const api::Field& field : batch->fields) {
    EXPECT_EQ(field.at, at);
    EXPECT_EQ(field.hex.size(), static_cast<std::size_t>(field.size_bytes) * 2);
    EXPECT_NE(field.says, "");
    at += field.size_bytes;
  }
  EXPECT_EQ(at, 61);
  EXPECT_EQ(batch->records_total, 3);
  ASSERT_EQ(batch->records.size(), 1U);
  EXPECT_EQ(batch->records[0].offset, 1);
  EXPECT_EQ(batch->records[0].value->text, std::string(20, 'v'));
  EXPECT_EQ(batch->records[0].index_in_batch, 1);
  EXPECT_FALSE(batch->previous_position.has_value());
  ASSERT_TRUE(batch->next_position.has_value());
  const auto second = view_batch(w.at, {"t", 0, 0, *batch->next_position, {}, {}});
  EXPECT_EQ(second->previous_position, 0);
  EXPECT_EQ(second->base, 3);
  EXPECT_EQ(view_batch(w.at, {"t", 0, 0, 100'000, {}, {}}).error().code, Errc::not_found);
  EXPECT_EQ(view_batch(w.at, {"t", 0, 0, -1, {}, {}}).error().code, Errc::not_found);
  EXPECT_EQ(view_batch(w.at, {"t", 0, 0, 0, -1, {}}).error().code, Errc::invalid);
}

TEST(BatchView, AWrongChecksumIsTold) {
  LogWorld w;
  auto file = w.world.fs->open(std::string(kDirectory) + "/00000000000000000000.log", io::OpenMode::read_write).value();
  const std::byte flipped[1] = {std::byte{'w'}};
  file->write_at(FilePosition{75}, BytesView(flipped)).value();
  const auto batch = view_batch(w.at, {"t", 0, 0, 0, {}, {}});
  ASSERT_TRUE(batch);
  EXPECT_FALSE(batch->checksum_ok);
  EXPECT_THAT(batch->problem.value_or(""), HasSubstr("its checksum is"));
  EXPECT_THAT(batch->fields[4].says, HasSubstr("they are not what was written"));
  EXPECT_EQ(batch->records.size(), 3U);
}

TEST(IndexView, EntriesFitWhatTheyPointAt) {
  LogWorld w;
  const auto page = view_index(w.at, {"t", 0, 0, {}, {}, {}});
  ASSERT_TRUE(page) << page.error().message();
  ASSERT_GE(page->rows.size(), 2U);
  EXPECT_EQ(page->file, "00000000000000000000.index");
  for (const api::IndexEntry& row : page->rows) EXPECT_TRUE(row.fits) << row.says;
  EXPECT_EQ(page->rows[1].at, 8);
  EXPECT_EQ(page->rows[1].number, 1);
  const auto times = view_index(w.at, {"t", 0, 0, api::IndexKind::time, {}, {}});
  ASSERT_TRUE(times);
  ASSERT_GE(times->rows.size(), 1U);
  for (const api::IndexEntry& row : times->rows) EXPECT_TRUE(row.fits) << row.says;
  // An entry that points nowhere.
  auto file = w.world.fs->open(std::string(kDirectory) + "/00000000000000000000.index", io::OpenMode::read_write).value();
  const std::byte bad[1] = {std::byte{0x7f}};
  file->write_at(FilePosition{12}, BytesView(bad)).value();
  const auto damaged = view_index(w.at, {"t", 0, 0, {}, 1, 1});
  ASSERT_EQ(damaged->rows.size(), 1U);
  EXPECT_FALSE(damaged->rows[0].fits);
  EXPECT_THAT(damaged->rows[0].says, HasSubstr("behind the end"));
}

TEST(RecordsView, PagesThroughTheLog) {
  LogWorld w;
  api::RecordsQuery query{"t", 0, 0, 7};
  std::vector<std::int64_t> offsets;
  for (int pages = 0; pages < 100; ++pages) {
    const auto page = view_records(w.at, query);
    ASSERT_TRUE(page) << page.error().message();
    for (const api::LogRecord& record : page->rows) offsets.push_back(record.offset);
    if (!page->next) break;
    query.offset = *page->next;
  }
  ASSERT_EQ(offsets.size(), 60U);
  for (std::size_t i = 0; i < offsets.size(); ++i) EXPECT_EQ(offsets[i], static_cast<std::int64_t>(i));
  EXPECT_EQ(view_records(w.at, {"t", 0, 61, {}}).error().code, Errc::out_of_range);
  EXPECT_THAT(view_records(w.at, {"t", 0, 60, {}})->says.value_or(""), HasSubstr("The log ends here"));
}

// --- look-ups ---

TEST(LookupView, TellsTheStepsOfTheEngine) {
  storage::OpenOptions options;
  options.config.index_interval_bytes = ByteCount{200};
  LogWorld w(options, 200);
  const auto lookup = view_lookup(w.at, {"t", 0, 400, {}}, w.world.clock);
  ASSERT_TRUE(lookup) << lookup.error().message();
  EXPECT_TRUE(lookup->found);
  EXPECT_EQ(lookup->found_offset, 400);
  EXPECT_EQ(lookup->batch_base, 399);
  EXPECT_EQ(lookup->batch_last, 401);
  const auto batch = view_batch(w.at, {"t", 0, 0, *lookup->position, {}, {}});
  EXPECT_EQ(batch->base, 399);
  EXPECT_GT(lookup->bytes_read, 0);
  EXPECT_GE(lookup->reads, 1);
  std::vector<api::LookupStepKind> kinds;
  int probes = 0;
  for (const api::LookupStep& step : lookup->steps) {
    EXPECT_NE(step.says, "");
    if (step.kind == api::LookupStepKind::offset_probe) ++probes;
    if (kinds.empty() || kinds.back() != step.kind) kinds.push_back(step.kind);
  }
  using enum api::LookupStepKind;
  EXPECT_EQ(kinds, (std::vector<api::LookupStepKind>{bounds, segment, offset_probe, start, scan, answer}));
  EXPECT_GE(probes, 4);
  EXPECT_LE(probes, 9);
}

TEST(LookupView, ByTimeAndWhatIsNotThere) {
  LogWorld w;
  const auto lookup = view_lookup(w.at, {"t", 0, {}, 1'700'000'000'050}, w.world.clock);
  ASSERT_TRUE(lookup) << lookup.error().message();
  EXPECT_TRUE(lookup->found);
  EXPECT_EQ(lookup->found_offset, 15);
  EXPECT_EQ(lookup->found_timestamp_ms, 1'700'000'000'050);
  EXPECT_EQ(lookup->batch_base, 15);
  const auto later = view_lookup(w.at, {"t", 0, {}, 1'800'000'000'000}, w.world.clock);
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->found);
  EXPECT_THAT(later->says, HasSubstr("No record is as late"));
  const auto beyond = view_lookup(w.at, {"t", 0, 1000, {}}, w.world.clock);
  ASSERT_TRUE(beyond);
  EXPECT_FALSE(beyond->found);
  ASSERT_EQ(beyond->steps.size(), 1U);
  EXPECT_THAT(beyond->says, HasSubstr("is not in [0, 60]"));
  EXPECT_EQ(view_lookup(w.at, {"t", 0, {}, {}}, w.world.clock).error().code, Errc::invalid);
  EXPECT_EQ(view_lookup(w.at, {"t", 0, 1, 1}, w.world.clock).error().code, Errc::invalid);
  EXPECT_EQ(view_lookup(files_only(*w.world.fs), {"t", 0, 1, {}}, w.world.clock).error().code, Errc::not_found);
}

// --- retention, compaction, life ---

TEST(RetentionView, WhatIf) {
  LogWorld w;
  const auto now = view_retention(w.at, {}, kNow);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->goes_segments, 0);
  EXPECT_FALSE(now->what_if);
  EXPECT_EQ(now->retention_ms.source, "default");
  api::RetentionQuery query;
  query.retention_ms = 1;
  const auto all = view_retention(w.at, query, kNow);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->what_if);
  EXPECT_EQ(all->goes_segments, static_cast<std::int64_t>(all->verdicts.size()));
  EXPECT_EQ(all->goes_records, 60);
  EXPECT_EQ(all->verdicts[0].rule, "time");
  EXPECT_EQ(all->retention_ms.source, "what if");
  EXPECT_THAT(all->verdicts[0].says, HasSubstr("retention.ms is 1 ms, as you ask"));
  EXPECT_THAT(now->verdicts[0].says, HasSubstr("by default"));
  query.retention_ms.reset();
  query.cleanup_policy = "compact";
  EXPECT_EQ(view_retention(w.at, query, kNow)->verdicts[0].hold, "policy");
  query.cleanup_policy = "burn";
  EXPECT_EQ(view_retention(w.at, query, kNow).error().code, Errc::invalid);
  query.cleanup_policy.reset();
  query.retention_bytes = 0;
  EXPECT_EQ(view_retention(w.at, query, kNow)->verdicts[0].rule, "size");
  // As the engine says it.
  const auto engine = w.log->explain_retention(kNow);
  ASSERT_EQ(engine->size(), now->verdicts.size());
  for (std::size_t i = 0; i < engine->size(); ++i) {
    EXPECT_EQ((*engine)[i].goes, now->verdicts[i].goes);
    EXPECT_EQ((*engine)[i].goes_at ? (*engine)[i].goes_at->value : -1, now->verdicts[i].goes_at_ms.value_or(-1));
  }
}

struct KeyedWorld {
  World world;
  std::shared_ptr<storage::PartitionLog> log;
  PartitionAt at;
  KeyedWorld() {
    storage::OpenOptions options;
    options.config.cleanup_compact = true;
    options.config.cleanup_delete = false;
    log = open_log(world, options);
    add("a", "1");
    add("b", "2");
    add("a", "3");
    add("b", {});
    at = files_only(*world.fs);
    at.log = log;
    at.config = options.config;
    at.topic_partitions = 1;
    at.groups.push_back({"g", Offset{1}, kNow});
  }
  void add(std::string_view key, std::optional<std::string_view> value) {
    record::BatchBuilder builder({});
    builder.add(TimestampMs{1'700'000'000'000}, as_bytes(key), value ? std::optional(as_bytes(*value)) : std::nullopt);
    ByteVector batch = builder.build();
    log->append_as_leader(batch, {0}, storage::AppendOrigin::client);
    log->set_high_watermark(log->log_end_offset());
  }
};

TEST(CompactionViews, KeysBeforeAndAfter) {
  KeyedWorld w;
  const auto preview = view_compaction_keys(w.at, {"t", 0, {}}, kNow);
  ASSERT_TRUE(preview) << preview.error().message();
  EXPECT_EQ(preview->keys_total, 2);
  EXPECT_EQ(preview->records_before, 4);
  EXPECT_EQ(preview->records_after, 2);
  EXPECT_LT(preview->bytes_after, preview->bytes_before);
  EXPECT_TRUE(preview->complete);
  ASSERT_EQ(preview->rows.size(), 2U);
  const auto b = std::ranges::find_if(preview->rows, [](const api::KeyHistory& row) { return row.key.text == "b"; });
  ASSERT_NE(b, preview->rows.end());
  EXPECT_EQ(b->offsets, (std::vector<std::int64_t>{1, 3}));
  EXPECT_TRUE(b->tombstone);
  EXPECT_EQ(b->survives, 3);
  const auto facts = view_compaction(w.at, {"t", 0}, kNow);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->decision, "empty");
  ASSERT_EQ(facts->segments.size(), 1U);
  EXPECT_EQ(facts->segments[0].standing, "active");
}

TEST(CompactionViews, TheCleanersLastRun) {
  KeyedWorld w;
  storage::CleanerStatus status;
  status.saved_bytes = ByteCount{100};
  storage::CleanerStatus::Run run;
  run.started = TimestampMs{1000};
  run.took = DurationMs{5};
  run.statistics.records_read = 10;
  run.statistics.records_kept = 4;
  run.statistics.tombstones_removed = 2;
  status.last_run = run;
  w.at.cleaner = status;
  const auto facts = view_compaction(w.at, {"t", 0}, kNow);
  ASSERT_TRUE(facts && facts->last_run);
  EXPECT_EQ(facts->last_run->ended_ms, 1005);
  EXPECT_EQ(facts->last_run->records_before, 10);
  EXPECT_EQ(facts->last_run->records_after, 4);
  EXPECT_EQ(facts->last_run->tombstones_removed, 2);
  EXPECT_EQ(facts->saved_bytes, 100);
}

TEST(LifeView, FromTheProducersChoiceToTheEnd) {
  KeyedWorld w;
  const auto life = view_life(w.at, {"t", 0, 0}, kNow);
  ASSERT_TRUE(life) << life.error().message();
  EXPECT_EQ(life->record.key->text, "a");
  std::vector<api::LifeStage> stages;
  for (const api::LifeStep& step : life->steps) stages.push_back(step.stage);
  using enum api::LifeStage;
  EXPECT_EQ(stages, (std::vector<api::LifeStage>{partition_choice, batch, api::LifeStage::append, index, durable, high_watermark, read, end, end}));
  EXPECT_THAT(life->steps[0].says, HasSubstr("this partition"));
  EXPECT_FALSE(life->steps[4].done);
  EXPECT_TRUE(life->steps[6].done);
  EXPECT_THAT(life->steps[8].says, HasSubstr("offset 2 has the same key"));
  EXPECT_THAT(view_life(w.at, {"t", 0, 3}, kNow)->steps.back().says, HasSubstr("It is a tombstone"));
  EXPECT_THAT(view_life(w.at, {"t", 0, 4}, kNow).error().what, HasSubstr("not written yet"));
  w.log->flush().value();
  EXPECT_TRUE(view_life(w.at, {"t", 0, 0}, kNow)->steps[4].done);
  w.log->advance_log_start(Offset{2}).value();
  const auto gone = view_life(w.at, {"t", 0, 0}, kNow);
  EXPECT_EQ(gone.error().code, Errc::not_found);
  EXPECT_THAT(gone.error().what, HasSubstr("the log starts at 2"));
}

// --- golden directories ---

std::vector<PartitionAt> golden_partitions(io::FileSystem& fs, const std::string& name) {
  offline::load_golden(fs, name);
  std::vector<PartitionAt> all;
  const auto entries = fs.list("/data").value();
  for (const io::DirectoryEntry& entry : entries) {
    const auto parsed = storage::parse_partition_directory(entry.name);
    if (parsed) all.push_back(files_only(fs, "/data/" + entry.name, parsed->partition.topic));
  }
  return all;
}

// Every view of every segment, batch and record that the others name.
void look_at_everything(const PartitionAt& at, const Clock& clock, std::int64_t& records) {
  SegmentMaps maps(clock);
  const auto partition = partition_of(at, {});
  ASSERT_TRUE(partition) << partition.error().message();
  for (const api::Segment& segment : partition->segments) {
    const auto map = view_segment_map(at, {"t", 0, segment.base, {}, {}, 4000}, maps);
    ASSERT_TRUE(map) << map.error().message();
    std::int64_t end = map->from_position;
    for (std::size_t i = 0; i < map->cells.position.size(); ++i) {
      EXPECT_EQ(map->cells.position[i], end);
      end += map->cells.size_bytes[i];
      if ((map->cells.flags[i] & kDamagedCell) != 0 || i > 200) continue;
      const auto batch = view_batch(at, {"t", 0, segment.base, map->cells.position[i], {}, {}});
      ASSERT_TRUE(batch) << batch.error().message();
      EXPECT_EQ(batch->size_bytes, map->cells.size_bytes[i]);
    }
    EXPECT_LE(end, map->file_bytes);
    for (const api::IndexKind kind : {api::IndexKind::offset, api::IndexKind::time}) {
      EXPECT_TRUE(view_index(at, {"t", 0, segment.base, kind, {}, {}}));
    }
  }
  EXPECT_TRUE(view_retention(at, {}, kNow));
  EXPECT_TRUE(view_compaction(at, {"t", 0}, kNow));
  EXPECT_TRUE(view_compaction_keys(at, {"t", 0, {}}, kNow));
  api::RecordsQuery query{"t", 0, 0, 200};
  for (int pages = 0; pages < 50; ++pages) {
    const auto page = view_records(at, query);
    ASSERT_TRUE(page) << page.error().message();
    records += static_cast<std::int64_t>(page->rows.size());
    if (!page->rows.empty() && pages == 0) {
      const auto life = view_life(at, {"t", 0, page->rows.front().offset}, kNow);
      EXPECT_TRUE(life) << life.error().message();
    }
    if (!page->next) break;
    ASSERT_GT(*page->next, query.offset);
    query.offset = *page->next;
  }
  std::string json;
  append_json(json, *partition);
  EXPECT_GT(json.size(), 100U);
}

TEST(GoldenViews, EveryDirectoryOfKafkasIsShown) {
  for (const char* name : {"plain", "idempotent", "transactions", "codec-gzip", "codec-lz4", "codec-snappy", "codec-zstd", "legacy-before",
                           "compacted-after-1", "compacted-txn-after-2", "rolled-size", "consumer-offsets", "transaction-state", "append-time",
                           "flip-closed-before", "flip-first-before", "torn-tail-before", "bad-index-before", "missing-index-before",
                           "stray-files-before", "swap-crash-before", "kill-txn-before"}) {
    SCOPED_TRACE(name);
    ManualClock clock;
    io::MemFileSystem fs(&clock);
    std::int64_t records = 0;
    for (const PartitionAt& at : golden_partitions(fs, name)) look_at_everything(at, clock, records);
    EXPECT_GT(records, 0);
  }
}

TEST(GoldenViews, LegacyEntriesAndInternalTopics) {
  ManualClock clock;
  io::MemFileSystem fs(&clock);
  bool has_legacy = false;
  for (const PartitionAt& at : golden_partitions(fs, "legacy-before")) {
    SegmentMaps maps(clock);
    const auto partition = partition_of(at, {});
    for (const api::Segment& segment : partition->segments) {
      const auto map = view_segment_map(at, {"t", 0, segment.base, {}, {}, {}}, maps);
      for (std::size_t i = 0; i < map->cells.flags.size(); ++i) {
        if ((map->cells.flags[i] & kLegacyCell) == 0) continue;
        has_legacy = true;
        const auto batch = view_batch(at, {"t", 0, segment.base, map->cells.position[i], {}, {}});
        EXPECT_TRUE(batch->checksum_ok);
        EXPECT_GE(batch->records.size(), 1U);
        EXPECT_THAT(batch->says, HasSubstr("old format"));
      }
    }
  }
  EXPECT_TRUE(has_legacy);
  io::MemFileSystem offsets(&clock);
  bool is_decoded = false;
  for (const PartitionAt& at : golden_partitions(offsets, "consumer-offsets")) {
    const auto page = view_records(at, {"t", 0, 0, {}});
    for (const api::LogRecord& record : page->rows) is_decoded = is_decoded || (record.value && record.value->decoded);
  }
  EXPECT_TRUE(is_decoded);
}

// --- hostile contents ---

TEST(HostileViews, RandomBytesAsFiles) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    ManualClock clock;
    io::MemFileSystem fs(&clock);
    std::string good;
    for (int i = 0; i < 30; ++i) good.append(as_text(make_batch({.records = 2, .producer_id = i % 3, .transactional = i % 2 == 0, .base_offset = Offset{i * 2}})));
    const auto noise = [&](std::size_t size) {
      std::string bytes(size, '\0');
      for (char& c : bytes) c = static_cast<char>(random.below(256));
      return bytes;
    };
    std::string log = good;
    switch (seed % 4) {
      case 0: log = noise(2000); break;
      case 1:  // some bytes of it
        for (int i = 0; i < 20; ++i) log[random.below(log.size())] = static_cast<char>(random.below(256));
        break;
      case 2: log.resize(random.below(log.size())); break;
      default: log.insert(random.below(log.size()), noise(300)); break;
    }
    put(fs, "/d/t-0/00000000000000000000.log", log);
    put(fs, "/d/t-0/00000000000000000000.index", noise(random.below(100)));
    put(fs, "/d/t-0/00000000000000000000.timeindex", noise(random.below(100)));
    put(fs, "/d/t-0/00000000000000000000.txnindex", std::string(2, '\0') + noise(random.below(100)));
    put(fs, "/d/t-0/00000000000000000040.snapshot", noise(60));
    put(fs, "/d/t-0/leader-epoch-checkpoint", noise(40));
    put(fs, "/d/recovery-point-offset-checkpoint", noise(40));
    put(fs, "/d/t-0/09223372036854775807.log", seed % 3 == 0 ? good : noise(100));
    const PartitionAt at = files_only(fs, "/d/t-0");
    std::int64_t records = 0;
    SegmentMaps maps(clock);
    const auto partition = partition_of(at, {});
    ASSERT_TRUE(partition) << partition.error().message();
    for (const api::Segment& segment : partition->segments) {
      const auto map = view_segment_map(at, {"t", 0, segment.base, {}, {}, 4000}, maps);
      ASSERT_TRUE(map) << map.error().message();
      std::int64_t end = 0;
      for (std::size_t i = 0; i < map->cells.position.size(); ++i) {
        EXPECT_EQ(map->cells.position[i], end);
        end += map->cells.size_bytes[i];
        static_cast<void>(view_batch(at, {"t", 0, segment.base, map->cells.position[i] + 1, {}, {}}).has_value());
      }
      EXPECT_LE(end, map->file_bytes);
      EXPECT_TRUE(view_index(at, {"t", 0, segment.base, api::IndexKind::offset, {}, {}}));
      EXPECT_TRUE(view_index(at, {"t", 0, segment.base, api::IndexKind::time, {}, {}}));
    }
    EXPECT_TRUE(view_retention(at, {}, kNow));
    EXPECT_TRUE(view_compaction_keys(at, {"t", 0, {}}, kNow));
    const auto page = view_records(at, {"t", 0, 0, {}});
    if (page) records += static_cast<std::int64_t>(page->rows.size());
    static_cast<void>(view_life(at, {"t", 0, 7}, kNow).has_value());
  }
}

}  // namespace
}  // namespace cordwood::inspector
