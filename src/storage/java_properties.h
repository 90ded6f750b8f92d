// storage/java_properties.h — the text format of java.util.Properties, as far as meta.properties needs it.
//
// ISO-8859-1; a line is "key=value", "key:value" or "key value"; a line whose first non-blank character is '#' or '!' is
// a comment; a backslash at the end of a line joins the next one; \t \n \r \f \uXXXX and backslash-anything are escapes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordwood::storage {

// Characters above 0x7f become UTF-8 in the result. A key that comes twice has its last value.
// Errors: corrupt for a \u that four hex digits do not follow.
Result<std::map<std::string, std::string>> parse_java_properties(std::string_view text);

// Escaped as a value must be so that parse_java_properties gives `value` back; other than UTF-8 is taken byte by byte.
std::string escape_java_property_value(std::string_view value);

}  // namespace cordwood::storage
