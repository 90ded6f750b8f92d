#include "storage/time_index.h"

#include <fmt/format.h>

#include <limits>

#include "base/bytes.h"
#include "storage/index_search.h"
#include "storage/lookup_trace.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {

namespace {

constexpr std::size_t kTimestamp = 0;                    // i64
constexpr std::size_t kTimeEntryRelative = kTimestamp + 8;  // i32
static_assert(kTimeEntryRelative + 4 == TimeIndex::kEntrySize);

std::int64_t timestamp(BytesView entry) { return load_be<std::int64_t>(entry, kTimestamp); }
std::int32_t relative_in_time_entry(BytesView entry) { return load_be<std::int32_t>(entry, kTimeEntryRelative); }

}  // namespace

Result<std::unique_ptr<TimeIndex>> TimeIndex::open(io::FileSystem& fs, const io::Path& path, Offset base_offset,
                                                   ByteCount capacity, OffsetIndex::Growth growth) {
  std::unique_ptr<IndexFile> file = TRY(IndexFile::open(fs, path, kEntrySize, capacity, growth));
  return std::unique_ptr<TimeIndex>(new TimeIndex(std::move(file), base_offset));
}

TimeEntry TimeIndex::lookup(TimestampMs target, LookupTrace* trace) const {
  TimeEntry none{kNoTimestamp, base_offset_};
  return file_->read([&](BytesView entries) {
    std::int64_t count = count_entries_before(entries, kEntrySize, [&](BytesView e) {
      const bool is_before = timestamp(e) <= target.value;
      if (trace != nullptr) {
        trace->probe(LookupStepKind::time_probe, base_offset_, kTimeIndexSuffix, (e.data() - entries.data()) / kEntrySize,
                     offset_of_entry(base_offset_, relative_in_time_entry(e)), TimestampMs{timestamp(e)}, {}, ByteCount{kEntrySize},
                     is_before);
      }
      return is_before;
    });
    if (count == 0) return none;
    BytesView found = index_entry(entries, kEntrySize, count - 1);
    // Bytes of a damaged file: the start of the segment is always right.
    if (offset_of_entry(base_offset_, relative_in_time_entry(found)) < base_offset_) return none;
    return TimeEntry{{timestamp(found)}, offset_of_entry(base_offset_, relative_in_time_entry(found))};
  });
}

TimeEntry TimeIndex::last_or_none() const {
  return entry(entries() - 1).value_or(TimeEntry{kNoTimestamp, base_offset_});
}

Result<void> TimeIndex::maybe_append(TimestampMs taken, Offset offset, Slot slot) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (offset < base_offset_ || offset.value - base_offset_.value > kLargest) {
    return Error{Errc::out_of_range,
                 fmt::format("{}: no entry for offset {} in a segment from {} on", path(), offset, base_offset_)};
  }
  if (slot == Slot::ordinary && is_full()) {
    return Error{Errc::limit, fmt::format("{} is full: {} entries", path(), entries())};
  }
  TimeEntry last = last_or_none();
  if (entries() > 0 && (offset < last.offset || taken < last.timestamp)) {
    return Error{Errc::corrupt, fmt::format("{}: entry {} is ({}, offset {}), ({}, offset {}) cannot follow", path(),
                                            entries() - 1, last.timestamp, last.offset, taken, offset)};
  }
  if (taken <= last.timestamp) return {};
  std::byte bytes[kEntrySize];
  store_be<std::int64_t>(bytes, kTimestamp, taken.value);
  store_be<std::int32_t>(bytes, kTimeEntryRelative, static_cast<std::int32_t>(offset.value - base_offset_.value));
  return file_->append(bytes);
}

Result<void> TimeIndex::fill(BytesView entries) {
  CHECK(file_->entries() == 0, "{} has {} entries", path(), file_->entries());
  return file_->append(entries);
}

std::optional<TimeEntry> TimeIndex::entry(std::int64_t i) const {
  return file_->read([&](BytesView entries) -> std::optional<TimeEntry> {
    if (i < 0 || i >= static_cast<std::int64_t>(entries.size() / kEntrySize)) return std::nullopt;
    BytesView found = index_entry(entries, kEntrySize, i);
    return TimeEntry{{timestamp(found)}, offset_of_entry(base_offset_, relative_in_time_entry(found))};
  });
}

std::optional<std::int64_t> TimeIndex::first_disorder() const {
  return file_->read([&](BytesView entries) -> std::optional<std::int64_t> {
    std::int64_t last_timestamp = kNoTimestamp.value;
    std::int64_t last_offset = -1;
    auto count = static_cast<std::int64_t>(entries.size() / kEntrySize);
    for (std::int64_t i = 0; i < count; ++i) {
      BytesView e = index_entry(entries, kEntrySize, i);
      if (timestamp(e) <= last_timestamp || relative_in_time_entry(e) <= last_offset) return i;
      last_timestamp = timestamp(e);
      last_offset = relative_in_time_entry(e);
    }
    return std::nullopt;
  });
}

Result<void> TimeIndex::truncate_to(Offset target) {
  std::int64_t relative = target < base_offset_ ? 0 : target.value - base_offset_.value;
  TRY(file_->map());
  std::int64_t kept = file_->read([&](BytesView entries) {
    return count_entries_before(entries, kEntrySize, [&](BytesView e) { return relative_in_time_entry(e) < relative; });
  });
  return truncate_to_entries(kept);
}

Result<void> TimeIndex::truncate_to_entries(std::int64_t count) {
  file_->keep_first(count);
  return {};
}

Result<void> TimeIndex::reset() { return file_->reset(); }
Result<void> TimeIndex::resize_to_capacity() { return file_->resize_to_capacity(); }
Result<void> TimeIndex::trim() { return file_->trim(); }
Result<void> TimeIndex::sync() { return file_->sync(); }

}  // namespace cordwood::storage
