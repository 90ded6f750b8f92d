// The part of log_loader.h that decides what of a cut is kept.

#include <fmt/format.h>

#include <algorithm>

#include "storage/damaged_files.h"
#include "storage/directory_files.h"
#include "storage/log_loader.h"
#include "storage/readable_batches.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

Result<bool> can_be_read(const Segment& segment, FilePosition from, FilePosition end) {
  if (from >= end) return false;
  const std::shared_ptr<io::File> log = TRY(segment.file());
  return !TRY(find_readable(*log, from, end, segment.base_offset(), Survey::first_batch_only)).empty();
}

Result<bool> any_can_be_read(std::span<const std::shared_ptr<Segment>> segments) {
  for (const auto& segment : segments) {
    if (TRY(can_be_read(*segment, FilePosition{0}, FilePosition{segment->size().value}))) return true;
  }
  return false;
}

// The last one first: what a crash leaves is a shorter log and no hole.
Result<void> keep_segments(const LogEnvironment& environment, const io::Path& directory, RecoveryReport& report, KeptCut& kept,
                           std::span<const std::shared_ptr<Segment>> segments, RecoveryFinding finding) {
  for (std::size_t i = segments.size(); i-- > 0;) {
    const Segment& segment = *segments[i];
    if (segment.empty()) continue;
    const std::string name = segment_file_name(segment.base_offset(), kLogSuffix);
    const std::string kept_as = TRY(kept.keep_segment(name));
    note(environment, directory, report,
         {.file = name, .finding = finding, .action = RecoveryAction::kept, .bytes = segment.size(),
          .offset = segment.base_offset(), .kept_as = kept_as});
  }
  return {};
}

}  // namespace

Result<void> keep_what_a_cut_takes(const LogEnvironment& environment, const io::Path& directory, RecoveryReport& report,
                                   const FoundCut& cut, std::span<const std::shared_ptr<Segment>> later) {
  RecoveryVerdict verdict{.file = segment_file_name(cut.segment.base_offset(), kLogSuffix), .position = cut.at,
                          .bytes = cut.end - cut.at, .offset = cut.next_offset, .why = cut.reason};
  const bool readable = TRY(can_be_read(cut.segment, cut.at, cut.end)) || TRY(any_can_be_read(later));
  if (!readable) {
    note(environment, directory, report, std::move(verdict));
    return {};
  }
  KeptCut kept = TRY(KeptCut::begin(*environment.fs, directory));
  verdict.finding = RecoveryFinding::hole;
  verdict.action = RecoveryAction::kept;
  // First what needs room: when there is none, nothing has changed.
  verdict.kept_as = TRY(kept.keep_tail(verdict.file, cut.at, cut.end));
  const std::string why = fmt::format("Recovery cut the log in {} at offset {}: {}, byte {}: {}.", directory, cut.next_offset,
                                      verdict.file, cut.at, cut.reason);
  note(environment, directory, report, std::move(verdict));
  TRY(keep_segments(environment, directory, report, kept, later, RecoveryFinding::behind_hole));
  return kept.finish(why);
}

Result<void> keep_what_lies_below_the_start(const LogEnvironment& environment, const io::Path& directory,
                                            RecoveryReport& report, const SegmentList& segments, Offset end,
                                            Offset log_start) {
  if (!TRY(any_can_be_read(segments))) return {};
  KeptCut kept = TRY(KeptCut::begin(*environment.fs, directory));
  TRY(keep_segments(environment, directory, report, kept, segments, RecoveryFinding::below_log_start));
  return kept.finish(fmt::format("The log in {} ended at offset {}, below its start {} as log-start-offset-checkpoint tells it.",
                                 directory, end, log_start));
}

}  // namespace cordwood::storage
