#include "broker/metadata/topic_decisions.h"

#include <gtest/gtest.h>

#include "broker/metadata/apply.h"
#include "broker/metadata/features.h"

namespace cordwood::broker::metadata {
namespace {

using protocol::CreatePartitionsRequest;
using protocol::CreateTopicsRequest;
using protocol::ErrorCode;

constexpr NodeId kUs{1};
constexpr Uuid kDirectory{7, 7};
constexpr Uuid kSecondDirectory{7, 8};

class TopicDecisions : public testing::Test {
 protected:
  TopicDecisions() {
    image.features[std::string(kMetadataVersion)] = 25;
    image.brokers[kUs] = {.id = kUs, .epoch = 5, .incarnation = {}, .endpoints = {}, .features = {}, .rack = {},
                          .fenced = false, .log_dirs = {kDirectory}, .cordoned_log_dirs = {}};
  }

  CreateTopicsDecision create(std::vector<CreateTopicsRequest::Topic> topics) {
    CreateTopicsDecision decision = decide_create_topics(image, topics, rules());
    take(decision.records);
    return decision;
  }
  DeleteTopicsDecision remove(std::vector<DeletionTarget> targets) {
    DeleteTopicsDecision decision = decide_delete_topics(image, targets);
    take(decision.records);
    return decision;
  }
  CreatePartitionsDecision grow(std::vector<CreatePartitionsRequest::Topic> topics) {
    CreatePartitionsDecision decision = decide_create_partitions(image, topics, rules());
    take(decision.records);
    return decision;
  }
  // Whatever a decision says must be possible to apply.
  void take(const std::vector<MetadataRecord>& records) {
    Result<Image> next = apply(image, records, 1);
    ASSERT_TRUE(next) << next.error().message();
    image = std::move(*next);
  }
  TopicRules rules() { return {&config, kUs, directories, &random}; }

