// cli/java_text.h — values and bytes as Java turns them into text, where a command prints what Kafka's prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace cordwood::cli {

// Whether `text` is UTF-8 throughout.
bool is_utf8(std::string_view text);
// `text` with U+FFFD for each malformed piece, as Java's decoder cuts them: what `new String(bytes, UTF_8)` holds, in UTF-8.
std::string repaired_utf8(std::string_view text);

// Double.toString and Float.toString, with the fewest digits that read back as the same number: "1.0E10", "0.001", "NaN".
std::string java_double(double value);
std::string java_float(float value);

// Standard Base64 with padding.
std::string base64(BytesView bytes);

// The inside of a JSON string, as Jackson escapes it.
std::string json_escaped(std::string_view text);

}  // namespace cordwood::cli
