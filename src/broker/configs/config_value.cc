#include "broker/configs/config_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace cordwood::broker::configs {
namespace {

bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' '; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), to_lower);
  return out;
}

Error invalid_value(const KeyDefinition& key, std::string_view value, std::string_view why) {
  return {Errc::invalid, fmt::format("Invalid value {} for configuration {}: {}", value, key.name, why)};
}

std::optional<std::int64_t> read_integer(std::string_view text, std::int64_t low, std::int64_t high) {
  if (text.starts_with('+') && text.size() > 1 && is_digit(text[1])) text.remove_prefix(1);
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) return {};
  return value;
}

// A decimal number with an optional exponent and an optional suffix d or f, or NaN or Infinity.
std::optional<double> read_double(std::string_view text) {
  std::string_view rest = text;
  double sign = 1;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    sign = rest.front() == '-' ? -1 : 1;
    rest.remove_prefix(1);
  }
  if (rest == "NaN") return std::nan("");
  if (rest == "Infinity") return sign * HUGE_VAL;
  if (rest.empty() || !(is_digit(rest.front()) || rest.front() == '.')) return {};
  double value = 0;
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc::invalid_argument) return {};
  std::string_view tail = rest.substr(static_cast<std::size_t>(end - rest.data()));
  if (tail.size() == 1 && std::string_view("dDfF").find(tail.front()) != std::string_view::npos) tail = {};
  if (!tail.empty()) return {};
  // Beyond the range of a double the number is infinite or zero, as strtod has it.
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(rest).c_str(), nullptr);
  return sign * value;
}

// Plain from 10^-3 up to 10^7 and with an exponent elsewhere, always with a digit after the point.
std::string show_double(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  double magnitude = std::fabs(value);
  bool plain = magnitude == 0 || (magnitude >= 1e-3 && magnitude < 1e7);
  char buffer[400];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value,
                                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  CHECK(error == std::errc{}, "a double takes at most 400 characters");
  std::string_view shortest(buffer, static_cast<std::size_t>(end - buffer));
  if (plain) {
    return shortest.find('.') == std::string_view::npos ? fmt::format("{}.0", shortest) : std::string(shortest);
  }
  auto e = shortest.find('e');
  std::string_view mantissa = shortest.substr(0, e);
  std::int64_t exponent = read_integer(shortest.substr(e + 1), -400, 400).value_or(0);
  return fmt::format("{}{}E{}", mantissa, mantissa.find('.') == std::string_view::npos ? ".0" : "", exponent);
}

Result<void> check_range(const KeyDefinition& key, const std::string& shown, double value) {
  const ValueRule& rule = key.rule;
  bool inside = !(value < rule.low) && !(value > rule.high);
  switch (rule.rule) {
    case Rule::at_least:
      if (value < rule.low) return invalid_value(key, shown, fmt::format("Value must be at least {}", rule.low));
      return {};
    case Rule::between:
      if (value < rule.low) return invalid_value(key, shown, fmt::format("Value must be at least {}", rule.low));
      if (value > rule.high) return invalid_value(key, shown, fmt::format("Value must be no more than {}", rule.high));
      return {};
    case Rule::between_or:
      if (!inside && value != rule.other) {
        return invalid_value(key, shown, fmt::format("Value must be between {} and {} or equal to {}", rule.low,
                                                     rule.high, rule.other));
      }
      return {};
    default:
      return {};
  }
}

bool is_choice(std::string_view choices, std::string_view value, bool any_case) {
  for (const std::string& choice : split_list(choices)) {
    if (any_case ? lower(choice) == lower(value) : choice == value) return true;
  }
  return false;
}

Result<void> check_choice(const KeyDefinition& key, std::string_view value) {
  bool any_case = key.rule.rule == Rule::one_of_any_case;
  if (is_choice(key.rule.choices, value, any_case)) return {};
  return invalid_value(key, value, fmt::format("String must be one of{}: {}", any_case ? " (case insensitive)" : "",
                                               key.rule.choices));
}

Result<void> check_list(const KeyDefinition& key, const std::vector<std::string>& items) {
  std::vector<std::string> sorted = items;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) {
    return Error{Errc::invalid, fmt::format("Configuration '{}' values must not be duplicated.", key.name)};
  }
  if (items.empty() && !key.rule.may_be_empty) {
    std::string choices = key.rule.choices.empty() ? "any non-empty value" : fmt::format("[{}]", key.rule.choices);
    return Error{Errc::invalid,
                 fmt::format("Configuration '{}' must not be empty. Valid values include: {}", key.name, choices)};
  }
  for (const std::string& item : items) {
    if (item.empty()) {
      return Error{Errc::invalid, fmt::format("Configuration '{}' values must not be empty.", key.name)};
    }
    if (!key.rule.choices.empty()) TRY(check_choice(key, item));
  }
  return {};
}

