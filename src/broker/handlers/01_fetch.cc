// Fetch (key 1), versions 4-18: v5 log start offset, v7 sessions, v9 epoch fencing, v12 flexible and diverging epochs, v13
// topic ids, v15 replica state, v16 leader hints.
//
// Answered when min_bytes are there, when something is due (an error, a diverging epoch, data of a closed segment), or when
// max_wait_ms are over; a fetch that waits is a PendingFetch with a waiter on each partition. What is read stays in its
// file: an answer holds ranges. Every code was seen on Apache Kafka 4.4.0. Known difference: we send whole batches only,
// Kafka cuts the last one off at the limit.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/fetch_session.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/fetch_reading.h"
#include "broker/handlers/parked_fetches.h"
#include "broker/handlers/partition_lookup.h"
#include "broker/handlers/scratch.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::FetchRequest;
using protocol::FetchResponse;

constexpr std::int16_t kStorageErrorFrom = 6;
constexpr std::int16_t kFetchByIdFrom = 13;
constexpr std::int16_t kReplicaStateFrom = 15;
constexpr std::int16_t kFetchLeaderHintsFrom = 16;

struct FetchParams {
  FetchReader reader;
  std::int64_t min_bytes = 0;
  std::int64_t max_bytes = 0;
  std::int64_t max_wait_ms = 0;
};

// Offsets that tell, when they differ from those of a reading, that there is something new.
struct Watched {
  Offset high_watermark, last_stable_offset, log_start_offset, log_end_offset;
  bool operator==(const Watched&) const = default;
};

Watched watched(const storage::ReadResult& result) {
  return {result.high_watermark, result.last_stable_offset, result.log_start_offset, result.log_end_offset};
}

Watched watched(const storage::PartitionLog& log) {
  return {log.high_watermark(), log.last_stable_offset(), log.log_start_offset(), log.log_end_offset()};
}

// A fetch from its plan to its answer. Lives on its loop; only the waiters are called from elsewhere.
class PendingFetch final : public ParkedFetch, public std::enable_shared_from_this<PendingFetch> {
 public:
  PendingFetch(Broker& broker, Exchange exchange, FetchPlan plan, const FetchParams& params)
      : broker_(broker), exchange_(std::move(exchange)), loop_(exchange_.loop()), plan_(std::move(plan)), params_(params) {}

  void start() {
    read_all();
    if (params_.max_wait_ms <= 0 || plan_.partitions.empty() || is_enough()) return answer();
    park();
  }

  Executor& loop() const override { return loop_; }

  void give_up() override {
    if (!exchange_.pending()) return;
    unpark();
    exchange_.close("disconnected");
  }

  void answer_now() override {
    if (exchange_.pending()) read_all_and_answer();
  }

 private:
  std::size_t count() const { return plan_.partitions.size(); }

  // Reads every partition in order within the limits of the whole answer. The first one with data may exceed them, so
  // that a batch larger than the limits gets through.
  void read_all() {
    std::int64_t left = params_.max_bytes;
    bool empty_so_far = true;
    readings_.clear();
    readings_.reserve(count());
    for (const FetchPartition& asked : plan_.partitions) {
      FetchBudget budget{ByteCount{left}, empty_so_far};
      const FetchReading& reading = readings_.emplace_back(read(asked, budget));
      if (reading.bytes() == 0) continue;
      empty_so_far = false;
      left = std::max<std::int64_t>(0, left - reading.bytes());
    }
  }

  FetchReading read(const FetchPartition& asked, FetchBudget budget) {
    return read_for_fetch(broker_, exchange_, params_.reader, asked, budget);
  }

  bool is_enough() const {
    std::int64_t bytes = 0;
    for (const FetchReading& reading : readings_) {
      if (reading.is_due()) return true;
      bytes += reading.bytes();
    }
    return bytes >= params_.min_bytes;
  }

  void park() {
    changed_ = std::make_unique<std::atomic<bool>[]>(count());
    waiters_.resize(count());
    parked_ = true;
    broker_.parked_fetches().add(exchange_.peer().connection_id, shared_from_this());
    for (std::size_t i = 0; i < count(); ++i) wait_for(i);
    // What changed between the reading and the waiter's arrival is seen now or never.
    bool missed_something = false;
    for (std::size_t i = 0; i < count(); ++i) {
      const Partition& partition = *readings_[i].partition;
      if (partition.check_leader(-1) == ErrorCode::NONE && watched(*partition.log()) == watched(readings_[i].result)) continue;
      changed_[i] = true;
      missed_something = true;
    }
    if (missed_something && answer_if_enough()) return;
    timer_ = loop_.schedule(broker_.clock().monotonic() + to_ns(DurationMs{params_.max_wait_ms}),
                            [weak = weak_from_this()] {
                              if (auto self = weak.lock()) self->answer_now();
                            });
  }

