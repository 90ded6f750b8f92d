#include "offline/record_walk.h"

#include <fmt/format.h>

#include "record/legacy.h"
#include "record/record_walk.h"
#include "storage/batch_scan.h"
#include "storage/forward_reader.h"
#include "storage/readable_batches.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {
namespace {

constexpr FilePosition kStart{0};

// The entry at `position` with its checksum checked; nothing and a reason when there is none.
struct EntryFound {
  BytesView bytes;
  std::optional<record::EntryInfo> info;
  std::string why;
};

Result<EntryFound> entry_at(storage::ForwardReader& reader, FilePosition position, FilePosition end) {
  EntryFound found;
  if (end - position < ByteCount{static_cast<std::int64_t>(record::kMagicPrefix)}) {
    found.why = "incomplete batch header";
    return found;
  }
  const auto prefix_bytes = TRY(reader.at_hand(position, record::kMagicPrefix));
  if (!prefix_bytes) {
    found.why = "incomplete batch header";
    return found;
  }
  const Result<record::EntryPrefix> prefix = record::read_prefix(*prefix_bytes);
  if (!prefix) {
    found.why = prefix.error().what;
    return found;
  }
  if (prefix->total_size() > end - position) {
    found.why = fmt::format("a batch of {} bytes reaches beyond the {} that are left", prefix->total_size(), end - position);
    return found;
  }
  const auto bytes = TRY(reader.bytes_at(position, static_cast<std::size_t>(prefix->total_size().value)));
  if (!bytes) {
    found.why = "incomplete batch";
    return found;
  }
  found.bytes = *bytes;
  Result<record::EntryInfo> info = record::check_entry(*bytes);
  if (info) {
    found.info = *std::move(info);
  } else {
    found.why = info.error().what;
  }
  return found;
}

Result<bool> only_zeros(const ByteSource& file, FilePosition from, FilePosition end) {
  ByteVector window(64 * KiB);
  while (from < end) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>((end - from).value, 64 * KiB));
    const std::size_t count = TRY(file.read_at(from, MutableBytesView(window).first(wanted)));
    if (count == 0) return true;
    for (std::size_t i = 0; i < count; ++i) {
      if (window[i] != std::byte{0}) return false;
    }
    from += ByteCount{static_cast<std::int64_t>(count)};
  }
  return true;
}

// Where batches can be read again behind `bad`; `end` when nowhere.
Result<FilePosition> next_readable(const ByteSource& file, FilePosition bad, FilePosition end, Offset segment_base) {
  const auto runs = TRY(storage::find_readable(file, bad, end, segment_base, storage::Survey::first_batch_only));
  return runs.empty() ? end : runs.front().start;
}

}  // namespace

Result<std::vector<Damage>> walk_entries(const ByteSource& file, FilePosition from, FilePosition end, Offset segment_base,
                                         const VisitEntry& visit) {
  std::vector<Damage> damage;
  storage::ForwardReader reader(file, end);
  FilePosition position = from;
  while (position < end) {
    const EntryFound found = TRY(entry_at(reader, position, end));
    if (found.info) {
      if (visit(found.bytes, *found.info, position) == record::Walk::stop) return damage;
      position += found.info->size;
      continue;
    }
    const FilePosition next = TRY(next_readable(file, position, end, segment_base));
    if (next == end && TRY(only_zeros(file, position, end))) break;
    damage.push_back({position, next - position, found.why});
    position = next;
  }
  return damage;
}

Result<void> walk_records_of(BytesView entry, const record::EntryInfo& info,
                             const std::function<record::Walk(const record::RecordView&)>& visit) {
  if (info.magic == 2) return record::walk_records(record::BatchView(entry), visit, kWalkLimits);
  record::RecordView view;
  return record::for_each_legacy_record(
      entry,
      [&](const record::LegacyRecord& legacy) {
        view.offset = legacy.offset;
        view.timestamp = legacy.timestamp;
        view.key = legacy.key;
        view.value = legacy.value;
        return visit(view);
      },
      kWalkLimits);
}

