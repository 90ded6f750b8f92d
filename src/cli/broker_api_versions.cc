// kafka-broker-api-versions: what versions of which requests each broker of a cluster takes.
#include <fmt/format.h>

#include "cli/api_versions.h"
#include "cli/command.h"
#include "cli/kafka_tool.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kAboutApiVersions = "This tool helps to retrieve broker version information.";

constexpr OptionSpec kApiVersionsOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
    {.name = "command-config", .argument = "FILE", .help = "properties of the client"},
    {.name = "json", .help = "a line of JSON for each broker (Cordwood's own)"},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};
constexpr Grammar kApiVersionsGrammar{.habit = Habit::joptsimple, .options = kApiVersionsOptions};

JavaError nobody_answers(const std::vector<client::HostPort>& servers) {
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    nodes.push_back(node_text({-1 - static_cast<std::int32_t>(i), servers[i].host, servers[i].port, {}}));
  }
  return {"java.lang.RuntimeException", fmt::format("Request METADATA failed on brokers [{}]", fmt::join(nodes, ", "))};
}

Tried<std::monostate> print_versions(const Options& options, Session& session) {
  auto servers = NEED(tried(options.value("bootstrap-server")));
  auto config = NEED(tried(options.value("command-config")));
  // Kafka's tool has an older client, which tries each server once.
  client::ClusterOptions defaults;
  defaults.client_id = "admin-1";
  auto made = make_admin_client(session, *servers, config.value_or(""), defaults);
  if (!made) return std::unexpected(made.error().root());
  client::ClusterOptions once = (*made)->cluster.options();
  once.pause = [](DurationMs) { return false; };
  ConnectionLog log(session, fmt::format("LegacyAdminClient clientId={}", once.client_id), ConnectionLog::Bootstrap::told);
  client::Cluster cluster(once, session.clock, log);
  MonotonicNs deadline = cluster.deadline();
  if (!cluster.metadata(std::vector<std::string>(), "METADATA", deadline)) return std::unexpected(nobody_answers(once.bootstrap));
  for (const auto& [id, node] : std::map(cluster.nodes())) {
    auto link = cluster.broker(id, "METADATA", deadline);
    if (link && options.has("json")) session.out.print("{}\n", boost::json::serialize(api_versions_json(**link)));
    else if (link) session.out.write(api_versions_text(**link));
    else session.out.print("{} -> ERROR: {}\n", node_text(node), client::to_java(link.failure()));
  }
  return std::monostate{};
}

int run_api_versions(const Command& self, const Words& words, Session& session) {
  if (words.empty()) return usage_and_exit_code(self, session, kAboutApiVersions);
  auto options = parse_options(*self.grammar, words);
  if (!options) return print_parse_error(self, session, options.mistake());
  if (auto code = help_or_version(self, *options, session, kAboutApiVersions)) return *code;
  if (auto code = check_required(self, *options, session, {"bootstrap-server"})) return *code;
  auto done = print_versions(*options, session);
  return done ? 0 : print_with_trace(session, done.error());
}

}  // namespace

extern const Command broker_api_versions_command{
    .name = "broker-api-versions",
    .kafka_name = "kafka-broker-api-versions",
    .summary = "print the versions of requests that each broker takes",
    .grammar = &kApiVersionsGrammar,
    .run = run_api_versions,
};

}  // namespace cordwood::cli