  void wait_for(std::size_t i) {
    waiters_[i].partition = readings_[i].partition;
    waiters_[i].id = readings_[i].partition->add_waiter([weak = weak_from_this(), i] {
      if (auto self = weak.lock()) self->wake(i);
    });
  }

  // On any thread. However many partitions change, one function at a time is on its way to the loop.
  void wake(std::size_t i) {
    changed_[i].store(true);
    if (wake_posted_.exchange(true)) return;
    loop_.post([self = shared_from_this()] {
      self->wake_posted_.store(false);
      if (self->exchange_.pending()) self->answer_if_enough();
    });
  }

  // Reads anew what changed, each partition by itself; the answer then reads all within the limits.
  bool answer_if_enough() {
    for (std::size_t i = 0; i < count(); ++i) {
      if (!changed_[i].exchange(false)) continue;
      // Waited for before it is read, so that nothing falls in between. A waiter that is still there is replaced.
      waiters_[i].partition->remove_waiter(waiters_[i].id);
      wait_for(i);
      readings_[i] = read(plan_.partitions[i], {ByteCount{params_.max_bytes}, true});
      // Another partition of this name took the place of the one we wait for.
      bool replaced = readings_[i].partition != waiters_[i].partition;
      if (readings_[i].is_due() || replaced) {
        read_all_and_answer();
        return true;
      }
    }
    if (!is_enough()) return false;
    read_all_and_answer();
    return true;
  }

  void read_all_and_answer() {
    unpark();
    read_all();
    answer();
  }

  void unpark() {
    if (!std::exchange(parked_, false)) return;
    for (const Waiter& waiter : waiters_) waiter.partition->remove_waiter(waiter.id);
    if (timer_ != 0) loop_.cancel(timer_);
    broker_.parked_fetches().remove(exchange_.peer().connection_id, this);
  }

  void answer() {
    std::vector<FetchVerdict> verdicts;
    verdicts.reserve(count());
    for (const FetchReading& reading : readings_) {
      FetchVerdict& verdict = verdicts.emplace_back();
      verdict.error = reading.error;
      if (reading.error != ErrorCode::NONE) continue;
      verdict.high_watermark = reading.result.high_watermark.value;
      verdict.log_start_offset = reading.result.log_start_offset.value;
      verdict.has_records = reading.bytes() > 0;
      verdict.has_diverging_epoch = reading.divergence.has_value();
    }
    FetchSessionCache::Conclusion conclusion = broker_.fetch_sessions().finish(plan_, verdicts);

    FetchResponse response;
    response.error_code = conclusion.error;
    response.session_id = conclusion.session_id;
    const FetchKey* last = nullptr;
    for (std::size_t i = 0; i < conclusion.include.size(); ++i) {
      if (!conclusion.include[i]) continue;
      const FetchPartition& asked = plan_.partitions[i];
      if (last == nullptr || !last->same_topic(asked.key)) {
        FetchResponse::Topic& topic = response.responses.emplace_back();
        topic.topic = asked.key.topic;
        topic.topic_id = asked.key.topic_id;
      }
      last = &asked.key;
      fill(asked, readings_[i], response, response.responses.back().partitions.emplace_back());
    }
    exchange_.answer(response);
  }

  void fill(const FetchPartition& asked, FetchReading& reading, FetchResponse& response, FetchResponse::Partition& into) {
    into.partition_index = asked.key.partition.value;
    into.error_code = reading.error;
    into.high_watermark = -1;
    // Never null: that breaks clients (KAFKA-18646).
    into.records.emplace();
    if (reading.error == ErrorCode::NONE) {
      into.high_watermark = reading.result.high_watermark.value;
      into.last_stable_offset = reading.result.last_stable_offset.value;
      into.log_start_offset = reading.result.log_start_offset.value;
      if (reading.bytes() > 0) reading.partition->count_fetched(reading.result.range.size);
      into.records->range = std::move(reading.result.range);
      if (reading.divergence) {
        into.diverging_epoch.epoch = reading.divergence->epoch;
        into.diverging_epoch.end_offset = reading.divergence->end_offset.value;
      }
      if (!params_.reader.read_committed) return;
      auto& aborted = into.aborted_transactions.emplace();
      for (const storage::AbortedTransaction& transaction : reading.result.aborted) {
        auto& entry = aborted.emplace_back();
        entry.producer_id = transaction.producer_id;
        entry.first_offset = transaction.first_offset.value;
      }
      return;
    }
    if (reading.error == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION || reading.error == ErrorCode::UNKNOWN_TOPIC_ID) {
      into.aborted_transactions.emplace();
    }
    if (reading.error == ErrorCode::KAFKA_STORAGE_ERROR && exchange_.version() < kStorageErrorFrom) {
      into.error_code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    }
    bool wrong_leader =
        reading.error == ErrorCode::NOT_LEADER_OR_FOLLOWER || reading.error == ErrorCode::FENCED_LEADER_EPOCH;
    if (wrong_leader && exchange_.version() >= kFetchLeaderHintsFrom) {
      LeaderHint leader = reading.partition ? leader_hint(broker_, reading.partition->name())
                                            : leader_hint(broker_, asked.key.topic_id, asked.key.partition);
      into.current_leader.leader_id = leader.leader_id;
      into.current_leader.leader_epoch = leader.leader_epoch;
      add_node_endpoint(broker_, exchange_.peer(), leader.leader_id, response.node_endpoints);
    }
  }

