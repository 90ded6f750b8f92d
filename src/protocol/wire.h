// protocol/wire.h — the two encodings of Kafka's messages, classic and flexible, that generated code is written in.
//
// Decoding is sticky like ByteReader's: every length is checked against the bytes left, every array against
// kLargestArray (a limit of Kafka 4.4's own decoder), and one ok() at the end decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "protocol/payload.h"

namespace cordwood::protocol {

inline constexpr std::int64_t kLargestArray = 1'000'000;
inline constexpr std::uint32_t kMostTaggedFields = 10'000;

enum class Form { classic, flexible };

class Decoder {
 public:
  Decoder(BytesView bytes, Form form) : reader_(bytes), form_(form) {}

  bool ok() const { return reader_.ok(); }
  void fail() { reader_.fail(); }
  Form form() const { return form_; }
  std::size_t remaining() const { return reader_.remaining(); }
  std::size_t position() const { return reader_.position(); }

  bool boolean() { return reader_.i8() != 0; }
  std::int8_t i8() { return reader_.i8(); }
  std::int16_t i16() { return reader_.i16(); }
  std::uint16_t u16() { return reader_.u16(); }
  std::int32_t i32() { return reader_.i32(); }
  std::uint32_t u32() { return reader_.u32(); }
  std::int64_t i64() { return reader_.i64(); }
  double f64() { return reader_.f64(); }
  Uuid uuid() { return reader_.uuid(); }
  std::uint32_t uvarint() { return reader_.uvarint(); }

  // Null where the field is not nullable is a failure. `into` keeps its capacity.
  void string(std::string& into);
  void nullable_string(std::optional<std::string>& into);
  void bytes(ByteVector& into);
  void nullable_bytes(std::optional<ByteVector>& into);
  void records(Records& into);
  void nullable_records(std::optional<Records>& into);

  // The count of an array: -1 for null. A count that cannot fit into the bytes left (each element takes at least one)
  // or exceeds kLargestArray is a failure and gives 0.
  std::int64_t array_count();
  // A nullable struct's mark: true when it is there.
  bool struct_is_present();

  // The tagged section that ends a struct in flexible form. Calls `field(tag)` where the content of a tag starts; it
  // reads the content and answers true, or answers false for a tag that it does not know, which is then skipped. As
  // Kafka does: any order and repetition is accepted, and the size of a known tag is not looked at.
  template <class Field>
  void tagged_fields(Field&& field) {
    std::uint32_t count = uvarint();
    if (count > kMostTaggedFields) fail();
    for (std::uint32_t i = 0; ok() && i < count; ++i) {
      std::uint32_t tag = uvarint();
      std::uint32_t size = uvarint();
      if (ok() && !field(tag)) reader_.skip(size);
    }
  }
  void skip_tagged_fields() {
    tagged_fields([](std::uint32_t) { return false; });
  }

 private:
  std::int64_t length(bool short_string);
  ByteReader reader_;
  Form form_;
};

class Encoder {
 public:
  explicit Encoder(Form form) : form_(form) {}
  Form form() const { return form_; }

  void boolean(bool v) { writer_.i8(v ? 1 : 0); }
  void i8(std::int8_t v) { writer_.i8(v); }
  void i16(std::int16_t v) { writer_.i16(v); }
  void u16(std::uint16_t v) { writer_.u16(v); }
  void i32(std::int32_t v) { writer_.i32(v); }
  void u32(std::uint32_t v) { writer_.u32(v); }
  void i64(std::int64_t v) { writer_.i64(v); }
  void f64(double v) { writer_.f64(v); }
  void uuid(Uuid v) { writer_.uuid(v); }
  void uvarint(std::uint64_t v) { writer_.uvarint(v); }
  void raw(BytesView bytes) { writer_.bytes(bytes); }

  void string(std::string_view v);
  void nullable_string(const std::optional<std::string>& v);
  void bytes(BytesView v);
  void nullable_bytes(const std::optional<ByteVector>& v);
  void records(const Records& v);
  void nullable_records(const std::optional<Records>& v);
  void array_count(std::size_t count);
  void null_array();
  void struct_mark(bool present) { writer_.i8(present ? 1 : -1); }

  // Everything written so far, as pieces. The encoder is empty afterwards.
  Payload take();
  // For messages without file ranges: one vector. (Checked.)
  ByteVector take_bytes();
  std::size_t bytes_so_far() const;

 private:
  void length(std::int64_t size);  // of bytes and records, and the count of an array; -1 for null
  void finish_piece();

  ByteWriter writer_;
  Form form_;
  Payload done_;
};

}  // namespace cordwood::protocol
