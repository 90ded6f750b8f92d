// base/random.h — chance, passed down as an object so that a test can seed it.
#pragma once

#include <cstdint>
#include <mutex>

namespace cordwood {

// Safe for all threads.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
  // Uniform in [0, bound); 0 when bound is 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
};

// From the kernel (getrandom); for ids.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

// SplitMix64: the same seed gives the same sequence everywhere.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::mutex mu_;
  std::uint64_t state_;
};

}  // namespace cordwood
