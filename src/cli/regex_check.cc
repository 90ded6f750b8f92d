#include "cli/regex_check.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace cordwood::cli {
namespace {

constexpr std::string_view kBadEscape = "invalid escape sequence";
constexpr std::string_view kBadRange = "invalid character class range";
constexpr std::string_view kBadPerl = "invalid or unsupported Perl syntax";
constexpr std::string_view kBadCount = "invalid repeat count";
constexpr std::string_view kNoArgument = "missing argument to repetition operator";
constexpr std::string_view kNested = "invalid nested repetition operator";
constexpr std::int64_t kMostRepeats = 1000;

bool is_pattern_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_pattern_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class RegexChecker {
 public:
  explicit RegexChecker(std::string_view text) : text_(text) {}

  std::optional<std::string> check() {
    while (at_ < text_.size() && mistake_.empty()) step();
    if (mistake_.empty() && depth_ > 0) mistake_ = "missing closing )";
    if (mistake_.empty()) return {};
    return mistake_;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool has(std::size_t ahead = 0) const { return at_ + ahead < text_.size(); }
  void fail(std::string_view why) {
    if (mistake_.empty()) mistake_ = why;
  }
  void atom() {
    has_argument_ = true;
    was_repeat_ = false;
  }
  void no_atom() {
    has_argument_ = false;
    was_repeat_ = false;
  }

  void step() {
    switch (peek()) {
      case '(':
        open_group();
        return;
      case ')':
        if (depth_ == 0) return fail("regexp/syntax: internal error");
        --depth_;
        ++at_;
        return atom();
      case '|':
        ++at_;
        return no_atom();
      case '[':
        return char_class();
      case '*':
      case '+':
      case '?':
        ++at_;
        return repeat();
      case '{': {
        std::size_t behind = 0;
        if (!count(behind)) {
          ++at_;  // a brace that stands for itself
          return atom();
        }
        if (!mistake_.empty()) return;
        at_ = behind;
        return repeat();
      }
      case '\\':
        return escape(false);
      default:
        ++at_;
        return atom();
    }
  }

  void repeat() {
    if (was_repeat_) return fail(kNested);
    if (!has_argument_) return fail(kNoArgument);
    if (peek() == '?') ++at_;  // not greedy
    was_repeat_ = true;
  }

  // {n}, {n,} or {n,m} at the current place; anything else is no repeat.
  bool count(std::size_t& behind) {
    std::size_t i = at_ + 1;
    auto number = [&]() -> std::int64_t {
      std::int64_t value = 0;
      std::size_t begin = i;
      while (i < text_.size() && is_pattern_digit(text_[i]))
        value = std::min<std::int64_t>(value * 10 + (text_[i++] - '0'), 1'000'000);
      bool leading_zero = i - begin > 1 && text_[begin] == '0';
      return i == begin || leading_zero ? -1 : value;
    };
    std::int64_t least = number();
    if (least < 0) return false;
    std::int64_t most = least;
    if (i < text_.size() && text_[i] == ',') {
      ++i;
      if (i < text_.size() && text_[i] == '}') {
        most = -1;
      } else {
        most = number();
        if (most < 0) return false;
      }
    }
    if (i >= text_.size() || text_[i] != '}') return false;
    behind = i + 1;
    if (least > kMostRepeats || most > kMostRepeats || (most >= 0 && least > most)) fail(kBadCount);
    return true;
  }

  void open_group() {
    ++at_;
    ++depth_;
    no_atom();
    if (peek() != '?') return;
    std::size_t name_at = peek(1) == 'P' && peek(2) == '<' ? 3 : peek(1) == '<' ? 2 : 0;
    if (name_at > 0 && !(name_at == 2 && (peek(2) == '=' || peek(2) == '!'))) {
      auto end = text_.find('>', at_);
      if (end == std::string_view::npos) return fail("invalid named capture");
      std::string_view name = text_.substr(at_ + name_at, end - at_ - name_at);
      if (name.empty() || !std::ranges::all_of(name, [](char c) { return is_letter(c) || is_pattern_digit(c) || c == '_'; })) {
        return fail("invalid named capture");
      }
      if (!names_.insert(name).second) return fail("duplicate capture group name");
      at_ = end + 1;
      return;
    }
    bool negated = false;
    bool any = false;
    for (++at_; has(); ++at_) {
      char c = peek();
      if (c == ':' || c == ')') {
        if (negated && !any) return fail(kBadPerl);
        ++at_;
        if (c == ')') --depth_;
        return;
      }
      if (c == '-' && !negated) {
        negated = true;
        any = false;
      } else if (c == 'i' || c == 'm' || c == 's' || c == 'U') {
        any = true;
      } else {
        return fail(kBadPerl);
      }
    }
    fail(kBadPerl);
  }

  // Reads an escape. In a class it may not be an assertion.
  void escape(bool in_class) {
    if (!has(1)) return fail("trailing backslash at end of expression");
    char c = peek(1);
    at_ += 2;
    if (c == 'p' || c == 'P') {
      unicode_class();
    } else if (c == 'Q' && !in_class) {
      auto end = text_.find("\\E", at_);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else if (c == 'x') {
      hexadecimal();
    } else if (c >= '1' && c <= '7') {
      if (!(peek() >= '0' && peek() <= '7')) return fail(kBadEscape);
      while (peek() >= '0' && peek() <= '7') ++at_;
    } else if (c == '8' || c == '9') {
      return fail(kBadEscape);
    } else if (is_letter(c)) {
      std::string_view known = in_class ? "dDsSwWaftnrv" : "dDsSwWaftnrvAbBCzE";
      if (known.find(c) == std::string_view::npos) return fail(kBadEscape);
    }
    atom();
  }

  void hexadecimal() {
    if (peek() == '{') {
      auto end = text_.find('}', at_);
      if (end == std::string_view::npos || end == at_ + 1) return fail(kBadEscape);
      std::string_view digits = text_.substr(at_ + 1, end - at_ - 1);
      if (digits.size() > 6 || !std::ranges::all_of(digits, is_hex)) return fail(kBadEscape);
      at_ = end + 1;
      return;
    }
    if (!is_hex(peek()) || !is_hex(peek(1))) return fail(kBadEscape);
    at_ += 2;
  }

  void unicode_class() {
    std::string_view name = text_.substr(at_, 1);
    std::size_t behind = at_ + 1;
    if (peek() == '{') {
      auto end = text_.find('}', at_);
      if (end == std::string_view::npos) return fail(kBadRange);
      name = text_.substr(at_ + 1, end - at_ - 1);
      behind = end + 1;
    }
    if (name.starts_with('^')) name.remove_prefix(1);
    constexpr std::string_view kCategories = "CLMNPSZ";
    bool good = name.size() == 1 ? kCategories.find(name.front()) != std::string_view::npos
                                 : !name.empty() && is_letter(name.front());
    if (!good) return fail(kBadRange);
    at_ = behind;
  }

  // One end of a range; the letter, or -1 for a set like \d.
  std::int32_t class_end() {
    if (peek() == '\\') {
      char c = peek(1);
      escape(true);
      std::string_view sets = "dDsSwWpP";
      return sets.find(c) != std::string_view::npos ? -1 : static_cast<unsigned char>(c);
    }
    return static_cast<unsigned char>(text_[at_++]);
  }

  void char_class() {
    ++at_;
    if (peek() == '^') ++at_;
    for (bool first = true; mistake_.empty(); first = false) {
      if (!has()) return fail("missing closing ]");
      if (peek() == ']' && !first) break;
      if (peek() == '-' && !first && peek(1) != ']' && has(1)) return fail(kBadRange);
      if (peek() == '[' && peek(1) == ':') {
        auto end = text_.find(":]", at_ + 2);
        if (end != std::string_view::npos) {
          std::string_view name = text_.substr(at_ + 2, end - at_ - 2);
          if (name.starts_with('^')) name.remove_prefix(1);
          constexpr std::string_view kNames[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
                                                 "lower", "print", "punct", "space", "upper", "word",  "xdigit"};
          if (std::ranges::find(kNames, name) == std::end(kNames)) return fail(kBadRange);
          at_ = end + 2;
          continue;
        }
      }
      std::int32_t low = class_end();
      if (low < 0 || peek() != '-' || !has(1) || peek(1) == ']') continue;
      ++at_;
      if (class_end() < low) fail(kBadRange);
    }
    if (!mistake_.empty()) return;
    ++at_;
    atom();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool has_argument_ = false;
  bool was_repeat_ = false;
  std::set<std::string_view> names_;
  std::string mistake_;
};

}  // namespace

std::optional<std::string> regex_mistake(std::string_view regex) {
  return RegexChecker(regex).check();
}

}  // namespace cordwood::cli
