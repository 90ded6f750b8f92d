// kafka-leader-election: has leaders of partitions elected, preferred or unclean.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/command.h"
#include "cli/json_words.h"
#include "cli/kafka_tool.h"
#include "client/call.h"
#include "client/java_order.h"
#include "client/partition_leaders.h"
#include "protocol/messages/elect_leaders.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kAboutElection =
    "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported are preferred replicas "
    "and unclean replicas.";

constexpr OptionSpec kElectionOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
    {.name = "command-config", .argument = "FILE", .help = "properties of the client"},
    {.name = "admin.config", .argument = "FILE", .help = "the old name of --command-config"},
    {.name = "election-type", .argument = "TYPE", .help = "preferred: the first replica of each partition; unclean: any, where no in-sync one is alive", .required = true},
    {.name = "topic", .argument = "TOPIC", .help = "with --partition: one partition"},
    {.name = "partition", .argument = "NUMBER", .help = "with --topic"},
    {.name = "path-to-json-file", .argument = "FILE", .help = "{\"partitions\":[{\"topic\":\"t\",\"partition\":0}]}"},
    {.name = "all-topic-partitions", .help = "every partition of the cluster"},
    {.name = "json", .help = "one JSON object instead of lines (Cordwood's own)"},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};
constexpr Grammar kElectionGrammar{.habit = Habit::joptsimple, .options = kElectionOptions};

using client::PartitionKey;
using Done = std::monostate;

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c); });
  return text;
}

std::string partition_name(const PartitionKey& key) { return fmt::format("{}-{}", key.first, key.second); }

// 0 preferred, 1 unclean.
Tried<std::int8_t> election_type(const Options& options) {
  std::string text = *NEED(tried(options.value("election-type")));
  std::string type = lowered(text);
  if (type == "preferred") return std::int8_t{0};
  if (type == "unclean") return std::int8_t{1};
  JavaError cause{"joptsimple.ValueConversionException", fmt::format("Value [{}] is not one of [[PREFERRED,UNCLEAN]]", text)};
  return std::unexpected(with_cause({"joptsimple.OptionArgumentConversionException",
                                     fmt::format("Cannot parse argument '{}' of option election-type", text)},
                                    cause));
}

Tried<Done> check_election_words(const Options& options) {
  std::vector<std::string_view> missing;
  for (std::string_view name : {"bootstrap-server", "election-type"}) {
    if (!options.has(name)) missing.push_back(name);
  }
  if (!missing.empty()) {
    return std::unexpected(admin_command_failed(fmt::format("Missing required option(s): {}", fmt::join(missing, ", "))));
  }
  constexpr std::string_view kWays[] = {"topic", "all-topic-partitions", "path-to-json-file"};
  if (std::ranges::count_if(kWays, [&](std::string_view way) { return options.has(way); }) != 1) {
    return std::unexpected(admin_command_failed(
        fmt::format("One and only one of the following options is required: {}", fmt::join(kWays, ", "))));
  }
  if (options.has("topic") && !options.has("partition")) {
    return std::unexpected(admin_command_failed("Missing required option(s): partition"));
  }
  if (!options.has("topic") && options.has("partition")) {
    return std::unexpected(admin_command_failed("Option partition is only allowed if topic is used"));
  }
  return Done{};
}

// Nothing: all partitions.
Tried<std::optional<std::set<PartitionKey>>> wanted_elections(const Options& options, Session& session) {
  std::set<PartitionKey> wanted;
  if (options.has("all-topic-partitions")) return std::optional<std::set<PartitionKey>>();
  if (auto topic = NEED(tried(options.value("topic")))) {
    wanted.emplace(*topic, NEED(tried(options.int_value("partition"))).value_or(0));
    return wanted;
  }
  auto file = NEED(tried(options.value("path-to-json-file")));
  auto text = read_whole_file(session, *file);
  if (!text) {
    JavaError outer{"java.lang.RuntimeException", text.error().to_string()};
    return std::unexpected(with_cause(std::move(outer), text.error()));
  }
  auto json = NEED(parse_json(*text, admin_operation("Replica election data is empty")));
  if (!json.is_object() || !json.as_object().contains("partitions")) {
    return std::unexpected(admin_operation("Replica election data is missing \"partitions\" field"));
  }
  const auto& partitions = json.as_object().at("partitions");
  if (!partitions.is_array()) return std::unexpected(json_mapping("Expected JSON array, received " + boost::json::serialize(partitions)));
  std::set<std::string> twice;
  for (const auto& item : partitions.as_array()) {
    PartitionKey key{NEED(json_string(item, "topic")), NEED(json_int(item, "partition"))};
    if (!wanted.insert(key).second) twice.insert(partition_name(key));
  }
  if (!twice.empty()) {
    return std::unexpected(admin_operation(
        fmt::format("Replica election data contains duplicate partitions: [{}]", fmt::join(twice, ", "))));
  }
  return wanted;
}

struct Elections {
  std::vector<PartitionKey> elected;
  std::vector<PartitionKey> needless;
  std::vector<std::pair<PartitionKey, client::Failure>> failed;
};

