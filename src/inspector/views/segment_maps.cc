#include "inspector/views/segment_maps.h"

#include <fmt/format.h>

#include <algorithm>

#include "inspector/views/views.h"
#include "record/legacy.h"
#include "record/walk.h"
#include "storage/directory_files.h"
#include "storage/index_check.h"
#include "storage/lookup_trace.h"
#include "storage/readable_batches.h"
#include "storage/segment_file_name.h"

namespace cordwood::inspector {
namespace {

// A search byte by byte for the next batch behind damage looks at so much at a time.
constexpr ByteCount kResyncWindow{256 * KiB};

MappedBatch mapped(const storage::BatchInfo& info, const storage::BatchScan& scan, Offset base) {
  MappedBatch batch;
  batch.position = static_cast<std::uint32_t>(info.position.value);
  batch.size = static_cast<std::uint32_t>(info.size.value);
  batch.base_delta = static_cast<std::uint32_t>((info.base_offset - base).value);
  batch.last_delta = static_cast<std::uint32_t>((info.last_offset - base).value);
  batch.timestamp = info.max_timestamp.value;
  if (info.magic >= 2) {
    const record::BatchHeader header = scan.header();
    batch.records = std::max(header.record_count, 0);
    batch.producer_id = header.producer_id;
    if (header.is_transactional()) batch.flags |= kTransactionalCell;
    if (header.is_control()) batch.flags |= kControlCell;
    if (header.codec_bits() != 0) batch.flags |= kCompressedCell;
    if (header.record_count == 0) batch.flags |= kEmptyCell;
    return batch;
  }
  batch.records = 1;
  batch.flags = kLegacyCell;
  const BytesView bytes = scan.header_bytes();
  if (bytes.size() > record::kLegacyAttributes && (std::to_integer<int>(bytes[record::kLegacyAttributes]) & 7) != 0) batch.flags |= kCompressedCell;
  return batch;
}

bool is_all_zero(BytesView bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

// One look at one segment.
class SegmentMaps::Reading {
 public:
  Reading(const PartitionAt& at, const OpenSegment& open, const Clock& clock, Segment& segment)
      : at_(at), open_(open), source_(*open.file), clock_(clock), segment_(segment), began_(clock.monotonic()) {}

  Result<Window> run(FilePosition from, FilePosition to, const std::function<void(const MappedBatch&)>& visit) REQUIRES(segment_.mu) {
    TRY(forget_what_changed());
    const FilePosition end = open_.end;
    from = std::clamp(from, FilePosition{0}, end);
    to = std::clamp(to, from, end);
    Window window;
    at_position_ = static_cast<std::uint32_t>(TRY(start_of_walk(from)).value);
    bool has_first = false;
    window.from = from;
    window.to = from;
    while (FilePosition{at_position_} < to) {
      if (is_over_budget()) {
        window.complete = false;
        break;
      }
      const Result<std::optional<MappedBatch>> next = next_batch();
      if (!next) return next.error();
      if (!*next) break;
      MappedBatch batch = **next;
      if (FilePosition{batch.end()} <= from) continue;
      if (!has_first) window.from = window.verified_to = FilePosition{batch.position};
      has_first = true;
      window.to = FilePosition{batch.end()};
      if (window.verified_to == FilePosition{batch.position} && TRY(verify(batch))) window.verified_to = window.to;
      if ((batch.flags & kDamagedCell) != 0) {
        const auto fault = segment_.faults.find(batch.position);
        window.faults.push_back(fault == segment_.faults.end() ? "nothing can be read here" : fault->second);
      }
      visit(batch);
    }
    // A walk that could not even reach the window goes on from where it came to.
    if (!window.complete && !has_first) window.from = window.to = FilePosition{at_position_};
    if (!has_first) window.verified_to = window.from;
    window.scanned = source_.bytes();
    return window;
  }

 private:
  bool is_over_budget() const {
    if (seen_ >= kMostScanned * 4 || read_ >= kMostScanned || source_.bytes() >= kMostRead) return true;
    return seen_ % 256 == 0 && clock_.monotonic() - began_ > kLongest;
  }

  // --- what is kept ---

  Result<bool> is_as_it_was(const Fingerprint& print) REQUIRES(segment_.mu) {
    if (FilePosition{print.position} + ByteCount{static_cast<std::int64_t>(print.bytes.size())} > open_.end) return false;
    ByteVector now(print.bytes.size());
    now.resize(TRY(source_.read_at(FilePosition{print.position}, now)));
    return now == print.bytes;
  }

  Result<void> forget_what_changed() REQUIRES(segment_.mu) {
    const std::int64_t size = open_.end.value;
    const bool may_have_grown = segment_.was_active && size >= segment_.seen_size;
    bool same = size == segment_.seen_size || may_have_grown;
    for (auto run = segment_.runs.begin(); same && run != segment_.runs.end(); ++run) {
      same = TRY(is_as_it_was(run->second.first)) && TRY(is_as_it_was(run->second.last));
    }
    // A damaged end may have been a batch that was being written.
    if (same && size != segment_.seen_size) drop_damage_at_end();
    if (!same) {
      segment_.runs.clear();
      segment_.faults.clear();
      segment_.batches = 0;
    }
    segment_.seen_size = size;
    segment_.was_active = open_.at.active;
    return {};
  }

  void drop_damage_at_end() REQUIRES(segment_.mu) {
    if (segment_.runs.empty()) return;
    const auto last = std::prev(segment_.runs.end());
    Run& run = last->second;
    if ((run.batches.back().flags & kDamagedCell) == 0) return;
    segment_.faults.erase(run.batches.back().position);
    run.batches.pop_back();
    --segment_.batches;
    if (run.batches.empty()) {
      segment_.runs.erase(last);
    } else {
      run.last = print_of(run.batches.back());
    }
  }

  Fingerprint print_of(const MappedBatch& batch) {
    Fingerprint print;
    print.position = batch.position;
    print.bytes.resize(std::min<std::size_t>(batch.size, record::kHeaderSize));
    const Result<std::size_t> count = open_.file->read_at(FilePosition{batch.position}, print.bytes);
    print.bytes.resize(count ? *count : 0);
    return print;
  }

  void keep(const MappedBatch& batch, std::string fault) REQUIRES(segment_.mu) {
    if (!fault.empty()) segment_.faults[batch.position] = std::move(fault);
    if (segment_.batches >= kMostBatches) return;
    // The run that ends here goes on; else one begins.
    auto run = segment_.runs.upper_bound(batch.position);
    const bool goes_on = run != segment_.runs.begin() && std::prev(run)->second.to() == batch.position;
    if (goes_on) {
      run = std::prev(run);
    } else {
      run = segment_.runs.emplace(batch.position, Run{}).first;
      run->second.first = print_of(batch);
    }
    run->second.batches.push_back(batch);
    ++segment_.batches;
  }

 public:
  // The end of each run that was made longer is known once the look is over.
  void finish() REQUIRES(segment_.mu) {
    for (auto& [start, run] : segment_.runs) {
      if (run.last.bytes.empty() || run.last.position != run.batches.back().position) run.last = print_of(run.batches.back());
    }
    // Runs that touch become one.
    for (auto run = segment_.runs.begin(); run != segment_.runs.end();) {
      const auto following = std::next(run);
      if (following == segment_.runs.end() || run->second.to() != following->first) {
        run = following;
        continue;
      }
      auto& into = run->second;
      into.batches.insert(into.batches.end(), following->second.batches.begin(), following->second.batches.end());
      into.last = std::move(following->second.last);
      segment_.runs.erase(following);
    }
  }

 private:
  // --- checksums ---

  // Whether the batch's checksum was looked at, now or before; `batch` tells what came of it. False: that would be too much for
  // this look. Errors: io.
  Result<bool> verify(MappedBatch& batch) REQUIRES(segment_.mu) {
    if ((batch.flags & (kVerifiedCell | kUnreadableCell)) != 0) return true;
    const ByteCount size{batch.size};
    // One that is larger than all that may be read is verified alone.
    if (verified_ > ByteCount{0} && verified_ + size > kMostVerified) return false;
    if (size > kLargestShownBatch || clock_.monotonic() - began_ > kLongest) return false;
    verified_ += size;
    ByteVector bytes(batch.size);
    bytes.resize(TRY(source_.read_at(FilePosition{batch.position}, bytes)));
    // It was cut off meanwhile: the next look meets that.
    if (bytes.size() < batch.size) return false;
    batch.flags |= kVerifiedCell;
    if (const Result<record::EntryInfo> entry = record::check_entry(bytes); !entry) {
      batch.flags |= kDamagedCell;
      segment_.faults[batch.position] = entry.error().what;
    }
    if (MappedBatch* kept = kept_at(batch.position)) kept->flags = batch.flags;
    return true;
  }

  MappedBatch* kept_at(std::uint32_t position) REQUIRES(segment_.mu) {
    auto run = segment_.runs.upper_bound(position);
    if (run == segment_.runs.begin()) return nullptr;
    auto& batches = std::prev(run)->second.batches;
    const auto found = std::ranges::lower_bound(batches, position, {}, &MappedBatch::position);
    return found == batches.end() || found->position != position ? nullptr : &*found;
  }

  // --- where a walk begins ---

  Result<FilePosition> start_of_walk(FilePosition from) REQUIRES(segment_.mu) {
    const auto position = static_cast<std::uint32_t>(from.value);
    auto run = segment_.runs.upper_bound(position);
    FilePosition best{0};
    if (run != segment_.runs.begin()) {
      const Run& before = std::prev(run)->second;
      if (position < before.to()) {
        const auto above = std::ranges::upper_bound(before.batches, position, {}, &MappedBatch::position);
        return FilePosition{std::prev(above)->position};
      }
      best = FilePosition{before.to()};
    }
    return std::max(best, TRY(walk_start_at(at_, open_, from)));
  }

  // --- the walk ---

  // The batch or damaged place at the present position, which moves behind it. Nothing at the end.
  Result<std::optional<MappedBatch>> next_batch() REQUIRES(segment_.mu) {
    ++seen_;
    if (const MappedBatch* known = known_at(at_position_)) {
      at_position_ = known->end();
      return std::optional(*known);
    }
    if (FilePosition{at_position_} >= open_.end) return std::optional<MappedBatch>();
    ++read_;
    if (!scan_ || scan_->position() != FilePosition{at_position_}) scan_.emplace(source_, FilePosition{at_position_}, open_.end);
    const Result<std::optional<storage::BatchInfo>> info = scan_->next();
    if (!info && info.error().code != Errc::corrupt) return info.error();
    const bool is_batch = info && *info && is_plausible(**info, open_.at.base, {}) &&
                          (*info)->last_offset <= open_.at.base + OffsetDelta{INT32_MAX} && fits_before_known(**info);
    if (is_batch) {
      const MappedBatch batch = mapped(**info, *scan_, open_.at.base);
      keep(batch, {});
      at_position_ = batch.end();
      return std::optional(batch);
    }
    std::string why = info ? std::string("what should be a batch is incomplete, or makes no sense") : info.error().what;
    if (info && *info) {
      why = fmt::format("what should be a batch tells offsets {} to {}, which cannot be in this segment", (*info)->base_offset,
                        (*info)->last_offset);
    }
    return damaged_place(std::move(why));
  }

  const MappedBatch* known_at(std::uint32_t position) REQUIRES(segment_.mu) {
    if (hint_ != nullptr && hint_index_ < hint_->batches.size() && hint_->batches[hint_index_].position == position) {
      return &hint_->batches[hint_index_++];
    }
    hint_ = nullptr;
    auto run = segment_.runs.upper_bound(position);
    if (run == segment_.runs.begin()) return nullptr;
    const Run& before = std::prev(run)->second;
    if (position >= before.to()) return nullptr;
    const auto found = std::ranges::lower_bound(before.batches, position, {}, &MappedBatch::position);
    if (found == before.batches.end() || found->position != position) return nullptr;
    hint_ = &before;
    hint_index_ = static_cast<std::size_t>(found - before.batches.begin()) + 1;
    return &*found;
  }

  // A batch that reaches into one which is known was no batch.
  bool fits_before_known(const storage::BatchInfo& info) const REQUIRES(segment_.mu) {
    const auto run = segment_.runs.upper_bound(static_cast<std::uint32_t>(info.position.value));
    return run == segment_.runs.end() || info.end() <= FilePosition{run->first};
  }

  // Up to the next batch that can be read: one that the index points at, or one that is found byte by byte.
  Result<std::optional<MappedBatch>> damaged_place(std::string why) REQUIRES(segment_.mu) {
    const FilePosition from{at_position_};
    FilePosition end = open_.end;
    if (const auto run = segment_.runs.upper_bound(at_position_); run != segment_.runs.end()) end = FilePosition{run->first};
    if (const std::optional<FilePosition> indexed = TRY(next_indexed(from))) end = std::min(end, *indexed);
    const FilePosition window_end = std::min(end, from + kResyncWindow);
    ByteVector front(static_cast<std::size_t>((window_end - from).value));
    front.resize(TRY(source_.read_at(from, front)));
    if (is_all_zero(front) && end == open_.end && TRY(is_zero_to_the_end(window_end))) {
      // Room that was reserved, or never written: the batches end here.
      at_position_ = static_cast<std::uint32_t>(open_.end.value);
      return std::optional<MappedBatch>();
    }
    if (!is_all_zero(front)) {
      const auto runs = TRY(storage::find_readable(source_, from + ByteCount{1}, window_end, open_.at.base, storage::Survey::first_batch_only));
      if (!runs.empty()) end = std::min(end, runs.front().start);
    }
    // Nothing near: the place goes on to the index's next batch, or window by window.
    if (end > window_end && end == open_.end) end = window_end;
    MappedBatch place;
    place.position = at_position_;
    place.size = static_cast<std::uint32_t>((end - from).value);
    place.flags = kDamagedCell | kUnreadableCell;
    keep(place, std::move(why));
    at_position_ = place.end();
    return std::optional(place);
  }

  // As far as this look may read.
  Result<bool> is_zero_to_the_end(FilePosition from) {
    ByteVector bytes(static_cast<std::size_t>(kResyncWindow.value));
    while (from < open_.end && source_.bytes() < kMostRead) {
      bytes.resize(static_cast<std::size_t>(std::min(kResyncWindow, open_.end - from).value));
      bytes.resize(TRY(source_.read_at(from, bytes)));
      if (bytes.empty()) return true;
      if (!is_all_zero(bytes)) return false;
      from += ByteCount{static_cast<std::int64_t>(bytes.size())};
    }
    return true;
  }

  // Where the first entry of the offset index behind `from` points at, when a batch is there that fits it.
  Result<std::optional<FilePosition>> next_indexed(FilePosition from) {
    const std::optional<IndexOnDisk> index = TRY(open_offset_index(at_, open_.at.base));
    if (!index) return std::optional<FilePosition>();
    const std::int64_t before = TRY(index->count_before([&](BytesView entry) { return load_be<std::int32_t>(entry, 4) <= from.value; }));
    const ByteVector entries = TRY(index->read(before, 16));
    for (std::size_t i = 0; i + storage::OffsetIndex::kEntrySize <= entries.size(); i += storage::OffsetIndex::kEntrySize) {
      const storage::IndexEntry entry = offset_entry_of(BytesView(entries).subspan(i, storage::OffsetIndex::kEntrySize), open_.at.base);
      if (entry.position <= from || entry.position >= open_.end) continue;
      storage::BatchScan scan(source_, entry.position, open_.end);
      const auto batch = scan.next();
      if (batch && *batch && storage::fits(entry, **batch, open_.at.base)) return std::optional(entry.position);
    }
    return std::optional<FilePosition>();
  }

  const PartitionAt& at_;
  const OpenSegment& open_;
  const storage::CountedSource source_;
  const Clock& clock_;
  Segment& segment_;
  const MonotonicNs began_;
  std::uint32_t at_position_ = 0;
  std::size_t seen_ = 0;
  std::size_t read_ = 0;
  ByteCount verified_;
  std::optional<storage::BatchScan> scan_;
  const Run* hint_ = nullptr;
  std::size_t hint_index_ = 0;
};

Result<SegmentMaps::Window> SegmentMaps::read(const PartitionAt& at, const OpenSegment& open, FilePosition from, FilePosition to,
                                              const std::function<void(const MappedBatch&)>& visit) {
  if (open.end > FilePosition{INT32_MAX}) {
    return Error{Errc::limit, fmt::format("{} has {} bytes, more than a segment can have", open.name, open.end)};
  }
  const Key key(at.directory, open.at.base);
  const std::shared_ptr<Segment> segment = find(key);
  Result<Window> window = Error{Errc::io, ""};
  std::size_t bytes = 0;
  {
    MutexLock lock(segment->mu);
    Reading reading(at, open, clock_, *segment);
    window = reading.run(from, to, visit);
    reading.finish();
    bytes = segment->batches * sizeof(MappedBatch);
    for (const auto& [position, fault] : segment->faults) bytes += sizeof(Run) + fault.size();
    bytes += segment->runs.size() * (sizeof(Run) + 2 * record::kHeaderSize);
  }
  account(key, segment, bytes);
  return window;
}

std::vector<std::pair<MappedBatch, std::string>> SegmentMaps::known_damage(const io::Path& directory, Offset base, std::size_t at_most) {
  std::vector<std::pair<MappedBatch, std::string>> damage;
  std::shared_ptr<Segment> segment;
  {
    MutexLock lock(mu_);
    const auto found = segments_.find(Key(directory, base));
    if (found == segments_.end()) return damage;
    segment = found->second.segment;
  }
  MutexLock lock(segment->mu);
  for (const auto& [position, fault] : segment->faults) {
    if (damage.size() >= at_most) break;
    const auto run = segment->runs.upper_bound(position);
    if (run == segment->runs.begin()) continue;
    const std::vector<MappedBatch>& batches = std::prev(run)->second.batches;
    const auto batch = std::ranges::lower_bound(batches, position, {}, &MappedBatch::position);
    if (batch != batches.end() && batch->position == position) damage.emplace_back(*batch, fault);
  }
  return damage;
}

std::shared_ptr<SegmentMaps::Segment> SegmentMaps::find(const Key& key) {
  MutexLock lock(mu_);
  const auto found = segments_.find(key);
  if (found != segments_.end()) {
    used_.splice(used_.begin(), used_, found->second.place);
    return found->second.segment;
  }
  used_.push_front(key);
  auto segment = std::make_shared<Segment>();
  segments_.emplace(key, Kept{segment, 0, used_.begin()});
  return segment;
}

void SegmentMaps::account(const Key& key, const std::shared_ptr<Segment>& segment, std::size_t bytes) {
  constexpr std::size_t kOverhead = 512;  // of a segment that holds nothing
  MutexLock lock(mu_);
  const auto found = segments_.find(key);
  if (found == segments_.end() || found->second.segment != segment) return;
  bytes_ += bytes + kOverhead;
  bytes_ -= found->second.bytes;
  found->second.bytes = bytes + kOverhead;
  while (bytes_ > static_cast<std::size_t>(kMostBytes.value) && !used_.empty()) {
    const auto oldest = segments_.find(used_.back());
    bytes_ -= oldest->second.bytes;
    segments_.erase(oldest);
    used_.pop_back();
  }
}

ByteCount SegmentMaps::kept() const {
  MutexLock lock(mu_);
  return ByteCount{static_cast<std::int64_t>(bytes_)};
}

// --- the view ---

namespace {

// Cells of at least `cell_bytes`, so that no more than were asked for come out.
class CellMaker {
 public:
  CellMaker(Offset base, ByteCount cell_bytes) : base_(base), cell_bytes_(cell_bytes) {}

  void add(const MappedBatch& batch) {
    const bool is_damage = (batch.flags & kUnreadableCell) != 0;
    const bool joins = open_ && size_ < cell_bytes_.value;
    if (!joins) flush();
    if (!open_) {
      open_ = true;
      position_ = batch.position;
      size_ = batches_ = records_ = 0;
      timestamp_ = -1;
      flags_ = 0;
      first_ = last_ = -1;
    }
    size_ += batch.size;
    flags_ |= batch.flags & kShownCell;
    if (is_damage) return;
    if (first_ < 0) first_ = base_.value + batch.base_delta;
    last_ = base_.value + batch.last_delta;
    ++batches_;
    records_ += batch.records;
    timestamp_ = std::max(timestamp_, batch.timestamp);
  }

  api::Cells take() {
    flush();
    return std::move(cells_);
  }

 private:
  void flush() {
    if (!open_) return;
    open_ = false;
    cells_.position.push_back(position_);
    cells_.size_bytes.push_back(size_);
    cells_.batches.push_back(batches_);
    cells_.records.push_back(records_);
    cells_.base.push_back(first_);
    cells_.last.push_back(last_);
    cells_.timestamp_ms.push_back(timestamp_);
    cells_.flags.push_back(flags_);
  }

  const Offset base_;
  const ByteCount cell_bytes_;
  api::Cells cells_;
  bool open_ = false;
  std::int64_t position_ = 0, size_ = 0, batches_ = 0, records_ = 0, timestamp_ = -1, first_ = -1, last_ = -1;
  std::int64_t flags_ = 0;
};

// The entries of the index within the window, evenly thinned out where they are more than are wanted.
Result<void> add_index_points(const PartitionAt& at, Offset base, const SegmentMaps::Window& window, std::int64_t most, api::SegmentMap& answer) {
  const std::optional<IndexOnDisk> index = TRY(open_offset_index(at, base));
  if (!index) return {};
  const auto before = [&](FilePosition position) {
    return index->count_before([&](BytesView entry) { return load_be<std::int32_t>(entry, 4) < position.value; });
  };
  const std::int64_t first = TRY(before(window.from));
  const std::int64_t end = std::max(first, TRY(before(window.to)));
  answer.index_entries = end - first;
  const std::int64_t step = std::max<std::int64_t>((answer.index_entries + most - 1) / most, 1);
  // Neighbours are read together, others one by one.
  const ByteVector together = step == 1 ? TRY(index->read(first, end - first)) : ByteVector();
  for (std::int64_t i = first; i < end; i += step) {
    const ByteVector alone = step == 1 ? ByteVector() : TRY(index->read(i, 1));
    const auto at_byte = static_cast<std::size_t>((i - first) * storage::OffsetIndex::kEntrySize);
    const BytesView bytes = step == 1 ? BytesView(together) : BytesView(alone);
    const std::size_t start = step == 1 ? at_byte : 0;
    if (start + storage::OffsetIndex::kEntrySize > bytes.size()) break;
    const storage::IndexEntry entry = offset_entry_of(bytes.subspan(start, storage::OffsetIndex::kEntrySize), base);
    answer.index.position.push_back(entry.position.value);
    answer.index.offset.push_back(entry.offset.value);
  }
  return {};
}

}  // namespace

api::Damage damage_row(const SegmentAt& segment, const MappedBatch& batch, const std::string& fault) {
  api::Damage row;
  row.file = storage::segment_file_name(segment.base, storage::kLogSuffix);
  row.position = batch.position;
  row.size_bytes = batch.size;
  row.says = fault.empty() ? std::string("nothing can be read here") : fault;
  const bool has_header = (batch.flags & kUnreadableCell) == 0;
  if (has_header) {
    row.first_offset = segment.base.value + batch.base_delta;
    row.last_offset = segment.base.value + batch.last_delta;
    row.says = fmt::format("offsets {} to {}: {}", *row.first_offset, *row.last_offset, row.says);
  }
  if (segment.active) {
    row.says += "; a start after a crash cuts the log here, and keeps what can be read behind it";
  } else {
    row.says += has_header ? "; it is served as it is, and consumers that check it fail here" : "; nothing between here and the next batch can be read";
  }
  return row;
}

Result<api::SegmentMap> view_segment_map(const PartitionAt& at, const api::SegmentMapQuery& query, SegmentMaps& maps) {
  const MonotonicNs began = maps.clock().monotonic();
  const std::int64_t most = query.max_cells.value_or(1000);
  if (most < 1 || most > 4000) return Error{Errc::invalid, "max_cells: must be 1 to 4000"};
  if (query.from_position.value_or(0) < 0) return Error{Errc::invalid, "from_position: must be 0 or more"};
  if (query.to_position && *query.to_position < query.from_position.value_or(0)) {
    return Error{Errc::invalid, "to_position: must not lie before from_position"};
  }
  const ExtentAt extent = TRY(extent_of(at));
  const OpenSegment open = TRY(open_segment(at, extent, Offset{query.base}));
  api::SegmentMap answer;
  answer.base = query.base;
  answer.file_bytes = open.end.value;
  const FilePosition from = std::min(FilePosition{query.from_position.value_or(0)}, open.end);
  const FilePosition to = query.to_position ? std::min(FilePosition{*query.to_position}, open.end) : open.end;
  const AbortedTransactions aborted = AbortedTransactions::around(at, extent, open.at.base, std::max(open.at.next, Offset{open.at.base.value}));
  std::vector<MappedBatch> damaged;
  std::vector<MappedBatch> few;  // as long as they are no more than cells
  // Where there are more, cells of equal length in bytes.
  std::optional<CellMaker> maker;
  const auto limit = static_cast<std::size_t>(most);
  const SegmentMaps::Window window = TRY(maps.read(at, open, from, to, [&](const MappedBatch& batch) {
    MappedBatch shown = batch;
    const bool is_data = (batch.flags & (kTransactionalCell | kControlCell)) == kTransactionalCell;
    if (is_data && aborted.covers(batch.producer_id, Offset{open.at.base.value + batch.base_delta})) shown.flags |= kAbortedCell;
    if ((batch.flags & kDamagedCell) != 0 && damaged.size() < 200) damaged.push_back(batch);
    few.push_back(shown);
  }));
  const std::int64_t span = std::max<std::int64_t>((window.to - window.from).value, 1);
  maker.emplace(open.at.base, few.size() <= limit ? ByteCount{0} : ByteCount{(span + most - 1) / most});
  for (const MappedBatch& batch : few) maker->add(batch);
  answer.cells = maker->take();
  answer.from_position = window.from.value;
  answer.to_position = window.to.value;
  answer.complete = window.complete;
  answer.scanned_bytes = window.scanned.value;
  TRY(add_index_points(at, open.at.base, window, most, answer));
  answer.verified_to = window.verified_to.value;
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    answer.damage.push_back(damage_row(open.at, damaged[i], i < window.faults.size() ? window.faults[i] : std::string()));
  }
  answer.microseconds = (maps.clock().monotonic() - began).value / 1000;
  return answer;
}

}  // namespace cordwood::inspector