  Image image;
  Config config;
  SeededRandom random{1};
  std::vector<Uuid> directories{kDirectory};
};

CreateTopicsRequest::Topic topic(std::string name, std::int32_t partitions = 1, std::int16_t factor = 1) {
  CreateTopicsRequest::Topic wanted;
  wanted.name = std::move(name);
  wanted.num_partitions = partitions;
  wanted.replication_factor = factor;
  return wanted;
}

CreateTopicsRequest::Topic assigned(std::string name, std::vector<std::pair<std::int32_t, std::vector<std::int32_t>>> parts) {
  CreateTopicsRequest::Topic wanted = topic(std::move(name), -1, -1);
  for (auto& [index, brokers] : parts) wanted.assignments.push_back({index, brokers});
  return wanted;
}

CreateTopicsRequest::Topic configured(std::string name, std::string key, std::optional<std::string> value) {
  CreateTopicsRequest::Topic wanted = topic(std::move(name));
  wanted.configs.push_back({std::move(key), std::move(value)});
  return wanted;
}

TEST_F(TopicDecisions, CreatesWithTheFirstEpochsInOurDirectory) {
  CreateTopicsDecision decision = create({topic("orders", 3)});
  ASSERT_EQ(decision.topics.size(), 1u);
  const CreatedTopic& made = decision.topics[0];
  EXPECT_EQ(made.refusal, Refusal{});
  EXPECT_EQ(made.partitions, 3);
  EXPECT_EQ(made.replication_factor, 1);
  auto state = image.topic("orders");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->id, made.id);
  EXPECT_FALSE(made.id.is_reserved());
  ASSERT_EQ(state->partitions.size(), 3u);
  PartitionState expected;
  expected.replicas = {kUs};
  expected.isr = {kUs};
  expected.leader = kUs;
  expected.directories = {kDirectory};
  for (const auto& [index, partition] : state->partitions) EXPECT_EQ(partition, expected) << index.value;
}

TEST_F(TopicDecisions, DefaultsComeFromTheBroker) {
  config.num_partitions = 4;
  const CreatedTopic made = create({topic("orders", -1, -1)}).topics[0];
  EXPECT_EQ(made.partitions, 4);
  EXPECT_EQ(made.replication_factor, 1);
  config.default_replication_factor = 3;
  EXPECT_EQ(create({topic("more", -1, -1)}).topics[0].refusal.code, ErrorCode::INVALID_REPLICATION_FACTOR);
}

TEST_F(TopicDecisions, RefusesAsKafkaDoes) {
  create({topic("there"), topic("a.b")});
  std::string longest(249, 'x');
  struct Case {
    CreateTopicsRequest::Topic wanted;
    ErrorCode code;
    std::string message;
  };
  auto told_with_count = assigned("n", {{0, {1}}});
  told_with_count.num_partitions = 1;
  auto told_with_factor = assigned("n", {{0, {1}}});
  told_with_factor.replication_factor = 1;
  const Case cases[] = {
      {topic("there"), ErrorCode::TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."},
      {topic("n", 0), ErrorCode::INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."},
      {topic("n", -2), ErrorCode::INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."},
      {topic("n", 1, 0), ErrorCode::INVALID_REPLICATION_FACTOR,
       "Replication factor must be larger than 0, or -1 to use the default value."},
      {topic("n", 1, -2), ErrorCode::INVALID_REPLICATION_FACTOR,
       "Replication factor must be larger than 0, or -1 to use the default value."},
      {topic("n", 1, 3), ErrorCode::INVALID_REPLICATION_FACTOR,
       "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 "
       "broker(s) are registered or some brokers have all their log directories cordoned."},
      {topic(""), ErrorCode::INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"},
      {topic("a b"), ErrorCode::INVALID_TOPIC_EXCEPTION,
       "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
      {topic(longest + "x"), ErrorCode::INVALID_TOPIC_EXCEPTION,
       "Topic name is invalid: the length of '" + longest + "x' is longer than the max allowed length 249"},
      {topic("a_b"), ErrorCode::INVALID_TOPIC_EXCEPTION, "Topic 'a_b' collides with existing topic: a.b"},
      {topic("__cluster_metadata"), ErrorCode::INVALID_REQUEST,
       "Creation of internal topic __cluster_metadata is prohibited."},
      {configured("n", "nope", "1"), ErrorCode::INVALID_CONFIG, "Unknown topic config name: nope"},
      {configured("n", "retention.ms", std::nullopt), ErrorCode::INVALID_CONFIG,
       "Null value not supported for topic configs: retention.ms"},
      {configured("n", "retention.ms", "abc"), ErrorCode::INVALID_CONFIG,
       "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
      {told_with_count, ErrorCode::INVALID_REQUEST,
       "A manual partition assignment was specified, but numPartitions was not set to -1."},
      {told_with_factor, ErrorCode::INVALID_REQUEST,
       "A manual partition assignment was specified, but replication factor was not set to -1."},
      {assigned("n", {{0, {9}}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT,
       "The manual partition assignment includes broker 9, but no such broker is registered."},
      {assigned("n", {{0, {1, 1}}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT,
       "The manual partition assignment includes the broker 1 more than once."},
      {assigned("n", {{0, {}}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT,
       "The manual partition assignment includes an empty replica list."},
      {assigned("n", {{0, {1}}, {2, {1}}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT,
       "partitions should be a consecutive 0-based integer sequence"},
      {assigned("n", {{0, {1}}, {0, {1}}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT,
       "Found multiple manual partition assignments for partition 0"},
  };
  for (const Case& c : cases) {
    CreateTopicsDecision decision = create({c.wanted});
    ASSERT_EQ(decision.topics.size(), 1u);
    EXPECT_EQ(decision.topics[0].refusal, (Refusal{c.code, c.message})) << c.message;
    EXPECT_EQ(decision.topics[0].partitions, -1);
    EXPECT_EQ(decision.topics[0].replication_factor, -1);
    EXPECT_TRUE(decision.topics[0].id.is_zero());
    EXPECT_TRUE(decision.records.empty()) << c.message;
  }
  EXPECT_EQ(create({topic(longest), topic("__x"), topic("__consumer_offsets")}).records.size(), 6u);
}

TEST_F(TopicDecisions, OneOfManyFailsAlone) {
  CreateTopicsDecision decision = create({topic("good"), topic("bad", 0), topic("twice"), topic("twice"), topic("fine.1"),
                                          topic("fine_1")});
  ASSERT_EQ(decision.topics.size(), 5u);
  std::vector<ErrorCode> codes;
  for (const auto& made : decision.topics) codes.push_back(made.refusal.code);
  // Two new names may collide with each other, as in Kafka; only those that exist count.
  EXPECT_EQ(codes, (std::vector{ErrorCode::NONE, ErrorCode::INVALID_PARTITIONS, ErrorCode::INVALID_REQUEST, ErrorCode::NONE,
                                ErrorCode::NONE}));
  EXPECT_EQ(decision.topics[2].refusal.message, "Duplicate topic name.");
  EXPECT_EQ(image.topics.size(), 3u);
}

TEST_F(TopicDecisions, TooManyPartitionsRefuseTheWholeRequest) {
  CreateTopicsDecision decision = create({topic("a", 9'999), topic("b", 2)});
  for (const auto& made : decision.topics) {
    EXPECT_EQ(made.refusal, (Refusal{ErrorCode::POLICY_VIOLATION, "Excessively large number of partitions per request."}));
  }
  EXPECT_TRUE(decision.records.empty());
  EXPECT_EQ(create({topic("a", 10'000)}).topics[0].refusal.code, ErrorCode::NONE);
}

TEST_F(TopicDecisions, ConfigsAreStoredAsGiven) {
  CreateTopicsDecision decision = create({configured("orders", "retention.ms", " 12 ")});
  EXPECT_EQ(decision.topics[0].refusal, Refusal{});
  EXPECT_EQ(decision.topics[0].overrides, (ConfigValues{{"retention.ms", " 12 "}}));
  EXPECT_EQ(image.config({ResourceType::topic, "orders"}), (ConfigValues{{"retention.ms", " 12 "}}));
}

TEST_F(TopicDecisions, WithElrANewMinimumClearsWhatWasEligible) {
  image.features[std::string(kElrVersion)] = 1;
  CreateTopicsDecision decision = create({configured("orders", "min.insync.replicas", "1")});
  ASSERT_EQ(decision.records.size(), 4u);
  EXPECT_EQ(std::get<ClearElrRecord>(decision.records[2].body).topic_name, "orders");
}

TEST_F(TopicDecisions, PartitionsGoWhereTheFewestAre) {
  create({topic("first", 3)});
  directories = {kDirectory, kSecondDirectory};
  create({topic("second", 5)});
  std::map<Uuid, int> counts;
  for (const auto& [name, state] : image.topics) {
    for (const auto& [index, partition] : state->partitions) ++counts[partition.directories.at(0)];
  }
  EXPECT_EQ(counts, (std::map<Uuid, int>{{kDirectory, 4}, {kSecondDirectory, 4}}));
}

TEST_F(TopicDecisions, FurtherReplicasGoToRegisteredBrokersThatAreNotInSync) {
  image.brokers[NodeId{2}] = image.brokers[kUs];
  image.brokers[NodeId{2}].id = NodeId{2};
  image.brokers[NodeId{2}].fenced = true;
  EXPECT_EQ(create({topic("orders", 1, 2)}).topics[0].refusal, Refusal{});
  const PartitionState& partition = *image.partition({"orders", PartitionId{0}});
  EXPECT_EQ(partition.replicas, (std::vector{kUs, NodeId{2}}));
  EXPECT_EQ(partition.isr, std::vector{kUs});
  EXPECT_EQ(partition.directories, (std::vector{kDirectory, kUnassignedDirectory}));
  EXPECT_EQ(create({assigned("n", {{0, {2}}})}).topics[0].refusal.message,
            "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled shutdown.");
  EXPECT_EQ(create({assigned("n", {{0, {1}}, {1, {1, 2}}})}).topics[0].refusal.message,
            "The manual partition assignment includes a partition with 2 replica(s), but this is not consistent with previous "
            "partitions, which have 1 replica(s).");
}

TEST_F(TopicDecisions, NothingIsPlacedWhereNoDirectoryIsOnline) {
  directories.clear();
  EXPECT_EQ(create({topic("orders")}).topics[0].refusal, (Refusal{ErrorCode::KAFKA_STORAGE_ERROR, "No log directory is online."}));
}

TEST_F(TopicDecisions, OldMetadataVersionsHaveNoDirectories) {
  image.features[std::string(kMetadataVersion)] = 14;
  CreateTopicsDecision decision = create({topic("orders")});
  EXPECT_EQ(decision.records.back().version, 0);
  EXPECT_TRUE(image.partition({"orders", PartitionId{0}})->directories.empty());
}

TEST_F(TopicDecisions, DeletesByNameAndById) {
  create({topic("a"), topic("b"), topic("c"), topic("d")});
  Uuid a = image.topic("a")->id;
  Uuid b = image.topic("b")->id;
  DeleteTopicsDecision decision = remove({{"c", {}}, {std::nullopt, a}});
  ASSERT_EQ(decision.topics.size(), 2u);
  EXPECT_EQ(decision.topics[1].name, "a");
  EXPECT_EQ(decision.topics[1].id, a);
  EXPECT_EQ(image.topics.size(), 2u);

  struct Case {
    std::vector<DeletionTarget> targets;
    ErrorCode code;
    std::string message;
  };
  const Case cases[] = {
      {{{"nope", {}}}, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."},
      {{{"a b", {}}}, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."},
      {{{"__cluster_metadata", {}}}, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."},
      {{{std::nullopt, a}}, ErrorCode::UNKNOWN_TOPIC_ID, "This server does not host this topic ID."},
      {{{std::nullopt, {}}}, ErrorCode::INVALID_REQUEST, "Neither topic name nor id were specified."},
      {{{"b", b}}, ErrorCode::INVALID_REQUEST, "You may not specify both topic name and topic id."},
      {{{"b", {}}, {"b", {}}}, ErrorCode::INVALID_REQUEST, "Duplicate topic name."},
      {{{std::nullopt, b}, {std::nullopt, b}}, ErrorCode::INVALID_REQUEST, "Duplicate topic id."},
      {{{std::nullopt, b}, {"b", {}}}, ErrorCode::INVALID_REQUEST,
       "The provided topic name maps to an ID that was already supplied."},
  };
  for (const Case& c : cases) {
    DeleteTopicsDecision refused = remove(c.targets);
    ASSERT_EQ(refused.topics.size(), 1u) << c.message;
    EXPECT_EQ(refused.topics[0].refusal, (Refusal{c.code, c.message}));
  }
  EXPECT_EQ(image.topics.size(), 2u);
}

using Assigned = std::vector<std::vector<std::int32_t>>;

CreatePartitionsRequest::Topic more(std::string name, std::int32_t count, std::optional<Assigned> assignments = std::nullopt) {
  CreatePartitionsRequest::Topic wanted;
  wanted.name = std::move(name);
  wanted.count = count;
  if (assignments) {
    wanted.assignments.emplace();
    for (auto& brokers : *assignments) wanted.assignments->push_back({brokers});
  }
  return wanted;
}

TEST_F(TopicDecisions, GrowsAndRefusesToShrink) {
  create({topic("t1", 3)});
  struct Case {
    std::vector<CreatePartitionsRequest::Topic> topics;
    Refusal refusal;
  };
  const Case cases[] = {
      {{more("t1", 3)}, {ErrorCode::INVALID_PARTITIONS, "Topic already has 3 partition(s)."}},
      {{more("t1", 2)},
       {ErrorCode::INVALID_PARTITIONS, "The topic t1 currently has 3 partition(s); 2 would not be an increase."}},
      {{more("t1", -1)},
       {ErrorCode::INVALID_PARTITIONS, "The topic t1 currently has 3 partition(s); -1 would not be an increase."}},
      {{more("nope", 5)}, {ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, std::nullopt}},
      {{more("t1", 4, Assigned{{1}, {1}})},
       {ErrorCode::INVALID_REPLICA_ASSIGNMENT,
        "Attempted to add 1 additional partition(s), but only 2 assignment(s) were specified."}},
      {{more("t1", 4, Assigned{{9}})},
       {ErrorCode::INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes broker 9, but no such broker is registered."}},
      {{more("t1", 4, Assigned(1))},
       {ErrorCode::INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes an empty replica list."}},
      {{more("t1", 4), more("t1", 5)}, {ErrorCode::INVALID_REQUEST, "Duplicate topic name."}},
      {{more("t1", 10'004)},
       {ErrorCode::POLICY_VIOLATION, "Excessively large number of additional partitions per request."}},
      {{more("t1", INT32_MAX)},
       {ErrorCode::POLICY_VIOLATION, "Excessively large number of additional partitions per request."}},
  };
  for (const Case& c : cases) {
    CreatePartitionsDecision decision = grow(c.topics);
    ASSERT_EQ(decision.topics.size(), 1u);
    EXPECT_EQ(decision.topics[0].refusal, c.refusal) << c.refusal.message.value_or("");
    EXPECT_TRUE(decision.records.empty());
  }
  EXPECT_EQ(grow({more("t1", 5)}).topics[0].refusal, Refusal{});
  EXPECT_EQ(grow({more("t1", 6, Assigned{{1}})}).topics[0].refusal, Refusal{});
  EXPECT_EQ(image.topic("t1")->partitions.size(), 6u);
  EXPECT_EQ(image.partition({"t1", PartitionId{5}})->leader, kUs);
}

}  // namespace
}  // namespace cordwood::broker::metadata
