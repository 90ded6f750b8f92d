// storage/lookup_trace.h — the steps of one look-up, told by the search itself while it searches.
//
// The functions that find an offset or a time take a LookupTrace* that is null on every ordinary read: a test of a pointer at
// each step is all that it costs then. What is told is what was done: there is no second search that could disagree.
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_range.h"
#include "base/result.h"
#include "base/types.h"
#include "storage/batch_scan.h"

namespace cordwood::storage {

enum class LookupStepKind : std::uint8_t {
  bounds,        // against log start and log end
  segment,       // which segment may hold it
  time_probe,    // one entry of a time index is compared
  offset_probe,  // one entry of an offset index is compared
  start,         // where the scan begins
  scan,          // batch headers that are read in turn
  records,       // records of one batch, by time
  answer,
};
const char* to_string(LookupStepKind kind);

// Why a scan begins where it does.
enum class ScanStart : std::uint8_t {
  indexed,        // at the entry of the index that was found
  no_entry,       // at the first batch: no entry lies at or below what is looked for
  one_window,     // at the first batch: what may be searched is so short that one read holds it all
  no_index,       // at the first batch: there is no index, or it cannot be opened
  entry_is_wrong,  // at the first batch: the entry does not fit the batch that it points at
};

struct LookupStep {
  LookupStepKind kind = LookupStepKind::bounds;
  std::optional<Offset> segment;        // its base offset
  std::string file;                     // its name in the partition directory; empty: none
  std::optional<std::int64_t> entry;    // of the index, from 0
  std::optional<Offset> offset;         // in that entry, of that segment, of the batch that was found
  std::optional<TimestampMs> timestamp;
  std::optional<FilePosition> from;     // in the .log
  std::optional<FilePosition> to;       // exclusive
  std::int64_t batches = 0;             // headers that were looked at; of a segment step: segments that were passed over
  std::int64_t records = 0;             // that were looked at
  ByteCount bytes;                      // that the step read, of mapped indexes as well
  std::int64_t reads = 0;               // calls
  ScanStart why = ScanStart::indexed;   // of a start
  bool hit = false;                     // the entry lies at or below the target; a scan, a walk over records: it was found
  // Of a scan: the last batch that it met.
  FilePosition last_position;
  Offset last_offset;
  // Of the bounds.
  Offset log_start;
  Offset log_end;
};
// One sentence.
std::string describe(const LookupStep& step);

class LookupTrace {
 public:
  LookupStep& add(LookupStepKind kind, std::optional<Offset> segment = {}, std::string file = {}) {
    LookupStep& step = steps_.emplace_back();
    step.kind = kind;
    step.segment = segment;
    step.file = std::move(file);
    return step;
  }
  // A comparison with one entry. More than kMostProbes are counted and not kept.
  static constexpr std::size_t kMostProbes = 500;
  void probe(LookupStepKind kind, Offset segment, std::string_view suffix, std::int64_t entry, Offset offset,
             std::optional<TimestampMs> timestamp, std::optional<FilePosition> position, ByteCount entry_size, bool is_before);

  // The next header of a scan that goes on: `batch` is nothing at its end. Makes the step with the first one.
  void scanned(Offset segment, const std::optional<BatchInfo>& batch, bool is_answer);
  // What was read since the last step that tells of reads.
  void note_reads(const class CountedSource& source);

  const std::vector<LookupStep>& steps() const { return steps_; }
  ByteCount bytes() const;
  std::int64_t reads() const;

 private:
  std::vector<LookupStep> steps_;
  std::size_t probes_ = 0;  // all of them
};

// Passes reads on and counts them.
class CountedSource final : public ByteSource {
 public:
  explicit CountedSource(const ByteSource& source) : source_(source) {}
  int native_fd() const override { return source_.native_fd(); }
  Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const override;
  ByteCount bytes() const { return bytes_; }
  std::int64_t reads() const { return reads_; }

 private:
  const ByteSource& source_;
  mutable ByteCount bytes_;
  mutable std::int64_t reads_ = 0;
};

}  // namespace cordwood::storage
