// kafka-consumer-groups: lists, describes and deletes consumer groups, and moves or deletes their offsets.
//
// As Kafka 4.4.0: what goes wrong while it works is told on stdout ("Error: …") with a trace on stderr, and the exit
// code is 0.
#include "cli/consumer_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/admin_client.h"
#include "cli/command.h"
#include "cli/json_rows.h"
#include "cli/regex_check.h"
#include "client/java_order.h"

namespace cordwood::cli {
namespace {

using protocol::ErrorCode;

constexpr OptionSpec kConsumerGroupsOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
    {.name = "list", .help = "the ids of all consumer groups"},
    {.name = "describe", .help = "offsets and lag of groups; see --members, --state"},
    {.name = "delete", .help = "delete groups without members, with their offsets"},
    {.name = "reset-offsets", .help = "move the offsets of groups without members"},
    {.name = "delete-offsets", .help = "delete a group's offsets of topics that it does not subscribe to"},
    {.name = "validate-regex", .argument = "REGEX", .help = "whether brokers would take this regular expression (RE2)"},
    {.name = "group", .argument = "ID", .help = "a group", .repeatable = true},
    {.name = "all-groups", .help = "all consumer groups, for --describe, --delete and --reset-offsets"},
    {.name = "topic",
     .argument = "TOPIC[:N,…]",
     .help = "a topic, or some of its partitions, for --reset-offsets and --delete-offsets",
     .repeatable = true},
    {.name = "all-topics", .help = "all topics that the group has offsets of, for --reset-offsets"},
    {.name = "members", .help = "describe: the members"},
    {.name = "offsets", .help = "describe: the offsets, which is the default"},
    {.name = "state",
     .argument = "STATE,…",
     .help = "describe: the group's state; list: show states, perhaps only these",
     .value_is_optional = true},
    {.name = "type", .argument = "TYPE,…", .help = "list: show types, perhaps only these", .value_is_optional = true},
    {.name = "verbose", .help = "describe: more columns"},
    {.name = "to-earliest", .help = "reset: to the first offset"},
    {.name = "to-latest", .help = "reset: to the end"},
    {.name = "to-current", .help = "reset: to the committed offset, or to the end without one"},
    {.name = "to-offset", .argument = "N", .help = "reset: to this offset"},
    {.name = "shift-by", .argument = "N", .help = "reset: so many records on, or back when negative"},
    {.name = "to-datetime",
     .argument = "TIME",
     .help = "reset: to the first record at or after this time: YYYY-MM-DDTHH:mm:SS.sss"},
    {.name = "by-duration", .argument = "DURATION", .help = "reset: to so long ago: P1DT2H3M4S"},
    {.name = "from-file",
     .argument = "FILE",
     .help = "reset: as the lines of this file say: [group,]topic,partition,offset"},
    {.name = "dry-run", .help = "reset: only show, which is the default"},
    {.name = "execute", .help = "reset: do it"},
    {.name = "export", .help = "reset: print lines for --from-file"},
    {.name = "timeout", .argument = "MS", .help = "how long to try each call", .default_text = "30000"},
    {.name = "command-config", .argument = "FILE", .help = "properties for the client"},
    {.name = "json", .help = "a line of JSON for each line of the table, and errors on stderr (Cordwood's own)"},
    {.name = "help", .help = "this text"},
    {.name = "version", .help = "the version of Kafka that this stands for"},
};
constexpr Grammar kConsumerGroupsGrammar{.habit = Habit::joptsimple, .options = kConsumerGroupsOptions};

constexpr std::string_view kGroupActions[] = {"list",          "describe",       "delete",
                                         "reset-offsets", "delete-offsets", "validate-regex"};
// In the order in which conflicts are looked for.
constexpr std::string_view kScenarios[] = {"to-offset", "to-datetime", "by-duration", "to-earliest",
                                           "to-latest", "to-current",  "shift-by",    "from-file"};
constexpr std::string_view kStates[] = {"Stable", "Dead",      "PreparingRebalance", "Reconciling",
                                        "Empty",  "Assigning", "CompletingRebalance"};
constexpr std::string_view kTypes[] = {"Consumer", "Classic"};

// "classic" of a broker as the tool shows it.
std::string type_name(std::string_view type) {
  std::string name(type);
  if (!name.empty() && name.front() >= 'a' && name.front() <= 'z')
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return name;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// Options that go only with some actions: joptsimple's parser itself refuses them.
std::vector<std::string> unavailable(const Options& options) {
  struct Rule {
    std::string_view option;
    bool available;
  };
  bool describe = options.has("describe");
  bool list = options.has("list");
  const Rule rules[] = {
      {"members", describe}, {"offsets", describe}, {"state", describe || list}, {"type", list}, {"verbose", describe}};
  std::vector<std::string> refused;
  for (const Rule& rule : rules) {
    if (options.has(rule.option) && !rule.available) refused.emplace_back(rule.option);
  }
  return refused;
}

void warn_of_missing_execute(Session& session) {
  session.err.write(
      "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require "
      "either "
      "--dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are scripting "
      "this command and "
      "want to keep the current default behavior without prompting.\n");
}

// The first thing that is wrong with the words taken together.
std::optional<std::string> mistake_in(const Options& options, Session& session) {
  bool group = options.has("group");
  bool all_groups = options.has("all-groups");
  if (!options.has("bootstrap-server") && !options.has("validate-regex"))
    return "Missing required argument \"[bootstrap-server]\"";
  if (options.has("describe")) {
    if (!group && !all_groups) return "Option [describe] takes one of these options: [all-groups], [group]";
    if (options.has("members") + options.has("offsets") + options.has("state") > 1) {
      return "Option [describe] takes at most one of these options: [members], [offsets], [state]";
    }
    if (options.has("state") && !options.values("state").empty())
      return "Option [describe] does not take a value for [state]";
  }
  if (options.has("delete")) {
    if (!group && !all_groups) return "Option [delete] takes one of these options: [all-groups], [group]";
    if (options.has("topic"))
      return "The consumer does not support topic-specific offset deletion from a consumer group.";
  }
  if (options.has("delete-offsets") && !(options.has("topic") && group)) {
    return "Option [delete-offsets] takes the following options: [group], [topic]";
  }
  if (options.has("reset-offsets")) {
    if (options.has("dry-run") && options.has("execute"))
      return "Option [reset-offsets] only accepts one of [execute] and [dry-run]";
    if (!options.has("dry-run") && !options.has("execute")) warn_of_missing_execute(session);
    if (!group && !all_groups) return "Option [reset-offsets] takes one of these options: [all-groups], [group]";
    for (std::string_view scenario : kScenarios) {
      if (!options.has(scenario)) continue;
      for (std::string_view other : kScenarios) {
        if (other != scenario && options.has(other))
          return fmt::format("Option \"[{}]\" can't be used with option \"[{}]\"", scenario, other);
      }
    }
  }
  if (group && all_groups) return "Option \"[group]\" can't be used with option \"[all-groups]\"";
  if (options.has("topic") && (options.has("describe") || options.has("list"))) {
    return fmt::format("Option \"[topic]\" can't be used with option \"[{}]\"",
                       options.has("list") ? "list" : "describe");
  }
  if (group && options.has("list")) return "Option \"[group]\" can't be used with option \"[list]\"";
  return {};
}

// The parts of an option's value in Kafka's spelling; nothing when one is none of `names`.
std::optional<std::vector<std::string>> names_in(std::string_view value, std::span<const std::string_view> names) {
  std::vector<std::string> found;
  while (true) {
    auto end = std::min(value.find(','), value.size());
    std::string_view part = value.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    auto name = std::ranges::find(names, lower(part), lower);
    if (name == names.end()) return {};
    if (std::ranges::find(found, *name) == found.end()) found.emplace_back(*name);
    if (end == value.size()) return found;
    value.remove_prefix(end + 1);
  }
}

MaybeStop read_filter(GroupsCommand& command, std::string_view option, std::string_view plural, std::string_view noun,
                      std::span<const std::string_view> names, std::vector<std::string>& filter) {
  auto value = command.options.value(option);
  if (!value) return Stop(of_options(value.mistake()));
  if (!*value || (*value)->empty()) return {};
  auto found = names_in(**value, names);
  if (!found)
    return Stop(UsageMistake{
        fmt::format("Invalid {} list '{}'. Valid {} are: {}", noun, **value, plural, fmt::join(names, ", "))});
  filter = *std::move(found);
  return {};
}

// Failed before any broker was asked.
bool found_no_broker(const client::Failure& failure) {
  return failure.message.ends_with("Call: findAllBrokers");
}

Thrown of_listing(const client::Failure& failure) {
  if (!found_no_broker(failure)) return runtime_execution(failure);
  Thrown kafka = thrown("org.apache.kafka.common.KafkaException", "Failed to find brokers to send ListGroups");
  kafka.classes.push_back(client::to_java(failure));
  return kafka.wrapped("java.util.concurrent.ExecutionException").wrapped("java.lang.RuntimeException");
}

// Consumer groups, in the order of Java's map.
MaybeStop listed(GroupsCommand& command, const std::vector<std::string>& states, std::vector<std::string> types,
                 std::vector<client::GroupListing>& listings) {
  if (types.empty()) types = {"Consumer", "Classic"};
  auto answer = command.groups.list(states, types, command.deadline());
  if (!answer) return Stop(of_listing(answer.failure()));
  std::erase_if(*answer,
                [](const auto& group) { return !group.protocol_type.empty() && group.protocol_type != "consumer"; });
  listings = client::in_java_order(*std::move(answer), [](const auto& group) { return client::java_hash_code(group.group_id); });
  return {};
}

MaybeStop list_groups(GroupsCommand& command) {
  bool with_state = command.options.has("state");
  bool with_type = command.options.has("type");
  std::vector<std::string> states;
  std::vector<std::string> types;
  if (auto stop = read_filter(command, "type", "types", "types", kTypes, types)) return stop;
  if (auto stop = read_filter(command, "state", "states", "state", kStates, states)) return stop;
  std::vector<client::GroupListing> listings;
  if (auto stop = listed(command, states, types, listings)) return stop;
  Output& out = command.session.out;
  if (command.options.has("json")) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& group : listings) rows.push_back({group.group_id, type_name(group.type), group.state});
    out.write(rows_as_json_lines({"GROUP", "TYPE", "STATE"}, rows));
    return {};
  }
  if (!with_state && !with_type) {
    for (const auto& group : listings) out.print("{}\n", group.group_id);
    return {};
  }
  std::size_t width = 15;
  for (const auto& group : listings) width = std::max(width, group.group_id.size());
  width += 10;
  auto line = [&](std::string_view group, std::string_view type, std::string_view state) {
    out.print("{:<{}}", group, width);
    if (with_type) out.print(" {:<20}", type);
    if (with_state) out.print(" {:<20}", state);
    out.write("\n");
  };
  line("GROUP", "TYPE", "STATE");
  for (const auto& group : listings) line(group.group_id, type_name(group.type), group.state);
  return {};
}

