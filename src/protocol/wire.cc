#include "protocol/wire.h"

#include <limits>
#include <utility>

#include "base/check.h"

namespace cordwood::protocol {
namespace {
// Strings have a 16 bit length in classic form, and Kafka allows no longer ones in flexible form either.
constexpr std::int64_t kLongestString = 0x7fff;

// Kafka's decoder takes lengths and counts as signed 32 bit numbers, whatever their encoding.
std::int64_t signed_minus_one(std::uint32_t value) {
  return static_cast<std::int32_t>(value - 1);
}

// At most kLongestString bytes, cut before a character of UTF-8 rather than within it.
std::string_view cut(std::string_view text) {
  if (std::cmp_less_equal(text.size(), kLongestString)) return text;
  std::size_t end = kLongestString;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}
}  // namespace

// Negative for null.
std::int64_t Decoder::length(bool short_string) {
  if (form_ == Form::flexible) return signed_minus_one(reader_.uvarint());
  return short_string ? reader_.i16() : reader_.i32();
}

void Decoder::string(std::string& into) {
  std::int64_t size = length(true);
  if (size < 0 || size > kLongestString) fail();
  into.assign(ok() ? as_text(reader_.bytes(size)) : std::string_view());
}

void Decoder::nullable_string(std::optional<std::string>& into) {
  std::int64_t size = length(true);
  if (size > kLongestString) fail();
  if (!ok() || size < 0) {
    into.reset();
    return;
  }
  if (!into) into.emplace();
  into->assign(as_text(reader_.bytes(size)));
}

void Decoder::bytes(ByteVector& into) {
  BytesView view = reader_.bytes(length(false));
  into.assign(view.begin(), view.end());
}

void Decoder::nullable_bytes(std::optional<ByteVector>& into) {
  std::int64_t size = length(false);
  if (!ok() || size < 0) {
    into.reset();
    return;
  }
  if (!into) into.emplace();
  BytesView view = reader_.bytes(size);
  into->assign(view.begin(), view.end());
}

void Decoder::records(Records& into) {
  into.range = {};
  into.bytes = reader_.bytes(length(false));
}

void Decoder::nullable_records(std::optional<Records>& into) {
  std::int64_t size = length(false);
  if (!ok() || size < 0) {
    into.reset();
    return;
  }
  into.emplace().bytes = reader_.bytes(size);
}

std::int64_t Decoder::array_count() {
  std::int64_t count = form_ == Form::flexible ? signed_minus_one(reader_.uvarint()) : reader_.i32();
  if (count > kLargestArray || count > static_cast<std::int64_t>(remaining())) fail();
  if (!ok()) return 0;
  return count < 0 ? -1 : count;
}

bool Decoder::struct_is_present() { return reader_.i8() >= 0; }

void Encoder::string(std::string_view v) {
  v = cut(v);
  if (form_ == Form::flexible) {
    writer_.uvarint(v.size() + 1);
  } else {
    writer_.i16(static_cast<std::int16_t>(v.size()));
  }
  writer_.text(v);
}

void Encoder::nullable_string(const std::optional<std::string>& v) {
  if (v) return string(*v);
  if (form_ == Form::flexible) {
    writer_.uvarint(0);
  } else {
    writer_.i16(-1);
  }
}

void Encoder::length(std::int64_t size) {
  CHECK(size <= std::numeric_limits<std::int32_t>::max(), "a field of {} bytes cannot be sent", size);
  if (form_ == Form::flexible) {
    writer_.uvarint(static_cast<std::uint64_t>(size + 1));
  } else {
    writer_.i32(static_cast<std::int32_t>(size));
  }
}

void Encoder::bytes(BytesView v) {
  length(static_cast<std::int64_t>(v.size()));
  writer_.bytes(v);
}

void Encoder::nullable_bytes(const std::optional<ByteVector>& v) {
  if (v) {
    bytes(*v);
  } else {
    length(-1);
  }
}

void Encoder::records(const Records& v) {
  length(v.size());
  if (v.range.size.value == 0) {
    writer_.bytes(v.bytes);
    return;
  }
  finish_piece();
  done_.pieces.emplace_back(v.range);
}

void Encoder::nullable_records(const std::optional<Records>& v) {
  if (v) {
    records(*v);
  } else {
    length(-1);
  }
}

void Encoder::array_count(std::size_t count) { length(static_cast<std::int64_t>(count)); }

void Encoder::null_array() { length(-1); }

// The bytes written since the last file range become a piece of their own.
void Encoder::finish_piece() {
  if (writer_.size() == 0) return;
  done_.pieces.emplace_back(writer_.take());
  writer_ = ByteWriter();
}

Payload Encoder::take() {
  finish_piece();
  return std::exchange(done_, {});
}

ByteVector Encoder::take_bytes() {
  CHECK(done_.pieces.empty(), "{} pieces where one vector is asked for", done_.pieces.size());
  return std::exchange(writer_, {}).take();
}

std::size_t Encoder::bytes_so_far() const { return static_cast<std::size_t>(done_.size()) + writer_.size(); }

}  // namespace cordwood::protocol
