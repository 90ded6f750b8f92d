// protocol/random_values_testing.h — random values of every field type, for generated random messages. Tests only.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "protocol/error_code.h"
#include "protocol/payload.h"

namespace cordwood::protocol {

template <class T>
  requires std::is_integral_v<T>
void random_value(T& into, Random& random) {
  into = static_cast<T>(random.next());
}
inline void random_value(bool& into, Random& random) { into = random.below(2) == 1; }
// Never not-a-number, which is unequal to itself.
inline void random_value(double& into, Random& random) { into = static_cast<double>(random.next()) / 1024.0; }
inline void random_value(Uuid& into, Random& random) { into = {random.next(), random.next()}; }
inline void random_value(ErrorCode& into, Random& random) { into = static_cast<ErrorCode>(random.below(140)); }

// Mostly short; sometimes long enough for a length of two bytes in flexible form.
inline std::size_t random_size(Random& random) { return random.below(16) == 0 ? random.below(300) : random.below(12); }

inline void random_value(std::string& into, Random& random) {
  into.resize(random_size(random));
  for (char& c : into) c = static_cast<char>('a' + random.below(26));
}
inline void random_value(ByteVector& into, Random& random) {
  into.resize(random_size(random));
  for (std::byte& b : into) b = static_cast<std::byte>(random.next());
}
inline void random_value(Records& into, Random& random) {
  static constexpr std::string_view kSomeBytes = "these stand for record batches, which no message looks into: 0123456789";
  std::size_t from = random.below(kSomeBytes.size());
  into.bytes = as_bytes(kSomeBytes.substr(from, random.below(kSomeBytes.size() - from + 1)));
  into.range = {};
}

template <class T, class Fill>
void random_array(std::vector<T>& into, Random& random, Fill&& fill) {
  into.resize(random.below(4));
  for (T& element : into) fill(element);
}

}  // namespace cordwood::protocol
