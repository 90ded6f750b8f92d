// broker/broker.h — a whole broker as an object: made from options, a FileSystem and a Clock; no globals, no signals, no
// exit(). A program may hold several.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/executor.h"
#include "base/result.h"
#include "broker/config.h"
#include "broker/exchange.h"
#include "broker/metadata/controller.h"
#include "broker/partition_table.h"
#include "protocol/exchange.h"
#include "storage/group_commit.h"
#include "storage/log_manager.h"
#include "storage/log_mover.h"

namespace cordwood::broker {

namespace groups {
class Coordinator;
}
class FetchSessionCache;
class ParkedFetches;
class ProducerIdAllocator;
struct HandlerScratch;

class Broker {
 public:
  // How a start waits for logs that must be recovered.
  struct StartOptions {
    // From then on it waits only for logs that need no recovery. Without: for all.
    std::optional<DurationMs> loading_grace;
    // See LogManager::LoadCallbacks.
    std::function<void(const storage::LoadProgress&)> progress;
    std::function<bool()> stop_requested;
    std::optional<std::size_t> max_open_segments;  // see storage/open_files.h
  };
  // Opens the directories (formatting empty ones), replays metadata, loads logs and takes leadership. When it returns,
  // requests succeed; listening is the caller's. A partition whose log still recovers (partitions().loading() says how
  // many) has no leader until it is ready. `environment` must outlive the broker. Errors: closed when it was asked to
  // stop; those of LogManager and Controller.
  static Result<std::unique_ptr<Broker>> start(storage::LogEnvironment environment, Config config, StartOptions options);
  static Result<std::unique_ptr<Broker>> start(storage::LogEnvironment environment, Config config) {
    return start(environment, std::move(config), StartOptions());
  }
  ~Broker();

  // On the connection's loop. Never blocks; answers now or later through the request's responder.
  void handle(protocol::Request request);
  // On the connection's loop, while requests of it wait for their answers: whether the one in `frame` may be handled now, to be
  // written together with them. They are answered in their order if the connection sees to it.
  bool joins(const protocol::Peer& peer, BytesView frame);
  // On the connection's loop: what its requests waited for is let go.
  void disconnected(const protocol::Peer& peer);

  // Answers what waits, fences, closes every log cleanly, writes .kafka_cleanshutdown. Idempotent; the destructor alone
  // leaves it unclean. The loops must still be there; no request may come afterwards.
  Result<void> shut_down();

  // What the handlers work with.
  const Config& config() const { return config_; }
  Clock& clock() const { return *environment_.clock; }
  Random& random() const { return *environment_.random; }
  Logger& logger() const { return *environment_.logger; }
  const storage::LogEnvironment& environment() const { return environment_; }
  storage::LogManager& logs() { return *logs_; }
  metadata::Controller& controller() { return *controller_; }
  std::shared_ptr<const metadata::Image> image() const { return controller_->image(); }
  PartitionTable& partitions() { return *partitions_; }
  groups::Coordinator& groups() { return *groups_; }
  FetchSessionCache& fetch_sessions() { return *fetch_sessions_; }
  ProducerIdAllocator& producer_ids() { return *producer_ids_; }
  storage::LogMover& log_mover() { return *log_mover_; }
  ParkedFetches& parked_fetches() { return *parked_fetches_; }
  HandlerScratch& scratch() { return *scratch_; }
  // For what must not run on a loop: fsync, topic creation, expiry.
  Executor& background() { return *background_; }
  // Host and port that a client on this connection is told for this broker.
  std::pair<std::string, std::int32_t> advertised_for(const protocol::Peer& peer) const;
  // Effective log settings of a topic under the present image.
  storage::LogConfig log_config(const std::string& topic) const;
  // A read or write of this log failed: takes its directory offline when the error means that. Any thread.
  void log_failed(const storage::PartitionLog& log, const Error& error);
  // Runs `then` on `loop` once all that the partition's log holds now is on the disk and its high watermark has followed, or
  // with the error of the flush. For acknowledgements that wait for the disk (flush.messages).
  void when_flushed(std::shared_ptr<Partition> partition, Executor& loop, std::function<void(const Result<void>&)> then);
  // `stop` is called, once, when the broker cannot go on: the last log directory has failed, or the one of the metadata.
  // On a thread of the broker; the process is expected to end without an orderly stop, as Kafka's does.
  void on_fatal(std::function<void(const std::string& why)> stop);

  // How many requests of this API have come.
  std::uint64_t requests_of(std::int16_t api_key) const {
    return requests_[static_cast<std::size_t>(api_key) % requests_.size()].load(std::memory_order_relaxed);
  }

 private:
  Broker(storage::LogEnvironment environment, Config config);
  Result<void> open_directories(const StartOptions& options);
  Result<void> open_controller();
  Result<void> load_logs(StartOptions options);
  void log_loaded(const TopicPartition& partition);
  Result<void> lead();
  // Directories that failed, here or in the background: their partitions answer so, and the controller hears of it.
  void notice_failed_directories();
  void stop_when_nothing_is_left();
  // Once a minute: what the metadata log has used of it comes back.
  void keep_start_reserve();

  storage::LogEnvironment environment_;
  Config config_;
  std::unique_ptr<ThreadExecutor> background_;
  std::unique_ptr<storage::LogManager> logs_;
  std::unique_ptr<metadata::Controller> controller_;
  std::unique_ptr<PartitionTable> partitions_;
  std::unique_ptr<FetchSessionCache> fetch_sessions_;
  std::unique_ptr<ProducerIdAllocator> producer_ids_;
  std::unique_ptr<ParkedFetches> parked_fetches_;
  std::unique_ptr<HandlerScratch> scratch_;
  std::unique_ptr<groups::Coordinator> groups_;
  std::unique_ptr<storage::GroupCommit> group_commit_;
  std::unique_ptr<storage::LogMover> log_mover_;
  // Set once each during the start: from then on the partitions, and the groups, follow every change of the image.
  std::atomic<bool> partitions_follow_ = false;
  std::atomic<bool> groups_follow_ = false;
  Mutex failed_mu_;
  std::set<Uuid> failed_directories_ GUARDED_BY(failed_mu_);  // those that were noticed
  std::function<void(const std::string&)> stop_ GUARDED_BY(failed_mu_);
  std::optional<std::string> fatal_ GUARDED_BY(failed_mu_);  // before there was anybody to tell
  std::atomic<bool> shut_down_ = false;
  std::array<std::atomic<std::uint64_t>, 128> requests_{};  // by API key; served ones are below 128
};

}  // namespace cordwood::broker
