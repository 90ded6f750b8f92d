#include "base/bytes.h"

#include <bit>

namespace cordwood {

double ByteReader::f64() { return std::bit_cast<double>(u64()); }

std::uint32_t ByteReader::uvarint() {
  std::uint32_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    std::uint8_t byte = u8();
    if (!ok_) return 0;
    value |= static_cast<std::uint32_t>(static_cast<std::uint64_t>(byte & 0x7f) << shift);
    if ((byte & 0x80) == 0) return value;
  }
  ok_ = false;
  return 0;
}

std::uint64_t ByteReader::uvarlong() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    std::uint8_t byte = u8();
    if (!ok_) return 0;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  ok_ = false;
  return 0;
}

void ByteWriter::f64(double v) { u64(std::bit_cast<std::uint64_t>(v)); }

void ByteWriter::uvarint(std::uint64_t v) {
  while (v >= 0x80) {
    u8(static_cast<std::uint8_t>(v) | 0x80);
    v >>= 7;
  }
  u8(static_cast<std::uint8_t>(v));
}

}  // namespace cordwood