client::Outcome<Elections> elect(client::Cluster& cluster, std::int8_t type, const std::optional<std::set<PartitionKey>>& wanted) {
  protocol::ElectLeadersRequest request;
  request.election_type = type;
  request.timeout_ms = static_cast<std::int32_t>(cluster.options().request_timeout.value);
  if (wanted) {
    request.topic_partitions.emplace();
    for (const auto& [topic, partition] : *wanted) {
      if (request.topic_partitions->empty() || request.topic_partitions->back().topic != topic) request.topic_partitions->push_back({topic, {}});
      request.topic_partitions->back().partitions.push_back(partition);
    }
  }
  auto answer = ATTEMPT(client::ask_controller<protocol::ElectLeadersResponse>(cluster, "electLeaders", request));
  using protocol::ErrorCode;
  if (answer->error_code != ErrorCode::NONE) return client::failure_of(answer->error_code);
  Elections elections;
  for (const auto& topic : answer->replica_election_results) {
    for (const auto& result : topic.partition_result) {
      PartitionKey key{topic.topic, result.partition_id};
      if (result.error_code == ErrorCode::NONE) elections.elected.push_back(key);
      else if (result.error_code == ErrorCode::ELECTION_NOT_NEEDED) elections.needless.push_back(key);
      else elections.failed.emplace_back(key, client::failure_of(result.error_code, result.error_message));
    }
  }
  return elections;
}

std::string election_names(std::vector<PartitionKey> keys) {
  client::order_as_java(keys, [](const PartitionKey& key) { return client::java_hash_code(key.first, key.second); });
  std::vector<std::string> names;
  for (const PartitionKey& key : keys) names.push_back(partition_name(key));
  return fmt::format("{}", fmt::join(names, ", "));
}

// Prints what became of each; answers the exit code.
int report_elections(const Elections& elections, std::int8_t type, bool json, Session& session) {
  std::string_view type_name = type == 0 ? "PREFERRED" : "UNCLEAN";
  if (json) {
    auto names = [](const std::vector<PartitionKey>& keys) {
      boost::json::array array;
      for (const PartitionKey& key : keys) array.push_back({{"topic", key.first}, {"partition", key.second}});
      return array;
    };
    boost::json::array failed;
    for (const auto& [key, failure] : elections.failed) {
      failed.push_back({{"topic", key.first}, {"partition", key.second}, {"error", client::to_java(failure)}});
    }
    session.out.print("{}\n", boost::json::serialize(boost::json::object{{"electionType", type_name}, {"elected", names(elections.elected)},
                                                                          {"notNeeded", names(elections.needless)}, {"failed", std::move(failed)}}));
    return elections.failed.empty() ? 0 : 1;
  }
  if (!elections.elected.empty()) {
    session.out.print("Successfully completed leader election ({}) for partitions {}\n", type_name, election_names(elections.elected));
  }
  if (!elections.needless.empty()) {
    session.out.print("Valid replica already elected for partitions {}\n", election_names(elections.needless));
  }
  if (elections.failed.empty()) return 0;
  JavaError error = admin_command_failed(fmt::format("{} replica(s) could not be elected", elections.failed.size()));
  std::string suppressed;
  for (const auto& [key, failure] : elections.failed) {
    session.out.print("Error completing leader election ({}) for partition: {}: {}\n", type_name, partition_name(key),
                      client::to_java(failure));
    suppressed += fmt::format("\tSuppressed: {}\n", client::to_java(failure));
  }
  session.out.flush();
  session.err.print("{}\n{}{}\n", error.message, error.stack_trace(), suppressed);
  return 1;
}

Tried<int> run_election(const Options& options, Session& session) {
  NEED(check_election_words(options));
  std::int8_t type = NEED(election_type(options));
  auto wanted = NEED(wanted_elections(options, session));
  auto config = NEED(tried(options.value("command-config")));
  if (options.has("admin.config")) {
    session.out.write("Option --admin.config has been deprecated and will be removed in a future version. Use --command-config instead.\n");
    session.out.flush();
    config = NEED(tried(options.value("admin.config")));
  }
  auto servers = NEED(tried(options.value("bootstrap-server")));
  constexpr DurationMs kPatience{30'000};
  client::ClusterOptions defaults;
  defaults.api_timeout = kPatience;
  auto admin = NEED(make_admin_client(session, *servers, config.value_or(""), defaults));
  auto elections = elect(admin->cluster, type, wanted);
  if (elections) return report_elections(*elections, type, options.has("json"), session);
  if (elections.failure().code == protocol::ErrorCode::REQUEST_TIMED_OUT) {
    constexpr std::string_view kTimeout = "Timeout waiting for election results";
    session.out.print("{}\n", kTimeout);
    session.out.flush();
    return std::unexpected(with_cause(admin_command_failed(std::string(kTimeout)), java_error(elections.failure())));
  }
  const JavaError failed = execution_exception(elections.failure());
  return std::unexpected(with_cause({"java.lang.RuntimeException", failed.to_string()}, failed));
}

int run_leader_election(const Command& self, const Words& words, Session& session) {
  if (words.empty()) return usage_and_exit_code(self, session, kAboutElection);
  auto options = parse_options(*self.grammar, words);
  if (!options) return print_parse_error(self, session, options.mistake());
  if (auto code = help_or_version(self, *options, session, kAboutElection)) return *code;
  auto code = run_election(*options, session);
  return code ? *code : print_with_trace(session, code.error());
}

}  // namespace

extern const Command leader_election_command{
    .name = "leader-election",
    .kafka_name = "kafka-leader-election",
    .summary = "have leaders of partitions elected",
    .grammar = &kElectionGrammar,
    .run = run_leader_election,
};

}  // namespace cordwood::cli
