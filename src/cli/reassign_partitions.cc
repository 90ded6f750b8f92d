// kafka-reassign-partitions: moves replicas of partitions to other brokers and to other log directories.
//
// As Kafka 4.4.0: everything is told on stdout, mistakes too; only wrong options are told on stderr.
#include <fmt/format.h>

#include <algorithm>

#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/json_words.h"
#include "cli/kafka_tool.h"
#include "cli/reassignment_plan.h"
#include "client/configs.h"
#include "client/java_order.h"
#include "client/log_dirs.h"
#include "client/reassignments.h"
#include "client/topics.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kAboutReassignment = "This tool helps to move topic partitions between replicas.";

constexpr OptionSpec kReassignOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from"},
    {.name = "bootstrap-controller", .argument = "HOST:PORT,…", .help = "controllers to start from, for --list and --cancel"},
    {.name = "command-config", .argument = "FILE", .help = "properties of the client"},
    {.name = "generate", .help = "print where the partitions of some topics are, and where they could be instead; nothing is changed"},
    {.name = "execute", .help = "begin to move partitions as a file says"},
    {.name = "verify", .help = "print how far the moves of a file are; when all are done, limits of speed are taken away"},
    {.name = "cancel", .help = "give up the moves of a file"},
    {.name = "list", .help = "print the moves that go on"},
    {.name = "topics-to-move-json-file", .argument = "FILE", .help = "with --generate: {\"version\":1,\"topics\":[{\"topic\":\"t\"}]}"},
    {.name = "broker-list", .argument = "0,1,…", .help = "with --generate: the brokers to choose from"},
    {.name = "reassignment-json-file", .argument = "FILE", .help = "with --execute, --verify, --cancel: {\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"replicas\":[1],\"log_dirs\":[\"/data\"]}]}; log_dirs may be left out, or name \"any\""},
    {.name = "throttle", .argument = "BYTES", .help = "with --execute: at most so many bytes a second between brokers", .default_text = "-1"},
    {.name = "replica-alter-log-dirs-throttle", .argument = "BYTES", .help = "with --execute: at most so many bytes a second between log directories of a broker", .default_text = "-1"},
    {.name = "timeout", .argument = "MS", .help = "with --execute: how long to wait for moves between log directories to begin", .default_text = "10000"},
    {.name = "additional", .help = "with --execute: though other moves go on"},
    {.name = "disallow-replication-factor-change", .help = "with --execute: refuse what would change the number of replicas"},
    {.name = "preserve-throttles", .help = "with --verify and --cancel: leave limits of speed as they are"},
    {.name = "disable-rack-aware", .help = "with --generate: do not look at racks"},
    {.name = "json", .help = "with --list and --verify: one line of JSON (Cordwood's own)"},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};
constexpr Grammar kReassignGrammar{.habit = Habit::joptsimple, .options = kReassignOptions};

using client::PartitionKey;
using Done = std::monostate;

std::string_view plural(std::size_t count) { return count == 1 ? "" : "s"; }

std::string names_text(const std::vector<PartitionKey>& keys) {
  std::vector<std::string> names;
  for (const PartitionKey& key : keys) names.push_back(partition_text(key));
  return fmt::format("{}", fmt::join(names, ","));
}

// As ExecutionException, with another text.
JavaError execution_of(protocol::ErrorCode code, std::string message) { return execution_exception({code, std::move(message)}); }

// TopicPartitionReplica.hashCode().
std::int32_t replica_hash_code(const ReplicaKey& key) {
  constexpr std::uint32_t kFactor = 31;
  std::uint32_t hash = kFactor + static_cast<std::uint32_t>(client::java_hash_code(key.partition.first));
  hash = hash * kFactor + static_cast<std::uint32_t>(key.partition.second);
  return static_cast<std::int32_t>(hash * kFactor + static_cast<std::uint32_t>(key.broker));
}

// Bytes a second; below nought: none is set.
struct Limits {
  std::int64_t between_brokers;
  std::int64_t between_directories;
};

