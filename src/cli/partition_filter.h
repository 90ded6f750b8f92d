// cli/partition_filter.h — which partitions kafka-get-offsets is asked about.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "cli/java_error.h"
#include "cli/java_regex.h"

namespace cordwood::cli {

// A list of rules, of which one must fit: topics by a regular expression, partitions by number or range.
class PartitionFilter {
 public:
  // --topic-partitions: "topic", "topic:1", "topic:0-3", ":-2", "t.*:1-".
  static Tried<PartitionFilter> from_rules(std::string_view text);
  // --topic and --partitions.
  static Tried<PartitionFilter> from_topic(std::optional<std::string_view> topic, std::optional<std::string_view> partitions);

  bool allows_topic(std::string_view topic) const;
  bool allows(std::string_view topic, std::int32_t partition) const;

 private:
  struct Rule {
    JavaRegex topic;
    std::int64_t from = 0;
    std::int64_t end = INT64_MAX;
    std::set<std::int32_t> only = {};  // empty: all of the range
    bool allows(std::int32_t partition) const {
      return partition >= from && partition < end && (only.empty() || only.contains(partition));
    }
  };
  static Tried<Rule> parse_rule(std::string_view text);
  static Tried<JavaRegex> topic_regex(std::string_view text);
  std::vector<Rule> rules_;
};

}  // namespace cordwood::cli
