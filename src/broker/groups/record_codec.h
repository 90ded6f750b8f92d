// broker/groups/record_codec.h — the records of __consumer_offsets that the classic protocol writes and reads.
//
// Key: i16 type, then fields; value: i16 version, then fields; a null value deletes. Types that other coordinators own
// (KIP-848, share, streams groups) are kept in the log and passed over. Format: docs/formats/consumer_offsets.md
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "broker/groups/group_records.h"

namespace cordwood::broker::groups {

struct OffsetRecord {
  std::string group;
  TopicPartition partition;
  std::optional<OffsetCommitValue> value;  // absent: tombstone
  bool operator==(const OffsetRecord&) const = default;
};
struct GroupRecordOf {
  std::string group;
  std::optional<GroupMetadataValue> value;  // absent: tombstone
  bool operator==(const GroupRecordOf&) const = default;
};
struct ForeignRecord {
  std::int16_t type = 0;
  bool operator==(const ForeignRecord&) const = default;
};
using GroupRecord = std::variant<OffsetRecord, GroupRecordOf, ForeignRecord>;

// `offset_value_version`: 4 from metadata.version 26 (4.1-IV0) on, 3 below, so that every Kafka that the directory may be
// handed to can read it; 1 is taken by itself when the value has an expire timestamp.
struct EncodedRecord {
  ByteVector key;
  std::optional<ByteVector> value;
};
EncodedRecord encode(const GroupRecord& record, std::int16_t offset_value_version);

// Errors: corrupt (key or value too short), unsupported (value version).
Result<GroupRecord> decode(BytesView key, std::optional<BytesView> value);

}  // namespace cordwood::broker::groups
