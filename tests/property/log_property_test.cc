// A log against a toy model of it: any order of appends, rolls, reads, lookups, flushes, restarts, kills and truncations
// must give what a plain list of batches gives. Seeded; a failure prints its seed.
#include <algorithm>

#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

constexpr TimestampMs kTime{1'700'000'000'000};

// What a log is, without segments, indexes or files.
class Model {
 public:
  struct Record {
    Offset offset;
    TimestampMs timestamp;
  };
  struct Batch {
    Offset base;
    std::vector<Record> records;
    Offset last() const { return records.back().offset; }
    TimestampMs max_timestamp() const {
      return std::ranges::max(records, {}, &Record::timestamp).timestamp;
    }
  };

  void append(Batch batch) {
    end = next(batch.last());
    batches.push_back(std::move(batch));
  }
  void truncate(Offset to) {
    if (to >= end) return;
    std::erase_if(batches, [&](const Batch& batch) { return batch.last() >= to; });
    end = to;
    start = std::min(start, to);
  }
  void truncate_fully(Offset to) {
    batches.clear();
    start = end = to;
  }
  // Batches that a read from `from` shows, up to `limit`.
  std::vector<Offset> bases_from(Offset from, Offset limit) const {
    std::vector<Offset> bases;
    for (const Batch& batch : batches) {
      if (batch.last() >= from && batch.base < limit && from < limit) bases.push_back(batch.base);
    }
    return bases;
  }
  // The first record at or after the target in time, at or behind the start.
  std::optional<Record> first_at(TimestampMs target) const {
    for (const Batch& batch : batches) {
      for (const Record& record : batch.records) {
        if (record.timestamp >= target && record.offset >= start) return record;
      }
    }
    return std::nullopt;
  }
  std::optional<Record> newest() const {
    std::optional<Record> found;
    for (const Batch& batch : batches) {
      for (const Record& record : batch.records) {
        if (!found || record.timestamp > found->timestamp) found = record;
      }
    }
    return found;
  }

  std::vector<Batch> batches;
  Offset start{0};
  Offset end{0};
};

class LogAgainstModel {
 public:
  explicit LogAgainstModel(std::uint64_t seed) : random_(seed) {
    options_ = small_segments();
    options_.config.segment_bytes = {static_cast<std::int64_t>(300 + random_.below(3000))};
    options_.config.segment_index_bytes = {static_cast<std::int64_t>(48 + random_.below(400))};
    options_.config.index_interval_bytes = {static_cast<std::int64_t>(random_.below(600))};
    options_.config.segment_ms = {static_cast<std::int64_t>(1 + random_.below(2000))};
    options_.config.segment_jitter_ms = {static_cast<std::int64_t>(random_.below(50))};
    log_ = open_log(world_, options_);
  }

  void step() {
    switch (random_.below(16)) {
      case 0: return restart(StopKind::clean);
      case 1: return restart(StopKind::unclean);
      case 2: return truncate();
      case 3: return log_->flush_up_to({static_cast<std::int64_t>(random_.below(200))}).value();
      case 4: return advance_start();
      case 5: return append_gap();
      default: return append_one();
    }
  }

  void check() {
    ASSERT_EQ(log_->log_end_offset(), model_.end);
    ASSERT_EQ(log_->log_start_offset(), model_.start);
    check_reads();
    check_times();
    check_structure();
  }

 private:
  // Times wander, so that batches are often older than those before.
  TimestampMs a_time() {
    now_ += DurationMs{static_cast<std::int64_t>(random_.below(100))};
    return {now_.value - static_cast<std::int64_t>(random_.below(150))};
  }

  void append_one() {
    BatchSpec spec;
    spec.records = 1 + static_cast<int>(random_.below(5));
    spec.timestamp = a_time();
    spec.value_size = random_.below(80);
    Model::Batch batch{model_.end, {}};
    for (int i = 0; i < spec.records; ++i) batch.records.push_back({{model_.end.value + i}, {spec.timestamp.value + i}});
    const AppendResult result = append(*log_, spec);
    if (result.fault == AppendFault::record_list_too_large) {
      EXPECT_GT(make_batch(spec).size(), static_cast<std::size_t>(options_.config.segment_bytes.value));
      return;
    }
    ASSERT_EQ(result.fault, AppendFault::none);
    ASSERT_EQ(result.base_offset, model_.end);
    model_.append(std::move(batch));
  }

  // As a follower after compaction: offsets are missing.
  void append_gap() {
    const Offset base{model_.end.value + static_cast<std::int64_t>(random_.below(20))};
    BatchSpec spec{.timestamp = a_time(), .base_offset = base, .leader_epoch = 0};
    const AppendResult result = log_->append_as_follower(make_batch(spec));
    ASSERT_EQ(result.fault, AppendFault::none);
    log_->set_high_watermark(log_->log_end_offset());
    model_.append({base, {{base, spec.timestamp}}});
  }

