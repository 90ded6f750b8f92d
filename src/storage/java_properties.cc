#include "storage/java_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace cordwood::storage {

namespace {

constexpr std::string_view kBlanks = " \t\f";

// UTF-16 units to UTF-8; a surrogate without its partner becomes U+FFFD.
class Utf8Text {
 public:
  void add_unit(std::uint32_t unit) {
    if (unit >= 0xdc00 && unit < 0xe000 && high_) {
      add_code_point(0x10000 + ((*high_ - 0xd800) << 10) + (unit - 0xdc00));
      high_.reset();
      return;
    }
    end_pair();
    if (unit >= 0xd800 && unit < 0xdc00) {
      high_ = unit;
    } else if (unit >= 0xdc00 && unit < 0xe000) {
      add_code_point(0xfffd);
    } else {
      add_code_point(unit);
    }
  }
  std::string take() {
    end_pair();
    return std::move(text_);
  }

 private:
  void end_pair() {
    if (high_) add_code_point(0xfffd);
    high_.reset();
  }
  void add_code_point(std::uint32_t c) {
    auto put = [&](std::uint32_t byte) { text_.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xc0 | c >> 6);
      put(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
      put(0xe0 | c >> 12);
      put(0x80 | (c >> 6 & 0x3f));
      put(0x80 | (c & 0x3f));
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
      put(0x80 | (c >> 6 & 0x3f));
      put(0x80 | (c & 0x3f));
    }
  }
  std::string text_;
  std::optional<std::uint32_t> high_;
};

std::string_view without_leading_blanks(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  return line;
}

// Whether a backslash that is not itself escaped ends the line.
bool is_continued(std::string_view line) {
  std::size_t slashes = 0;
  while (slashes < line.size() && line[line.size() - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 == 1;
}

// Comments and blank lines dropped, continued lines joined; escapes are still in.
std::vector<std::string> logical_lines(std::string_view text) {
  std::vector<std::string> lines;
  bool continues = false;
  while (!text.empty()) {
    std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    std::string_view line = without_leading_blanks(text.substr(0, end));
    bool crlf = text.substr(end).starts_with("\r\n");
    text.remove_prefix(std::min(end + (crlf ? 2 : 1), text.size()));
    if (!continues) {
      if (line.empty() || line.front() == '#' || line.front() == '!') continue;
      lines.emplace_back();
    }
    continues = is_continued(line);
    if (continues) line.remove_suffix(1);
    lines.back() += line;
  }
  return lines;
}

Result<std::string> unescape(std::string_view text) {
  Utf8Text out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c != '\\' || i + 1 == text.size()) {
      if (c != '\\') out.add_unit(c);
      continue;
    }
    c = static_cast<unsigned char>(text[++i]);
    switch (c) {
      case 't': out.add_unit('\t'); break;
      case 'n': out.add_unit('\n'); break;
      case 'r': out.add_unit('\r'); break;
      case 'f': out.add_unit('\f'); break;
      case 'u': {
        std::uint32_t unit = 0;
        for (int digit = 0; digit < 4; ++digit) {
          char h = i + 1 < text.size() ? text[i + 1] : '\0';
          std::uint32_t value;
          if (h >= '0' && h <= '9') {
            value = static_cast<std::uint32_t>(h - '0');
          } else if (h >= 'a' && h <= 'f') {
            value = static_cast<std::uint32_t>(h - 'a' + 10);
          } else if (h >= 'A' && h <= 'F') {
            value = static_cast<std::uint32_t>(h - 'A' + 10);
          } else {
            return Error{Errc::corrupt, fmt::format("malformed \\uxxxx in '{}'", text)};
          }
          unit = unit << 4 | value;
          ++i;
        }
        out.add_unit(unit);
        break;
      }
      default: out.add_unit(c);
    }
  }
  return out.take();
}

}  // namespace

Result<std::map<std::string, std::string>> parse_java_properties(std::string_view text) {
  std::map<std::string, std::string> properties;
  for (const std::string& line : logical_lines(text)) {
    std::size_t key_end = 0;
    while (key_end < line.size() && !std::string_view(" \t\f=:").contains(line[key_end])) {
      key_end += line[key_end] == '\\' ? 2 : 1;
    }
    key_end = std::min(key_end, line.size());
    std::string_view value = without_leading_blanks(std::string_view(line).substr(key_end));
    if (value.starts_with('=') || value.starts_with(':')) value = without_leading_blanks(value.substr(1));
    std::string key = TRY(unescape(std::string_view(line).substr(0, key_end)));
    properties[std::move(key)] = TRY(unescape(value));
  }
  return properties;
}

std::string escape_java_property_value(std::string_view value) {
  std::string out;
  bool leading = true;
  for (std::size_t i = 0; i < value.size(); ++i) {
    auto c = static_cast<unsigned char>(value[i]);
    bool first = std::exchange(leading, leading && c == ' ');
    switch (c) {
      case ' ': out += first ? "\\ " : " "; continue;
      case '\t': out += "\\t"; continue;
      case '\n': out += "\\n"; continue;
      case '\r': out += "\\r"; continue;
      case '\f': out += "\\f"; continue;
      case '\\': case '=': case ':': case '#': case '!':
        out += '\\';
        out += static_cast<char>(c);
        continue;
      default: break;
    }
    if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
      continue;
    }
    // A UTF-8 sequence becomes one \uXXXX, or two for a code point beyond 16 bits.
    std::size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : 0;
    std::uint32_t point = more == 3 ? c & 0x07u : more == 2 ? c & 0x0fu : more == 1 ? c & 0x1fu : c;
    bool complete = more > 0 && i + more < value.size();
    for (std::size_t k = 1; complete && k <= more; ++k) {
      auto next = static_cast<unsigned char>(value[i + k]);
      complete = (next & 0xc0) == 0x80;
      point = point << 6 | (next & 0x3fu);
    }
    if (!complete) {
      point = c;
    } else {
      i += more;
    }
    if (point > 0xffff) {
      point -= 0x10000;
      fmt::format_to(std::back_inserter(out), "\\u{:04X}\\u{:04X}", 0xd800 + (point >> 10), 0xdc00 + (point & 0x3ff));
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04X}", point);
    }
  }
  return out;
}

}  // namespace cordwood::storage
