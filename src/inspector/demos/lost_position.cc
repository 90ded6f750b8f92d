// A consumer that was away for so long that what it wants to read next was deleted: what becomes of it.
//
// Done by a broker in memory, with the requests that a consumer makes.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inspector/demos/demo_broker.h"
#include "inspector/demos/example.h"
#include "inspector/demos/scripts.h"
#include "inspector/demos/stage.h"
#include "protocol/error_code.h"
#include "protocol/messages/create_topics.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/find_coordinator.h"
#include "protocol/messages/list_offsets.h"
#include "protocol/messages/offset_commit.h"
#include "protocol/messages/offset_fetch.h"
#include "protocol/messages/produce.h"
#include "record/batch.h"

namespace cordwood::inspector::demos {
namespace {

// Three groups that differ in auto.offset.reset alone.
const std::vector<std::string> kGroups{"earliest", "latest", "none"};
constexpr std::int64_t kEarliestTimestamp = -2;  // what ListOffsets takes for the log start
constexpr std::int64_t kLatestTimestamp = -1;    // and for the end

// Errors: invalid for any other code than NONE.
Result<void> expect_none(protocol::ErrorCode code, std::string_view what) {
  if (code == protocol::ErrorCode::NONE) return {};
  return Error{Errc::invalid, fmt::format("{} answered {}", what, protocol::name_of(code))};
}

// What clients do, request by request.
class Client {
 public:
  explicit Client(DemoBroker& broker, const Stage& stage) : broker_(broker), stage_(stage) {}

  Result<void> create_topic(const std::vector<std::pair<std::string, std::string>>& configs) {
    protocol::CreateTopicsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = kExamplePartition.topic;
    topic.num_partitions = 1;
    topic.replication_factor = 1;
    for (const auto& [name, value] : configs) topic.configs.push_back({name, value});
    const auto answer = TRY(broker_.call<protocol::CreateTopicsResponse>(request, protocol::CreateTopicsRequest::kMaxVersion));
    return expect_none(answer->topics.at(0).error_code, "CreateTopics");
  }

  Result<Offset> produce(std::size_t number) {
    const ByteVector batch = make_batch(one_order({static_cast<std::int64_t>(number)}, static_cast<std::size_t>(kExampleSizes.at(number))),
                                        stage_.clock.now());
    protocol::ProduceRequest request;
    request.acks = 1;
    auto& topic = request.topic_data.emplace_back();
    topic.name = kExamplePartition.topic;
    auto& partition = topic.partition_data.emplace_back();
    partition.index = 0;
    partition.records = protocol::Records{batch, {}};
    const auto answer = TRY(broker_.call<protocol::ProduceResponse>(request, 12));
    const auto& result = answer->responses.at(0).partition_responses.at(0);
    TRY(expect_none(result.error_code, "Produce"));
    return Offset{result.base_offset};
  }

  Result<void> find_coordinator(const std::string& group) {
    protocol::FindCoordinatorRequest request;
    request.coordinator_keys = {group};
    const auto answer = TRY(broker_.call<protocol::FindCoordinatorResponse>(request, 4));
    return expect_none(answer->coordinators.at(0).error_code, "FindCoordinator");
  }

  Result<void> commit(const std::string& group, Offset offset) {
    protocol::OffsetCommitRequest request;
    request.group_id = group;
    auto& topic = request.topics.emplace_back();
    topic.name = kExamplePartition.topic;
    auto& partition = topic.partitions.emplace_back();
    partition.partition_index = 0;
    partition.committed_offset = offset.value;
    const auto answer = TRY(broker_.call<protocol::OffsetCommitResponse>(request, 8));
    return expect_none(answer->topics.at(0).partitions.at(0).error_code, "OffsetCommit");
  }

  Result<Offset> committed(const std::string& group) {
    protocol::OffsetFetchRequest request;
    auto& wanted = request.groups.emplace_back();
    wanted.group_id = group;
    auto& topic = wanted.topics.emplace().emplace_back();
    topic.name = kExamplePartition.topic;
    topic.partition_indexes = {0};
    const auto answer = TRY(broker_.call<protocol::OffsetFetchResponse>(request, 8));
    TRY(expect_none(answer->groups.at(0).error_code, "OffsetFetch"));
    return Offset{answer->groups.at(0).topics.at(0).partitions.at(0).committed_offset};
  }

