// client/partitioner.h — which partition a record goes to, as Kafka's own producer chooses (seen on Kafka 4.4.0).
//
// A record with a key goes where the key's hash says: programs rely on Java's and ours agreeing. A record without one goes to the
// sticky partition, which changes once it got about batch.size bytes (KIP-794): batches become full, and partitions get equal bytes.
// Not taken over: the weighting by queue lengths, which needs the speed of each broker.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/random.h"

namespace cordwood::client {

// MurmurHash2 with the seed of Java's client, as a signed number of 32 bits.
std::int32_t murmur2(BytesView bytes);

// The partition of a record with this key. `partition_count` is above 0 (checked).
std::int32_t partition_of_key(BytesView key, std::int32_t partition_count);

// One thread; one for each topic.
class StickyPartitioner {
 public:
  // `random` must outlive it. `batch_size` in bytes; below 1 counts as 1.
  StickyPartitioner(Random& random, std::int32_t batch_size);

  // Where the next record goes. Of the partitions with a leader, `available`, when there are any; else of all.
  std::int32_t partition(std::int32_t partition_count, std::span<const std::int32_t> available);
  // What the record added to that partition's batches. `batches_full`: none of them takes more. The partition is given up when it
  // got batch_size bytes and its batches are full, or when it got twice as much.
  void appended(std::int64_t bytes, bool batches_full);

 private:
  Random& random_;
  std::int64_t batch_size_;
  std::optional<std::int32_t> current_;
  std::int64_t bytes_ = 0;
};

}  // namespace cordwood::client
