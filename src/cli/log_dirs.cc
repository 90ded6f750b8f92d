// kafka-log-dirs: the log directories of brokers and the replicas in them, as one line of JSON.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/kafka_tool.h"
#include "client/java_order.h"
#include "client/log_dirs.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kAboutLogDirs = "This tool helps to query log directory usage on the specified brokers.";

constexpr OptionSpec kLogDirsOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
    {.name = "describe", .help = "the one thing that there is to do", .required = true},
    {.name = "topic-list", .argument = "TOPIC,…", .help = "only these topics"},
    {.name = "broker-list", .argument = "0,1,…", .help = "only these brokers"},
    {.name = "command-config", .argument = "FILE", .help = "properties of the client"},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};
constexpr Grammar kLogDirsGrammar{.habit = Habit::joptsimple, .options = kLogDirsOptions};

boost::json::object directory_json(client::LogDir directory, const std::set<std::string>& topics) {
  using Replica = client::LogDir::Replica;
  client::order_as_java(directory.replicas,
                [](const Replica& replica) { return client::java_hash_code(replica.partition.first, replica.partition.second); });
  boost::json::array partitions;
  for (const Replica& replica : directory.replicas) {
    const auto& [topic, partition] = replica.partition;
    if (!topics.empty() && !topics.contains(topic)) continue;
    partitions.push_back({{"partition", fmt::format("{}-{}", topic, partition)},
                          {"size", replica.size},
                          {"offsetLag", replica.offset_lag},
                          {"isFuture", replica.is_future}});
  }
  boost::json::object object{{"partitions", std::move(partitions)}, {"error", nullptr}, {"logDir", directory.path}};
  if (directory.error != protocol::ErrorCode::NONE) object["error"] = client::java_class_of(directory.error);
  return object;
}

Tried<int> describe_directories(const Options& options, Session& session) {
  auto servers = NEED(tried(options.value("bootstrap-server")));
  auto config = NEED(tried(options.value("command-config")));
  client::ClusterOptions defaults;
  defaults.client_id = "log-dirs-tool";
  auto admin = NEED(make_admin_client(session, *servers, config.value_or(""), defaults));
  client::Cluster& cluster = admin->cluster;
  std::set<std::string> topics;
  std::string topic_list = NEED(tried(options.value("topic-list"))).value_or("");
  for (std::string& topic : split_as_java(topic_list, ',')) {
    if (!topic.empty()) topics.insert(std::move(topic));
  }
  NEED(tried_get(cluster.metadata(std::vector<std::string>(), "listNodes", cluster.deadline())));
  std::set<std::int32_t> existing;
  for (const auto& [id, node] : cluster.nodes()) existing.insert(id);
  std::set<std::int32_t> asked;
  std::string broker_list = NEED(tried(options.value("broker-list"))).value_or("");
  for (const std::string& word : split_as_java(broker_list, ',')) {
    if (word.empty()) continue;
    auto id = parse_java_int(word);
    if (!id) return std::unexpected(number_format(word));
    asked.insert(*id);
  }
  std::vector<std::int32_t> absent;
  std::ranges::set_difference(asked, existing, std::back_inserter(absent));
  if (!absent.empty()) {
    session.err.print("ERROR: The given brokers do not exist from --broker-list: {}. Current existent brokers: {}\n",
                      fmt::join(absent, ","), fmt::join(existing, ","));
    return 1;
  }
  if (asked.empty()) asked = existing;
  session.out.write("Querying brokers for log directories information\n");
  session.out.flush();
  boost::json::array brokers;
  for (std::int32_t id : asked) {
    auto directories = NEED(tried_get(client::describe_log_dirs(cluster, id)));
    client::order_as_java(directories, [](const client::LogDir& directory) { return client::java_hash_code(directory.path); });
    boost::json::array array;
    for (auto& directory : directories) array.push_back(directory_json(std::move(directory), topics));
    brokers.push_back({{"broker", id}, {"logDirs", std::move(array)}});
  }
  session.out.print("Received log directory information from brokers {}\n", fmt::join(asked, ","));
  session.out.print("{}\n", boost::json::serialize(boost::json::object{{"brokers", std::move(brokers)}, {"version", 1}}));
  return 0;
}

int run_log_dirs(const Command& self, const Words& words, Session& session) {
  if (words.empty()) return usage_and_exit_code(self, session, kAboutLogDirs);
  auto options = parse_options(*self.grammar, words);
  if (!options) return print_parse_error(self, session, options.mistake());
  if (auto code = help_or_version(self, *options, session, kAboutLogDirs)) return *code;
  if (auto code = check_required(self, *options, session, {"bootstrap-server", "describe"})) return *code;
  auto code = describe_directories(*options, session);
  return code ? *code : print_with_trace(session, code.error());
}

}  // namespace

extern const Command log_dirs_command{
    .name = "log-dirs",
    .kafka_name = "kafka-log-dirs",
    .summary = "print the log directories of brokers and what lies in them",
    .grammar = &kLogDirsGrammar,
    .run = run_log_dirs,
};

}  // namespace cordwood::cli
