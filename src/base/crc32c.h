// base/crc32c.h — the two checksums of Kafka's formats.
#pragma once

#include "base/bytes.h"

namespace cordwood {

// CRC-32C (Castagnoli), of batches v2 and producer snapshots. crc32c("123456789") is 0xe3069283. `before` is the
// checksum of the bytes that came before these, 0 at the start.
std::uint32_t crc32c(BytesView bytes, std::uint32_t before = 0);

// CRC-32 (IEEE 802.3), of messages with magic 0 and 1. crc32_ieee("123456789") is 0xcbf43926.
std::uint32_t crc32_ieee(BytesView bytes);

}  // namespace cordwood
