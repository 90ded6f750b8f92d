// broker/handlers/fetch_reading.h — reads one partition for a fetch: which records it may see, or which error it gets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "broker/broker.h"
#include "broker/fetch_session.h"
#include "broker/partition.h"
#include "protocol/error_code.h"
#include "storage/partition_log.h"

namespace cordwood::broker {

// What holds for all partitions of a fetch.
struct FetchReader {
  std::int32_t replica_id = -1;  // -1 consumer, -2 debugging consumer (needs no leader), >= 0 follower
  bool read_committed = false;
  bool by_topic_id = false;

  bool is_follower() const { return replica_id >= 0; }
};

struct FetchReading {
  protocol::ErrorCode error = protocol::ErrorCode::NONE;
  // Null when there is no such partition here.
  std::shared_ptr<Partition> partition;
  // The offsets count when there is no error; the range has bytes only when there is no divergence either.
  storage::ReadResult result;
  std::optional<storage::EpochEndOffset> divergence;
  // Where reading must end for this reader: high watermark, last stable offset or log end.
  Offset visible_end;
  // Nothing is gained by waiting for more: the bytes lie in a segment that is closed.
  bool in_closed_segment = false;

  std::int64_t bytes() const { return result.range.size.value; }
  // An answer is due whatever the other partitions have.
  bool is_due() const { return error != protocol::ErrorCode::NONE || divergence || in_closed_segment; }
};

struct FetchBudget {
  ByteCount max_bytes;
  bool at_least_one_batch = false;
};

FetchReading read_for_fetch(Broker& broker, const Exchange& exchange, const FetchReader& reader,
                            const FetchPartition& asked, FetchBudget budget);

}  // namespace cordwood::broker
