// A request's target ("/api/v1/topics?search=or%20ders"), split and decoded. Declared in api.h, which is generated.
#include "inspector/api.h"

namespace cordwood::inspector::api {
namespace {

constexpr std::size_t kLongestTarget = 8192;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decode(std::string_view text, bool in_query) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && in_query) {
      out += ' ';
    } else if (text[i] == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return Error{Errc::invalid, "address: a % is not followed by two hexadecimal digits"};
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
  if (target.size() > kLongestTarget) return Error{Errc::limit, "address: is longer than 8 KiB"};
  Target parsed;
  const std::size_t question = target.find('?');
  std::string_view path = target.substr(0, question);
  while (!path.empty()) {
    if (path.front() == '/') path.remove_prefix(1);
    const std::size_t slash = path.find('/');
    const std::string_view word = path.substr(0, slash);
    if (!word.empty()) parsed.path.push_back(TRY(decode(word, false)));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash);
  }
  std::string_view query = question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  query = query.substr(0, query.find('#'));
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    parsed.query.emplace_back(TRY(decode(pair.substr(0, equals), true)),
                              equals == std::string_view::npos ? std::string() : TRY(decode(pair.substr(equals + 1), true)));
  }
  return parsed;
}

}  // namespace cordwood::inspector::api
