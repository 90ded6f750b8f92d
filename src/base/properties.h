// base/properties.h — the text of a Java properties file: comments, escapes, continuation lines, '=' ':' or blank between key
// and value. Bytes above 127 are kept as they are (UTF-8), where Java takes them for Latin-1.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cordwood {

struct Property {
  std::string key;
  std::string value;
  std::size_t line = 0;  // from 1; 0: it did not come from a file
  bool operator==(const Property&) const = default;
};

// In the order of the text, repeated keys included. Errors: invalid naming the line.
Result<std::vector<Property>> read_properties(std::string_view text);

// The same without the lines.
Result<std::vector<std::pair<std::string, std::string>>> parse_properties(std::string_view text);

}  // namespace cordwood
