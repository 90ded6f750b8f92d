#include "cli/java_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

namespace cordwood::cli {
namespace {

// The well-formed character at the front: its length; or, with `well_formed` false, how many bytes are malformed together.
struct Piece {
  std::size_t size = 1;
  bool well_formed = true;
};

Piece piece_at(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  auto is_tail = [&](std::size_t i, std::uint8_t low = 0x80, std::uint8_t high = 0xbf) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {1, true};
  if (first >= 0xc2 && first <= 0xdf) return is_tail(1) ? Piece{2, true} : Piece{1, false};
  if (first >= 0xe0 && first <= 0xef) {
    bool second = is_tail(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf);
    if (!second) return {1, false};
    return is_tail(2) ? Piece{3, true} : Piece{2, false};
  }
  if (first >= 0xf0 && first <= 0xf4) {
    bool second = is_tail(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
    if (!second) return {1, false};
    if (!is_tail(2)) return {2, false};
    return is_tail(3) ? Piece{4, true} : Piece{3, false};
  }
  return {1, false};
}

std::size_t ascii_prefix(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  while (at < text.size() && static_cast<std::uint8_t>(text[at]) < 0x80) ++at;
  return at;
}

// `digits` are significant ones, the first before the point of d.ddd * 10^exponent.
std::string java_decimal(std::string digits, int exponent) {
  if (exponent >= -3 && exponent < 7) {
    if (exponent < 0) return fmt::format("0.{}{}", std::string(static_cast<std::size_t>(-exponent - 1), '0'), digits);
    auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    std::string fraction = digits.substr(whole);
    return fmt::format("{}.{}", digits.substr(0, whole), fraction.empty() ? "0" : fraction);
  }
  return fmt::format("{}.{}E{}", digits[0], digits.size() > 1 ? digits.substr(1) : "0", exponent);
}

template <class Number>
std::string java_number(Number value) {
  if (std::isnan(value)) return "NaN";
  std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return sign + "Infinity";
  if (value == 0) return sign + "0.0";
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, std::abs(value), std::chars_format::scientific).ptr;
  std::string_view scientific(text, static_cast<std::size_t>(end - text));
  auto e = scientific.find('e');
  std::string digits;
  for (char c : scientific.substr(0, e)) {
    if (c != '.') digits += c;
  }
  int exponent = 0;
  std::string_view power = scientific.substr(e + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  return sign + java_decimal(digits, exponent);
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (;;) {
    text.remove_prefix(ascii_prefix(text));
    if (text.empty()) return true;
    Piece piece = piece_at(text);
    if (!piece.well_formed) return false;
    text.remove_prefix(piece.size);
  }
}

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    Piece piece = piece_at(text);
    repaired += piece.well_formed ? text.substr(0, piece.size) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(piece.size);
  }
  return repaired;
}

std::string java_double(double value) { return java_number(value); }
std::string java_float(float value) { return java_number(value); }

std::string base64(BytesView bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? static_cast<std::uint32_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? kLetters[(group >> (18 - 6 * i)) & 63] : '=';
  }
  return text;
}

std::string json_escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '"': escaped += "\\\""; break;
      case '\\': escaped += "\\\\"; break;
      case '\b': escaped += "\\b"; break;
      case '\t': escaped += "\\t"; break;
      case '\n': escaped += "\\n"; break;
      case '\f': escaped += "\\f"; break;
      case '\r': escaped += "\\r"; break;
      default:
        if (static_cast<std::uint8_t>(c) < 0x20) {
          escaped += fmt::format("\\u{:04X}", static_cast<int>(c));
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

}  // namespace cordwood::cli
