// broker/metadata/controller.h — the stand-alone controller: the one that decides what the cluster is.
//
// A change is submitted as a pure function from the present Image to records and an outcome; the controller's own thread
// runs it, appends the records to __cluster_metadata-0, waits for the disk, applies them to make the next Image, tells
// the listeners, and only then reports the outcome. Replay at start is apply() alone, so a restart cannot disagree.
//
// Threads: safe for all; functions given to it run on its thread, in the order of submission.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/executor.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "broker/metadata/image.h"
#include "broker/metadata/metadata_log.h"
#include "broker/metadata/metadata_record.h"
#include "storage/log_manager.h"

namespace cordwood::broker::metadata {

struct ControllerOptions {
  NodeId node_id;
  std::string metadata_dir;                 // metadata.log.dir: the log directory that holds __cluster_metadata-0
  std::optional<std::string> cluster_id;    // for formatting; a random one otherwise
  std::vector<Endpoint> listeners;          // of the broker, as registered (advertised)
  Endpoint controller_listener{"CONTROLLER", "localhost", 9093, 0};
  std::optional<std::string> rack;
  ConfigValues broker_defaults;             // static settings that first-start records need (min.insync.replicas)
  ByteCount snapshot_after_bytes{20 * MiB};     // metadata.log.max.record.bytes.between.snapshots
  DurationMs snapshot_after_ms{3'600'000};      // metadata.log.max.snapshot.interval.ms; 0: never by time
  MetadataLogSettings log;
};

class Controller {
 public:
  // What a decision gives: records to commit (none: nothing changes) and what to tell the caller afterwards.
  struct Decision {
    std::vector<MetadataRecord> records;
    // Runs on the controller's thread after the records are durable, applied and published; gets the image that holds
    // them, or the error that kept them from being written.
    std::function<void(const Result<std::shared_ptr<const Image>>&)> done;
  };
  using Decide = std::function<Decision(const Image&)>;
  // Called on the controller's thread with the image before and after each committed change, before done().
  using Listener = std::function<void(const Image& before, const std::shared_ptr<const Image>& after)>;

  // Formats when the directory is empty, replays snapshot and log, takes the next epoch. Registration comes with
  // start(). Errors: unsupported (a feature level or record above ours, named), invalid (member of a larger cluster, other
  // node id), corrupt (damage that is no torn tail), io.
  static Result<std::unique_ptr<Controller>> open(storage::LogEnvironment environment, storage::LogManager& logs,
                                                  ControllerOptions options);
  ~Controller();

  std::shared_ptr<const Image> image() const;
  const std::string& cluster_id() const;
  NodeId node_id() const;
  std::int32_t epoch() const;

  // __cluster_metadata-0, to be looked at by any thread. Its directory is the partition's.
  std::shared_ptr<const storage::PartitionLog> metadata_log() const;

  // Directories that can take new partitions, in the order of log.dirs.
  std::vector<Uuid> online_directories() const;

  // Before the first change.
  void add_listener(Listener listener);
  // After shut_down() or a failure of the metadata log, `decide` still runs and its done() gets the error.
  void submit(Decide decide);

  // Registers this broker (fenced), as Kafka's 5.2/5.3 sequences have it. Blocks until committed.
  Result<void> register_broker();
  // Unfences and elects: Leader = us, epoch + 1, for every partition of ours. Blocks until committed and published.
  // Everything since open() becomes durable here, with one flush; nobody was told of any of it before.
  Result<void> unfence();
  // What happens every minute from unfence() on: a snapshot when the oldest change without one is old enough, then
  // retention of snapshots and log. Blocks.
  void keep_house();
  // A log has moved to another of our directories.
  void log_moved(TopicPartition partition, Uuid directory);
  // Takes away the leaderships of partitions in a log directory that failed.
  void directory_failed(Uuid directory);
  // Controlled shutdown records and fencing; then closes the metadata log. Blocks. Answers the broker epoch for
  // .kafka_cleanshutdown.
  Result<std::int64_t> shut_down();
  std::int64_t broker_epoch() const;

  struct ProducerIdBlock {
    std::int64_t first = 0;
    std::int32_t size = 1000;
  };
  // Writes the ProducerIds record before handing the block out. `done` runs on the controller's thread.
  void allocate_producer_ids(std::function<void(Result<ProducerIdBlock>)> done);

 private:
  struct Impl;
  explicit Controller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cordwood::broker::metadata
