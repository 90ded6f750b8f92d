// client/producer.h — sends records to partitions: batches, compression, several requests under way, retries, idempotence.
//
// Behaves as Kafka's producer (seen on Kafka 4.4.0) but has no thread of its own: send() only gathers, poll() sends what is due
// and takes answers. Handlers are called from send(), poll(), flush() and close().
// A record's handler is called exactly once. With idempotence, records of a partition keep their order through retries, and none is
// appended twice.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "client/batching.h"
#include "client/cluster.h"
#include "client/node_links.h"
#include "client/partitioner.h"
#include "client/topic_lookup.h"
#include "protocol/messages/produce.h"

namespace cordwood::client {

struct ProducerOptions {
  BatchingOptions batching;
  DurationMs linger{5};
  std::int64_t buffer_memory = 32 * MiB;
  std::int64_t max_request_size = 1 * MiB;
  std::int16_t acks = -1;  // 0, 1, -1
  std::int32_t retries = INT32_MAX;
  std::int32_t max_in_flight = 5;
  bool idempotence = true;
  bool ignore_keys = false;  // partitioner.ignore.keys
  DurationMs retry_backoff{100};
  DurationMs retry_backoff_max{1'000};
  DurationMs delivery_timeout{120'000};
  DurationMs request_timeout{30'000};
  DurationMs max_block{60'000};
  DurationMs metadata_max_age{300'000};
};

class ProducerListener : public ClusterListener {
 public:
  virtual void metadata_mistakes(std::int32_t correlation_id, const std::vector<TopicMistake>& mistakes) = 0;
  // A batch that will be sent again.
  virtual void will_retry(const TopicPartition& partition, const Failure& failure, std::int32_t attempts_left) = 0;
};

class Producer {
 public:
  // `clock`, `random` and `listener` must outlive it. Does no I/O.
  Producer(ClusterOptions cluster, ProducerOptions options, const Clock& clock, Random& random, ProducerListener& listener);

  // Takes the record. Waits up to max_block for the topic's metadata and for room among the buffered records. What goes wrong
  // comes to the handler, which may be empty.
  void send(const std::string& topic, std::optional<PartitionId> partition, const RecordToSend& record, DeliveryHandler handler);

  // Sends what is due and takes answers; waits at most `patience` for something to do.
  void poll(DurationMs patience);
  // How long poll() has nothing to do but to wait for the network.
  DurationMs until_due() const;
  // The connections that answers come on, to be waited on beside something else.
  std::vector<int> descriptors() const;

  // Sends everything and waits until each record was answered, failed or expired, or `go_on` says no.
  void flush();
  // Records not sent yet, or not answered.
  bool idle() const { return waiting_batches_ == 0 && in_flight_batches_ == 0; }

 private:
  struct PartitionState {
    BatchQueue queue;
    std::int32_t in_flight = 0;
    std::int32_t next_sequence = 0;
    ProducerIdentity identity;
    bool begin_anew = false;  // with a new epoch, as soon as none of its batches is under way
  };
  struct TopicState {
    explicit TopicState(Random& random, std::int32_t batch_size) : sticky(random, batch_size) {}
    TopicPartitions known;
    MonotonicNs learnt{0};
    StickyPartitioner sticky;
    std::map<std::int32_t, PartitionState> partitions;
  };
  struct UnderWay {
    TopicPartition partition;
    std::unique_ptr<GatheredBatch> batch;
    std::int32_t sent_sequence = -1;  // it may get another one for the next attempt while it is under way
  };
  struct Request {
    std::int16_t version = 0;
    MonotonicNs sent{0};
    std::vector<UnderWay> batches;
  };

  TopicState* topic_state(const std::string& topic, std::optional<PartitionId> partition, Delivery& refused);
  bool make_room(std::int64_t bytes, Delivery& refused);
  bool pause(DurationMs wait);
  void refresh_metadata();
  bool has_identity();
  bool may_leave(const PartitionState& state, MonotonicNs now) const;
  bool send_due();
  void send_request(std::int32_t node, std::vector<UnderWay> batches);
  void give_sequence(PartitionState& state, GatheredBatch& batch);
  void receive(std::int32_t node);
  void settle(UnderWay under_way, const protocol::ProduceResponse::Partition& answer);
  bool refused_for_its_sequence(const UnderWay& under_way, protocol::ErrorCode code);
  bool may_retry(const UnderWay& under_way) const;
  void retry(UnderWay under_way, const Failure& failure);
  void split(UnderWay under_way);
  void close_gap(const TopicPartition& partition, const GatheredBatch& missing);
  void wish_new_epoch(const TopicPartition& partition);
  void release(const GatheredBatch& batch);
  void link_lost(std::int32_t node, const Failure& failure);
  void give_up_overdue();
  PartitionState& state_of(const TopicPartition& partition);

  Cluster cluster_;
  NodeLinks links_;
  ProducerOptions options_;
  const Clock& clock_;
  Random& random_;
  ProducerListener& listener_;
  std::map<std::string, std::unique_ptr<TopicState>> topics_;
  std::map<std::int32_t, Node> nodes_;
  std::map<std::int32_t, std::deque<Request>> requests_;
  std::map<record::Codec, CompressionRatio> ratios_;
  ProducerIdentity identity_;
  bool bump_wanted_ = false;
  bool send_now_ = false;  // whatever waits, it lingers no longer
  bool metadata_wanted_ = false;
  MonotonicNs next_metadata_{0};
  std::int64_t buffered_bytes_ = 0;
  std::int64_t waiting_batches_ = 0;
  std::int64_t in_flight_batches_ = 0;
};

}  // namespace cordwood::client