class Reassigner {
 public:
  Reassigner(const Options& options, Session& session, client::Cluster& cluster)
      : options_(options), session_(session), cluster_(cluster) {}

  Tried<Done> generate() {
    std::string topics_text = NEED(file("topics-to-move-json-file"));
    std::string brokers_text = NEED(text("broker-list"));
    auto brokers = NEED(parse_broker_list(brokers_text));
    auto topics = NEED(parse_topics_to_move(topics_text));
    Assignment current;
    for (const std::string& topic : topics) {
      for (const auto& partition : NEED(described(topic)).partitions) current[{topic, partition.partition}] = partition.replicas;
    }
    std::vector<client::Node> usable;
    bool racks = !options_.has("disable-rack-aware");
    for (auto& [id, node] : NEED(nodes())) {
      if (!brokers.contains(id)) continue;
      usable.push_back(node);
      if (!racks) usable.back().rack.reset();
    }
    auto without = static_cast<std::size_t>(std::ranges::count_if(usable, [](const client::Node& node) { return !node.rack; }));
    if (racks && without != 0 && without != usable.size()) {
      return std::unexpected(admin_operation("Not all brokers have rack information. Add --disable-rack-aware in command line to make "
                                             "replica assignment without rack information."));
    }
    auto proposed = NEED(deal_out(current, usable, session_.random));
    session_.out.print("Current partition replica assignment\n{}\n\n", reassignment_json(current, NEED(directories_of(current))));
    session_.out.print("Proposed partition reassignment configuration\n{}\n", reassignment_json(proposed, {}));
    return Done{};
  }

  Tried<Done> execute() {
    std::string plan_text = NEED(file("reassignment-json-file"));
    Limits limits{NEED(number("throttle", kNoLimit)), NEED(number("replica-alter-log-dirs-throttle", kNoLimit))};
    DurationMs patience = NEED(timeout());
    auto plan = NEED(parse_reassignment_plan(plan_text));
    NEED(check_reassignment_plan(plan));
    auto active = NEED(tried_get(client::list_reassignments(cluster_, {})));
    if (!options_.has("additional") && !active.empty()) {
      return std::unexpected(terse_exception(
          "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a new partition "
          "assignment in addition to the existing one. The --additional flag can also be used to change the throttle by resubmitting the "
          "current reassignment."));
    }
    NEED(check_brokers(plan));
    Assignment proposed = plan.assignment();
    Assignment current = NEED(current_of(proposed));
    session_.out.print("Current partition replica assignment\n\n{}\n\nSave this to use as the --reassignment-json-file option during rollback\n",
                       reassignment_json(current, NEED(directories_of(current))));
    NEED(limit_speed(limits, plan, proposed, current, active));
    client::ReassignmentTargets targets(proposed.begin(), proposed.end());
    auto factor = options_.has("disallow-replication-factor-change") ? client::ReplicationFactor::stays : client::ReplicationFactor::may_change;
    NEED(begin(targets, factor, "Error reassigning partition(s):"));
    std::vector<PartitionKey> started;
    for (const auto& [key, replicas] : proposed) started.push_back(key);
    session_.out.print("Successfully started partition reassignment{} for {}\n", plural(started.size()), names_text(started));
    return move_directories(std::move(plan.directories), patience);
  }

  Tried<Done> verify() {
    std::string plan_text = NEED(file("reassignment-json-file"));
    auto plan = NEED(parse_reassignment_plan(plan_text));
    boost::json::object json;
    bool partitions_done = NEED(verify_partitions(plan, json));
    bool moves_done = NEED(verify_moves(plan, json));
    if (options_.has("json")) session_.out.print("{}\n", boost::json::serialize(json));
    if (!partitions_done || !moves_done || options_.has("preserve-throttles")) return Done{};
    return clear_limits(plan);
  }