MaybeStop delete_groups(GroupsCommand& command) {
  std::vector<std::string> groups;
  if (auto stop = chosen_groups(command, groups)) return stop;
  std::vector<std::string> distinct;
  for (std::string& group : groups) {
    if (std::ranges::find(distinct, group) == distinct.end()) distinct.push_back(std::move(group));
  }
  std::vector<std::string> done;
  std::vector<std::pair<std::string, client::Failure>> failed;
  for (const std::string& group : client::in_java_order(distinct, [](const std::string& id) { return client::java_hash_code(id); })) {
    auto outcome = command.groups.remove(group, command.deadline());
    if (outcome) {
      done.push_back(group);
    } else {
      failed.emplace_back(group, outcome.failure());
    }
  }
  Output& out = command.session.out;
  if (command.options.has("json")) {
    std::vector<std::vector<std::string>> rows;
    for (const std::string& group : done) rows.push_back({group, "Successful"});
    for (const auto& [group, failure] : failed) rows.push_back({group, fmt::format("Error: {}", client::to_java(failure))});
    out.write(rows_as_json_lines({"GROUP", "STATUS"}, rows));
    if (!failed.empty()) print_error(command.remarks(), "Deletion of some consumer groups failed:");
    return {};
  }
  if (failed.empty()) {
    out.print("Deletion of requested consumer groups ('{}') was successful.\n", fmt::join(done, "', '"));
    return {};
  }
  print_error(command.remarks(), "Deletion of some consumer groups failed:");
  for (const auto& [group, failure] : failed) {
    out.print("* Group '{}' could not be deleted due to: {}\n", group, client::to_java(failure));
  }
  if (!done.empty()) out.print("\nThese consumer groups were deleted successfully: '{}'\n", fmt::join(done, "', '"));
  return {};
}

