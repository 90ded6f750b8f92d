// broker/metadata/metadata_log.h — the directory __cluster_metadata-0: reading all of it, and appending to it.
//
// Reading changes nothing, so that everything that must be refused is found first. Opening for appends then cuts a torn
// tail. An append is in the page cache; flush() makes it durable, and nothing is acknowledged before that.
// Threads: externally locked (the controller's thread).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/metadata/image.h"
#include "broker/metadata/log_walk.h"
#include "broker/metadata/metadata_batch.h"
#include "broker/metadata/metadata_retention.h"
#include "broker/metadata/quorum_state.h"
#include "broker/metadata/snapshot.h"
#include "storage/partition_log.h"

namespace cordwood::broker::metadata {

inline constexpr const char* kMetadataPartition = "__cluster_metadata-0";

// Everything that snapshot, log and the small files beside them say.
struct LoadedMetadata {
  io::Path directory;                     // .../__cluster_metadata-0
  Image image;
  WalkReport walk;
  std::optional<SnapshotId> snapshot;     // the one that was loaded
  ByteCount bytes_since_snapshot;
  std::int32_t epoch = 0;                 // the highest of log, snapshot and quorum-state
  bool has_records = false;               // the log or the snapshot holds metadata records that took effect
  bool voters_in_log = false;             // the voters were written to the log, not only to the 0-0 checkpoint
  bool in_transaction = false;            // a metadata transaction is open at the end
  std::optional<QuorumState> quorum_state;
  std::vector<NodeId> leader_change_voters;  // of the last LEADER_CHANGE
  // What a first start writes: of bootstrap.checkpoint, else of the 0-0 checkpoint. Read only when has_records is false.
  std::vector<MetadataRecord> bootstrap;

  Offset end() const { return image.next_offset; }
};

// `log_dir` is the metadata log directory. Nothing there at all gives an empty LoadedMetadata.
// Errors: io; corrupt (damage, a snapshot that does not fit the log); unsupported (records above ours).
Result<LoadedMetadata> load_metadata(io::FileSystem& fs, const io::Path& log_dir, Logger& logger);

// Whether this node may lead the quorum alone. Errors: invalid when other voters are named anywhere, or when the voter's
// directory is another one.
Result<void> check_sole_voter(const LoadedMetadata& loaded, NodeId us, Uuid metadata_directory_id);

// Writes the files of a formatted directory: the 0-0 checkpoint with the voters (kraft.version 1) and
// bootstrap.checkpoint with `features`, as the formatters of Kafka 4.0 to 4.3 do.
struct BootstrapFiles {
  NodeId node_id;
  Uuid directory_id;
  Endpoint controller_listener;
  std::vector<MetadataRecord> features;
};
Result<void> write_bootstrap_files(io::FileSystem& fs, const io::Path& log_dir, const BootstrapFiles& files,
                                   TimestampMs now);
// metadata.version 25 (4.0-IV3), group.version 1, transaction.version 2: opens in Kafka 4.0 to 4.4.
std::vector<MetadataRecord> default_bootstrap_records();

enum class Atomic { no, yes };

struct MetadataLogSettings {
  ByteCount segment_bytes{1 * GiB};     // metadata.log.segment.bytes
  DurationMs segment_ms{604'800'000};   // metadata.log.segment.ms
  MetadataRetention retention;
};

class MetadataLog {
 public:
  // Opens for appends at `loaded.end()`. Errors: io; corrupt when recovery ends elsewhere.
  static Result<std::unique_ptr<MetadataLog>> open(storage::LogEnvironment environment, const LoadedMetadata& loaded,
                                                   const MetadataLogSettings& settings);

  // One control batch at the end.
  Result<void> append(std::span<const ControlRecord> records, std::int32_t epoch);
  // One operation: one batch, or several when it is larger than a batch may be; with Atomic::yes those stand inside of a
  // metadata transaction where metadata.version has one. Returns the records as they were written, transaction frame
  // included, which is what apply() must see.
  Result<std::vector<MetadataRecord>> append(std::vector<MetadataRecord> records, std::int32_t epoch,
                                             std::int16_t metadata_version, Atomic atomic);
  Result<void> flush();
  Offset end() const { return log_->log_end_offset(); }
  // To be looked at, by any thread; the log's readers ask nothing of its writer.
  std::shared_ptr<const storage::PartitionLog> log() const { return log_; }

  // Writes the image, which must be everything up to the durable end of the log.
  Result<void> write_snapshot(const Image& image);
  ByteCount bytes_since_snapshot() const { return bytes_since_snapshot_; }
  // Of the last snapshot, or of the opening.
  MonotonicNs last_snapshot_at() const { return last_snapshot_at_; }
  // Removes the snapshots that metadata.max.retention.* let go and the segments wholly below the oldest one that stays,
  // with a log line each; deletes segment files whose delay is over.
  Result<void> apply_retention();

  Result<void> close_cleanly();
  void close_abruptly() { log_->close_abruptly(); }

 private:
  MetadataLog(storage::LogEnvironment environment, std::shared_ptr<storage::PartitionLog> log, MetadataRetention retention)
      : environment_(environment), retention_(retention), log_(std::move(log)) {}
  Result<void> write(BytesView batch);
  // Those up to `newest`, which is known to be whole: anything above would not be read, and must not count.
  Result<void> find_snapshots(SnapshotId newest);

  storage::LogEnvironment environment_;
  MetadataRetention retention_;
  std::shared_ptr<storage::PartitionLog> log_;
  std::vector<SnapshotFacts> snapshots_;  // ascending, the 0-0 checkpoint among them
  ByteCount bytes_since_snapshot_;
  MonotonicNs last_snapshot_at_;
  TimestampMs last_timestamp_;
};

}  // namespace cordwood::broker::metadata
