#include "broker/broker.h"

#include <algorithm>
#include <future>
#include <utility>

#include "broker/configs/cleaner_options.h"
#include "broker/configs/topic_configs.h"
#include "broker/directory_claim.h"
#include "broker/fetch_session.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/parked_fetches.h"
#include "broker/handlers/scratch.h"
#include "broker/metadata/start_reserve.h"
#include "broker/producer_ids.h"
#include "broker/storage_errors.h"
#include "protocol/header.h"

namespace cordwood::broker {
namespace {

constexpr std::int16_t kApiVersionsKey = 18;
constexpr DurationMs kReserveInterval{60'000};

std::int16_t security_protocol_number(const std::string& name) {
  if (name == "SSL") return 1;
  if (name == "SASL_PLAINTEXT") return 2;
  if (name == "SASL_SSL") return 3;
  return 0;
}

metadata::Endpoint endpoint(const ListenerAddress& listener) {
  // An empty host binds every address; the registration needs one that can be connected to.
  return {listener.name, listener.host.empty() ? "localhost" : listener.host, listener.port,
          security_protocol_number(listener.protocol)};
}

const io::Path& metadata_dir(const Config& config) {
  return config.metadata_log_dir.empty() ? config.log_dirs.front() : config.metadata_log_dir;
}

metadata::ControllerOptions controller_options(const Config& config) {
  metadata::ControllerOptions options;
  options.node_id = config.node_id;
  options.metadata_dir = metadata_dir(config);
  const auto& listeners = config.advertised_listeners ? *config.advertised_listeners : config.listeners;
  for (const ListenerAddress& listener : listeners) options.listeners.push_back(endpoint(listener));
  options.controller_listener = endpoint(config.controller_listener);
  options.rack = config.rack;
  options.broker_defaults = config.given;
  options.snapshot_after_bytes = config.metadata_log_max_record_bytes_between_snapshots;
  options.snapshot_after_ms = config.metadata_log_max_snapshot_interval_ms;
  options.log.segment_bytes = config.metadata_log_segment_bytes;
  options.log.segment_ms = config.metadata_log_segment_ms;
  options.log.retention = {config.metadata_max_retention_bytes, config.metadata_max_retention_ms};
  return options;
}

storage::LogManagerOptions log_manager_options(const Config& config) {
  storage::LogManagerOptions options;
  options.log_dirs = config.log_dirs;
  options.recovery_threads_per_dir = config.num_recovery_threads_per_data_dir;
  options.recovery_point_checkpoint_interval = config.log_flush_offset_checkpoint_interval_ms;
  options.log_start_checkpoint_interval = config.log_flush_start_offset_checkpoint_interval_ms;
  options.high_watermark_checkpoint_interval = config.replica_high_watermark_checkpoint_interval_ms;
  options.producer_expiration_check_interval = config.producer_id_expiration_check_interval_ms;
  options.flush_scheduler_interval = config.log_flush_scheduler_interval_ms;
  options.retention_check_interval = config.log_retention_check_interval_ms;
  options.initial_task_delay = config.log_initial_task_delay_ms;
  options.min_free = config.min_free_bytes;
  options.producer.expiration_ms = config.producer_id_expiration_ms;
  options.cleaner = configs::make_cleaner_options(config, metadata::Image{});
  return options;
}

}  // namespace

Broker::Broker(storage::LogEnvironment environment, Config config)
    : environment_(environment), config_(std::move(config)) {}

Broker::~Broker() {
  // Threads first: each calls into what is destroyed after it.
  if (log_mover_) log_mover_->stop();
  if (group_commit_) group_commit_->stop();
  if (logs_) logs_->stop_loading();
  if (logs_) logs_->cleaner().stop();
  if (background_) background_->stop();
  if (groups_) groups_->stop();
  controller_.reset();
}

Result<std::unique_ptr<Broker>> Broker::start(storage::LogEnvironment environment, Config config,
                                              StartOptions options) {
  if (config.log_dirs.empty()) return Error{Errc::invalid, "log.dirs names no directory"};
  std::unique_ptr<Broker> broker(new Broker(environment, std::move(config)));
  TRY(broker->open_directories(options));
  TRY(broker->open_controller());
  TRY(broker->load_logs(std::move(options)));
  TRY(broker->lead());
  return broker;
}

Result<void> Broker::open_directories(const StartOptions& options) {
  storage::LogManagerOptions log_options = log_manager_options(config_);
  if (options.max_open_segments) log_options.max_open_segments = *options.max_open_segments;
  logs_ = TRY(storage::LogManager::open(environment_, std::move(log_options)));
  background_ = std::make_unique<ThreadExecutor>(clock(), "background");
  fetch_sessions_ = std::make_unique<FetchSessionCache>(
      static_cast<std::size_t>(std::max(0, config_.max_incremental_fetch_session_cache_slots)), random(), clock());
  parked_fetches_ = std::make_unique<ParkedFetches>();
  scratch_ = std::make_unique<HandlerScratch>();
  group_commit_ = std::make_unique<storage::GroupCommit>();
  log_mover_ = std::make_unique<storage::LogMover>(
      environment_, *logs_,
      [this](const TopicPartition& partition, Uuid directory) { controller_->log_moved(partition, directory); });
  return {};
}

Result<void> Broker::open_controller() {
  // The locks are ours by now.
  TRY(metadata::release_start_reserve(*environment_.fs, metadata_dir(config_)));
  controller_ = TRY(metadata::Controller::open(environment_, *logs_, controller_options(config_)));
  partitions_ = std::make_unique<PartitionTable>(
      config_.node_id, *logs_,
      [this](const metadata::Image& image, const std::string& topic) {
        return configs::make_log_config(config_, image, topic);
      },
      logger());
  producer_ids_ = std::make_unique<ProducerIdAllocator>([this](std::function<void(Result<ProducerIdAllocator::Block>)> done) {
    controller_->allocate_producer_ids([done = std::move(done)](Result<metadata::Controller::ProducerIdBlock> block) {
      if (!block) return done(block.error());
      done(ProducerIdAllocator::Block{block->first, block->size});
    });
  });
  groups_ = std::make_unique<groups::Coordinator>(*this);
  controller_->add_listener([this](const metadata::Image& before, const std::shared_ptr<const metadata::Image>& after) {
    if (partitions_follow_) {
      partitions_->apply_image(before, after);
      logs_->cleaner().reconfigure(configs::make_cleaner_options(config_, *after));
    }
    if (groups_follow_) groups_->on_image(before, after);
  });
  return controller_->register_broker();
}

Result<void> Broker::load_logs(StartOptions options) {
  storage::LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [this, image = image()](const std::string& topic) {
    return configs::make_log_config(config_, *image, topic);
  };
  callbacks.claim = [this, image = image()](const TopicPartition& partition, std::optional<Uuid> topic_id, Uuid) {
    return claim_of(*image, config_.node_id, partition, topic_id);
  };
  callbacks.grace = options.loading_grace;
  callbacks.progress = std::move(options.progress);
  callbacks.stop_requested = std::move(options.stop_requested);
  callbacks.loaded_late = [this](const TopicPartition& partition) {
    log_mover_->log_loaded(partition);
    log_loaded(partition);
  };
  TRY(logs_->load(std::move(callbacks)));
  // On the controller's thread, which is told of what loads late as well: one comes after the other.
  std::promise<void> applied;
  controller_->submit([&](const metadata::Image&) {
    partitions_->begin_with(image());
    applied.set_value();
    return metadata::Controller::Decision();
  });
  applied.get_future().wait();
  return {};
}

void Broker::log_loaded(const TopicPartition& partition) {
  controller_->submit([this, partition](const metadata::Image& image) {
    partitions_->log_loaded(partition, image);
    if (groups_follow_ && partition.topic == groups::kOffsetsTopic) groups_->partition_loaded(image);
    notice_failed_directories();
    return metadata::Controller::Decision();
  });
}

Result<void> Broker::lead() {
  partitions_follow_ = true;
  TRY(controller_->unfence());
  TRY(groups_->start());
  groups_follow_ = true;
  logs_->start_background(*background_);
  log_mover_->go_on(logs_->unfinished_moves());
  keep_start_reserve();
  logs_->cleaner().reconfigure(configs::make_cleaner_options(config_, *image()));
  // A produce comes first: the cleaner has the time that is left.
  logs_->start_cleaner([this](int index) {
    return std::make_unique<ThreadExecutor>(clock(), fmt::format("cleaner-{}", index).c_str(), ThreadPriority::low);
  });
  // Posted: it may be said in the middle of an append, with locks held that noticing needs.
  const auto notice = [this] { background_->post([this] { notice_failed_directories(); }); };
  logs_->on_directory_failure([notice](std::size_t) { notice(); });
  notice();
  return {};
}

void Broker::keep_start_reserve() {
  metadata::keep_start_reserve(*environment_.fs, metadata_dir(config_));
  background_->schedule(clock().monotonic() + to_ns(kReserveInterval), [this] { keep_start_reserve(); });
}

Result<void> Broker::shut_down() {
  if (shut_down_.exchange(true)) return {};
  log_mover_->stop();
  group_commit_->stop();
  logs_->stop_loading();
  parked_fetches_->answer_all();
  groups_->stop();
  auto broker_epoch = controller_->shut_down();
  // The metadata log is closed: what it does not need any more may be needed for checkpoints.
  Result<void> released = metadata::release_start_reserve(*environment_.fs, metadata_dir(config_));
  // Without the epoch in it the mark of a clean stop is still true.
  Result<void> logs_closed = logs_->shut_down(broker_epoch ? *broker_epoch : -1);
  background_->stop();
  metadata::keep_start_reserve(*environment_.fs, metadata_dir(config_));
  if (!released) return released;
  if (!broker_epoch) return broker_epoch.error();
  return logs_closed;
}

void Broker::handle(protocol::Request request) {
  Result<protocol::RequestHeader> header = protocol::decode_request_header(request.frame->bytes());
  if (!header) return request.responder.close(header.error().what);
  const ApiEntry* api = find_api(header->api_key);
  if (api == nullptr) return request.responder.close(fmt::format("api key {} is not served", header->api_key));
  // ApiVersions answers versions that it does not know.
  bool version_is_served = header->version >= api->min_version && header->version <= api->max_version;
  if (!version_is_served && api->key != kApiVersionsKey) {
    return request.responder.close(fmt::format("{} version {} is not served", api->name, header->version));
  }
  requests_[static_cast<std::size_t>(api->key) % requests_.size()].fetch_add(1, std::memory_order_relaxed);
  // What was produced in this turn of the loop is there for whoever asks behind it.
  if (api->key != protocol::ProduceRequest::kApiKey) scratch_->produce_turns.run(*request.peer->loop);
  api->handler(*this, Exchange(std::move(request), header->api_key, header->version, header->correlation_id,
                               std::move(header->client_id).value_or(std::string()), header->body_at));
}

bool Broker::joins(const protocol::Peer& peer, BytesView frame) {
  if (frame.size() < 2 || load_be<std::int16_t>(frame, 0) != protocol::ProduceRequest::kApiKey) return false;
  return scratch_->produce_turns.is_last_staged(peer);
}

void Broker::disconnected(const protocol::Peer& peer) { parked_fetches_->give_up(peer.connection_id); }

std::pair<std::string, std::int32_t> Broker::advertised_for(const protocol::Peer& peer) const {
  if (config_.advertised_listeners) {
    for (const ListenerAddress& listener : *config_.advertised_listeners) {
      if (listener.name == peer.listener_name) return {listener.host, listener.port};
    }
  }
  // Where it reached us once it reaches us again.
  return {peer.local_host, peer.local_port};
}

storage::LogConfig Broker::log_config(const std::string& topic) const {
  return configs::make_log_config(config_, *image(), topic);
}

void Broker::log_failed(const storage::PartitionLog& log, const Error& error) {
  if (takes_directory_offline(error.code)) {
    logs_->mark_offline(io::Path(io::parent_of(log.directory())), error);
  } else if (error.code != Errc::closed) {
    return;
  }
  notice_failed_directories();
}

void Broker::when_flushed(std::shared_ptr<Partition> partition, Executor& loop,
                          std::function<void(const Result<void>&)> then) {
  std::shared_ptr<storage::PartitionLog> log = partition->log();
  group_commit_->when_flushed(
      log, [this, partition = std::move(partition), &loop, then = std::move(then)](const Result<void>& flushed) {
        if (flushed) {
          partition->on_flushed();
        } else {
          log_failed(*partition->log(), flushed.error());
        }
        loop.post([then, flushed] { then(flushed); });
      });
}

void Broker::on_fatal(std::function<void(const std::string& why)> stop) {
  std::optional<std::string> already;
  {
    MutexLock lock(failed_mu_);
    already = fatal_;
    stop_ = stop;
  }
  if (already) stop(*already);
}

void Broker::stop_when_nothing_is_left() {
  bool any_left = false;
  std::string why;
  for (const storage::LogDirectory& directory : logs_->directories()) {
    if (!directory.offline) {
      any_left = true;
    } else if (directory.path == metadata_dir(config_)) {
      why = fmt::format("the log directory {} with the metadata has failed", directory.path);
    }
  }
  if (!any_left) why = "every log directory has failed";
  if (why.empty()) return;
  std::function<void(const std::string&)> stop;
  {
    MutexLock lock(failed_mu_);
    if (fatal_) return;
    fatal_ = why;
    stop = stop_;
  }
  if (stop) stop(why);
}

void Broker::notice_failed_directories() {
  stop_when_nothing_is_left();
  for (const storage::LogDirectory& directory : logs_->directories()) {
    if (!directory.offline) continue;
    {
      MutexLock lock(failed_mu_);
      if (!failed_directories_.insert(directory.id).second) continue;
    }
    for (const auto& partition : partitions_->all()) {
      if (io::parent_of(partition->log()->directory()) == directory.path) partition->lose_log();
    }
    controller_->directory_failed(directory.id);
  }
}

}  // namespace cordwood::broker