Result<void> check_throttled_replicas(const KeyDefinition& key, const std::vector<std::string>& items) {
  auto is_pair = [](std::string_view item) {
    auto colon = item.find(':');
    auto number = [](std::string_view part) { return !part.empty() && std::ranges::all_of(part, is_digit); };
    return colon != std::string_view::npos && number(item.substr(0, colon)) && number(item.substr(colon + 1));
  };
  bool nothing = std::ranges::all_of(items, [](const std::string& item) { return item.empty(); });
  if (nothing || (items.size() == 1 && items.front() == "*") || std::ranges::all_of(items, is_pair)) return {};
  return invalid_value(key, fmt::format("[{}]", fmt::join(items, ", ")),
                       fmt::format("{} must be the literal '*' or a list of replicas in the following format: "
                                   "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
                                   key.name));
}

// "host:port" with a host that may be an IPv6 address in brackets.
bool is_host_and_port(std::string_view text) {
  auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view host = text.substr(0, colon);
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  bool host_is_fine = !host.empty() && std::ranges::all_of(host, [&](char c) {
    char l = to_lower(c);
    return is_digit(c) || (l >= 'a' && l <= 'z') || c == '-' || c == '%' || c == '.' || c == '_' || c == ':';
  });
  return host_is_fine && read_integer(text.substr(colon + 1), 0, 65'535).has_value();
}

Result<void> check_host_ports(const KeyDefinition& key, const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    if (is_host_and_port(item)) continue;
    return Error{Errc::invalid, fmt::format("Failed to parse host name from {} for the configuration {}. Each entry "
                                            "should be in the form \"{{host}}:{{port}}\"",
                                            item, key.name)};
  }
  return {};
}

Result<void> check_voters(const KeyDefinition& key, const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    auto at = item.find('@');
    if (at != std::string::npos && read_integer(std::string_view(item).substr(0, at), 0, INT32_MAX) &&
        is_host_and_port(std::string_view(item).substr(at + 1))) {
      continue;
    }
    return Error{Errc::invalid, fmt::format("Invalid configuration value for {}. Each entry should be in the form "
                                            "`{{id}}@{{host}}:{{port}}`.",
                                            key.name)};
  }
  return {};
}

// PnDTnHnMn.nS with at least one part, each part a whole number (seconds with a fraction) and not negative.
bool is_duration(std::string_view text) {
  if (text.empty() || to_lower(text.front()) != 'p') return false;
  text.remove_prefix(1);
  std::string_view units = "d";
  bool any = false;
  while (!text.empty()) {
    if (to_lower(text.front()) == 't' && units.find('s') == std::string_view::npos) {
      units = "hms";
      text.remove_prefix(1);
      if (text.empty()) return false;
      continue;
    }
    std::size_t digits = 0;
    while (digits < text.size() && (is_digit(text[digits]) || text[digits] == '.')) ++digits;
    if (digits == 0 || digits == text.size() || !is_digit(text.front())) return false;
    char unit = to_lower(text[digits]);
    bool fraction = text.substr(0, digits).find('.') != std::string_view::npos;
    auto at = units.find(unit);
    if (at == std::string_view::npos || (fraction && unit != 's')) return false;
    units.remove_prefix(at + 1);
    any = true;
    text.remove_prefix(digits + 1);
    if (units.empty() && !text.empty() && to_lower(text.front()) != 't') return false;
  }
  return any;
}

Result<void> check_offset_reset(const KeyDefinition& key, std::string_view value) {
  constexpr std::string_view kPrefix = "by_duration:";
  if (value == "earliest" || value == "latest") return {};
  if (value.starts_with(kPrefix) && is_duration(value.substr(kPrefix.size()))) return {};
  return invalid_value(key, value,
                       fmt::format("Invalid value `{}` for configuration {}. The value must be either 'earliest', "
                                   "'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
                                   value, key.name));
}