  Tried<Done> cancel() {
    std::string plan_text = NEED(file("reassignment-json-file"));
    DurationMs patience = NEED(timeout());
    auto plan = NEED(parse_reassignment_plan(plan_text));
    std::vector<PartitionKey> wanted;
    for (const auto& [key, replicas] : plan.assignment()) wanted.push_back(key);
    client::ReassignmentTargets targets;
    for (const auto& [key, reassignment] : NEED(tried_get(client::list_reassignments(cluster_, wanted)))) {
      if (!reassignment.adding.empty() || !reassignment.removing.empty()) targets[key] = std::nullopt;
    }
    if (targets.empty()) {
      session_.out.write("None of the specified partition reassignments are active.\n");
    } else {
      NEED(begin(targets, client::ReplicationFactor::may_change,
                 fmt::format("Error cancelling partition reassignment{} for:", plural(targets.size()))));
      std::vector<PartitionKey> cancelled;
      for (const auto& [key, nothing] : targets) cancelled.push_back(key);
      session_.out.print("Successfully cancelled partition reassignment{} for: {}\n", plural(cancelled.size()), names_text(cancelled));
    }
    // A replica goes no further when it is told to lie where it is.
    ReplicaDirectories back;
    for (const auto& [key, places] : NEED(places_of(plan.directories))) {
      if (places.future && places.current) back[key] = *places.current;
    }
    if (back.empty()) session_.out.write("None of the specified partition moves are active.");
    else NEED(move_directories(std::move(back), patience));
    if (options_.has("preserve-throttles")) return Done{};
    return clear_limits(plan);
  }

  Tried<Done> list() {
    auto active = NEED(tried_get(client::list_reassignments(cluster_, {})));
    if (options_.has("json")) {
      boost::json::array array;
      for (const auto& [key, reassignment] : active) {
        array.push_back({{"topic", key.first}, {"partition", key.second}, {"replicas", boost::json::value_from(reassignment.replicas)},
                         {"addingReplicas", boost::json::value_from(reassignment.adding)},
                         {"removingReplicas", boost::json::value_from(reassignment.removing)}});
      }
      session_.out.print("{}\n", boost::json::serialize(array));
      return Done{};
    }
    if (active.empty()) {
      session_.out.write("No partition reassignments found.\n");
      return Done{};
    }
    session_.out.write("Current partition reassignments:\n");
    for (const auto& [key, reassignment] : active) {
      session_.out.print("{}: replicas: {}.", partition_text(key), joined(reassignment.replicas));
      if (!reassignment.adding.empty()) session_.out.print(" adding: {}.", joined(reassignment.adding));
      if (!reassignment.removing.empty()) session_.out.print(" removing: {}.", joined(reassignment.removing));
      session_.out.write("\n");
    }
    return Done{};
  }

 private:
  Tried<std::string> text(std::string_view option) { return NEED(tried(options_.value(option))).value_or(""); }
  Tried<std::string> file(std::string_view option) {
    std::string path = NEED(text(option));
    return read_whole_file(session_, path);
  }
  Tried<std::int64_t> number(std::string_view option, std::int64_t otherwise) {
    return NEED(tried(options_.long_value(option))).value_or(otherwise);
  }
  Tried<DurationMs> timeout() { return DurationMs{NEED(number("timeout", kPatienceMs))}; }

  Tried<std::map<std::int32_t, client::Node>> nodes() {
    NEED(tried_get(cluster_.metadata(std::vector<std::string>(), "describeCluster", cluster_.deadline())));
    return cluster_.nodes();
  }

  Tried<client::TopicDescription> described(const std::string& topic) {
    auto topics = client::describe_topics(cluster_, std::vector<std::string>{topic});
    if (topics) return topics->front();
    if (topics.failure().code != protocol::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) return std::unexpected(execution_exception(topics.failure()));
    return std::unexpected(execution_of(topics.failure().code, fmt::format("Topic {} not found.", topic)));
  }

  Tried<Done> check_brokers(const ReassignmentPlan& plan) {
    auto known = NEED(nodes());
    for (const auto& [key, replicas] : plan.partitions) {
      for (std::int32_t broker : replicas) {
        if (!known.contains(broker)) return std::unexpected(admin_command_failed(fmt::format("Unknown broker id {}", broker)));
      }
    }
    return Done{};
  }

