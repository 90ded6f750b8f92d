// offline/record_walk.h — the batches of segments, read from front to back past whatever is damaged, by all cores.
//
// Three layers: walk_entries() goes over a part of one file; PiecePlan cuts segments into parts of a few MiB on batch
// boundaries; for_each_piece() has threads work on the parts and hands their answers on in the order of the log. Memory: a
// window a thread, and what answers hold of the parts that are under way, at most kAhead.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "offline/data_directory.h"
#include "record/record.h"
#include "record/walk.h"

namespace cordwood::offline {

// What was passed over.
struct Damage {
  FilePosition position;
  ByteCount size;
  std::string why;
  bool operator==(const Damage&) const = default;
};

// Inflated records of one batch beyond this are passed over as damage.
inline constexpr record::DecompressionLimits kWalkLimits{.largest_batch = {512 * MiB}};

// Calls `visit` for each whole entry in [from, end) whose checksum is good, and answers what was passed over. `from` and `end`
// are batch boundaries. Zeros up to the end of the file are room for what was never written, and no damage. Errors: io.
using VisitEntry = std::function<record::Walk(BytesView entry, const record::EntryInfo& info, FilePosition position)>;
Result<std::vector<Damage>> walk_entries(const ByteSource& file, FilePosition from, FilePosition end, Offset segment_base,
                                         const VisitEntry& visit);

// The records of an entry of any magic and codec. Errors: those of record::walk_records and for_each_legacy_record.
Result<void> walk_records_of(BytesView entry, const record::EntryInfo& info,
                             const std::function<record::Walk(const record::RecordView&)>& visit);

// A part of a segment.
struct Piece {
  const PartitionOnDisk* partition = nullptr;
  std::size_t segment = 0;  // its place in partition->segments
  std::shared_ptr<io::File> file;
  FilePosition from;
  FilePosition end;
  bool is_last_of_segment = false;
  const SegmentOnDisk& on_disk() const { return partition->segments[segment]; }
};

// Where in the log a walk is wanted. A batch that reaches into the range counts.
struct OffsetRange {
  std::optional<Offset> from;
  std::optional<Offset> end;  // exclusive
  bool touches(Offset first, Offset last) const { return (!from || last >= *from) && (!end || first < *end); }
};

class PiecePlan {
 public:
  static constexpr ByteCount kPieceSize{4 * MiB};

  PiecePlan(io::FileSystem& fs, std::vector<const PartitionOnDisk*> partitions, OffsetRange range = {},
            ByteCount piece_size = kPieceSize)
      : fs_(fs), partitions_(std::move(partitions)), range_(range), piece_size_(piece_size) {}

  // In the order of the log; nothing at the end. A file that cannot be read is left out and told in warnings(). One thread at
  // a time.
  std::optional<Piece> next();
  const std::vector<std::string>& warnings() const { return warnings_; }
  ByteCount total() const;  // bytes of all segments in the range

 private:
  bool open_next_segment();
  bool in_range(const PartitionOnDisk& partition, std::size_t segment) const;

  io::FileSystem& fs_;
  std::vector<const PartitionOnDisk*> partitions_;
  OffsetRange range_;
  ByteCount piece_size_;
  std::size_t partition_ = 0;
  std::size_t segment_ = 0;  // the next one to be opened
  std::optional<Piece> current_;  // its file, and what is left of it
  std::vector<std::string> warnings_;
};

// The position of the last indexed batch at or below `target`, checked against the batch there; the start when there is none.
FilePosition indexed_start(io::FileSystem& fs, const PartitionOnDisk& partition, const SegmentOnDisk& segment,
                           const ByteSource& log, Offset target);

int walking_threads();  // as many as there are cores

namespace walk_detail {
inline constexpr std::size_t kAhead = 16;
}

// `work(piece)` answers a Part on one of the threads; `emit(piece, part)` gets them one at a time in the order of the log, on
// whichever thread, and may stop the walk. Ends early when `interrupted`.
template <class Work, class Emit>
void for_each_piece(PiecePlan& plan, int threads, const std::atomic<bool>& interrupted, Work work, Emit emit) {
  using Part = decltype(work(std::declval<const Piece&>()));
  struct Done {
    Piece piece;
    Part part;
  };
  Mutex mu;
  ConditionVariable changed;
  std::size_t handed_out = 0;
  std::size_t emitted = 0;
  bool over = false;      // nothing more is handed out or handed on
  bool emitting = false;  // a thread is at it
  std::map<std::size_t, Done> waiting;

  const auto take = [&](std::size_t& number) -> std::optional<Piece> {
    std::unique_lock lock(mu);
    changed.wait(lock, [&] { return over || handed_out - emitted < walk_detail::kAhead; });
    if (over || interrupted.load(std::memory_order_relaxed)) return {};
    std::optional<Piece> piece = plan.next();
    number = handed_out++;
    return piece;
  };
  // Whichever thread finds the next part of the log done hands it on, and those behind it that are done as well.
  const auto hand_on = [&](std::size_t number, Piece&& piece, Part&& part) {
    std::unique_lock lock(mu);
    waiting.emplace(number, Done{std::move(piece), std::move(part)});
    if (emitting) return;
    emitting = true;
    while (!over && !waiting.empty() && waiting.begin()->first == emitted) {
      auto node = waiting.extract(waiting.begin());
      lock.unlock();
      const record::Walk wish = emit(node.mapped().piece, std::move(node.mapped().part));
      lock.lock();
      ++emitted;
      over = wish == record::Walk::stop;
      changed.notify_all();
    }
    emitting = false;
  };
  const auto run = [&] {
    std::size_t number = 0;
    while (std::optional<Piece> piece = take(number)) {
      Part part = work(std::as_const(*piece));
      hand_on(number, std::move(*piece), std::move(part));
    }
  };
  std::vector<std::thread> crew;
  for (int i = 1; i < threads; ++i) crew.emplace_back(run);
  run();
  for (std::thread& thread : crew) thread.join();
}

}  // namespace cordwood::offline
