// record/record_walk.h — the walk over a batch's records for hot paths: visitors are templates, nothing is allocated.
//
// Two depths. walk_shapes() reads what checks need (deltas, lengths, null or not) and leaves keys, values and headers
// where they are. walk_records() hands out a full RecordView. Both check every record's structure as
// docs/formats/record_batch.md, "record", says. record.h has the same walk behind std::function.
// Threads: safe for all; the only state is on the caller's stack.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "record/batch.h"
#include "record/record.h"

namespace cordwood::record {

// What is wrong with the records section, as values, so that the caller words it.
enum class StructureFault : std::uint8_t {
  none,
  premature_end,     // the bytes end before record_count records, or inside one
  left_over,         // bytes remain after record_count records
  bad_length,        // a record's length field is negative, or its fields do not fill it
  bad_varint,        // more than 5 (10) bytes
  bad_field,         // a key, value or header reaches beyond its record
  bad_header_count,  // negative, or more than the bytes left
  null_header_key,
  record_too_large,  // above the cap for one record of a compressed batch
  stopped,           // by the visitor; no fault
};
const char* to_string(StructureFault fault);

// One record without its contents. Lengths of -1 or less are null.
struct RecordShape {
  std::int32_t body_size = 0;  // the length field: bytes after it
  std::int8_t attributes = 0;
  std::int64_t timestamp_delta = 0;
  std::int32_t offset_delta = 0;
  std::int32_t key_size = -1;
  std::int32_t value_size = -1;
  std::int32_t header_count = 0;
  const std::byte* key = nullptr;
  const std::byte* value = nullptr;
  const std::byte* headers = nullptr;  // the first header, after the count
  const std::byte* end = nullptr;

  bool has_key() const { return key_size >= 0; }
};

namespace walk_detail {

// Decodes zig-zag varints out of [at, end). Nearly all take one byte or two, so those come first; the others are read by a
// function that gets values and not the cursor, whose place could not stay in a register otherwise.
class Cursor {
 public:
  Cursor(const std::byte* at, const std::byte* end) : at_(at), end_(end) {}