  // ListOffsets for one of the two special timestamps.
  Result<Offset> list_offset(std::int64_t timestamp) {
    protocol::ListOffsetsRequest request;
    request.replica_id = -1;
    auto& topic = request.topics.emplace_back();
    topic.name = kExamplePartition.topic;
    auto& partition = topic.partitions.emplace_back();
    partition.partition_index = 0;
    partition.timestamp = timestamp;
    const auto answer = TRY(broker_.call<protocol::ListOffsetsResponse>(request, 9));
    const auto& result = answer->topics.at(0).partitions.at(0);
    TRY(expect_none(result.error_code, "ListOffsets"));
    return Offset{result.offset};
  }

  struct Fetched {
    protocol::ErrorCode code = protocol::ErrorCode::NONE;
    std::vector<std::int64_t> offsets;  // of the records that came
  };
  // Whatever is there from `from` on, without waiting.
  Result<Fetched> fetch(Offset from) {
    protocol::FetchRequest request;
    request.max_bytes = 1 << 20;
    auto& topic = request.topics.emplace_back();
    topic.topic = kExamplePartition.topic;
    auto& partition = topic.partitions.emplace_back();
    partition.partition = 0;
    partition.fetch_offset = from.value;
    partition.partition_max_bytes = 1 << 20;
    const auto answer = TRY(broker_.call<protocol::FetchResponse>(request, 12));
    const auto& result = answer->responses.at(0).partitions.at(0);
    Fetched fetched;
    fetched.code = result.error_code;
    if (!result.records) return fetched;
    for (BytesView rest = result.records->bytes; rest.size() >= record::kHeaderSize;) {
      const record::BatchView batch = TRY(record::BatchView::parse(rest));
      for (std::int64_t offset = batch.base_offset().value; offset <= batch.last_offset().value; ++offset) {
        if (offset >= from.value) fetched.offsets.push_back(offset);
      }
      rest = rest.subspan(batch.bytes().size());
    }
    return fetched;
  }

