#include "cli/topics_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/kafka_tool.h"

namespace cordwood::cli {
namespace {

constexpr OptionSpec kTopicsOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
    {.name = "command-config", .argument = "FILE", .help = "properties of the client"},
    {.name = "list", .help = "print the names of topics"},
    {.name = "describe", .help = "print topics with their partitions"},
    {.name = "create", .help = "make a topic"},
    {.name = "alter", .help = "give topics more partitions"},
    {.name = "delete", .help = "delete topics"},
    {.name = "topic", .argument = "TOPIC", .help = "a name for --create; else a regular expression that whole names fit, where ',' means '|'"},
    {.name = "topic-id", .argument = "ID", .help = "with --describe: the topic of this id, whatever --topic says"},
    {.name = "partitions", .argument = "COUNT", .help = "how many partitions the topic is to have"},
    {.name = "replication-factor", .argument = "COUNT", .help = "with --create: replicas of each partition"},
    {.name = "replica-assignment", .argument = "0:1,1:2,…", .help = "brokers of each partition's replicas: ',' between partitions, ':' between replicas"},
    {.name = "config", .argument = "NAME=VALUE", .help = "with --create: a setting of the topic", .repeatable = true},
    {.name = "delete-config", .argument = "NAME", .help = "does nothing any more"},
    {.name = "if-exists", .help = "with --alter, --delete, --describe: a topic that is not there is no mistake"},
    {.name = "if-not-exists", .help = "with --create: a topic that is there already is no mistake"},
    {.name = "exclude-internal", .help = "with --list, --describe: leave out internal topics"},
    {.name = "under-replicated-partitions", .help = "with --describe: partitions that lack in-sync replicas"},
    {.name = "unavailable-partitions", .help = "with --describe: partitions without a leader that is alive"},
    {.name = "under-min-isr-partitions", .help = "with --describe: partitions with fewer in-sync replicas than min.insync.replicas"},
    {.name = "at-min-isr-partitions", .help = "with --describe: partitions with exactly min.insync.replicas in-sync replicas"},
    {.name = "topics-with-overrides", .help = "with --describe: topics with settings of their own, without their partitions"},
    {.name = "partition-size-limit-per-response", .argument = "COUNT", .help = "with --describe: partitions asked for at once", .default_text = "2000"},
    {.name = "json", .help = "with --list, --describe: one JSON value instead of lines (Cordwood's own)"},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};

constexpr std::string_view kActions[] = {"alter", "create", "describe", "list", "delete"};

// The actions that are not in `allowed`, then `more`.
std::vector<std::string_view> all_but(std::initializer_list<std::string_view> allowed,
                                      std::initializer_list<std::string_view> more = {}) {
  std::vector<std::string_view> names;
  for (std::string_view action : kActions) {
    if (std::ranges::find(allowed, action) == allowed.end()) names.push_back(action);
  }
  names.insert(names.end(), more);
  return names;
}

std::optional<int> check_required_words(const Command& self, const Options& options, Session& session) {
  if (options.has("describe") && options.has("if-exists")) {
    if (!options.has("topic") && !options.has("topic-id")) {
      return usage_and_exit_code(self, session, "--topic or --topic-id is required to describe a topic");
    }
    if (options.has("topic") && options.has("topic-id")) {
      session.out.write(
          "Only topic id will be used when both --topic and --topic-id are specified and topicId is not Uuid.ZERO_UUID\n");
    }
  }
  if (!options.has("list") && !options.has("describe")) {
    if (auto code = check_required(self, options, session, {"topic"})) return code;
  }
  if (!options.has("alter")) return {};
  if (options.has("config")) {
    return usage_and_exit_code(self, session,
                               "Option combination \"[[config], [bootstrap-server]]\" can't be used with option \"[alter]\" (To "
                               "alter topic configurations, the kafka-configs tool can be used.)");
  }
  return check_required(self, options, session, {"partitions"});
}

std::optional<int> check_words_together(const Command& self, const Options& options, Session& session) {
  struct Rule {
    std::string_view used;
    std::vector<std::string_view> invalid;
  };
  std::vector<Rule> rules = {
      {"config", all_but({"alter", "create"})},
      {"partitions", all_but({"alter", "create"})},
      {"replication-factor", all_but({"create"})},
      {"replica-assignment", all_but({"alter", "create"})},
  };
  if (options.has("create")) rules.push_back({"replica-assignment", {"partitions", "replication-factor"}});
  for (std::string_view filter :
       {"under-replicated-partitions", "under-min-isr-partitions", "at-min-isr-partitions", "unavailable-partitions"}) {
    rules.push_back({filter, all_but({"describe"}, {"topics-with-overrides"})});
  }
  rules.push_back({"topics-with-overrides", all_but({"describe"})});
  rules.push_back({"if-exists", all_but({"alter", "delete", "describe"})});
  rules.push_back({"if-not-exists", all_but({"create"})});
  rules.push_back({"exclude-internal", all_but({"list", "describe"})});
  rules.push_back({"json", all_but({"list", "describe"})});
  for (const Rule& rule : rules) {
    if (auto code = check_invalid(self, options, session, rule.used, rule.invalid)) return code;
  }
  return {};
}

}  // namespace

