// kafka-get-offsets: offsets of partitions at a time: their ends, their starts, the first record at or after a timestamp.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/kafka_tool.h"
#include "cli/partition_filter.h"
#include "client/partition_leaders.h"
#include "client/topics.h"
#include "protocol/messages/list_offsets.h"


namespace cordwood::cli {
namespace {

constexpr std::string_view kAbout = "An interactive shell for getting topic-partition offsets.";

constexpr OptionSpec kGetOffsetsOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
    {.name = "command-config", .argument = "FILE", .help = "properties of the client"},
    {.name = "topic", .argument = "TOPIC", .help = "a regular expression that names of topics fit; all topics without it"},
    {.name = "partitions", .argument = "0,1,…", .help = "only these partitions"},
    {.name = "topic-partitions", .argument = "TOPIC:0-3,…", .help = "topics (a regular expression) with a partition or a range, whose upper end is left out; either part may be missing"},
    {.name = "time", .argument = "TIME", .help = "milliseconds since 1970: the first record of that time or later; or latest, earliest, max-timestamp, earliest-local, latest-tiered, earliest-pending-upload, the same as -1 to -6", .default_text = "latest"},
    {.name = "exclude-internal-topics", .help = "leave out internal topics"},
    {.name = "json", .help = "one JSON array instead of lines (Cordwood's own)"},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};
constexpr Grammar kGetOffsetsGrammar{.habit = Habit::joptsimple, .options = kGetOffsetsOptions};

Tried<std::int64_t> parse_time(std::string_view text) {
  constexpr std::string_view kNames[] = {"latest",        "earliest",      "max-timestamp",
                                         "earliest-local", "latest-tiered", "earliest-pending-upload"};
  auto name = std::ranges::find(kNames, text);
  if (name != std::end(kNames)) return -1 - (name - std::begin(kNames));
  if (auto number = parse_java_long(text)) return *number;
  return std::unexpected(terse_exception(
      fmt::format("Malformed time argument {}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / -4 or "
                  "earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload, or a specified long format timestamp",
                  text)));
}

// The lowest version of ListOffsets that knows a special time.
std::int16_t version_for_time(std::int64_t time) {
  constexpr std::int16_t kVersions[] = {1, 1, 7, 8, 9, 11};
  if (time >= 0 || time < -static_cast<std::int64_t>(std::size(kVersions))) return 1;
  return kVersions[-1 - time];
}

using Offsets = std::map<client::PartitionKey, std::int64_t>;

client::AskLeader ask_offsets(std::int64_t time, const client::Cluster& cluster, Offsets& offsets, Session& session) {
  return [time, &cluster, &offsets, &session](client::Link& link, const std::vector<client::PartitionKey>& keys)
             -> client::Outcome<std::map<client::PartitionKey, protocol::ErrorCode>> {
    using protocol::ErrorCode;
    if (link.version_for<protocol::ListOffsetsRequest>().value_or(0) < version_for_time(time)) {
      return client::failure_of(ErrorCode::UNSUPPORTED_VERSION);
    }
    protocol::ListOffsetsRequest request;
    request.replica_id = -1;
    request.timeout_ms = static_cast<std::int32_t>(cluster.options().request_timeout.value);
    for (const auto& [topic, partition] : keys) {
      if (request.topics.empty() || request.topics.back().name != topic) request.topics.push_back({topic, {}});
      request.topics.back().partitions.push_back({.partition_index = partition, .timestamp = time});
    }
    auto answer = ATTEMPT(link.ask<protocol::ListOffsetsResponse>(request));
    std::map<client::PartitionKey, ErrorCode> outcome;
    for (const auto& topic : answer->topics) {
      for (const auto& partition : topic.partitions) {
        client::PartitionKey key{topic.name, partition.partition_index};
        outcome[key] = partition.error_code;
        if (partition.error_code == ErrorCode::NONE) {
          offsets[key] = partition.offset;
        } else if (!protocol::is_retriable(partition.error_code)) {
          log_line(session, Level::error,
                   fmt::format("[AdminClient clientId={}] ListOffsets request for topic partition {}-{} failed due to an unexpected "
                               "error {}",
                               cluster.options().client_id, key.first, key.second, protocol::name_of(partition.error_code)),
                   "org.apache.kafka.clients.admin.internals.ListOffsetsHandler");
        }
      }
    }
    return outcome;
  };
}

Tried<std::vector<client::PartitionKey>> wanted_partitions(const Options& options, const PartitionFilter& filter,
                                                           client::Cluster& cluster) {
  std::vector<std::string> names;
  for (const auto& topic : NEED(tried_get(client::list_topics(cluster)))) {
    if (topic.is_internal && options.has("exclude-internal-topics")) continue;
    if (filter.allows_topic(topic.name)) names.push_back(topic.name);
  }
  std::vector<client::PartitionKey> keys;
  if (!names.empty()) {
    for (const auto& topic : NEED(tried_get(client::describe_topics(cluster, names)))) {
      for (const auto& partition : topic.partitions) {
        if (filter.allows(topic.name, partition.partition)) keys.emplace_back(topic.name, partition.partition);
      }
    }
  }
  std::ranges::sort(keys);
  if (keys.empty()) return std::unexpected(terse_exception("Could not match any topic-partitions with the specified filters"));
  return keys;
}

void print_offsets(const Offsets& offsets, const Options& options, Session& session) {
  boost::json::array array;
  for (const auto& [key, offset] : offsets) {
    if (offset == -1) continue;  // there is no such record
    if (options.has("json")) {
      array.push_back({{"topic", key.first}, {"partition", key.second}, {"offset", fmt::format("{}", offset)}});
    } else {
      session.out.print("{}:{}:{}\n", key.first, key.second, offset);
    }
  }
  if (options.has("json")) session.out.print("{}\n", boost::json::serialize(array));
}

Tried<std::monostate> get_offsets(const Options& options, const std::string& servers, Session& session) {
  std::string time_text = NEED(tried(options.value("time"))).value_or("latest");
  std::int64_t time = NEED(parse_time(time_text));
  auto rules = NEED(tried(options.value("topic-partitions")));
  auto topic = NEED(tried(options.value("topic")));
  auto partitions = NEED(tried(options.value("partitions")));
  PartitionFilter filter = NEED(rules ? PartitionFilter::from_rules(*rules) : PartitionFilter::from_topic(topic, partitions));
  auto config = NEED(tried(options.value("command-config")));
  client::ClusterOptions defaults;
  defaults.client_id = "GetOffsetShell";
  auto admin = NEED(make_admin_client(session, servers, config.value_or(""), defaults));
  client::Cluster& cluster = admin->cluster;
  auto keys = NEED(wanted_partitions(options, filter, cluster));
  Offsets offsets;
  auto outcome = client::ask_leaders(cluster, "listOffsets(api=METADATA)", keys, ask_offsets(time, cluster, offsets, session));
  for (const auto& [key, failure] : outcome) {
    if (failure.code == protocol::ErrorCode::NONE) continue;
    session.err.print("Skip getting offsets for topic-partition {}-{} due to error: {}\n", key.first, key.second,
                      client::to_java(failure));
  }
  print_offsets(offsets, options, session);
  return std::monostate{};
}

int run_get_offsets(const Command& self, const Words& words, Session& session) {
  auto fail = [&](const JavaError& error, bool terse) {
    session.err.print("Error occurred: {}\n", error.message);
    if (!terse) session.err.print("{}\n", error.stack_trace());
    return 1;
  };
  if (words.empty()) return usage_and_exit_code(self, session, kAbout);
  auto options = parse_options(*self.grammar, words);
  if (!options) {
    fail(java_error(options.mistake()), true);
    suggest_option(self, session, options.mistake());
    return 1;
  }
  if (auto code = help_or_version(self, *options, session, kAbout)) return *code;
  if (auto code = check_required(self, *options, session, {"bootstrap-server"})) return *code;
  auto servers = options->value("bootstrap-server");
  if (!servers) return fail(java_error(servers.mistake()), false);
  if (!client::parse_bootstrap_servers(**servers)) {
    return usage_and_exit_code(self, session, "Please provide valid host:port like host1:9091,host2:9092\n");
  }
  if (options->has("topic-partitions") && (options->has("topic") || options->has("partitions"))) {
    return fail(terse_exception("--topic-partitions cannot be used with --topic or --partitions"), true);
  }
  auto done = get_offsets(*options, **servers, session);
  if (done) return 0;
  return fail(done.error(), done.error().java_class == terse_exception("").java_class);
}

}  // namespace

extern const Command get_offsets_command{
    .name = "get-offsets",
    .kafka_name = "kafka-get-offsets",
    .summary = "print offsets of partitions: ends, starts, or at a time",
    .details = "--json prints an array of {topic, partition, offset}, the offset as text: numbers of JavaScript end at 2^53.",
    .grammar = &kGetOffsetsGrammar,
    .run = run_get_offsets,
};

}  // namespace cordwood::cli