 private:
  DemoBroker& broker_;
  const Stage& stage_;
};

}  // namespace

Result<api::Demo> lost_position() {
  Stage stage("lost_position", "A consumer whose offset was deleted", "What happens to a consumer that comes back too late?");
  constexpr std::int64_t kRetentionSeconds = 20;
  stage.demo().settings = {
      setting("internal.segment.bytes", 3000, "A batch that would make the active segment longer starts a new one."),
      setting("retention.ms", kRetentionSeconds * 1000, "A segment goes when its newest record is older."),
  };
  const auto broker = TRY(DemoBroker::start(stage));
  Client client(*broker, stage);
  TRY(client.create_topic({{"internal.segment.bytes", "3000"},
                           {"segment.index.bytes", "1200"},
                           {"index.interval.bytes", "800"},
                           {"retention.ms", fmt::format("{}", kRetentionSeconds * 1000)}}));
  const std::shared_ptr<storage::PartitionLog> log = broker->log(kExamplePartition);
  if (log == nullptr) return Error{Errc::not_found, "the demo's topic has no log"};

  std::vector<api::DemoGroup> groups;
  const auto show = [&](std::string title, std::string does, std::string says, std::vector<api::Fact> facts = {}) -> Result<void> {
    // The broker flushes a closed segment when it comes to it: done with here, so that each run shows the same.
    TRY(log->flush());
    TRY(stage.show(std::move(title), std::move(does), std::move(says), std::move(facts)));
    stage.step().logs.push_back(TRY(look_at(stage.fs(), *log, stage.clock.now())));
    stage.step().logs.back().recovery_point.reset();
    stage.step().groups = groups;
    return {};
  };
  const auto produce_up_to = [&](std::size_t end) -> Result<void> {
    for (auto number = static_cast<std::size_t>(log->log_end_offset().value); number < end; ++number) {
      stage.at(at_second(2 * (static_cast<std::int64_t>(number) + 1)));
      TRY(client.produce(number));
    }
    return {};
  };

  TRY(produce_up_to(6));
  TRY(show("Records to read", "produce 6 records",
           fmt::format("A topic with retention.ms of {} s. Three consumer groups begin to read it; they differ in one setting, auto.offset.reset: "
                       "earliest, latest, none.",
                       kRetentionSeconds)));

  const Offset position{3};
  for (const std::string& group : kGroups) {
    TRY(client.find_coordinator(group));
    TRY(client.commit(group, position));
    groups.push_back({group, kExamplePartition.topic, 0, TRY(client.committed(group)).value, position.value,
                      fmt::format("has read offsets 0 to {}", position.value - 1)});
  }
  TRY(show("Positions are committed", fmt::format("each group commits {}", position),
           fmt::format("Each has read offsets 0 to {} and commits {}, the next one that it wants. The broker keeps these positions in the topic "
                       "__consumer_offsets; they say nothing to the log and hold no record back.",
                       position.value - 1, groups.front().committed)));

  TRY(produce_up_to(16));
  for (api::DemoGroup& group : groups) group.says = "is stopped";
  TRY(show("The consumers stop, the producer does not", "produce 10 records",
           fmt::format("Nobody reads any more. The log end is {}, so each group lags by {}. As long as the records are there, nothing is lost.",
                       log->log_end_offset(), log->log_end_offset().value - position.value)));

  stage.wait({1000});
  TRY(show("Time runs out", "the clock moves 1 s",
           fmt::format("The newest record of segment {} is older than {} s now: the next check of retention takes the segment, and with it offsets {} "
                       "to {}, which no group has read.",
                       log->segments().front().base_offset, kRetentionSeconds, position, log->segments().front().next_offset.value - 1)));

  broker->check_retention();
  const Offset log_start = log->log_start_offset();
  TRY(show("Deleted", "check retention",
           fmt::format("The log start is {} now. Retention does not ask who has read what: committed positions below it now point at nothing.", log_start)));

  for (api::DemoGroup& group : groups) {
    group.committed = TRY(client.committed(group.name)).value;
    group.says = fmt::format("comes back and asks for its position: {}", group.committed);
  }
  TRY(show("The consumers come back", "each group fetches its committed offset",
           fmt::format("The committed offset is still {}: it outlives the records. Each consumer sets out to read from there.", groups.front().committed)));

  const Client::Fetched refused = TRY(client.fetch(position));
  if (refused.code != protocol::ErrorCode::OFFSET_OUT_OF_RANGE) return Error{Errc::invalid, "a deleted offset could be read"};
  for (api::DemoGroup& group : groups) {
    group.reads_next.reset();
    group.says = fmt::format("its fetch from {} is refused", group.committed);
  }
  TRY(show("Out of range", fmt::format("fetch from offset {}", position),
           fmt::format("The broker refuses: {} is below the log start {}. From here on it is the client that decides, by auto.offset.reset.", position,
                       log_start),
           {fact("answer to the fetch", std::string(protocol::name_of(refused.code)), "Fetch")}));

  const Offset earliest = TRY(client.list_offset(kEarliestTimestamp));
  const Client::Fetched from_start = TRY(client.fetch(earliest));
  groups[0].reads_next = earliest.value;
  groups[0].says = fmt::format("goes on at {}: offsets {} to {} are lost to it", earliest, position, earliest.value - 1);
  TRY(show("earliest", "ask for the earliest offset; fetch from there",
           fmt::format("It goes to the log start, {}, and reads all that is still there. It never sees offsets {} to {}, and nothing tells the program so.",
                       earliest, position, earliest.value - 1),
           {fact("earliest offset", earliest, "ListOffsets"),
            fact("records that came", fmt::format("offsets {} to {}", from_start.offsets.front(), from_start.offsets.back()), "Fetch")}));

  const Offset latest = TRY(client.list_offset(kLatestTimestamp));
  const Client::Fetched from_end = TRY(client.fetch(latest));
  groups[1].reads_next = latest.value;
  groups[1].says = fmt::format("goes on at {}: offsets {} to {} are lost to it", latest, position, latest.value - 1);
  TRY(show("latest", "ask for the latest offset; fetch from there",
           fmt::format("It goes to the log end, {}, and waits for what comes next. It skips {} records, though {} of them are still in the log. This is the "
                       "default.",
                       latest, latest.value - position.value, latest.value - log_start.value),
           {fact("latest offset", latest, "ListOffsets"), fact("records that came", from_end.offsets.size(), "Fetch")}));

  groups[2].says = "gets an exception, and its position stays";
  const Offset still_committed = TRY(client.committed(kGroups[2]));
  TRY(show("none", "nothing more is asked",
           fmt::format("The consumer throws an exception, and the program has to decide: its committed offset is still {}. Whoever must not lose records "
                       "unseen takes this one, and watches the distance between committed offsets and log start.",
                       still_committed)));
  return std::move(stage.demo());
}

}  // namespace cordwood::inspector::demos
