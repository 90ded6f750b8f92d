// kafka-delete-records: moves log start offsets of partitions, which a JSON file names, so that what lies before them goes.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/json_words.h"
#include "cli/kafka_tool.h"
#include "client/partition_leaders.h"
#include "protocol/messages/delete_records.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kAboutDeleteRecords =
    "This tool helps to delete records of the given partitions down to the specified offset.";

constexpr OptionSpec kDeleteRecordsOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
    {.name = "offset-json-file", .argument = "FILE", .help = "{\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"offset\":5}],\"version\":1}; the offset -1 is the high watermark", .required = true},
    {.name = "command-config", .argument = "FILE", .help = "properties of the client"},
    {.name = "json", .help = "one JSON array instead of lines (Cordwood's own)"},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};
constexpr Grammar kDeleteRecordsGrammar{.habit = Habit::joptsimple, .options = kDeleteRecordsOptions};

using OffsetList = std::vector<std::pair<client::PartitionKey, std::int64_t>>;
using OffsetMap = std::map<client::PartitionKey, std::int64_t>;

Tried<OffsetList> parse_offsets(std::string_view text) {
  auto json = NEED(parse_json(text, admin_operation("The input string is not a valid JSON")));
  constexpr std::int32_t kEarliestVersion = 1;
  std::int32_t version = kEarliestVersion;
  if (json.is_object() && json.as_object().contains("version")) version = NEED(json_int(json, "version"));
  if (version != kEarliestVersion) {
    return std::unexpected(admin_operation(fmt::format("Not supported version field value {}", version)));
  }
  if (!json.is_object() || !json.as_object().contains("partitions")) {
    return std::unexpected(admin_operation("Missing partitions field"));
  }
  const auto& partitions = json.as_object().at("partitions");
  if (!partitions.is_array()) {
    return std::unexpected(json_mapping(fmt::format("Expected JSON array, received {}", boost::json::serialize(partitions))));
  }
  OffsetList offsets;
  for (const auto& item : partitions.as_array()) {
    std::string topic = NEED(json_string(item, "topic"));
    std::int32_t partition = NEED(json_int(item, "partition"));
    offsets.push_back({{std::move(topic), partition}, NEED(json_long(item, "offset"))});
  }
  return offsets;
}

Tried<OffsetMap> without_duplicates(const OffsetList& list) {
  OffsetMap offsets;
  std::vector<std::string> twice;
  for (const auto& [key, offset] : list) {
    std::string name = fmt::format("{}-{}", key.first, key.second);
    if (!offsets.emplace(key, offset).second && std::ranges::find(twice, name) == twice.end()) twice.push_back(name);
  }
  if (twice.empty()) return offsets;
  return std::unexpected(admin_command_failed(
      fmt::format("Offset json file contains duplicate topic partitions: {}", fmt::join(twice, ","))));
}

client::AskLeader ask_deletion(const OffsetMap& offsets, const client::Cluster& cluster, OffsetMap& low_watermarks, Session& session) {
  return [&](client::Link& link, const std::vector<client::PartitionKey>& keys)
             -> client::Outcome<std::map<client::PartitionKey, protocol::ErrorCode>> {
    protocol::DeleteRecordsRequest request;
    request.timeout_ms = static_cast<std::int32_t>(cluster.options().request_timeout.value);
    for (const auto& key : keys) {
      if (request.topics.empty() || request.topics.back().name != key.first) request.topics.push_back({key.first, {}});
      request.topics.back().partitions.push_back({key.second, offsets.at(key)});
    }
    auto answer = ATTEMPT(link.ask<protocol::DeleteRecordsResponse>(request));
    std::map<client::PartitionKey, protocol::ErrorCode> outcome;
    for (const auto& topic : answer->topics) {
      for (const auto& partition : topic.partitions) {
        client::PartitionKey key{topic.name, partition.partition_index};
        outcome[key] = partition.error_code;
        low_watermarks[key] = partition.low_watermark;
        if (partition.error_code == protocol::ErrorCode::NONE || protocol::is_retriable(partition.error_code)) continue;
        log_line(session, Level::error,
                 fmt::format("[AdminClient clientId={}] DeleteRecords request for topic partition {}-{} failed due to an unexpected "
                             "error {}",
                             cluster.options().client_id, key.first, key.second, protocol::name_of(partition.error_code)),
                 "org.apache.kafka.clients.admin.internals.DeleteRecordsHandler");
      }
    }
    return outcome;
  };
}

Tried<std::monostate> delete_records(const Options& options, Session& session) {
  auto servers = NEED(tried(options.value("bootstrap-server")));
  auto config = NEED(tried(options.value("command-config")));
  auto admin = NEED(make_admin_client(session, *servers, config.value_or("")));
  auto file = NEED(tried(options.value("offset-json-file")));
  std::string text = NEED(read_whole_file(session, *file));
  auto list = NEED(parse_offsets(text));
  OffsetMap offsets = NEED(without_duplicates(list));
  bool json = options.has("json");
  if (!json) session.out.write("Executing records delete operation\n");
  session.out.flush();
  std::vector<client::PartitionKey> keys;
  for (const auto& [key, offset] : offsets) keys.push_back(key);
  OffsetMap low_watermarks;
  auto outcome = client::ask_leaders(admin->cluster, "deleteRecords(api=METADATA)", keys,
                                     ask_deletion(offsets, admin->cluster, low_watermarks, session));
  if (json) {
    boost::json::array array;
    for (const auto& key : keys) {
      const client::Failure& failure = outcome[key];
      boost::json::object object{{"topic", key.first}, {"partition", key.second}, {"lowWatermark", nullptr}, {"error", nullptr}};
      if (failure.code == protocol::ErrorCode::NONE) object["lowWatermark"] = low_watermarks[key];
      else object["error"] = client::to_java(failure);
      array.push_back(std::move(object));
    }
    session.out.print("{}\n", boost::json::serialize(array));
    return std::monostate{};
  }
  session.out.write("Records delete operation completed:\n");
  for (const auto& key : keys) {
    const client::Failure& failure = outcome[key];
    session.out.print("partition: {}-{}\t", key.first, key.second);
    if (failure.code == protocol::ErrorCode::NONE) session.out.print("low_watermark: {}\n", low_watermarks[key]);
    else session.out.print("error: {}\n", client::to_java(failure));
  }
  return std::monostate{};
}

int run_delete_records(const Command& self, const Words& words, Session& session) {
  if (words.empty()) return usage_and_exit_code(self, session, kAboutDeleteRecords);
  auto options = parse_options(*self.grammar, words);
  if (!options) return print_parse_error(self, session, options.mistake());
  if (auto code = help_or_version(self, *options, session, kAboutDeleteRecords)) return *code;
  if (auto code = check_required(self, *options, session, {"bootstrap-server", "offset-json-file"})) return *code;
  auto done = delete_records(*options, session);
  return done ? 0 : print_with_trace(session, done.error());
}

}  // namespace

extern const Command delete_records_command{
    .name = "delete-records",
    .kafka_name = "kafka-delete-records",
    .summary = "delete the records of partitions before an offset",
    .grammar = &kDeleteRecordsGrammar,
    .run = run_delete_records,
};

}  // namespace cordwood::cli
