// record/little_endian.h — the byte order of gzip and LZ4 frames. Internal to record/.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace cordwood::record {

inline std::uint32_t load_le32(BytesView bytes, std::size_t at) {
  return __builtin_bswap32(load_be<std::uint32_t>(bytes, at));
}

inline void append_le32(ByteVector& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(value >> shift));
}

}  // namespace cordwood::record
