// client/records.h — appending one batch to a partition and reading a partition's records, over a Connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "client/connection.h"
#include "protocol/error_code.h"

namespace cordwood::client {

// A record with bytes of its own.
struct Record {
  Offset offset;
  TimestampMs timestamp;
  std::optional<ByteVector> key;
  std::optional<ByteVector> value;
  bool operator==(const Record&) const = default;
};

// acks of a produce request. (acks=0 has no answer: use Connection::send.)
enum class Acks : std::int16_t { leader = 1, all = -1 };

struct Produced {
  protocol::ErrorCode error = protocol::ErrorCode::NONE;
  std::optional<std::string> error_message;
  Offset base_offset;  // of the batch's first record, when there was no error
};

// One finished batch (record::BatchBuilder) to one partition of a topic that exists.
// Errors: those of Connection::call; what the broker says of the batch is in Produced::error.
Result<Produced> produce(Connection& connection, const TopicPartition& to, BytesView batch, Acks acks = Acks::all);

struct Fetched {
  protocol::ErrorCode error = protocol::ErrorCode::NONE;
  Offset high_watermark;
  Offset log_start_offset;
  std::vector<Record> records;  // from the offset asked on; empty when there were none in time
};

struct FetchOptions {
  DurationMs max_wait{500};
  std::int32_t min_bytes = 1;
  std::int32_t max_bytes = 1024 * 1024;
};

// The records from `from` on that one fetch brings, those of an incomplete last batch left out.
// Errors: those of Connection::call; corrupt when a batch is damaged.
Result<Fetched> fetch(Connection& connection, const TopicPartition& partition, Offset from,
                      const FetchOptions& options = {});

// The records of the whole batches at the front of `bytes`, those below `from` and control records left out.
Result<std::vector<Record>> records_in(BytesView bytes, Offset from);

}  // namespace cordwood::client
