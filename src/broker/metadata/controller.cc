#include "broker/metadata/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <set>

#include "base/mutex.h"
#include "broker/metadata/apply.h"
#include "broker/metadata/broker_lifecycle.h"
#include "broker/metadata/directory_identity.h"
#include "broker/metadata/features.h"
#include "broker/metadata/metadata_log.h"

namespace cordwood::broker::metadata {
namespace {

constexpr std::int32_t kProducerIdBlock = 1000;
constexpr DurationMs kHousekeepingInterval{60'000};

Error closed_error() { return Error{Errc::closed, "the controller has shut down"}; }

}  // namespace

struct Controller::Impl {
  using ImagePtr = std::shared_ptr<const Image>;

  Impl(storage::LogEnvironment environment, storage::LogManager& log_manager, ControllerOptions controller_options)
      : env(environment), logs(log_manager), options(std::move(controller_options)),
        executor(*environment.clock, "controller") {}

  storage::LogEnvironment env;
  storage::LogManager& logs;
  ControllerOptions options;
  DirectoryIdentity identity;
  std::int32_t epoch = 0;
  LastStop last_stop = LastStop::unclean;

  // The controller's thread alone, after open().
  std::unique_ptr<MetadataLog> log;
  std::vector<Listener> listeners;
  std::optional<Error> ended;  // shut down, or the metadata log failed

  Mutex mu;
  ImagePtr published GUARDED_BY(mu) = std::make_shared<Image>();
  std::deque<Decide> waiting GUARDED_BY(mu);
  bool drain_posted GUARDED_BY(mu) = false;

  // Last: its thread must end before anything above goes away.
  ThreadExecutor executor;

  ImagePtr image() {
    MutexLock lock(mu);
    return published;
  }

  void publish(const ImagePtr& next) {
    ImagePtr before;
    {
      MutexLock lock(mu);
      before = std::exchange(published, next);
    }
    for (const Listener& listener : listeners) listener(*before, next);
  }

  BrokerIdentity this_broker() {
    BrokerIdentity us;
    us.node_id = options.node_id;
    us.incarnation = Uuid::random(*env.random);
    us.listeners = options.listeners;
    us.controller_listener = options.controller_listener;
    us.rack = options.rack;
    us.log_dirs = online_directories();
    return us;
  }

  std::vector<Uuid> online_directories() const {
    std::vector<Uuid> ids;
    for (const storage::LogDirectory& directory : logs.directories()) {
      if (!directory.offline) ids.push_back(directory.id);
    }
    return ids;
  }

  std::set<Uuid> offline_directories() const {
    std::set<Uuid> ids;
    for (const storage::LogDirectory& directory : logs.directories()) {
      if (directory.offline) ids.insert(directory.id);
    }
    return ids;
  }

  // --- opening ---

  Result<void> open() {
    identity = TRY(identify_directories(env, logs, options));
    LoadedMetadata loaded = TRY(load_metadata(*env.fs, identity.metadata_dir, *env.logger));
    TRY(check_sole_voter(loaded, options.node_id, identity.metadata_directory_id));
    std::vector<MetadataRecord> first_records = TRY(bootstrap_records(loaded));
    last_stop = how_it_was_left(loaded.image);

    log = TRY(MetadataLog::open(env, loaded, options.log));
    epoch = loaded.epoch + 1;
    QuorumState state;
    state.version = loaded.image.kraft_version >= 1 ? 1 : 0;
    state.leader = options.node_id;
    state.leader_epoch = epoch;
    if (state.version == 0) state.voters = {options.node_id};
    TRY(write_quorum_state(*env.fs, loaded.directory, state));
    return lead(std::move(loaded), std::move(first_records));
  }

