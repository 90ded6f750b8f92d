#include "base/properties.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace cordwood {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\f'; }

// Logical lines: comments and empty ones left out, continued ones joined, escapes still in them.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  // False at the end. `number` is that of the first natural line, from 1.
  bool next(std::string& line, std::size_t& number) {
    line.clear();
    bool continued = false;
    while (position_ < text_.size()) {
      std::string_view natural = take_natural_line();
      while (!natural.empty() && is_space(natural.front())) natural.remove_prefix(1);
      if (!continued) {
        if (natural.empty() || natural.front() == '#' || natural.front() == '!') continue;
        number = line_number_;
      }
      continued = ends_in_odd_backslashes(natural);
      if (continued) natural.remove_suffix(1);
      line.append(natural);
      if (!continued) return true;
    }
    return continued;
  }

 private:
  std::string_view take_natural_line() {
    ++line_number_;
    auto end = text_.find_first_of("\r\n", position_);
    if (end == std::string_view::npos) end = text_.size();
    std::string_view natural = text_.substr(position_, end - position_);
    position_ = end;
    if (position_ < text_.size() && text_[position_] == '\r') ++position_;
    if (position_ < text_.size() && text_[position_] == '\n' && (end == position_ || text_[end] == '\r')) ++position_;
    return natural;
  }
  static bool ends_in_odd_backslashes(std::string_view line) {
    std::size_t count = 0;
    while (count < line.size() && line[line.size() - 1 - count] == '\\') ++count;
    return count % 2 == 1;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t line_number_ = 0;
};

void append_utf8(std::string& out, std::uint32_t point) {
  auto add = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0 | point >> 6);
    add(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    add(0xE0 | point >> 12);
    add(0x80 | (point >> 6 & 0x3F));
    add(0x80 | (point & 0x3F));
  } else {
    add(0xF0 | point >> 18);
    add(0x80 | (point >> 12 & 0x3F));
    add(0x80 | (point >> 6 & 0x3F));
    add(0x80 | (point & 0x3F));
  }
}

std::optional<std::uint32_t> four_hex_digits(std::string_view text) {
  if (text.size() < 4) return {};
  std::uint32_t value = 0;
  for (char c : text.substr(0, 4)) {
    std::uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      return {};
    }
    value = value * 16 + digit;
  }
  return value;
}

// Undoes the escapes. Two \u that make a surrogate pair are one character; half a pair becomes U+FFFD. Nothing for a
// malformed \u.
std::optional<std::string> unescape(std::string_view text) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    char escaped = text[++i];
    switch (escaped) {
      case 't': out.push_back('\t'); break;
      case 'n': out.push_back('\n'); break;
      case 'r': out.push_back('\r'); break;
      case 'f': out.push_back('\f'); break;
      case 'u': {
        auto unit = four_hex_digits(text.substr(i + 1));
        if (!unit) return {};
        i += 4;
        if (*unit >= 0xD800 && *unit < 0xDC00 && text.substr(i + 1).starts_with("\\u")) {
          auto low = four_hex_digits(text.substr(i + 3));
          if (!low) return {};
          if (*low >= 0xDC00 && *low < 0xE000) {
            append_utf8(out, 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00));
            i += 6;
            break;
          }
        }
        append_utf8(out, *unit >= 0xD800 && *unit < 0xE000 ? kReplacement : *unit);
        break;
      }
      default: out.push_back(escaped);
    }
  }
  return out;
}

// The key ends at the first '=', ':' or blank that is not escaped; blanks and one '=' or ':' lie before the value.
std::pair<std::string_view, std::string_view> split(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && line[end] != '=' && line[end] != ':' && !is_space(line[end])) {
    end += line[end] == '\\' && end + 1 < line.size() ? 2 : 1;
  }
  std::size_t value = end;
  while (value < line.size() && is_space(line[value])) ++value;
  if (value < line.size() && (line[value] == '=' || line[value] == ':')) {
    ++value;
    while (value < line.size() && is_space(line[value])) ++value;
  }
  return {line.substr(0, end), line.substr(value)};
}

}  // namespace

Result<std::vector<Property>> read_properties(std::string_view text) {
  std::vector<Property> properties;
  LineReader lines(text);
  std::string line;
  std::size_t number = 0;
  while (lines.next(line, number)) {
    auto [raw_key, raw_value] = split(line);
    auto key = unescape(raw_key);
    auto value = unescape(raw_value);
    if (!key || !value) {
      return Error{Errc::invalid, fmt::format("line {}: \\u is not followed by four hexadecimal digits", number)};
    }
    properties.push_back({std::move(*key), std::move(*value), number});
  }
  return properties;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_properties(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (Property& property : TRY(read_properties(text))) {
    pairs.emplace_back(std::move(property.key), std::move(property.value));
  }
  return pairs;
}

}  // namespace cordwood
