// kafka-cluster: the id of a cluster, its endpoints, what its brokers speak; brokers taken out of it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/api_versions.h"
#include "cli/argparse.h"
#include "cli/command.h"
#include "cli/kafka_tool.h"
#include "client/call.h"
#include "protocol/messages/describe_cluster.h"
#include "protocol/messages/unregister_broker.h"

namespace cordwood::cli {
namespace {

#define CORDWOOD_CLUSTER_OPTIONS                                                                                             \
  {.name = "bootstrap-server", .argument = "BOOTSTRAP_SERVER", .help = "brokers to start from", .letter = 'b'},              \
      {.name = "bootstrap-controller", .argument = "BOOTSTRAP_CONTROLLER", .help = "controllers to start from", .letter = 'C'}, \
      {.name = "config", .argument = "CONFIG", .help = "the old name of --command-config"},                                  \
      {.name = "command-config", .argument = "COMMAND_CONFIG", .help = "properties of the client", .letter = 'c'}

constexpr OptionSpec kJson{.name = "json", .help = "JSON instead of text (Cordwood's own)"};
constexpr OptionSpec kClusterOptions[] = {CORDWOOD_CLUSTER_OPTIONS, kJson};
constexpr OptionSpec kUnregisterOptions[] = {
    CORDWOOD_CLUSTER_OPTIONS, {.name = "id", .argument = "ID", .help = "id of the broker", .letter = 'i', .required = true, .number = Number::int32}};
constexpr OptionSpec kEndpointOptions[] = {
    CORDWOOD_CLUSTER_OPTIONS, {.name = "include-fenced-brokers", .help = "fenced brokers, too"}, kJson};
#undef CORDWOOD_CLUSTER_OPTIONS

constexpr std::string_view kClusterServers[] = {"bootstrap-server", "bootstrap-controller"};
constexpr Exclusive kClusterExclusive[] = {{kClusterServers, true}};
constexpr Grammar kPlainGrammar{.habit = Habit::argparse4j, .options = kClusterOptions, .exclusive = kClusterExclusive};
constexpr Grammar kUnregisterGrammar{.habit = Habit::argparse4j, .options = kUnregisterOptions, .exclusive = kClusterExclusive};
constexpr Grammar kEndpointsGrammar{.habit = Habit::argparse4j, .options = kEndpointOptions, .exclusive = kClusterExclusive};
constexpr Grammar::Sub kClusterCommands[] = {
    {"cluster-id", "print the id of the cluster", &kPlainGrammar},
    {"unregister", "take a broker out of the cluster", &kUnregisterGrammar},
    {"list-endpoints", "print where the brokers listen", &kEndpointsGrammar},
    {"api-versions", "print the versions of requests that each broker takes", &kPlainGrammar},
};
constexpr Grammar kClusterGrammar{.habit = Habit::argparse4j, .subcommands = kClusterCommands};

Tried<protocol::DescribeClusterResponse> describe_cluster(client::Cluster& cluster, bool fenced) {
  protocol::DescribeClusterRequest request;
  request.include_fenced_brokers = fenced;
  request.endpoint_type = static_cast<std::int8_t>(cluster.options().endpoints);
  auto answer = NEED(tried_get(client::ask_any<protocol::DescribeClusterResponse>(cluster, "listNodes", request)));
  if (answer->error_code != protocol::ErrorCode::NONE) {
    return std::unexpected(execution_exception(client::failure_of(answer->error_code, answer->error_message)));
  }
  return std::move(answer.message);
}

Tried<std::monostate> list_endpoints(client::Cluster& cluster, bool fenced, bool json, Session& session) {
  constexpr std::size_t kRackWidth = 10;
  auto described = NEED(describe_cluster(cluster, fenced));
  std::size_t host_width = 0;
  std::size_t rack_width = 0;
  for (const auto& broker : described.brokers) {
    host_width = std::max(host_width, broker.host.size());
    if (broker.rack) rack_width = std::max(rack_width, broker.rack->size());
  }
  if (rack_width == 0) rack_width = kRackWidth;
  if (json) {
    boost::json::array array;
    for (const auto& broker : described.brokers) {
      boost::json::object object{{"brokerId", broker.broker_id}, {"host", broker.host}, {"port", broker.port}, {"rack", nullptr}, {"isFenced", broker.is_fenced}};
      if (broker.rack) object["rack"] = *broker.rack;
      array.push_back(std::move(object));
    }
    session.out.print("{}\n", boost::json::serialize(array));
    return std::monostate{};
  }
  const bool of_controllers = cluster.options().endpoints == client::Endpoints::controllers;  // which are never fenced
  auto line = [&](auto id, std::string_view host, auto port, std::string_view rack, std::string_view state, std::string_view kind) {
    session.out.print("{:<10} {:<{}} {:<10} {:<{}} ", id, host, host_width, port, rack, rack_width);
    if (!of_controllers) session.out.print("{:<10} ", state);
    session.out.print("{:<15}\n", kind);
  };
  line("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE");
  for (const auto& broker : described.brokers) {
    line(broker.broker_id, broker.host, broker.port, broker.rack.value_or("null"), broker.is_fenced ? "fenced" : "unfenced",
         of_controllers ? "controller" : "broker");
  }
  return std::monostate{};
}

Tried<std::monostate> unregister(client::Cluster& cluster, std::int32_t id, Session& session) {
  protocol::UnregisterBrokerRequest request;
  request.broker_id = id;
  auto answer = client::ask_controller<protocol::UnregisterBrokerResponse>(cluster, "unregisterBroker", request);
  if (!answer && answer.failure().code == protocol::ErrorCode::UNSUPPORTED_VERSION) {
    session.out.write("The target cluster does not support the broker unregistration API.\n");
    return std::monostate{};
  }
  if (!answer) return std::unexpected(execution_exception(answer.failure()));
  if ((*answer)->error_code == protocol::ErrorCode::NONE) {
    session.out.print("Broker {} is no longer registered.\n", id);
    return std::monostate{};
  }
  auto failure = client::failure_of((*answer)->error_code, (*answer)->error_message);
  log_line(session, Level::error,
           fmt::format("[AdminClient clientId={}] Unregister broker request for broker ID {} failed: {}", cluster.options().client_id, id,
                       failure.message),
           "org.apache.kafka.clients.admin.KafkaAdminClient");
  return std::unexpected(execution_exception(failure));
}

Tried<std::monostate> act_on_cluster(const Arguments& arguments, Session& session) {
  const Options& options = arguments.command_options;
  std::string_view name = arguments.command->name;
  auto config = NEED(tried(options.value("command-config")));
  if (options.has("config")) {
    session.out.write("Option --config has been deprecated and will be removed in a future version. Use --command-config instead.\n");
    config = NEED(tried(options.value("config")));
  }
  if (options.has("include-fenced-brokers") && options.has("bootstrap-controller")) {
    return std::unexpected(illegal_argument("The option --include-fenced-brokers is only supported with --bootstrap-server option"));
  }
  auto admin = NEED(make_admin_client(session, options, config.value_or("")));
  client::Cluster& cluster = admin->cluster;
  if (name == "cluster-id") {
    auto described = NEED(describe_cluster(cluster, false));
    if (options.has("json")) session.out.print("{}\n", boost::json::serialize(boost::json::object{{"clusterId", described.cluster_id}}));
    else session.out.print("Cluster ID: {}\n", described.cluster_id);
    return std::monostate{};
  }
  if (name == "list-endpoints") return list_endpoints(cluster, options.has("include-fenced-brokers"), options.has("json"), session);
  if (name == "unregister") return unregister(cluster, NEED(tried(options.int_value("id"))).value_or(0), session);
  MonotonicNs deadline = cluster.deadline();
  NEED(tried_get(cluster.metadata(std::vector<std::string>(), "listNodes", deadline)));
  for (const auto& [id, node] : std::map(cluster.nodes())) {
    client::Link* link = NEED(tried_get(cluster.broker(id, "listNodes", deadline)));
    if (options.has("json")) session.out.print("{}\n", boost::json::serialize(api_versions_json(*link)));
    else session.out.write(api_versions_text(*link));
  }
  return std::monostate{};
}

int run_cluster(const Command& self, const Words& words, Session& session) {
  auto read = arguments_or_exit_code(self, {.program = "kafka-cluster"}, words, session);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const auto& arguments = std::get<Arguments>(read);
  auto done = act_on_cluster(arguments, session);
  return done ? 0 : print_with_trace(session, done.error());
}

}  // namespace

extern const Command cluster_command{
    .name = "cluster",
    .kafka_name = "kafka-cluster",
    .summary = "print the id, endpoints and versions of a cluster; take brokers out of it",
    .grammar = &kClusterGrammar,
    .run = run_cluster,
};

}  // namespace cordwood::cli
