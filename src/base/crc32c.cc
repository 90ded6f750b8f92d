#include "base/crc32c.h"

#include <isa-l/crc.h>

namespace cordwood {

std::uint32_t crc32c(BytesView bytes, std::uint32_t before) {
  // ISA-L neither inverts its input nor its result; its signature predates const.
  auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  return ~crc32_iscsi(data, static_cast<int>(bytes.size()), ~before);
}

std::uint32_t crc32_ieee(BytesView bytes) {
  return crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace cordwood
