#include "storage/cleaner/record_rewriter.h"

#include <algorithm>
#include <cstring>

namespace cordwood::storage {
namespace {

// A record's bytes behind the timestamp delta, as Kafka's writer forms them.
struct Tail {
  std::size_t size = 0;       // in that form
  bool is_canonical = false;  // and this is how they lie in the original, as its last bytes
};

std::size_t sized_field(std::int32_t size) {
  return size < 0 ? 1 : varint_size(size) + static_cast<std::size_t>(size);
}

// Sizes of the headers in Kafka's form; they were walked before, so each field is whole.
std::size_t headers_size(const record::RecordShape& shape) {
  std::size_t size = 0;
  ByteReader reader(BytesView(shape.headers, shape.end));
  for (std::int32_t i = 0; i < shape.header_count; ++i) {
    const std::int32_t key = reader.varint();
    reader.skip(key);
    const std::int32_t value = reader.varint();
    if (value > 0) reader.skip(value);
    size += sized_field(key) + sized_field(value);
  }
  return size;
}

bool has_odd_null(const record::RecordShape& shape) {
  if (shape.key_size < -1 || shape.value_size < -1) return true;
  ByteReader reader(BytesView(shape.headers, shape.end));
  for (std::int32_t i = 0; i < shape.header_count; ++i) {
    reader.skip(reader.varint());
    const std::int32_t value = reader.varint();
    if (value < -1) return true;
    if (value > 0) reader.skip(value);
  }
  return false;
}

Tail measure_tail(const record::RecordShape& shape) {
  Tail tail;
  tail.size = varint_size(shape.offset_delta) + sized_field(shape.key_size) + sized_field(shape.value_size) +
              varint_size(shape.header_count);
  if (shape.header_count > 0) tail.size += headers_size(shape);
  // The body as a whole is the shortest possible, so each of its varints is.
  tail.is_canonical = static_cast<std::size_t>(shape.body_size) == 1 + varlong_size(shape.timestamp_delta) + tail.size &&
                      !has_odd_null(shape);
  return tail;
}

std::byte* put_uvarint(std::byte* to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}

std::byte* put_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (size > 0) std::memcpy(to, from, size);
  return to + size;
}

std::byte* put_sized(std::byte* to, std::int32_t size, const std::byte* from) {
  to = put_uvarint(to, zigzag_encode(std::max(size, -1)));
  return size > 0 ? put_bytes(to, from, static_cast<std::size_t>(size)) : to;
}

std::byte* put_headers(std::byte* to, const record::RecordShape& shape) {
  ByteReader reader(BytesView(shape.headers, shape.end));
  for (std::int32_t i = 0; i < shape.header_count; ++i) {
    const std::int32_t key_size = reader.varint();
    const BytesView key = reader.bytes(key_size);
    to = put_sized(to, key_size, key.data());
    const std::int32_t value_size = reader.varint();
    const BytesView value = reader.bytes(std::max(value_size, 0));
    to = put_sized(to, value_size, value.data());
  }
  return to;
}

}  // namespace

RecordRewriter::RecordRewriter(const record::BatchHeader& original, std::optional<TimestampMs> horizon)
    : append_time_(original.timestamp_type() == record::TimestampType::log_append_time),
      original_base_(original.base_timestamp),
      original_max_(original.max_timestamp),
      has_base_(horizon.has_value()),
      base_timestamp_(horizon.value_or(kNoTimestamp)) {}

void RecordRewriter::append(const record::RecordShape& shape, ByteVector& out) {
  const TimestampMs timestamp =
      append_time_ ? original_max_ : TimestampMs{record::add_wrapping(original_base_.value, shape.timestamp_delta)};
  if (!has_base_) {
    base_timestamp_ = timestamp;
    has_base_ = true;
  }
  max_timestamp_ = std::max(max_timestamp_, timestamp);
  ++count_;
  const std::int64_t delta = record::subtract_wrapping(timestamp.value, base_timestamp_.value);
  const Tail tail = measure_tail(shape);
  const std::size_t body = 1 + varlong_size(delta) + tail.size;
  const std::size_t start = out.size();
  out.resize(start + varint_size(static_cast<std::int32_t>(body)) + body);
  std::byte* to = put_uvarint(out.data() + start, zigzag_encode(static_cast<std::int32_t>(body)));
  *to++ = std::byte{0};
  to = put_uvarint(to, zigzag_encode(delta));
  if (tail.is_canonical) {
    put_bytes(to, shape.end - tail.size, tail.size);
    return;
  }
  to = put_uvarint(to, zigzag_encode(shape.offset_delta));
  to = put_sized(to, shape.key_size, shape.key);
  to = put_sized(to, shape.value_size, shape.value);
  to = put_uvarint(to, zigzag_encode(shape.header_count));
  put_headers(to, shape);
}

}  // namespace cordwood::storage
