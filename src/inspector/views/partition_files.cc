#include "inspector/views/partition_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "client/partitioner.h"
#include "offline/internal_records.h"
#include "offline/rendering.h"
#include "record/control_record.h"
#include "record/legacy.h"
#include "record/record_walk.h"
#include "record/walk.h"
#include "storage/directory_files.h"
#include "storage/index_check.h"
#include "storage/index_search.h"
#include "storage/retention.h"
#include "storage/segment_file_name.h"

namespace cordwood::inspector {
namespace {

constexpr std::int64_t kLongestWalk = 64 * MiB;  // of headers, in bytes of the file that small batches make it read
constexpr std::int64_t kMostWalked = 1'000'000;  // batches

// The end of what can be read of the last segment, where no log says it.
Offset end_of_last(const PartitionAt& at, const SegmentAt& last) {
  Offset end = last.base;
  const Result<OpenSegment> open = open_segment(at, last);
  if (!open) return end;
  const Result<FilePosition> from = walk_start_for(at, *open, Offset{INT64_MAX});
  storage::BatchScan scan(*open->file, from ? *from : FilePosition{0}, open->end);
  for (std::int64_t i = 0; i < kMostWalked; ++i) {
    const Result<std::optional<storage::BatchInfo>> batch = scan.next();
    if (!batch || !*batch || !is_plausible(**batch, last.base, {})) break;
    if ((*batch)->last_offset < Offset{INT64_MAX}) end = std::max(end, next((*batch)->last_offset));
  }
  return end;
}

template <class Reaches>
Result<FoundBatch> walk_to(const OpenSegment& open, FilePosition from, Reaches reaches) {
  storage::BatchScan scan(*open.file, from, open.end);
  FoundBatch found;
  for (std::int64_t i = 0;; ++i) {
    const FilePosition position = scan.position();
    if (i > kMostWalked || ((position - from).value > kLongestWalk && i > kMostWalked / 4)) {
      return Error{Errc::limit, fmt::format("{}: no batch was found within {} batches behind position {}", open.name, i, from)};
    }
    const Result<std::optional<storage::BatchInfo>> batch = scan.next();
    if (!batch && batch.error().code != Errc::corrupt) return batch.error();
    if (!batch || !*batch || !is_plausible(**batch, open.at.base, {})) {
      return Error{Errc::not_found, fmt::format("{}: there is no batch to be read at position {}", open.name, position)};
    }
    found.info = **batch;
    if (reaches(found.info)) return found;
    found.previous = position;
  }
}

// Where an entry of the index points at, when a batch lies there that fits it.
Result<FilePosition> checked_start(const OpenSegment& open, const storage::IndexEntry& entry) {
  if (entry.position <= FilePosition{0} || entry.position >= open.end) return FilePosition{0};
  storage::BatchScan scan(*open.file, entry.position, open.end);
  const Result<std::optional<storage::BatchInfo>> batch = scan.next();
  if (!batch && batch.error().code != Errc::corrupt) return batch.error();
  return batch && *batch && storage::fits(entry, **batch, open.at.base) ? entry.position : FilePosition{0};
}

bool is_whole_utf8(std::string_view text) { return offline::is_utf8(text); }

// The longest front of at most `size` bytes that cuts no character.
std::string_view front_of(std::string_view text, std::size_t size) {
  if (text.size() <= size) return text;
  std::size_t end = size;
  while (end > 0 && size - end < 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::int64_t canonical_size(const record::RecordView& record) {
  const auto sized = [](const std::optional<BytesView>& bytes) {
    if (!bytes) return varint_size(-1);
    return varint_size(static_cast<std::int32_t>(bytes->size())) + bytes->size();
  };
  std::size_t body = 1 + varlong_size(record.timestamp_delta) + varint_size(record.offset_delta) + sized(record.key) + sized(record.value) +
                     varint_size(static_cast<std::int32_t>(record.headers.size()));
  for (const record::HeaderView& header : record.headers) {
    body += varint_size(static_cast<std::int32_t>(header.key.size())) + header.key.size() + sized(header.value);
  }
  return static_cast<std::int64_t>(varint_size(static_cast<std::int32_t>(body)) + body);
}

api::RecordKind kind_of(const record::RecordView& record, bool control) {
  if (!control) return record.key && !record.value ? api::RecordKind::tombstone : api::RecordKind::data;
  if (!record.key) return api::RecordKind::control;
  const Result<record::ControlKey> key = record::parse_control_key(*record.key);
  if (!key) return api::RecordKind::control;
  if (key->type == record::ControlType::abort) return api::RecordKind::abort;
  return key->type == record::ControlType::commit ? api::RecordKind::commit : api::RecordKind::control;
}

}  // namespace

// --- segments ---

const SegmentAt* ExtentAt::floor(Offset offset) const {
  const auto above = std::ranges::upper_bound(segments, offset, {}, &SegmentAt::base);
  return above == segments.begin() ? nullptr : &*std::prev(above);
}

const SegmentAt* ExtentAt::find(Offset base) const {
  const SegmentAt* found = floor(base);
  return found != nullptr && found->base == base ? found : nullptr;
}

Result<ExtentAt> extent_of(const PartitionAt& at, const std::vector<io::DirectoryEntry>* names) {
  ExtentAt extent;
  if (at.log) {
    extent.high_watermark = at.log->high_watermark();
    extent.last_stable = at.log->last_stable_offset();
    extent.log_end = at.log->log_end_offset();
    const std::shared_ptr<const storage::SegmentList> list = at.log->segment_list();
    extent.log_start = at.log->log_start_offset();
    for (const auto& segment : *list) {
      // What was rolled after the end was looked at is not part of this view.
      if (!extent.segments.empty() && segment->base_offset() > extent.log_end) break;
      if (!extent.segments.empty()) extent.segments.back().next = segment->base_offset();
      extent.segments.push_back({segment->base_offset(), extent.log_end, false, segment});
    }
    extent.has_log = !extent.segments.empty();
  }
  if (!extent.has_log) {
    std::vector<io::DirectoryEntry> listed;
    if (names == nullptr) {
      listed = TRY(at.fs->list(at.directory));
      names = &listed;
    }
    for (const io::DirectoryEntry& entry : *names) {
      const storage::SegmentFileName name = storage::parse_segment_file_name(entry.name);
      if (name.kind != storage::SegmentFileKind::log || name.state != storage::SegmentFileState::current || !name.offset) continue;
      if (!extent.segments.empty()) extent.segments.back().next = *name.offset;
      extent.segments.push_back({*name.offset, *name.offset, false, nullptr});
    }
    if (!extent.segments.empty()) {
      extent.log_start = extent.segments.front().base;
      extent.segments.back().next = end_of_last(at, extent.segments.back());
      extent.log_end = extent.segments.back().next;
    }
    extent.high_watermark = extent.log_end;
    extent.last_stable = extent.log_end;
  }
  if (!extent.segments.empty()) extent.segments.back().active = true;
  return extent;
}

Result<OpenSegment> open_segment(const PartitionAt& at, const SegmentAt& segment) {
  OpenSegment open;
  open.at = segment;
  open.name = storage::segment_file_name(segment.base, storage::kLogSuffix);
  // The size before the file: a log that is replaced by the cleaner meanwhile is then read at most to its own end.
  if (segment.segment) open.end = FilePosition{segment.segment->size().value};
  open.file = TRY(at.fs->open(io::join(at.directory, open.name), io::OpenMode::read));
  const ByteCount size = TRY(open.file->size());
  open.end = segment.segment ? std::min(open.end, FilePosition{size.value}) : FilePosition{size.value};
  return open;
}

Result<OpenSegment> open_segment(const PartitionAt& at, const ExtentAt& extent, Offset base) {
  const SegmentAt* segment = extent.find(base);
  if (segment == nullptr) {
    return Error{Errc::not_found, fmt::format("{} has no segment {}", at.partition.to_string(), base)};
  }
  return open_segment(at, *segment);
}

// --- index files ---

Result<std::optional<IndexOnDisk>> IndexOnDisk::open(io::FileSystem& fs, const io::Path& path, std::int64_t entry_size) {
  Result<std::shared_ptr<io::File>> file = fs.open(path, io::OpenMode::read);
  if (!file && file.error().code == Errc::not_found) return std::optional<IndexOnDisk>();
  if (!file) return file.error();
  IndexOnDisk index;
  index.file_ = *file;
  index.entry_size_ = entry_size;
  index.size_ = TRY(index.file_->size());
  index.entries_ = index.size_.value / entry_size;
  const auto is_entry = [](BytesView bytes) { return std::ranges::any_of(bytes, [](std::byte b) { return b != std::byte{0}; }); };
  if (index.entries_ > 0 && !is_entry(TRY(index.read(index.entries_ - 1, 1)))) index.entries_ = TRY(index.count_before(is_entry));
  return std::optional<IndexOnDisk>(std::move(index));
}

Result<ByteVector> IndexOnDisk::read(std::int64_t from, std::int64_t count) const {
  count = std::clamp<std::int64_t>(count, 0, std::max<std::int64_t>(entries_ - from, 0));
  ByteVector bytes(static_cast<std::size_t>(count * entry_size_));
  if (bytes.empty()) return bytes;
  bytes.resize(TRY(file_->read_at(FilePosition{from * entry_size_}, bytes)));
  bytes.resize(bytes.size() - bytes.size() % static_cast<std::size_t>(entry_size_));
  return bytes;
}

storage::IndexEntry offset_entry_of(BytesView entry, Offset base) {
  return {storage::offset_of_entry(base, load_be<std::int32_t>(entry, 0)), {load_be<std::int32_t>(entry, 4)}};
}

storage::TimeEntry time_entry_of(BytesView entry, Offset base) {
  return {{load_be<std::int64_t>(entry, 0)}, storage::offset_of_entry(base, load_be<std::int32_t>(entry, 8))};
}

Result<std::optional<IndexOnDisk>> open_offset_index(const PartitionAt& at, Offset base) {
  return IndexOnDisk::open(*at.fs, io::join(at.directory, storage::segment_file_name(base, storage::kOffsetIndexSuffix)),
                           storage::OffsetIndex::kEntrySize);
}

Result<std::optional<IndexOnDisk>> open_time_index(const PartitionAt& at, Offset base) {
  return IndexOnDisk::open(*at.fs, io::join(at.directory, storage::segment_file_name(base, storage::kTimeIndexSuffix)),
                           storage::TimeIndex::kEntrySize);
}

// --- batches ---

bool is_plausible(const storage::BatchInfo& batch, Offset segment_base, std::optional<Offset> previous_last) {
  if (batch.magic < 0 || batch.magic > 2 || batch.last_offset < batch.base_offset) return false;
  if (batch.base_offset < segment_base || (batch.last_offset - segment_base).value < 0) return false;
  return !previous_last || batch.base_offset > *previous_last;
}

Result<FilePosition> walk_start_at(const PartitionAt& at, const OpenSegment& open, FilePosition position) {
  const std::optional<IndexOnDisk> index = TRY(open_offset_index(at, open.at.base));
  if (!index) return FilePosition{0};
  const std::int64_t count =
      TRY(index->count_before([&](BytesView entry) { return load_be<std::int32_t>(entry, 4) <= position.value; }));
  if (count == 0) return FilePosition{0};
  const ByteVector entry = TRY(index->read(count - 1, 1));
  if (entry.empty()) return FilePosition{0};
  return checked_start(open, offset_entry_of(entry, open.at.base));
}

Result<FilePosition> walk_start_for(const PartitionAt& at, const OpenSegment& open, Offset offset) {
  const std::optional<IndexOnDisk> index = TRY(open_offset_index(at, open.at.base));
  if (!index) return FilePosition{0};
  const std::int64_t count =
      TRY(index->count_before([&](BytesView entry) { return offset_entry_of(entry, open.at.base).offset <= offset; }));
  if (count == 0) return FilePosition{0};
  const ByteVector entry = TRY(index->read(count - 1, 1));
  if (entry.empty()) return FilePosition{0};
  return checked_start(open, offset_entry_of(entry, open.at.base));
}

Result<FoundBatch> batch_holding(const PartitionAt& at, const OpenSegment& open, FilePosition position) {
  if (position < FilePosition{0} || position >= open.end) {
    return Error{Errc::not_found, fmt::format("{} has {} bytes: there is nothing at position {}", open.name, open.end, position)};
  }
  // One byte earlier, so that the batch before an indexed one is met as well.
  const FilePosition before = position > FilePosition{0} ? position - ByteCount{1} : position;
  const auto holds = [&](const storage::BatchInfo& batch) { return batch.end() > position; };
  Result<FoundBatch> found = walk_to(open, TRY(walk_start_at(at, open, before)), holds);
  if (found || found.error().code != Errc::not_found) return found;
  // Damage may lie between: a batch that starts right here needs no walk.
  Result<FoundBatch> here = walk_to(open, position, holds);
  return here ? here : found;
}

Result<FoundBatch> batch_reaching(const PartitionAt& at, const OpenSegment& open, Offset offset) {
  return walk_to(open, TRY(walk_start_for(at, open, offset)),
                 [&](const storage::BatchInfo& batch) { return batch.last_offset >= offset; });
}

// --- aborted transactions ---

std::vector<storage::AbortedEntry> read_aborted(io::FileSystem& fs, const io::Path& path) {
  std::vector<storage::AbortedEntry> entries;
  const Result<ByteVector> bytes = io::read_file(fs, path, ByteCount{4 * MiB});
  if (!bytes) return entries;
  for (std::size_t i = 0; i + storage::TxnIndex::kEntrySize <= bytes->size(); i += storage::TxnIndex::kEntrySize) {
    if (load_be<std::int16_t>(*bytes, i) != 0) break;
    entries.push_back({load_be<std::int64_t>(*bytes, i + 2), Offset{load_be<std::int64_t>(*bytes, i + 10)},
                       Offset{load_be<std::int64_t>(*bytes, i + 18)}, Offset{load_be<std::int64_t>(*bytes, i + 26)}});
  }
  return entries;
}

AbortedTransactions AbortedTransactions::around(const PartitionAt& at, const ExtentAt& extent, Offset from, Offset end) {
  constexpr int kMostFiles = 256;
  constexpr std::size_t kMostEntries = 100'000;
  AbortedTransactions aborted;
  std::size_t entries = 0;
  const SegmentAt* segment = extent.floor(from);
  if (segment == nullptr) return aborted;
  const SegmentAt* const behind = extent.segments.data() + extent.segments.size();
  for (int files = 0; segment != behind && files < kMostFiles && entries < kMostEntries; ++segment, ++files) {
    if (segment->segment && !segment->segment->has_txn_index()) continue;
    bool is_over = false;
    for (const storage::AbortedEntry& entry :
         read_aborted(*at.fs, io::join(at.directory, storage::segment_file_name(segment->base, storage::kTxnIndexSuffix)))) {
      if (entry.last_offset >= from && entry.first_offset < end && ++entries < kMostEntries) {
        aborted.spans_[entry.producer_id].emplace_back(entry.first_offset, entry.last_offset);
      }
      is_over = is_over || entry.last_stable_offset >= end;
    }
    if (is_over) break;
  }
  for (auto& [id, spans] : aborted.spans_) std::ranges::sort(spans);
  return aborted;
}

bool AbortedTransactions::covers(std::int64_t producer_id, Offset offset) const {
  const auto spans = spans_.find(producer_id);
  if (spans == spans_.end()) return false;
  const auto above = std::ranges::upper_bound(spans->second, offset, {}, &std::pair<Offset, Offset>::first);
  return above != spans->second.begin() && std::prev(above)->second >= offset;
}

bool AbortedTransactions::covers(const record::BatchHeader& header) const {
  return header.is_transactional() && !header.is_control() && covers(header.producer_id, header.base_offset);
}

// --- records ---

Result<void> each_record(BytesView entry, std::int8_t magic, const std::function<record::Walk(const RecordInEntry&)>& visit) {
  RecordInEntry shown;
  if (magic >= 2) {
    const record::BatchView batch = TRY(record::BatchView::parse(entry));
    return record::walk_records(
        batch,
        [&](const record::RecordView& record) {
          shown.record = record;
          shown.size = ByteCount{canonical_size(record)};
          const record::Walk wish = visit(shown);
          ++shown.index;
          return wish;
        },
        kInspectorLimits);
  }
  return record::for_each_legacy_record(
      entry,
      [&](const record::LegacyRecord& record) {
        shown.record.offset = record.offset;
        shown.record.timestamp = record.timestamp;
        shown.record.key = record.key;
        shown.record.value = record.value;
        shown.size = ByteCount{static_cast<std::int64_t>((magic == 0 ? record::kLegacyBodyV0 : record::kLegacyBodyV1) + 8 +
                                                         (record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0))};
        const record::Walk wish = visit(shown);
        ++shown.index;
        return wish;
      },
      kInspectorLimits);
}

api::Bytes shown_bytes(BytesView bytes) {
  constexpr std::size_t kMostText = 4096;
  constexpr std::size_t kMostHex = 1024;
  api::Bytes shown;
  shown.size_bytes = static_cast<std::int64_t>(bytes.size());
  shown.hex = hex_of(bytes, kMostHex);
  const std::string_view text = as_text(bytes);
  const std::string_view front = front_of(text, kMostText);
  if (is_whole_utf8(front)) {
    shown.text = std::string(front);
    const bool may_be_json = front.size() == text.size() && !text.empty();
    if (may_be_json && offline::is_json(bytes)) shown.json = std::string(text);
  }
  shown.truncated = shown.text ? front.size() < text.size() : bytes.size() > kMostHex;
  return shown;
}

api::LogRecord shown_record(const PartitionAt& at, const RecordInEntry& in_entry, const RecordPlace& place) {
  constexpr std::size_t kMostHeaders = 100;
  const record::RecordView& record = in_entry.record;
  api::LogRecord shown;
  shown.offset = record.offset.value;
  shown.timestamp_ms = record.timestamp.value;
  shown.kind = kind_of(record, place.control);
  shown.aborted = place.aborted;
  shown.segment = place.segment.value;
  shown.position = place.position.value;
  shown.index_in_batch = in_entry.index;
  shown.size_bytes = in_entry.size.value;
  if (record.key) shown.key = shown_bytes(*record.key);
  if (record.value) shown.value = shown_bytes(*record.value);
  for (const record::HeaderView& header : record.headers) {
    if (shown.headers.size() == kMostHeaders) break;
    api::RecordHeader one;
    const std::string_view name = front_of(header.key, 1024);
    one.key = is_whole_utf8(name) ? std::string(name) : hex_of(as_bytes(name), 512);
    if (header.value) one.value = shown_bytes(*header.value);
    shown.headers.push_back(std::move(one));
  }
  if (place.control) {
    if (record.key) {
      if (const Result<record::ControlKey> key = record::parse_control_key(*record.key)) {
        shown.key->decoded = fmt::format("{{\"version\":{},\"type\":\"{}\"}}", key->version, record::to_string(key->type));
      }
    }
    const bool is_marker = shown.kind == api::RecordKind::commit || shown.kind == api::RecordKind::abort;
    if (record.value && is_marker) {
      if (const Result<record::EndTransactionMarker> marker = record::parse_end_transaction_marker(*record.value)) {
        shown.value->decoded =
            fmt::format("{{\"version\":{},\"coordinatorEpoch\":{}}}", marker->version, marker->coordinator_epoch);
      }
    }
    return shown;
  }
  if (record.key && at.topic_partitions > 0) shown.partition_of_key = client::partition_of_key(*record.key, at.topic_partitions);
  if (offline::is_internal_topic(at.partition.topic)) {
    if (std::optional<std::string> decoded = offline::decode_internal_record(at.partition.topic, record.key, record.value)) {
      api::Bytes* carrier = shown.value ? &*shown.value : shown.key ? &*shown.key : nullptr;
      if (carrier != nullptr) carrier->decoded = std::move(*decoded);
    }
  }
  return shown;
}

// --- words ---

std::string hex_of(BytesView bytes, std::size_t at_most) {
  std::string hex;
  offline::append_hex(hex, bytes.subspan(0, std::min(bytes.size(), at_most)));
  return hex;
}

std::string duration_words(DurationMs duration) {
  std::int64_t ms = duration.value < 0 ? (duration.value == INT64_MIN ? INT64_MAX : -duration.value) : duration.value;
  if (ms < 1000) return fmt::format("{} ms", ms);
  const std::int64_t seconds = ms / 1000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  const std::int64_t minutes = seconds / 60;
  if (minutes < 60) return seconds % 60 == 0 ? fmt::format("{} min", minutes) : fmt::format("{} min {} s", minutes, seconds % 60);
  const std::int64_t hours = minutes / 60;
  if (hours < 48) return minutes % 60 == 0 ? fmt::format("{} h", hours) : fmt::format("{} h {} min", hours, minutes % 60);
  const std::int64_t days = hours / 24;
  return hours % 24 == 0 ? fmt::format("{} days", days) : fmt::format("{} days {} h", days, hours % 24);
}

std::string time_words(TimestampMs time, TimestampMs now) {
  if (time < TimestampMs{0}) return "no time";
  std::string text = storage::describe_time(time);
  const std::int64_t ago = record::subtract_wrapping(now.value, time.value);
  if (ago >= 0) return text + fmt::format(", {} ago", duration_words({ago}));
  return text + fmt::format(", {} from now", duration_words({ago}));
}

std::string records_words(std::int64_t count) { return fmt::format("{} record{}", count, count == 1 ? "" : "s"); }

std::optional<std::int64_t> known_time(TimestampMs time) {
  if (time < TimestampMs{0}) return std::nullopt;
  return time.value;
}

std::string cleanup_policy_of(const storage::LogConfig& config) {
  if (config.cleanup_compact) return config.cleanup_delete ? "compact,delete" : "compact";
  return config.cleanup_delete ? "delete" : "";
}

}  // namespace cordwood::inspector
