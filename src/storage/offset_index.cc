#include "storage/offset_index.h"

#include <fmt/format.h>

#include <limits>

#include "base/bytes.h"
#include "storage/index_search.h"

namespace cordwood::storage {

namespace {

constexpr std::size_t kRelativeOffset = 0;  // i32
constexpr std::size_t kPosition = kRelativeOffset + 4;  // i32
constexpr std::size_t kSize = kPosition + 4;
static_assert(kSize == OffsetIndex::kEntrySize);

std::int32_t relative_offset(BytesView entry) { return load_be<std::int32_t>(entry, kRelativeOffset); }
std::int32_t position(BytesView entry) { return load_be<std::int32_t>(entry, kPosition); }

BytesView entry_at(BytesView entries, std::int64_t i) {
  return entries.subspan(static_cast<std::size_t>(i) * kSize, kSize);
}

}  // namespace

Result<std::unique_ptr<OffsetIndex>> OffsetIndex::open(io::FileSystem& fs, const io::Path& path, Offset base_offset,
                                                       ByteCount capacity, Growth growth) {
  std::unique_ptr<IndexFile> file = TRY(IndexFile::open(fs, path, kSize, capacity, growth));
  return std::unique_ptr<OffsetIndex>(new OffsetIndex(std::move(file), base_offset));
}

IndexEntry OffsetIndex::lookup(Offset target) const {
  std::int64_t relative = target.value - base_offset_.value;
  IndexEntry none{base_offset_, {0}};
  if (relative < 0) return none;
  return file_->read([&](BytesView entries) {
    std::int64_t count =
        count_entries_before(entries, kSize, [&](BytesView e) { return relative_offset(e) <= relative; });
    if (count == 0) return none;
    BytesView found = entry_at(entries, count - 1);
    // Bytes of a damaged file: the start of the segment is always right.
    if (relative_offset(found) < 0 || position(found) < 0) return none;
    return IndexEntry{{base_offset_.value + relative_offset(found)}, {position(found)}};
  });
}

std::optional<IndexEntry> OffsetIndex::first_at_or_after(FilePosition wanted) const {
  return file_->read([&](BytesView entries) -> std::optional<IndexEntry> {
    std::int64_t below = count_entries_before(entries, kSize, [&](BytesView e) { return position(e) < wanted.value; });
    if (below * static_cast<std::int64_t>(kSize) == static_cast<std::int64_t>(entries.size())) return std::nullopt;
    BytesView found = entry_at(entries, below);
    if (relative_offset(found) < 0) return std::nullopt;
    return IndexEntry{{base_offset_.value + relative_offset(found)}, {position(found)}};
  });
}

Result<void> OffsetIndex::append(Offset last_offset, FilePosition batch_start) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  std::int64_t relative = last_offset.value - base_offset_.value;
  if (relative < 0 || relative > kLargest || batch_start.value < 0 || batch_start.value > kLargest) {
    return Error{Errc::out_of_range, fmt::format("{}: no entry for offset {} at position {} in a segment from {} on",
                                                 path(), last_offset, batch_start, base_offset_)};
  }
  if (std::optional<IndexEntry> previous = last(); previous && previous->offset >= last_offset) {
    return Error{Errc::corrupt, fmt::format("{}: entry {} has offset {}, offset {} cannot follow", path(), entries() - 1,
                                            previous->offset, last_offset)};
  }
  std::byte bytes[kSize];
  store_be<std::int32_t>(bytes, kRelativeOffset, static_cast<std::int32_t>(relative));
  store_be<std::int32_t>(bytes, kPosition, static_cast<std::int32_t>(batch_start.value));
  return file_->append(bytes);
}

std::optional<IndexEntry> OffsetIndex::entry(std::int64_t i) const {
  return file_->read([&](BytesView entries) -> std::optional<IndexEntry> {
    if (i < 0 || i >= static_cast<std::int64_t>(entries.size() / kSize)) return std::nullopt;
    BytesView found = entry_at(entries, i);
    return IndexEntry{{base_offset_.value + relative_offset(found)}, {position(found)}};
  });
}

std::optional<IndexEntry> OffsetIndex::last() const { return entry(entries() - 1); }

std::optional<std::int64_t> OffsetIndex::first_disorder() const {
  return file_->read([&](BytesView entries) -> std::optional<std::int64_t> {
    std::int64_t last_offset = -1;
    std::int64_t last_position = -1;
    auto count = static_cast<std::int64_t>(entries.size() / kSize);
    for (std::int64_t i = 0; i < count; ++i) {
      BytesView e = entry_at(entries, i);
      if (relative_offset(e) <= last_offset || position(e) <= last_position) return i;
      last_offset = relative_offset(e);
      last_position = position(e);
    }
    return std::nullopt;
  });
}

Result<void> OffsetIndex::truncate_to(Offset target) {
  std::int64_t relative = target.value - base_offset_.value;
  TRY(file_->map());
  std::int64_t kept = file_->read([&](BytesView entries) {
    return count_entries_before(entries, kSize, [&](BytesView e) { return relative_offset(e) < relative; });
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