  // Where the partitions of `wanted` are now.
  Tried<Assignment> current_of(const Assignment& wanted) {
    std::vector<std::string> topics;
    for (const auto& [key, replicas] : wanted) {
      if (topics.empty() || topics.back() != key.first) topics.push_back(key.first);
    }
    client::order_as_java(topics, [](const std::string& topic) { return client::java_hash_code(topic); });
    Assignment current;
    for (const std::string& topic : topics) {
      for (const auto& partition : NEED(described(topic)).partitions) {
        PartitionKey key{topic, partition.partition};
        if (wanted.contains(key)) current[key] = partition.replicas;
      }
    }
    std::vector<std::string> absent;
    for (const auto& [key, replicas] : wanted) {
      if (!current.contains(key)) absent.push_back(partition_text(key));
    }
    if (absent.empty()) return current;
    return std::unexpected(execution_of(protocol::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                                        fmt::format("Unable to find partition: {}", fmt::join(absent, ", "))));
  }

  struct Places {
    std::optional<std::string> current;
    std::optional<std::string> future;
  };

  // The directories of the replicas that are keys of `replicas`; none of a replica that its broker does not have.
  template <class Value>
  Tried<std::map<ReplicaKey, Places>> places_of(const std::map<ReplicaKey, Value>& replicas) {
    std::map<ReplicaKey, Places> places;
    std::optional<std::int32_t> asked;
    for (const auto& [key, value] : replicas) {
      places[key];
      if (asked == key.broker) continue;
      asked = key.broker;
      for (const auto& directory : NEED(tried_get(client::describe_log_dirs(cluster_, key.broker, "describeReplicaLogDirs")))) {
        for (const auto& replica : directory.replicas) {
          ReplicaKey found{key.broker, replica.partition};
          if (replicas.contains(found)) (replica.is_future ? places[found].future : places[found].current) = directory.path;
        }
      }
    }
    return places;
  }

  Tried<ReplicaDirectories> directories_of(const Assignment& assignment) {
    std::map<ReplicaKey, Done> replicas;
    for (const auto& [key, brokers] : assignment) {
      for (std::int32_t broker : brokers) {
        if (cluster_.nodes().contains(broker)) replicas[{broker, key}];
      }
    }
    ReplicaDirectories directories;
    for (auto& [key, places] : NEED(places_of(replicas))) {
      if (places.current) directories[key] = *std::move(places.current);
    }
    return directories;
  }

  // --- limits of speed ----------------------------------------------------------------------------------------------

  // Changes settings of several things; the first failure is told when all were tried.
  Tried<Done> change_settings(const std::vector<std::pair<client::ConfigResource, std::vector<client::ConfigChange>>>& changes) {
    std::optional<client::Failure> failed;
    for (const auto& [resource, settings] : changes) {
      auto changed = client::alter_configs(cluster_, resource, settings);
      if (!changed && !failed) failed = changed.failure();
    }
    if (failed) return std::unexpected(execution_exception(*failed));
    return Done{};
  }

  Tried<Done> limit_brokers(const std::set<std::int32_t>& brokers, const std::vector<std::string>& keys, std::int64_t limit) {
    std::vector<std::pair<client::ConfigResource, std::vector<client::ConfigChange>>> changes;
    for (std::int32_t broker : brokers) {
      auto& change = changes.emplace_back(client::ConfigResource{client::ConfigResourceType::broker, fmt::format("{}", broker)},
                                          std::vector<client::ConfigChange>());
      for (const std::string& key : keys) change.second.push_back({key, client::ConfigChange::Operation::set, fmt::format("{}", limit)});
    }
    return change_settings(changes);
  }

  Tried<Done> limit_topics(const PartitionMoves& moves) {
    auto leaders = leader_throttles(moves);
    auto followers = follower_throttles(moves);
    std::vector<std::pair<client::ConfigResource, std::vector<client::ConfigChange>>> changes;
    for (const auto& [topic, replicas] : leaders) {
      changes.push_back({{client::ConfigResourceType::topic, topic},
                         {{kTopicLimits[0], client::ConfigChange::Operation::set, replicas},
                          {kTopicLimits[1], client::ConfigChange::Operation::set, followers[topic]}}});
    }
    return change_settings(changes);
  }

