// client/batching.h — records gathered into batches, one queue for each partition, as Kafka's producer gathers them.
//
// A batch takes records until batch.size is reached; a single record may exceed it. With compression the size is estimated from how
// well earlier batches were compressed. Nothing here sends or waits: producer.h does.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/types.h"
#include "client/failure.h"
#include "record/batch.h"
#include "record/builder.h"
#include "record/compression.h"

namespace cordwood::client {

// A record to send; the views live until the call returns.
struct RecordToSend {
  TimestampMs timestamp;
  std::optional<BytesView> key;
  std::optional<BytesView> value;
  std::span<const record::HeaderToWrite> headers;
};

// What became of a record.
struct Delivery {
  std::optional<Failure> failure;
  std::optional<Failure> cause;      // of the failure, where Java names one
  std::string_view java_class = {};  // of the failure, where it is not the one of its code
  PartitionId partition{-1};
  Offset offset{-1};             // -1 when the broker does not say (acks=0)
};
using DeliveryHandler = std::function<void(const Delivery&)>;

// The most bytes that a record of this form takes as the only one of its batch: what Java compares with max.request.size and
// buffer.memory.
std::int64_t largest_size_of(const RecordToSend& record);

// How many bytes remain of one, by experience: falls slowly, rises at once.
class CompressionRatio {
 public:
  double estimate() const { return estimate_; }
  void observed(double ratio);

 private:
  double estimate_ = 1.0;
};

struct BatchingOptions {
  std::int32_t batch_size = 16 * 1024;
  record::CompressionSettings compression;
};

// Who writes a batch, and which of its batches it is: what makes a repeated send harmless.
struct ProducerIdentity {
  std::int64_t id = -1;
  std::int16_t epoch = -1;
  bool operator==(const ProducerIdentity&) const = default;
};

// One batch from its first record to its answer.
class GatheredBatch {
 public:
  GatheredBatch(const BatchingOptions& options, std::int64_t first_record_size, MonotonicNs created);

  // Whether `record` may come in; the first one always may.
  bool has_room_for(const RecordToSend& record, const CompressionRatio& ratio) const;
  bool is_full(const CompressionRatio& ratio) const;
  // Bytes that it adds, before compression.
  std::int64_t append(const RecordToSend& record, DeliveryHandler handler);

  // The bytes of the batch; no more records afterwards. `ratio` learns how well it was compressed.
  BytesView close(CompressionRatio& ratio);
  // Writes producer and sequence into the closed batch.
  void set_identity(ProducerIdentity identity, std::int32_t base_sequence, bool transactional);
  // Tells all records what became of them: the first one, and the others at the offsets that follow.
  void complete(const Delivery& of_first);
  // Tells the records, by their place in the batch, each its own.
  void complete(const std::function<Delivery(std::int32_t)>& of_record);
  // The closed batch in two halves, for a broker that finds it too large. Empty when one record is all.
  std::vector<std::unique_ptr<GatheredBatch>> split(const BatchingOptions& options);

  std::int32_t record_count() const { return static_cast<std::int32_t>(handlers_.size()); }
  std::int64_t memory() const { return memory_; }
  MonotonicNs created() const { return created_; }
  bool closed() const { return !bytes_.empty(); }
  BytesView bytes() const { return bytes_; }
  ProducerIdentity identity() const { return identity_; }
  std::int32_t base_sequence() const { return base_sequence_; }  // -1: none was given

  int attempts = 0;
  MonotonicNs not_before{0};  // it waits until then after a failed attempt

 private:
  std::int64_t estimated_size(const CompressionRatio& ratio) const;

  record::BatchBuilder builder_;
  bool compressed_;
  std::int64_t limit_;
  std::int64_t memory_;
  MonotonicNs created_;
  std::vector<DeliveryHandler> handlers_;
  ByteVector bytes_;
  ProducerIdentity identity_;
  std::int32_t base_sequence_ = -1;
};

// The batches of one partition that wait to be sent, oldest first.
class BatchQueue {
 public:
  struct Appended {
    std::int64_t bytes = 0;
    std::int64_t memory = 0;  // that a new batch takes
    bool batches_full = false;
  };
  Appended append(const BatchingOptions& options, const CompressionRatio& ratio, const RecordToSend& record,
                  DeliveryHandler handler, MonotonicNs now);

  bool empty() const { return batches_.empty(); }
  GatheredBatch& front() { return *batches_.front(); }
  const GatheredBatch& front() const { return *batches_.front(); }
  std::unique_ptr<GatheredBatch> take_front();
  void put_front(std::unique_ptr<GatheredBatch> batch) { batches_.push_front(std::move(batch)); }
  // Between those already there, in the order of sequences: for a batch that must be sent again.
  void put_back_in_order(std::unique_ptr<GatheredBatch> batch);

  // When the first batch may leave: `now` or earlier when it is full or another one waits behind it, else when it has lingered.
  MonotonicNs due(const CompressionRatio& ratio, DurationMs linger) const;
  std::deque<std::unique_ptr<GatheredBatch>>& batches() { return batches_; }

 private:
  std::deque<std::unique_ptr<GatheredBatch>> batches_;
};

}  // namespace cordwood::client
