#include "broker/metadata/metadata_batch.h"

#include <fmt/format.h>

#include "base/check.h"
#include "record/builder.h"
#include "record/record.h"

namespace cordwood::broker::metadata {
namespace {

record::BatchOptions options_for(const BatchPlace& place, bool control) {
  record::BatchOptions options;
  options.base_offset = place.base_offset;
  options.partition_leader_epoch = place.epoch;
  options.control = control;
  return options;
}

}  // namespace

ByteVector encode_batch(std::span<const MetadataRecord> records, const BatchPlace& place) {
  CHECK(!records.empty());
  record::BatchBuilder builder(options_for(place, false));
  for (const MetadataRecord& record : records) {
    ByteVector value = encode_record(record);
    builder.add(place.timestamp, std::nullopt, BytesView(value));
  }
  return builder.build();
}

ByteVector encode_batch(std::span<const ControlRecord> records, const BatchPlace& place) {
  CHECK(!records.empty());
  record::BatchBuilder builder(options_for(place, true));
  for (const ControlRecord& record : records) {
    EncodedControlRecord encoded = encode_control_record(record);
    builder.add(place.timestamp, BytesView(encoded.key), BytesView(encoded.value));
  }
  return builder.build();
}

Result<void> decode_batch(const record::BatchView& batch, std::string_view where, const BatchVisitor& visitor) {
  bool control = batch.header().is_control();
  Result<void> verdict;
  auto visit = [&](const record::RecordView& record) -> Result<void> {
    std::string place = fmt::format("{}, offset {}", where, record.offset);
    if (control) {
      ControlRecord decoded = TRY(decode_control_record(record.key, record.value, place));
      return visitor.control(decoded, record.offset);
    }
    if (!record.value) return Error{Errc::corrupt, fmt::format("{}: a metadata record without a value", place)};
    MetadataRecord decoded = TRY(decode_record(*record.value, place));
    Result<void> applied = visitor.metadata(decoded, record.offset);
    if (!applied) return Error{applied.error().code, fmt::format("{}: {}", place, applied.error().what)};
    return {};
  };
  auto go_on = [&](const record::RecordView& record) {
    verdict = visit(record);
    return verdict ? record::Walk::go_on : record::Walk::stop;
  };
  // Nobody compresses these batches, which are at most 8 MiB; readers take compressed ones all the same, within reason.
  record::DecompressionLimits limits;
  limits.largest_batch = limits.largest_record = {64 * MiB};
  TRY(record::for_each_record(batch, go_on, limits));
  return verdict;
}

}  // namespace cordwood::broker::metadata