  Broker& broker_;
  Exchange exchange_;
  Executor& loop_;
  FetchPlan plan_;
  FetchParams params_;
  std::vector<FetchReading> readings_;  // parallel to plan_.partitions
  bool parked_ = false;
  struct Waiter {
    std::shared_ptr<Partition> partition;
    Partition::WaiterId id = 0;
  };
  // Both parallel to them as well. A waiter may still be called after it was removed, so changed_ stays to the end.
  std::vector<Waiter> waiters_;
  std::unique_ptr<std::atomic<bool>[]> changed_;
  std::atomic<bool> wake_posted_ = false;
  TimerId timer_ = 0;
};

// A request that is refused as a whole: every partition with the code of the request.
void refuse(Exchange& exchange, const FetchRequest& request, ErrorCode error) {
  FetchResponse response;
  response.error_code = error;
  response.session_id = request.session_id;
  for (const FetchRequest::Topic& topic : request.topics) {
    auto& answers = response.responses.emplace_back();
    answers.topic = topic.topic;
    answers.topic_id = topic.topic_id;
    for (const FetchRequest::Partition& partition : topic.partitions) {
      auto& answer = answers.partitions.emplace_back();
      answer.partition_index = partition.partition;
      answer.error_code = error;
      answer.high_watermark = -1;
      answer.records.emplace();
    }
  }
  exchange.answer(response);
}

FetchSessionCache::Request session_request(const FetchRequest& request, std::int16_t version, bool is_follower) {
  FetchSessionCache::Request asked;
  asked.session_id = request.session_id;
  asked.epoch = request.session_epoch;
  asked.uses_topic_ids = version >= kFetchByIdFrom;
  asked.privileged = is_follower;
  std::size_t partitions = 0;
  for (const FetchRequest::Topic& topic : request.topics) partitions += topic.partitions.size();
  asked.partitions.reserve(partitions);
  for (const FetchRequest::Topic& topic : request.topics) {
    for (const FetchRequest::Partition& partition : topic.partitions) {
      asked.partitions.push_back({{topic.topic_id, topic.topic, PartitionId{partition.partition}},
                                  partition.fetch_offset,
                                  partition.partition_max_bytes,
                                  partition.current_leader_epoch,
                                  partition.last_fetched_epoch});
    }
  }
  for (const FetchRequest::ForgottenTopic& topic : request.forgotten_topics_data) {
    for (std::int32_t partition : topic.partitions) {
      asked.forgotten.push_back({topic.topic_id, topic.topic, PartitionId{partition}});
    }
  }
  return asked;
}

}  // namespace

void handle_fetch(Broker& broker, Exchange exchange) {
  FetchParams params;
  FetchPlan plan;
  {
    auto scratch = broker.scratch().fetch.take(&exchange.loop());
    FetchRequest& request = *scratch;
    if (!exchange.decode(request)) return;
    params.reader.replica_id =
        exchange.version() >= kReplicaStateFrom ? request.replica_state.replica_id : request.replica_id;
    params.reader.read_committed = request.isolation_level == 1;
    params.reader.by_topic_id = exchange.version() >= kFetchByIdFrom;
    if (params.reader.is_follower() &&
        authorise(exchange, Operation::cluster_action, Resource::cluster, kClusterResource) == Verdict::denied) {
      return refuse(exchange, request, ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
    }
    if (request.isolation_level != 0 && request.isolation_level != 1) {
      return refuse(exchange, request, ErrorCode::UNKNOWN_SERVER_ERROR);
    }
    params.max_wait_ms = request.max_wait_ms;
    params.max_bytes =
        std::clamp<std::int64_t>(request.max_bytes, 0, std::max<std::int64_t>(0, broker.config().fetch_max_bytes.value));
    params.min_bytes = std::min<std::int64_t>(request.min_bytes, params.max_bytes);
    plan = broker.fetch_sessions().begin(session_request(request, exchange.version(), params.reader.is_follower()));
  }
  if (plan.error != ErrorCode::NONE) {
    FetchResponse response;
    response.error_code = plan.error;
    return exchange.answer(response);
  }
  std::make_shared<PendingFetch>(broker, std::move(exchange), std::move(plan), params)->start();
}

}  // namespace cordwood::broker
