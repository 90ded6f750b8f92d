// Metadata, topic administration and DescribeCluster over a whole broker. What single entries are refused for is tested
// beside the decisions (metadata/topic_decisions_test.cc) and against Kafka (tests/differential/topic_admin.py).
#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "broker/metadata/topic_name.h"
#include "broker/topic_creation.h"
#include "protocol/messages/create_partitions.h"
#include "protocol/messages/create_topics.h"
#include "protocol/messages/delete_topics.h"
#include "protocol/messages/describe_cluster.h"
#include "protocol/messages/describe_topic_partitions.h"
#include "protocol/messages/metadata.h"

namespace cordwood::broker {
namespace {

using protocol::CreatePartitionsRequest;
using protocol::CreatePartitionsResponse;
using protocol::CreateTopicsRequest;
using protocol::CreateTopicsResponse;
using protocol::DeleteTopicsRequest;
using protocol::DeleteTopicsResponse;
using protocol::DescribeClusterRequest;
using protocol::DescribeClusterResponse;
using protocol::DescribeTopicPartitionsRequest;
using protocol::DescribeTopicPartitionsResponse;
using protocol::ErrorCode;
using protocol::MetadataRequest;
using protocol::MetadataResponse;

CreateTopicsRequest create(const std::string& name, std::int32_t partitions = 1) {
  CreateTopicsRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.num_partitions = partitions;
  topic.replication_factor = 1;
  return request;
}

MetadataRequest ask(std::vector<std::string> names) {
  MetadataRequest request;
  request.topics.emplace();
  request.allow_auto_topic_creation = false;
  for (std::string& name : names) request.topics->push_back({{}, std::move(name)});
  return request;
}

MetadataRequest ask_by_id(Uuid id) {
  MetadataRequest request;
  request.topics.emplace();
  request.topics->push_back({id, std::nullopt});
  return request;
}

TEST(CreateTopicsHandler, AnswersWhenThePartitionsAreLed) {
  TestBroker broker;
  auto answer = broker.call<CreateTopicsResponse>(create("orders", 3), 7);
  ASSERT_EQ(answer->topics.size(), 1u);
  const auto& made = answer->topics[0];
  EXPECT_EQ(made.error_code, ErrorCode::NONE);
  EXPECT_EQ(made.num_partitions, 3);
  EXPECT_EQ(made.replication_factor, 1);
  EXPECT_EQ(made.topic_id, broker.topic_id("orders"));
  ASSERT_TRUE(made.configs);
  EXPECT_EQ(made.configs->size(), 37u);
  EXPECT_TRUE(std::ranges::is_sorted(*made.configs, {}, &CreateTopicsResponse::Config::name));
  for (std::int32_t index = 0; index < 3; ++index) {
    auto partition = broker->partitions().find(TopicPartition{"orders", PartitionId{index}});
    ASSERT_TRUE(partition) << index;
    EXPECT_TRUE(partition->leadership().is_leader);
  }
}

TEST(CreateTopicsHandler, ValidatesWithoutWriting) {
  TestBroker broker;
  CreateTopicsRequest request = create("orders");
  request.validate_only = true;
  auto answer = broker.call<CreateTopicsResponse>(request, 7);
  EXPECT_EQ(answer->topics[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(broker->image()->topic("orders"), nullptr);
}

TEST(CreateTopicsHandler, WithoutTimeNothingIsCreated) {
  TestBroker broker;
  for (std::int32_t timeout : {0, -1}) {
    CreateTopicsRequest request = create("orders");
    request.timeout_ms = timeout;
    auto answer = broker.call<CreateTopicsResponse>(request, 7);
    EXPECT_EQ(answer->topics[0].error_code, ErrorCode::REQUEST_TIMED_OUT);
    EXPECT_EQ(answer->topics[0].error_message, std::nullopt);
  }
  EXPECT_TRUE(broker->image()->topics.empty());
  EXPECT_TRUE(broker.call<CreateTopicsResponse>(CreateTopicsRequest{}, 7)->topics.empty());
}

TEST(CreateTopicsHandler, SurvivesAPowerCut) {
  TestBroker broker;
  broker.call<CreateTopicsResponse>(create("orders", 2), 7);
  Uuid id = broker.topic_id("orders");
  broker.crash(3);
  EXPECT_EQ(broker.topic_id("orders"), id);
  EXPECT_EQ(broker->image()->partition({"orders", PartitionId{1}})->leader_epoch, 2);
}

TEST(DeleteTopicsHandler, DeletesByNameAndById) {
  TestBroker broker;
  broker.create_topic("a");
  broker.create_topic("b");
  DeleteTopicsRequest old;
  old.topic_names = {"a", "nope"};
  old.timeout_ms = 1000;
  auto answer = broker.call<DeleteTopicsResponse>(old, 5);
  ASSERT_EQ(answer->responses.size(), 2u);
  EXPECT_EQ(answer->responses[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(answer->responses[1].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(broker->partitions().find(TopicPartition{"a", PartitionId{0}}), nullptr);

  Uuid b = broker.topic_id("b");
  DeleteTopicsRequest by_id;
  by_id.topics.push_back({std::nullopt, b});
  by_id.timeout_ms = 1000;
  answer = broker.call<DeleteTopicsResponse>(by_id, 6);
  EXPECT_EQ(answer->responses[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(answer->responses[0].name, "b");
  EXPECT_EQ(answer->responses[0].topic_id, b);
  EXPECT_TRUE(broker->image()->topics.empty());
}

TEST(DeleteTopicsHandler, CanBeSwitchedOff) {
  Config config = TestBroker::test_config();
  config.delete_topic_enable = false;
  TestBroker broker(config);
  broker.create_topic("a");
  DeleteTopicsRequest request;
  request.topic_names = {"a"};
  request.timeout_ms = 1000;
  EXPECT_EQ(broker.call<DeleteTopicsResponse>(request, 2)->responses[0].error_code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(broker.call<DeleteTopicsResponse>(request, 3)->responses[0].error_code, ErrorCode::TOPIC_DELETION_DISABLED);
  EXPECT_NE(broker->image()->topic("a"), nullptr);
}

TEST(DeleteTopicsHandler, TheNameIsFreeForAnotherTopic) {
  TestBroker broker;
  broker.create_topic("a");
  broker.produce("a", 0, {"old"});
  Uuid before = broker.topic_id("a");
  DeleteTopicsRequest request;
  request.topic_names = {"a"};
  request.timeout_ms = 1000;
  broker.call<DeleteTopicsResponse>(request, 5);
  broker.create_topic("a");
  EXPECT_NE(broker.topic_id("a"), before);
  EXPECT_EQ(broker.produce("a", 0, {"new"}), 0);
}

TEST(CreatePartitionsHandler, GrowsALiveTopic) {
  TestBroker broker;
  broker.create_topic("orders", 1);
  CreatePartitionsRequest request;
  request.topics.push_back({"orders", 3, std::nullopt});
  request.timeout_ms = 1000;
  request.validate_only = true;
  EXPECT_EQ(broker.call<CreatePartitionsResponse>(request, 3)->results[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(broker->image()->topic("orders")->partitions.size(), 1u);
  request.validate_only = false;
  EXPECT_EQ(broker.call<CreatePartitionsResponse>(request, 3)->results[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(broker.produce("orders", 2, {"x"}), 0);
  EXPECT_EQ(broker.call<CreatePartitionsResponse>(request, 3)->results[0].error_message, "Topic already has 3 partition(s).");
  request.timeout_ms = 0;
  EXPECT_EQ(broker.call<CreatePartitionsResponse>(request, 3)->results[0].error_code, ErrorCode::REQUEST_TIMED_OUT);
}

TEST(MetadataHandler, TellsOfBrokersAndTopicsInEveryVersion) {
  TestBroker broker;
  broker.create_topic("orders", 2);
  for (std::int16_t version = 0; version <= 13; ++version) {
    auto answer = broker.call<MetadataResponse>(ask({"orders", "orders", "a b"}), version);
    ASSERT_EQ(answer->brokers.size(), 1u) << version;
    EXPECT_EQ(answer->brokers[0].node_id, 1);
    if (version >= 1) {
      EXPECT_EQ(answer->controller_id, 1);
    }
    if (version >= 2) {
      EXPECT_EQ(answer->cluster_id, broker->controller().cluster_id());
    }
    ASSERT_EQ(answer->topics.size(), 2u) << version;
    const auto& orders = answer->topics[0];
    EXPECT_EQ(orders.error_code, ErrorCode::NONE);
    EXPECT_EQ(orders.name, "orders");
    EXPECT_EQ(orders.topic_id, version >= 10 ? broker.topic_id("orders") : kZeroUuid);
    ASSERT_EQ(orders.partitions.size(), 2u);
    EXPECT_EQ(orders.partitions[1].leader_id, 1);
    EXPECT_EQ(orders.partitions[1].replica_nodes, std::vector{1});
    EXPECT_EQ(orders.partitions[1].isr_nodes, std::vector{1});
    EXPECT_EQ(answer->topics[1].error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
  }
}

TEST(MetadataHandler, AllTopicsOrNone) {
  TestBroker broker;
  broker.create_topic("a");
  broker.create_topic("b");
  MetadataRequest none = ask({});
  EXPECT_EQ(broker.call<MetadataResponse>(none, 0)->topics.size(), 2u);
  EXPECT_EQ(broker.call<MetadataResponse>(none, 1)->topics.size(), 0u);
  MetadataRequest all;
  EXPECT_EQ(broker.call<MetadataResponse>(all, 1)->topics.size(), 2u);
  EXPECT_EQ(broker.call<MetadataResponse>(all, 13)->topics.size(), 2u);
}

TEST(MetadataHandler, ById) {
  TestBroker broker;
  broker.create_topic("orders");
  auto answer = broker.call<MetadataResponse>(ask_by_id(broker.topic_id("orders")), 12);
  ASSERT_EQ(answer->topics.size(), 1u);
  EXPECT_EQ(answer->topics[0].name, "orders");
  answer = broker.call<MetadataResponse>(ask_by_id(Uuid{1, 77}), 12);
  EXPECT_EQ(answer->topics[0].error_code, ErrorCode::UNKNOWN_TOPIC_ID);
  EXPECT_EQ(answer->topics[0].name, std::nullopt);
  EXPECT_EQ(answer->topics[0].topic_id, (Uuid{1, 77}));
}

TEST(MetadataHandler, SomeRequestsFailAsAWhole) {
  TestBroker broker;
  broker.create_topic("orders");
  struct Case {
    MetadataRequest request;
    std::int16_t version;
    ErrorCode code;
  };
  const Case cases[] = {
      {ask_by_id(broker.topic_id("orders")), 10, ErrorCode::INVALID_REQUEST},
      {ask_by_id(broker.topic_id("orders")), 11, ErrorCode::INVALID_REQUEST},
      {ask_by_id(kZeroUuid), 10, ErrorCode::INVALID_REQUEST},
      {ask_by_id(kZeroUuid), 12, ErrorCode::UNKNOWN_SERVER_ERROR},
      {ask_by_id(kZeroUuid), 13, ErrorCode::UNKNOWN_SERVER_ERROR},
  };
  for (const Case& c : cases) {
    auto answer = broker.call<MetadataResponse>(c.request, c.version);
    EXPECT_TRUE(answer->brokers.empty());
    EXPECT_EQ(answer->controller_id, -1);
    ASSERT_EQ(answer->topics.size(), 1u);
    EXPECT_EQ(answer->topics[0].error_code, c.code);
    EXPECT_EQ(answer->topics[0].name, "");
    EXPECT_EQ(answer->error_code, c.version >= 13 ? c.code : ErrorCode::NONE);
  }
}

TEST(MetadataHandler, CreatesTopicsOnTheWay) {
  TestBroker broker;
  MetadataRequest request = ask({"fresh"});
  auto create_and_wait = [&](const std::string& name, std::int16_t version) {
    auto answer = broker.call<MetadataResponse>(request, version);
    EXPECT_EQ(answer->topics[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    // The controller works in order: when this is done, so is the creation before it.
    broker.call<CreateTopicsResponse>(create("after-" + name), 7);
    return broker->image()->topic(name) != nullptr;
  };
  EXPECT_FALSE(create_and_wait("fresh", 13));
  request.allow_auto_topic_creation = true;
  EXPECT_TRUE(create_and_wait("fresh", 12));
  // Below version 4 there is no flag, and asking is creating.
  request = ask({"old"});
  EXPECT_TRUE(create_and_wait("old", 3));
  request = ask({"__cluster_metadata"});
  request.allow_auto_topic_creation = true;
  EXPECT_FALSE(create_and_wait("__cluster_metadata", 13));
}

TEST(MetadataHandler, CreatesNothingWhenTheBrokerDoesNotWantIt) {
  Config config = TestBroker::test_config();
  config.auto_create_topics_enable = false;
  TestBroker broker(config);
  MetadataRequest request = ask({"fresh"});
  request.allow_auto_topic_creation = true;
  EXPECT_EQ(broker.call<MetadataResponse>(request, 13)->topics[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  broker.create_topic("other");
  EXPECT_EQ(broker->image()->topic("fresh"), nullptr);
}

TEST(MetadataHandler, InternalTopicsHaveTheirOwnSettings) {
  Config config = TestBroker::test_config();
  config.offsets_topic_num_partitions = 3;
  config.given["transaction.state.log.num.partitions"] = "2";
  TestBroker broker(config);
  MetadataRequest request = ask({"__consumer_offsets", "__transaction_state"});
  EXPECT_TRUE(broker.call<MetadataResponse>(request, 13)->topics[0].is_internal);
  request.allow_auto_topic_creation = true;
  broker.call<MetadataResponse>(request, 13);
  broker.create_topic("after");
  auto image = broker->image();
  ASSERT_NE(image->topic("__consumer_offsets"), nullptr);
  EXPECT_EQ(image->topic("__consumer_offsets")->partitions.size(), 3u);
  EXPECT_EQ(image->topic("__transaction_state")->partitions.size(), 2u);
  EXPECT_EQ(image->config({metadata::ResourceType::topic, "__consumer_offsets"}),
            (metadata::ConfigValues{{"compression.type", "producer"}, {"cleanup.policy", "compact"}, {"segment.bytes", "104857600"}}));
}

TEST(MetadataHandler, AuthorizedOperationsOnRequest) {
  TestBroker broker;
  broker.create_topic("orders");
  MetadataRequest request = ask({"orders"});
  EXPECT_EQ(broker.call<MetadataResponse>(request, 8)->topics[0].topic_authorized_operations, INT32_MIN);
  request.include_topic_authorized_operations = request.include_cluster_authorized_operations = true;
  auto answer = broker.call<MetadataResponse>(request, 8);
  EXPECT_EQ(answer->topics[0].topic_authorized_operations, 3576);
  EXPECT_EQ(answer->cluster_authorized_operations, 8096);
}

TEST(DescribeClusterHandler, AnswersForBrokersOnly) {
  TestBroker broker;
  DescribeClusterRequest request;
  request.include_cluster_authorized_operations = true;
  auto answer = broker.call<DescribeClusterResponse>(request, 2);
  EXPECT_EQ(answer->cluster_id, broker->controller().cluster_id());
  EXPECT_EQ(answer->controller_id, 1);
  ASSERT_EQ(answer->brokers.size(), 1u);
  EXPECT_FALSE(answer->brokers[0].is_fenced);
  EXPECT_EQ(answer->cluster_authorized_operations, 8096);
  request.endpoint_type = 2;
  EXPECT_EQ(broker.call<DescribeClusterResponse>(request, 1)->error_code, ErrorCode::MISMATCHED_ENDPOINT_TYPE);
  request.endpoint_type = 7;
  EXPECT_EQ(broker.call<DescribeClusterResponse>(request, 1)->error_message, "Unsupported endpoint type 7");
}

// Every page, as "topic-partition" or "topic!error".
std::vector<std::string> all_pages(TestBroker& broker, DescribeTopicPartitionsRequest request, std::size_t& pages) {
  std::vector<std::string> seen;
  for (pages = 1;; ++pages) {
    auto answer = broker.call<DescribeTopicPartitionsResponse>(request, 0);
    for (const auto& topic : answer->topics) {
      if (topic.error_code != ErrorCode::NONE) seen.push_back(*topic.name + "!" + std::string(name_of(topic.error_code)));
      for (const auto& partition : topic.partitions) {
        seen.push_back(*topic.name + "-" + std::to_string(partition.partition_index));
      }
    }
    if (!answer->next_cursor) return seen;
    request.cursor = DescribeTopicPartitionsRequest::Cursor{answer->next_cursor->topic_name, answer->next_cursor->partition_index};
  }
}

TEST(DescribeTopicPartitionsHandler, PagesGiveEveryPartitionOnce) {
  TestBroker broker;
  broker.create_topic("b", 3);
  broker.create_topic("a", 2);
  const std::vector<std::string> everything{"a-0", "a-1", "b-0", "b-1", "b-2"};
  for (std::int32_t limit : {-1, 0, 1, 2, 3, 4, 5, 6, 2000}) {
    DescribeTopicPartitionsRequest request;
    request.response_partition_limit = limit;
    std::size_t pages = 0;
    EXPECT_EQ(all_pages(broker, request, pages), everything) << limit;
    EXPECT_EQ(pages, (5 + std::max(limit, 1) - 1) / std::max(limit, 1)) << limit;
  }
}

TEST(DescribeTopicPartitionsHandler, NamesAndCursorsThatAreNot) {
  TestBroker broker;
  broker.create_topic("a", 2);
  DescribeTopicPartitionsRequest request;
  for (const char* name : {"a", "nope", "a", "x y"}) request.topics.push_back({name});
  std::size_t pages = 0;
  EXPECT_EQ(all_pages(broker, request, pages), (std::vector<std::string>{"a-0", "a-1", "nope!UNKNOWN_TOPIC_OR_PARTITION",
                                                                         "x y!INVALID_TOPIC_EXCEPTION"}));
  for (auto [topic, partition] : {std::pair{"zzz", 0}, std::pair{"b", 0}, std::pair{"a", -1}}) {
    request.cursor = DescribeTopicPartitionsRequest::Cursor{topic, partition};
    auto answer = broker.call<DescribeTopicPartitionsResponse>(request, 0);
    ASSERT_EQ(answer->topics.size(), 4u);
    EXPECT_EQ(answer->topics[0].error_code, ErrorCode::INVALID_REQUEST) << topic;
  }
}

}  // namespace
}  // namespace cordwood::broker
