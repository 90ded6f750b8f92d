// base/types.h — numbers that look alike never mix: each kind is a type of its own.
//
// A Point is a place on a scale (an offset, a file position, an instant), a Distance is a length on it. Point - Point is
// a Distance, Point + Distance is a Point, there is no Point + Point and no conversion to the representation. `.value`
// appears at the edges (codec, formatting) and nowhere between.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace cordwood {

template <class Tag, class Rep>
struct Distance {
  using rep = Rep;
  Rep value{};
  friend constexpr auto operator<=>(Distance, Distance) = default;
  friend constexpr Distance operator+(Distance a, Distance b) { return {static_cast<Rep>(a.value + b.value)}; }
  friend constexpr Distance operator-(Distance a, Distance b) { return {static_cast<Rep>(a.value - b.value)}; }
  constexpr Distance& operator+=(Distance other) { return *this = *this + other; }
  constexpr Distance& operator-=(Distance other) { return *this = *this - other; }
};

template <class Tag, class Rep>
struct Point {
  using rep = Rep;
  using distance = Distance<Tag, Rep>;
  Rep value{};
  friend constexpr auto operator<=>(Point, Point) = default;
  friend constexpr distance operator-(Point a, Point b) { return {static_cast<Rep>(a.value - b.value)}; }
  friend constexpr Point operator+(Point p, distance d) { return {static_cast<Rep>(p.value + d.value)}; }
  friend constexpr Point operator-(Point p, distance d) { return {static_cast<Rep>(p.value - d.value)}; }
  constexpr Point& operator+=(distance d) { return *this = *this + d; }
};

// An identifier: compared and printed, never calculated with.
template <class Tag, class Rep>
struct Id {
  using rep = Rep;
  Rep value{};
  friend constexpr auto operator<=>(Id, Id) = default;
};

using Offset = Point<struct OffsetTag, std::int64_t>;        // of a record in its partition
using OffsetDelta = Offset::distance;                        // a count of offsets
using FilePosition = Point<struct FileTag, std::int64_t>;    // bytes from the start of a file
using ByteCount = FilePosition::distance;                    // a count of bytes
using TimestampMs = Point<struct TimeTag, std::int64_t>;     // milliseconds since the Unix epoch
using DurationMs = TimestampMs::distance;                    // milliseconds
using MonotonicNs = Point<struct MonotonicTag, std::int64_t>;  // nanoseconds of a clock that never steps back
using DurationNs = MonotonicNs::distance;

using PartitionId = Id<struct PartitionTag, std::int32_t>;
using NodeId = Id<struct NodeTag, std::int32_t>;
using LeaderEpoch = Id<struct LeaderEpochTag, std::int32_t>;  // >= 0; absent is std::optional
using ProducerId = Id<struct ProducerTag, std::int64_t>;
using ProducerEpoch = Id<struct ProducerEpochTag, std::int16_t>;

inline constexpr std::int64_t KiB = 1024;
inline constexpr std::int64_t MiB = 1024 * KiB;
inline constexpr std::int64_t GiB = 1024 * MiB;

constexpr Offset next(Offset offset) { return {offset.value + 1}; }

// The wire's and the disk's "none" for a timestamp; records without one carry it (docs/formats/record_batch.md).
inline constexpr TimestampMs kNoTimestamp{-1};

struct TopicPartition {
  std::string topic;
  PartitionId partition;
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
  // "topic-3", which is also the name of the partition's directory.
  std::string to_string() const { return fmt::format("{}-{}", topic, partition.value); }
};

template <class A, class B>
concept CanAdd = requires(A a, B b) { a + b; };
static_assert(!CanAdd<Offset, Offset> && !CanAdd<Offset, ByteCount> && CanAdd<FilePosition, ByteCount>);

}  // namespace cordwood

template <class Tag, class Rep>
struct fmt::formatter<cordwood::Distance<Tag, Rep>> : fmt::formatter<Rep> {
  template <class Context>
  auto format(cordwood::Distance<Tag, Rep> d, Context& context) const {
    return fmt::formatter<Rep>::format(d.value, context);
  }
};
template <class Tag, class Rep>
struct fmt::formatter<cordwood::Point<Tag, Rep>> : fmt::formatter<Rep> {
  template <class Context>
  auto format(cordwood::Point<Tag, Rep> p, Context& context) const {
    return fmt::formatter<Rep>::format(p.value, context);
  }
};
template <class Tag, class Rep>
struct fmt::formatter<cordwood::Id<Tag, Rep>> : fmt::formatter<Rep> {
  template <class Context>
  auto format(cordwood::Id<Tag, Rep> id, Context& context) const {
    return fmt::formatter<Rep>::format(id.value, context);
  }
};
template <class Tag, class Rep>
struct std::hash<cordwood::Id<Tag, Rep>> {
  std::size_t operator()(cordwood::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value); }
};
template <class Tag, class Rep>
struct std::hash<cordwood::Point<Tag, Rep>> {
  std::size_t operator()(cordwood::Point<Tag, Rep> p) const noexcept { return std::hash<Rep>{}(p.value); }
};
template <>
struct std::hash<cordwood::TopicPartition> {
  std::size_t operator()(const cordwood::TopicPartition& tp) const noexcept {
    return std::hash<std::string>{}(tp.topic) * 31 + static_cast<std::size_t>(tp.partition.value);
  }
};