  const std::byte* at() const { return at_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  StructureFault varint(std::int32_t& out) {
    const Raw raw = read(35);
    // Surplus high bits of the fifth byte are dropped, as Kafka does.
    out = zigzag_decode(static_cast<std::uint32_t>(raw.value));
    return raw.fault;
  }
  StructureFault varlong(std::int64_t& out) {
    const Raw raw = read(70);
    out = zigzag_decode(raw.value);
    return raw.fault;
  }
  // A length and as many bytes; a negative length is null and has none.
  StructureFault sized(std::int32_t& size, const std::byte*& start) {
    if (StructureFault fault = varint(size); fault != StructureFault::none) return fault;
    start = at_;
    if (size <= 0) return StructureFault::none;
    if (static_cast<std::size_t>(size) > left()) return StructureFault::bad_field;
    at_ += size;
    return StructureFault::none;
  }
  StructureFault byte(std::int8_t& out) {
    if (at_ == end_) return StructureFault::bad_field;
    out = static_cast<std::int8_t>(*at_++);
    return StructureFault::none;
  }

 private:
  struct Raw {
    std::uint64_t value = 0;
    StructureFault fault = StructureFault::none;
  };
  struct LongForm {
    const std::byte* at = nullptr;  // behind it
    Raw raw;
  };

  Raw read(int bits) {
    if (at_ != end_) {
      const auto first = static_cast<std::uint32_t>(at_[0]);
      if (first < 0x80) {
        at_ += 1;
        return {first};
      }
      if (left() >= 2) {
        const auto second = static_cast<std::uint32_t>(at_[1]);
        if (second < 0x80) {
          at_ += 2;
          return {(first & 0x7f) | (second << 7)};
        }
      }
    }
    const LongForm form = long_form(at_, end_, bits);
    at_ = form.at;
    return form.raw;
  }
  [[gnu::noinline]] static LongForm long_form(const std::byte* at, const std::byte* end, int bits) {
    Raw raw;
    for (int shift = 0; shift < bits; shift += 7) {
      if (at == end) return {at, {raw.value, StructureFault::bad_field}};
      const auto group = static_cast<std::uint8_t>(*at++);
      raw.value |= static_cast<std::uint64_t>(group & 0x7f) << shift;
      if (group < 0x80) return {at, raw};
    }
    return {at, {raw.value, StructureFault::bad_varint}};
  }

  const std::byte* at_;
  const std::byte* end_;
};

// Reads the record that starts at `at` and steps over it. With OnHeader, each header is handed to
// on_header(key start, key size, value start, value size).
template <class OnHeader>
StructureFault read_shape(const std::byte*& at, const std::byte* end, std::int64_t largest, RecordShape& shape,
                          OnHeader&& on_header) {
#define CORDWOOD_STEP(...) \
  if (StructureFault step_fault = (__VA_ARGS__); step_fault != StructureFault::none) return step_fault
  Cursor prefix(at, end);
  if (StructureFault fault = prefix.varint(shape.body_size); fault != StructureFault::none)
    return fault == StructureFault::bad_field ? StructureFault::premature_end : fault;
  if (shape.body_size < 0) return StructureFault::bad_length;
  if (shape.body_size > largest) return StructureFault::record_too_large;
  if (static_cast<std::size_t>(shape.body_size) > prefix.left()) return StructureFault::premature_end;
  shape.end = prefix.at() + shape.body_size;
  Cursor body(prefix.at(), shape.end);
  CORDWOOD_STEP(body.byte(shape.attributes));
  CORDWOOD_STEP(body.varlong(shape.timestamp_delta));
  CORDWOOD_STEP(body.varint(shape.offset_delta));
  CORDWOOD_STEP(body.sized(shape.key_size, shape.key));
  CORDWOOD_STEP(body.sized(shape.value_size, shape.value));
  CORDWOOD_STEP(body.varint(shape.header_count));
  // Each header takes at least two bytes; Kafka compares with the bytes left, and so do we.
  if (shape.header_count < 0 || static_cast<std::size_t>(shape.header_count) > body.left())
    return StructureFault::bad_header_count;
  shape.headers = body.at();
  for (std::int32_t i = 0; i < shape.header_count; ++i) {
    std::int32_t key_size = 0;
    std::int32_t value_size = 0;
    const std::byte* key = nullptr;
    const std::byte* value = nullptr;
    CORDWOOD_STEP(body.sized(key_size, key));
    if (key_size < 0) return StructureFault::null_header_key;
    CORDWOOD_STEP(body.sized(value_size, value));
    on_header(key, key_size, value, value_size);
  }
  if (body.left() != 0) return StructureFault::bad_length;
  at = shape.end;
  return StructureFault::none;
#undef CORDWOOD_STEP
}

}  // namespace walk_detail

// How far a walk came. `index` is the record that the fault was found at.
struct WalkEnd {
  StructureFault fault = StructureFault::none;
  std::int32_t index = 0;
  bool ok() const { return fault == StructureFault::none || fault == StructureFault::stopped; }
};

// Calls visit(index, shape) -> Walk for `count` records that must fill `plain`, the records section after
// decompression. `largest_record` caps the length field of each (for compressed batches; pass 2^31-1 otherwise).
template <class Visit>
WalkEnd walk_shapes(BytesView plain, std::int32_t count, std::int64_t largest_record, Visit&& visit) {
  const std::byte* at = plain.data();
  const std::byte* end = at + plain.size();
  RecordShape shape;
  for (std::int32_t index = 0; index < count; ++index) {
    StructureFault fault = walk_detail::read_shape(
        at, end, largest_record, shape, [](const std::byte*, std::int32_t, const std::byte*, std::int32_t) {});
    if (fault != StructureFault::none) return {fault, index};
    if (visit(index, static_cast<const RecordShape&>(shape)) == Walk::stop) return {StructureFault::stopped, index};
  }
  if (at != end) return {StructureFault::left_over, count};
  return {};
}

// The same with full views: visit(record) -> Walk. `header` is the batch's, `record` the view to fill again and again.
template <class Visit>
WalkEnd walk_plain_records(const BatchHeader& header, BytesView plain, std::int64_t largest_record, RecordView& record,
                           Visit&& visit) {
  const std::byte* at = plain.data();
  const std::byte* end = at + plain.size();
  const bool append_time = header.timestamp_type() == TimestampType::log_append_time;
  auto view = [](const std::byte* start, std::int32_t size) -> std::optional<BytesView> {
    if (size < 0) return std::nullopt;
    return BytesView(start, static_cast<std::size_t>(size));
  };
  RecordShape shape;
  for (std::int32_t index = 0; index < header.record_count; ++index) {
    record.headers.clear();
    StructureFault fault = walk_detail::read_shape(
        at, end, largest_record, shape,
        [&](const std::byte* key, std::int32_t key_size, const std::byte* value, std::int32_t size) {
          record.headers.push_back({as_text(BytesView(key, static_cast<std::size_t>(key_size))), view(value, size)});
        });
    if (fault != StructureFault::none) return {fault, index};
    record.offset = {add_wrapping(header.base_offset.value, shape.offset_delta)};
    record.offset_delta = shape.offset_delta;
    record.timestamp_delta = shape.timestamp_delta;
    record.timestamp = append_time ? header.max_timestamp
                                   : TimestampMs{add_wrapping(header.base_timestamp.value, shape.timestamp_delta)};
    record.attributes = shape.attributes;
    record.key = view(shape.key, shape.key_size);
    record.value = view(shape.value, shape.value_size);
    if (visit(static_cast<const RecordView&>(record)) == Walk::stop) return {StructureFault::stopped, index};
  }
  if (at != end) return {StructureFault::left_over, header.record_count};
  return {};
}

// Bytes that compressed records are inflated into, borrowed from the thread and given back at the end of the scope, so
// that a busy thread inflates without allocating. A nested borrower gets a buffer of its own. What grew beyond
// kKeptBytes is freed: a rare large batch must not stay with every thread.
class ScratchBuffer {
 public:
  static constexpr std::size_t kKeptBytes = 4 * MiB;
  ScratchBuffer();
  ~ScratchBuffer();
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;
  ByteVector& bytes() { return bytes_; }

 private:
  ByteVector bytes_;
};

// The records section of `batch` in the clear: a part of the batch itself, or inflated into `scratch`.
// Errors: as for_each_record.
Result<BytesView> plain_records(const BatchView& batch, const BatchHeader& header, const DecompressionLimits& limits,
                                ScratchBuffer& scratch);

Error structure_error(const WalkEnd& end);

// for_each_record() without std::function: `visit` is any callable of Walk(const RecordView&).
template <class Visit>
Result<void> walk_records(const BatchView& batch, Visit&& visit, const DecompressionLimits& limits = {}) {
  BatchHeader header = batch.header();
  ScratchBuffer scratch;
  BytesView plain = TRY(plain_records(batch, header, limits, scratch));
  std::int64_t largest = header.codec_bits() == 0 ? INT64_MAX : limits.largest_record.value;
  RecordView record;
  WalkEnd end = walk_plain_records(header, plain, largest, record, visit);
  if (!end.ok()) return structure_error(end);
  return {};
}

}  // namespace cordwood::record
