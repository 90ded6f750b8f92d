// cli/consumer_groups.h — the parts of kafka-consumer-groups: what they share.
//
// A part returns nothing when it came to its end, and else why it stopped: a mistake in the words, or an exception of
// Kafka's tool on its way to the user.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/java.h"
#include "cli/options.h"
#include "cli/session.h"
#include "client/groups.h"

namespace cordwood::cli {

struct UsageMistake {
  std::string message;
};

using Stop = std::variant<UsageMistake, Thrown>;
using MaybeStop = std::optional<Stop>;

struct GroupsCommand {
  const Options& options;
  Session& session;
  client::Cluster& cluster;
  client::Groups groups;

  // Each call has the time-out for itself.
  MonotonicNs deadline() const { return cluster.deadline(); }
  // Where errors and warnings go that Kafka's tool mixes into its table: stdout, but not between lines of JSON.
  Output& remarks() const { return options.has("json") ? session.err : session.out; }
};

// The failure as ExecutionException has it: "java.util.concurrent.ExecutionException: org.apache.kafka…: text".
Thrown execution(const client::Failure& failure);
// The exception alone.
Thrown plain(const client::Failure& failure);
Thrown runtime_execution(const client::Failure& failure);
Thrown of_options(const ParseMistake& mistake);

// --group, or all consumer groups with --all-groups.
MaybeStop chosen_groups(GroupsCommand& command, std::vector<std::string>& groups);

MaybeStop describe_groups(GroupsCommand& command);
MaybeStop reset_offsets(GroupsCommand& command);
MaybeStop delete_offsets(GroupsCommand& command);

// "topic" or "topic:0,1".
struct TopicArgument {
  std::string topic;
  std::optional<std::vector<std::int32_t>> partitions;
};
std::variant<TopicArgument, std::string> parse_topic_argument(const std::string& text);  // or the mistake

// A line of the file for --from-file. The group is empty where lines have none.
struct PlanLine {
  std::string group;
  client::GroupPartition key;
  std::int64_t offset = 0;
  bool operator==(const PlanLine&) const = default;
};

// Lines "topic,partition,offset" when `only_group` is true and the first line is one, else
// "group,topic,partition,offset". What is missing at the end of a line is nought. Answers what Kafka's reader (Jackson)
// throws at a line that it cannot read.
std::optional<Thrown> parse_reset_plan(std::string_view text, bool only_group, std::vector<PlanLine>& plan);

// "\nError: text".
void print_error(Output& out, std::string_view text);

// ' ' filled to `width`, at least to the length of the text.
std::size_t column_width(std::size_t minimum, std::size_t longest);

}  // namespace cordwood::cli
