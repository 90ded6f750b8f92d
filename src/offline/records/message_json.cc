#include "offline/records/message_json.h"

#include <fmt/format.h>

#include <bit>

#include "offline/dump/java_text.h"

namespace cordwood::offline {
namespace {

constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::int32_t kLongestString = 0x7fff;

class JsonWalk {
 public:
  JsonWalk(FaultReader& reader, std::int16_t version, bool is_flexible, FieldHook hook)
      : reader_(reader), version_(version), is_flexible_(is_flexible), hook_(hook) {}

  void structure(std::string& out, const StructDescription& structure, bool is_outermost) {
    // Tagged fields come last in the bytes and keep their place in the text.
    std::vector<std::string> texts(structure.fields.size());
    for (std::size_t i = 0; i < structure.fields.size() && !reader_.fault(); ++i) {
      const FieldDescription& field = structure.fields[i];
      if (!field.in(version_) || field.tag >= 0) continue;
      value(texts[i], field);
    }
    if (is_flexible_) {
      const std::uint32_t count = reader_.uvarint();
      for (std::uint32_t n = 0; n < count && !reader_.fault(); ++n) {
        const std::uint32_t tag = reader_.uvarint();
        const std::uint32_t size = reader_.uvarint();
        bool is_known = false;
        for (std::size_t i = 0; i < structure.fields.size(); ++i) {
          const FieldDescription& field = structure.fields[i];
          if (field.tag < 0 || static_cast<std::uint32_t>(field.tag) != tag || !field.in(version_)) continue;
          is_known = true;
          texts[i].clear();
          if (!value(texts[i], field)) texts[i].clear();
        }
        if (!is_known) reader_.bytes(size);
      }
    }
    out += '{';
    bool is_first = true;
    for (std::size_t i = 0; i < structure.fields.size(); ++i) {
      const FieldDescription& field = structure.fields[i];
      if (texts[i].empty()) continue;
      if (!is_first) out += ',';
      is_first = false;
      out += '"';
      out += field.name;
      out += "\":";
      std::string replacement;
      if (is_outermost && hook_ != nullptr && hook_(field, texts[i], replacement)) {
        out += replacement;
      } else {
        out += texts[i];
      }
    }
    out += '}';
  }

 private:
  // Answers false when the value is the default, which a tagged field is left out for.
  bool value(std::string& out, const FieldDescription& field) {
    const bool may_be_null = field.null_from <= version_;
    if (field.is_array) return array(out, field, may_be_null);
    switch (field.type) {
      case FieldType::string: return text(out, field.name, may_be_null, field.null_is_default);
      case FieldType::bytes: return bytes(out, field.name, may_be_null, field.null_is_default);
      case FieldType::structure:
        if (may_be_null) {
          // A nullable struct has a mark: -1 for null, or 0 inside of a tagged field.
          if (field.tag >= 0 ? reader_.uvarint() == 0 : reader_.i8() < 0) {
            out += "null";
            return !field.null_is_default;
          }
        }
        structure(out, *field.structure, false);
        return true;
      default: return number(out, field);
    }
  }

  bool number(std::string& out, const FieldDescription& field) {
    std::int64_t number = 0;
    switch (field.type) {
      case FieldType::boolean:
        number = reader_.i8() != 0 ? 1 : 0;
        out += number != 0 ? "true" : "false";
        return number != field.default_value;
      case FieldType::int8: number = reader_.i8(); break;
      case FieldType::int16: number = reader_.i16(); break;
      case FieldType::int32: number = reader_.i32(); break;
      case FieldType::int64: number = reader_.i64(); break;
      case FieldType::uint16: number = reader_.u16(); break;
      case FieldType::float64: {
        const double value = std::bit_cast<double>(reader_.u64());
        std::string printed = java_double(value);
        const bool is_number = value - value == 0;
        out += is_number ? printed : "\"" + printed + "\"";
        return value != static_cast<double>(field.default_value);
      }
      case FieldType::uuid: {
        Uuid id;
        id.high = reader_.u64();
        id.low = reader_.u64();
        out += '"' + id.to_string() + '"';
        return !id.is_zero();
      }
      default: break;
    }
    fmt::format_to(std::back_inserter(out), "{}", number);
    return number != field.default_value;
  }

  std::int64_t length(bool is_short) {
    if (is_flexible_) return static_cast<std::int32_t>(reader_.uvarint() - 1);
    return is_short ? reader_.i16() : reader_.i32();
  }

