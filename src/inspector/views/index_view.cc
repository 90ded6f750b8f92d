#include <fmt/format.h>

#include <algorithm>

#include "inspector/views/partition_files.h"
#include "inspector/views/views.h"
#include "storage/directory_files.h"
#include "storage/index_check.h"
#include "storage/retention.h"
#include "storage/segment_file_name.h"

namespace cordwood::inspector {
namespace {

api::IndexEntry offset_row(const OpenSegment& open, const storage::IndexEntry& entry, const std::optional<storage::IndexEntry>& previous) {
  api::IndexEntry row;
  row.offset = entry.offset.value;
  row.position = entry.position.value;
  if (previous && (entry.offset <= previous->offset || entry.position <= previous->position)) {
    row.says = "It does not lie above the entry before it: the file is damaged.";
    return row;
  }
  if (entry.position < FilePosition{0} || entry.position >= open.end) {
    row.says = fmt::format("It points behind the end of {}, which has {} bytes.", open.name, open.end);
    return row;
  }
  storage::BatchScan scan(*open.file, entry.position, open.end);
  const auto batch = scan.next();
  if (!batch || !*batch || !is_plausible(**batch, open.at.base, {})) {
    row.says = fmt::format("No batch begins at position {}.", entry.position);
    return row;
  }
  row.fits = storage::fits(entry, **batch, open.at.base);
  if (!row.fits) {
    row.says = fmt::format("The batch at position {} ends with offset {}, behind what the entry says.", entry.position, (*batch)->last_offset);
  } else if ((*batch)->last_offset == entry.offset) {
    row.says = fmt::format("The batch of offsets {} to {} begins at position {}.", (*batch)->base_offset, entry.offset, entry.position);
  } else {
    row.says = fmt::format("A search for an offset from {} on may begin at position {}, where the batch of offset {} lies.", entry.offset,
                           entry.position, (*batch)->base_offset);
  }
  return row;
}

api::IndexEntry time_row(const PartitionAt& at, const OpenSegment& open, const storage::TimeEntry& entry,
                         const std::optional<storage::TimeEntry>& previous) {
  api::IndexEntry row;
  row.offset = entry.offset.value;
  row.timestamp_ms = entry.timestamp.value;
  if (previous && (entry.offset <= previous->offset || entry.timestamp <= previous->timestamp)) {
    row.says = "It does not lie above the entry before it: the file is damaged.";
    return row;
  }
  if (entry.offset < open.at.base) {
    row.says = "Its offset lies below the segment.";
    return row;
  }
  const auto found = batch_reaching(at, open, entry.offset);
  if (!found) {
    row.says = found.error().message();
    return row;
  }
  row.position = found->info.position.value;
  row.fits = storage::fits(entry, found->info);
  row.says = row.fits ? fmt::format("Up to offset {} no record is later than {}; the batch that reaches it lies at position {}.", entry.offset,
                                    storage::describe_time(entry.timestamp), found->info.position)
                      : fmt::format("The batch that reaches offset {} has the largest time {}, and not what the entry says.", entry.offset,
                                    storage::describe_time(found->info.max_timestamp));
  return row;
}

}  // namespace

Result<api::IndexPage> view_index(const PartitionAt& at, const api::IndexQuery& query) {
  const std::int64_t from = query.from.value_or(0);
  const std::int64_t limit = query.limit.value_or(100);
  if (from < 0) return Error{Errc::invalid, "from: must be 0 or more"};
  if (limit < 1 || limit > 500) return Error{Errc::invalid, "limit: must be 1 to 500"};
  const bool by_time = query.kind == api::IndexKind::time;
  const std::int64_t entry_size = by_time ? storage::TimeIndex::kEntrySize : storage::OffsetIndex::kEntrySize;
  const ExtentAt extent = TRY(extent_of(at));
  const OpenSegment open = TRY(open_segment(at, extent, Offset{query.base}));
  const Offset base = open.at.base;
  api::IndexPage page;
  page.file = storage::segment_file_name(base, by_time ? storage::kTimeIndexSuffix : storage::kOffsetIndexSuffix);
  const std::optional<IndexOnDisk> index = TRY(by_time ? open_time_index(at, base) : open_offset_index(at, base));
  if (!index) {
    page.problem = "There is no such file: a look-up reads the segment from its first batch on.";
    return page;
  }
  page.file_bytes = index->file_size().value;
  page.entries_total = index->entries();
  if (page.file_bytes % entry_size != 0) {
    page.problem = fmt::format("{} bytes are not a whole number of entries of {}.", page.file_bytes, entry_size);
  }
  // With the one before, to see whether they ascend.
  const std::int64_t first = std::max<std::int64_t>(std::min(from, index->entries()) - 1, 0);
  const ByteVector bytes = TRY(index->read(first, limit + 1));
  std::optional<storage::IndexEntry> last_offset;
  std::optional<storage::TimeEntry> last_time;
  for (std::int64_t i = 0; (i + 1) * entry_size <= static_cast<std::int64_t>(bytes.size()); ++i) {
    const BytesView raw = BytesView(bytes).subspan(static_cast<std::size_t>(i * entry_size), static_cast<std::size_t>(entry_size));
    const std::int64_t number = first + i;
    const bool is_shown = number >= from && static_cast<std::int64_t>(page.rows.size()) < limit;
    if (by_time) {
      const storage::TimeEntry entry = time_entry_of(raw, base);
      if (is_shown) page.rows.push_back(time_row(at, open, entry, last_time));
      last_time = entry;
    } else {
      const storage::IndexEntry entry = offset_entry_of(raw, base);
      if (is_shown) page.rows.push_back(offset_row(open, entry, last_offset));
      last_offset = entry;
    }
    if (!is_shown) continue;
    page.rows.back().number = number;
    page.rows.back().at = number * entry_size;
    page.rows.back().hex = hex_of(raw, raw.size());
  }
  return page;
}

}  // namespace cordwood::inspector
