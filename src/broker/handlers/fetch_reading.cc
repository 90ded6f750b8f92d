#include "broker/handlers/fetch_reading.h"

#include <algorithm>

#include "broker/authorizer.h"
#include "broker/handlers/partition_lookup.h"
#include "broker/storage_errors.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;

ErrorCode may_read(const Partition& partition, const FetchReader& reader, std::int32_t current_epoch) {
  ErrorCode error = partition.check_leader(current_epoch);
  if (error == ErrorCode::NOT_LEADER_OR_FOLLOWER && reader.replica_id == -2) return ErrorCode::NONE;
  if (error != ErrorCode::NONE) return error;
  if (reader.is_follower() && !partition.is_remote_replica(NodeId{reader.replica_id})) {
    return ErrorCode::NOT_LEADER_OR_FOLLOWER;
  }
  return ErrorCode::NONE;
}

Offset visible_end(const storage::ReadResult& result, storage::ReadLimit limit) {
  switch (limit) {
    case storage::ReadLimit::log_end:
      return result.log_end_offset;
    case storage::ReadLimit::high_watermark:
      return result.high_watermark;
    case storage::ReadLimit::last_stable:
      return result.last_stable_offset;
  }
  CHECK(false, "ReadLimit {}", static_cast<int>(limit));
}

// Compares the epoch of the reader's last record with our history. Errors are codes; no divergence is nothing.
ErrorCode check_divergence(const storage::PartitionLog& log, const FetchPartition& asked,
                           std::optional<storage::EpochEndOffset>& divergence) {
  if (asked.last_fetched_epoch < 0) return ErrorCode::NONE;
  storage::EpochEndOffset ours = log.end_offset_for_epoch(asked.last_fetched_epoch);
  // An epoch that we never had: this reader knows more than we do.
  if (ours.epoch < 0 || ours.end_offset.value < 0) return ErrorCode::OFFSET_OUT_OF_RANGE;
  if (asked.fetch_offset < log.log_start_offset().value) return ErrorCode::OFFSET_OUT_OF_RANGE;
  if (ours.epoch < asked.last_fetched_epoch || ours.end_offset.value < asked.fetch_offset) divergence = ours;
  return ErrorCode::NONE;
}

}  // namespace

FetchReading read_for_fetch(Broker& broker, const Exchange& exchange, const FetchReader& reader,
                            const FetchPartition& asked, FetchBudget budget) {
  FetchReading reading;
  Located located = reader.by_topic_id ? locate(broker, asked.key.topic_id, asked.key.partition)
                                       : locate(broker, asked.key.topic, asked.key.partition);
  reading.partition = located.partition;
  reading.error = located.error;
  if (!reading.partition) return reading;
  const Partition& partition = *reading.partition;
  if (!reader.is_follower() &&
      authorise(exchange, Operation::read, Resource::topic, partition.name().topic) == Verdict::denied) {
    reading.error = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    return reading;
  }
  // Kafka has no answer for a negative size but its code for "unknown".
  reading.error = asked.max_bytes < 0 ? ErrorCode::UNKNOWN_SERVER_ERROR
                                      : may_read(partition, reader, asked.current_leader_epoch);
  if (reading.error != ErrorCode::NONE) return reading;

  const storage::PartitionLog& log = *partition.log();
  reading.error = check_divergence(log, asked, reading.divergence);
  if (reading.error != ErrorCode::NONE) return reading;

  storage::ReadOptions options;
  options.from = Offset{asked.fetch_offset};
  options.max_bytes = std::min(budget.max_bytes, ByteCount{asked.max_bytes});
  options.at_least_one_batch = budget.at_least_one_batch;
  options.limit = reader.is_follower()     ? storage::ReadLimit::log_end
                  : reader.read_committed ? storage::ReadLimit::last_stable
                                          : storage::ReadLimit::high_watermark;
  if (reading.divergence) {
    // Only the offsets are wanted, and the reader's own offset may lie beyond our end.
    options.from = log.log_end_offset();
    options.max_bytes = {};
    options.at_least_one_batch = false;
  }
  Result<storage::ReadResult> read = log.read(options);
  if (!read) {
    reading.error = error_code_of(read.error().code);
    broker.log_failed(log, read.error());
    return reading;
  }
  reading.result = std::move(*read);
  reading.visible_end = visible_end(reading.result, options.limit);
  reading.in_closed_segment = reading.result.in_older_segment && Offset{asked.fetch_offset} < reading.visible_end;
  return reading;
}

}  // namespace cordwood::broker