  // What a log without any record starts with. Also refuses feature levels above ours, before anything is written.
  Result<std::vector<MetadataRecord>> bootstrap_records(const LoadedMetadata& loaded) {
    std::map<std::string, std::int16_t> features = loaded.image.features;
    if (!loaded.has_records) {
      Image first = TRY(image_of(SnapshotContent{{}, {}, loaded.bootstrap}, {}));
      features = first.features;
    }
    if (loaded.image.kraft_version > 0) features[std::string(kKRaftVersion)] = loaded.image.kraft_version;
    TRY(check_finalized_features(features, loaded.directory));
    if (loaded.has_records) return std::vector<MetadataRecord>{};

    std::vector<MetadataRecord> records = loaded.bootstrap;
    for (MetadataRecord& record : identity.adopted) {
      records.push_back(record_for(features[std::string(kMetadataVersion)], std::move(record.body)));
    }
    if (features[std::string(kElrVersion)] >= 1) {
      // With ELR the cluster-wide value must exist; it starts as the static one.
      auto given = options.broker_defaults.find("min.insync.replicas");
      records.push_back({ConfigRecord{static_cast<std::int8_t>(ResourceType::broker), "", "min.insync.replicas",
                                      given == options.broker_defaults.end() ? "1" : given->second},
                         0});
    }
    if (features[std::string(kMetadataVersion)] >= kMetadataTransactionsFrom) {
      records.insert(records.begin(), {BeginTransactionRecord{"Bootstrap records"}, 0});
      records.push_back({EndTransactionRecord{}, 0});
    }
    return records;
  }

  // Clean when every directory says so with the epoch under which this broker was registered.
  LastStop how_it_was_left(const Image& image) const {
    auto broker = image.brokers.find(options.node_id);
    if (broker == image.brokers.end()) return LastStop::unclean;
    bool clean = std::ranges::all_of(logs.directories(), [&](const storage::LogDirectory& directory) {
      return directory.clean_shutdown && directory.clean_shutdown->broker_epoch == broker->second.epoch;
    });
    return clean ? LastStop::clean : LastStop::unclean;
  }

  // Opens the new epoch: LEADER_CHANGE, the voters where the log does not have them as they are, then what is left from
  // before and the bootstrap records. Not flushed: nobody is told of it before unfence().
  Result<void> lead(LoadedMetadata loaded, std::vector<MetadataRecord> first_records) {
    ImageBuilder builder(std::move(loaded.image));
    std::vector<ControlRecord> control;
    LeaderChangeMessage leader;
    leader.leader_id = options.node_id.value;
    leader.voters.push_back({options.node_id.value, {}});
    leader.granting_voters.push_back({options.node_id.value, {}});
    control.push_back(std::move(leader));
    if (builder.image().kraft_version >= 1) {
      std::vector<Voter> voters = builder.image().voters;
      std::vector<Endpoint> endpoints{options.controller_listener};
      endpoints.front().security_protocol = 0;
      bool moved = voters.front().endpoints != endpoints;
      if (moved || !loaded.voters_in_log) {
        voters.front().endpoints = endpoints;
        control.push_back(KRaftVersionRecord{0, builder.image().kraft_version});
        control.push_back(to_record(voters));
      }
    }
    TRY(log->append(std::span<const ControlRecord>(control), epoch));
    for (const ControlRecord& record : control) builder.apply(record);

    std::vector<MetadataRecord> records;
    if (loaded.in_transaction) {
      // Its records were held back by the replay and are gone with it; the log must say so too.
      std::vector<MetadataRecord> abort{{AbortTransactionRecord{"Controller failover"}, 0}};
      TRY(log->append(std::move(abort), epoch, 0, Atomic::no));
    }
    records = TRY(log->append(std::move(first_records), epoch, 0, Atomic::no));
    for (const MetadataRecord& record : records) TRY(builder.apply(record));
    builder.set_position(log->end(), epoch);
    MutexLock lock(mu);
    published = std::make_shared<Image>(builder.take());
    return {};
  }

  // --- committing, on the controller's thread ---

  void fail(const Error& why) {
    if (ended) return;
    ended = Error{Errc::closed, fmt::format("the metadata log failed: {}", why.message())};
    env.logger->error("The metadata log failed, nothing can be changed any more: {}", why.message());
    log->close_abruptly();
    logs.mark_offline(identity.metadata_dir, why);
  }

  // Appends one operation and gives the image after it. Not durable and not published yet.
  Result<ImagePtr> append(const Image& base, std::vector<MetadataRecord> records, Atomic atomic) {
    if (ended) return *ended;
    // Applied before it is written: records that contradict the image must never reach the log.
    Result<Image> next = apply(base, records, epoch);
    if (!next) return next.error();
    Result<std::vector<MetadataRecord>> written = log->append(std::move(records), epoch, base.metadata_version(), atomic);
    if (!written) {
      fail(written.error());
      return *ended;
    }
    next->next_offset = log->end();
    return ImagePtr(std::make_shared<Image>(std::move(*next)));
  }

