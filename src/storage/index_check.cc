#include "storage/index_check.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/bytes.h"

namespace cordwood::storage {
namespace {

// Wraps where a file's name promises offsets near the largest; such an entry then lies below its base.
Offset offset_at(Offset base, BytesView entry, std::size_t field) {
  return {static_cast<std::int64_t>(static_cast<std::uint64_t>(base.value) +
                                    static_cast<std::uint64_t>(std::int64_t{load_be<std::int32_t>(entry, field)}))};
}

// The whole entries of an index file, read one by one.
class EntryFile {
 public:
  static Result<EntryFile> open(io::FileSystem& fs, const io::Path& path, std::int64_t entry_size) {
    Result<std::shared_ptr<io::File>> file = fs.open(path, io::OpenMode::read);
    if (!file && file.error().code == Errc::not_found) return EntryFile(nullptr, 0, entry_size);
    if (!file) return file.error();
    const ByteCount size = TRY((*file)->size());
    return EntryFile(std::move(*file), size.value, entry_size);
  }
  std::int64_t count() const { return size_ / entry_size_; }
  bool is_whole() const { return size_ % entry_size_ == 0; }
  // `into` has the size of an entry; zeros when the file became shorter.
  Result<void> read(std::int64_t number, MutableBytesView into) const {
    std::ranges::fill(into, std::byte{0});
    TRY(file_->read_at(FilePosition{number * entry_size_}, into));
    return {};
  }

 private:
  EntryFile(std::shared_ptr<io::File> file, std::int64_t size, std::int64_t entry_size)
      : file_(std::move(file)), size_(size), entry_size_(entry_size) {}
  std::shared_ptr<io::File> file_;
  std::int64_t size_;
  std::int64_t entry_size_;
};

class Check {
 public:
  Check(const io::File& log, EntryFile offsets, Offset base_offset, FilePosition end)
      : log_(log), offsets_(std::move(offsets)), base_offset_(base_offset), end_(end) {}

  // Where a search for `target` may start; the start of the file when the index is of no help.
  Result<FilePosition> start_for(Offset target) const {
    std::int64_t low = 0;
    std::int64_t high = offsets_.count();
    IndexEntry found{base_offset_, {0}};
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const IndexEntry entry = TRY(offset_entry(middle));
      if (entry.offset <= target) {
        found = entry;
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (found.position <= FilePosition{0} || found.position >= end_) return FilePosition{0};
    BatchScan scan(log_, found.position, end_);
    const Result<std::optional<BatchInfo>> batch = scan.next();
    if (!batch && batch.error().code != Errc::corrupt) return batch.error();
    return batch && *batch && fits(found, **batch, base_offset_) ? found.position : FilePosition{0};
  }

  Result<bool> is_right_about_its_batch(const TimeEntry& entry) const {
    BatchScan scan(log_, TRY(start_for(entry.offset)), end_);
    while (true) {
      const std::optional<BatchInfo> batch = TRY(next(scan));
      if (!batch) return false;
      if (batch->last_offset >= entry.offset) return fits(entry, *batch);
    }
  }

  // The largest timestamp from `from` on.
  Result<TimeEntry> newest(FilePosition from) const {
    TimeEntry max{kNoTimestamp, base_offset_};
    BatchScan scan(log_, from, end_);
    while (const std::optional<BatchInfo> batch = TRY(next(scan))) {
      if (batch->max_timestamp > max.timestamp) max = {batch->max_timestamp, batch->last_offset};
    }
    return max;
  }

 private:
  // Where the headers stop making sense the file ends.
  static Result<std::optional<BatchInfo>> next(BatchScan& scan) {
    Result<std::optional<BatchInfo>> batch = scan.next();
    if (!batch && batch.error().code == Errc::corrupt) return std::optional<BatchInfo>();
    return batch;
  }

  Result<IndexEntry> offset_entry(std::int64_t number) const {
    std::array<std::byte, OffsetIndex::kEntrySize> raw;
    TRY(offsets_.read(number, raw));
    return IndexEntry{offset_at(base_offset_, raw, 0), {load_be<std::int32_t>(raw, 4)}};
  }

  const io::File& log_;
  EntryFile offsets_;
  Offset base_offset_;
  FilePosition end_;
};

}  // namespace

Result<CheckedMaxTimestamp> check_max_timestamp(io::FileSystem& fs, const SegmentPaths& paths, Offset base_offset,
                                                FilePosition end) {
  CheckedMaxTimestamp checked{{kNoTimestamp, base_offset}, true};
  if (end == FilePosition{0}) return checked;
  const std::shared_ptr<io::File> log = TRY(fs.open(paths.log, io::OpenMode::read));
  const EntryFile times = TRY(EntryFile::open(fs, paths.time_index, TimeIndex::kEntrySize));
  const Check check(*log, TRY(EntryFile::open(fs, paths.offset_index, OffsetIndex::kEntrySize)), base_offset, end);
  if (times.count() > 0) {
    std::array<std::byte, TimeIndex::kEntrySize> raw;
    TRY(times.read(times.count() - 1, raw));
    checked.max = {{load_be<std::int64_t>(raw, 0)}, offset_at(base_offset, raw, 8)};
    checked.index_fits = times.is_whole() && TRY(check.is_right_about_its_batch(checked.max));
  }
  if (checked.index_fits) {
    const FilePosition last_indexed = TRY(check.start_for(Offset{INT64_MAX}));
    checked.index_fits = TRY(check.newest(last_indexed)).timestamp <= checked.max.timestamp;
  }
  if (!checked.index_fits) checked.max = TRY(check.newest(FilePosition{0}));
  return checked;
}

}  // namespace cordwood::storage
