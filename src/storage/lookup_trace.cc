#include "storage/lookup_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/directory_files.h"
#include "storage/retention.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

std::string describe_probe(const LookupStep& step) {
  const char* what = step.kind == LookupStepKind::time_probe ? "later than" : "above";
  std::string text = fmt::format("entry {} of {}", *step.entry, step.file);
  if (step.timestamp) {
    text += fmt::format(": up to offset {} nothing is later than {}", *step.offset, describe_time(*step.timestamp));
  } else {
    text += fmt::format(": offset {} lies in the batch at position {}", *step.offset, *step.from);
  }
  return text + (step.hit ? fmt::format("; that is not {} what is looked for, so the search goes on behind it", what)
                          : fmt::format("; that is {} what is looked for, so the search goes on before it", what));
}

std::string describe_start(const LookupStep& step) {
  switch (step.why) {
    case ScanStart::indexed: return fmt::format("the index lets the scan of {} start at position {}", step.file, *step.from);
    case ScanStart::no_entry:
      return fmt::format("the scan of {} starts at its first batch: the index has no entry at or below it", step.file);
    case ScanStart::one_window:
      return fmt::format("the scan of {} starts at its first batch: one read holds all of it, and the index would save nothing",
                         step.file);
    case ScanStart::no_index: return fmt::format("the scan of {} starts at its first batch: there is no index", step.file);
    case ScanStart::entry_is_wrong:
      return fmt::format("the scan of {} starts at its first batch: the index points at a place where no batch fits it", step.file);
  }
  return {};
}

std::string describe_scan(const LookupStep& step) {
  std::string text = fmt::format("{} batch header{} of {} {} read, positions {} to {}", step.batches, step.batches == 1 ? "" : "s",
                                 step.file, step.batches == 1 ? "is" : "are", *step.from, *step.to);
  if (step.hit && step.offset) text += fmt::format(": the last one starts with offset {}", *step.offset);
  if (!step.hit) text += ": none of them is it";
  return text;
}

}  // namespace

const char* to_string(LookupStepKind kind) {
  switch (kind) {
    case LookupStepKind::bounds: return "bounds";
    case LookupStepKind::segment: return "segment";
    case LookupStepKind::time_probe: return "time_probe";
    case LookupStepKind::offset_probe: return "offset_probe";
    case LookupStepKind::start: return "start";
    case LookupStepKind::scan: return "scan";
    case LookupStepKind::records: return "records";
    case LookupStepKind::answer: return "answer";
  }
  return "";
}

std::string describe(const LookupStep& step) {
  switch (step.kind) {
    case LookupStepKind::bounds:
      if (step.timestamp) {
        return fmt::format("times are searched from the log start {} to the log end {}", step.log_start, step.log_end);
      }
      return fmt::format("offset {} is {}between log start {} and log end {}", *step.offset, step.hit ? "" : "not ", step.log_start,
                         step.log_end);
    case LookupStepKind::segment:
      if (step.timestamp) {
        if (!step.hit) return fmt::format("none of {} segments holds a record so late", step.batches);
        return fmt::format("segment {} is the first whose largest timestamp, {}, is late enough{}", *step.segment,
                           describe_time(*step.timestamp),
                           step.batches > 0 ? fmt::format("; {} older ones are passed over", step.batches) : std::string());
      }
      return fmt::format("segment {} has the largest base offset that is not above it", *step.segment);
    case LookupStepKind::time_probe:
    case LookupStepKind::offset_probe: return describe_probe(step);
    case LookupStepKind::start: return describe_start(step);
    case LookupStepKind::scan: return describe_scan(step);
    case LookupStepKind::records:
      return fmt::format("{} record{} of the batch at position {} {} looked at: {}", step.records, step.records == 1 ? "" : "s",
                         *step.from, step.records == 1 ? "is" : "are",
                         step.hit ? "the last one is late enough" : "none is late enough");
    case LookupStepKind::answer:
      if (!step.hit) return "there is no such record";
      if (step.timestamp) return fmt::format("offset {} with time {}", *step.offset, describe_time(*step.timestamp));
      return fmt::format("the batch of {} bytes at position {}, offsets from {} on", (*step.to - *step.from), *step.from, *step.offset);
  }
  return {};
}

void LookupTrace::probe(LookupStepKind kind, Offset segment, std::string_view suffix, std::int64_t entry, Offset offset,
                        std::optional<TimestampMs> timestamp, std::optional<FilePosition> position, ByteCount entry_size,
                        bool is_before) {
  if (++probes_ > kMostProbes) return;
  LookupStep& step = add(kind, segment, segment_file_name(segment, suffix));
  step.entry = entry;
  step.offset = offset;
  step.timestamp = timestamp;
  step.from = position;
  step.bytes = entry_size;
  step.hit = is_before;
}

void LookupTrace::scanned(Offset segment, const std::optional<BatchInfo>& batch, bool is_answer) {
  const bool goes_on = !steps_.empty() && steps_.back().kind == LookupStepKind::scan && steps_.back().segment == segment;
  if (!goes_on) {
    const FilePosition start = !steps_.empty() && steps_.back().from ? *steps_.back().from : FilePosition{0};
    LookupStep& made = add(LookupStepKind::scan, segment, segment_file_name(segment, kLogSuffix));
    made.from = batch ? batch->position : start;
    made.to = made.from;
  }
  if (!batch) return;
  LookupStep& step = steps_.back();
  ++step.batches;
  step.offset = batch->base_offset;
  step.timestamp = batch->max_timestamp;
  step.to = batch->end();
  step.last_position = batch->position;
  step.last_offset = batch->last_offset;
  step.hit = is_answer;
}

void LookupTrace::note_reads(const CountedSource& source) {
  if (source.reads() == 0) return;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->kind != LookupStepKind::scan && step->kind != LookupStepKind::start && step->kind != LookupStepKind::records) continue;
    step->bytes += source.bytes();
    step->reads += source.reads();
    return;
  }
}

ByteCount LookupTrace::bytes() const {
  ByteCount sum{0};
  for (const LookupStep& step : steps_) sum += step.bytes;
  return sum;
}

std::int64_t LookupTrace::reads() const {
  std::int64_t sum = 0;
  for (const LookupStep& step : steps_) sum += step.reads;
  return sum;
}

Result<std::size_t> CountedSource::read_at(FilePosition position, MutableBytesView into) const {
  Result<std::size_t> count = source_.read_at(position, into);
  ++reads_;
  if (count) bytes_ += ByteCount{static_cast<std::int64_t>(*count)};
  return count;
}

}  // namespace cordwood::storage
