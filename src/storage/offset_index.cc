#include "storage/offset_index.h"

#include <fmt/format.h>

#include <limits>

#include "base/bytes.h"
#include "storage/index_search.h"
#include "storage/lookup_trace.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {

namespace {

constexpr std::size_t kOffsetEntryRelative = 0;  // i32
constexpr std::size_t kPosition = kOffsetEntryRelative + 4;  // i32
static_assert(kPosition + 4 == OffsetIndex::kEntrySize);

std::int32_t relative_in_offset_entry(BytesView entry) { return load_be<std::int32_t>(entry, kOffsetEntryRelative); }
std::int32_t position(BytesView entry) { return load_be<std::int32_t>(entry, kPosition); }

}  // namespace

Result<std::unique_ptr<OffsetIndex>> OffsetIndex::open(io::FileSystem& fs, const io::Path& path, Offset base_offset,
                                                       ByteCount capacity, Growth growth) {
  std::unique_ptr<IndexFile> file = TRY(IndexFile::open(fs, path, kEntrySize, capacity, growth));
  return std::unique_ptr<OffsetIndex>(new OffsetIndex(std::move(file), base_offset));
}

IndexEntry OffsetIndex::lookup(Offset target, LookupTrace* trace) const {
  IndexEntry none{base_offset_, {0}};
  if (target < base_offset_) return none;
  std::int64_t relative = target.value - base_offset_.value;
  return file_->read([&](BytesView entries) {
    std::int64_t count = count_entries_before(entries, kEntrySize, [&](BytesView e) {
      const bool is_before = relative_in_offset_entry(e) <= relative;
      if (trace != nullptr) {
        trace->probe(LookupStepKind::offset_probe, base_offset_, kOffsetIndexSuffix, (e.data() - entries.data()) / kEntrySize,
                     offset_of_entry(base_offset_, relative_in_offset_entry(e)), {}, FilePosition{position(e)},
                     ByteCount{kEntrySize}, is_before);
      }
      return is_before;
    });
    if (count == 0) return none;
    BytesView found = index_entry(entries, kEntrySize, count - 1);
    // Bytes of a damaged file: the start of the segment is always right.
    if (offset_of_entry(base_offset_, relative_in_offset_entry(found)) < base_offset_ || position(found) < 0) return none;
    return IndexEntry{offset_of_entry(base_offset_, relative_in_offset_entry(found)), {position(found)}};
  });
}

std::optional<IndexEntry> OffsetIndex::first_at_or_after(FilePosition wanted) const {
  return file_->read([&](BytesView entries) -> std::optional<IndexEntry> {
    std::int64_t below = count_entries_before(entries, kEntrySize, [&](BytesView e) { return position(e) < wanted.value; });
    if (below * static_cast<std::int64_t>(kEntrySize) == static_cast<std::int64_t>(entries.size())) return std::nullopt;
    BytesView found = index_entry(entries, kEntrySize, below);
    if (offset_of_entry(base_offset_, relative_in_offset_entry(found)) < base_offset_) return std::nullopt;
    return IndexEntry{offset_of_entry(base_offset_, relative_in_offset_entry(found)), {position(found)}};
  });
}

std::optional<IndexEntry> OffsetIndex::last_at_or_before(FilePosition wanted) const {
  return file_->read([&](BytesView entries) -> std::optional<IndexEntry> {
    std::int64_t count =
        count_entries_before(entries, kEntrySize, [&](BytesView e) { return position(e) <= wanted.value; });
    if (count == 0) return std::nullopt;
    BytesView found = index_entry(entries, kEntrySize, count - 1);
    if (offset_of_entry(base_offset_, relative_in_offset_entry(found)) < base_offset_ || position(found) < 0) return std::nullopt;
    return IndexEntry{offset_of_entry(base_offset_, relative_in_offset_entry(found)), {position(found)}};
  });
}

Result<void> OffsetIndex::append(Offset last_offset, FilePosition batch_start) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (last_offset < base_offset_ || last_offset.value - base_offset_.value > kLargest || batch_start.value < 0 ||
      batch_start.value > kLargest) {
    return Error{Errc::out_of_range, fmt::format("{}: no entry for offset {} at position {} in a segment from {} on",
                                                 path(), last_offset, batch_start, base_offset_)};
  }
  if (std::optional<IndexEntry> previous = last(); previous && previous->offset >= last_offset) {
    return Error{Errc::corrupt, fmt::format("{}: entry {} has offset {}, offset {} cannot follow", path(), entries() - 1,
                                            previous->offset, last_offset)};
  }
  std::byte bytes[kEntrySize];
  store_be<std::int32_t>(bytes, kOffsetEntryRelative, static_cast<std::int32_t>(last_offset.value - base_offset_.value));
  store_be<std::int32_t>(bytes, kPosition, static_cast<std::int32_t>(batch_start.value));
  return file_->append(bytes);
}

Result<void> OffsetIndex::fill(BytesView entries) {
  CHECK(file_->entries() == 0, "{} has {} entries", path(), file_->entries());
  return file_->append(entries);
}

std::optional<IndexEntry> OffsetIndex::entry(std::int64_t i) const {
  return file_->read([&](BytesView entries) -> std::optional<IndexEntry> {
    if (i < 0 || i >= static_cast<std::int64_t>(entries.size() / kEntrySize)) return std::nullopt;
    BytesView found = index_entry(entries, kEntrySize, i);
    return IndexEntry{offset_of_entry(base_offset_, relative_in_offset_entry(found)), {position(found)}};
  });
}

std::optional<IndexEntry> OffsetIndex::last() const { return entry(entries() - 1); }

std::optional<std::int64_t> OffsetIndex::first_disorder() const {
  return file_->read([&](BytesView entries) -> std::optional<std::int64_t> {
    std::int64_t last_offset = -1;
    std::int64_t last_position = -1;
    auto count = static_cast<std::int64_t>(entries.size() / kEntrySize);
    for (std::int64_t i = 0; i < count; ++i) {
      BytesView e = index_entry(entries, kEntrySize, i);
      if (relative_in_offset_entry(e) <= last_offset || position(e) <= last_position) return i;
      last_offset = relative_in_offset_entry(e);
      last_position = position(e);
    }
    return std::nullopt;
  });
}

Result<void> OffsetIndex::truncate_to(Offset target) {
  std::int64_t relative = target < base_offset_ ? 0 : target.value - base_offset_.value;
  TRY(file_->map());
  std::int64_t kept = file_->read([&](BytesView entries) {
    return count_entries_before(entries, kEntrySize, [&](BytesView e) { return relative_in_offset_entry(e) < relative; });
  });
  return truncate_to_entries(kept);
}

Result<void> OffsetIndex::truncate_to_entries(std::int64_t count) {
  file_->keep_first(count);
  return {};
}

Result<void> OffsetIndex::reset() { return file_->reset(); }
Result<void> OffsetIndex::resize_to_capacity() { return file_->resize_to_capacity(); }
Result<void> OffsetIndex::trim() { return file_->trim(); }
Result<void> OffsetIndex::sync() { return file_->sync(); }

}  // namespace cordwood::storage
