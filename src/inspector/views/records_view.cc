#include "inspector/views/records_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "inspector/views/views.h"

namespace cordwood::inspector {

Result<EntryWalk> walk_log(const PartitionAt& at, const ExtentAt& extent, Offset from, Offset end, ByteCount most_bytes,
                           const std::function<record::Walk(const EntryAt&)>& visit) {
  EntryWalk walk;
  walk.next = from;
  const auto note = [&](std::string problem) {
    if (walk.problem.empty()) walk.problem = std::move(problem);
  };
  const SegmentAt* segment = extent.floor(from);
  if (segment == nullptr && !extent.segments.empty()) segment = &extent.segments.front();
  const SegmentAt* const behind = extent.segments.data() + extent.segments.size();
  ByteVector bytes;
  int opened = 0;
  for (; segment != nullptr && segment != behind && segment->base < end; ++segment) {
    // Empty segments, of which there may be very many, cost an open each.
    if (++opened > 1000) return walk;
    const Result<OpenSegment> open = open_segment(at, *segment);
    if (!open && open.error().code != Errc::not_found) return open.error();
    if (!open) {
      note(open.error().message());
      continue;
    }
    const Result<FilePosition> start = walk_start_for(at, *open, walk.next);
    if (!start) return start.error();
    storage::BatchScan scan(*open->file, *start, open->end);
    FilePosition counted = *start;
    while (true) {
      if (walk.scanned >= most_bytes) return walk;
      const Result<std::optional<storage::BatchInfo>> next_batch = scan.next();
      if (!next_batch && next_batch.error().code != Errc::corrupt) return next_batch.error();
      if (next_batch && !*next_batch) break;
      if (!next_batch || !is_plausible(**next_batch, segment->base, {})) {
        note(fmt::format("{}: nothing can be read from position {} on: the rest of the segment is passed over", open->name, counted));
        break;
      }
      const storage::BatchInfo& info = **next_batch;
      counted = info.end();
      // Of small batches all bytes are read, of large ones the header.
      walk.scanned += std::min(info.size, ByteCount{8 * KiB});
      if (info.base_offset >= end && info.magic >= 2) {
        walk.complete = true;
        return walk;
      }
      if (info.last_offset < walk.next) continue;
      if (info.size > kLargestShownBatch) {
        note(fmt::format("{}: the batch at position {} is longer than {} bytes and is passed over", open->name, info.position, kLargestShownBatch));
      } else {
        bytes.resize(static_cast<std::size_t>(info.size.value));
        bytes.resize(TRY(open->file->read_at(info.position, bytes)));
        walk.scanned += info.size;
        if (static_cast<std::int64_t>(bytes.size()) < info.size.value) break;
        EntryAt entry{*open, info, bytes, {}};
        if (info.magic >= 2) entry.header = TRY(record::read_header(bytes));
        if (entry.header && !record::BatchView(bytes).crc_is_valid()) {
          note(fmt::format("{}: the batch at position {} (offsets {} to {}) has a wrong checksum: its records may not be what was written", open->name,
                           info.position, info.base_offset, info.last_offset));
        }
        if (visit(entry) == record::Walk::stop) return walk;
      }
      if (info.last_offset == Offset{INT64_MAX}) break;
      walk.next = next(info.last_offset);
    }
    walk.next = std::max(walk.next, segment->next);
  }
  walk.complete = true;
  return walk;
}

Result<api::RecordPage> view_records(const PartitionAt& at, const api::RecordsQuery& query) {
  constexpr ByteCount kMostBytes{64 * MiB};
  const std::int64_t limit = query.limit.value_or(50);
  if (limit < 1 || limit > 200) return Error{Errc::invalid, "limit: must be 1 to 200"};
  const ExtentAt extent = TRY(extent_of(at));
  const Offset from{query.offset};
  if (from < Offset{0} || from > extent.log_end) {
    return Error{Errc::out_of_range, fmt::format("offset {} is not in the log, which ends at {}", from, extent.log_end)};
  }
  api::RecordPage page;
  if (from < extent.log_start) page.says = fmt::format("What lay below the log start {} is gone.", extent.log_start);
  const Offset first = std::max(from, extent.log_start);
  const AbortedTransactions aborted = AbortedTransactions::around(at, extent, first, extent.log_end);
  std::optional<Offset> last_seen;
  bool is_full = false;
  std::string problem;
  const EntryWalk walk = TRY(walk_log(at, extent, first, extent.log_end, kMostBytes, [&](const EntryAt& entry) {
    RecordPlace place{entry.open.at.base, entry.info.position, entry.header && entry.header->is_control(), entry.header && aborted.covers(*entry.header)};
    const auto walked = each_record(entry.bytes, entry.info.magic, [&](const RecordInEntry& record) {
      if (record.record.offset < first) return record::Walk::go_on;
      if (static_cast<std::int64_t>(page.rows.size()) == limit) {
        is_full = true;
        return record::Walk::stop;
      }
      page.rows.push_back(shown_record(at, record, place));
      last_seen = record.record.offset;
      return record::Walk::go_on;
    });
    if (!walked && problem.empty()) {
      problem = fmt::format("{}: the records of the batch at position {} cannot be read: {}", entry.open.name, entry.info.position, walked.error().message());
    }
    return is_full ? record::Walk::stop : record::Walk::go_on;
  }));
  page.scanned_bytes = walk.scanned.value;
  if (is_full) {
    page.next = next(*last_seen).value;
  } else if (!walk.complete && walk.next < extent.log_end) {
    page.next = std::max(walk.next, first).value;
    page.says = fmt::format("So far {} bytes were read; ask again from offset {} on.", walk.scanned, *page.next);
  }
  if (problem.empty()) problem = walk.problem;
  if (!problem.empty()) page.says = (page.says ? *page.says + " " : std::string()) + problem + ".";
  if (page.rows.empty() && !page.says) {
    page.says = from == extent.log_end ? fmt::format("The log ends here: the next record gets offset {}.", extent.log_end)
                                       : std::string("No record is left from here on: compaction removed them.");
  }
  return page;
}

Result<FoundLogRecord> find_log_record(const PartitionAt& at, const ExtentAt& extent, Offset offset) {
  if (offset < Offset{0}) return Error{Errc::invalid, "offset: must be 0 or more"};
  if (offset < extent.log_start) {
    return Error{Errc::not_found, fmt::format("Offset {} is gone: the log starts at {}, what lay below was deleted by retention or by DeleteRecords.",
                                              offset, extent.log_start)};
  }
  if (offset >= extent.log_end) {
    return Error{Errc::not_found, fmt::format("Offset {} is not written yet: the log ends at {}.", offset, extent.log_end)};
  }
  std::optional<FoundLogRecord> found;
  std::string why;
  const EntryWalk walk = TRY(walk_log(at, extent, offset, next(offset), ByteCount{64 * MiB}, [&](const EntryAt& entry) {
    if (entry.info.magic >= 2 && entry.info.base_offset > offset) return record::Walk::stop;
    RecordPlace place{entry.open.at.base, entry.info.position, entry.header && entry.header->is_control(), false};
    if (entry.header) place.aborted = AbortedTransactions::around(at, extent, offset, next(offset)).covers(*entry.header);
    const auto walked = each_record(entry.bytes, entry.info.magic, [&](const RecordInEntry& record) {
      if (record.record.offset < offset) return record::Walk::go_on;
      if (record.record.offset == offset) {
        found.emplace();
        found->record = shown_record(at, record, place);
        found->batch = entry.info;
        found->header = entry.header;
        found->segment = entry.open.at;
        found->aborted = place.aborted;
        if (record.record.key) found->key = to_vector(*record.record.key);
        found->has_value = record.record.value.has_value();
      }
      return record::Walk::stop;
    });
    if (!walked && !found) why = walked.error().message();
    return record::Walk::stop;
  }));
  if (found) {
    found->problem = walk.problem;
    return std::move(*found);
  }
  if (why.empty()) why = walk.problem;
  if (!why.empty()) return Error{Errc::not_found, fmt::format("Offset {} cannot be read: {}.", offset, why)};
  return Error{Errc::not_found,
               fmt::format("Offset {} is gone: it lies between log start {} and log end {}, and no batch holds it any more: compaction removed it, "
                           "because a later record has its key or its tombstone's time was over.",
                           offset, extent.log_start, extent.log_end)};
}

}  // namespace cordwood::inspector
