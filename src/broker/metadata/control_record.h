// broker/metadata/control_record.h — the records of KRaft's control batches: leader changes, voters, snapshot frames.
//
// Key: i16 0, i16 type. Value: the message in flexible form; its first field is its version.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "broker/metadata/image.h"
#include "broker/metadata/metadata_records.h"

namespace cordwood::broker::metadata {

using ControlRecord =
    std::variant<LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord, KRaftVersionRecord, VotersRecord>;

struct EncodedControlRecord {
  ByteVector key;
  ByteVector value;
};
EncodedControlRecord encode_control_record(const ControlRecord& record);

// Errors: corrupt; unsupported for an unknown type or a version above ours (named with `where`).
Result<ControlRecord> decode_control_record(std::optional<BytesView> key, std::optional<BytesView> value,
                                            std::string_view where);

VotersRecord to_record(const std::vector<Voter>& voters);
std::vector<Voter> from_record(const VotersRecord& record);

}  // namespace cordwood::broker::metadata