  Result<void> flush() {
    if (ended) return *ended;
    Result<void> flushed = log->flush();
    if (flushed) return {};
    fail(flushed.error());
    return *ended;
  }

  struct Done {
    std::function<void(const Result<ImagePtr>&)> function;
    ImagePtr image;                // after its records; the one before when it has none
    std::optional<Error> refused;  // it alone, by apply()
    bool changed = false;
  };

  // Runs everything that waits: decides one after the other, each on the image of the one before, writes all, flushes
  // once, then publishes and reports in order.
  void drain() {
    std::deque<Decide> batch;
    {
      MutexLock lock(mu);
      batch.swap(waiting);
      drain_posted = false;
    }
    ImagePtr pending = image();
    std::vector<Done> results;
    bool wrote = false;
    for (Decide& decide : batch) {
      Decision decision = decide(*pending);
      Done& result = results.emplace_back(Done{std::move(decision.done), pending, std::nullopt, false});
      if (decision.records.empty()) continue;
      Result<ImagePtr> next = append(*pending, std::move(decision.records), Atomic::yes);
      if (!next) {
        if (!ended) env.logger->error("A metadata change was refused: {}", next.error().message());
        result.refused = next.error();
        continue;
      }
      result.image = pending = *next;
      result.changed = true;
      wrote = true;
    }
    std::optional<Error> lost = ended;
    if (wrote && !lost) {
      if (Result<void> flushed = flush(); !flushed) lost = flushed.error();
    }
    for (Done& result : results) {
      Result<ImagePtr> outcome = result.image;
      if (lost) outcome = *lost;
      if (result.refused) outcome = *result.refused;
      if (outcome && result.changed) publish(result.image);
      if (result.function) result.function(outcome);
    }
    if (wrote && !lost && snapshot_is_due()) take_snapshot();
  }

  bool snapshot_is_due() const {
    if (log->bytes_since_snapshot() >= options.snapshot_after_bytes) return true;
    return options.snapshot_after_ms > DurationMs{0} && log->bytes_since_snapshot() > ByteCount{0} &&
           env.clock->monotonic() - log->last_snapshot_at() >= to_ns(options.snapshot_after_ms);
  }

  void take_snapshot() {
    Result<void> written = log->write_snapshot(*image());
    if (!written) {
      // The log is whole without it; the next change tries again.
      env.logger->warn("No snapshot of the metadata could be written: {}", written.error().message());
      return;
    }
    env.logger->info("Wrote a snapshot of the metadata up to offset {}", image()->next_offset);
    apply_retention();
  }

  void apply_retention() {
    if (Result<void> applied = log->apply_retention(); !applied) fail(applied.error());
  }

  void keep_house() {
    if (ended) return;
    if (snapshot_is_due()) {
      take_snapshot();
    } else {
      apply_retention();
    }
  }

  void keep_house_every_minute() {
    executor.schedule(env.clock->monotonic() + to_ns(kHousekeepingInterval), [this] {
      keep_house();
      keep_house_every_minute();
    });
  }

  void submit(Decide decide) {
    bool post = false;
    {
      MutexLock lock(mu);
      waiting.push_back(std::move(decide));
      post = !std::exchange(drain_posted, true);
    }
    if (post) executor.post([this] { drain(); });
  }

  // Runs `operation` on the controller's thread and waits for it.
  template <class Operation>
  auto run(Operation operation) {
    std::promise<decltype(operation())> promise;
    auto outcome = promise.get_future();
    executor.post([&] { promise.set_value(operation()); });
    return outcome.get();
  }

  // One operation of the broker's own life, not flushed.
  Result<void> step(std::vector<MetadataRecord> records) {
    if (ended) return *ended;
    if (records.empty()) return {};
    ImagePtr next = TRY(append(*image(), std::move(records), Atomic::no));
    publish(next);
    return {};
  }

  Result<void> register_broker() {
    BrokerIdentity us = this_broker();
    BrokerIdentity controller = us;
    controller.incarnation = Uuid::random(*env.random);
    TRY(step(controller_registration(*image(), controller)));
    TRY(step(fence_the_dead(*image(), options.node_id)));
    return step(broker_registration(*image(), us, last_stop));
  }