constinit const Grammar topics_grammar{.habit = Habit::joptsimple, .options = kTopicsOptions};

Tried<std::optional<int>> check_topics_words(const Command& self, const Options& options, Session& session) {
  if (auto code = help_or_version(self, options, session, "This tool helps to create, delete, describe, or change a topic.")) {
    return code;
  }
  if (std::ranges::count_if(kActions, [&](std::string_view action) { return options.has(action); }) != 1) {
    return usage_and_exit_code(
        self, session, "Command must include exactly one action: --list, --describe, --create, --alter or --delete");
  }
  if (options.has("delete-config")) {
    session.err.write(
        "delete-config option is no longer supported and deprecated since version 4.0. The config will be fully removed in future "
        "releases.\n");
  }
  if (!options.has("bootstrap-server")) return std::unexpected(illegal_argument("--bootstrap-server must be specified"));
  if (auto code = check_required_words(self, options, session)) return code;
  return check_words_together(self, options, session);
}

Tried<ReplicaAssignment> parse_replica_assignment(std::string_view text) {
  ReplicaAssignment assignment;
  std::int32_t partition = 0;
  for (const std::string& list : split_as_java(text, ',')) {
    std::vector<std::int32_t> replicas;
    std::vector<std::int32_t> twice;
    for (const std::string& word : split_as_java(list, ':')) {
      auto id = parse_java_int(java_trimmed(word));
      if (!id) return std::unexpected(number_format(java_trimmed(word)));
      if (std::ranges::find(replicas, *id) != replicas.end() && std::ranges::find(twice, *id) == twice.end()) twice.push_back(*id);
      replicas.push_back(*id);
    }
    if (!twice.empty()) {
      return std::unexpected(
          admin_command_failed(fmt::format("Partition replica lists may not contain duplicate entries: {}", joined(twice))));
    }
    assignment[partition] = std::move(replicas);
    if (assignment[partition].size() != assignment[0].size()) {
      return std::unexpected(admin_operation(
          fmt::format("Partition {} has different replication factor: [{}]", partition, joined(assignment[partition], ", "))));
    }
    ++partition;
  }
  return assignment;
}

Tried<std::vector<std::pair<std::string, std::string>>> parse_topic_configs(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> configs;
  for (const std::string& text : texts) {
    std::vector<std::string> pair = split_as_java(text, '=');
    if (pair.size() != 2) {
      return std::unexpected(illegal_argument(
          "requirement failed: Invalid topic config: all configs to be added must be in the format \"key=val\"."));
    }
    std::string name(java_trimmed(pair[0]));
    std::erase_if(configs, [&](const auto& known) { return known.first == name; });
    configs.emplace_back(std::move(name), java_trimmed(pair[1]));
  }
  return configs;
}

}  // namespace cordwood::cli
