// storage/text_number.h — a decimal number of a text file, as Java reads one: all of the text, a '+' is allowed.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace cordwood::storage {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number number{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace cordwood::storage
