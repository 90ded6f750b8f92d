// Fuzz entry point: producer snapshots. The CRC is made right in a second try, because chance never finds one; what was
// read is restored, used, written and read again.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "storage/producer_state.h"

using namespace cordwood;
using namespace cordwood::storage;

namespace {

void use(const std::vector<ProducerEntry>& entries) {
  ProducerState state{DurationMs{86'400'000}};
  for (const ProducerEntry& entry : entries) state.restore(entry, {1'700'000'000'000});
  ByteVector written = encode_producer_snapshot(state);
  auto again = decode_producer_snapshot(written, "again").value();
  CHECK(again.size() == state.producers().size());
  for (const ProducerEntry& entry : again) CHECK(entry == state.producers().at(entry.producer_id));

  // The next batch, a repeated one and a marker of each producer.
  for (const ProducerEntry& entry : again) {
    record::BatchHeader batch;
    batch.producer_id = entry.producer_id;
    batch.producer_epoch = entry.epoch;
    batch.attributes = entry.current_txn_first_offset ? 0x10 : 0;
    batch.base_offset = {1000};
    batch.max_timestamp = {1'700'000'000'000};
    if (!entry.batches.empty()) {
      const CachedBatch& last = entry.batches.back();
      (void)last.first_offset();
      batch.base_sequence = last.first_sequence();
      batch.last_offset_delta = last.offset_delta;
      (void)state.find_duplicate(batch);
    }
    batch.base_sequence = 0;
    batch.last_offset_delta = 0;
    if (state.check(batch, AppendOrigin::client) == ProducerFault::none) state.update(batch);
    batch.attributes = 0x30;
    if (state.check(batch, AppendOrigin::coordinator, entry.coordinator_epoch) == ProducerFault::none) {
      auto done = state.update(batch, entry.coordinator_epoch, true);
      if (done) (void)state.last_stable_offset_after(*done);
    }
  }
  state.on_high_watermark({2000});
  (void)state.first_unstable_offset();
  state.expire({INT64_MAX});
  state.expire({INT64_MIN});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  BytesView bytes = std::as_bytes(std::span(data, size));
  if (auto entries = decode_producer_snapshot(bytes, "input")) use(*entries);
  if (size < 10) return 0;
  ByteVector fixed = to_vector(bytes);
  store_be<std::uint32_t>(fixed, 2, crc32c(BytesView(fixed).subspan(6)));
  if (auto entries = decode_producer_snapshot(fixed, "input with its CRC made right")) use(*entries);
  return 0;
}
