#include "client/partitioner.h"

#include <algorithm>

#include "base/check.h"

namespace cordwood::client {

std::int32_t murmur2(BytesView bytes) {
  constexpr std::uint32_t kSeed = 0x9747b28c;
  constexpr std::uint32_t kMultiplier = 0x5bd1e995;
  constexpr int kShift = 24;
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(bytes.size());
  while (bytes.size() >= 4) {
    // Little-endian, whatever the machine.
    std::uint32_t word = static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
                         static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
    word *= kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash *= kMultiplier;
    hash ^= word;
    bytes = bytes.subspan(4);
  }
  if (!bytes.empty()) {
    for (std::size_t i = bytes.size(); i > 0; --i) hash ^= static_cast<std::uint32_t>(bytes[i - 1]) << (8 * (i - 1));
    hash *= kMultiplier;
  }
  hash ^= hash >> 13;
  hash *= kMultiplier;
  hash ^= hash >> 15;
  return static_cast<std::int32_t>(hash);
}

std::int32_t partition_of_key(BytesView key, std::int32_t partition_count) {
  CHECK(partition_count > 0, "{} partitions", partition_count);
  return (murmur2(key) & 0x7fffffff) % partition_count;
}

StickyPartitioner::StickyPartitioner(Random& random, std::int32_t batch_size)
    : random_(random), batch_size_(std::max(batch_size, 1)) {}

std::int32_t StickyPartitioner::partition(std::int32_t partition_count, std::span<const std::int32_t> available) {
  CHECK(partition_count > 0, "{} partitions", partition_count);
  if (current_ && *current_ < partition_count) return *current_;
  bytes_ = 0;
  current_ = available.empty() ? static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(partition_count)))
                               : available[random_.below(available.size())];
  return *current_;
}

void StickyPartitioner::appended(std::int64_t bytes, bool batches_full) {
  bytes_ += bytes;
  if ((bytes_ >= batch_size_ && batches_full) || bytes_ >= 2 * batch_size_) current_.reset();
}

}  // namespace cordwood::client
