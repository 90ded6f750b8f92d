#include "inspector/json_text.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <charconv>
#include <cmath>

#include "inspector/sentences.h"

namespace cordwood::inspector {
namespace {

// The length of the UTF-8 sequence at `at`, 0 when there is none: no overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t sequence_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

Error wrong(std::string_view field, std::string_view what) { return Error{Errc::invalid, fmt::format("{}: {}", field, what)}; }

}  // namespace

void write_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: {
        const std::size_t length = sequence_at(text, at);
        if (length == 0) {
          out += "\\ufffd";
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += text.substr(at, length);
        }
        at += std::max<std::size_t>(length, 1);
        continue;
      }
    }
    ++at;
  }
  out += '"';
}

void write_sentence(std::string& out, std::string_view text) { write_string(out, with_separators(text)); }

void write_int(std::string& out, std::int64_t value) { out += fmt::format_int(value).c_str(); }

void write_long(std::string& out, std::int64_t value) {
  out += '"';
  write_int(out, value);
  out += '"';
}

void write_float(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  out += fmt::format("{}", value);
}

Result<void> read_value(std::string_view, std::string_view text, std::string& into) {
  into = text;
  return {};
}

Result<void> read_value(std::string_view field, std::string_view text, std::int64_t& into) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, into);
  if (error == std::errc::result_out_of_range) return wrong(field, "is too large for 64 bits");
  if (error != std::errc() || stop != end) return wrong(field, "must be a whole number");
  return {};
}

Result<void> read_value(std::string_view field, std::string_view text, bool& into) {
  if (text != "true" && text != "false") return wrong(field, "must be true or false");
  into = text == "true";
  return {};
}

Result<boost::json::value> parse_body(std::string_view json) {
  if (json.size() > kLargestBody) return Error{Errc::limit, fmt::format("body: is longer than {} bytes", kLargestBody)};
  boost::system::error_code error;
  boost::json::parse_options options;
  options.max_depth = 8;
  boost::json::value value = boost::json::parse(json, error, {}, options);
  if (error) return wrong("body", fmt::format("is no JSON: {}", error.message()));
  return value;
}

Result<void> read_member(std::string_view field, const boost::json::value& value, std::string& into) {
  if (!value.is_string()) return wrong(field, "must be a string");
  into = std::string_view(value.get_string());
  return {};
}

Result<void> read_member(std::string_view field, const boost::json::value& value, std::int64_t& into) {
  if (value.is_string()) return read_value(field, std::string_view(value.get_string()), into);
  if (!value.is_int64()) return wrong(field, "must be a whole number");
  into = value.get_int64();
  return {};
}

Result<void> read_member(std::string_view field, const boost::json::value& value, bool& into) {
  if (!value.is_bool()) return wrong(field, "must be true or false");
  into = value.get_bool();
  return {};
}

}  // namespace cordwood::inspector
