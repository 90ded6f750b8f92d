// inspector/views/segment_maps.h — the headers of batches that were read once, kept for the next look at a segment.
//
// A segment is read on demand, a window at a time, into runs of neighbouring batches. What is kept is checked against the file
// before it is used again, by the headers at both ends of a run: a segment that was truncated, or replaced by the cleaner, is
// read anew. Checksums are verified as far as an answer may read, and on from there by the next one. Bounded: kMostBatches a segment, kMostBytes in all; the segment that was not asked for longest goes first.
// Threads: any; looks at one segment wait for each other.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/types.h"
#include "inspector/api.h"
#include "inspector/views/partition_files.h"

namespace cordwood::inspector {

// One batch of a map, or a place where none can be read. Offsets count from the segment's base.
struct MappedBatch {
  std::uint32_t position = 0;
  std::uint32_t size = 0;
  std::uint32_t base_delta = 0;
  std::uint32_t last_delta = 0;
  std::int32_t records = 0;
  std::uint16_t flags = 0;  // as in api::Cells, and those of ours
  std::int64_t timestamp = -1;
  std::int64_t producer_id = -1;
  std::uint32_t end() const { return position + size; }
};

// Flags of api::Cells.
inline constexpr std::uint16_t kTransactionalCell = 1;
inline constexpr std::uint16_t kControlCell = 2;
inline constexpr std::uint16_t kCompressedCell = 4;
inline constexpr std::uint16_t kAbortedCell = 8;
inline constexpr std::uint16_t kEmptyCell = 16;
inline constexpr std::uint16_t kLegacyCell = 32;
inline constexpr std::uint16_t kDamagedCell = 64;
inline constexpr std::uint16_t kShownCell = 127;  // all of them
// Flags of ours: the checksum was looked at; nothing can be read, not even a header.
inline constexpr std::uint16_t kVerifiedCell = 128;
inline constexpr std::uint16_t kUnreadableCell = 256;

class SegmentMaps {
 public:
  static constexpr std::size_t kMostBatches = 1'000'000;
  static constexpr ByteCount kMostBytes{64 * MiB};
  // What one answer may do.
  static constexpr std::size_t kMostScanned = 400'000;      // batches
  static constexpr ByteCount kMostRead{64 * MiB};
  static constexpr DurationNs kLongest{400'000'000};
  // Bytes of batches whose checksums are verified, once the headers are known. What was verified is known to the next answer.
  static constexpr ByteCount kMostVerified{16 * MiB};

  // `clock` must outlive the maps.
  explicit SegmentMaps(const Clock& clock) : clock_(clock) {}

  struct Window {
    FilePosition from;  // on batch boundaries: of the batch that holds the first byte wanted
    FilePosition to;    // behind the last batch that was read
    FilePosition verified_to;  // from `from` to here all checksums were verified
    bool complete = true;
    ByteCount scanned;
    std::vector<std::string> faults;  // why nothing can be read, for each damaged place of the window, in order
  };
  // Calls `visit` for each batch that overlaps [from, to), ascending. Errors: io.
  Result<Window> read(const PartitionAt& at, const OpenSegment& open, FilePosition from, FilePosition to,
                      const std::function<void(const MappedBatch&)>& visit);

  // The damage that looks at this segment have met, ascending; nothing where none was had. Reads no file.
  std::vector<std::pair<MappedBatch, std::string>> known_damage(const io::Path& directory, Offset base, std::size_t at_most);

  const Clock& clock() const { return clock_; }
  ByteCount kept() const;  // that the maps take

 private:
  struct Fingerprint {
    std::uint32_t position = 0;
    ByteVector bytes;  // of the header there
  };
  // Neighbouring batches.
  struct Run {
    std::vector<MappedBatch> batches;
    Fingerprint first;
    Fingerprint last;
    std::uint32_t from() const { return batches.front().position; }
    std::uint32_t to() const { return batches.back().end(); }
  };
  struct Segment {
    Mutex mu;
    std::int64_t seen_size GUARDED_BY(mu) = 0;
    bool was_active GUARDED_BY(mu) = true;
    std::map<std::uint32_t, Run> runs GUARDED_BY(mu);              // by their start
    std::map<std::uint32_t, std::string> faults GUARDED_BY(mu);   // by the position of a damaged place
    std::size_t batches GUARDED_BY(mu) = 0;
  };
  using Key = std::pair<std::string, Offset>;
  struct Kept {
    std::shared_ptr<Segment> segment;
    std::size_t bytes = 0;
    std::list<Key>::iterator place;
  };
  class Reading;

  std::shared_ptr<Segment> find(const Key& key);
  void account(const Key& key, const std::shared_ptr<Segment>& segment, std::size_t bytes);

  const Clock& clock_;
  mutable Mutex mu_;  // nothing is read under it
  std::map<Key, Kept> segments_ GUARDED_BY(mu_);
  std::list<Key> used_ GUARDED_BY(mu_);  // the last one that was asked for first
  std::size_t bytes_ GUARDED_BY(mu_) = 0;
};

// As the API shows it. `fault`: why it is damaged.
api::Damage damage_row(const SegmentAt& segment, const MappedBatch& batch, const std::string& fault);

}  // namespace cordwood::inspector