MaybeStop act_on_groups(GroupsCommand& command) {
  if (command.options.has("list")) return list_groups(command);
  if (command.options.has("describe")) return describe_groups(command);
  if (command.options.has("delete")) return delete_groups(command);
  if (command.options.has("reset-offsets")) return reset_offsets(command);
  return delete_offsets(command);
}

// What is wrong with --command-config, --timeout or the addresses; else `options` are filled.
std::optional<Thrown> read_settings(const Options& words, Session& session, client::ClusterOptions& options) {
  auto file = words.value("command-config");
  if (!file) return of_options(file.mistake());
  Properties properties;
  if (*file) {
    auto read = read_properties_file(session, **file);
    if (!read)
      return thrown("java.nio.file.NoSuchFileException", read.error().what).wrapped("java.lang.RuntimeException");
    properties = *std::move(read);
  }
  auto servers = words.value("bootstrap-server");
  if (!servers) return of_options(servers.mistake());
  auto timeout = words.int_value("timeout");
  if (!timeout) return of_options(timeout.mistake());
  auto creation_failed = [](std::string message) {
    Thrown outer = thrown("org.apache.kafka.common.KafkaException", "Failed to create new KafkaAdminClient");
    outer.classes.push_back(fmt::format("org.apache.kafka.common.config.ConfigException: {}", message));
    return outer;
  };
  auto configured = cluster_options(properties);
  if (!configured) return creation_failed(configured.error().what);
  options = *std::move(configured);
  constexpr std::int32_t kDefaultTimeout = 30'000;
  options.api_timeout = {timeout->value_or(kDefaultTimeout)};
  auto bootstrap = client::parse_bootstrap_servers(servers->value_or(""));
  if (!bootstrap) return creation_failed(bootstrap.error().what);
  options.bootstrap = *std::move(bootstrap);
  ConnectionLog log(session, "");
  if (!client::Cluster(options, session.clock, log).resolvable()) {
    return creation_failed("No resolvable bootstrap urls given in bootstrap.servers");
  }
  return {};
}

