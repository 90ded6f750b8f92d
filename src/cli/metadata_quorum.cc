// kafka-metadata-quorum: the controllers that keep the metadata log, and how far each of them is.
#include <fmt/format.h>

#include <algorithm>

#include <boost/json.hpp>

#include "cli/argparse.h"
#include "cli/command.h"
#include "cli/json_rows.h"
#include "cli/kafka_tool.h"
#include "cli/quorum_changes.h"
#include "client/call.h"
#include "protocol/messages/describe_quorum.h"

namespace cordwood::cli {
namespace {

constexpr OptionSpec kQuorumOptions[] = {
    {.name = "bootstrap-server", .argument = "BOOTSTRAP_SERVER", .help = "brokers to start from"},
    {.name = "bootstrap-controller", .argument = "BOOTSTRAP_CONTROLLER", .help = "controllers to start from"},
    {.name = "command-config", .argument = "COMMAND_CONFIG", .help = "properties of the client"},
};
constexpr OptionSpec kDescribeQuorumOptions[] = {
    {.name = "status", .help = "the quorum in a few lines"},
    {.name = "replication", .help = "a line for each of its members"},
    {.name = "human-readable", .help = "with --replication: times as how long ago they were"},
    {.name = "json", .help = "one JSON object, or with --replication a line for each member (Cordwood's own)"},
};
constexpr Grammar kDescribeQuorumGrammar{.habit = Habit::argparse4j, .options = kDescribeQuorumOptions};
constexpr OptionSpec kAddControllerOptions[] = {
    {.name = "dry-run", .help = "only print what would be done"},
};
constexpr OptionSpec kRemoveControllerOptions[] = {
    {.name = "controller-id", .argument = "CONTROLLER_ID", .help = "id of the controller", .letter = 'i', .required = true, .number = Number::int32},
    {.name = "controller-directory-id", .argument = "CONTROLLER_DIRECTORY_ID", .help = "id of its metadata directory", .letter = 'd', .required = true},
    {.name = "dry-run", .help = "only print what would be done"},
    {.name = "unregister", .help = "then take its registration away, too"},
};
constexpr Grammar kAddControllerGrammar{.habit = Habit::argparse4j, .options = kAddControllerOptions};
constexpr Grammar kRemoveControllerGrammar{.habit = Habit::argparse4j, .options = kRemoveControllerOptions};
constexpr Grammar::Sub kQuorumCommands[] = {
    {"describe", "print the state of the quorum", &kDescribeQuorumGrammar},
    {"add-controller", "add the controller of the configuration file --command-config to the quorum", &kAddControllerGrammar},
    {"remove-controller", "take a controller out of the quorum", &kRemoveControllerGrammar},
};
constexpr std::string_view kQuorumServers[] = {"bootstrap-server", "bootstrap-controller"};
constexpr Exclusive kQuorumExclusive[] = {{kQuorumServers, true}};
constexpr Grammar kQuorumGrammar{
    .habit = Habit::argparse4j, .options = kQuorumOptions, .exclusive = kQuorumExclusive, .subcommands = kQuorumCommands};

using Quorum = protocol::DescribeQuorumResponse;
using Partition = Quorum::Partition;
using Replica = Quorum::ReplicaState;
using Done = std::monostate;

// A table of Kafka's: columns as wide as their widest cell, a tab behind each.
std::string tabbed_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += fmt::format("{:<{}}\t", row[i], widths[i]);
    text += "\n";
  }
  return text;
}

std::string time_text(std::int64_t time, bool human, Session& session) {
  if (time < 0) return "-1";
  return human ? fmt::format("{} ms ago", session.clock.now().value - time) : fmt::format("{}", time);
}

void print_replication(const Partition& partition, const Options& options, Session& session) {
  bool human = options.has("human-readable");
  std::vector<std::vector<std::string>> rows = {
      {"NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"}};
  std::int64_t end = -1;
  for (const Replica& voter : partition.current_voters) {
    if (voter.replica_id == partition.leader_id) end = voter.log_end_offset;
  }
  auto add = [&](const Replica& replica, std::string_view status) {
    rows.push_back({fmt::format("{}", replica.replica_id), replica.replica_directory_id.to_string(),
                    fmt::format("{}", replica.log_end_offset), fmt::format("{}", end - replica.log_end_offset),
                    time_text(replica.last_fetch_timestamp, human, session), time_text(replica.last_caught_up_timestamp, human, session),
                    std::string(status)});
  };
  for (const Replica& voter : partition.current_voters) {
    if (voter.replica_id == partition.leader_id) add(voter, "Leader");
  }
  for (const Replica& voter : partition.current_voters) {
    if (voter.replica_id != partition.leader_id) add(voter, "Follower");
  }
  for (const Replica& observer : partition.observers) add(observer, "Observer");
  if (options.has("json")) session.out.write(rows_as_json_lines(rows.front(), {rows.begin() + 1, rows.end()}));
  else session.out.write(tabbed_table(rows));
}

