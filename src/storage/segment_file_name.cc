#include "storage/segment_file_name.h"

#include <fmt/format.h>

#include <charconv>

namespace cordwood::storage {
namespace {

bool cut_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

SegmentFileKind kind_of(std::string_view name) {
  if (name.ends_with(kLogSuffix)) return SegmentFileKind::log;
  if (name.ends_with(kTimeIndexSuffix)) return SegmentFileKind::time_index;
  if (name.ends_with(kTxnIndexSuffix)) return SegmentFileKind::txn_index;
  if (name.ends_with(kOffsetIndexSuffix)) return SegmentFileKind::offset_index;
  if (name.ends_with(kSnapshotSuffix)) return SegmentFileKind::snapshot;
  return SegmentFileKind::other;
}

}  // namespace

SegmentFileName parse_segment_file_name(std::string_view name) {
  SegmentFileName parsed;
  if (name.ends_with(".checkpoint.deleted")) return parsed;
  const std::string_view digits = name.substr(0, name.find('.'));
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc{} && end == digits.data() + digits.size() && number >= 0) parsed.offset = Offset{number};

  if (cut_suffix(name, kDeletedSuffix)) {
    parsed.state = SegmentFileState::deleted;
  } else if (cut_suffix(name, kCleanedSuffix)) {
    parsed.state = SegmentFileState::cleaned;
  } else if (cut_suffix(name, kSwapSuffix)) {
    parsed.state = SegmentFileState::swap;
  }
  parsed.kind = kind_of(name);
  return parsed;
}

Result<Offset> required_offset(const SegmentFileName& parsed, std::string_view name) {
  if (parsed.offset) return *parsed.offset;
  return Error{Errc::corrupt, fmt::format("the file name {} does not start with an offset", name)};
}

}  // namespace cordwood::storage
