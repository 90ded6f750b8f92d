// base/uuid.h — a 128-bit id as Kafka uses it: topic ids, directory ids, incarnation ids.
//
// Text form: URL-safe base64 without padding, 22 characters. Values below 100 (seen as a number) are reserved.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cordwood {

class Random;

struct Uuid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(Uuid, Uuid) = default;

  constexpr bool is_zero() const { return high == 0 && low == 0; }
  constexpr bool is_reserved() const { return high == 0 && low < 100; }

  std::string to_string() const;  // 22 characters
  std::string to_hex() const;     // 32 lower case hex digits, as in the names of deleted directories
  // Nothing when `text` is not exactly the text form of 16 bytes.
  static std::optional<Uuid> parse(std::string_view text);
  // A random (version 4) id whose text does not start with '-' and which is not reserved, as Kafka chooses them.
  static Uuid random(Random& random);
};

inline constexpr Uuid kZeroUuid{};
inline constexpr Uuid kMetadataTopicId{0, 1};           // AAAAAAAAAAAAAAAAAAAAAQ, __cluster_metadata
inline constexpr Uuid kMigratingDirectory{0, 0};
inline constexpr Uuid kUnassignedDirectory{0, 1};
inline constexpr Uuid kLostDirectory{0, 2};

}  // namespace cordwood

template <>
struct std::hash<cordwood::Uuid> {
  std::size_t operator()(cordwood::Uuid id) const noexcept {
    return static_cast<std::size_t>(id.high ^ (id.low * 0x9e3779b97f4a7c15ULL));
  }
};
