// Fuzz entry point: messages of the formats before batches. The CRC of the outer message is made right, because chance
// never finds one.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/crc32c.h"
#include "record/legacy.h"
#include "record/walk.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordwood;
  using namespace cordwood::record;
  ByteVector bytes = to_vector(std::as_bytes(std::span(data, size)));
  if (bytes.size() >= kMagicPrefix) {
    std::int64_t entry =
        static_cast<std::int64_t>(load_be<std::int32_t>(bytes, kBatchLength)) + static_cast<std::int64_t>(kLogOverhead);
    if (entry >= static_cast<std::int64_t>(kMagicPrefix) && entry <= static_cast<std::int64_t>(bytes.size()))
      store_be<std::uint32_t>(bytes, kLegacyCrc,
                              crc32_ieee(BytesView(bytes).first(static_cast<std::size_t>(entry)).subspan(kMagic)));
  }
  const DecompressionLimits limits{.largest_batch = {1 * MiB}};
  std::optional<Offset> first;
  Result<void> walked = for_each_legacy_record(
      bytes,
      [&](const LegacyRecord& record) {
        if (!first) first = record.offset;
        return Walk::go_on;
      },
      limits);
  if (!walked) return 0;
  CHECK(first.has_value(), "an entry without records reads");
  Result<Offset> base = legacy_base_offset(bytes, limits);
  CHECK(base.has_value() && *base == *first, "the base offset is not the first record's");
  CHECK(check_entry(bytes).has_value(), "an entry reads that does not pass its check");
  return 0;
}
