#include "storage/check/salvage.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "record/record_walk.h"
#include "storage/batch_scan.h"
#include "storage/directory_files.h"
#include "storage/readable_batches.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

constexpr std::int64_t kLongestLog = std::numeric_limits<std::int32_t>::max();

// Offsets that are spoken for.
class TakenOffsets {
 public:
  bool overlaps(Offset first, Offset last) const {
    const auto behind = ends_.upper_bound(last);
    return behind != ends_.begin() && std::prev(behind)->second >= first;
  }
  void take(Offset first, Offset last) { ends_.emplace(first, last); }
  bool has_something_behind(Offset offset) const { return ends_.upper_bound(offset) != ends_.end(); }

 private:
  std::map<Offset, Offset> ends_;  // first offset -> last one; disjoint
};

class SalvagePlanner {
 public:
  SalvagePlanner(io::FileSystem& fs, const io::Path& directory, const PartitionCheck& check, CheckDepth depth)
      : fs_(fs), directory_(directory), check_(check), depth_(depth) {}

  Result<Salvage> run() {
    for (const CheckedSegment& segment : check_.checked) bases_.insert(segment.base);
    for (const CheckedSegment& segment : check_.checked) {
      if (segment.is_whole) {
        add_whole(segment);
      } else {
        TRY(survey(segment));
      }
    }
    TRY(choose());
    lay_out();
    tell_left_out();
    tell_lost();
    return std::move(plan_);
  }

 private:
  // The file that should hold an offset; the first one for what lies below all.
  Offset home_of(Offset offset) const {
    const auto behind = bases_.upper_bound(offset);
    return behind == bases_.begin() ? *bases_.begin() : *std::prev(behind);
  }

  void add_whole(const CheckedSegment& segment) {
    if (segment.batches == 0) return;
    found_.push_back({segment.base, FilePosition{0}, FilePosition{segment.size.value}, segment.first_offset,
                      Offset{segment.end_offset.value - 1}, segment.batches, segment.records, false, false});
  }

  Result<std::shared_ptr<io::File>> open(Offset base) {
    return fs_.open(io::join(directory_, segment_file_name(base, kLogSuffix)), io::OpenMode::read);
  }

  // The readable parts of a damaged file, cut where offsets do not rise and where those of another file begin.
  Result<void> survey(const CheckedSegment& segment) {
    const std::shared_ptr<io::File> log = TRY(open(segment.base));
    std::vector<SalvagedRun> batches;
    for (const ReadableRun& run : TRY(find_readable(*log, FilePosition{0}, FilePosition{segment.size.value}, segment.base))) {
      TRY(walk(*log, segment.base, run.start, run.end, [&](const SalvagedRun& batch) { batches.push_back(batch); }));
    }
    const std::vector<bool> rises = longest_rise(batches);
    const auto is_placed = [&](std::size_t i) { return i < batches.size() && rises[i]; };
    for (std::size_t i = 0; i < batches.size(); ++i) {
      // Alone among neighbours that follow each other: not a block that was moved, but a damaged offset, unless it is just what is
      // missing elsewhere.
      const bool is_alone = !rises[i] && i > 0 && is_placed(i - 1) && is_placed(i + 1);
      const bool is_far = (batches[i].last_offset - segment.base).value > kLongestLog && !(i > 0 && follows(batches[i - 1], batches[i])) &&
                          !(i + 1 < batches.size() && follows(batches[i], batches[i + 1]));
      const bool is_put_right = is_alone && correct(batches[i - 1], batches[i], batches[i + 1]);
      if (!is_put_right && (is_far || (is_alone && !is_missing_elsewhere(batches, batches[i])))) {
        misplaced_.push_back(batches[i]);
        continue;
      }
      std::vector<SalvagedRun>& target = rises[i] || batches[i].is_corrected ? found_ : moved_;
      // Cut at gaps as well: what was moved may have its place there.
      const bool joins = !target.empty() && continues(target.back(), batches[i]) && follows(target.back(), batches[i]) &&
                         home_of(target.back().first_offset) == home_of(batches[i].first_offset);
      if (joins) {
        append(target.back(), batches[i]);
      } else {
        target.push_back(batches[i]);
      }
    }
    return {};
  }

  static bool follows(const SalvagedRun& a, const SalvagedRun& b) { return next(a.last_offset) == b.first_offset; }

