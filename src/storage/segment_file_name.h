// storage/segment_file_name.h — what the name of a file in a partition directory says.
//
//   <base offset, 20 digits>.log .index .timeindex .txnindex     the files of one segment
//   <next offset, 20 digits>.snapshot                            producer state
//   any of them + .deleted, .cleaned or .swap                    waiting for removal, being written, being swapped in
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/types.h"

namespace cordwood::storage {

inline constexpr std::string_view kLogSuffix = ".log";
inline constexpr std::string_view kOffsetIndexSuffix = ".index";
inline constexpr std::string_view kTimeIndexSuffix = ".timeindex";
inline constexpr std::string_view kTxnIndexSuffix = ".txnindex";
// The files of one segment, in the order in which they go: index files without a .log are leftovers that the next load
// removes, while a .log without them would come back as data.
inline constexpr std::array<std::string_view, 4> kSegmentSuffixes{kLogSuffix, kOffsetIndexSuffix, kTimeIndexSuffix,
                                                                  kTxnIndexSuffix};
inline constexpr std::string_view kSnapshotSuffix = ".snapshot";
inline constexpr std::string_view kDeletedSuffix = ".deleted";
inline constexpr std::string_view kCleanedSuffix = ".cleaned";
inline constexpr std::string_view kSwapSuffix = ".swap";

enum class SegmentFileKind { log, offset_index, time_index, txn_index, snapshot, other };
enum class SegmentFileState { current, deleted, cleaned, swap };

struct SegmentFileName {
  SegmentFileKind kind = SegmentFileKind::other;  // of the name without its state suffix
  SegmentFileState state = SegmentFileState::current;
  std::optional<Offset> offset;  // absent when the name is not exactly twenty digits and the suffixes
};

// Deleted KRaft snapshots (".checkpoint.deleted") are `other` and `current`: a log never touches them.
SegmentFileName parse_segment_file_name(std::string_view name);

// Looks like a file of a log (a kind of ours, or on its way to be one) and cannot be one: to be passed over, not touched.
// Kafka refuses to start over such a name, or takes "12.log" for an empty segment at 12 amid the others.
inline bool is_odd(const SegmentFileName& parsed) {
  if (parsed.offset || parsed.state == SegmentFileState::deleted) return false;
  return parsed.kind != SegmentFileKind::other || parsed.state != SegmentFileState::current;
}

}  // namespace cordwood::storage
