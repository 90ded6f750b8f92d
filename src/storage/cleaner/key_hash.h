// storage/cleaner/key_hash.h — 128 bits that stand for a record's key in the cleaner's offset map.
//
// The map keeps no keys, so two keys with one hash would be taken for one, and a record would be lost. SipHash-2-4 with 128
// bits of output is keyed: with a secret drawn anew for each map, two keys collide with a chance of 2^-128 whoever chose
// them, while colliding keys for an unkeyed digest (MD5, as in Kafka) can be made. Decision: docs/decisions/, "key hash".
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/random.h"

namespace cordwood::storage {

struct KeyHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const KeyHash&) const = default;
};

// A value. Safe for all threads.
class KeyHasher {
 public:
  KeyHasher(std::uint64_t secret_low, std::uint64_t secret_high) : k0_(secret_low), k1_(secret_high) {}
  explicit KeyHasher(Random& random) : k0_(random.next()), k1_(random.next()) {}

  KeyHash operator()(BytesView key) const {
    State state{k0_ ^ 0x736f6d6570736575, k1_ ^ 0x646f72616e646f6d ^ 0xee, k0_ ^ 0x6c7967656e657261,
                k1_ ^ 0x7465646279746573};
    const std::byte* at = key.data();
    std::size_t left = key.size();
    for (; left >= 8; left -= 8, at += 8) state.take(load_le(at));
    std::uint64_t last = static_cast<std::uint64_t>(key.size()) << 56;
    for (std::size_t i = 0; i < left; ++i) last |= static_cast<std::uint64_t>(at[i]) << (8 * i);
    state.take(last);
    state.v2 ^= 0xee;
    for (int i = 0; i < 4; ++i) state.round();
    KeyHash hash;
    hash.low = state.sum();
    state.v1 ^= 0xdd;
    for (int i = 0; i < 4; ++i) state.round();
    hash.high = state.sum();
    return hash;
  }

 private:
  struct State {
    std::uint64_t v0, v1, v2, v3;
    void round() {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
    void take(std::uint64_t word) {
      v3 ^= word;
      round();
      round();
      v0 ^= word;
    }
    std::uint64_t sum() const { return v0 ^ v1 ^ v2 ^ v3; }
  };
  static std::uint64_t load_le(const std::byte* from) {
    std::uint64_t raw;
    std::memcpy(&raw, from, sizeof raw);
    if constexpr (std::endian::native == std::endian::big) raw = __builtin_bswap64(raw);
    return raw;
  }

  std::uint64_t k0_;
  std::uint64_t k1_;
};

}  // namespace cordwood::storage
