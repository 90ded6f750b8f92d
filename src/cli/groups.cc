// kafka-groups: lists groups of all types.
#include <fmt/format.h>

#include <algorithm>

#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/kafka_tool.h"
#include "client/groups.h"
#include "client/java_order.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kAboutGroups = "This tool helps to list groups of all types.";

constexpr std::string_view kGroupTypes[] = {"classic", "consumer", "share", "streams"};
constexpr OptionSpec kGroupsOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
    {.name = "command-config", .argument = "FILE", .help = "properties of the client"},
    {.name = "list", .help = "the one thing that there is to do", .required = true},
    {.name = "group-type", .argument = "TYPE", .help = "only groups of this type", .choices = kGroupTypes},
    {.name = "protocol", .argument = "NAME", .help = "only groups whose members speak this protocol: consumer, connect, …"},
    {.name = "consumer", .help = "only groups of consumers, of both types, and those that only commit offsets"},
    {.name = "share", .help = "only share groups"},
    {.name = "streams", .help = "only groups of Kafka Streams"},
    {.name = "json", .help = "one JSON array instead of a table (Cordwood's own)"},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};
constexpr Grammar kGroupsGrammar{.habit = Habit::joptsimple, .options = kGroupsOptions};

struct GroupFilter {
  std::optional<std::string> type;      // "Classic"
  std::optional<std::string> protocol;
  bool consumers = false;

  bool lets(const client::GroupListing& group) const {
    if (consumers) {
      bool classic = group.type == "Classic" && (group.protocol_type.empty() || group.protocol_type == "consumer");
      return classic || group.type == "Consumer";
    }
    return (!type || group.type == *type) && (!protocol || group.protocol_type == *protocol);
  }
};

// "CONSUMER" and "consumer" -> "Consumer", as the table has it.
std::optional<std::string> group_type_name(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (std::ranges::find(kGroupTypes, lower) == std::end(kGroupTypes)) return {};
  lower.front() = static_cast<char>(lower.front() - 'a' + 'A');
  return lower;
}

Tried<GroupFilter> read_group_filter(const Options& options) {
  GroupFilter filter;
  filter.protocol = NEED(tried(options.value("protocol")));
  filter.consumers = options.has("consumer");
  if (options.has("share")) filter.type = "Share";
  if (options.has("streams")) filter.type = "Streams";
  if (auto type = NEED(tried(options.value("group-type")))) {
    filter.type = group_type_name(*type);
    if (!filter.type) return std::unexpected(illegal_argument("--group-type must be a valid group type."));
  }
  return filter;
}

void print_groups(const std::vector<client::GroupListing>& groups, bool json, Session& session) {
  if (json) {
    boost::json::array array;
    for (const auto& group : groups) {
      array.push_back({{"groupId", group.group_id}, {"groupType", group.type}, {"protocolType", group.protocol_type}, {"groupState", group.state}});
    }
    session.out.print("{}\n", boost::json::serialize(array));
    return;
  }
  constexpr std::size_t kNarrowest = 20;
  std::size_t width = kNarrowest;
  for (const auto& group : groups) width = std::max(width, group.group_id.size());
  session.out.print("{:<{}} {:<20} {:<20}\n", "GROUP", width, "TYPE", "PROTOCOL");
  for (const auto& group : groups) session.out.print("{:<{}} {:<20} {:<20} \n", group.group_id, width, group.type, group.protocol_type);
}

// What goes wrong between us and the brokers is told otherwise than what is wrong with the words.
Tried<std::monostate> list_all_groups(const Options& options, const GroupFilter& filter, client::Cluster& cluster, Session& session) {
  client::Groups asked(cluster, [](const std::string&, std::string_view) {});
  auto deadline = cluster.deadline();
  auto groups = asked.list({}, {}, deadline);
  if (!groups) {
    if (groups.failure().code != protocol::ErrorCode::REQUEST_TIMED_OUT) return std::unexpected(java_error(groups.failure()));
    return std::unexpected(with_cause({"org.apache.kafka.common.KafkaException", "Failed to find brokers to send ListGroups"},
                                      java_error(groups.failure())));
  }
  for (auto& group : *groups) group.type = group_type_name(group.type).value_or("Unknown");
  std::erase_if(*groups, [&](const client::GroupListing& group) { return !filter.lets(group); });
  client::order_as_java(*groups, [](const client::GroupListing& group) { return client::java_hash_code(group.group_id); });
  print_groups(*groups, options.has("json"), session);
  return std::monostate{};
}

std::optional<int> check_groups_words(const Command& self, const Options& options, Session& session) {
  constexpr std::string_view kBesideConsumer[] = {"group-type", "protocol", "share", "streams"};
  constexpr std::string_view kBesideShare[] = {"consumer", "streams", "group-type", "protocol"};
  constexpr std::string_view kBesideStreams[] = {"consumer", "share", "group-type", "protocol"};
  if (auto code = check_invalid(self, options, session, "consumer", kBesideConsumer)) return code;
  if (auto code = check_invalid(self, options, session, "share", kBesideShare)) return code;
  return check_invalid(self, options, session, "streams", kBesideStreams);
}

Tried<int> list_groups_of_cluster(const Options& options, const GroupFilter& filter, Session& session) {
  auto config = NEED(tried(options.value("command-config")));
  auto servers = NEED(tried(options.value("bootstrap-server")));
  auto admin = make_admin_client(session, *servers, config.value_or(""));
  if (!admin && admin.error().java_class == "java.nio.file.NoSuchFileException") return std::unexpected(admin.error());
  auto done = admin ? list_all_groups(options, filter, (*admin)->cluster, session) : std::unexpected(admin.error());
  if (done) return 0;
  session.out.print("Error while executing groups command : {}\n", done.error().message);
  session.out.flush();
  log_line(session, Level::error, done.error().stack_trace(), "org.apache.kafka.tools.GroupsCommand");
  return 1;
}

int run_groups(const Command& self, const Words& words, Session& session) {
  auto options = parse_options(*self.grammar, words);
  if (!options) {
    int code = usage_and_exit_code(self, session, options.mistake().message);
    suggest_option(self, session, options.mistake());
    return code;
  }
  if (auto code = help_or_version(self, *options, session, kAboutGroups)) return *code;
  if (!options->has("bootstrap-server")) return usage_and_exit_code(self, session, "Missing required option(s) [bootstrap-server]");
  if (!options->has("list")) return usage_and_exit_code(self, session, "Command must include exactly one action: --list.");
  auto filter = read_group_filter(*options);
  if (!filter) return print_with_trace(session, filter.error());
  if (auto code = check_groups_words(self, *options, session)) return *code;
  auto code = list_groups_of_cluster(*options, *filter, session);
  return code ? *code : print_with_trace(session, code.error());
}

}  // namespace

extern const Command groups_command{
    .name = "groups",
    .kafka_name = "kafka-groups",
    .summary = "list groups of all types",
    .grammar = &kGroupsGrammar,
    .run = run_groups,
};

}  // namespace cordwood::cli