  Result<void> unfence() {
    const auto directory_of = [this](const TopicPartition& partition) -> std::optional<Uuid> {
      if (std::optional<Uuid> lies = logs.directory_of(partition)) return lies;
      // It may have been opened in between.
      return logs.is_loading(partition) ? kUnassignedDirectory : logs.directory_of(partition);
    };
    ImagePtr before = image();
    std::vector<MetadataRecord> records = unfencing(*before, options.node_id, directory_of, offline_directories());
    if (ended) return *ended;
    if (records.empty()) return Error{Errc::invalid, "this broker has not registered"};
    ImagePtr next = TRY(append(*before, std::move(records), Atomic::no));
    TRY(flush());
    publish(next);
    keep_house_every_minute();
    return {};
  }

  Result<std::int64_t> shut_down() {
    if (ended) return *ended;
    TRY(step(controlled_shutdown(*image(), options.node_id)));
    TRY(step(final_fencing(*image(), options.node_id)));
    TRY(flush());
    std::int64_t broker_epoch = epoch_of(*image());
    ended = closed_error();
    TRY(log->close_cleanly());
    return broker_epoch;
  }

  std::int64_t epoch_of(const Image& of) const {
    auto broker = of.brokers.find(options.node_id);
    return broker == of.brokers.end() ? -1 : broker->second.epoch;
  }
};

Controller::Controller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Controller::~Controller() {
  impl_->executor.stop();
  if (!impl_->ended) impl_->log->close_abruptly();
}

Result<std::unique_ptr<Controller>> Controller::open(storage::LogEnvironment environment, storage::LogManager& logs,
                                                     ControllerOptions options) {
  auto impl = std::make_unique<Impl>(environment, logs, std::move(options));
  TRY(impl->open());
  return std::unique_ptr<Controller>(new Controller(std::move(impl)));
}

std::shared_ptr<const Image> Controller::image() const { return impl_->image(); }
const std::string& Controller::cluster_id() const { return impl_->identity.cluster_id; }
NodeId Controller::node_id() const { return impl_->options.node_id; }
std::int32_t Controller::epoch() const { return impl_->epoch; }
std::int64_t Controller::broker_epoch() const { return impl_->epoch_of(*impl_->image()); }
std::shared_ptr<const storage::PartitionLog> Controller::metadata_log() const { return impl_->log->log(); }

std::vector<Uuid> Controller::online_directories() const { return impl_->online_directories(); }

void Controller::add_listener(Listener listener) {
  impl_->run([&] {
    impl_->listeners.push_back(std::move(listener));
    return 0;
  });
}

void Controller::submit(Decide decide) { impl_->submit(std::move(decide)); }

Result<void> Controller::register_broker() {
  return impl_->run([this] { return impl_->register_broker(); });
}

Result<void> Controller::unfence() {
  return impl_->run([this] { return impl_->unfence(); });
}

void Controller::keep_house() {
  impl_->run([this] {
    impl_->keep_house();
    return 0;
  });
}

Result<std::int64_t> Controller::shut_down() {
  return impl_->run([this] { return impl_->shut_down(); });
}

void Controller::log_moved(TopicPartition partition, Uuid directory) {
  impl_->submit([this, partition = std::move(partition), directory](const Image& image) {
    return Decision{directory_change(image, impl_->options.node_id, partition, directory), {}};
  });
}

void Controller::directory_failed(Uuid directory) {
  impl_->submit([this, directory](const Image& image) {
    return Decision{directory_failure(image, impl_->options.node_id, directory), {}};
  });
}

void Controller::allocate_producer_ids(std::function<void(Result<ProducerIdBlock>)> done) {
  impl_->submit([this, done = std::move(done)](const Image& image) {
    ProducerIdBlock block{image.next_producer_id, kProducerIdBlock};
    ProducerIdsRecord record;
    record.broker_id = impl_->options.node_id.value;
    record.broker_epoch = impl_->epoch_of(image);
    record.next_producer_id = block.first + block.size;
    Decision decision;
    decision.records.push_back(record_for(image.metadata_version(), std::move(record)));
    decision.done = [done, block](const Result<std::shared_ptr<const Image>>& outcome) {
      if (outcome) {
        done(block);
      } else {
        done(outcome.error());
      }
    };
    return decision;
  });
}

}  // namespace cordwood::broker::metadata