  bool is_null(std::int64_t length, std::string_view name, bool may_be_null, std::string& out) {
    if (length >= 0 || reader_.fault()) return false;
    if (!may_be_null) {
      reader_.fail("java.lang.RuntimeException", fmt::format("non-nullable field {} was serialized as null", name));
    }
    out += "null";
    return true;
  }

  bool text(std::string& out, std::string_view name, bool may_be_null, bool null_is_default) {
    const std::int64_t size = length(true);
    if (is_null(size, name, may_be_null, out)) return !null_is_default;
    if (size > kLongestString) {
      reader_.fail("java.lang.RuntimeException", fmt::format("string field {} had invalid length {}", name, size));
    }
    std::string decoded;
    append_utf8(decoded, reader_.bytes(size));
    append_jackson_string(out, decoded);
    return !(size == 0 && !null_is_default);
  }

  bool bytes(std::string& out, std::string_view name, bool may_be_null, bool null_is_default) {
    const std::int64_t size = length(false);
    if (is_null(size, name, may_be_null, out)) return !null_is_default;
    out += '"' + to_base64(reader_.bytes(size)) + '"';
    return !(size == 0 && !null_is_default);
  }

  bool array(std::string& out, const FieldDescription& field, bool may_be_null) {
    const std::int64_t count = length(false);
    if (is_null(count, field.name, may_be_null, out)) return !field.null_is_default;
    if (!reader_.fault() && count > static_cast<std::int64_t>(reader_.remaining())) {
      reader_.fail("java.lang.RuntimeException",
                   fmt::format("Tried to allocate a collection of size {}, but there are only {} bytes remaining.", count,
                               reader_.remaining()));
    }
    out += '[';
    const std::string element_name = std::string(field.name) + " element";
    for (std::int64_t i = 0; i < count && !reader_.fault(); ++i) {
      if (i > 0) out += ',';
      switch (field.type) {
        case FieldType::string: text(out, element_name, false, false); break;
        case FieldType::bytes: bytes(out, element_name, false, false); break;
        case FieldType::structure: structure(out, *field.structure, false); break;
        default: number(out, field);
      }
    }
    out += ']';
    return !(count == 0 && !field.null_is_default);
  }

  FaultReader& reader_;
  std::int16_t version_;
  bool is_flexible_;
  FieldHook hook_;
};

}  // namespace

void FaultReader::fail(std::string exception, std::optional<std::string> message) {
  if (!fault_) fault_ = ReadFault{std::move(exception), std::move(message)};
}

std::uint32_t FaultReader::uvarint() {
  std::uint32_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(i8());
    if (fault_) return 0;
    if (shift < 28 || byte < 0x80) {
      value |= static_cast<std::uint32_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    } else {
      value |= static_cast<std::uint32_t>(byte & 0x7f) << shift;
      fail("java.lang.IllegalArgumentException",
           "Varint is too long, the most significant bit in the 5th byte is set, converted value: " + java_hex(value));
      return 0;
    }
  }
}

BytesView FaultReader::bytes(std::int64_t size) {
  if (fault_) return {};
  if (size < 0 || static_cast<std::uint64_t>(size) > remaining()) {
    fail("java.lang.RuntimeException",
         fmt::format("Error reading byte array of {} byte(s): only {} byte(s) available", size, remaining()));
    return {};
  }
  const BytesView view = bytes_.subspan(at_, static_cast<std::size_t>(size));
  at_ += static_cast<std::size_t>(size);
  return view;
}

void append_json(std::string& out, const MessageDescription& message, std::int16_t version, FaultReader& reader, FieldHook hook) {
  JsonWalk(reader, version, version >= message.flexible, hook).structure(out, *message.body, true);
}

void append_json(std::string& out, const MessageDescription& message, std::int16_t version, FaultReader& reader) {
  append_json(out, message, version, reader, nullptr);
}

std::string to_base64(BytesView bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kBase64[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<ByteVector> from_base64(std::string_view text) {
  ByteVector bytes;
  std::uint32_t group = 0;
  int bits = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const std::size_t digit = std::string_view(kBase64, 64).find(c);
    if (digit == std::string_view::npos) return {};
    group = group << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::byte>(group >> bits & 0xff));
    }
  }
  return bytes;
}

const MessageDescription* find_message(std::span<const MessageDescription> messages, std::int64_t number, std::string_view suffix) {
  for (const MessageDescription& message : messages) {
    if (message.number == number && message.name.ends_with(suffix)) return &message;
  }
  return nullptr;
}

const MessageDescription* find_message(std::span<const MessageDescription> messages, std::string_view name) {
  for (const MessageDescription& message : messages) {
    if (message.name == name) return &message;
  }
  return nullptr;
}

}  // namespace cordwood::offline
