#include "record/control_record.h"

#include "record/builder.h"
#include "record/record_walk.h"

namespace cordwood::record {

const char* to_string(ControlType type) {
  switch (type) {
    case ControlType::abort:
      return "ABORT";
    case ControlType::commit:
      return "COMMIT";
    case ControlType::leader_change:
      return "LEADER_CHANGE";
    case ControlType::snapshot_header:
      return "SNAPSHOT_HEADER";
    case ControlType::snapshot_footer:
      return "SNAPSHOT_FOOTER";
    case ControlType::kraft_version:
      return "KRAFT_VERSION";
    case ControlType::kraft_voters:
      return "KRAFT_VOTERS";
    case ControlType::unknown:
      return "UNKNOWN";
  }
  return "UNKNOWN";
}

Result<ControlKey> parse_control_key(BytesView key) {
  ByteReader reader(key);
  ControlKey parsed;
  parsed.version = reader.i16();
  parsed.type_number = reader.i16();
  if (!reader.ok()) return Error{Errc::corrupt, fmt::format("a control record's key has {} bytes", key.size())};
  if (parsed.version < 0) return Error{Errc::corrupt, fmt::format("control record key version {}", parsed.version)};
  bool known = parsed.type_number >= 0 && parsed.type_number <= static_cast<std::int16_t>(ControlType::kraft_voters);
  parsed.type = known ? static_cast<ControlType>(parsed.type_number) : ControlType::unknown;
  return parsed;
}

Result<EndTransactionMarker> parse_end_transaction_marker(BytesView value) {
  ByteReader reader(value);
  EndTransactionMarker parsed;
  parsed.version = reader.i16();
  parsed.coordinator_epoch = reader.i32();
  if (!reader.ok()) return Error{Errc::corrupt, fmt::format("a transaction marker's value has {} bytes", value.size())};
  if (parsed.version < 0) return Error{Errc::corrupt, fmt::format("transaction marker version {}", parsed.version)};
  return parsed;
}

Result<std::optional<MarkerBatch>> read_marker(const BatchView& batch) {
  std::optional<Result<MarkerBatch>> first;
  auto read = [](const RecordView& record) -> Result<MarkerBatch> {
    if (!record.key) return Error{Errc::corrupt, "a control record has no key"};
    MarkerBatch found;
    found.type = TRY(parse_control_key(*record.key)).type;
    if (found.type != ControlType::abort && found.type != ControlType::commit) return found;
    if (!record.value) return Error{Errc::corrupt, "a transaction marker has no value"};
    found.marker = TRY(parse_end_transaction_marker(*record.value));
    return found;
  };
  TRY(walk_records(batch, [&](const RecordView& record) {
    first = read(record);
    return Walk::stop;
  }));
  if (!first) return std::optional<MarkerBatch>{};
  return std::optional<MarkerBatch>(TRY(std::move(*first)));
}

ByteVector make_marker_batch(const MarkerToWrite& marker) {
  CHECK(marker.type == ControlType::abort || marker.type == ControlType::commit, "a marker of type {}",
        to_string(marker.type));
  ByteWriter key;
  key.i16(0);
  key.i16(static_cast<std::int16_t>(marker.type));
  ByteWriter value;
  value.i16(0);
  value.i32(marker.coordinator_epoch);
  BatchOptions options;
  options.base_offset = marker.offset;
  options.partition_leader_epoch = marker.partition_leader_epoch;
  options.producer_id = marker.producer_id.value;
  options.producer_epoch = marker.producer_epoch.value;
  options.transactional = true;
  options.control = true;
  BatchBuilder builder(options);
  builder.add(marker.timestamp, key.view(), value.view());
  return builder.build();
}

}  // namespace cordwood::record
