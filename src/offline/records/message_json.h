// offline/records/message_json.h — a record's bytes as the JSON that Kafka's converters make of them.
//
// One walk over bytes and description; no struct of the record is made. Fields in the order of the declaration; a tagged
// field is left out when it has its default. bytes are base64, a uuid is its 22 characters.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "offline/records/message_description.h"

namespace cordwood::offline {

// The exception that Kafka's reader would throw. `message` is absent where Java's getMessage() is null.
struct ReadFault {
  std::string exception;
  std::optional<std::string> message;
};

// Reads fields as Kafka's ByteBufferAccessor does: the first fault stays, and all reads after it give nothing.
class FaultReader {
 public:
  explicit FaultReader(BytesView bytes) : bytes_(bytes) {}

  const std::optional<ReadFault>& fault() const { return fault_; }
  std::size_t remaining() const { return fault_ ? 0 : bytes_.size() - at_; }
  void fail(std::string exception, std::optional<std::string> message);

  std::int8_t i8() { return fixed<std::int8_t>(); }
  std::int16_t i16() { return fixed<std::int16_t>(); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::int32_t i32() { return fixed<std::int32_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::int64_t i64() { return fixed<std::int64_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  std::uint32_t uvarint();
  BytesView bytes(std::int64_t size);

 private:
  template <class T>
  T fixed() {
    if (remaining() < sizeof(T)) {
      fail("java.nio.BufferUnderflowException", {});
      return {};
    }
    const T value = load_be<T>(bytes_, at_);
    at_ += sizeof(T);
    return value;
  }

  BytesView bytes_;
  std::size_t at_ = 0;
  std::optional<ReadFault> fault_;
};

// Appends the object. `reader` stands behind it afterwards; look at its fault(): then what was appended is worth nothing.
void append_json(std::string& out, const MessageDescription& message, std::int16_t version, FaultReader& reader);

// A field of the outermost object is replaced while it is written: answers whether `replacement` was set.
using FieldHook = bool (*)(const FieldDescription& field, std::string_view json, std::string& replacement);
void append_json(std::string& out, const MessageDescription& message, std::int16_t version, FaultReader& reader, FieldHook hook);

std::string to_base64(BytesView bytes);
std::optional<ByteVector> from_base64(std::string_view text);

// Null when there is none.
const MessageDescription* find_message(std::span<const MessageDescription> messages, std::int64_t number, std::string_view suffix);
const MessageDescription* find_message(std::span<const MessageDescription> messages, std::string_view name);

}  // namespace cordwood::offline
