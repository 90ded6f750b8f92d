#include "inspector/group_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace cordwood::inspector {
namespace {

// Of the segment that `offset` lies in: the last one reaches as far as anybody knows.
const storage::RetentionVerdict* verdict_of(const std::vector<storage::RetentionVerdict>& verdicts, Offset offset) {
  const auto base = [](const storage::RetentionVerdict& verdict) { return verdict.segment.base_offset; };
  const auto above = std::ranges::upper_bound(verdicts, offset, {}, base);
  return above == verdicts.begin() ? nullptr : &*std::prev(above);
}

std::string jump(Offset from, Offset to) {
  if (from == to) return fmt::format("stays at {}", to);
  if (to > from) return fmt::format("goes on at {}: {} offsets are skipped", to, (to - from).value);
  return fmt::format("goes back to {}: {} offsets are read again", to, (from - to).value);
}

}  // namespace

api::GroupOffset view_offset(const GroupCommit& commit, const PartitionBounds& bounds,
                             const std::vector<storage::RetentionVerdict>& verdicts, TimestampMs now) {
  api::GroupOffset view;
  view.topic = commit.partition.topic;
  view.partition = commit.partition.partition.value;
  view.committed = commit.offset.value;
  view.metadata = commit.metadata;
  view.committed_ms = commit.committed_at.value;
  if (!bounds.log_start || !bounds.log_end) {
    view.standing = api::OffsetStanding::unknown;
    view.says = "There is no such partition here (any more).";
    view.earliest = view.latest = view.none = "nothing: there is no partition to read";
    return view;
  }
  const Offset start = *bounds.log_start;
  const Offset end = *bounds.log_end;
  view.log_start = start.value;
  view.log_end = end.value;
  // As Kafka counts it: what lies between the position and the end, deleted or not.
  view.lag = std::max<std::int64_t>((end - commit.offset).value, 0);
  if (commit.offset < start) {
    view.standing = api::OffsetStanding::behind_start;
    view.says = fmt::format("It wants offset {} next, but the log starts at {}: {} offsets were deleted before it read them.", commit.offset,
                            start, (start - commit.offset).value);
    view.none = "throws OffsetOutOfRangeException: somebody has to decide";
  } else if (commit.offset > end) {
    view.standing = api::OffsetStanding::beyond_end;
    view.says = fmt::format("It wants offset {} next, but the log ends at {}: the log was cut or made anew since.", commit.offset, end);
    view.none = "throws OffsetOutOfRangeException: somebody has to decide";
  } else if (commit.offset == end) {
    view.standing = api::OffsetStanding::at_end;
    view.says = "It has read everything.";
  } else {
    view.standing = api::OffsetStanding::within;
    view.says = fmt::format("It has {} offsets still to read.", (end - commit.offset).value);
  }
  if (view.standing == api::OffsetStanding::behind_start) {
    view.warned = true;
    view.warning = "retention has deleted what it wants next";
  }
  const bool in_range = commit.offset >= start && commit.offset <= end;
  if (in_range) {
    view.earliest = view.latest = view.none = fmt::format("nothing: the position {} is there, and is read on from", commit.offset);
  } else {
    view.earliest = jump(commit.offset, start);
    view.latest = jump(commit.offset, end);
  }
  if (view.standing == api::OffsetStanding::within) {
    if (const storage::RetentionVerdict* verdict = verdict_of(verdicts, commit.offset)) {
      if (verdict->goes) {
        view.warned = true;
        view.warning = "the next check of retention deletes what it wants next";
        view.overtaken_at_ms = now.value;
        view.says += " The next check of retention deletes what it wants next.";
      } else if (verdict->goes_at) {
        view.overtaken_at_ms = verdict->goes_at->value;
        view.says += fmt::format(" Should it stand still, retention deletes what it wants next at {}.", storage::describe_time(*verdict->goes_at));
        const std::int64_t soon = std::max<std::int64_t>(verdict->limits.retention_ms.value, 0) / 10;
        if (verdict->goes_at->value - now.value <= soon) {
          view.warned = true;
          view.warning = fmt::format("retention deletes what it wants next at {}, in less than a tenth of retention.ms",
                                     storage::describe_time(*verdict->goes_at));
        }
      }
    }
  }
  return view;
}

}  // namespace cordwood::inspector
