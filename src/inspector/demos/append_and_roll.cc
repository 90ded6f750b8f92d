// Where records go: to the end of the active segment, and what makes a new one.
#include <fmt/format.h>

#include <utility>

#include "inspector/demos/example.h"
#include "inspector/demos/scripts.h"
#include "inspector/demos/stage.h"

namespace cordwood::inspector::demos {

Result<api::Demo> append_and_roll() {
  Stage stage("append_and_roll", "Append and roll", "Where does a record go, and when does a new segment begin?");
  stage.demo().settings = example_settings();
  const storage::LogConfig config = example_options().config;
  const auto log = TRY(stage.open(kExamplePartition, example_options()));
  const auto active = [&] { return log->segments().back(); };
  const auto last_batch = [&]() -> const api::DemoBatch& { return stage.step().logs[0].segments.back().batches.back(); };

  TRY(stage.show("An empty partition", "create the partition's log",
                 fmt::format("A partition is a directory, and its log is a row of segments. The first one is empty: its files are named "
                             "after the offset that its first record will get, {}.",
                             active().base_offset)));

  TRY(append_example(stage, *log, 0, 1));
  TRY(stage.show("The first record", "append 1 record",
                 fmt::format("The record becomes a batch of {} bytes at the start of the .log file. It got offset 0, and the log end offset, "
                             "which the next record will get, is {}.",
                             active().size, log->log_end_offset())));

  TRY(append_example(stage, *log, 1, 3));
  TRY(stage.show("An index entry", "append 2 records", ""));
  {
    const api::DemoSegment& segment = stage.step().logs[0].segments.back();
    stage.step().says = fmt::format(
        "More than {} bytes were written since the start, so the batch at byte {} got an entry in the offset index (offset {} lies "
        "there) and one in the time index. Batches between two entries have none: an index is sparse and small.",
        config.index_interval_bytes, *segment.offset_index.back().position, segment.offset_index.back().offset);
  }

  TRY(append_example(stage, *log, 3, 6));
  TRY(stage.show("Nearly full", "append 3 records",
                 fmt::format("The active segment holds {} of at most {} bytes. Nothing but appending ever happens to it: what is written is "
                             "not changed any more.",
                             active().size, config.segment_bytes)));

  TRY(append_example(stage, *log, 6, 7));
  TRY(stage.show("A roll by size", "append 1 record", ""));
  stage.step().says = fmt::format(
      "The next batch has {} bytes, and {} of {} were taken: it starts a new segment, named {} after its offset. The old one is "
      "closed: its indexes are cut to their entries, with one last entry for its newest time.",
      last_batch().size_bytes, log->segments().front().size, config.segment_bytes, active().base_offset);

  TRY(append_example(stage, *log, 7, 9));
  TRY(stage.show("Entries are relative", "append 2 records", ""));
  {
    const api::DemoSegment& segment = stage.step().logs[0].segments.back();
    const api::DemoIndexEntry& entry = segment.offset_index.back();
    stage.step().says = fmt::format(
        "Offset {} is at byte {} of segment {}. In the file the entry says {}, the distance from the segment's base: so 4 bytes are enough for "
        "any offset, and 8 for an entry.",
        entry.offset, *entry.position, segment.base, entry.offset - segment.base);
    stage.step().facts = {
        fact("offset index entry", fmt::format("{} -> {}", entry.offset - segment.base, *entry.position), segment.files.front()),
        fact("time index entry",
             fmt::format("t={} -> {}", seconds_of({*segment.time_index.back().timestamp_ms}),
                         segment.time_index.back().offset - segment.base),
             segment.files.back())};
  }

  TRY(append_example(stage, *log, 9, 12));
  TRY(stage.show("Another roll", "append 3 records",
                 fmt::format("Segment {} is closed too. Each segment begins where the one before it ends, so the names alone tell in which one an "
                             "offset lies.",
                             log->segments()[1].base_offset)));

  TRY(append_example(stage, *log, 12, kExampleSizes.size()));
  TRY(stage.show("Four segments", fmt::format("append {} records", kExampleSizes.size() - 12),
                 fmt::format("{} records in {} bytes: segments {}, {}, {} and {}. Only the last one is active.", log->log_end_offset(),
                             log->size(), log->segments()[0].base_offset, log->segments()[1].base_offset,
                             log->segments()[2].base_offset, log->segments()[3].base_offset)));

  stage.wait({2000});
  TRY(stage.append(*log, one_order(log->log_end_offset(), 300)));
  TRY(stage.show("It would have room", "append 1 record",
                 fmt::format("The active segment holds {} bytes now. By its size it could take more.", active().size)));

  stage.wait({40'000});
  TRY(stage.show("Quiet", "the clock moves 40 s",
                 "Nobody writes, and nothing happens: a segment gets old, but only an append (or retention) looks at its age."));

  TRY(stage.append(*log, one_order(log->log_end_offset(), 400)));
  TRY(stage.show("A roll by time", "append 1 record", ""));
  {
    const storage::SegmentInfo before = log->segments()[3];
    stage.step().says = fmt::format(
        "The first record of segment {} is older than segment.ms ({} s), so this one starts segment {}, though the old one holds only {} "
        "bytes. Retention removes whole segments: a slow topic needs this roll to get rid of anything.",
        before.base_offset, config.segment_ms.value / 1000, active().base_offset, before.size);
  }
  return std::move(stage.demo());
}

}  // namespace cordwood::inspector::demos
