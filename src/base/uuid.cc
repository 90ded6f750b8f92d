#include "base/uuid.h"

#include <fmt/format.h>

#include "base/random.h"

namespace cordwood {
namespace {
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int digit_of(char c) {
  auto at = kAlphabet.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}
}  // namespace

std::string Uuid::to_string() const {
  std::string text;
  text.reserve(22);
  // 128 bits are 21 groups of six bits and one of two, which is padded with four zero bits.
  unsigned __int128 bits = (static_cast<unsigned __int128>(high) << 64) | low;
  for (int group = 0; group < 21; ++group) {
    text.push_back(kAlphabet[static_cast<std::size_t>((bits >> (128 - 6 * (group + 1))) & 63)]);
  }
  text.push_back(kAlphabet[static_cast<std::size_t>((bits & 3) << 4)]);
  return text;
}

std::string Uuid::to_hex() const { return fmt::format("{:016x}{:016x}", high, low); }

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 22) return std::nullopt;
  unsigned __int128 bits = 0;
  for (int group = 0; group < 21; ++group) {
    int digit = digit_of(text[static_cast<std::size_t>(group)]);
    if (digit < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<unsigned>(digit);
  }
  int last = digit_of(text[21]);
  if (last < 0 || (last & 15) != 0) return std::nullopt;
  bits = (bits << 2) | static_cast<unsigned>(last >> 4);
  return Uuid{static_cast<std::uint64_t>(bits >> 64), static_cast<std::uint64_t>(bits)};
}

Uuid Uuid::random(Random& random) {
  for (;;) {
    Uuid id{random.next(), random.next()};
    id.high = (id.high & ~0xf000ULL) | 0x4000ULL;
    id.low = (id.low & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;
    if (!id.is_reserved() && id.to_string().front() != '-') return id;
  }
}

}  // namespace cordwood
