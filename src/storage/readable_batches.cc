#include "storage/readable_batches.h"

#include <optional>

#include "base/bytes.h"
#include "record/walk.h"
#include "storage/forward_reader.h"

namespace cordwood::storage {
namespace {

constexpr std::int64_t kOverhead = 12;       // offset and length field
constexpr std::int64_t kShortestLength = 14; // of any message or batch

class Surveyor {
 public:
  Surveyor(const ByteSource& log, FilePosition from, FilePosition end, Offset segment_base)
      : log_(log, end), position_(from), end_(end), segment_base_(segment_base) {}

  Result<std::vector<ReadableRun>> run(Survey survey) {
    while (TRY(log_.bytes_at(position_, record::kMagicPrefix))) {
      std::optional<record::EntryInfo> entry = TRY(batch_at(position_));
      if (!entry) {
        const FilePosition next = TRY(next_candidate());
        if (next == end_) break;
        position_ = next;
        continue;
      }
      take(*entry);
      if (survey == Survey::first_batch_only) break;
    }
    return std::move(runs_);
  }

 private:
  // A batch starts here and its checksum is right.
  Result<std::optional<record::EntryInfo>> batch_at(FilePosition position) {
    const std::optional<std::int64_t> size = TRY(plausible_size(position));
    if (!size) return std::optional<record::EntryInfo>();
    const std::optional<BytesView> bytes = TRY(log_.bytes_at(position, static_cast<std::size_t>(*size)));
    if (!bytes) return std::optional<record::EntryInfo>();
    const Result<record::EntryInfo> entry = record::check_entry(*bytes);
    if (!entry) return std::optional<record::EntryInfo>();
    return std::optional(*entry);
  }

  // How long an entry at `position` would be, when its header makes sense.
  Result<std::optional<std::int64_t>> plausible_size(FilePosition position) {
    const std::optional<BytesView> prefix = TRY(log_.bytes_at(position, record::kMagicPrefix));
    if (!prefix) return std::optional<std::int64_t>();
    const std::int64_t length = load_be<std::int32_t>(*prefix, 8);
    const auto magic = std::to_integer<std::int8_t>((*prefix)[16]);
    if (length < kShortestLength || length > (end_ - position).value - kOverhead) return std::optional<std::int64_t>();
    if (magic < 0 || magic > 2 || load_be<std::int64_t>(*prefix, 0) < 0) return std::optional<std::int64_t>();
    return std::optional(length + kOverhead);
  }

  void take(const record::EntryInfo& entry) {
    if (runs_.empty() || runs_.back().end != position_) runs_.push_back({position_, position_, entry.base_offset, {}, 0, 0});
    ReadableRun& run = runs_.back();
    position_ += entry.size;
    run.end = position_;
    run.last_offset = entry.last_offset;
    ++run.batches;
    run.records += entry.header ? entry.header->record_count : 1;
  }

  // Behind a bad batch: where it says that the next one starts, if one does; else the next byte that could start one.
  Result<FilePosition> next_candidate() {
    if (const std::optional<std::int64_t> size = TRY(plausible_size(position_))) {
      const FilePosition behind = position_ + ByteCount{*size};
      if (TRY(batch_at(behind))) return behind;
    }
    for (FilePosition at = position_ + ByteCount{1};; ) {
      const std::optional<BytesView> bytes = TRY(log_.bytes_at(at, record::kMagicPrefix));
      if (!bytes) return end_;
      // No length field that holds any of eight zero bytes alone makes sense: files are often full of them.
      if (load_be<std::int64_t>(*bytes, 8) == 0) {
        at += ByteCount{5};
        continue;
      }
      // The checksum of what cannot be a batch of this segment would have to be computed for one byte in some hundred.
      const Offset offset{load_be<std::int64_t>(*bytes, 0)};
      if (offset >= segment_base_ && (offset - segment_base_).value <= INT32_MAX && TRY(batch_at(at))) return at;
      at += ByteCount{1};
    }
  }

  ForwardReader log_;
  FilePosition position_;
  const FilePosition end_;
  const Offset segment_base_;
  std::vector<ReadableRun> runs_;
};

}  // namespace

Result<std::vector<ReadableRun>> find_readable(const ByteSource& log, FilePosition from, FilePosition end,
                                               Offset segment_base, Survey survey) {
  return Surveyor(log, from, end, segment_base).run(survey);
}

}  // namespace cordwood::storage
