#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace cordwood {

std::uint64_t SystemRandom::next() {
  std::uint64_t value = 0;
  // 8 bytes are never split by the kernel once its pool is ready, and it waits for that.
  CHECK(::getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value), "getrandom");
  return value;
}

std::uint64_t SeededRandom::next() {
  std::lock_guard lock(mu_);
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace cordwood
