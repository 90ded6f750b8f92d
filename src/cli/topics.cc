// kafka-topics: topics listed, described, created, given more partitions, deleted.
#include <fmt/format.h>

#include <algorithm>

#include "base/types.h"
#include "cli/command.h"
#include "cli/java_regex.h"
#include "cli/kafka_tool.h"
#include "cli/topic_lines.h"
#include "cli/topics_words.h"
#include "client/configs.h"
#include "client/java_order.h"
#include "client/reassignments.h"
#include "client/topics.h"

namespace cordwood::cli {
namespace {

using client::Cluster;
using Done = std::monostate;

constexpr std::string_view kCollisionWarning =
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. To avoid issues it "
    "is best to use either, but not both.\n";

// The topics that --topic and --exclude-internal mean, by name.
Tried<std::vector<client::TopicListing>> wanted_topics(const Options& options, Cluster& cluster) {
  auto filter = NEED(tried(options.value("topic")));
  auto topics = NEED(tried_get(client::list_topics(cluster)));
  std::ranges::sort(topics, {}, &client::TopicListing::name);
  if (options.has("exclude-internal")) std::erase_if(topics, [](const auto& topic) { return topic.is_internal; });
  if (!filter) return topics;
  auto regex = compile_topic_filter(*filter);
  if (!regex) return std::unexpected(JavaError{"java.lang.RuntimeException", regex.error().what});
  std::erase_if(topics, [&](const auto& topic) { return !regex->matches(topic.name); });
  return topics;
}

// The same as names; one that was asked for must be there unless --if-exists.
Tried<std::vector<std::string>> existing_topics(const Options& options, Session& session, Cluster& cluster) {
  std::vector<std::string> names;
  for (auto& topic : NEED(wanted_topics(options, cluster))) names.push_back(std::move(topic.name));
  auto filter = NEED(tried(options.value("topic")));
  if (!names.empty() || !filter || filter->empty() || options.has("if-exists")) return names;
  if (session.err.is_terminal()) {
    auto all = NEED(tried_get(client::list_topics(cluster)));
    std::vector<std::string_view> known;
    for (const auto& topic : all) known.push_back(topic.name);
    std::vector<std::string> near = nearest_names(*filter, known);
    if (!near.empty()) session.err.print("did you mean {}?\n", fmt::join(near, " or "));
  }
  return std::unexpected(illegal_argument(fmt::format("Topic '{}' does not exist as expected", *filter)));
}

Tried<Done> list(const Options& options, Session& session, Cluster& cluster) {
  auto topics = NEED(wanted_topics(options, cluster));
  if (options.has("json")) {
    boost::json::array array;
    for (const auto& topic : topics) {
      array.push_back({{"topic", topic.name}, {"topicId", topic.id.to_string()}, {"isInternal", topic.is_internal}});
    }
    session.out.print("{}\n", boost::json::serialize(array));
    return Done{};
  }
  std::vector<std::string_view> names;
  for (const auto& topic : topics) names.push_back(topic.name);
  session.out.print("{}\n", fmt::join(names, "\n"));
  return Done{};
}

// Kafka checks settings before it sends them, and has another class of exception for a wrong value than the broker's answer.
JavaError of_creation(const client::Failure& failure) {
  JavaError error = java_error(failure);
  if (failure.code == protocol::ErrorCode::INVALID_CONFIG && failure.message.starts_with("Invalid value ")) {
    error.java_class = "org.apache.kafka.common.config.ConfigException";
  }
  return error;
}

Tried<Done> create(const Options& options, Session& session, Cluster& cluster) {
  client::NewTopic topic;
  topic.name = NEED(tried(options.value("topic"))).value_or("");
  topic.partitions = NEED(tried(options.int_value("partitions")));
  auto factor = NEED(tried(options.int_value("replication-factor")));
  auto assignment = NEED(tried(options.value("replica-assignment")));
  if (assignment && !assignment->empty()) topic.assignment = NEED(parse_replica_assignment(*assignment));
  topic.configs = NEED(parse_topic_configs(options.values("config")));
  if (topic.name.find_first_of("._") != std::string::npos) session.out.write(kCollisionWarning);
  if (factor && (*factor < 1 || *factor > INT16_MAX)) {
    return std::unexpected(illegal_argument("The replication factor must be between 1 and 32767 inclusive"));
  }
  if (topic.partitions && *topic.partitions < 1) return std::unexpected(illegal_argument("The partitions must be greater than 0"));
  if (factor) topic.replication_factor = static_cast<std::int16_t>(*factor);
  auto made = client::create_topic(cluster, topic);
  if (!made) {
    if (made.failure().code == protocol::ErrorCode::TOPIC_ALREADY_EXISTS && options.has("if-not-exists")) return Done{};
    return std::unexpected(of_creation(made.failure()));
  }
  session.out.print("Created topic {}.\n", topic.name);
  return Done{};
}

Tried<Done> alter(const Options& options, Session& session, Cluster& cluster) {
  std::int32_t total = NEED(tried(options.int_value("partitions"))).value_or(0);
  auto text = NEED(tried(options.value("replica-assignment")));
  ReplicaAssignment assignment;
  if (text && !text->empty()) assignment = NEED(parse_replica_assignment(*text));
  auto names = NEED(existing_topics(options, session, cluster));
  if (names.empty()) return Done{};
  std::vector<client::MorePartitions> wanted;
  for (const auto& topic : NEED(tried_get(client::describe_topics(cluster, names)))) {
    client::MorePartitions more{topic.name, total, {}};
    for (const auto& [partition, replicas] : assignment) {
      if (std::cmp_greater_equal(partition, topic.partitions.size())) more.assignment.push_back(replicas);
    }
    wanted.push_back(std::move(more));
  }
  NEED(tried_get(client::create_partitions(cluster, wanted)));
  return Done{};
}

Tried<Done> remove(const Options& options, Session& session, Cluster& cluster) {
  auto names = NEED(existing_topics(options, session, cluster));
  if (!names.empty()) NEED(tried_get(client::delete_topics(cluster, names)));
  return Done{};
}

// The id that --topic-id names; nothing when there is none or it is zero.
Tried<std::optional<Uuid>> wanted_id(const Options& options) {
  auto text = NEED(tried(options.value("topic-id")));
  if (!text) return std::optional<Uuid>();
  auto id = Uuid::parse(*text);
  if (id) return id->is_zero() ? std::optional<Uuid>() : id;
  constexpr std::size_t kLongest = 24;
  if (text->size() > kLongest) {
    return std::unexpected(illegal_argument(fmt::format("Input string with prefix `{}` is too long to be decoded as a base64 UUID",
                                                        std::string_view(*text).substr(0, kLongest))));
  }
  return std::unexpected(
      illegal_argument(fmt::format("Input string `{}` decoded as {} bytes, which is not equal to the expected 16 bytes of a "
                                   "base64-encoded UUID",
                                   *text, text->size() * 3 / 4)));
}

Tried<std::vector<client::TopicDescription>> described_topics(const Options& options, Session& session, Cluster& cluster) {
  constexpr std::int32_t kPartitionsPerPage = 2000;
  if (auto id = NEED(wanted_id(options))) {
    auto topics = NEED(tried_get(client::list_topics(cluster)));
    bool there = std::ranges::any_of(topics, [&](const auto& topic) {
      return topic.id == *id && !(topic.is_internal && options.has("exclude-internal"));
    });
    if (there) return tried_get(client::describe_topics(cluster, std::vector{*id}));
    if (options.has("if-exists")) return std::vector<client::TopicDescription>();
    return std::unexpected(illegal_argument(fmt::format("TopicId '{}' does not exist as expected", id->to_string())));
  }
  auto names = NEED(existing_topics(options, session, cluster));
  if (names.empty()) return std::vector<client::TopicDescription>();
  std::int32_t page = NEED(tried(options.int_value("partition-size-limit-per-response"))).value_or(kPartitionsPerPage);
  auto topics = NEED(tried_get(client::describe_topics(cluster, names, page)));
  auto hash = [](const client::TopicDescription& topic) { return client::java_hash_code(topic.name); };
  client::order_as_java(topics, hash);
  client::order_as_java(topics, hash, topics.size());
  return topics;
}

// None where the broker does not tell.
Tried<std::map<client::PartitionKey, client::Reassignment>> reassignments_of(const std::vector<client::TopicDescription>& topics,
                                                                             Cluster& cluster) {
  std::vector<client::PartitionKey> keys;
  for (const auto& topic : topics) {
    for (const auto& partition : topic.partitions) keys.emplace_back(topic.name, partition.partition);
  }
  auto found = client::list_reassignments(cluster, keys);
  if (found) return *std::move(found);
  using protocol::ErrorCode;
  if (found.failure().code == ErrorCode::UNSUPPORTED_VERSION || found.failure().code == ErrorCode::CLUSTER_AUTHORIZATION_FAILED) {
    return std::map<client::PartitionKey, client::Reassignment>();
  }
  return std::unexpected(execution_exception(found.failure()));
}

Tried<Done> describe(const Options& options, Session& session, Cluster& cluster) {
  auto topics = NEED(described_topics(options, session, cluster));
  std::vector<client::ConfigResource> resources;
  for (const auto& topic : topics) resources.push_back({client::ConfigResourceType::topic, topic.name});
  std::vector<client::DescribedConfig> configs;
  TopicSurroundings surroundings;
  if (!topics.empty()) {
    configs = NEED(tried_get(client::describe_configs(cluster, resources, client::Synonyms::yes)));
    for (const auto& [id, node] : cluster.nodes()) surroundings.live_brokers.insert(id);
    surroundings.reassignments = NEED(reassignments_of(topics, cluster));
  }
  TopicFilters filters = TopicFilters::from(options);
  boost::json::array array;
  for (std::size_t i = 0; i < topics.size(); ++i) {
    if (configs[i].failure.code != protocol::ErrorCode::NONE) return std::unexpected(execution_exception(configs[i].failure));
    client::order_as_java(configs[i].entries, [](const client::ConfigEntry& entry) { return client::java_hash_code(entry.name); });
    DescribedTopic topic{std::move(topics[i]), std::move(configs[i].entries)};
    if (!options.has("json")) {
      session.out.write(topic_lines(topic, filters, surroundings));
    } else if (auto object = topic_json(topic, filters, surroundings); !object.is_null()) {
      array.push_back(std::move(object));
    }
  }
  if (options.has("json")) session.out.print("{}\n", boost::json::serialize(array));
  return Done{};
}

Tried<Done> act(const Options& options, Session& session, Cluster& cluster) {
  if (options.has("create")) return create(options, session, cluster);
  if (options.has("alter")) return alter(options, session, cluster);
  if (options.has("list")) return list(options, session, cluster);
  if (options.has("describe")) return describe(options, session, cluster);
  return remove(options, session, cluster);
}

int run_topics(const Command& self, const Words& words, Session& session) {
  if (words.empty()) return usage_and_exit_code(self, session, "Create, delete, describe, or change a topic.");
  auto options = parse_options(*self.grammar, words);
  if (!options) return print_parse_error(self, session, options.mistake());
  auto checked = check_topics_words(self, *options, session);
  if (!checked) return print_with_trace(session, checked.error());
  if (*checked) return **checked;
  auto servers = options->value("bootstrap-server");
  auto config = options->value("command-config");
  if (!servers) return print_with_trace(session, java_error(servers.mistake()));
  if (!config) return print_with_trace(session, java_error(config.mistake()));
  auto admin = make_admin_client(session, **servers, config->value_or(""));
  if (!admin) return print_with_trace(session, admin.error());
  auto done = act(*options, session, (*admin)->cluster);
  if (done) return 0;
  JavaError error = done.error().java_class == "java.util.concurrent.ExecutionException" ? done.error().root() : done.error();
  session.out.print("Error while executing topic command : {}\n", error.message);
  session.out.flush();
  log_line(session, Level::error, error.stack_trace(), "org.apache.kafka.tools.TopicCommand");
  return 1;
}

}  // namespace

extern const Command topics_command{
    .name = "topics",
    .kafka_name = "kafka-topics",
    .summary = "create, list, describe, alter and delete topics",
    .details = "--json prints for --list an array of {topic, topic_id, is_internal}, and for --describe an array of {topic, topic_id, "
               "is_internal, configs: the settings that are not built in, partitions: [{partition, leader (null: none), replicas, isr, "
               "eligible_leader_replicas, last_known_eligible_leader_replicas}]}.",
    .grammar = &topics_grammar,
    .run = run_topics,
};

}  // namespace cordwood::cli
