#include "storage/segment_file_name.h"

#include <algorithm>
#include <charconv>

namespace cordwood::storage {
namespace {

bool cut_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

// Cuts the suffix that says the kind.
SegmentFileKind take_kind(std::string_view& name) {
  if (cut_suffix(name, kLogSuffix)) return SegmentFileKind::log;
  if (cut_suffix(name, kTimeIndexSuffix)) return SegmentFileKind::time_index;
  if (cut_suffix(name, kTxnIndexSuffix)) return SegmentFileKind::txn_index;
  if (cut_suffix(name, kOffsetIndexSuffix)) return SegmentFileKind::offset_index;
  if (cut_suffix(name, kSnapshotSuffix)) return SegmentFileKind::snapshot;
  return SegmentFileKind::other;
}

std::optional<Offset> offset_of(std::string_view digits) {
  constexpr std::size_t kDigits = 20;
  if (digits.size() != kDigits || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return {};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{}) return {};
  return Offset{number};
}

}  // namespace

SegmentFileName parse_segment_file_name(std::string_view name) {
  SegmentFileName parsed;
  if (name.ends_with(".checkpoint.deleted")) return parsed;
  if (cut_suffix(name, kDeletedSuffix)) {
    parsed.state = SegmentFileState::deleted;
  } else if (cut_suffix(name, kCleanedSuffix)) {
    parsed.state = SegmentFileState::cleaned;
  } else if (cut_suffix(name, kSwapSuffix)) {
    parsed.state = SegmentFileState::swap;
  }
  parsed.kind = take_kind(name);
  if (parsed.kind != SegmentFileKind::other) parsed.offset = offset_of(name);
  return parsed;
}

}  // namespace cordwood::storage
