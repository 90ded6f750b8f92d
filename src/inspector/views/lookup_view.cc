#include <fmt/format.h>
#include <sys/resource.h>

#include "inspector/engine_values.h"
#include "inspector/views/partition_files.h"
#include "inspector/views/views.h"
#include "storage/lookup_trace.h"
#include "storage/retention.h"

namespace cordwood::inspector {
namespace {

// Pages that this thread had to wait for, from memory or from the disk.
std::optional<std::int64_t> page_faults() {
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return std::nullopt;
  return usage.ru_minflt + usage.ru_majflt;
}

}  // namespace

Result<api::Lookup> view_lookup(const PartitionAt& at, const api::LookupQuery& query, const Clock& clock) {
  if (query.offset.has_value() == query.timestamp_ms.has_value()) {
    return Error{Errc::invalid, "offset: one of offset and timestamp_ms is needed, and not both"};
  }
  if (!at.log) {
    return Error{Errc::not_found, fmt::format("{} could not be opened as a log{}{}: there is no look-up to be shown", at.partition.to_string(),
                                              at.why_no_log.empty() ? "" : ": ", at.why_no_log)};
  }
  api::Lookup answer;
  answer.offset = query.offset;
  answer.timestamp_ms = query.timestamp_ms;
  storage::LookupTrace trace;
  const std::optional<std::int64_t> faults_before = page_faults();
  const MonotonicNs began = clock.monotonic();
  std::optional<Error> failed;
  std::optional<storage::FoundRecord> found_record;
  if (query.offset) {
    storage::ReadOptions read;
    read.from = Offset{*query.offset};
    read.max_bytes = ByteCount{1};
    read.at_least_one_batch = true;
    read.limit = storage::ReadLimit::log_end;
    const auto result = at.log->read(read, &trace);
    if (!result) failed = result.error();
  } else {
    const auto result = at.log->find_by_timestamp(TimestampMs{*query.timestamp_ms}, &trace);
    if (!result) failed = result.error();
    if (result) found_record = *result;
  }
  answer.microseconds = (clock.monotonic() - began).value / 1000;
  const std::optional<std::int64_t> faults_after = page_faults();
  if (faults_before && faults_after) answer.page_faults = *faults_after - *faults_before;
  if (failed && failed->code != Errc::out_of_range && failed->code != Errc::corrupt) return *failed;

  tell_steps(trace.steps(), answer);
  if (failed) {
    answer.says = failed->what + ".";
    return answer;
  }
  if (!answer.found) {
    answer.says = query.offset ? fmt::format("No batch reaches offset {}: the next record will get it, or a later one.", *query.offset)
                               : fmt::format("No record is as late as {}: a consumer that asks for this time starts at the end.",
                                             storage::describe_time(TimestampMs{*query.timestamp_ms}));
    return answer;
  }
  if (found_record) {
    answer.found_offset = found_record->offset.value;
    answer.found_timestamp_ms = found_record->timestamp.value;
    answer.says = fmt::format("Offset {} is the first record that is not earlier than {}: it has {}.", found_record->offset,
                              storage::describe_time(TimestampMs{*query.timestamp_ms}), storage::describe_time(found_record->timestamp));
  } else {
    answer.found_offset = std::max(*query.offset, answer.batch_base.value_or(*query.offset));
    answer.says = fmt::format("Offset {} lies in the batch of offsets {} to {}, at position {} of segment {}.", *query.offset,
                              answer.batch_base.value_or(-1), answer.batch_last.value_or(-1), answer.position.value_or(-1), answer.segment.value_or(-1));
    if (answer.batch_base && *answer.batch_base > *query.offset) {
      answer.says = fmt::format("Offset {} is not there any more; the next batch holds offsets {} to {}, at position {} of segment {}.", *query.offset,
                                *answer.batch_base, answer.batch_last.value_or(-1), answer.position.value_or(-1), answer.segment.value_or(-1));
    }
  }
  return answer;
}

}  // namespace cordwood::inspector
