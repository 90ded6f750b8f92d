// A whole broker in memory, looked at while it works.
#include "inspector/live_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "broker/groups/coordinator.h"
#include "inspector/actions.h"
#include "inspector/metrics.h"
#include "inspector/ticker.h"
#include "inspector/views/views.h"
#include "protocol/messages/offset_commit.h"

namespace cordwood::inspector {
namespace {

using broker::TestBroker;
using testing::HasSubstr;
using testing::Not;

class LiveSourceTest : public testing::Test {
 protected:
  TestBroker broker_;
  broker::View view_{*broker_};
  LiveSource source_{view_, broker_.clock(), TimestampMs{1'000}};
  SeededRandom random_{3};
  Actions actions_{*broker_, broker_.clock(), random_};

  void commit(const std::string& group, const std::string& topic, std::int64_t offset) {
    protocol::OffsetCommitRequest request;
    request.group_id = group;
    request.generation_id_or_member_epoch = -1;
    auto& wanted = request.topics.emplace_back();
    wanted.name = topic;
    auto& partition = wanted.partitions.emplace_back();
    partition.partition_index = 0;
    partition.committed_offset = offset;
    partition.committed_leader_epoch = -1;
    const auto answer = broker_->groups().commit(request, {.version = 8, .client_id = "test", .client_host = "127.0.0.1"});
    ASSERT_EQ(answer.topics.at(0).partitions.at(0).error_code, protocol::ErrorCode::NONE);
  }
};

TEST_F(LiveSourceTest, ShowsTopicsAndWhatTheyHold) {
  broker_.create_topic("orders", 3, {{"retention.ms", "1000"}});
  broker_.produce("orders", 1, {"a", "b", "c"});
  broker_.advance({500});
  const auto table = source_.topics();
  const TopicFacts* orders = table->find("orders");
  ASSERT_NE(orders, nullptr);
  EXPECT_EQ(orders->partitions, 3);
  EXPECT_EQ(orders->records, 3);
  EXPECT_EQ(orders->records_in, 3u);
  EXPECT_GT(orders->bytes_in, 0u);
  EXPECT_EQ(orders->problems, 0);
  const api::Topic topic = source_.topic("orders").value();
  ASSERT_EQ(topic.partitions.size(), 3u);
  EXPECT_EQ(topic.partitions[1].log_end, 3);
  EXPECT_EQ(topic.partitions[1].leader, 1);
  const auto retention = std::ranges::find(topic.settings, std::string("retention.ms"), &api::Setting::name);
  ASSERT_NE(retention, topic.settings.end());
  EXPECT_EQ(retention->value, "1000");
  EXPECT_EQ(retention->source, "topic");
  EXPECT_EQ(source_.topic("nothing").error().code, Errc::not_found);
  EXPECT_EQ(source_.partition({"orders", PartitionId{3}}).error().code, Errc::not_found);
  const PartitionAt at = source_.partition({"orders", PartitionId{1}}).value();
  EXPECT_EQ(at.log, broker_->partitions().find({"orders", PartitionId{1}})->log());
  EXPECT_TRUE(at.is_live);
  EXPECT_EQ(at.topic_partitions, 3);
}

TEST_F(LiveSourceTest, ShowsTheLogOfTheMetadata) {
  broker_.create_topic("orders", 3);
  const auto table = source_.topics();
  const TopicFacts* facts = table->find("__cluster_metadata");
  ASSERT_NE(facts, nullptr);
  EXPECT_TRUE(facts->internal);
  EXPECT_GT(facts->records, 4);
  const api::Topic topic = source_.topic("__cluster_metadata").value();
  ASSERT_EQ(topic.partitions.size(), 1u);
  EXPECT_EQ(topic.partitions[0].log_end, topic.partitions[0].log_start + facts->records);
  const TopicPartition name{"__cluster_metadata", PartitionId{0}};
  const PartitionAt at = source_.partition(name).value();
  EXPECT_TRUE(at.directory.ends_with("/__cluster_metadata-0"));
  EXPECT_EQ(source_.bounds(name).log_end, Offset{*topic.partitions[0].high_watermark});
  EXPECT_EQ(source_.partition_tick(name)->segments, 1);
  // Its records are decoded; the one of the topic is among them.
  const auto page = view_records(at, {"__cluster_metadata", 0, at.log->log_start_offset().value, 200});
  ASSERT_TRUE(page) << page.error().message();
  const bool has_topic = std::ranges::any_of(page->rows, [](const api::LogRecord& record) {
    return record.value && record.value->decoded && record.value->decoded->find("\"orders\"") != std::string::npos;
  });
  EXPECT_TRUE(has_topic);
  // And nobody changes it from here.
  EXPECT_FALSE(actions_.maintain({"__cluster_metadata", 0}, {api::MaintenanceKind::roll}));
  EXPECT_EQ(source_.partition({"__cluster_metadata", PartitionId{1}}).error().code, Errc::not_found);
}

TEST_F(LiveSourceTest, MeasuresRatesBetweenTwoLooks) {
  broker_.create_topic("orders");
  EXPECT_FALSE(source_.topics()->find("orders")->records_per_second);
  broker_.advance({1'000});
  broker_.produce("orders", 0, {"a", "b", "c", "d"});
  const auto table = source_.topics();
  ASSERT_TRUE(table->find("orders")->records_per_second);
  EXPECT_DOUBLE_EQ(*table->find("orders")->records_per_second, 4.0);
  EXPECT_GT(*table->find("orders")->bytes_per_second, 0.0);
  // Long after, nothing is known of now.
  broker_.advance({60'000});
  EXPECT_FALSE(source_.topics()->find("orders")->records_per_second);
}

TEST_F(LiveSourceTest, ShowsGroupsAndWhereTheyStand) {
  broker_.create_topic("__consumer_offsets");
  broker_.create_topic("orders");
  broker_.produce("orders", 0, {"a", "b", "c"});
  commit("readers", "orders", 2);
  const auto groups = source_.groups().value();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].name, "readers");
  EXPECT_EQ(groups[0].state, "Empty");
  ASSERT_EQ(groups[0].commits.size(), 1u);
  EXPECT_EQ(groups[0].commits[0].offset, Offset{2});
  EXPECT_EQ(source_.group("nobody").error().code, Errc::not_found);
  const PartitionAt at = source_.partition({"orders", PartitionId{0}}).value();
  ASSERT_EQ(at.groups.size(), 1u);
  EXPECT_EQ(at.groups[0].group, "readers");
  EXPECT_EQ(view_.group_count(), 1u);
}

TEST_F(LiveSourceTest, LooksAtManyGroupsPieceByPiece) {
  broker_.create_topic("__consumer_offsets");
  broker_.create_topic("orders");
  for (int i = 0; i < 50; ++i) commit(fmt::format("group-{:02}", i), "orders", i);
  const auto groups = source_.groups().value();
  ASSERT_EQ(groups.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(groups[static_cast<std::size_t>(i)].commits.at(0).offset, Offset{i});
  EXPECT_EQ(view_.committed_in({"orders", PartitionId{0}}).size(), 50u);
}

TEST_F(LiveSourceTest, HasMetricsUnderKafkasNames) {
  broker_.create_topic("orders", 2);
  broker_.produce("orders", 0, {"a", "b"});
  broker_.advance({500});
  io::MemFileSystem nothing;
  const std::string text = metrics_text(source_, &view_, nothing, broker_.clock(), "1.2.3");
  for (const char* line : {"kafka_server_brokertopicmetrics_messagesin_total{topic=\"orders\"} 2\n", "kafka_server_brokertopicmetrics_messagesin_total 2\n",
                           "kafka_log_log_logendoffset{topic=\"orders\",partition=\"0\"} 2\n", "kafka_log_log_logstartoffset{topic=\"orders\",partition=\"1\"} 0\n",
                           "kafka_log_log_numlogsegments{topic=\"orders\",partition=\"0\"} 1\n", "kafka_server_replicamanager_partitioncount 2\n",
                           "kafka_server_replicamanager_leadercount 2\n", "kafka_server_replicamanager_underreplicatedpartitions 0\n",
                           "kafka_controller_kafkacontroller_activecontrollercount 1\n", "kafka_network_requestmetrics_requests_total{request=\"Produce\"} 1\n",
                           "cordwood_build_info{version=\"1.2.3\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  // Each sample has a family of its own above it, told once.
  std::set<std::string> families;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(families.insert(line.substr(7, line.find(' ', 7) - 7)).second) << line;
    } else if (!line.starts_with("#")) {
      EXPECT_TRUE(families.contains(line.substr(0, line.find_first_of(" {")))) << line;
    }
  }
  EXPECT_EQ(escape_label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
}

TEST_F(LiveSourceTest, TellsListenersWhatHasChanged) {
  broker_.create_topic("orders");
  broker_.create_topic("quiet");
  Ticker ticker(source_, broker_.clock());
  const auto everything = Ticker::make_stream({}).value();
  const auto one = Ticker::make_stream({.topic = "orders", .partition = 0}).value();
  const std::vector<std::shared_ptr<EventStream>> streams{everything, one};
  // At first: how much there is.
  auto events = ticker.tick(streams);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_THAT(events[0], testing::StartsWith("data: {"));
  EXPECT_THAT(events[0], HasSubstr("\"topics\":[]"));
  EXPECT_THAT(events[1], HasSubstr("\"log_end\":\"0\""));
  // Nothing has changed: nothing is told.
  broker_.advance({300});
  events = ticker.tick(streams);
  EXPECT_EQ(events[0], "");
  EXPECT_EQ(events[1], "");
  broker_.produce("orders", 0, {"a"});
  broker_.advance({300});
  events = ticker.tick(streams);
  EXPECT_THAT(events[0], HasSubstr("\"name\":\"orders\""));
  EXPECT_THAT(events[0], Not(HasSubstr("quiet")));
  EXPECT_THAT(events[1], HasSubstr("\"log_end\":\"1\""));
  // Who was left out learns of it later, and of what came since.
  broker_.produce("quiet", 0, {"b"});
  broker_.advance({300});
  const std::vector<std::shared_ptr<EventStream>> first{everything};
  EXPECT_THAT(ticker.tick(first)[0], HasSubstr("quiet"));
  broker_.advance({300});
  EXPECT_THAT(ticker.tick(streams)[1], HasSubstr("quiet"));
  // And a sign of life.
  for (int i = 0; i < 30; ++i) {
    broker_.advance({300});
    ticker.tick(streams);
  }
  broker_.advance({10'000});
  EXPECT_THAT(ticker.tick(streams)[0], HasSubstr("\"topics\":["));
  EXPECT_FALSE(Ticker::make_stream({.topic = "orders"}).has_value());
  EXPECT_FALSE(Ticker::make_stream({.topic = "orders", .partition = -1}).has_value());
}

TEST_F(LiveSourceTest, RollsRetainsCompactsAndReindexes) {
  broker_.create_topic("orders", 1, {{"retention.ms", "1000"}});
  broker_.create_topic("latest", 1, {{"cleanup.policy", "compact"}});
  broker_.produce("orders", 0, {"a"});
  const auto log = broker_->partitions().find({"orders", PartitionId{0}})->log();
  const auto maintain = [&](const std::string& topic, api::MaintenanceKind kind) { return actions_.maintain({.topic = topic, .partition = 0}, {.kind = kind}); };
  EXPECT_THAT(maintain("orders", api::MaintenanceKind::roll).value().says, HasSubstr("begins at 1"));
  EXPECT_EQ(log->segments().size(), 2u);
  EXPECT_THAT(maintain("orders", api::MaintenanceKind::roll).value().says, HasSubstr("is empty"));
  EXPECT_THAT(maintain("orders", api::MaintenanceKind::retain).value().says, HasSubstr("Nothing goes"));
  EXPECT_THAT(maintain("orders", api::MaintenanceKind::reindex).value().says, HasSubstr("2 segments"));
  broker_.advance({5'000});
  EXPECT_THAT(maintain("orders", api::MaintenanceKind::retain).value().says, HasSubstr("have gone"));
  EXPECT_EQ(log->log_start_offset(), Offset{1});
  EXPECT_EQ(maintain("orders", api::MaintenanceKind::compact).error().code, Errc::invalid);
  EXPECT_THAT(maintain("latest", api::MaintenanceKind::compact).value().says, HasSubstr("nothing to compact"));
  EXPECT_EQ(maintain("nothing", api::MaintenanceKind::roll).error().code, Errc::not_found);
  EXPECT_EQ(actions_.maintain({.topic = "orders", .partition = -1}, {}).error().code, Errc::invalid);
}

TEST_F(LiveSourceTest, RefusesActionsOnWhatIsNotThere) {
  broker_.create_topic("__consumer_offsets");
  broker_.create_topic("orders", 2);
  EXPECT_EQ(actions_.produce({.topic = "nothing"}, {}).error().code, Errc::not_found);
  api::ProduceBody body;
  body.partition = 2;
  EXPECT_EQ(actions_.produce({.topic = "orders"}, body).error().code, Errc::invalid);
  EXPECT_EQ(actions_.reset_offsets({.group = "nobody"}, {.topic = "orders", .partition = {}, .to = "earliest"}).error().code, Errc::not_found);
  commit("readers", "orders", 0);
  EXPECT_EQ(actions_.reset_offsets({.group = "readers"}, {.topic = "orders", .partition = {}, .to = "sometime"}).error().code, Errc::invalid);
  EXPECT_EQ(actions_.reset_offsets({.group = "readers"}, {.topic = "nothing", .partition = {}, .to = "0"}).error().code, Errc::not_found);
  EXPECT_EQ(actions_.reset_offsets({.group = "readers"}, {.topic = "orders", .partition = 9, .to = "0"}).error().code, Errc::invalid);
  EXPECT_EQ(actions_.add_partitions({.topic = "orders"}, {.partitions = 0}).error().code, Errc::invalid);
}

}  // namespace
}  // namespace cordwood::inspector