  Tried<Done> limit_speed(const Limits& limits, const ReassignmentPlan& plan, const Assignment& proposed, const Assignment& current,
                          const std::map<PartitionKey, client::Reassignment>& active) {
    auto [between_brokers, between_directories] = limits;
    if (between_brokers < 0 && between_directories < 0) return Done{};
    session_.out.write("Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed.\n");
    if (between_brokers >= 0) {
      PartitionMoves moves = moves_of(proposed, current, active);
      NEED(limit_topics(moves));
      std::set<std::int32_t> brokers;
      for (const auto& [key, move] : moves) {
        brokers.insert(move.sources.begin(), move.sources.end());
        brokers.insert(move.destinations.begin(), move.destinations.end());
      }
      NEED(limit_brokers(brokers, {kBrokerLimits[0], kBrokerLimits[1]}, between_brokers));
      session_.out.print("The inter-broker throttle limit was set to {} B/s\n", between_brokers);
    }
    if (between_directories >= 0) {
      std::set<std::int32_t> brokers;
      for (const auto& [key, path] : plan.directories) brokers.insert(key.broker);
      NEED(limit_brokers(brokers, {kBrokerLimits[2]}, between_directories));
      session_.out.print("The replica-alter-dir throttle limit was set to {} B/s\n", between_directories);
    }
    return Done{};
  }

  // What goes on already is limited too. A partition that is given another aim is copied from where its data lie.
  static PartitionMoves moves_of(const Assignment& proposed, const Assignment& current,
                                 const std::map<PartitionKey, client::Reassignment>& active) {
    PartitionMoves moves;
    for (const auto& [key, reassignment] : active) {
      PartitionMove& move = moves[key];
      move.sources.insert(reassignment.replicas.begin(), reassignment.replicas.end());
      for (std::int32_t broker : reassignment.adding) move.sources.erase(broker);
      move.destinations.insert(reassignment.adding.begin(), reassignment.adding.end());
    }
    for (const auto& [key, replicas] : proposed) {
      PartitionMove& move = moves[key];
      if (!active.contains(key)) move.sources.insert(current.at(key).begin(), current.at(key).end());
      move.destinations.insert(replicas.begin(), replicas.end());
    }
    return moves;
  }

  Tried<Done> clear_limits(const ReassignmentPlan& plan) {
    std::vector<std::int32_t> brokers;
    std::vector<std::string> topics;
    std::set<std::int32_t> all_brokers;
    std::set<std::string> all_topics;
    for (const auto& [id, node] : NEED(nodes())) all_brokers.insert(id);
    for (const auto& [key, replicas] : plan.partitions) {
      all_brokers.insert(replicas.begin(), replicas.end());
      all_topics.insert(key.first);
    }
    brokers.assign(all_brokers.begin(), all_brokers.end());
    topics.assign(all_topics.begin(), all_topics.end());
    client::order_as_java(brokers, [](std::int32_t id) { return id; });
    client::order_as_java(topics, [](const std::string& topic) { return client::java_hash_code(topic); });
    bool tells = !options_.has("json");
    if (tells) session_.out.print("Clearing broker-level throttles on broker{} {}\n", plural(brokers.size()), joined(brokers));
    session_.out.flush();
    std::vector<std::pair<client::ConfigResource, std::vector<client::ConfigChange>>> changes;
    auto clear = [&](client::ConfigResource resource, std::span<const std::string> keys) {
      auto& change = changes.emplace_back(std::move(resource), std::vector<client::ConfigChange>());
      for (const std::string& key : keys) change.second.push_back({key, client::ConfigChange::Operation::remove, {}});
    };
    for (std::int32_t broker : brokers) clear({client::ConfigResourceType::broker, fmt::format("{}", broker)}, kBrokerLimits);
    NEED(change_settings(changes));
    if (tells) session_.out.print("Clearing topic-level throttles on topic{} {}\n", plural(topics.size()), fmt::join(topics, ","));
    session_.out.flush();
    changes.clear();
    for (const std::string& topic : topics) clear({client::ConfigResourceType::topic, topic}, kTopicLimits);
    return change_settings(changes);
  }

