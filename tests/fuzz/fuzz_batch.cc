// Fuzz entry point: a produced batch, from the bytes of the request to the bytes of the log.
//
// Input: byte 0 picks the topic's rules (bits 0-2 target codec or producer's, 3 log append time, 4 compacted, 5 a
// version before zstd, 6 narrow timestamps, 7 small caps), the rest is the records field. Its CRC is made right,
// because chance never finds one.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "record/control_record.h"
#include "record/record.h"
#include "record/validation.h"
#include "record/walk.h"

namespace {

using namespace cordwood;
using namespace cordwood::record;

ValidationRules rules_from(std::uint8_t choice) {
  ValidationRules rules;
  rules.topic_partition = "fuzz-0";
  rules.now = {1'700'000'000'000};
  if ((choice & 7) < 5) rules.target_compression = CompressionSettings{static_cast<Codec>(choice & 7), std::nullopt};
  if ((choice & 8) != 0) rules.timestamp_type = TimestampType::log_append_time;
  rules.compacted = (choice & 16) != 0;
  rules.zstd_allowed = (choice & 32) == 0;
  if ((choice & 64) != 0) rules.timestamp_before_max = rules.timestamp_after_max = {1000};
  rules.limits.largest_batch = {(choice & 128) != 0 ? 100 : 1 * MiB};
  if ((choice & 128) != 0) rules.limits.largest_record = {20};
  return rules;
}

void fix_crc(MutableBytesView bytes) {
  if (bytes.size() < kHeaderSize) return;
  std::int64_t size =
      static_cast<std::int64_t>(load_be<std::int32_t>(bytes, kBatchLength)) + static_cast<std::int64_t>(kLogOverhead);
  if (size < static_cast<std::int64_t>(kHeaderSize) || size > static_cast<std::int64_t>(bytes.size())) return;
  update_crc(bytes.first(static_cast<std::size_t>(size)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ValidationRules rules = rules_from(data[0]);
  ByteVector bytes = to_vector(std::as_bytes(std::span(data + 1, size - 1)));
  fix_crc(bytes);

  if (bytes.size() >= kMagicPrefix) (void)read_prefix(bytes);
  (void)check_entry(bytes);
  if (Result<BatchView> batch = BatchView::parse(bytes)) {
    std::int64_t visited = 0;
    Result<void> walked = for_each_record(
        *batch,
        [&](const RecordView&) {
          ++visited;
          return Walk::go_on;
        },
        rules.limits);
    if (walked) CHECK(visited == batch->record_count(), "{} of {} records", visited, batch->record_count());
    (void)read_marker(*batch);
  }

  const bool claims_append_time =
      bytes.size() >= kHeaderSize && BatchView(bytes).header().timestamp_type() == TimestampType::log_append_time;
  ValidatedBatch validated = validate_produce(bytes, rules);
  CHECK((validated.fault == ProduceFault::none) == !validated.batch.empty(), "a verdict and a batch do not agree");
  if (validated.fault != ProduceFault::none) return 0;
  // What was accepted reads, has a CRC that fits, and the header and max timestamp that it claims.
  Result<BatchView> accepted = BatchView::parse(validated.batch);
  CHECK(accepted.has_value() && accepted->bytes().size() == validated.batch.size(), "an accepted batch does not parse");
  CHECK(accepted->crc_is_valid() && accepted->header() == validated.header,
        "an accepted batch and its header disagree");
  CHECK(validated.header.timestamp_type() == rules.timestamp_type, "an accepted batch has another timestamp type");
  TimestampMs largest = kNoTimestamp;
  DecompressionLimits wide{.largest_batch = {64 * MiB}};
  Result<void> walked = for_each_record(
      *accepted,
      [&](const RecordView& record) {
        largest = std::max(largest, record.timestamp);
        return Walk::go_on;
      },
      wide);
  CHECK(walked.has_value(), "an accepted batch does not read: {}", walked.error().what);
  // A batch that claims log append time on a create time topic loses the bit and keeps its max timestamp, as in Kafka,
  // whatever the deltas say that count from then on.
  if (claims_append_time && rules.timestamp_type == TimestampType::create_time && validated.rebuilt.empty()) return 0;
  CHECK(largest == validated.header.max_timestamp, "max timestamp {} of records up to {}",
        validated.header.max_timestamp, largest);
  return 0;
}
