// kafka-transactions: lists and describes transactional ids, shows the producers of a partition, and ends hanging
// transactions.
//
// As Kafka 4.4.0: every table has a tab behind each column; an error is one line on stderr and the exit code 1.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/admin_client.h"
#include "cli/argparse.h"
#include "cli/java.h"
#include "cli/json_rows.h"
#include "client/groups.h"
#include "protocol/messages/describe_producers.h"
#include "protocol/messages/describe_transactions.h"
#include "protocol/messages/init_producer_id.h"
#include "protocol/messages/list_transactions.h"
#include "protocol/messages/write_txn_markers.h"

namespace cordwood::cli {
namespace {

using client::Outcome;
using protocol::ErrorCode;
using Producer = protocol::DescribeProducersResponse::Producer;

constexpr OptionSpec kToolOptions[] = {
    {.name = "version", .help = "the version of Kafka that this stands for", .letter = 'v'},
    {.name = "command-config", .argument = "FILE", .help = "properties for the client"},
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
};
constexpr OptionSpec kListOptions[] = {
    {.name = "duration-filter",
     .argument = "MS",
     .help = "only those whose transaction is open for longer",
     .number = Number::int64},
    {.name = "transactional-id-pattern",
     .argument = "REGEX",
     .help = "only ids that match this regular expression (RE2)"},
    {.name = "json", .help = "a line of JSON for each line of the table (Cordwood's own)"},
};
constexpr OptionSpec kDescribeOptions[] = {
    {.name = "transactional-id", .argument = "ID", .help = "the id", .required = true},
    {.name = "json", .help = "a line of JSON for each line of the table (Cordwood's own)"},
};
constexpr OptionSpec kProducersOptions[] = {
    {.name = "broker-id", .argument = "ID", .help = "ask this replica, not the leader", .number = Number::int32},
    {.name = "topic", .argument = "TOPIC", .help = "the topic", .required = true},
    {.name = "partition", .argument = "N", .help = "its partition", .required = true, .number = Number::int32},
    {.name = "json", .help = "a line of JSON for each line of the table (Cordwood's own)"},
};
constexpr OptionSpec kAbortOptions[] = {
    {.name = "topic", .argument = "TOPIC", .help = "the topic", .required = true},
    {.name = "partition", .argument = "N", .help = "its partition", .required = true, .number = Number::int32},
    {.name = "start-offset", .argument = "OFFSET", .help = "where the transaction begins", .number = Number::int64},
    {.name = "producer-id",
     .argument = "ID",
     .help = "its producer, when the offset is not known",
     .number = Number::int64},
    {.name = "producer-epoch", .argument = "EPOCH", .help = "and the producer's epoch", .number = Number::int32},
    {.name = "coordinator-epoch", .argument = "EPOCH", .help = "and the coordinator's", .number = Number::int32},
};
constexpr OptionSpec kHangingOptions[] = {
    {.name = "broker-id", .argument = "ID", .help = "partitions that this broker has", .number = Number::int32},
    {.name = "max-transaction-timeout",
     .argument = "MINUTES",
     .help = "look at transactions that are older",
     .default_text = "15",
     .number = Number::int32},
    {.name = "topic", .argument = "TOPIC", .help = "partitions of this topic"},
    {.name = "partition", .argument = "N", .help = "this one alone", .number = Number::int32},
    {.name = "json", .help = "a line of JSON for each line of the table (Cordwood's own)"},
};
constexpr OptionSpec kTerminateOptions[] = {
    {.name = "transactionalId", .argument = "ID", .help = "the id", .required = true},
};
constexpr Grammar kList{.habit = Habit::argparse4j, .options = kListOptions};
constexpr Grammar kDescribe{.habit = Habit::argparse4j, .options = kDescribeOptions};
constexpr Grammar kProducers{.habit = Habit::argparse4j, .options = kProducersOptions};
constexpr Grammar kAbort{.habit = Habit::argparse4j, .options = kAbortOptions};
constexpr Grammar kHanging{.habit = Habit::argparse4j, .options = kHangingOptions};
constexpr Grammar kTerminate{.habit = Habit::argparse4j, .options = kTerminateOptions};
constexpr Grammar::Sub kSubs[] = {
    {"list", "transactional ids", &kList},
    {"describe", "the state of one transactional id", &kDescribe},
    {"describe-producers", "producers that write to a partition", &kProducers},
    {"abort", "write a marker that ends a hanging transaction", &kAbort},
    {"find-hanging", "transactions that are open and that no coordinator knows", &kHanging},
    {"forceTerminateTransaction", "end whatever an id has open", &kTerminate},
};
constexpr Grammar kTransactionsGrammar{.habit = Habit::argparse4j, .options = kToolOptions, .subcommands = kSubs};

// Kafka's own build; its tool says which.
constexpr ArgumentHabits kHabits{.program = "kafka-transactions.sh", .version = "4.4.0 (Commit:1156b2752aaa28ea)"};

// Rows with every column as wide as its longest cell, a tab behind each.
std::string tab_table(std::vector<std::string> headers, std::vector<std::vector<std::string>> rows) {
  rows.insert(rows.begin(), std::move(headers));
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += fmt::format("{:<{}}\t", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

class Transactions {
 public:
  Transactions(const Options& options, Session& session, client::Cluster& cluster)
      : options_(options), session_(session), cluster_(cluster) {}

  int list() {
    auto deadline = cluster_.deadline();
    auto metadata = cluster_.metadata(std::vector<std::string>(), "listTransactions(api=METADATA)", deadline);
    if (!metadata) return fail("Failed to list transactions", metadata.failure());
    protocol::ListTransactionsRequest request;
    request.duration_filter = long_of("duration-filter").value_or(-1);
    if (options_.has("transactional-id-pattern"))
      request.transactional_id_pattern = options_.values("transactional-id-pattern").front();
    std::vector<std::vector<std::string>> rows;
    for (std::int32_t id : brokers()) {
      auto answer = list_at(id, request, deadline);
      if (!answer) return fail("Failed to list transactions", answer.failure());
      for (const auto& state : answer->transaction_states) {
        rows.push_back({state.transactional_id, fmt::format("{}", id), fmt::format("{}", state.producer_id),
                        state.transaction_state});
      }
    }
    print_table({"TransactionalId", "Coordinator", "ProducerId", "TransactionState"}, std::move(rows));
    return 0;
  }

  int describe() {
    std::string id = options_.values("transactional-id").front();
    std::string what = fmt::format("Failed to describe transaction state of transactional-id `{}`", id);
    std::int32_t coordinator = -1;
    auto state = state_of(id, coordinator);
    if (!state) return fail(what, state.failure());
    std::vector<std::string> partitions;
    for (const auto& topic : state->topics) {
      for (std::int32_t partition : topic.partitions)
        partitions.push_back(fmt::format("{}-{}", topic.topic, partition));
    }
    std::string start = "None";
    std::string duration = "None";
    if (state->transaction_start_time_ms >= 0) {
      start = fmt::format("{}", state->transaction_start_time_ms);
      duration = fmt::format("{}", session_.clock.now().value - state->transaction_start_time_ms);
    }
    print_table({"CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs",
                 "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions"},
                {{fmt::format("{}", coordinator), id, fmt::format("{}", state->producer_id),
                    fmt::format("{}", state->producer_epoch), state->transaction_state,
                    fmt::format("{}", state->transaction_timeout_ms), start, duration,
                    fmt::format("{}", fmt::join(partitions, ","))}});
    return 0;
  }

  int describe_producers() {
    client::GroupPartition key = partition();
    auto broker = int_of("broker-id");
    std::string what = fmt::format("Failed to describe producers for partition {} on {}", key.to_string(),
                                   broker ? fmt::format("broker {}", *broker) : "leader");
    auto producers = producers_of(key, broker);
    if (!producers) return fail(what, producers.failure());
    std::vector<std::vector<std::string>> rows;
    for (const Producer& producer : *producers) {
      std::string start =
          producer.current_txn_start_offset < 0 ? "None" : fmt::format("{}", producer.current_txn_start_offset);
      rows.push_back({fmt::format("{}", producer.producer_id), fmt::format("{}", producer.producer_epoch),
                      fmt::format("{}", producer.coordinator_epoch), fmt::format("{}", producer.last_sequence),
                      fmt::format("{}", producer.last_timestamp), start});
    }
    print_table({"ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
                 "CurrentTransactionStartOffset"},
                std::move(rows));
    return 0;
  }

  int abort() {
    client::GroupPartition key = partition();
    protocol::WriteTxnMarkersRequest::Marker marker;
    std::string what = fmt::format("Failed to abort transaction on partition {}", key.to_string());
    if (auto start = long_of("start-offset")) {
      auto producers = producers_of(key, {});
      if (!producers) {
        return fail(fmt::format("Failed to validate producer state for partition {}", key.to_string()),
                    producers.failure());
      }
      auto found = std::ranges::find(*producers, *start, &Producer::current_txn_start_offset);
      if (found == producers->end()) {
        return complain(fmt::format("Could not find any open transactions starting at offset {} on partition {}",
                                    *start, key.to_string()));
      }
      marker.producer_id = found->producer_id;
      marker.producer_epoch = static_cast<std::int16_t>(found->producer_epoch);
      // A transaction that no coordinator has marked yet has no epoch of one.
      marker.coordinator_epoch = std::max(found->coordinator_epoch, 0);
    } else if (options_.has("producer-id") && options_.has("producer-epoch") && options_.has("coordinator-epoch")) {
      marker.producer_id = *long_of("producer-id");
      marker.producer_epoch = static_cast<std::int16_t>(*int_of("producer-epoch"));
      marker.coordinator_epoch = std::max(*int_of("coordinator-epoch"), 0);
    } else {
      return complain(
          "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
          "with --producer-id, "
          "--producer-epoch, and --coordinator-epoch (for older brokers)");
    }
    marker.transaction_result = false;
    marker.topics.emplace_back();
    marker.topics.back().name = key.topic;
    marker.topics.back().partition_indexes = {key.partition};
    auto outcome = write_marker(key, marker);
    return outcome ? 0 : fail(what, outcome.failure());
  }

  int find_hanging() {
    if (!options_.has("topic") && !options_.has("broker-id")) {
      return complain(
          "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search");
    }
    if (options_.has("partition") && !options_.has("topic")) {
      return complain("The --partition argument requires --topic to be provided");
    }
    std::vector<client::GroupPartition> partitions;
    auto broker = int_of("broker-id");
    if (auto scope = partitions_in_scope(broker, partitions); !scope) {
      return fail("Failed to list topics", scope.failure());
    }
    std::string doing = "Failed to find hanging transactions";
    auto hanging = hanging_in(partitions, broker, doing);
    if (!hanging) return fail(doing, hanging.failure());
    print_table({"Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp", "Duration(min)"},
                *std::move(hanging));
    return 0;
  }

  int force_terminate() {
    std::string id = options_.values("transactionalId").front();
    auto fenced = fence(id);
    return fenced ? 0 : fail(fmt::format("Failed to force terminate transactionalId `{}`", id), fenced.failure());
  }

 private:
  void print_table(std::vector<std::string> headers, std::vector<std::vector<std::string>> rows) {
    if (options_.has("json")) session_.out.write(rows_as_json_lines(headers, rows));
    else session_.out.write(tab_table(std::move(headers), std::move(rows)));
  }
  std::optional<std::int64_t> long_of(std::string_view name) const { return *options_.long_value(name); }
  std::optional<std::int32_t> int_of(std::string_view name) const { return *options_.int_value(name); }
  client::GroupPartition partition() const { return {options_.values("topic").front(), *int_of("partition")}; }

  std::vector<std::int32_t> brokers() const {
    std::vector<std::int32_t> ids;
    for (const auto& [id, node] : cluster_.nodes()) ids.push_back(id);
    return ids;
  }

  int complain(std::string_view text) {
    session_.err.print("{}\n", text);
    return 1;
  }
  int fail(std::string_view what, const client::Failure& failure) {
    return complain(fmt::format("{}: {}. Enable debug logging for additional detail.", what, failure.message));
  }

  void log_error(const std::string& text, std::string_view logger) {
    log_line(session_, Level::error, fmt::format("[AdminClient clientId={}] {}", cluster_.options().client_id, text),
             logger);
  }

  Outcome<protocol::ListTransactionsResponse> list_at(std::int32_t broker,
                                                      const protocol::ListTransactionsRequest& request,
                                                      MonotonicNs deadline) {
    for (int attempt = 0;; ++attempt) {
      client::Link* link = ATTEMPT(cluster_.broker(broker, "listTransactions(api=LIST_TRANSACTIONS)", deadline));
      auto answer = link->ask<protocol::ListTransactionsResponse>(request);
      if (!answer && !protocol::is_retriable(answer.failure().code)) return answer.failure();
      ErrorCode code = answer ? (*answer)->error_code : answer.failure().code;
      if (answer && code == ErrorCode::NONE) return std::move(answer->message);
      if (!protocol::is_retriable(code)) {
        log_error(
            fmt::format("The `ListTransactions` request sent to broker {} failed because of an unexpected error {}",
                        broker, protocol::name_of(code)),
            "org.apache.kafka.clients.admin.internals.ListTransactionsHandler");
        return client::Failure{
            code,
            fmt::format("ListTransactions request sent to broker {} failed with an unexpected exception", broker)};
      }
      ATTEMPT(cluster_.back_off(attempt, "listTransactions(api=LIST_TRANSACTIONS)", deadline));
    }
  }

  Outcome<protocol::DescribeTransactionsResponse::State> state_of(const std::string& id, std::int32_t& coordinator) {
    constexpr std::string_view kCall = "describeTransactions(api=FIND_COORDINATOR)";
    auto deadline = cluster_.deadline();
    for (int attempt = 0;; ++attempt) {
      client::Link* link = ATTEMPT(cluster_.coordinator(client::CoordinatorType::transaction, id, kCall, deadline));
      coordinator = link->node().id;
      protocol::DescribeTransactionsRequest request;
      request.transactional_ids = {id};
      auto answer = ATTEMPT(link->ask<protocol::DescribeTransactionsResponse>(request));
      if (answer->transaction_states.size() != 1) return client::failure_of(ErrorCode::UNKNOWN_SERVER_ERROR);
      const auto& state = answer->transaction_states.front();
      if (state.error_code == ErrorCode::NONE) return state;
      if (state.error_code == ErrorCode::TRANSACTIONAL_ID_NOT_FOUND) {
        return client::Failure{
            state.error_code, fmt::format("DescribeTransactions request for transactionalId `{}` failed because the ID "
                                          "could not be found",
                                          id)};
      }
      if (!protocol::is_retriable(state.error_code)) return client::failure_of(state.error_code);
      cluster_.forget_coordinator(client::CoordinatorType::transaction, id);
      ATTEMPT(cluster_.back_off(attempt, kCall, deadline));
    }
  }

  // Asks for a new epoch of the id's producer: the one that has a transaction open is fenced, and its transaction aborted.
  Outcome<client::Nothing> fence(const std::string& id) {
    constexpr std::string_view kFinding = "fenceProducer(api=FIND_COORDINATOR)";
    constexpr std::string_view kFencing = "fenceProducer(api=INIT_PRODUCER_ID)";
    auto deadline = cluster_.deadline();
    for (int attempt = 0;; ++attempt) {
      client::Link* link = ATTEMPT(cluster_.coordinator(client::CoordinatorType::transaction, id, kFinding, deadline));
      protocol::InitProducerIdRequest request;
      request.transactional_id = id;
      request.transaction_timeout_ms = static_cast<std::int32_t>(cluster_.options().request_timeout.value);
      request.producer_id = -1;
      request.producer_epoch = -1;
      auto answer = ATTEMPT(link->ask<protocol::InitProducerIdResponse>(request));
      ErrorCode code = answer->error_code;
      if (code == ErrorCode::NONE) return client::Nothing{};
      if (!protocol::is_retriable(code)) return client::failure_of(code);
      if (code == ErrorCode::NOT_COORDINATOR || code == ErrorCode::COORDINATOR_NOT_AVAILABLE) {
        cluster_.forget_coordinator(client::CoordinatorType::transaction, id);
      }
      ATTEMPT(cluster_.back_off(attempt, kFencing, deadline));
    }
  }

  // The leader of the partition, waited for until the deadline.
  Outcome<client::Link*> leader_of(const client::GroupPartition& key, std::string_view call, MonotonicNs deadline) {
    std::string looking_up = fmt::format("{}(api=METADATA)", call);
    for (int attempt = 0;; ++attempt) {
      auto metadata = ATTEMPT(cluster_.metadata(std::vector<std::string>{key.topic}, looking_up, deadline));
      for (const auto& topic : metadata.topics) {
        for (const auto& found : topic.partitions) {
          if (found.partition_index == key.partition && found.leader_id >= 0)
            return cluster_.broker(found.leader_id, call, deadline);
        }
      }
      ATTEMPT(cluster_.back_off(attempt, looking_up, deadline));
    }
  }

  Outcome<std::vector<Producer>> producers_of(const client::GroupPartition& key, std::optional<std::int32_t> broker) {
    constexpr std::string_view kCall = "describeProducers";
    auto deadline = cluster_.deadline();
    for (int attempt = 0;; ++attempt) {
      client::Link* link =
          broker ? ATTEMPT(cluster_.broker(*broker, kCall, deadline)) : ATTEMPT(leader_of(key, kCall, deadline));
      protocol::DescribeProducersRequest request;
      request.topics.emplace_back();
      request.topics.back().name = key.topic;
      request.topics.back().partition_indexes = {key.partition};
      auto answer = ATTEMPT(link->ask<protocol::DescribeProducersResponse>(request));
      if (answer->topics.size() != 1 || answer->topics.front().partitions.size() != 1) {
        return client::failure_of(ErrorCode::UNKNOWN_SERVER_ERROR);
      }
      const auto& found = answer->topics.front().partitions.front();
      if (found.error_code == ErrorCode::NONE) return found.active_producers;
      if (!protocol::is_retriable(found.error_code)) return client::failure_of(found.error_code, found.error_message);
      ATTEMPT(cluster_.back_off(attempt, kCall, deadline));
    }
  }

  Outcome<client::Nothing> write_marker(const client::GroupPartition& key,
                                        const protocol::WriteTxnMarkersRequest::Marker& marker) {
    constexpr std::string_view kCall = "abortTransaction";
    auto deadline = cluster_.deadline();
    for (int attempt = 0;; ++attempt) {
      client::Link* link = ATTEMPT(leader_of(key, kCall, deadline));
      protocol::WriteTxnMarkersRequest request;
      request.markers = {marker};
      auto answer = ATTEMPT(link->ask<protocol::WriteTxnMarkersResponse>(request));
      ErrorCode code = ErrorCode::UNKNOWN_SERVER_ERROR;
      for (const auto& one : answer->markers) {
        for (const auto& topic : one.topics) {
          for (const auto& found : topic.partitions) code = found.error_code;
        }
      }
      if (code == ErrorCode::NONE) return client::Nothing{};
      if (!protocol::is_retriable(code)) return client::failure_of(code);
      ATTEMPT(cluster_.back_off(attempt, kCall, deadline));
    }
  }

  Outcome<client::Nothing> partitions_in_scope(std::optional<std::int32_t> broker,
                                               std::vector<client::GroupPartition>& partitions) {
    if (options_.has("topic") && options_.has("partition")) {
      partitions = {partition()};
      return client::Nothing{};
    }
    std::optional<std::vector<std::string>> topics;
    if (options_.has("topic")) topics.emplace(options_.values("topic"));
    auto metadata = ATTEMPT(cluster_.metadata(topics, topics ? "describeTopics" : "listTopics", cluster_.deadline()));
    for (const auto& topic : metadata.topics) {
      if (topic.error_code != ErrorCode::NONE) return client::failure_of(topic.error_code);
      for (const auto& found : topic.partitions) {
        bool has = !broker || std::ranges::find(found.replica_nodes, *broker) != found.replica_nodes.end();
        if (has) partitions.push_back({topic.name.value_or(""), found.partition_index});
      }
    }
    return client::Nothing{};
  }

  // A transaction hangs when it is old, and its producer's id belongs to no transactional id, or to one whose
  // transaction has not begun in this partition. `doing` becomes what failed, where Kafka's tool says it differently.
  Outcome<std::vector<std::vector<std::string>>> hanging_in(const std::vector<client::GroupPartition>& partitions,
                                                            std::optional<std::int32_t> broker, std::string& doing) {
    std::int64_t now = session_.clock.now().value;
    std::int64_t oldest = std::int64_t{int_of("max-transaction-timeout").value_or(15)} * 60'000;
    std::vector<std::pair<client::GroupPartition, Producer>> candidates;
    std::set<std::int64_t> ids;
    for (const client::GroupPartition& key : partitions) {
      auto producers = producers_of(key, broker);
      if (!producers) {
        doing = fmt::format("Failed to describe producers for {} partitions on broker {}", partitions.size(),
                            broker ? fmt::format("Optional[{}]", *broker) : "Optional.empty");
        return producers.failure();
      }
      for (const Producer& producer : *producers) {
        if (producer.current_txn_start_offset < 0 || now - producer.last_timestamp <= oldest) continue;
        candidates.emplace_back(key, producer);
        ids.insert(producer.producer_id);
      }
    }
    std::vector<std::vector<std::string>> rows;
    if (candidates.empty()) return rows;
    std::map<std::int64_t, std::string> transactional_ids;
    auto deadline = cluster_.deadline();
    ATTEMPT(cluster_.metadata(std::vector<std::string>(), "listTransactions(api=METADATA)", deadline));
    protocol::ListTransactionsRequest request;
    request.producer_id_filters.assign(ids.begin(), ids.end());
    for (std::int32_t id : brokers()) {
      auto listed = ATTEMPT(list_at(id, request, deadline));
      for (const auto& state : listed.transaction_states) transactional_ids[state.producer_id] = state.transactional_id;
    }
    for (const auto& [key, producer] : candidates) {
      if (auto id = transactional_ids.find(producer.producer_id); id != transactional_ids.end()) {
        std::int32_t coordinator = -1;
        auto state = state_of(id->second, coordinator);
        if (!state && state.failure().code != ErrorCode::TRANSACTIONAL_ID_NOT_FOUND) return state.failure();
        bool known = state && std::ranges::any_of(state->topics, [&](const auto& topic) {
                       return topic.topic == key.topic &&
                              std::ranges::find(topic.partitions, key.partition) != topic.partitions.end();
                     });
        if (known) continue;
      }
      rows.push_back({key.topic, fmt::format("{}", key.partition), fmt::format("{}", producer.producer_id),
                      fmt::format("{}", producer.producer_epoch), fmt::format("{}", producer.coordinator_epoch),
                      fmt::format("{}", producer.current_txn_start_offset), fmt::format("{}", producer.last_timestamp),
                      fmt::format("{}", (now - producer.last_timestamp) / 60'000)});
    }
    return rows;
  }

  const Options& options_;
  Session& session_;
  client::Cluster& cluster_;
};

int die(const Thrown& exception, Session& session) {
  session.err.print("Exception in thread \"main\" {}", exception.trace());
  return 1;
}

int run_transactions(const Command& self, const Words& words, Session& session) {
  auto read = arguments_or_exit_code(self, kHabits, words, session);
  if (int* code = std::get_if<int>(&read)) return *code;
  const Arguments& arguments = std::get<Arguments>(read);
  Properties properties;
  if (arguments.options.has("command-config")) {
    std::string path = arguments.options.values("command-config").front();
    auto loaded = read_properties_file(session, path);
    if (!loaded) return die(thrown("java.nio.file.NoSuchFileException", loaded.error().what), session);
    properties = *std::move(loaded);
  }
  auto creation_failed = [&](std::string message) {
    Thrown outer = thrown("org.apache.kafka.common.KafkaException", "Failed to create new KafkaAdminClient");
    outer.classes.push_back(fmt::format("org.apache.kafka.common.config.ConfigException: {}", message));
    return die(outer, session);
  };
  auto options = cluster_options(properties);
  if (!options) return creation_failed(options.error().what);
  auto bootstrap = client::parse_bootstrap_servers(arguments.options.values("bootstrap-server").front());
  if (!bootstrap) return creation_failed(bootstrap.error().what);
  options->bootstrap = *std::move(bootstrap);
  AdminClient admin(session, *std::move(options));
  if (!admin.cluster.resolvable()) return creation_failed("No resolvable bootstrap urls given in bootstrap.servers");
  Transactions transactions(arguments.command_options, session, admin.cluster);
  std::string_view command = arguments.command->name;
  if (command == "list") return transactions.list();
  if (command == "describe") return transactions.describe();
  if (command == "describe-producers") return transactions.describe_producers();
  if (command == "abort") return transactions.abort();
  if (command == "find-hanging") return transactions.find_hanging();
  return transactions.force_terminate();
}

}  // namespace

extern const Command transactions_command{
    .name = "transactions",
    .kafka_name = "kafka-transactions",
    .summary = "list and describe transactional ids, find and end hanging transactions",
    .grammar = &kTransactionsGrammar,
    .run = run_transactions,
};

}  // namespace cordwood::cli