FilePosition indexed_start(io::FileSystem& fs, const PartitionOnDisk& partition, const SegmentOnDisk& segment,
                           const ByteSource& log, Offset target) {
  const io::Path path =
      io::join(partition.directory, storage::segment_file_name(segment.base_offset, storage::kOffsetIndexSuffix));
  const auto index = io::read_file(fs, path);
  if (!index) return kStart;
  const BytesView bytes = *index;
  std::size_t low = 0;
  std::size_t high = bytes.size() / 8;
  const auto offset_at = [&](std::size_t i) {
    return record::add_wrapping(segment.base_offset.value, load_be<std::int32_t>(bytes, i * 8));
  };
  const auto position_at = [&](std::size_t i) { return load_be<std::int32_t>(bytes, i * 8 + 4); };
  // Zeros behind the entries of an active segment's index sort as if they were beyond everything.
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (position_at(middle) > 0 && offset_at(middle) <= target.value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return kStart;
  const FilePosition position{position_at(low - 1)};
  if (position >= FilePosition{segment.size.value}) return kStart;
  storage::BatchScan scan(log, position, FilePosition{segment.size.value});
  const auto batch = scan.next();
  const bool fits = batch && *batch && (*batch)->magic <= 2 && (*batch)->last_offset.value == offset_at(low - 1);
  return fits ? position : kStart;
}

bool PiecePlan::in_range(const PartitionOnDisk& partition, std::size_t segment) const {
  if (range_.end && partition.segments[segment].base_offset >= *range_.end) return false;
  const bool has_next = segment + 1 < partition.segments.size();
  return !range_.from || !has_next || partition.segments[segment + 1].base_offset > *range_.from;
}

ByteCount PiecePlan::total() const {
  ByteCount total{0};
  for (const PartitionOnDisk* partition : partitions_) {
    for (std::size_t i = 0; i < partition->segments.size(); ++i) {
      if (in_range(*partition, i)) total += partition->segments[i].size;
    }
  }
  return total;
}

bool PiecePlan::open_next_segment() {
  for (; partition_ < partitions_.size(); ++partition_, segment_ = 0) {
    const PartitionOnDisk& partition = *partitions_[partition_];
    for (; segment_ < partition.segments.size(); ++segment_) {
      const SegmentOnDisk& segment = partition.segments[segment_];
      if (segment.size == ByteCount{0} || !in_range(partition, segment_)) continue;
      auto file = fs_.open(partition.log_file(segment), io::OpenMode::read);
      if (!file) {
        warnings_.push_back(file.error().message());
        continue;
      }
      Piece& piece = current_.emplace();
      piece.partition = &partition;
      piece.segment = segment_++;
      piece.file = *std::move(file);
      piece.end = FilePosition{segment.size.value};
      piece.from = range_.from ? indexed_start(fs_, partition, segment, *piece.file, *range_.from) : kStart;
      return true;
    }
  }
  return false;
}

std::optional<Piece> PiecePlan::next() {
  if (!current_ && !open_next_segment()) return {};
  Piece piece = *current_;
  const FilePosition end = current_->end;
  std::optional<storage::BatchScan> scan(std::in_place, *piece.file, piece.from, end);
  FilePosition position = piece.from;
  while (position < end && position - piece.from < piece_size_) {
    const auto batch = scan->next();
    if (!batch && batch.error().code == Errc::io) {
      warnings_.push_back(batch.error().message());
      position = end;
    } else if (batch && *batch) {
      if (range_.end && (*batch)->magic == 2 && (*batch)->base_offset >= *range_.end) {
        position = end;
        break;
      }
      position = (*batch)->end();
    } else {
      // A length that makes no sense: whoever works on the piece tells it as damage. Cut where it can be read again.
      const auto next = next_readable(*piece.file, position, end, piece.on_disk().base_offset);
      position = next ? *next : end;
      scan.emplace(*piece.file, position, end);
    }
  }
  piece.end = position;
  piece.is_last_of_segment = position >= end;
  if (piece.is_last_of_segment) {
    current_.reset();
  } else {
    current_->from = position;
  }
  return piece;
}

int walking_threads() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

}  // namespace cordwood::offline
