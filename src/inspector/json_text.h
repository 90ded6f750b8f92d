// inspector/json_text.h — what the generated code of api.h is made of: JSON out, and values of queries and bodies in.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cordwood::inspector {

// With quotes. What is no UTF-8 becomes U+FFFD.
void write_string(std::string& out, std::string_view text);
// The same; its numbers get a comma at each thousand: sentences.h.
void write_sentence(std::string& out, std::string_view text);
void write_int(std::string& out, std::int64_t value);
// As text, for JavaScript.
void write_long(std::string& out, std::int64_t value);
// Not a number and infinities, which JSON does not have, become null.
void write_float(std::string& out, double value);

template <class List, class WriteItem>
void write_list(std::string& out, const List& list, WriteItem write_item) {
  out += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += ',';
    first = false;
    write_item(item);
  }
  out += ']';
}

// A parameter's text. Errors: invalid naming `field`.
Result<void> read_value(std::string_view field, std::string_view text, std::string& into);
Result<void> read_value(std::string_view field, std::string_view text, std::int64_t& into);
Result<void> read_value(std::string_view field, std::string_view text, bool& into);

// A request's body, at most kLargestBody, nested no deeper than a handful of levels. Errors: invalid; limit.
inline constexpr std::size_t kLargestBody = 2 << 20;
Result<boost::json::value> parse_body(std::string_view json);
// A member of it. A number may be a JSON number or, like every `long` that we write, a string. Errors: invalid naming `field`.
Result<void> read_member(std::string_view field, const boost::json::value& value, std::string& into);
Result<void> read_member(std::string_view field, const boost::json::value& value, std::int64_t& into);
Result<void> read_member(std::string_view field, const boost::json::value& value, bool& into);

}  // namespace cordwood::inspector
