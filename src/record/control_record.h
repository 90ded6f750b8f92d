// record/control_record.h — records that speak to the log's readers instead of carrying data.
//
// A control batch (attribute bit 5) holds them; a transaction marker is a batch of exactly one, 78 bytes:
//   key    i16 version (0), i16 type
//   value  i16 version (0), i32 coordinator epoch          (types 0 and 1)
// Types 2 to 6 occur in __cluster_metadata and its snapshots only. Format: docs/formats/record_batch.md
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "record/batch.h"

namespace cordwood::record {

enum class ControlType : std::int16_t {
  abort = 0,
  commit = 1,
  leader_change = 2,
  snapshot_header = 3,
  snapshot_footer = 4,
  kraft_version = 5,
  kraft_voters = 6,
  unknown = -1,  // any other number: readers skip it
};
const char* to_string(ControlType type);  // "ABORT", "COMMIT", ...

struct ControlKey {
  std::int16_t version = 0;
  std::int16_t type_number = 0;
  ControlType type = ControlType::unknown;
  bool operator==(const ControlKey&) const = default;
};

// A version above 0 is read like 0. Errors: corrupt when shorter than 4 bytes or the version is negative.
Result<ControlKey> parse_control_key(BytesView key);

// The value of types 0 and 1.
struct EndTransactionMarker {
  std::int16_t version = 0;
  std::int32_t coordinator_epoch = -1;
  bool operator==(const EndTransactionMarker&) const = default;
};

// A version above 0 is read like 0. Errors: corrupt when shorter than 6 bytes or the version is negative.
Result<EndTransactionMarker> parse_end_transaction_marker(BytesView value);

// A marker batch as a whole, as producer state and the cleaner need it.
struct MarkerBatch {
  ControlType type = ControlType::unknown;  // also leader_change and its like, whose values are not read here
  EndTransactionMarker marker;              // meaningful for abort and commit
};

// The first record of a control batch; absent when the batch holds none (compaction emptied it).
// Errors: corrupt when the batch, its key or, for a marker, its value does not parse.
Result<std::optional<MarkerBatch>> read_marker(const BatchView& batch);

struct MarkerToWrite {
  Offset offset{0};
  std::int32_t partition_leader_epoch = -1;
  ProducerId producer_id;
  ProducerEpoch producer_epoch;
  ControlType type = ControlType::abort;  // abort or commit (checked)
  std::int32_t coordinator_epoch = -1;
  TimestampMs timestamp;
};

// The 78 bytes of a transaction marker.
ByteVector make_marker_batch(const MarkerToWrite& marker);

}  // namespace cordwood::record