  static bool is_missing_elsewhere(const std::vector<SalvagedRun>& batches, const SalvagedRun& batch) {
    const bool has_before = std::ranges::any_of(batches, [&](const SalvagedRun& other) { return follows(other, batch); });
    const bool has_behind = std::ranges::any_of(batches, [&](const SalvagedRun& other) { return follows(batch, other); });
    const bool is_twice = std::ranges::count(batches, batch.first_offset, &SalvagedRun::first_offset) > 1;
    return has_before && has_behind && !is_twice;
  }

  // Which of the batches belong to the longest sequence of rising offsets.
  static std::vector<bool> longest_rise(const std::vector<SalvagedRun>& batches) {
    std::vector<bool> rises(batches.size(), true);
    const auto falls = [](const SalvagedRun& a, const SalvagedRun& b) { return b.first_offset <= a.last_offset; };
    if (std::ranges::adjacent_find(batches, falls) == batches.end()) return rises;
    rises.assign(batches.size(), false);
    constexpr std::size_t kNone = SIZE_MAX;
    std::vector<std::size_t> ends;  // [n]: the batch with the lowest offset that ends a rise of n + 1
    std::vector<std::size_t> before(batches.size(), kNone);
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const auto at = std::ranges::lower_bound(ends, batches[i].first_offset, {}, [&](std::size_t n) { return batches[n].first_offset; });
      if (at != ends.begin()) {
        before[i] = *std::prev(at);
        if (falls(batches[before[i]], batches[i])) continue;
      }
      if (at == ends.end()) {
        ends.push_back(i);
      } else {
        *at = i;
      }
    }
    for (std::size_t i = ends.empty() ? kNone : ends.back(); i != kNone; i = before[i]) rises[i] = true;
    return rises;
  }

  // Whether the batch, with another offset, is just what is missing between its neighbours. Only of magic 2 the offset is in one
  // place alone.
  static bool correct(const SalvagedRun& previous, SalvagedRun& batch, const SalvagedRun& following) {
    const Offset due = next(previous.last_offset);
    const Offset last = due + (batch.last_offset - batch.first_offset);
    const bool lies_between = previous.end == batch.start && batch.end == following.start;
    if (!lies_between || next(last) != following.first_offset || !batch.is_movable) return false;
    batch.first_offset = due;
    batch.last_offset = last;
    batch.is_corrected = true;
    return true;
  }

  static bool continues(const SalvagedRun& run, const SalvagedRun& batch) {
    return run.file == batch.file && run.end == batch.start && run.last_offset < batch.first_offset && !run.is_corrected && !batch.is_corrected;
  }
  static void append(SalvagedRun& run, const SalvagedRun& batch) {
    run.end = batch.end;
    run.last_offset = batch.last_offset;
    run.batches += batch.batches;
    run.records += batch.records;
  }

  // Each batch of a readable stretch as a run of its own.
  template <class Visit>
  Result<void> walk(const io::File& log, Offset file, FilePosition start, FilePosition end, Visit visit) {
    BatchScan scan(log, start, end);
    while (const std::optional<BatchInfo> batch = TRY(scan.next())) {
      std::int64_t records = 1;
      if (batch->magic >= 2) {
        const record::BatchHeader header = scan.header();
        records = header.record_count;
        if (depth_ == CheckDepth::records && !TRY(has_good_records(log, *batch, header))) continue;
      }
      if (batch->base_offset > batch->last_offset) continue;
      visit({file, batch->position, batch->end(), batch->base_offset, batch->last_offset, 1, records, batch->magic >= 2, false});
    }
    return {};
  }

  Result<bool> has_good_records(const io::File& log, const BatchInfo& batch, const record::BatchHeader& header) {
    ByteVector bytes(static_cast<std::size_t>(batch.size.value));
    bytes.resize(TRY(log.read_at(batch.position, bytes)));
    record::ScratchBuffer scratch;
    const Result<BytesView> plain = record::plain_records(record::BatchView(bytes), header, {}, scratch);
    if (!plain) return false;
    return record::walk_shapes(*plain, header.record_count, INT64_MAX,
                               [](std::int32_t, const record::RecordShape&) { return record::Walk::go_on; })
        .ok();
  }

  Result<void> choose() {
    std::vector<const SalvagedRun*> elsewhere;
    std::set<Offset> at_home;  // files that hold something of their own
    for (const SalvagedRun& run : found_) {
      if (home_of(run.first_offset) != run.file || run.first_offset < run.file) {
        elsewhere.push_back(&run);
        continue;
      }
      TRY(take(run));
      at_home.insert(run.file);
    }
    for (const SalvagedRun& run : moved_) elsewhere.push_back(&run);
    for (const SalvagedRun* run : elsewhere) {
      const bool home_is_empty = !at_home.contains(home_of(run->first_offset));
      if (home_is_empty || taken_.has_something_behind(run->last_offset)) TRY(take(*run));
    }
    std::ranges::sort(kept_, {}, &SalvagedRun::first_offset);
    // What was taken batch by batch and lies side by side is one again.
    std::vector<SalvagedRun> joined;
    for (const SalvagedRun& run : kept_) {
      if (!joined.empty() && continues(joined.back(), run)) {
        append(joined.back(), run);
      } else {
        joined.push_back(run);
      }
    }
    kept_ = std::move(joined);
    return {};
  }

  // All of a run, or those of its batches whose offsets nothing else has.
  Result<void> take(const SalvagedRun& run) {
    if (!taken_.overlaps(run.first_offset, run.last_offset)) {
      taken_.take(run.first_offset, run.last_offset);
      kept_.push_back(run);
      return {};
    }
    const std::shared_ptr<io::File> log = TRY(open(run.file));
    return walk(*log, run.file, run.start, run.end, [&](const SalvagedRun& batch) {
      if (taken_.overlaps(batch.first_offset, batch.last_offset)) return;
      taken_.take(batch.first_offset, batch.last_offset);
      kept_.push_back(batch);
    });
  }

  void lay_out() {
    for (const SalvagedRun& run : kept_) {
      SalvagedSegment* current = plan_.segments.empty() ? nullptr : &plan_.segments.back();
      Offset base = run.first_offset < *bases_.begin() ? run.first_offset : home_of(run.first_offset);
      // A search for an offset looks into the last file whose base is not above it.
      if (current != nullptr && current->runs.back().last_offset >= base) base = next(current->runs.back().last_offset);
      const bool fits = current != nullptr && (run.last_offset - current->base).value <= kLongestLog &&
                        current->size().value + (run.end - run.start).value <= kLongestLog;
      const bool goes_on = fits && (base <= current->base || home_of(run.first_offset) == home_of(current->runs.back().first_offset));
      if (goes_on) {
        current->runs.push_back(run);
        continue;
      }
      if ((run.last_offset - base).value > kLongestLog || (current != nullptr && !fits && base <= current->base)) base = run.first_offset;
      plan_.segments.push_back({base, {run}, false});
    }
    // An active segment that is empty, or that holds nothing readable, still tells where the log had got to.
    if (!bases_.empty() && (plan_.segments.empty() || plan_.segments.back().runs.back().last_offset < *bases_.rbegin())) {
      plan_.segments.push_back({*bases_.rbegin(), {}, false});
    }
    for (SalvagedSegment& segment : plan_.segments) {
      const auto was = std::ranges::find(check_.checked, segment.base, &CheckedSegment::base);
      if (was == check_.checked.end()) continue;
      segment.is_as_it_was = segment.size() == was->size &&
                             (segment.runs.empty() || (segment.runs.size() == 1 && segment.runs[0].file == segment.base && !segment.runs[0].is_corrected));
    }
    for (const CheckedSegment& segment : check_.checked) {
      if (std::ranges::find(plan_.segments, segment.base, &SalvagedSegment::base) == plan_.segments.end()) plan_.gone.push_back(segment.base);
    }
    if (plan_.segments.empty()) return;
    plan_.log_start = plan_.segments.front().base;
    const SalvagedSegment& last = plan_.segments.back();
    plan_.log_end = last.runs.empty() ? last.base : next(last.runs.back().last_offset);
  }

  // Whatever of a file is in no run that was kept.
  void tell_left_out() {
    for (const CheckedSegment& segment : check_.checked) {
      std::vector<SalvagedRun> runs;
      for (const SalvagedRun& run : kept_) {
        if (run.file == segment.base) runs.push_back(run);
      }
      std::ranges::sort(runs, {}, &SalvagedRun::start);
      FilePosition at{0};
      for (const SalvagedRun& run : runs) {
        leave_out(segment.base, at, run.start);
        at = run.end;
      }
      leave_out(segment.base, at, FilePosition{segment.size.value});
    }
  }

  // Unreadable bytes and whole batches without a place are told apart.
  void leave_out(Offset file, FilePosition start, FilePosition end) {
    FilePosition at = start;
    std::vector<SalvagedRun> runs;
    for (const std::vector<SalvagedRun>* all : {&found_, &moved_, &misplaced_}) {
      std::ranges::copy_if(*all, std::back_inserter(runs), [&](const SalvagedRun& run) { return run.file == file && run.start < end && run.end > start; });
    }
    std::ranges::sort(runs, {}, &SalvagedRun::start);
    for (const SalvagedRun& run : runs) {
      if (run.end <= at) continue;
      const FilePosition from = std::max(run.start, at);
      if (from > at) plan_.left_out.push_back({file, at, from, 0, {}, {}});
      const FilePosition to = std::min(run.end, end);
      const bool is_all = from == run.start && to == run.end;
      plan_.left_out.push_back({file, from, to, is_all ? run.batches : 1, run.first_offset, run.last_offset});
      at = to;
    }
    if (at < end) plan_.left_out.push_back({file, at, end, 0, {}, {}});
  }

  void tell_lost() {
    if (bases_.empty()) return;
    // A gap is a loss where something unreadable borders on it. Others are what compaction leaves.
    std::set<Offset> hurt;  // files of which something is left out
    for (const LeftOut& out : plan_.left_out) {
      if (out.batches == 0) hurt.insert(out.file);
    }
    std::optional<Offset> due;  // the offset behind the last batch
    Offset last_file = *bases_.begin();
    if (hurt.contains(last_file)) due = last_file;
    for (const SalvagedRun& run : kept_) {
      const bool is_hurt = std::ranges::any_of(hurt, [&](Offset file) { return file >= std::min(last_file, run.file) && file <= run.file; });
      if (due && run.first_offset > *due && is_hurt) lose(*due, run.first_offset);
      due = next(run.last_offset);
      last_file = run.file;
    }
    if (!hurt.empty() && *hurt.rbegin() >= last_file && !kept_.empty() && due) {
      const Offset base = plan_.segments.back().base;
      if (plan_.segments.back().runs.empty() && base > *due && hurt.size() > 1) lose(*due, base);
      plan_.lost.push_back({plan_.log_end, std::nullopt});
    }
    if (kept_.empty() && !hurt.empty()) plan_.lost.push_back({*bases_.begin(), std::nullopt});
    // A whole .log that is not there: its other files tell where it began.
    for (const CheckFinding& finding : check_.findings) {
      const SegmentFileName name = parse_segment_file_name(finding.file);
      if (finding.finding != RecoveryFinding::missing || !name.offset || bases_.contains(*name.offset)) continue;
      const auto behind = std::ranges::find_if(kept_, [&](const SalvagedRun& run) { return run.last_offset >= *name.offset; });
      if (behind == kept_.end()) {
        plan_.lost.push_back({std::max(*name.offset, plan_.log_end), std::nullopt});
      } else if (behind->first_offset > *name.offset) {
        lose(*name.offset, behind->first_offset);
      }
    }
    std::ranges::sort(plan_.lost, {}, &LostOffsets::first);
    const auto same = [](const LostOffsets& a, const LostOffsets& b) { return a.first == b.first && a.end == b.end; };
    plan_.lost.erase(std::ranges::unique(plan_.lost, same).begin(), plan_.lost.end());
  }
  void lose(Offset first, Offset end) { plan_.lost.push_back({first, end}); }

  io::FileSystem& fs_;
  const io::Path& directory_;
  const PartitionCheck& check_;
  const CheckDepth depth_;
  std::set<Offset> bases_;
  std::vector<SalvagedRun> found_;      // by file and position
  std::vector<SalvagedRun> moved_;      // batches amid others with which they do not rise
  std::vector<SalvagedRun> misplaced_;  // single ones whose offset must be damaged, and cannot be told
  std::vector<SalvagedRun> kept_;   // by offset
  TakenOffsets taken_;
  Salvage plan_;
};

}  // namespace

ByteCount SalvagedSegment::size() const {
  ByteCount size;
  for (const SalvagedRun& run : runs) size += run.end - run.start;
  return size;
}

bool Salvage::changes_logs() const {
  return !gone.empty() || std::ranges::any_of(segments, [](const SalvagedSegment& segment) { return !segment.is_as_it_was; });
}

Result<Salvage> plan_salvage(io::FileSystem& fs, const io::Path& directory, const PartitionCheck& check, CheckDepth depth) {
  return SalvagePlanner(fs, directory, check, depth).run();
}

}  // namespace cordwood::storage