std::string members_text(const std::vector<Replica>& replicas, const Quorum& quorum) {
  std::vector<std::string> texts;
  for (const Replica& replica : replicas) {
    std::string text = fmt::format("{{\"id\": {}", replica.replica_id);
    if (!replica.replica_directory_id.is_zero()) text += fmt::format(", \"directoryId\": \"{}\"", replica.replica_directory_id.to_string());
    auto node = std::ranges::find(quorum.nodes, replica.replica_id, &Quorum::Node::node_id);
    if (node != quorum.nodes.end() && !node->listeners.empty()) {
      std::vector<std::string> endpoints;
      for (const auto& listener : node->listeners) endpoints.push_back(fmt::format("\"{}://{}:{}\"", listener.name, listener.host, listener.port));
      text += fmt::format(", \"endpoints\": [{}]", fmt::join(endpoints, ", "));
    }
    texts.push_back(text + "}");
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

void print_status(const Quorum& quorum, const Partition& partition, const std::string& cluster_id, bool json, Session& session) {
  const Replica* leader = nullptr;
  std::vector<Replica> all = partition.current_voters;
  all.insert(all.end(), partition.observers.begin(), partition.observers.end());
  for (const Replica& replica : all) {
    if (replica.replica_id == partition.leader_id) leader = &replica;
  }
  std::int64_t lag = 0;
  std::int64_t lag_ms = 0;
  for (const Replica& replica : all) {
    if (leader == nullptr || &replica == leader) continue;
    lag = std::max(lag, leader->log_end_offset - replica.log_end_offset);
    if (replica.last_caught_up_timestamp < 0 || lag_ms < 0) lag_ms = -1;
    else lag_ms = std::max(lag_ms, leader->last_caught_up_timestamp - replica.last_caught_up_timestamp);
  }
  if (json) {
    session.out.print("{}\n", boost::json::serialize(boost::json::object{
                                  {"clusterId", cluster_id}, {"leaderId", partition.leader_id}, {"leaderEpoch", partition.leader_epoch},
                                  {"highWatermark", partition.high_watermark}, {"maxFollowerLag", lag}, {"maxFollowerLagTimeMs", lag_ms},
                                  {"currentVoters", boost::json::parse(members_text(partition.current_voters, quorum))},
                                  {"observers", boost::json::parse(members_text(partition.observers, quorum))}}));
    return;
  }
  session.out.print("ClusterId:              {}\n", cluster_id);
  session.out.print("LeaderId:               {}\n", partition.leader_id);
  session.out.print("LeaderEpoch:            {}\n", partition.leader_epoch);
  session.out.print("HighWatermark:          {}\n", partition.high_watermark);
  session.out.print("MaxFollowerLag:         {}\n", lag);
  session.out.print("MaxFollowerLagTimeMs:   {}\n", lag_ms);
  session.out.print("CurrentVoters:          {}\n", members_text(partition.current_voters, quorum));
  session.out.print("CurrentObservers:       {}\n", members_text(partition.observers, quorum));
}

Tried<Done> describe_quorum(const Options& options, client::Cluster& cluster, Session& session);

Tried<Done> act_on_quorum(const Arguments& arguments, Session& session) {
  auto config = NEED(tried(arguments.options.value("command-config")));
  auto there = session.files.exists(config.value_or("/"));
  if (config && (!there || !*there)) {
    return std::unexpected(terse_exception(fmt::format("Properties file {} does not exist.", *config)));
  }
  auto admin = NEED(make_admin_client(session, arguments.options, config.value_or("")));
  const Options& options = arguments.command_options;
  std::string_view command = arguments.command->name;
  if (command == "add-controller") return add_controller(options, config.value_or(""), admin->cluster, session);
  if (command == "remove-controller") return remove_controller(options, admin->cluster, session);
  return describe_quorum(options, admin->cluster, session);
}

Tried<Done> describe_quorum(const Options& options, client::Cluster& cluster, Session& session) {
  if (options.has("status") && options.has("replication")) {
    return std::unexpected(terse_exception("Only one of --status or --replication should be specified with describe sub-command"));
  }
  if (options.has("status") && options.has("human-readable")) {
    return std::unexpected(terse_exception("The option --human-readable is only supported along with --replication"));
  }
  if (!options.has("status") && !options.has("replication")) {
    return std::unexpected(terse_exception("One of --status or --replication must be specified with describe sub-command"));
  }
  protocol::DescribeQuorumRequest request;
  request.topics.push_back({"__cluster_metadata", {{0}}});
  auto answer = NEED(tried_get(client::ask_any<Quorum>(cluster, "describeMetadataQuorum", request)));
  auto code = answer->error_code;
  if (code != protocol::ErrorCode::NONE) return std::unexpected(execution_exception(client::failure_of(code, answer->error_message)));
  if (answer->topics.empty() || answer->topics.front().partitions.empty()) {
    return std::unexpected(execution_exception(client::failure_of(protocol::ErrorCode::UNKNOWN_SERVER_ERROR)));
  }
  const Partition& partition = answer->topics.front().partitions.front();
  if (options.has("replication")) {
    print_replication(partition, options, session);
    return Done{};
  }
  NEED(tried_get(cluster.metadata(std::vector<std::string>(), "describeCluster", cluster.deadline())));
  print_status(*answer, partition, cluster.cluster_id(), options.has("json"), session);
  return Done{};
}

int run_metadata_quorum(const Command& self, const Words& words, Session& session) {
  constexpr std::string_view kProgram = "kafka-metadata-quorum";
  auto read = arguments_or_exit_code(self, {.program = kProgram, .help_code = 0}, words, session);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const auto& arguments = std::get<Arguments>(read);
  auto done = act_on_quorum(arguments, session);
  if (done) return 0;
  if (done.error().java_class != terse_exception("").java_class) return print_with_trace(session, done.error());
  session.err.print("{}\n", done.error().message);
  return 1;
}

}  // namespace

extern const Command metadata_quorum_command{
    .name = "metadata-quorum",
    .kafka_name = "kafka-metadata-quorum",
    .summary = "print the state of the controllers' quorum",
    .grammar = &kQuorumGrammar,
    .run = run_metadata_quorum,
};

}  // namespace cordwood::cli