  // --- moving -------------------------------------------------------------------------------------------------------

  Tried<Done> begin(const client::ReassignmentTargets& targets, client::ReplicationFactor factor, std::string_view failed) {
    std::map<PartitionKey, client::Failure> refused;
    auto answer = client::alter_reassignments(cluster_, targets, factor);
    if (answer) refused = *std::move(answer);
    else for (const auto& [key, replicas] : targets) refused[key] = answer.failure();
    if (refused.empty()) return Done{};
    std::string message(failed);
    for (const auto& [key, failure] : refused) message += fmt::format("\n{}: {}", partition_text(key), failure.message);
    return std::unexpected(terse_exception(std::move(message)));
  }

  // A replica that has just come to a broker is not there yet: it is tried again until the time is over.
  Tried<Done> move_directories(ReplicaDirectories pending, DurationMs patience) {
    constexpr DurationMs kPause{100};
    if (pending.empty()) return Done{};
    MonotonicNs end = session_.clock.monotonic() + to_ns(patience);
    while (true) {
      for (const ReplicaKey& key : NEED(try_to_move(pending))) pending.erase(key);
      if (pending.empty()) return Done{};
      if (session_.clock.monotonic() >= end || !pause(session_, kPause)) break;
    }
    std::vector<std::string> names;
    for (const auto& [key, path] : pending) names.push_back(key.to_string());
    return std::unexpected(terse_exception(fmt::format("Timed out before log directory move{} could be started for: {}",
                                                       plural(names.size()), fmt::join(names, ","))));
  }

  Tried<std::vector<ReplicaKey>> try_to_move(const ReplicaDirectories& pending) {
    std::map<ReplicaKey, client::Failure> answers;
    std::map<std::int32_t, std::map<PartitionKey, std::string>> by_broker;
    for (const auto& [key, path] : pending) by_broker[key.broker][key.partition] = path;
    for (const auto& [broker, directories] : by_broker) {
      auto codes = client::alter_replica_log_dirs(cluster_, broker, directories);
      for (const auto& [key, path] : directories) {
        if (!codes) {
          answers[{broker, key}] = codes.failure();
          continue;
        }
        auto code = codes->find(key);
        answers[{broker, key}] = client::failure_of(code == codes->end() ? protocol::ErrorCode::UNKNOWN_SERVER_ERROR : code->second);
      }
    }
    std::vector<ReplicaKey> order;
    for (const auto& [key, path] : pending) order.push_back(key);
    client::order_as_java(order, [](const ReplicaKey& key) { return replica_hash_code(key); }, order.size());
    std::vector<ReplicaKey> begun;
    for (const ReplicaKey& key : order) {
      const client::Failure& answer = answers.at(key);
      if (answer.code == protocol::ErrorCode::NONE) {
        session_.out.print("Successfully started moving log directory to {} for replica {} with broker {} \n", pending.at(key),
                           partition_text(key.partition), key.broker);
        begun.push_back(key);
      } else if (answer.code != protocol::ErrorCode::REPLICA_NOT_AVAILABLE) {
        return std::unexpected(with_cause(admin_command_failed(fmt::format("Failed to alter dir for {}", key.to_string())),
                                          execution_exception(answer)));
      }
    }
    return begun;
  }

  // --- how far it is ------------------------------------------------------------------------------------------------

