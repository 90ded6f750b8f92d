// storage/producer_snapshots.h — the .snapshot files of one log, and how producer state comes back from them.
//
// A snapshot at offset N holds the state after everything below N. Taken at a roll, at a clean close, at the end of a
// recovery and of a reload; never twice for the same offset. Format and rules: docs/formats/producer_snapshot.md.
// Externally locked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"
#include "record/control_record.h"
#include "storage/producer_state.h"
#include "storage/recovery_verdict.h"
#include "storage/segment.h"

namespace cordwood::storage {

class ProducerSnapshots {
 public:
  // `found` are the offsets of the files that the directory holds.
  ProducerSnapshots(io::FileSystem& fs, Logger& logger, io::Path directory, std::vector<Offset> found);

  void set_directory(const io::Path& directory) { directory_ = directory; }
  io::Path path_of(Offset offset) const;
  std::optional<Offset> latest() const;
  const std::vector<Offset>& offsets() const { return offsets_; }  // ascending

  // Writes the state at its map end offset, when that lies behind the last snapshot. Answers whether it did.
  Result<bool> take(const ProducerState& state, io::Fsync fsync);
  // The same where the state can also be had from the batches: on a full disk there is a warning and no snapshot.
  Result<bool> take_if_there_is_room(const ProducerState& state, io::Fsync fsync);

  // Keeps those at segment bases, and of the others only the largest, that one only when it is no lower than the last
  // base. Answers the names of what went.
  Result<std::vector<std::string>> remove_strays(const std::vector<Offset>& segment_bases);
  // Forgets what was taken in this life: a new state starts with no snapshot behind it.
  void start_over() { last_taken_ = Offset{0}; }

  // Snapshots outside of (log_start, log_end] go. Then, unless the state already ends at log_end, it is read anew from
  // the newest valid snapshot; a damaged one is put aside and the one before it taken. Producers that expired by `now`
  // are dropped.
  Result<void> truncate_and_reload(ProducerState& state, Offset log_start, Offset log_end, TimestampMs now);
  // No producers, no snapshots, map end at `offset`.
  Result<void> truncate_fully(ProducerState& state, Offset offset);
  Result<void> remove(Offset offset);
  // Forgets those of the offsets that are there and answers them: their files are the caller's to rename.
  std::vector<Offset> forget(const std::vector<Offset>& gone);
  // On the damaged ones that were met since the last call.
  std::vector<RecoveryVerdict> take_verdicts() { return std::exchange(verdicts_, {}); }

 private:
  Result<void> load_newest(ProducerState& state, Offset log_start, TimestampMs now);

  io::FileSystem& fs_;
  Logger& logger_;
  io::Path directory_;
  std::vector<Offset> offsets_;
  Offset last_taken_{0};
  std::vector<RecoveryVerdict> verdicts_;
};

// What a batch with a producer id does to the state: the one way for append, replay and recovery. `batch` must hold the
// records too when it is a control batch. Answers the transaction that a marker ended. Errors: corrupt for a marker
// that does not parse.
Result<std::optional<CompletedTransaction>> note_batch(ProducerState& state, const record::BatchHeader& header,
                                                       BytesView batch);

enum class Reload { after_clean_stop, replay };

// Brings `state` to what it was at `end`: from the newest snapshot, replaying the batches behind it. After a clean stop
// without any snapshot the log is taken to have no producers (the upgrade path) and is not read.
Result<void> rebuild_producer_state(ProducerState& state, ProducerSnapshots& snapshots, const SegmentList& segments,
                                    Offset log_start, Offset end, TimestampMs now, Reload reload);

}  // namespace cordwood::storage
