#include "cli/partition_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/kafka_tool.h"

namespace cordwood::cli {
namespace {

bool all_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Tried<JavaRegex> PartitionFilter::topic_regex(std::string_view text) {
  auto regex = compile_topic_filter(text.empty() ? ".*" : text);
  if (!regex) return std::unexpected(JavaError{"java.lang.RuntimeException", regex.error().what});
  return *std::move(regex);
}

Tried<PartitionFilter::Rule> PartitionFilter::parse_rule(std::string_view text) {
  JavaError invalid = terse_exception(fmt::format("Invalid rule specification: {}", text));
  invalid = with_cause({"java.lang.RuntimeException", invalid.to_string()}, invalid);
  auto colon = text.find(':');
  std::string_view numbers = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  auto dash = numbers.find('-');
  std::string_view first = numbers.substr(0, dash);
  std::string_view second = dash == std::string_view::npos ? "" : numbers.substr(dash + 1);
  if (!all_digits(first) || !all_digits(second)) return std::unexpected(invalid);
  Rule rule{NEED(topic_regex(text.substr(0, colon)))};
  auto number = [&](std::string_view digits, std::int64_t otherwise) -> Tried<std::int64_t> {
    if (digits.empty()) return otherwise;
    auto value = parse_java_int(digits);
    if (!value) return std::unexpected(number_format(digits));
    return *value;
  };
  rule.from = NEED(number(first, 0));
  rule.end = NEED(number(second, INT64_MAX));
  if (dash == std::string_view::npos && !first.empty()) rule.end = rule.from + 1;
  return rule;
}

Tried<PartitionFilter> PartitionFilter::from_rules(std::string_view text) {
  PartitionFilter filter;
  for (const std::string& rule : split_as_java(text, ',')) filter.rules_.push_back(NEED(parse_rule(rule)));
  return filter;
}

Tried<PartitionFilter> PartitionFilter::from_topic(std::optional<std::string_view> topic,
                                                   std::optional<std::string_view> partitions) {
  PartitionFilter filter;
  Rule rule{NEED(topic_regex(topic.value_or("")))};
  if (partitions && !partitions->empty()) {
    for (const std::string& word : split_as_java(*partitions, ',')) {
      auto number = parse_java_int(word);
      if (!number) {
        return std::unexpected(terse_exception(
            fmt::format("--partitions expects a comma separated list of numeric partition ids, but received: {}", *partitions)));
      }
      rule.only.insert(*number);
    }
  }
  filter.rules_.push_back(std::move(rule));
  return filter;
}

bool PartitionFilter::allows_topic(std::string_view topic) const {
  return std::ranges::any_of(rules_, [&](const Rule& rule) { return rule.topic.matches(topic); });
}

bool PartitionFilter::allows(std::string_view topic, std::int32_t partition) const {
  return std::ranges::any_of(rules_, [&](const Rule& rule) { return rule.allows(partition) && rule.topic.matches(topic); });
}

}  // namespace cordwood::cli
