// Indexes that do not fit the batches: look-ups are right all the same, and repair_indexes() makes the files what they were.
#include <algorithm>

#include "storage/directory_files.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

// Segments of some 20 KB, so that the indexes are used at all.
OpenOptions options(StopKind stop = StopKind::clean) {
  OpenOptions options = small_segments(stop);
  options.config.segment_bytes = ByteCount{20'000};
  options.config.segment_index_bytes = ByteCount{4000};
  options.config.index_interval_bytes = ByteCount{500};
  return options;
}

TimestampMs time_of(std::int64_t offset) { return {1'700'000'000'000 + offset * 10}; }

struct Stopped {
  World world;
  std::int64_t end = 0;
  std::vector<Offset> bases;
  Stopped() {
    auto log = open_log(world, options());
    for (std::int64_t i = 0; i < 300; ++i) append(*log, {.timestamp = time_of(i), .value_size = 100});
    end = log->log_end_offset().value;
    for (const SegmentInfo& segment : log->segments()) bases.push_back(segment.base_offset);
    log->close_cleanly().value();
  }
  io::Path path(std::size_t segment, std::string_view suffix) {
    return io::join(kDirectory, segment_file_name(bases[segment], suffix));
  }
};

void expect_right_answers(const PartitionLog& log, std::int64_t end) {
  for (std::int64_t offset = 0; offset < end; ++offset) {
    const auto read = log.read({{offset}, ByteCount{1}, true, ReadLimit::log_end});
    ASSERT_TRUE(read.has_value());
    const auto batches = batches_in(read->range);
    ASSERT_EQ(batches.size(), 1u) << offset;
    ASSERT_EQ(batches[0].base_offset, Offset{offset});
    const auto found = log.find_by_timestamp(time_of(offset)).value();
    ASSERT_TRUE(found) << offset;
    ASSERT_EQ(found->offset, Offset{offset});
  }
  ASSERT_EQ(log.find_max_timestamp().value()->offset, Offset{end - 1});
}

struct Damage {
  const char* name;
  std::string (*make)(const std::string& good, const std::string& other);
};

const Damage kDamages[] = {
    {"zeros", [](const std::string& good, const std::string&) { return std::string(good.size(), '\0'); }},
    {"ones", [](const std::string& good, const std::string&) { return std::string(good.size(), '\xff'); }},
    {"of another segment", [](const std::string&, const std::string& other) { return other; }},
    {"a bit", [](const std::string& good, const std::string&) {
       std::string bad = good;
       bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
       bad[bad.size() / 2 + 3] = static_cast<char>(bad[bad.size() / 2 + 3] ^ 64);
       return bad;
     }},
    {"a partial entry", [](const std::string& good, const std::string&) { return good.substr(0, good.size() - 5); }},
    {"ascending nonsense", [](const std::string& good, const std::string&) {
       std::string bad = good;
       for (std::size_t i = 0; i < bad.size(); ++i) bad[i] = static_cast<char>(i * 7);
       return bad;
     }},
};

TEST(IndexRepair, LookUpsAreRightWhateverTheIndexesSay) {
  for (const Damage& damage : kDamages) {
    for (const char* suffix : {".index", ".timeindex"}) {
      for (const std::size_t segment : {std::size_t{0}, std::size_t{1}}) {
        SCOPED_TRACE(testing::Message() << damage.name << " in " << suffix << " of segment " << segment);
        Stopped s;
        ASSERT_GE(s.bases.size(), 3u);
        const std::string good = content_of(*s.world.fs, s.path(segment, suffix));
        const std::string bad = damage.make(good, content_of(*s.world.fs, s.path(segment + 1, suffix)));
        put(*s.world.fs, s.path(segment, suffix), bad);
        auto log = open_log(s.world, options());
        int asked = 0;
        log->on_index_damage([&] { ++asked; });
        expect_right_answers(*log, s.end);
        if (testing::Test::HasFatalFailure()) return;
        log->repair_indexes().value();
        const std::string now = content_of(*s.world.fs, s.path(segment, suffix));
        if (asked > 0) {
          EXPECT_EQ(asked, 1);
          EXPECT_EQ(now, good);
        } else {
          EXPECT_EQ(now, bad) << "nothing was noticed, and nothing was changed";
        }
        expect_right_answers(*log, s.end);
        log->close_cleanly().value();
      }
    }
  }
}

TEST(IndexRepair, TheBadOneIsKeptOnce) {
  Stopped s;
  const std::string good = content_of(*s.world.fs, s.path(0, ".index"));
  // The sixth entry points somewhere into a batch.
  const std::string first = good.substr(0, 44) + std::string("\0\0\x0b\x33", 4);
  for (const std::string& bad : {first, good.substr(0, 44) + std::string("\0\0\x0b\x44", 4)}) {
    put(*s.world.fs, s.path(0, ".index"), bad);
    auto log = open_log(s.world, options());
    expect_right_answers(*log, s.end);
    log->repair_indexes().value();
    EXPECT_EQ(content_of(*s.world.fs, s.path(0, ".index")), good);
    EXPECT_TRUE(s.world.logger.contains("wrong entries"));
    log->close_cleanly().value();
  }
  EXPECT_EQ(content_of(*s.world.fs, io::join("/data/t-0/damaged", segment_file_name(s.bases[0], ".index"))),
            first);
}

TEST(IndexRepair, TheActiveSegmentGoesOn) {
  for (const char* suffix : {".index", ".timeindex"}) {
    Stopped s;
    const std::size_t active = s.bases.size() - 1;
    const std::string good = content_of(*s.world.fs, s.path(active, suffix));
    ASSERT_GT(good.size(), 40u);
    put(*s.world.fs, s.path(active, suffix), std::string(good.size(), '\x11'));
    auto log = open_log(s.world, options());
    append(*log, {.timestamp = time_of(s.end), .value_size = 100});
    expect_right_answers(*log, s.end + 1);
    log->repair_indexes().value();
    for (std::int64_t i = s.end + 1; i < s.end + 300; ++i) append(*log, {.timestamp = time_of(i), .value_size = 100});
    expect_right_answers(*log, s.end + 300);
    log->close_cleanly().value();
    auto again = open_log(s.world, options());
    again->on_index_damage([] { ADD_FAILURE() << "the indexes fit"; });
    expect_right_answers(*again, s.end + 300);
  }
}

TEST(IndexRepair, AnEmptiedIndexIsNoticedByTheLongWalk) {
  World world;
  OpenOptions large = options();
  large.config.segment_bytes = ByteCount{4 * MiB};
  large.config.segment_index_bytes = ByteCount{100'000};
  {
    auto log = open_log(world, large);
    for (int i = 0; i < 150; ++i) append(*log, {.timestamp = time_of(i), .value_size = 20'000});
    log->close_cleanly().value();
  }
  const io::Path path = io::join(kDirectory, "00000000000000000000.index");
  const std::string good = content_of(*world.fs, path);
  put(*world.fs, path, "");
  auto log = open_log(world, large);
  int asked = 0;
  log->on_index_damage([&] { ++asked; });
  EXPECT_EQ(batches_in(log->read({{140}, ByteCount{1}, true, ReadLimit::log_end})->range)[0].base_offset, Offset{140});
  EXPECT_EQ(asked, 1);
  log->repair_indexes().value();
  log->close_cleanly().value();
  EXPECT_EQ(content_of(*world.fs, path), good);
}

// Retention must not take a segment for old because its time index lost its end.
TEST(IndexRepair, TheLargestTimestampIsTheBatches) {
  for (const std::size_t left : {0, 12, 60}) {
    Stopped s;
    const std::string good = content_of(*s.world.fs, s.path(0, ".timeindex"));
    ASSERT_GT(good.size(), 60u);
    put(*s.world.fs, s.path(0, ".timeindex"), good.substr(0, left));
    auto log = open_log(s.world, options());
    EXPECT_EQ(log->segments()[0].largest_timestamp, time_of(s.bases[1].value - 1)) << left;
  }
}

// --- transactions ---

std::vector<AbortedTransaction> aborted_in_log(const PartitionLog& log) {
  return log.read({{0}, ByteCount{1'000'000}, true, ReadLimit::last_stable}).value().aborted;
}

TEST(IndexRepair, ALostTransactionIndexIsMadeAnewBeforeTheFirstAnswer) {
  World world;
  {
    auto log = open_log(world, small_segments());
    append(*log, {.producer_id = 7, .sequence = 0, .transactional = true});
    append(*log, {.producer_id = 8, .sequence = 0, .transactional = true});
    append_marker(*log, 7, true);
    append_marker(*log, 8, false);
    log->close_cleanly().value();
  }
  const io::Path path = io::join(kDirectory, "00000000000000000000.txnindex");
  const std::string good = content_of(*world.fs, path);
  ASSERT_EQ(good.size(), 34u);
  for (const bool append_first : {false, true}) {
    for (const std::string& bad : {std::string(), good.substr(0, 20), std::string(34, '\x01'), good + good, std::string("lost")}) {
      World after;
      after.memory = world.memory->process_crash_clone();
      after.fs = after.memory.get();
      if (bad == "lost") {
        after.fs->remove_file(path).value();
      } else {
        put(*after.fs, path, bad);
      }
      auto log = open_log(after, small_segments());
      log->set_high_watermark(log->log_end_offset());
      if (append_first) {
        append(*log, {.producer_id = 8, .sequence = 1, .transactional = true});
        append_marker(*log, 8, true);
      }
      const auto aborted = aborted_in_log(*log);
      ASSERT_EQ(aborted.size(), append_first ? 2u : 1u) << bad.size();
      EXPECT_EQ(aborted[0], (AbortedTransaction{7, {0}}));
      EXPECT_TRUE(content_of(*after.fs, path).starts_with(good));
      EXPECT_EQ(content_of(*after.fs, path).size(), append_first ? 68u : 34u);
      log->close_cleanly().value();
    }
  }
}

TEST(IndexRepair, WithoutMarkersNoTransactionIndexAppears) {
  World world;
  {
    auto log = open_log(world, small_segments());
    for (int i = 0; i < 40; ++i) append(*log, {.producer_id = 7, .sequence = i});
    log->close_cleanly().value();
  }
  const auto files = files_in(*world.fs);
  auto log = open_log(world, small_segments());
  log->set_high_watermark(log->log_end_offset());
  EXPECT_EQ(read_all(*log, {0}, ReadLimit::last_stable).size(), 40u);
  log->close_cleanly().value();
  EXPECT_EQ(files_in(*world.fs), files);
}

}  // namespace
}  // namespace cordwood::storage
