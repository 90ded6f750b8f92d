// broker/metadata/metadata_batch.h — metadata and control records as record batches, and back.
//
// Data batches: attributes 0, no producer, null keys. Control batches: the control bit without the transactional one. All
// records of a batch carry one timestamp; partitionLeaderEpoch is the raft epoch (a snapshot's: the snapshot's epoch).
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "broker/metadata/control_record.h"
#include "broker/metadata/metadata_record.h"
#include "record/batch.h"

namespace cordwood::broker::metadata {

// Where a batch goes and when it was made.
struct BatchPlace {
  Offset base_offset;
  std::int32_t epoch = 0;
  TimestampMs timestamp;
};

// `records` must not be empty (checked).
ByteVector encode_batch(std::span<const MetadataRecord> records, const BatchPlace& place);
ByteVector encode_batch(std::span<const ControlRecord> records, const BatchPlace& place);

struct BatchVisitor {
  std::function<Result<void>(const MetadataRecord& record, Offset offset)> metadata;
  std::function<Result<void>(const ControlRecord& record, Offset offset)> control;
};

// Decodes every record of a batch whose CRC was checked, of any codec, and hands it to the visitor. `where` goes into
// errors. Errors: those of the decoders and of the visitor.
Result<void> decode_batch(const record::BatchView& batch, std::string_view where, const BatchVisitor& visitor);

}  // namespace cordwood::broker::metadata
