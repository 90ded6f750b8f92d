#include "broker/metadata/apply.h"

#include <gtest/gtest.h>

namespace cordwood::broker::metadata {
namespace {

constexpr Uuid kOrders{1, 100};
constexpr Uuid kOther{1, 200};
constexpr Uuid kDirectory{7, 7};

PartitionRecord partition_record(Uuid topic, std::int32_t index) {
  PartitionRecord record;
  record.partition_id = index;
  record.topic_id = topic;
  record.replicas = {1, 2};
  record.isr = {1, 2};
  record.leader = 1;
  record.leader_epoch = 0;
  record.partition_epoch = 0;
  record.directories = {kDirectory, kUnassignedDirectory};
  return record;
}

RegisterBrokerRecord broker_record(std::int32_t id, std::int64_t epoch) {
  RegisterBrokerRecord record;
  record.broker_id = id;
  record.broker_epoch = epoch;
  record.end_points.push_back({"PLAINTEXT", "localhost", 9092, 0});
  record.features.push_back({"metadata.version", 7, 33});
  record.log_dirs = {kDirectory};
  return record;
}

PartitionChangeRecord change_record(Uuid topic, std::int32_t index) {
  PartitionChangeRecord record;
  record.topic_id = topic;
  record.partition_id = index;
  return record;
}

class Apply : public testing::Test {
 protected:
  Apply() { EXPECT_TRUE(run({TopicRecord{"orders", kOrders}, partition_record(kOrders, 0), broker_record(1, 12)})); }

  Result<void> run(std::vector<RecordBody> bodies) {
    std::vector<MetadataRecord> records;
    for (RecordBody& body : bodies) records.push_back({std::move(body), 0});
    Result<Image> next = apply(image, records, 3);
    if (!next) return next.error();
    image = std::move(*next);
    return {};
  }
  std::string fault(std::vector<RecordBody> bodies) {
    Image before = image;
    Result<void> result = run(std::move(bodies));
    EXPECT_TRUE(same_content(before, image));
    return result ? "" : result.error().what;
  }
  const PartitionState& partition() { return *image.partition({"orders", PartitionId{0}}); }

