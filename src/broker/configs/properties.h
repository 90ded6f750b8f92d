// broker/configs/properties.h — a properties file with the places of its lines kept, for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cordwood::broker::configs {

struct Property {
  std::string key;
  std::string value;
  std::size_t line = 0;  // from 1; 0: it did not come from a file
  bool operator==(const Property&) const = default;
};

// In the order of the text, repeated keys included. Errors: invalid naming the line.
Result<std::vector<Property>> read_properties(std::string_view text);

}  // namespace cordwood::broker::configs