MaybeStop run_with_cluster(const Options& words, Session& session) {
  client::ClusterOptions options;
  if (auto wrong = read_settings(words, session, options)) return Stop(*std::move(wrong));
  AdminClient admin(session, std::move(options));
  client::Groups::Log log = [&](const std::string& text, std::string_view logger) {
    log_line(session, Level::error,
             fmt::format("[AdminClient clientId={}] {}", admin.cluster.options().client_id, text), logger);
  };
  GroupsCommand command{words, session, admin.cluster, client::Groups(admin.cluster, std::move(log))};
  return act_on_groups(command);
}

int usage_mistake(std::string_view message, Session& session) {
  session.err.print("{}\n{}", message, option_table(kConsumerGroupsGrammar, session.err.columns()));
  return 1;
}

int run_consumer_groups(const Command& self, const Words& words, Session& session) {
  auto options = parse_options(kConsumerGroupsGrammar, words);
  if (!options) {
    session.err.print("Exception in thread \"main\" {}: {}\n", options.mistake().java_class(),
                      options.mistake().message);
    return 1;
  }
  if (std::vector<std::string> refused = unavailable(*options); !refused.empty()) {
    session.err.print(
        "Exception in thread \"main\" joptsimple.UnavailableOptionException: Option(s) [{}] are unavailable given "
        "other options on "
        "the command line\n",
        fmt::join(refused, ", "));
    return 1;
  }
  if (words.empty() || options->has("help")) return usage_mistake(self.summary, session);
  if (options->has("version")) {
    session.out.print("{}\n", kKafkaVersion);
    return 0;
  }
  if (auto mistake = mistake_in(*options, session)) return usage_mistake(*mistake, session);
  if (std::ranges::count_if(kGroupActions, [&](std::string_view action) { return options->has(action); }) != 1) {
    return usage_mistake(
        "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets, "
        "--validate-regex",
        session);
  }
  if (options->has("validate-regex")) {
    std::string regex = options->values("validate-regex").front();
    auto mistake = regex_mistake(regex);
    session.out.print("The regular expression `{}` is {}.\n", regex,
                      mistake ? fmt::format("invalid: {}", *mistake) : "valid");
    return 0;
  }
  MaybeStop stop = run_with_cluster(*options, session);
  if (!stop) return 0;
  if (auto* mistake = std::get_if<UsageMistake>(&*stop)) return usage_mistake(mistake->message, session);
  const Thrown& exception = std::get<Thrown>(*stop);
  print_error(options->has("json") ? session.err : session.out, fmt::format("Executing consumer group command failed due to {}", exception.message));
  session.err.write(exception.trace());
  return 0;
}

}  // namespace