  Image image;
};

TEST_F(Apply, CountsItsPlaceInTheLog) {
  EXPECT_EQ(image.next_offset, Offset{3});
  EXPECT_EQ(image.epoch, 3);
}

TEST_F(Apply, LeavesTheImageBeforeAlone) {
  Image before = image;
  auto topic = before.topic("orders");
  ASSERT_TRUE(run({partition_record(kOrders, 1), TopicRecord{"other", kOther}}));
  EXPECT_EQ(topic->partitions.size(), 1u);
  EXPECT_EQ(before.topics.size(), 1u);
  EXPECT_EQ(image.topic("orders")->partitions.size(), 2u);
  EXPECT_EQ(image.topic(kOrders), image.topic("orders"));
  // What did not change is shared.
  Image again = image;
  ASSERT_TRUE(run({NoOpRecord{}, partition_record(kOther, 0)}));
  EXPECT_EQ(again.topic("orders"), image.topic("orders"));
}

TEST_F(Apply, PartitionChangesTouchWhatTheyName) {
  struct Case {
    const char* what;
    std::function<void(PartitionChangeRecord&)> set;
    std::function<void(PartitionState&)> expect;
  };
  const Case cases[] = {
      {"nothing", [](auto&) {}, [](auto&) {}},
      {"isr", [](auto& r) { r.isr = {1}; }, [](auto& p) { p.isr = {NodeId{1}}; }},
      {"empty isr", [](auto& r) { r.isr.emplace(); }, [](auto& p) { p.isr.clear(); }},
      {"leader", [](auto& r) { r.leader = 2; }, [](auto& p) { p.leader = NodeId{2}, ++p.leader_epoch; }},
      {"no leader", [](auto& r) { r.leader = -1; }, [](auto& p) { p.leader.reset(), ++p.leader_epoch; }},
      {"the same leader again", [](auto& r) { r.leader = 1; }, [](auto& p) { ++p.leader_epoch; }},
      {"recovery state", [](auto& r) { r.leader_recovery_state = 1; }, [](auto& p) { p.leader_recovery_state = 1; }},
      {"directories", [](auto& r) { r.directories = {kLostDirectory, kDirectory}; },
       [](auto& p) { p.directories = {kLostDirectory, kDirectory}; }},
      {"replicas keep the directories of those who stay", [](auto& r) { r.replicas = {3, 1}; },
       [](auto& p) { p.replicas = {NodeId{3}, NodeId{1}}, p.directories = {kUnassignedDirectory, kDirectory}; }},
      {"reassignment", [](auto& r) { r.adding_replicas = {3}, r.removing_replicas = {2}; },
       [](auto& p) { p.adding_replicas = {NodeId{3}}, p.removing_replicas = {NodeId{2}}; }},
      {"elr", [](auto& r) { r.eligible_leader_replicas = {1}, r.last_known_elr = {2}; },
       [](auto& p) { p.eligible_leader_replicas = {NodeId{1}}, p.last_known_elr = {NodeId{2}}; }},
  };
  for (const Case& c : cases) {
    PartitionState expected = partition();
    c.expect(expected);
    ++expected.partition_epoch;
    PartitionChangeRecord record = change_record(kOrders, 0);
    c.set(record);
    Image before = image;
    ASSERT_TRUE(run({record})) << c.what;
    EXPECT_EQ(partition(), expected) << c.what;
    image = before;
  }
}

TEST_F(Apply, RefusesContradictions) {
  struct Case {
    std::vector<RecordBody> records;
    const char* part;
  };
  const Case cases[] = {
      {{partition_record(kOther, 0)}, "a PartitionRecord for partition 0 of topic id"},
      {{partition_record(kOrders, -1)}, "a PartitionRecord for partition -1 of topic 'orders'"},
      {{change_record(kOther, 0)}, "a PartitionChangeRecord for partition 0 of topic id"},
      {{change_record(kOrders, 1)}, "a PartitionChangeRecord for partition 1 of topic 'orders'"},
      {{TopicRecord{"orders", kOther}}, "a TopicRecord gives topic 'orders' the id"},
      {{TopicRecord{"other", kOrders}}, "which topic 'orders' has"},
      {{RemoveTopicRecord{kOther}}, "a RemoveTopicRecord for topic id"},
      {{BrokerRegistrationChangeRecord{9, 12, 1, 0, {}, {}}}, "of broker 9, which is not registered"},
      {{BrokerRegistrationChangeRecord{1, 11, 1, 0, {}, {}}}, "with epoch 11, which is registered with epoch 12"},
      {{FenceBrokerRecord{2, 1}}, "a FenceBrokerRecord of broker 2"},
      {{UnregisterBrokerRecord{2, 1}}, "a UnregisterBrokerRecord of broker 2"},
      {{ClearElrRecord{"other"}}, "a ClearElrRecord for topic 'other'"},
      {{EndTransactionRecord{}}, "outside of a metadata transaction"},
      {{AbortTransactionRecord{}}, "outside of a metadata transaction"},
      {{BeginTransactionRecord{}, BeginTransactionRecord{}}, "inside of a metadata transaction"},
      {{BeginTransactionRecord{}}, "is left open"},
  };
  for (const Case& c : cases) {
    std::string what = fault(c.records);
    EXPECT_NE(what.find(c.part), std::string::npos) << c.part << " / " << what;
  }
}

TEST_F(Apply, RemovingATopicTakesItsConfigsAlong) {
  ASSERT_TRUE(run({ConfigRecord{2, "orders", "retention.ms", "1"}, ConfigRecord{4, "", "log.retention.ms", "2"}}));
  ASSERT_TRUE(run({RemoveTopicRecord{kOrders}}));
  EXPECT_TRUE(image.topics.empty());
  EXPECT_TRUE(image.topics_by_id.empty());
  EXPECT_TRUE(image.config({ResourceType::topic, "orders"}).empty());
  EXPECT_EQ(image.config({ResourceType::broker, ""}).size(), 1u);
  // The name is free for a topic of another id.
  ASSERT_TRUE(run({TopicRecord{"orders", kOther}}));
  EXPECT_EQ(image.topic("orders")->id, kOther);
}

TEST_F(Apply, ConfigsAreSetAndRemoved) {
  ASSERT_TRUE(run({ConfigRecord{2, "orders", "a", "1"}, ConfigRecord{2, "orders", "b", ""}, ConfigRecord{32, "g", "c", "3"}}));
  EXPECT_EQ(image.config({ResourceType::topic, "orders"}), (ConfigValues{{"a", "1"}, {"b", ""}}));
  ASSERT_TRUE(run({ConfigRecord{2, "orders", "a", std::nullopt}, ConfigRecord{2, "orders", "zz", std::nullopt},
                   ConfigRecord{2, "never", "a", std::nullopt}}));
  EXPECT_EQ(image.config({ResourceType::topic, "orders"}), (ConfigValues{{"b", ""}}));
  ASSERT_TRUE(run({ConfigRecord{2, "orders", "b", std::nullopt}}));
  EXPECT_FALSE(image.configs.contains({ResourceType::topic, "orders"}));
  EXPECT_TRUE(image.configs.contains({ResourceType::group, "g"}));
}

TEST_F(Apply, BrokersAreFencedAndUnfenced) {
  const BrokerRegistration& broker = image.brokers.at(NodeId{1});
  EXPECT_TRUE(broker.fenced);
  ASSERT_TRUE(run({BrokerRegistrationChangeRecord{1, 12, -1, 0, {}, {}}}));
  EXPECT_FALSE(image.brokers.at(NodeId{1}).fenced);
  ASSERT_TRUE(run({BrokerRegistrationChangeRecord{1, 12, 0, 1, {}, {}}}));
  EXPECT_TRUE(image.brokers.at(NodeId{1}).in_controlled_shutdown);
  EXPECT_FALSE(image.brokers.at(NodeId{1}).fenced);
  ASSERT_TRUE(run({BrokerRegistrationChangeRecord{1, 12, 1, 0, {kOther}, std::vector<Uuid>{}}}));
  EXPECT_TRUE(image.brokers.at(NodeId{1}).fenced);
  EXPECT_EQ(image.brokers.at(NodeId{1}).log_dirs, std::vector{kOther});
  EXPECT_EQ(image.brokers.at(NodeId{1}).cordoned_log_dirs, std::optional(std::vector<Uuid>{}));
  ASSERT_TRUE(run({UnfenceBrokerRecord{1, 12}}));
  EXPECT_FALSE(image.brokers.at(NodeId{1}).fenced);
  ASSERT_TRUE(run({FenceBrokerRecord{1, 12}}));
  EXPECT_TRUE(image.brokers.at(NodeId{1}).fenced);
  // Registering again starts anew.
  ASSERT_TRUE(run({broker_record(1, 40)}));
  EXPECT_FALSE(image.brokers.at(NodeId{1}).in_controlled_shutdown);
  ASSERT_TRUE(run({UnregisterBrokerRecord{1, 40}}));
  EXPECT_TRUE(image.brokers.empty());
}

TEST_F(Apply, FeatureLevelZeroSwitchesOff) {
  ASSERT_TRUE(run({FeatureLevelRecord{"metadata.version", 25}, FeatureLevelRecord{"group.version", 1}}));
  EXPECT_EQ(image.metadata_version(), 25);
  ASSERT_TRUE(run({FeatureLevelRecord{"group.version", 0}}));
  EXPECT_FALSE(image.features.contains("group.version"));
  EXPECT_EQ(image.feature("group.version"), 0);
}

TEST_F(Apply, KeepsWhatASingleNodeDoesNotActOn) {
  ClientQuotaRecord quota;
  quota.entity = {{"user", "u"}, {"client-id", std::nullopt}};
  quota.key = "producer_byte_rate";
  quota.value = 1.5;
  RegisterControllerRecord controller;
  controller.controller_id = 4;
  DelegationTokenRecord token;
  token.token_id = "t";
  token.owner = "User:o";
  ASSERT_TRUE(run({quota, controller, token, UserScramCredentialRecord{"u", 1, {}, {}, {}, 4096},
                   AccessControlEntryRecord{kOther, 2, "r", 3, "User:p", "*", 4, 3}, ProducerIdsRecord{1, 12, 5000}}));
  EXPECT_EQ(image.quotas.size(), 1u);
  EXPECT_EQ(image.controllers.size(), 1u);
  EXPECT_EQ(image.tokens.at("t").owner, "User:o");
  EXPECT_EQ(image.scram.at({"u", 1}).iterations, 4096);
  EXPECT_EQ(image.acls.at(kOther).principal, "User:p");
  EXPECT_EQ(image.next_producer_id, 5000);

  quota.remove = true;
  ASSERT_TRUE(run({quota, UnregisterControllerRecord{4}, RemoveDelegationTokenRecord{"t"},
                   RemoveUserScramCredentialRecord{"u", 1}, RemoveAccessControlEntryRecord{kOther}, ZkMigrationRecord{0}}));
  EXPECT_TRUE(image.quotas.empty() && image.controllers.empty() && image.tokens.empty() && image.scram.empty() &&
              image.acls.empty());
}

TEST_F(Apply, ClearElrClearsOneTopicOrAll) {
  PartitionRecord eligible = partition_record(kOther, 0);
  eligible.eligible_leader_replicas = {1};
  eligible.last_known_elr = {1};
  PartitionChangeRecord change = change_record(kOrders, 0);
  change.eligible_leader_replicas = {1};
  ASSERT_TRUE(run({TopicRecord{"other", kOther}, eligible, change}));
  Image before = image;
  ASSERT_TRUE(run({ClearElrRecord{"other"}}));
  EXPECT_TRUE(image.topic("other")->partitions.at(PartitionId{0}).last_known_elr.empty());
  EXPECT_FALSE(partition().eligible_leader_replicas.empty());
  image = before;
  ASSERT_TRUE(run({ClearElrRecord{""}}));
  EXPECT_TRUE(image.topic("other")->partitions.at(PartitionId{0}).eligible_leader_replicas.empty());
  EXPECT_TRUE(partition().eligible_leader_replicas.empty());
}

TEST_F(Apply, TransactionsTakeEffectAtTheirEnd) {
  ImageBuilder builder(image);
  auto feed = [&](RecordBody body) { return builder.apply({std::move(body), 0}); };
  ASSERT_TRUE(feed(BeginTransactionRecord{"many"}));
  EXPECT_EQ(builder.transaction_name(), "many");
  ASSERT_TRUE(feed(TopicRecord{"other", kOther}));
  ASSERT_TRUE(feed(partition_record(kOther, 0)));
  EXPECT_TRUE(builder.in_transaction());
  EXPECT_EQ(builder.image().topic("other"), nullptr);
  ASSERT_TRUE(feed(EndTransactionRecord{}));
  EXPECT_FALSE(builder.in_transaction());
  EXPECT_NE(builder.image().topic("other"), nullptr);

  ASSERT_TRUE(feed(BeginTransactionRecord{}));
  ASSERT_TRUE(feed(RemoveTopicRecord{kOther}));
  ASSERT_TRUE(feed(AbortTransactionRecord{"Controller failover"}));
  EXPECT_FALSE(builder.in_transaction());
  EXPECT_NE(builder.image().topic("other"), nullptr);
}

TEST_F(Apply, VotersComeFromControlRecords) {
  ImageBuilder builder(image);
  Voter voter{NodeId{1}, kDirectory, {{"CONTROLLER", "localhost", 9093, 0}}, 0, 1};
  builder.apply(ControlRecord{KRaftVersionRecord{0, 1}});
  builder.apply(ControlRecord{to_record({voter})});
  builder.apply(ControlRecord{LeaderChangeMessage{}});
  Image next = builder.take();
  EXPECT_EQ(next.kraft_version, 1);
  EXPECT_EQ(next.voters, std::vector{voter});
}

}  // namespace
}  // namespace cordwood::broker::metadata
