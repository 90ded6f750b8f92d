// inspector/views/partition_files.h — what the views share: the segments of a partition, its files, batches found by position,
// and bytes as people read them.
//
// Everything is asked of the log where there is one, and of the names and sizes of files otherwise. Nothing is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "inspector/api.h"
#include "inspector/partition_at.h"
#include "io/file_system.h"
#include "record/batch.h"
#include "record/record.h"
#include "storage/batch_scan.h"
#include "storage/offset_index.h"
#include "storage/segment.h"
#include "storage/time_index.h"
#include "storage/txn_index.h"

namespace cordwood::inspector {

// The largest batch that is read whole, and what its records may inflate to.
inline constexpr ByteCount kLargestShownBatch{64 * MiB};
inline constexpr record::DecompressionLimits kInspectorLimits{.largest_batch = kLargestShownBatch, .largest_record = kLargestShownBatch};

struct SegmentAt {
  Offset base;
  Offset next;          // the base of the next one, or the log end
  bool active = false;  // the last one
  std::shared_ptr<const storage::Segment> segment;  // null without a log
};

// A partition's extent, as of one moment.
struct ExtentAt {
  std::vector<SegmentAt> segments;  // ascending
  Offset log_start;
  Offset log_end;  // without a log: the end of what could be read of the last segment
  Offset high_watermark;
  Offset last_stable;
  bool has_log = false;
  // The segment that may hold `offset`, null when all lie above it.
  const SegmentAt* floor(Offset offset) const;
  const SegmentAt* find(Offset base) const;
};
// `names` are the entries of the directory when the caller has them. Errors: io, not_found.
Result<ExtentAt> extent_of(const PartitionAt& at, const std::vector<io::DirectoryEntry>* names = nullptr);

// A segment's .log, opened for reading.
struct OpenSegment {
  SegmentAt at;
  std::shared_ptr<io::File> file;
  FilePosition end;  // what is written
  std::string name;  // of the .log
};
// Errors: not_found when there is no such segment, or it went meanwhile; io.
Result<OpenSegment> open_segment(const PartitionAt& at, const SegmentAt& segment);
Result<OpenSegment> open_segment(const PartitionAt& at, const ExtentAt& extent, Offset base);

// An index file, an entry at a time. Zeros at its end are room and no entries.
class IndexOnDisk {
 public:
  // Nothing when there is no file. Errors: io.
  static Result<std::optional<IndexOnDisk>> open(io::FileSystem& fs, const io::Path& path, std::int64_t entry_size);
  std::int64_t entries() const { return entries_; }
  ByteCount file_size() const { return size_; }
  // The bytes of [from, from + count), fewer at the end. Errors: io.
  Result<ByteVector> read(std::int64_t from, std::int64_t count) const;
  // How many at the front hold `is_before`, which is given an entry's bytes. Errors: io.
  template <class IsBefore>
  Result<std::int64_t> count_before(IsBefore is_before) const {
    std::int64_t low = 0;
    std::int64_t high = entries_;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const ByteVector entry = TRY(read(middle, 1));
      if (entry.size() == static_cast<std::size_t>(entry_size_) && is_before(BytesView(entry))) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  std::shared_ptr<io::File> file_;
  std::int64_t entry_size_ = 1;
  std::int64_t entries_ = 0;
  ByteCount size_;
};
storage::IndexEntry offset_entry_of(BytesView entry, Offset base);
storage::TimeEntry time_entry_of(BytesView entry, Offset base);
Result<std::optional<IndexOnDisk>> open_offset_index(const PartitionAt& at, Offset base);
Result<std::optional<IndexOnDisk>> open_time_index(const PartitionAt& at, Offset base);

// Whether what a header says can be so, `previous_last` being the last offset before it.
bool is_plausible(const storage::BatchInfo& batch, Offset segment_base, std::optional<Offset> previous_last);

// The boundary of a batch at or before `position` where a walk may begin: by the index when that fits, else the start.
Result<FilePosition> walk_start_at(const PartitionAt& at, const OpenSegment& open, FilePosition position);
Result<FilePosition> walk_start_for(const PartitionAt& at, const OpenSegment& open, Offset offset);

// The batch that holds the byte at `position`, or the first one that reaches `offset`; and the one before it, when the walk met
// it. Errors: not_found, also where the bytes are no batch; limit when a walk of 64 MiB does not get there.
struct FoundBatch {
  storage::BatchInfo info;
  std::optional<FilePosition> previous;
};
Result<FoundBatch> batch_holding(const PartitionAt& at, const OpenSegment& open, FilePosition position);
Result<FoundBatch> batch_reaching(const PartitionAt& at, const OpenSegment& open, Offset offset);

// Which transactions were aborted, as far as records of a range of offsets are concerned.
class AbortedTransactions {
 public:
  // Of the .txnindex files from the segment `from` lies in on. Bounded: at most 256 files and 100,000 entries are looked at.
  static AbortedTransactions around(const PartitionAt& at, const ExtentAt& extent, Offset from, Offset end);
  bool covers(std::int64_t producer_id, Offset offset) const;
  bool covers(const record::BatchHeader& header) const;

 private:
  std::map<std::int64_t, std::vector<std::pair<Offset, Offset>>> spans_;  // by producer; ascending
};
// Damaged ones give what could be read.
std::vector<storage::AbortedEntry> read_aborted(io::FileSystem& fs, const io::Path& path);

// Each record of a whole entry of any magic, with its place in it. Errors: corrupt, limit, unsupported.
struct RecordInEntry {
  std::int64_t index = 0;
  ByteCount size;  // in its batch, inflated
  record::RecordView record;
};
Result<void> each_record(BytesView entry, std::int8_t magic, const std::function<record::Walk(const RecordInEntry&)>& visit);
// As the API shows it.
struct RecordPlace {
  Offset segment;
  FilePosition position;
  bool control = false;
  bool aborted = false;
};
api::LogRecord shown_record(const PartitionAt& at, const RecordInEntry& record, const RecordPlace& place);
api::Bytes shown_bytes(BytesView bytes);

// --- words ---

std::string hex_of(BytesView bytes, std::size_t at_most);
std::string duration_words(DurationMs duration);  // "3 h 20 min", "7 days"
std::string time_words(TimestampMs time, TimestampMs now);  // "2026-01-31T23:59:59.123Z, 3 h ago"
std::string records_words(std::int64_t count);    // "1 record", "2 records"
std::optional<std::int64_t> known_time(TimestampMs time);  // absent for -1
std::string cleanup_policy_of(const storage::LogConfig& config);

}  // namespace cordwood::inspector
