#include "record/walk.h"

#include "record/legacy.h"

namespace cordwood::record {

Result<EntryPrefix> read_prefix(BytesView bytes) {
  CHECK(bytes.size() >= kMagicPrefix, "an entry's prefix needs {} bytes, {} were given", kMagicPrefix, bytes.size());
  EntryPrefix prefix;
  prefix.offset = {load_be<std::int64_t>(bytes, kBaseOffset)};
  prefix.length = load_be<std::int32_t>(bytes, kBatchLength);
  prefix.magic = load_be<std::int8_t>(bytes, kMagic);
  if (prefix.length < kSmallestLength)
    return Error{Errc::corrupt, fmt::format("length {} at offset {} is below the smallest, {}", prefix.length,
                                            prefix.offset, kSmallestLength)};
  return prefix;
}

Result<EntryInfo> check_entry(BytesView entry) {
  if (entry.size() < kMagicPrefix) return Error{Errc::corrupt, fmt::format("an entry of {} bytes", entry.size())};
  EntryPrefix prefix = TRY(read_prefix(entry));
  EntryInfo info;
  info.magic = prefix.magic;
  info.size = prefix.total_size();
  if (prefix.magic == 0 || prefix.magic == 1) {
    LegacyMessage message = TRY(parse_legacy_header(entry));
    info.base_offset = info.last_offset = message.offset;
    info.max_timestamp = message.timestamp;
    return info;
  }
  if (prefix.magic != 2)
    return Error{Errc::unsupported, fmt::format("magic {} at offset {}", prefix.magic, prefix.offset)};
  BatchView batch = TRY(BatchView::parse(entry));
  if (std::uint32_t computed = batch.computed_crc(); computed != batch.stored_crc())
    return Error{Errc::corrupt, fmt::format("the batch at offset {} has CRC {:#010x}, computed {:#010x}", prefix.offset,
                                            batch.stored_crc(), computed)};
  info.header = batch.header();
  info.base_offset = info.header->base_offset;
  info.last_offset = info.header->last_offset();
  info.max_timestamp = info.header->max_timestamp;
  return info;
}

}  // namespace cordwood::record
