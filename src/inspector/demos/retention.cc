// What retention takes, when, and why something older or bigger than the settings want is still there.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "inspector/demos/example.h"
#include "inspector/demos/scripts.h"
#include "inspector/demos/stage.h"

namespace cordwood::inspector::demos {
namespace {

// One check, as log.retention.check.interval.ms repeats it; how many segments went. Files that were waiting for it long enough are
// deleted, as the broker does it meanwhile.
Result<std::int64_t> check_retention(Stage& stage, storage::PartitionLog& log) {
  TRY(log.remove_retired_files());
  return static_cast<std::int64_t>(TRY(log.apply_retention(stage.clock.now())).size());
}

std::int64_t newest_second(const storage::SegmentInfo& segment) { return seconds_of(segment.largest_timestamp); }

std::int64_t age_seconds(const Stage& stage, const storage::SegmentInfo& segment) {
  return seconds_of(stage.clock.now()) - newest_second(segment);
}

}  // namespace

Result<api::Demo> retention_by_time() {
  Stage stage("retention_by_time", "Retention by time", "When does an old record go?");
  storage::OpenOptions options = example_options();
  options.config.retention_ms = {30'000};
  options.config.retention_ms_source = storage::SettingSource::topic;
  options.config.file_delete_delay_ms = {5'000};
  const storage::LogConfig& config = options.config;
  const std::int64_t limit = config.retention_ms.value / 1000;
  stage.demo().settings = example_settings();
  stage.demo().settings.push_back(setting("retention.ms", config.retention_ms.value, "A segment goes when its newest record is older."));
  stage.demo().settings.push_back(
      setting("file.delete.delay.ms", config.file_delete_delay_ms.value, "So long the files of a removed segment still lie there, as .deleted."));
  const auto log = TRY(stage.open(kExamplePartition, options));
  const auto segment = [&](std::size_t i) { return log->segments().at(i); };

  TRY(append_example(stage, *log, 0, kExampleSizes.size()));
  TRY(stage.show("Four segments", fmt::format("append {} records, one each 2 s", kExampleSizes.size()),
                 fmt::format("retention.ms is {} s. What counts is the newest record of a segment: in segment {} that is the one of second {}. It "
                             "is {} s old, so everything stays.",
                             limit, segment(0).base_offset, newest_second(segment(0)), age_seconds(stage, segment(0)))));

  stage.at(at_second(newest_second(segment(0)) + limit));
  TRY(stage.show("Exactly on the limit", fmt::format("the clock moves to second {}", seconds_of(stage.clock.now())),
                 fmt::format("The newest record of segment {} is {} s old now. That is not older than {} s, so the segment still stays.",
                             segment(0).base_offset, age_seconds(stage, segment(0)), limit)));

  stage.wait({1000});
  TRY(stage.show("Over the limit, and still there", "the clock moves 1 s",
                 fmt::format("Segment {} may go now, and is marked so. Nothing has happened to it: a broker looks only every "
                             "log.retention.check.interval.ms, by default each 5 minutes. A consumer still reads from offset {}.",
                             segment(0).base_offset, log->log_start_offset())));

  const std::int64_t first = TRY(check_retention(stage, *log));
  TRY(stage.show("The check", "check retention",
                 fmt::format("{} went as a whole: the log start offset is {} now, and offsets below it cannot be read any more. Its files "
                             "are only renamed to .deleted, for who is reading them at this moment.",
                             count_of(first, "segment"), log->log_start_offset())));

  stage.wait(config.file_delete_delay_ms);
  TRY(log->remove_retired_files());
  TRY(stage.show("The files go", fmt::format("the clock moves {} s", config.file_delete_delay_ms.value / 1000),
                 fmt::format("After file.delete.delay.ms the files are deleted, and the disk has its bytes back. The log begins at offset {}.",
                             log->log_start_offset())));

  stage.at(at_second(60));
  const Offset second_base = segment(0).base_offset;
  TRY(check_retention(stage, *log));
  TRY(stage.append(*log, one_order(log->log_end_offset(), 400)));
  TRY(stage.show("A late record", "check retention, and append 1 record",
                 fmt::format("Segment {} is gone too. The new record lands in the active segment {}, whose newest record is now of second {}: "
                             "all records in it stay as long as this one does.",
                             second_base, log->segments().back().base_offset, newest_second(log->segments().back()))));

  stage.at(at_second(70));
  const std::int64_t second = TRY(check_retention(stage, *log));
  const storage::SegmentInfo left = segment(0);
  TRY(stage.show("The newest record decides", fmt::format("the clock moves to second {}; check retention", seconds_of(stage.clock.now())), ""));
  {
    const api::DemoRecord& oldest = stage.step().logs[0].segments.back().batches.front().records.front();
    stage.step().says = fmt::format(
        "{} more went. Offset {} in segment {} is of second {} and so is older than {} s, but it stays: its segment's newest record is only {} "
        "s old. Retention never takes a part of a segment.",
        count_of(second, "segment"), oldest.offset, left.base_offset, seconds_of({oldest.timestamp_ms}), limit, age_seconds(stage, left));
  }

  stage.at(at_second(newest_second(left) + limit + 1));
  TRY(stage.show("Even the active segment", fmt::format("the clock moves to second {}", seconds_of(stage.clock.now())),
                 fmt::format("Nobody writes any more. Segment {} is the active one, and its newest record is {} s old: it may go as well.",
                             left.base_offset, age_seconds(stage, left))));

  TRY(check_retention(stage, *log));
  TRY(stage.show("An empty log", "check retention",
                 fmt::format("A new, empty segment {} was made first, then the old one went. The log is empty, but it does not begin anew: log start "
                             "and log end are both {}, and the next record gets that offset.",
                             log->segments().back().base_offset, log->log_end_offset())));
  return std::move(stage.demo());
}

Result<api::Demo> retention_by_size() {
  Stage stage("retention_by_size", "Retention by size", "How big does a log get?");
  storage::OpenOptions options = example_options();
  options.config.file_delete_delay_ms = {5'000};
  storage::LogConfig config = options.config;
  stage.demo().settings = example_settings();
  stage.demo().settings.push_back(setting("retention.bytes", 6000, "The oldest segment goes as long as so much is left without it."));
  stage.demo().settings.push_back(
      setting("file.delete.delay.ms", config.file_delete_delay_ms.value, "So long the files of a removed segment still lie there, as .deleted."));
  const auto log = TRY(stage.open(kExamplePartition, options));
  const auto verdict_of = [&](Offset base) -> const api::SegmentVerdict& {
    const std::vector<api::SegmentVerdict>& verdicts = stage.step().logs[0].verdicts;
    return *std::find_if(verdicts.begin(), verdicts.end(), [&](const api::SegmentVerdict& one) { return one.base == base.value; });
  };

  TRY(append_example(stage, *log, 0, kExampleSizes.size()));
  TRY(stage.show("Without a limit", fmt::format("append {} records", kExampleSizes.size()),
                 fmt::format("The log holds {} bytes in {} segments. retention.bytes is {}: there is no limit.", log->size(),
                             log->segments().size(), config.retention_bytes)));

  config.retention_bytes = {6000};
  config.retention_bytes_source = storage::SettingSource::topic;
  log->update_config(config);
  const ByteCount first_size = log->segments().front().size;
  TRY(stage.show("A limit", "set retention.bytes to 6000",
                 fmt::format("{} bytes are more than {}. Without segment 0 there would be {} left, which is still enough, so it may go. Without "
                             "segment 6 as well there would be less than {}: that one stays.",
                             log->size(), config.retention_bytes, log->size() - first_size, config.retention_bytes)));

  const ByteCount before = log->size();
  TRY(check_retention(stage, *log));
  TRY(stage.show("The check", "check retention",
                 fmt::format("{} bytes shrank to {}. That is more than retention.bytes: the setting says how much is kept at least, and whole "
                             "segments go or stay. The log start offset is {}.",
                             before, log->size(), log->log_start_offset())));

  stage.wait(config.file_delete_delay_ms);
  TRY(log->remove_retired_files());
  TRY(stage.show("The files go", fmt::format("the clock moves {} s", config.file_delete_delay_ms.value / 1000), ""));
  stage.step().says = fmt::format("The .deleted files are gone. Segment 6 is the next: it goes once {} bytes more were written.",
                                  verdict_of({6}).goes_after_bytes.value_or(0));

  for (std::size_t size : {600, 600, 700}) TRY(stage.append(*log, one_order(log->log_end_offset(), size)));
  TRY(stage.show("Growing", "append 3 records", ""));
  stage.step().says =
      fmt::format("The log holds {} bytes now. Still it would be too small without segment 6: {} bytes are missing.", log->size(),
                  verdict_of({6}).goes_after_bytes.value_or(0));

  TRY(stage.append(*log, one_order(log->log_end_offset(), 400)));
  TRY(stage.show("Enough", "append 1 record",
                 fmt::format("The record starts segment {}. With {} bytes the log is large enough to lose segment 6.",
                             log->segments().back().base_offset, log->size())));

  TRY(check_retention(stage, *log));
  TRY(stage.show("The check again", "check retention",
                 fmt::format("{} bytes are left. Under a steady load the log has retention.bytes, up to one segment more, and what is written "
                             "between two checks: plan the disk for all three, for each partition.",
                             log->size())));

  config.retention_bytes = {1};
  log->update_config(config);
  TRY(check_retention(stage, *log));
  TRY(stage.show("Not the active segment", "set retention.bytes to 1; check retention",
                 fmt::format("Every closed segment went. Segment {} with its {} bytes stays: without it less than the limit would be left. No limit "
                             "above 0 takes the active segment.",
                             log->segments().back().base_offset, log->size())));
  return std::move(stage.demo());
}

}  // namespace cordwood::inspector::demos
