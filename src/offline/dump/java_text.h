// offline/dump/java_text.h — texts as a Java program prints them: what Kafka's tool shows of bytes, numbers and maps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace cordwood::offline {

// Of offsets that should match and do not: the one, and what was found. A later one for the same offset replaces it.
using OffsetPairs = std::map<std::int64_t, std::int64_t>;

// Whether all bytes are ASCII, which every encoding shows alike.
bool is_ascii(BytesView bytes);

// Appends the bytes as UTF-8, each malformed part replaced by U+FFFD where Java's String would do it.
void append_utf8(std::string& out, BytesView bytes);

// A string in JSON's quotes, escaped as Jackson does. `text` is valid UTF-8.
void append_jackson_string(std::string& out, std::string_view text);

// "1.0", "1024.0", "1.0E7".
std::string java_double(double value);

// The hexadecimal digits of the two's complement, as Integer.toHexString and Long.toHexString give them.
std::string java_hex(std::uint64_t value);

// The path that java.io.File makes of a name: no doubled and no trailing slashes.
std::string java_path(std::string_view name);

// Long.parseLong, Integer.parseInt: an optional sign and ASCII digits, the whole text.
std::optional<std::int64_t> parse_java_long(std::string_view text);

// The part of a file's name before its first dot, as String.split gives it.
std::string_view before_first_dot(std::string_view name);

// The indexes of the keys in the order in which a java.util.HashMap, filled with them in this order, is walked.
// The keys must differ.
std::vector<std::size_t> java_hash_order(const std::vector<std::string>& keys);

}  // namespace cordwood::offline
