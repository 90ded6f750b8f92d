#include "cli/java.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

namespace cordwood::cli {
namespace {

// Reads the parts of a text from left to right.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}
  bool done() const { return text_.empty(); }
  char peek() const { return text_.empty() ? '\0' : text_.front(); }
  bool skip(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool skip_letter(char upper) { return skip(upper) || skip(static_cast<char>(upper - 'A' + 'a')); }
  // All digits that follow; nothing when there are none or they are too many.
  std::optional<std::int64_t> digits() {
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || text_.front() == '-') return {};
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Pattern yyyy-MM-dd'T'HH:mm:ss.SSSXXX, not lenient.
std::optional<std::int64_t> parse_iso(std::string_view text) {
  TextReader reader(text);
  auto year = reader.digits();
  if (!year || *year < 1 || *year > 999'999 || !reader.skip('-')) return {};
  auto month = reader.digits();
  if (!month || *month > 12 || !reader.skip('-')) return {};
  auto day = reader.digits();
  if (!day || *day > 31 || !reader.skip('T')) return {};
  auto hour = reader.digits();
  if (!hour || *hour > 23 || !reader.skip(':')) return {};
  auto minute = reader.digits();
  if (!minute || *minute > 59 || !reader.skip(':')) return {};
  auto second = reader.digits();
  if (!second || *second > 59 || !reader.skip('.')) return {};
  auto millisecond = reader.digits();
  if (!millisecond || *millisecond > 999) return {};
  std::int64_t zone_minutes = 0;
  if (!reader.skip('Z')) {
    bool west = reader.skip('-');
    if (!west && !reader.skip('+')) return {};
    // +01, +0100 and +01:00.
    std::string_view zone = reader.rest();
    auto two_digits = [&](std::size_t at) -> std::int64_t {
      bool there = at + 2 <= zone.size() && is_digit(zone[at]) && is_digit(zone[at + 1]);
      return there ? (zone[at] - '0') * 10 + (zone[at + 1] - '0') : -1;
    };
    std::int64_t hours = two_digits(0);
    std::int64_t more = two_digits(zone.size() > 2 && zone[2] == ':' ? 3 : 2);
    if (hours < 0 || hours > 23 || more > 59) return {};
    zone_minutes = hours * 60 + std::max<std::int64_t>(more, 0);
    if (west) zone_minutes = -zone_minutes;
  }
  using namespace std::chrono;
  if (*year > static_cast<int>(year::max())) return {};
  year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(static_cast<unsigned>(*month)),
                      std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return {};
  std::int64_t minutes = (sys_days(date).time_since_epoch().count() * 24 + *hour) * 60 + *minute - zone_minutes;
  return (minutes * 60 + *second) * 1000 + *millisecond;
}

}  // namespace

std::optional<std::int64_t> parse_java_datetime(std::string_view text, std::string& mistake) {
  auto split = text.find('T');
  if (split == std::string_view::npos || split + 1 == text.size()) {
    mistake = "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format";
    return {};
  }
  std::string with_zone(text);
  if (text.substr(split).find_first_of("+-Z") == std::string_view::npos) with_zone += 'Z';
  auto time = parse_iso(with_zone);
  if (!time) mistake = fmt::format("Unparseable date: \"{}\"", with_zone);
  return time;
}

std::optional<std::int64_t> parse_java_duration(std::string_view text) {
  TextReader reader(text);
  bool negative = reader.skip('-');
  if (!negative) reader.skip('+');
  if (!reader.skip_letter('P')) return {};
  struct Unit {
    char letter;
    std::int64_t ms;
  };
  constexpr Unit kUnits[] = {{'D', 86'400'000}, {'H', 3'600'000}, {'M', 60'000}, {'S', 1'000}};
  std::size_t next_unit = 0;
  bool in_time = false;
  bool expects_unit = false;
  bool any = false;
  std::int64_t sum = 0;
  while (!reader.done()) {
    if (!in_time && reader.skip_letter('T')) {
      in_time = true;
      expects_unit = true;
      next_unit = 1;
      continue;
    }
    bool minus = reader.skip('-');
    if (!minus) reader.skip('+');
    auto value = reader.digits();
    if (!value) return {};
    std::int64_t fraction_ms = 0;
    bool has_fraction = false;
    if (reader.skip('.') || reader.skip(',')) {
      has_fraction = true;
      int places = 0;
      for (std::int64_t weight = 100; reader.peek() >= '0' && reader.peek() <= '9'; weight /= 10, ++places) {
        fraction_ms += (reader.peek() - '0') * weight;
        reader.skip(reader.peek());
      }
      if (places > 9) return {};
    }
    bool found = false;
    for (; next_unit < std::size(kUnits) && !found; ++next_unit) {
      const Unit& unit = kUnits[next_unit];
      if ((unit.letter == 'D') == in_time || !reader.skip_letter(unit.letter)) continue;
      if (has_fraction && unit.letter != 'S') return {};
      std::int64_t part = 0;
      if (__builtin_mul_overflow(*value, unit.ms, &part) || __builtin_add_overflow(part, fraction_ms, &part)) return {};
      if (__builtin_add_overflow(sum, minus ? -part : part, &sum)) return {};
      found = true;
    }
    if (!found) return {};
    any = true;
    expects_unit = false;
  }
  if (!any || expects_unit) return {};
  return negative ? -sum : sum;
}

std::string Thrown::trace() const {
  std::string text;
  for (const std::string& one : classes) text += fmt::format("{}{}\n", text.empty() ? "" : "Caused by: ", one);
  return text;
}

Thrown Thrown::wrapped(std::string_view class_name) const {
  Thrown outer{classes.front(), {fmt::format("{}: {}", class_name, classes.front())}};
  outer.classes.insert(outer.classes.end(), classes.begin(), classes.end());
  return outer;
}

Thrown thrown(std::string_view class_name, std::string message) {
  std::string text = fmt::format("{}: {}", class_name, message);
  return {std::move(message), {std::move(text)}};
}

}  // namespace cordwood::cli