  void truncate() {
    if (random_.below(6) == 0) {
      const Offset to{model_.end.value + static_cast<std::int64_t>(random_.below(30))};
      log_->truncate_fully_and_start_at(to).value();
      model_.truncate_fully(to);
      return;
    }
    const std::int64_t back = static_cast<std::int64_t>(random_.below(12));
    const Offset to{std::max<std::int64_t>(model_.end.value - back, 0)};
    const Offset first_base = log_->segments().front().base_offset;
    log_->truncate_to(to).value();
    if (first_base > to && to < model_.end) {
      model_.truncate_fully(to);
    } else {
      model_.truncate(to);
    }
  }

  void advance_start() {
    const Offset to{model_.start.value + static_cast<std::int64_t>(random_.below(6))};
    if (to > log_->high_watermark()) return;
    log_->advance_log_start(to).value();
    model_.start = std::max(model_.start, to);
  }

  void restart(StopKind stop) {
    if (stop == StopKind::clean) log_->close_cleanly().value();
    options_.last_stop = stop;
    options_.log_start_checkpoint = log_->log_start_offset();
    options_.recovery_point_checkpoint = log_->recovery_point_to_checkpoint();
    options_.high_watermark_checkpoint = log_->high_watermark();
    log_.reset();
    log_ = open_log(world_, options_);
    // A log end that a truncation or a gap left behind the last batch is not written down anywhere.
    if (!model_.batches.empty() || model_.start < model_.end) {
      const Offset behind_last = model_.batches.empty() ? log_->segments().back().base_offset : next(model_.batches.back().last());
      model_.end = std::max(behind_last, log_->segments().back().base_offset);
    }
    if (model_.end < model_.start) model_.truncate_fully(model_.start);
    log_->set_high_watermark(log_->log_end_offset());
  }

  void check_reads() {
    for (int i = 0; i < 10; ++i) {
      const Offset from{model_.start.value + static_cast<std::int64_t>(random_.below(
                            static_cast<std::uint64_t>((model_.end - model_.start).value) + 2))};
      const ByteCount max{static_cast<std::int64_t>(random_.below(2000))};
      const auto read = log_->read({from, max, random_.below(2) == 0, ReadLimit::log_end});
      if (from > model_.end) {
        ASSERT_EQ(read.error().code, Errc::out_of_range);
        continue;
      }
      ASSERT_TRUE(read) << read.error().message();
      std::vector<Offset> expected = model_.bases_from(from, model_.end);
      const auto headers = batches_in(read->range);
      ASSERT_LE(headers.size(), expected.size());
      for (std::size_t k = 0; k < headers.size(); ++k) ASSERT_EQ(headers[k].base_offset, expected[k]);
      if (headers.empty() && !expected.empty()) {
        ASSERT_TRUE(read->first_entry_incomplete);
      }
    }
    std::vector<Offset> all;
    for (const record::BatchHeader& header : read_all(*log_, model_.start)) all.push_back(header.base_offset);
    ASSERT_EQ(all, model_.bases_from(model_.start, model_.end));
  }

  void check_times() {
    const auto newest = model_.newest();
    const auto found_newest = log_->find_max_timestamp().value();
    ASSERT_EQ(found_newest.has_value(), newest.has_value());
    if (newest) {
      ASSERT_EQ(found_newest->timestamp, newest->timestamp);
      ASSERT_EQ(found_newest->offset, newest->offset);
    }
    if (model_.batches.empty()) return;
    for (int i = 0; i < 6; ++i) {
      const TimestampMs target{now_.value - 300 + static_cast<std::int64_t>(random_.below(320))};
      // Kafka searches only the first segment whose largest time reaches the target: below a raised log start that may
      // be one whose match is gone.
      if (model_.start > model_.batches.front().base) continue;
      const auto expected = model_.first_at(target);
      const auto found = log_->find_by_timestamp(target).value();
      ASSERT_EQ(found.has_value(), expected.has_value()) << target.value;
      if (expected) {
        ASSERT_EQ(found->offset, expected->offset) << target.value;
      }
    }
  }

  void check_structure() {
    const auto segments = log_->segments();
    ASSERT_FALSE(segments.empty());
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
      ASSERT_LT(segments[i].base_offset, segments[i + 1].base_offset);
      ASSERT_FALSE(segments[i].active);
      ASSERT_LE(segments[i].size, options_.config.segment_bytes);
    }
    ASSERT_TRUE(segments.back().active);
    ASSERT_LE(segments.back().base_offset, model_.end);
  }

  World world_;
  SeededRandom random_;
  OpenOptions options_;
  std::shared_ptr<PartitionLog> log_;
  Model model_;
  TimestampMs now_ = kTime;
};

TEST(LogProperty, AgreesWithTheModel) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LogAgainstModel run(seed);
    for (int step = 0; step < 120; ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      run.step();
      if (testing::Test::HasFatalFailure()) return;
      run.check();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace cordwood::storage