  // Whether nothing goes on any more, in the whole cluster.
  Tried<bool> verify_partitions(const ReassignmentPlan& plan, boost::json::object& json) {
    auto active = NEED(tried_get(client::list_reassignments(cluster_, {})));
    Assignment targets = plan.assignment();
    std::map<std::string, client::TopicDescription> topics;
    for (const auto& [key, replicas] : targets) {
      if (active.contains(key) || topics.contains(key.first)) continue;
      auto topic = client::describe_topics(cluster_, std::vector<std::string>{key.first});
      if (topic) topics[key.first] = topic->front();
      else if (topic.failure().code == protocol::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) topics[key.first];
      else return std::unexpected(execution_exception(topic.failure()));
    }
    std::string text = "Status of partition reassignment:\n";
    auto& array = json["partitions"].emplace_array();
    for (const auto& [key, replicas] : targets) {
      std::vector<std::int32_t> now;
      if (active.contains(key)) {
        now = active[key].replicas;
        text += fmt::format("Reassignment of partition {} is still in progress.\n", partition_text(key));
      } else {
        for (const auto& partition : topics[key.first].partitions) {
          if (partition.partition == key.second) now = partition.replicas;
        }
        if (now == replicas) text += fmt::format("Reassignment of partition {} is completed.\n", partition_text(key));
        else text += fmt::format("There is no active reassignment of partition {}, but replica set is {} rather than {}.\n",
                                 partition_text(key), joined(now), joined(replicas));
      }
      array.push_back({{"topic", key.first}, {"partition", key.second}, {"inProgress", active.contains(key)},
                       {"replicas", boost::json::value_from(now)}, {"targetReplicas", boost::json::value_from(replicas)}});
    }
    if (!options_.has("json")) session_.out.write(text);
    return active.empty();
  }

  Tried<bool> verify_moves(const ReassignmentPlan& plan, boost::json::object& json) {
    bool done = true;
    std::vector<std::string> lines;
    auto& array = json["logDirs"].emplace_array();
    auto or_null = [](const std::optional<std::string>& path) { return path ? boost::json::value(*path) : boost::json::value(); };
    for (const auto& [key, places] : NEED(places_of(plan.directories))) {
      const std::string& target = plan.directories.at(key);
      std::string where = fmt::format("Partition {} on broker {}", partition_text(key.partition), key.broker);
      if (!places.current && !places.future) {
        lines.push_back(fmt::format("Partition {} is not found in any live log dir on broker {}. There is likely an offline log directory on the broker.",
                                    partition_text(key.partition), key.broker));
      } else if (places.future && *places.future == target) {
        lines.push_back(fmt::format("Reassignment of replica {} is still in progress.", key.to_string()));
        done = false;
      } else if (places.future) {
        lines.push_back(fmt::format("{} is being moved to log dir {} instead of {}.", where, *places.future, target));
        done = false;
      } else if (*places.current == target) {
        lines.push_back(fmt::format("Reassignment of replica {} completed successfully.", key.to_string()));
      } else {
        lines.push_back(fmt::format("{} is not being moved from log dir {} to {}.", where, *places.current, target));
      }
      array.push_back({{"topic", key.partition.first}, {"partition", key.partition.second}, {"broker", key.broker},
                       {"logDir", or_null(places.current)}, {"futureLogDir", or_null(places.future)}, {"targetLogDir", target}});
    }
    if (!options_.has("json")) session_.out.print("{}\n", fmt::join(lines, "\n"));
    return done;
  }

