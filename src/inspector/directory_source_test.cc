// Directories that Kafka has written, in memory, through the Source and the endpoints.
#include "inspector/directory_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "inspector/handlers.h"
#include "inspector/page_assets.h"
#include "inspector/service.h"
#include "io/memory_file_system.h"
#include "offline/offline_testing.h"

namespace cordwood::inspector {
namespace {

using offline::files_below;
using offline::load_golden;
using offline::put_file;
using testing::Contains;
using testing::HasSubstr;

class DirectorySourceTest : public testing::Test {
 protected:
  std::unique_ptr<DirectorySource> open(const std::string& dirs = "/data") {
    return DirectorySource::open(fs_, clock_, random_, dirs, {}).value();
  }

  io::MemFileSystem fs_;
  ManualClock clock_;
  SeededRandom random_{1};
};

TEST_F(DirectorySourceTest, ShowsTopicsWithTheirSizes) {
  load_golden(fs_, "rolled-size");
  const auto source = open();
  const auto table = source->topics();
  ASSERT_EQ(table->topics.size(), 1u);
  EXPECT_EQ(table->topics[0].name, "g-size");
  EXPECT_EQ(table->topics[0].partitions, 1);
  const api::Topic topic = source->topic("g-size").value();
  ASSERT_EQ(topic.partitions.size(), 1u);
  EXPECT_EQ(topic.partitions[0].state, api::PartitionState::online);
  EXPECT_GT(topic.partitions[0].segments, 1);
  EXPECT_EQ(topic.partitions[0].size_bytes, table->topics[0].size_bytes);
  EXPECT_FALSE(topic.settings.empty());
  EXPECT_EQ(source->topic("nothing").error().code, Errc::not_found);
}

TEST_F(DirectorySourceTest, OpensALogAndChangesNothing) {
  load_golden(fs_, "torn-tail-before");
  const auto before = files_below(fs_, "/data");
  const auto source = open();
  const PartitionAt at = source->partition({"g-torn", PartitionId{0}}).value();
  ASSERT_NE(at.log, nullptr) << at.why_no_log;
  EXPECT_GT(at.log->log_end_offset().value, 0);
  EXPECT_EQ(at.log->high_watermark(), at.log->log_end_offset());
  EXPECT_FALSE(at.is_live);
  EXPECT_EQ(files_below(fs_, "/data"), before);
  // The same log the next time.
  EXPECT_EQ(source->partition({"g-torn", PartitionId{0}}).value().log, at.log);
  EXPECT_EQ(source->partition({"g-torn", PartitionId{1}}).error().code, Errc::not_found);
}

TEST_F(DirectorySourceTest, LooksAgainWhenTheDirectoryHasGrown) {
  load_golden(fs_, "plain");
  const auto source = open();
  const auto log = source->partition({"g-plain", PartitionId{0}}).value().log;
  ASSERT_NE(log, nullptr);
  load_golden(fs_, "rolled-size");
  EXPECT_EQ(source->topics()->topics.size(), 1u);
  clock_.advance({3'000});
  EXPECT_EQ(source->topics()->topics.size(), 2u);
  EXPECT_EQ(source->partition({"g-plain", PartitionId{0}}).value().log, log);
  // Another segment: it is opened anew.
  put_file(fs_, "/data/g-plain-0/00000000000000001000.log", "");
  clock_.advance({3'000});
  EXPECT_NE(source->partition({"g-plain", PartitionId{0}}).value().log, log);
}

TEST_F(DirectorySourceTest, ShowsWhatItHadWhenTheDirectoryGoesAway) {
  load_golden(fs_, "plain");
  const auto source = open();
  fs_.remove_directory_tree("/data").value();
  clock_.advance({3'000});
  EXPECT_EQ(source->topics()->topics.size(), 1u);
  EXPECT_THAT(source->about().warnings, Contains(HasSubstr("what is shown is not of now")));
  const auto gone = source->partition({"g-plain", PartitionId{0}});
  EXPECT_TRUE(!gone || gone->log == nullptr || gone->log->size() >= ByteCount{0});
}

TEST_F(DirectorySourceTest, KnowsTheGroupsOfItsOffsets) {
  load_golden(fs_, "consumer-offsets");
  const auto source = open();
  const std::vector<GroupFacts> groups = source->groups().value();
  ASSERT_FALSE(groups.empty());
  bool any_commit = false;
  for (const GroupFacts& group : groups) any_commit = any_commit || !group.commits.empty();
  EXPECT_TRUE(any_commit);
  EXPECT_EQ(source->group(groups.front().name).value().name, groups.front().name);
  EXPECT_EQ(source->group("nobody").error().code, Errc::not_found);
}

TEST_F(DirectorySourceTest, RefusesWhatIsNoDataDirectory) {
  put_file(fs_, "/elsewhere/readme.txt", "hello");
  EXPECT_EQ(DirectorySource::open(fs_, clock_, random_, "/elsewhere", {}).error().code, Errc::not_found);
  EXPECT_EQ(DirectorySource::open(fs_, clock_, random_, "/nowhere", {}).error().code, Errc::not_found);
}

TEST_F(DirectorySourceTest, ShowsTheRestOfADamagedDirectory) {
  load_golden(fs_, "plain");
  put_file(fs_, "/data/meta.properties", "nonsense");
  put_file(fs_, "/data/replication-offset-checkpoint", "99\nnonsense\n");
  put_file(fs_, "/data/broken-0/00000000000000000000.log", std::string(1000, 'x'));
  put_file(fs_, "/data/broken-0/partition.metadata", "version: 7\n");
  put_file(fs_, "/data/empty-0/leader-epoch-checkpoint", "");
  const auto source = open();
  EXPECT_GE(source->about().warnings.size(), 3u);
  EXPECT_EQ(source->topics()->topics.size(), 3u);
  const PartitionAt broken = source->partition({"broken", PartitionId{0}}).value();
  if (broken.log) {
    EXPECT_EQ(broken.log->log_end_offset(), Offset{0});
  }
  const PartitionAt empty = source->partition({"empty", PartitionId{0}}).value();
  EXPECT_EQ(empty.log, nullptr);
  EXPECT_FALSE(empty.why_no_log.empty());
  EXPECT_NE(source->partition({"g-plain", PartitionId{0}}).value().log, nullptr);
}

// --- the whole of it, as it is asked over HTTP ---

class DirectoryServiceTest : public DirectorySourceTest {
 protected:
  void show(const std::string& golden) {
    load_golden(fs_, golden);
    source_ = open();
    service_ = std::make_unique<Service>(ServiceParts{.source = *source_, .files = fs_, .clock = clock_, .version = "1.2.3"},
                                         GuardRules{.token = {}, .bound_host = "127.0.0.1", .port = 9192, .actions = false});
  }
  HttpAnswer ask(std::string target, std::string method = "GET", std::string body = {}) {
    HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.host = "localhost:9192";
    request.body = std::move(body);
    if (request.method == "POST") request.content_type = "application/json";
    if (auto at_once = service_->answer_at_once(request)) return *at_once;
    return service_->answer(request);
  }

  std::unique_ptr<DirectorySource> source_;
  std::unique_ptr<Service> service_;
};

TEST_F(DirectoryServiceTest, AnswersJson) {
  show("plain");
  const HttpAnswer about = ask("/api/v1/about");
  EXPECT_EQ(about.status, 200);
  EXPECT_THAT(about.body, HasSubstr("\"version\":\"1.2.3\""));
  EXPECT_THAT(about.body, HasSubstr("\"mode\":\"directory\""));
  EXPECT_THAT(about.body, HasSubstr("\"actions\":false"));
  EXPECT_THAT(ask("/api/v1/topics?search=PLAIN").body, HasSubstr("\"matching\":1"));
  EXPECT_THAT(ask("/api/v1/topics?search=nothing").body, HasSubstr("\"matching\":0"));
  EXPECT_EQ(ask("/api/v1/topics/g-plain").status, 200);
  EXPECT_EQ(ask("/api/v1/groups").status, 200);
}

TEST_F(DirectoryServiceTest, TellsWhatIsWrongWithARequest) {
  show("plain");
  struct Case {
    const char* target;
    int status;
  };
  for (const Case& c : {Case{"/api/v1/topics?limit=0", 400}, Case{"/api/v1/topics?limit=501", 400}, Case{"/api/v1/topics?from=-1", 400},
                        Case{"/api/v1/topics?limit=x", 400}, Case{"/api/v1/topics?order=up", 400}, Case{"/api/v1/topics?what=1", 400},
                        Case{"/api/v1/topics/none", 404}, Case{"/api/v1/topics/g-plain/partitions/7", 404},
                        Case{"/api/v1/topics/g-plain/partitions/-1", 400}, Case{"/api/v1/topics/g-plain/partitions/99999999999", 400},
                        Case{"/api/v1/topics/g-plain/partitions/x", 400}, Case{"/api/v1/nothing", 404}, Case{"/api/", 404},
                        Case{"/api/v1/topics/a%", 400}, Case{"/api/v1/events?topic=a", 400}, Case{"/api/v1/groups/none", 404},
                        Case{"/api/v1/topics/a/records", 405}, Case{"/nothing/here%0d%0aSet-Cookie:x", 404}}) {
    if (has_page() && std::string_view(c.target).starts_with("/nothing")) continue;
    EXPECT_EQ(ask(c.target).status, c.status) << c.target << ": " << ask(c.target).body;
  }
  EXPECT_THAT(ask("/api/v1/topics?limit=0").body, HasSubstr("\"field\":\"limit\""));
  EXPECT_EQ(ask("/api/v1/topics/g-plain/records", "POST", "{}").status, 403);
  EXPECT_EQ(ask("/api/v1/about", "POST", "{}").status, 403);
}

TEST_F(DirectoryServiceTest, ToldOfAStaleAddressItSaysWhatIsNotThere) {
  show("plain");
  const std::string at = "/api/v1/topics/g-plain/partitions/0";
  for (const char* rest : {"/segments/4711/map", "/segments/-1/map", "/segments/4711/batches/0", "/segments/0/batches/999999999", "/segments/4711/index",
                           "/records?offset=999999999", "/records/999999999/life", "/records/-5/life"}) {
    const HttpAnswer answer = ask(at + rest);
    EXPECT_TRUE(answer.status == 404 || answer.status == 400) << rest << ": " << answer.status << " " << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("\"error\":\"")) << rest;
  }
  // What an address of another time may ask for all the same: the present map, as much of it as is there.
  EXPECT_EQ(ask(at + "/segments/0/map?from_position=999999999999").status, 200);
}

TEST_F(DirectoryServiceTest, HasPagesOfTenThousandTopics) {
  for (int i = 0; i < 10'000; ++i) put_file(fs_, fmt::format("/data/many-{:05}-0/00000000000000000000.log", i), "");
  source_ = open();
  service_ = std::make_unique<Service>(ServiceParts{.source = *source_, .files = fs_, .clock = clock_, .version = "1.2.3"},
                                       GuardRules{.token = {}, .bound_host = "127.0.0.1", .port = 9192, .actions = false});
  const HttpAnswer all = ask("/api/v1/topics?limit=500");
  EXPECT_THAT(all.body, HasSubstr("\"total\":10000,\"matching\":10000,"));
  EXPECT_THAT(all.body, HasSubstr("\"next\":500}"));
  EXPECT_LT(all.body.size(), 500'000u);
  const HttpAnswer last = ask("/api/v1/topics?from=9999");
  EXPECT_THAT(last.body, HasSubstr("many-09999"));
  EXPECT_THAT(last.body, HasSubstr("\"next\":null}"));
  EXPECT_THAT(ask("/api/v1/topics?search=many-0777").body, HasSubstr("\"matching\":10,"));
  EXPECT_EQ(ask("/api/v1/topics/many-07777/partitions/0").status, 200);
}

TEST_F(DirectoryServiceTest, WarnsInTheListOfGroupsAsInTheGroup) {
  load_golden(fs_, "consumer-offsets");
  source_ = open();
  service_ = std::make_unique<Service>(ServiceParts{.source = *source_, .files = fs_, .clock = clock_, .version = "1.2.3"},
                                       GuardRules{.token = {}, .bound_host = "127.0.0.1", .port = 9192, .actions = false});
  // Far in the future everything is older than retention.ms.
  clock_.set(TimestampMs{4'000'000'000'000});
  const std::vector<GroupFacts> groups = source_->groups().value();
  ASSERT_FALSE(groups.empty());
  SourceHandlers handlers(*source_, nullptr, clock_, "1.2.3");
  const api::GroupPage page = handlers.groups({}).value();
  ASSERT_EQ(page.rows.size(), groups.size());
  for (const api::GroupRow& row : page.rows) {
    const api::Group group = handlers.group({row.name}).value();
    EXPECT_EQ(row.warnings, std::ranges::count_if(group.offsets, &api::GroupOffset::warned)) << row.name;
    for (const api::GroupOffset& offset : group.offsets) EXPECT_EQ(offset.warned, offset.warning.has_value());
  }
}

TEST_F(DirectoryServiceTest, IsReadyWhenItIsSaidTo) {
  show("plain");
  EXPECT_EQ(ask("/live").status, 200);
  EXPECT_EQ(ask("/ready").status, 503);
  service_->set_ready(true);
  EXPECT_EQ(ask("/ready").status, 200);
}

TEST_F(DirectoryServiceTest, HasMetricsOfADirectory) {
  show("plain");
  const std::string text = ask("/metrics").body;
  EXPECT_THAT(text, HasSubstr("# TYPE cordwood_topic_size_bytes gauge\n"));
  EXPECT_THAT(text, HasSubstr("cordwood_topic_size_bytes{topic=\"g-plain\"} "));
  EXPECT_THAT(text, testing::Not(HasSubstr("messagesin_total")));
}

TEST_F(DirectoryServiceTest, HasDemos) {
  show("plain");
  EXPECT_EQ(ask("/api/v1/demos").status, 200);
  EXPECT_EQ(ask("/api/v1/demos/nothing").status, 404);
}

TEST(TokenService, PutsTheTokenIntoACookieAndLeadsOn) {
  io::MemFileSystem fs;
  ManualClock clock;
  SeededRandom random{1};
  load_golden(fs, "plain");
  const auto source = DirectorySource::open(fs, clock, random, "/data", {}).value();
  Service service({.source = *source, .files = fs, .clock = clock, .version = "1"},
                  {.token = "secret-token", .bound_host = "0.0.0.0", .port = 5, .actions = false});
  HttpRequest request;
  request.method = "GET";
  request.host = "broker.example:5";
  request.target = "/topics/a?token=secret-token";
  const HttpAnswer answer = service.answer(request);
  EXPECT_EQ(answer.status, 303);
  EXPECT_THAT(answer.headers, Contains(std::pair<std::string, std::string>("Location", "/topics/a")));
  EXPECT_THAT(answer.headers, Contains(std::pair<std::string, std::string>("Set-Cookie", "cordwood_token_5=secret-token; Path=/; HttpOnly; SameSite=Strict")));
  for (const char* target : {"//evil.example/?token=secret-token", "/\\evil.example?token=secret-token"}) {
    request.target = target;
    EXPECT_THAT(service.answer(request).headers, Contains(std::pair<std::string, std::string>("Location", "/"))) << target;
  }
  request.target = "/api/v1/about?token=secret-token";
  EXPECT_EQ(service.answer(request).status, 200);
  request.target = "/api/v1/about";
  EXPECT_EQ(service.answer(request).status, 401);
}

}  // namespace
}  // namespace cordwood::inspector
