// broker/configs/config_value.h — one configuration value: its type, the rule it must obey, how it is read and shown.
//
// Types, rules and error texts are Apache Kafka 4.4.0's, for every table of keys (broker, topic, group, client metrics);
// tests/golden/configs/texts.tsv holds what Kafka's own code answers. Differences: digits other than ASCII ones and
// hexadecimal floating point are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "broker/configs/config_entry.h"

namespace cordwood::broker::configs {

enum class Rule : std::uint8_t {
  anything,
  at_least,
  between,     // both ends inclusive
  between_or,  // or the one value `other`
  one_of,
  one_of_any_case,
  non_empty_text,
  list,        // no element twice, none empty
  throttled_replicas,  // "*" or partition:broker, ...
  voters,      // id@host:port, ...
  host_ports,  // host:port, ...
  offset_reset,  // earliest, latest or by_duration:<ISO 8601 duration>
};

struct ValueRule {
  Rule rule = Rule::anything;
  double low = 0;
  double high = 0;
  double other = 0;
  std::string_view choices{};  // "a, b, c" for one_of and list; empty: any
  bool may_be_empty = true;     // of lists
};

// The vocabulary of the tables.
namespace rules {
constexpr ValueRule anything() { return {}; }
constexpr ValueRule at_least(double low) { return {.rule = Rule::at_least, .low = low}; }
constexpr ValueRule between(double low, double high) { return {.rule = Rule::between, .low = low, .high = high}; }
constexpr ValueRule between_or(double low, double high, double other) {
  return {.rule = Rule::between_or, .low = low, .high = high, .other = other};
}
constexpr ValueRule one_of(std::string_view choices) { return {.rule = Rule::one_of, .choices = choices}; }
constexpr ValueRule one_of_any_case(std::string_view choices) {
  return {.rule = Rule::one_of_any_case, .choices = choices};
}
constexpr ValueRule non_empty_text() { return {.rule = Rule::non_empty_text}; }
constexpr ValueRule any_list() { return {.rule = Rule::list}; }
constexpr ValueRule non_empty_list() { return {.rule = Rule::list, .may_be_empty = false}; }
constexpr ValueRule list_of(std::string_view choices) { return {.rule = Rule::list, .choices = choices}; }
constexpr ValueRule non_empty_list_of(std::string_view choices) {
  return {.rule = Rule::list, .choices = choices, .may_be_empty = false};
}
constexpr ValueRule throttled_replicas() { return {.rule = Rule::throttled_replicas}; }
constexpr ValueRule voters() { return {.rule = Rule::voters}; }
constexpr ValueRule host_ports() { return {.rule = Rule::host_ports}; }
constexpr ValueRule offset_reset() { return {.rule = Rule::offset_reset}; }
}  // namespace rules

// A key of one of the tables, without what only that table knows.
struct KeyDefinition {
  std::string_view name;
  ConfigType type = ConfigType::string;
  const char* default_value = nullptr;  // null: there is none
  ValueRule rule;
};

// A value that was read.
struct ConfigValue {
  std::string text;                // as it is shown; numbers and lists in their plain form
  std::int64_t integer = 0;        // of the integer types; 0 or 1 of a boolean
  double real = 0;                 // of float64
  std::vector<std::string> items;  // of a list
};

// Errors: invalid with Kafka's text.
Result<ConfigValue> read_config_value(const KeyDefinition& key, std::string_view text);

// "INT", as in the error texts.
std::string_view name_of(ConfigType type);

// Blanks and control characters off both ends, as values are trimmed everywhere.
std::string_view trim(std::string_view text);

// The items between commas, with the blanks around the commas gone; none for a blank text.
std::vector<std::string> split_list(std::string_view text);

// `names` in the order in which Kafka would send them: that of a hash table of `buckets` (a power of two) slots, names of
// a slot in the order given. Without `buckets`, the size that a growing table has for that many names.
std::vector<std::string> in_hash_order(std::vector<std::string> names, std::size_t buckets = 0);

}  // namespace cordwood::broker::configs