Result<ConfigValue> read_number(const KeyDefinition& key, std::string_view text, std::int64_t low, std::int64_t high) {
  auto number = read_integer(trim(text), low, high);
  if (!number) return invalid_value(key, text, fmt::format("Not a number of type {}", name_of(key.type)));
  ConfigValue value{.text = fmt::format("{}", *number), .integer = *number, .real = 0, .items = {}};
  TRY(check_range(key, value.text, static_cast<double>(*number)));
  return value;
}

Result<ConfigValue> read_list(const KeyDefinition& key, std::string_view text) {
  ConfigValue value;
  value.items = split_list(text);
  value.text = fmt::format("{}", fmt::join(value.items, ","));
  switch (key.rule.rule) {
    case Rule::list: TRY(check_list(key, value.items)); break;
    case Rule::throttled_replicas: TRY(check_throttled_replicas(key, value.items)); break;
    case Rule::voters: TRY(check_voters(key, value.items)); break;
    case Rule::host_ports: TRY(check_host_ports(key, value.items)); break;
    default: break;
  }
  return value;
}

Result<ConfigValue> read_text(const KeyDefinition& key, std::string_view text) {
  ConfigValue value;
  value.text = std::string(trim(text));
  switch (key.rule.rule) {
    case Rule::one_of:
    case Rule::one_of_any_case: TRY(check_choice(key, value.text)); break;
    case Rule::non_empty_text:
      if (value.text.empty()) return invalid_value(key, value.text, "String must be non-empty");
      break;
    case Rule::offset_reset: TRY(check_offset_reset(key, value.text)); break;
    default: break;
  }
  return value;
}

std::uint32_t hash_of(std::string_view name) {
  std::uint32_t hash = 0;
  for (char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
  return hash ^ (hash >> 16);
}

}  // namespace

std::string_view name_of(ConfigType type) {
  switch (type) {
    case ConfigType::unknown: return "UNKNOWN";
    case ConfigType::boolean: return "BOOLEAN";
    case ConfigType::string: return "STRING";
    case ConfigType::int32: return "INT";
    case ConfigType::int16: return "SHORT";
    case ConfigType::int64: return "LONG";
    case ConfigType::float64: return "DOUBLE";
    case ConfigType::list: return "LIST";
    case ConfigType::class_name: return "CLASS";
    case ConfigType::password: return "PASSWORD";
  }
  return "UNKNOWN";
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  text = trim(text);
  if (text.empty()) return items;
  while (true) {
    auto comma = text.find(',');
    items.emplace_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

Result<ConfigValue> read_config_value(const KeyDefinition& key, std::string_view text) {
  switch (key.type) {
    case ConfigType::boolean: {
      std::string word = lower(trim(text));
      if (word != "true" && word != "false") {
        return invalid_value(key, text, "Expected value to be either true or false");
      }
      return ConfigValue{.text = word, .integer = word == "true" ? 1 : 0, .real = 0, .items = {}};
    }
    case ConfigType::int16: return read_number(key, text, INT16_MIN, INT16_MAX);
    case ConfigType::int32: return read_number(key, text, INT32_MIN, INT32_MAX);
    case ConfigType::int64: return read_number(key, text, INT64_MIN, INT64_MAX);
    case ConfigType::float64: {
      auto number = read_double(trim(text));
      if (!number) return invalid_value(key, text, "Not a number of type DOUBLE");
      ConfigValue value{.text = show_double(*number), .integer = 0, .real = *number, .items = {}};
      TRY(check_range(key, value.text, *number));
      return value;
    }
    case ConfigType::list: return read_list(key, text);
    case ConfigType::string:
    case ConfigType::class_name: return read_text(key, text);
    case ConfigType::password:
    case ConfigType::unknown: return ConfigValue{.text = std::string(text), .integer = 0, .real = 0, .items = {}};
  }
  return invalid_value(key, text, "Unknown type.");
}

std::vector<std::string> in_hash_order(std::vector<std::string> names, std::size_t buckets) {
  if (buckets == 0) {
    buckets = 16;
    while (names.size() * 4 > buckets * 3) buckets *= 2;
  }
  std::vector<std::pair<std::size_t, std::size_t>> places;  // slot, then the position given
  for (std::size_t i = 0; i < names.size(); ++i) places.emplace_back(hash_of(names[i]) & (buckets - 1), i);
  std::ranges::sort(places);
  std::vector<std::string> ordered;
  for (auto [slot, position] : places) ordered.push_back(std::move(names[position]));
  return ordered;
}

}  // namespace cordwood::broker::configs
