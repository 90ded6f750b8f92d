#include "client/java_order.h"

#include <bit>

namespace cordwood::client {
namespace {

constexpr std::uint32_t kFactor = 31;

// The next character of UTF-8 at `at`, which moves behind it; a broken one counts as its byte.
std::uint32_t take_character(std::string_view text, std::size_t& at) {
  auto byte = static_cast<unsigned char>(text[at++]);
  std::size_t more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
  if (more == 0 || at + more > text.size()) return byte;
  std::uint32_t character = byte & (0x3fU >> more);
  for (std::size_t i = 0; i < more; ++i) character = (character << 6) | (static_cast<unsigned char>(text[at++]) & 0x3fU);
  return character;
}

}  // namespace

std::int32_t java_hash_code(std::string_view text) {
  constexpr std::uint32_t kBeyondOneUnit = 0x10000;
  std::uint32_t hash = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t character = take_character(text, at);
    if (character >= kBeyondOneUnit) {
      hash = hash * kFactor + (0xd800 + ((character - kBeyondOneUnit) >> 10));
      character = 0xdc00 + ((character - kBeyondOneUnit) & 0x3ff);
    }
    hash = hash * kFactor + character;
  }
  return static_cast<std::int32_t>(hash);
}

std::int32_t java_hash_code(std::string_view topic, std::int32_t partition) {
  std::uint32_t hash = kFactor + static_cast<std::uint32_t>(partition);
  return static_cast<std::int32_t>(hash * kFactor + static_cast<std::uint32_t>(java_hash_code(topic)));
}

std::size_t java_table_size(std::size_t entries, std::size_t initial_capacity) {
  std::size_t buckets = std::bit_ceil(std::max<std::size_t>(initial_capacity, 1));
  while (entries > buckets * 3 / 4) buckets *= 2;
  return buckets;
}

std::size_t java_table_place(std::int32_t hash, std::size_t buckets) {
  auto bits = static_cast<std::uint32_t>(hash);
  return (bits ^ (bits >> 16)) & (buckets - 1);
}

}  // namespace cordwood::client
