// How an offset or a time is found: the steps are those that the search tells of itself.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inspector/demos/example.h"
#include "inspector/demos/scripts.h"
#include "inspector/demos/stage.h"
#include "inspector/engine_values.h"
#include "storage/lookup_trace.h"
#include "storage/segment.h"

namespace cordwood::inspector::demos {
namespace {

using Steps = std::vector<storage::LookupStep>;

// Above 8 KiB of file the engine asks the offset index; in a shorter one it reads all in one go.
constexpr FilePosition kAsInALargeSegment{16 * KiB};
constexpr ByteCount kFetch{1 * MiB};

// The demo's clock stands still during a call: microseconds are 0.
api::Lookup lookup_of(const Steps& steps, std::string says) {
  api::Lookup lookup;
  lookup.says = std::move(says);
  tell_steps(steps, lookup);
  return lookup;
}

// The steps up to the last one of `kind`, that one included.
Steps up_to(const Steps& steps, storage::LookupStepKind kind) {
  const auto last = std::find_if(steps.rbegin(), steps.rend(), [&](const storage::LookupStep& step) { return step.kind == kind; });
  return {steps.begin(), last.base()};
}

const storage::LookupStep* last_of(const Steps& steps, storage::LookupStepKind kind) {
  const auto last = std::find_if(steps.rbegin(), steps.rend(), [&](const storage::LookupStep& step) { return step.kind == kind; });
  return last == steps.rend() ? nullptr : &*last;
}

struct OffsetSearch {
  Steps as_taken;  // by a fetch of this log
  Steps by_index;  // with the search inside the segment as in one that is longer than 8 KiB
  storage::BatchInfo batch;
};

// Errors: invalid when the two ways do not end at the same batch, which would be a bug.
Result<OffsetSearch> search_offset(const storage::PartitionLog& log, Offset target) {
  OffsetSearch search;
  storage::LookupTrace fetch;
  const storage::ReadResult read = TRY(log.read({target, kFetch, true, storage::ReadLimit::log_end}, &fetch));
  search.as_taken = fetch.steps();
  const storage::CleaningView view = log.view_for_cleaning();
  const std::size_t at = storage::floor_segment(*view.segments, target);
  storage::LookupTrace within;
  const std::optional<storage::BatchInfo> found = TRY((*view.segments)[at]->find_batch(target, kAsInALargeSegment, &within));
  if (!found || found->position != read.range.position) return Error{Errc::invalid, "the index leads to another batch than the scan"};
  search.batch = *found;
  search.by_index = up_to(search.as_taken, storage::LookupStepKind::segment);
  search.by_index.insert(search.by_index.end(), within.steps().begin(), within.steps().end());
  search.by_index.push_back(search.as_taken.back());
  return search;
}

struct TimeSearch {
  Steps steps;
  std::optional<storage::FoundRecord> found;
};

Result<TimeSearch> search_time(const storage::PartitionLog& log, TimestampMs target) {
  storage::LookupTrace trace;
  TimeSearch search;
  search.found = TRY(log.find_by_timestamp(target, &trace));
  search.steps = trace.steps();
  return search;
}

}  // namespace

Result<api::Demo> find_an_offset() {
  Stage stage("find_an_offset", "Find an offset", "How is one record found among many?");
  stage.demo().settings = example_settings();
  const auto log = TRY(stage.open(kExamplePartition, example_options()));
  Offset wanted{9};
  const auto show = [&](std::string title, std::string does, std::string says, const Steps& steps) -> Result<void> {
    TRY(stage.show(std::move(title), std::move(does), says));
    stage.step().lookup = lookup_of(steps, std::move(says));
    stage.step().lookup->offset = wanted.value;
    return {};
  };
  using Kind = storage::LookupStepKind;

  TRY(append_example(stage, *log, 0, kExampleSizes.size()));
  TRY(stage.show("The question", fmt::format("append {} records", kExampleSizes.size()),
                 fmt::format("A consumer wants to read from offset {}. The log has {} bytes in {} files, and nowhere is a table of all offsets.", wanted,
                             log->size(), log->segments().size())));

  OffsetSearch search = TRY(search_offset(*log, wanted));
  TRY(show("Which segment?", "compare with the segments' names",
           fmt::format("Each file is named after its first offset. The largest name that is not above {} is {}: the record can only be in there.", wanted,
                       *search.by_index[1].segment),
           up_to(search.by_index, Kind::segment)));

  const storage::LookupStep* start = last_of(search.by_index, Kind::start);
  const storage::LookupStep* scan = last_of(search.by_index, Kind::scan);
  const storage::LookupStep* probe = nullptr;
  for (const storage::LookupStep& step : search.by_index) {
    if (step.kind == Kind::offset_probe && step.hit) probe = &step;
  }
  if (start == nullptr || scan == nullptr || probe == nullptr) return Error{Errc::invalid, "the search did not use the index"};

  TRY(show("What the index knows", "search the offset index",
           fmt::format("A binary search finds the last entry that is not above {}: offset {}, in the batch at byte {}. It stands in the file as {} -> {}, "
                       "relative to the segment.",
                       wanted, *probe->offset, *probe->from, probe->offset->value - search.by_index[1].segment->value, *probe->from),
           up_to(search.by_index, Kind::offset_probe)));

  TRY(show("Start there", fmt::format("read from byte {}", *start->from),
           fmt::format("{} bytes of the segment need not be looked at. The index does not know offset {} itself: it has an entry only every "
                       "index.interval.bytes.",
                       *start->from, wanted),
           up_to(search.by_index, Kind::start)));

  TRY(show("Skip what comes before", "read batch headers",
           fmt::format("The header of the batch at byte {} says that it ends before offset {}, and how long it is. So {} bytes are skipped, from {} to {}, "
                       "without reading a record.",
                       *start->from, wanted, (search.batch.position - *start->from), *start->from, search.batch.position),
           up_to(search.by_index, Kind::scan)));

  TRY(show("Found", fmt::format("answer from byte {}", search.batch.position),
           fmt::format("The batch at byte {} holds offset {}. The broker sends the file's bytes from there on, as they are: it looks at no record.",
                       search.batch.position, wanted),
           search.by_index));

  TRY(show("In a small file", "the same look-up as the engine takes it here",
           "That was the way in a segment of real size. This one is so short that a single read holds all of it, and then the engine does not ask the "
           "index: it starts at the first batch. The answer is the same.",
           search.as_taken));

  wanted = {7};
  search = TRY(search_offset(*log, wanted));
  start = last_of(search.by_index, Kind::start);
  TRY(show("Before the first entry", "look up offset 7",
           fmt::format("No entry of the index is at or below offset {}. The search starts at byte {} of the segment.", wanted,
                       start == nullptr ? FilePosition{0} : *start->from),
           search.by_index));

  BatchToAppend three;
  for (std::int64_t i = 0; i < 3; ++i) three.records.push_back({fmt::format("customer {}", i), fmt::format("order {}", log->log_end_offset().value + i)});
  stage.wait({2000});
  const storage::AppendResult appended = TRY(stage.append(*log, three));
  wanted = next(appended.base_offset);
  search = TRY(search_offset(*log, wanted));
  TRY(show("Inside a batch", fmt::format("append 1 batch of 3 records; look up offset {}", wanted),
           fmt::format("Offset {} is the second record of the batch at byte {}. A batch is never cut (it may be compressed): the broker sends it from its "
                       "first record on, offset {}, and the client drops what is too early.",
                       wanted, search.batch.position, search.batch.base_offset),
           search.by_index));

  wanted = {1000};
  storage::LookupTrace trace;
  const auto outside = log->read({wanted, kFetch, true, storage::ReadLimit::log_end}, &trace);
  if (outside) return Error{Errc::invalid, "an offset beyond the log end was found"};
  TRY(show("Outside", fmt::format("look up offset {}", wanted),
           fmt::format("The first step fails: offset {} is not between the log start {} and the log end {}. The client gets OFFSET_OUT_OF_RANGE. Exactly at "
                       "the log end it would be told to wait.",
                       wanted, log->log_start_offset(), log->log_end_offset()),
           trace.steps()));
  return std::move(stage.demo());
}

Result<api::Demo> find_by_time() {
  Stage stage("find_by_time", "Find by time", "Which record was the first at or after an instant?");
  stage.demo().settings = example_settings();
  const auto log = TRY(stage.open(kExamplePartition, example_options()));
  TimestampMs wanted = at_second(31);
  const auto show = [&](std::string title, std::string does, std::string says, const Steps& steps) -> Result<void> {
    TRY(stage.show(std::move(title), std::move(does), says));
    stage.step().lookup = lookup_of(steps, std::move(says));
    stage.step().lookup->timestamp_ms = wanted.value;
    return {};
  };
  using Kind = storage::LookupStepKind;

  TRY(append_example(stage, *log, 0, kExampleSizes.size()));
  TRY(stage.show("The question", fmt::format("append {} records, one each 2 s", kExampleSizes.size()),
                 fmt::format("Somebody wants everything from second {} on, and no record is of just that second. What is wanted is the first offset to read.",
                             seconds_of(wanted))));

  TimeSearch search = TRY(search_time(*log, wanted));
  const storage::LookupStep* segment = last_of(search.steps, Kind::segment);
  const storage::LookupStep* start = last_of(search.steps, Kind::start);
  const storage::LookupStep* scan = last_of(search.steps, Kind::scan);
  const storage::LookupStep* time_entry = nullptr;
  const storage::LookupStep* offset_entry = nullptr;
  for (const storage::LookupStep& step : search.steps) {
    if (step.kind == Kind::time_probe && step.hit) time_entry = &step;
    if (step.kind == Kind::offset_probe && step.hit) offset_entry = &step;
  }
  if (segment == nullptr || start == nullptr || scan == nullptr || time_entry == nullptr || offset_entry == nullptr || !search.found) {
    return Error{Errc::invalid, "the search did not use the indexes"};
  }

  TRY(show("Which segment?", "compare with each segment's largest time",
           fmt::format("From the oldest on: the first segment whose newest record is not before second {} is {}, with second {}. Everything in the older "
                       "ones is too early.",
                       seconds_of(wanted), *segment->segment, seconds_of(*segment->timestamp)),
           up_to(search.steps, Kind::segment)));

  TRY(show("The time index", "search the time index",
           fmt::format("The last entry that is not after second {} says: second {}, offset {} (in the file: {}, relative to the segment). Up to that offset "
                       "no record is later than that, so the answer comes behind it.",
                       seconds_of(wanted), seconds_of(*time_entry->timestamp), *time_entry->offset, time_entry->offset->value - segment->segment->value),
           up_to(search.steps, Kind::time_probe)));

  TRY(show("The offset index", "search the offset index",
           fmt::format("A time index knows offsets, not places. Where offset {} lies tells the offset index: byte {}.", *time_entry->offset,
                       *offset_entry->from),
           up_to(search.steps, Kind::offset_probe)));

  TRY(show("Scan from there", fmt::format("read batch headers from byte {}", *start->from),
           fmt::format("{} headers are read: each has the largest time of its batch. The last one is the first that is late enough.", scan->batches),
           up_to(search.steps, Kind::scan)));

  TRY(show("The record", "look at the batch's records",
           fmt::format("In that batch the records themselves are looked at, for several may be in it. Offset {} of second {} is the answer: the first one "
                       "not before second {}.",
                       search.found->offset, seconds_of(search.found->timestamp), seconds_of(wanted)),
           search.steps));

  wanted = at_second(0);
  search = TRY(search_time(*log, wanted));
  TRY(show("Before everything", fmt::format("look up second {}", seconds_of(wanted)),
           fmt::format("Every record is later: the answer is the first one, offset {}.", search.found ? search.found->offset : Offset{-1}), search.steps));

  wanted = at_second(60);
  search = TRY(search_time(*log, wanted));
  TRY(show("After everything", fmt::format("look up second {}", seconds_of(wanted)),
           "No segment has a record so late: there is no answer. A client is told offset -1, which means none.", search.steps));
  return std::move(stage.demo());
}

}  // namespace cordwood::inspector::demos