Thrown plain(const client::Failure& failure) {
  return {failure.message, {client::to_java(failure)}};
}
Thrown execution(const client::Failure& failure) {
  Thrown thrown = plain(failure).wrapped("java.util.concurrent.ExecutionException");
  return thrown;
}
Thrown runtime_execution(const client::Failure& failure) {
  return execution(failure).wrapped("java.lang.RuntimeException");
}

Thrown of_options(const ParseMistake& mistake) {
  Thrown exception = thrown(mistake.java_class(), mistake.message);
  if (mistake.kind == ParseMistake::Kind::conversion) {
    auto begin = mistake.message.find('\'') + 1;
    std::string text = mistake.message.substr(begin, mistake.message.rfind('\'') - begin);
    std::string cause = fmt::format("java.lang.NumberFormatException: For input string: \"{}\"", text);
    exception.classes.push_back(fmt::format("joptsimple.internal.ReflectionException: {}", cause));
    exception.classes.push_back(cause);
  }
  return exception;
}

MaybeStop chosen_groups(GroupsCommand& command, std::vector<std::string>& groups) {
  if (!command.options.has("all-groups")) {
    groups = command.options.values("group");
    return {};
  }
  std::vector<client::GroupListing> listings;
  if (auto stop = listed(command, {}, {}, listings)) return stop;
  for (auto& group : listings) groups.push_back(std::move(group.group_id));
  return {};
}

void print_error(Output& out, std::string_view text) {
  out.print("\nError: {}\n", text);
}

std::size_t column_width(std::size_t minimum, std::size_t longest) {
  return std::max(minimum, longest);
}

extern const Command consumer_groups_command{
    .name = "consumer-groups",
    .kafka_name = "kafka-consumer-groups",
    .summary = "list, describe and delete consumer groups, reset and delete their offsets",
    .grammar = &kConsumerGroupsGrammar,
    .run = run_consumer_groups,
};

}  // namespace cordwood::cli