  static constexpr std::int64_t kNoLimit = -1;
  static constexpr std::int64_t kPatienceMs = 10'000;
  inline static const std::string kBrokerLimits[] = {"leader.replication.throttled.rate", "follower.replication.throttled.rate",
                                                     "replica.alter.log.dirs.io.max.bytes.per.second"};
  inline static const std::string kTopicLimits[] = {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"};

  const Options& options_;
  Session& session_;
  client::Cluster& cluster_;
};

// What may and must be given with an action, beside --command-config.
struct ReassignAction {
  std::string_view name;
  Tried<Done> (Reassigner::*run)();
  std::vector<std::string_view> required;
  std::vector<std::string_view> permitted;
};

const ReassignAction kReassignActions[] = {
    {"generate", &Reassigner::generate, {"topics-to-move-json-file", "broker-list"}, {"bootstrap-server", "disable-rack-aware"}},
    {"execute", &Reassigner::execute, {"reassignment-json-file"},
     {"bootstrap-server", "throttle", "replica-alter-log-dirs-throttle", "timeout", "additional", "disallow-replication-factor-change"}},
    {"verify", &Reassigner::verify, {"reassignment-json-file"}, {"bootstrap-server", "preserve-throttles"}},
    {"cancel", &Reassigner::cancel, {"reassignment-json-file"},
     {"bootstrap-server", "bootstrap-controller", "preserve-throttles", "timeout"}},
    {"list", &Reassigner::list, {}, {"bootstrap-server", "bootstrap-controller"}},
};

// The action; or the exit code when the words make no sense together.
std::variant<const ReassignAction*, int> chosen_action(const Command& self, const Options& options, Session& session) {
  const ReassignAction* chosen = nullptr;
  int count = 0;
  for (const ReassignAction& action : kReassignActions) {
    if (!options.has(action.name)) continue;
    chosen = &action;
    ++count;
  }
  if (count != 1) {
    return usage_and_exit_code(self, session, "Command must include exactly one action: --generate, --execute, --verify, --cancel, --list");
  }
  if (options.has("bootstrap-server") && options.has("bootstrap-controller")) {
    return usage_and_exit_code(self, session, "Please don't specify both --bootstrap-server and --bootstrap-controller");
  }
  if (!options.has("bootstrap-server") && !options.has("bootstrap-controller")) {
    return usage_and_exit_code(self, session, "Please specify either --bootstrap-server or --bootstrap-controller");
  }
  for (std::string_view name : chosen->required) {
    if (auto code = check_required(self, options, session, {name})) return *code;
  }
  for (std::string_view name : options.given()) {
    bool allowed = name == chosen->name || name == "command-config" || name == "json" ||
                   std::ranges::find(chosen->required, name) != chosen->required.end() ||
                   std::ranges::find(chosen->permitted, name) != chosen->permitted.end();
    if (!allowed) {
      return usage_and_exit_code(self, session, fmt::format("Option \"[{}]\" can't be used with action \"[{}]\"", name, chosen->name));
    }
  }
  return chosen;
}

Tried<Done> act_on_partitions(const ReassignAction& action, const Options& options, Session& session) {
  const bool of_controllers = options.has("bootstrap-controller");
  auto servers = NEED(tried(options.value(of_controllers ? "bootstrap-controller" : "bootstrap-server")));
  auto config = NEED(tried(options.value("command-config")));
  client::ClusterOptions defaults;
  defaults.client_id = "reassign-partitions-tool";
  if (of_controllers) defaults.endpoints = client::Endpoints::controllers;
  auto admin = NEED(make_admin_client(session, *servers, config.value_or(""), defaults));
  Reassigner reassigner(options, session, admin->cluster);
  return (reassigner.*action.run)();
}

int run_reassign_partitions(const Command& self, const Words& words, Session& session) {
  if (words.empty()) return usage_and_exit_code(self, session, kAboutReassignment);
  auto options = parse_options(*self.grammar, words);
  if (!options) {
    session.err.print("Exception in thread \"main\" {}", java_error(options.mistake()).stack_trace());
    suggest_option(self, session, options.mistake());
    return 1;
  }
  if (auto code = help_or_version(self, *options, session, kAboutReassignment)) return *code;
  auto action = chosen_action(self, *options, session);
  if (const int* code = std::get_if<int>(&action)) return *code;
  auto done = act_on_partitions(*std::get<const ReassignAction*>(action), *options, session);
  if (done) return 0;
  const JavaError& error = done.error();
  if (error.java_class == terse_exception("").java_class) session.out.print("{}\n", error.message);
  else session.out.print("Error: {}\n{}\n", error.message, error.stack_trace());
  return 1;
}

}  // namespace

extern const Command reassign_partitions_command{
    .name = "reassign-partitions",
    .kafka_name = "kafka-reassign-partitions",
    .summary = "move replicas of partitions to other brokers and log directories",
    .grammar = &kReassignGrammar,
    .run = run_reassign_partitions,
};

}  // namespace cordwood::cli
