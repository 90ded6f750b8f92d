// How long until a fresh broker has served a consumer group once? Connects as soon as the port listens, creates a topic,
// produces a record, joins a group, fetches the record, commits its offset and reads the commit back.
//   first_round_trip <port> <seconds to wait at most>
// Prints the milliseconds since its own start at which each step was done. Answers that are retriable are retried, as
// clients do.
#include <unistd.h>

#include "measuring.h"
#include "client/connection.h"
#include "client/records.h"
#include "protocol/messages/find_coordinator.h"
#include "protocol/messages/join_group.h"
#include "protocol/messages/metadata.h"
#include "protocol/messages/offset_commit.h"
#include "protocol/messages/offset_fetch.h"
#include "protocol/messages/sync_group.h"
#include "record/builder.h"

namespace {
using namespace cordwood;
using protocol::ErrorCode;

const TopicPartition kPartition{"round-trip", {0}};
constexpr const char* kGroup = "round-trip-group";

class RoundTrip {
 public:
  RoundTrip(std::uint16_t port, std::int64_t seconds) : port_(port), began_(clock_.monotonic()), deadline_{began_ + to_ns({seconds * 1000})} {}

  void run() {
    connect();
    step("connected");
    create_topic();
    step("topic");
    produce();
    step("produced");
    find_coordinator();
    step("coordinator");
    join();
    step("joined");
    consume();
    step("fetched");
    commit();
    step("committed");
    fmt::print("{{{}}}\n", steps_);
  }

 private:
  void step(const char* name) {
    steps_ += fmt::format("{}\"{}_ms\": {:.3f}", steps_.empty() ? "" : ", ", name,
                          static_cast<double>((clock_.monotonic() - began_).value) / 1e6);
  }
  void again(const std::string& why) {
    if (clock_.monotonic() > deadline_) bench::must(Result<void>(Error{Errc::io, "gave up: " + why}));
    ::usleep(1000);
  }
  void require(ErrorCode code, const char* what) {
    if (code != ErrorCode::NONE) {
      bench::must(Result<void>(Error{Errc::io, fmt::format("{}: {}", what, protocol::name_of(code))}));
    }
  }
  // Calls `attempt` until it answers no retriable error.
  template <class Attempt>
  void until_served(const char* what, Attempt&& attempt) {
    for (;;) {
      ErrorCode code = attempt();
      if (code == ErrorCode::NONE) return;
      if (!protocol::is_retriable(code)) require(code, what);
      again(what);
    }
  }

  void connect() {
    for (;;) {
      auto connection = client::Connection::open("127.0.0.1", port_, {30'000});
      if (connection) {
        connection_ = std::make_unique<client::Connection>(std::move(*connection));
        return;
      }
      again(connection.error().message());
    }
  }
  void create_topic() {
    until_served("Metadata", [&] {
      protocol::MetadataRequest request;
      request.topics.emplace().emplace_back().name = kPartition.topic;
      auto answer = bench::must(connection_->call<protocol::MetadataResponse>(request, 9));
      return answer->topics.at(0).error_code;
    });
  }
  void produce() {
    record::BatchBuilder builder{record::BatchOptions{}};
    builder.add(clock_.now(), std::nullopt, as_bytes("hello"));
    ByteVector batch = builder.build();
    until_served("Produce", [&] { return bench::must(client::produce(*connection_, kPartition, batch)).error; });
  }
  void find_coordinator() {
    until_served("FindCoordinator", [&] {
      protocol::FindCoordinatorRequest request;
      request.coordinator_keys = {kGroup};
      return bench::must(connection_->call<protocol::FindCoordinatorResponse>(request, 4))->coordinators.at(0).error_code;
    });
  }
  void join() {
    protocol::JoinGroupRequest request;
    request.group_id = kGroup;
    request.session_timeout_ms = 10'000;
    request.rebalance_timeout_ms = 10'000;
    request.protocol_type = "consumer";
    request.protocols.push_back({"range", to_vector(as_bytes("metadata"))});
    until_served("JoinGroup", [&] {
      auto answer = bench::must(connection_->call<protocol::JoinGroupResponse>(request, 9));
      request.member_id = answer->member_id;
      generation_ = answer->generation_id;
      if (answer->error_code == ErrorCode::MEMBER_ID_REQUIRED) return ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
      return answer->error_code;
    });
    member_ = request.member_id;
    protocol::SyncGroupRequest sync;
    sync.group_id = kGroup;
    sync.generation_id = generation_;
    sync.member_id = member_;
    sync.protocol_type = "consumer";
    sync.protocol_name = "range";
    sync.assignments.push_back({member_, to_vector(as_bytes("assignment"))});
    until_served("SyncGroup", [&] {
      return bench::must(connection_->call<protocol::SyncGroupResponse>(sync, 5))->error_code;
    });
  }
  void consume() {
    until_served("Fetch", [&] {
      auto fetched = bench::must(client::fetch(*connection_, kPartition, {0}));
      if (fetched.error == ErrorCode::NONE && fetched.records.empty()) return ErrorCode::OFFSET_NOT_AVAILABLE;
      return fetched.error;
    });
  }
  void commit() {
    protocol::OffsetCommitRequest request;
    request.group_id = kGroup;
    request.generation_id_or_member_epoch = generation_;
    request.member_id = member_;
    auto& topic = request.topics.emplace_back();
    topic.name = kPartition.topic;
    topic.partitions.emplace_back().committed_offset = 1;
    until_served("OffsetCommit", [&] {
      return bench::must(connection_->call<protocol::OffsetCommitResponse>(request, 8))->topics.at(0).partitions.at(0).error_code;
    });
    protocol::OffsetFetchRequest back;
    back.groups.emplace_back().group_id = kGroup;
    auto answer = bench::must(connection_->call<protocol::OffsetFetchResponse>(back, 8));
    const auto& group = answer->groups.at(0);
    require(group.error_code, "OffsetFetch");
    if (group.topics.at(0).partitions.at(0).committed_offset != 1) {
      bench::must(Result<void>(Error{Errc::corrupt, "the commit was not read back"}));
    }
  }

  const std::uint16_t port_;
  SystemClock clock_;
  MonotonicNs began_;
  MonotonicNs deadline_;
  std::unique_ptr<client::Connection> connection_;
  std::string member_;
  std::int32_t generation_ = -1;
  std::string steps_;
};
}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: first_round_trip <port> <seconds to wait at most>\n");
    return 1;
  }
  RoundTrip(static_cast<std::uint16_t>(std::atoi(argv[1])), std::atoll(argv[2])).run();
  return 0;
}
