// protocol/message_coding.h — the few templates that generated decode() and encode() functions are written with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "protocol/error_code.h"
#include "protocol/wire.h"

namespace cordwood::protocol {

// The value of an optional that is about to be overwritten: an old one keeps its capacity.
template <class T>
T& present(std::optional<T>& field) {
  return field ? *field : field.emplace();
}

// For versions in which a nullable field cannot be null: null is sent as empty.
template <class T>
const T& or_empty(const std::optional<T>& field) {
  static const T empty{};
  return field ? *field : empty;
}

// Memory grows with the elements that were really read, not with the count that was announced: an element is many
// times larger here than the one byte that it must at least have on the wire.
inline constexpr std::int64_t kMostReserved = 256;

// `smallest` is the least number of bytes that an element takes; elements from before keep their capacity.
template <class T, class ReadElement>
void array_elements(Decoder& decoder, std::vector<T>& into, std::int64_t count, std::int64_t smallest,
                    ReadElement&& read_element) {
  if (count > static_cast<std::int64_t>(decoder.remaining()) / smallest) {
    decoder.fail();
    count = 0;
  }
  into.reserve(static_cast<std::size_t>(smallest > 1 ? count : std::min(count, kMostReserved)));
  std::size_t done = 0;
  for (; done < static_cast<std::size_t>(count) && decoder.ok(); ++done) {
    if (done == into.size()) into.emplace_back();
    read_element(into[done]);
  }
  into.resize(done);
}

template <class T, class ReadElement>
void array(Decoder& decoder, std::vector<T>& into, std::int64_t smallest, ReadElement&& read_element) {
  std::int64_t count = decoder.array_count();
  if (count < 0) {
    decoder.fail();
    count = 0;
  }
  array_elements(decoder, into, count, smallest, read_element);
}

template <class T, class ReadElement>
void nullable_array(Decoder& decoder, std::optional<std::vector<T>>& into, std::int64_t smallest,
                    ReadElement&& read_element) {
  std::int64_t count = decoder.array_count();
  if (count < 0) {
    into.reset();
  } else {
    array_elements(decoder, present(into), count, smallest, read_element);
  }
}

// A tagged field whose size is only known once it is written.
template <class Write>
void tagged(Encoder& encoder, std::uint32_t tag, Write&& write) {
  Encoder body(Form::flexible);
  write(body);
  ByteVector bytes = body.take_bytes();
  encoder.uvarint(tag);
  encoder.uvarint(bytes.size());
  encoder.raw(bytes);
}

}  // namespace cordwood::protocol
