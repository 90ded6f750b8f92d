// base/bytes.h — reading and writing big-endian fields without casting structs onto bytes.
//
// ByteReader is sticky: after the first short or malformed read every further read gives zero or empty, and one ok() at
// the end decides. Lengths from outside are checked against what is left before they size anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.h"

namespace cordwood {

using BytesView = std::span<const std::byte>;
using MutableBytesView = std::span<std::byte>;
using ByteVector = std::vector<std::byte>;

inline BytesView as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view as_text(BytesView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline ByteVector to_vector(BytesView bytes) { return {bytes.begin(), bytes.end()}; }

namespace bytes_detail {
template <class T>
T load_be(const std::byte* from) {
  T raw;
  std::memcpy(&raw, from, sizeof raw);
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(raw)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(raw)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(raw)));
  return raw;
}
template <class T>
void store_be(std::byte* to, T value) {
  value = load_be<T>(reinterpret_cast<const std::byte*>(&value));
  std::memcpy(to, &value, sizeof value);
}
}  // namespace bytes_detail

// Fields at a known place of a buffer that is known to be long enough.
template <class T>
T load_be(BytesView bytes, std::size_t at) {
  return bytes_detail::load_be<T>(bytes.data() + at);
}
template <class T>
void store_be(MutableBytesView bytes, std::size_t at, T value) {
  bytes_detail::store_be<T>(bytes.data() + at, value);
}

constexpr std::int32_t zigzag_decode(std::uint32_t n) {
  return static_cast<std::int32_t>((n >> 1) ^ (~(n & 1) + 1));
}
constexpr std::int64_t zigzag_decode(std::uint64_t n) {
  return static_cast<std::int64_t>((n >> 1) ^ (~(n & 1) + 1));
}
constexpr std::uint32_t zigzag_encode(std::int32_t n) {
  return (static_cast<std::uint32_t>(n) << 1) ^ static_cast<std::uint32_t>(n >> 31);
}
constexpr std::uint64_t zigzag_encode(std::int64_t n) {
  return (static_cast<std::uint64_t>(n) << 1) ^ static_cast<std::uint64_t>(n >> 63);
}
constexpr std::size_t uvarint_size(std::uint64_t n) {
  std::size_t size = 1;
  for (; n >= 0x80; n >>= 7) ++size;
  return size;
}
constexpr std::size_t varint_size(std::int32_t n) { return uvarint_size(zigzag_encode(n)); }
constexpr std::size_t varlong_size(std::int64_t n) { return uvarint_size(zigzag_encode(n)); }

class ByteReader {
 public:
  // Reads from `bytes`, which must outlive the reader and every view that it hands out.
  explicit ByteReader(BytesView bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t position() const { return at_; }
  std::size_t remaining() const { return ok_ ? bytes_.size() - at_ : 0; }
  void fail() { ok_ = false; }

  std::int8_t i8() { return fixed<std::int8_t>(); }
  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::int16_t i16() { return fixed<std::int16_t>(); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::int32_t i32() { return fixed<std::int32_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::int64_t i64() { return fixed<std::int64_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  double f64();
  Uuid uuid() {
    Uuid id;
    id.high = u64();
    id.low = u64();
    return id;
  }

  // Unsigned LEB128 of at most 5 (10) bytes; a continuation bit on the last allowed byte is a failure. Surplus high
  // bits of a fifth byte are dropped, as Kafka's reader does.
  std::uint32_t uvarint();
  std::uint64_t uvarlong();
  // Zig-zag forms, used inside record batches.
  std::int32_t varint() { return zigzag_decode(uvarint()); }
  std::int64_t varlong() { return zigzag_decode(uvarlong()); }

  // The next `count` bytes, empty (and failed) when there are fewer or `count` is negative.
  BytesView bytes(std::int64_t count) {
    if (count < 0 || static_cast<std::uint64_t>(count) > remaining()) {
      ok_ = false;
      return {};
    }
    BytesView view = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return view;
  }
  void skip(std::int64_t count) { bytes(count); }
  BytesView rest() { return bytes(static_cast<std::int64_t>(remaining())); }

 private:
  template <class T>
  T fixed() {
    if (remaining() < sizeof(T)) {
      ok_ = false;
      return T{};
    }
    T value = bytes_detail::load_be<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }

  BytesView bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

// Appends to a vector of its own; reuse it with clear(), which keeps the capacity.
class ByteWriter {
 public:
  ByteWriter() = default;
  explicit ByteWriter(ByteVector buffer) : bytes_(std::move(buffer)) {}

  void i8(std::int8_t v) { bytes_.push_back(static_cast<std::byte>(v)); }
  void u8(std::uint8_t v) { bytes_.push_back(static_cast<std::byte>(v)); }
  void i16(std::int16_t v) { fixed(v); }
  void u16(std::uint16_t v) { fixed(v); }
  void i32(std::int32_t v) { fixed(v); }
  void u32(std::uint32_t v) { fixed(v); }
  void i64(std::int64_t v) { fixed(v); }
  void u64(std::uint64_t v) { fixed(v); }
  void f64(double v);
  void uuid(Uuid id) {
    u64(id.high);
    u64(id.low);
  }
  void uvarint(std::uint64_t v);
  void varint(std::int32_t v) { uvarint(zigzag_encode(v)); }
  void varlong(std::int64_t v) { uvarint(zigzag_encode(v)); }
  void bytes(BytesView view) { bytes_.insert(bytes_.end(), view.begin(), view.end()); }
  void text(std::string_view view) { bytes(as_bytes(view)); }

  std::size_t size() const { return bytes_.size(); }
  void clear() { bytes_.clear(); }
  // Overwrites bytes that were written before.
  template <class T>
  void patch(std::size_t at, T value) {
    bytes_detail::store_be<T>(bytes_.data() + at, value);
  }
  BytesView view() const { return bytes_; }
  MutableBytesView mutable_view() { return bytes_; }
  ByteVector take() { return std::move(bytes_); }
  ByteVector& buffer() { return bytes_; }

 private:
  template <class T>
  void fixed(T value) {
    std::byte raw[sizeof(T)];
    bytes_detail::store_be<T>(raw, value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
  }

  ByteVector bytes_;
};

}  // namespace cordwood
