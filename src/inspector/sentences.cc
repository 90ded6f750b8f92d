#include "inspector/sentences.h"

#include <cstddef>

namespace cordwood::inspector {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0; }

// Whether a number may begin behind this character, and end before these two.
bool may_precede(char c) { return !is_word(c) && std::string_view("=-_/.,:'\"").find(c) == std::string_view::npos; }
bool may_follow(char c, char behind) {
  if (is_word(c) || std::string_view("-_/=").find(c) != std::string_view::npos) return false;
  return std::string_view(".,:").find(c) == std::string_view::npos || !is_word(behind);
}

}  // namespace

std::string with_separators(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  for (std::size_t at = 0; at < text.size();) {
    if (!is_digit(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    const char next = end < text.size() ? text[end] : ' ';
    const char behind = end + 1 < text.size() ? text[end + 1] : ' ';
    const bool is_number = (at == 0 || may_precede(text[at - 1])) && may_follow(next, behind) && text[at] != '0';
    for (std::size_t i = at; i < end; ++i) {
      if (is_number && i > at && (end - i) % 3 == 0) out += ',';
      out += text[i];
    }
    at = end;
  }
  return out;
}

}  // namespace cordwood::inspector
