// A group whose committed offset fell behind the log start: the commit is still answered, and the log says where it starts.
#include <gtest/gtest.h>

#include "broker/broker_testing.h"
#include "protocol/messages/find_coordinator.h"
#include "protocol/messages/list_offsets.h"
#include "protocol/messages/offset_commit.h"
#include "protocol/messages/offset_fetch.h"

namespace cordwood::broker::groups {
namespace {

using namespace protocol;

TEST(RetainedOffsets, ACommitOutlivesTheRecords) {
  TestBroker broker;
  broker.create_topic("t", 1, {{"retention.ms", "60000"}});
  FindCoordinatorRequest find;
  find.coordinator_keys = {"g"};
  ASSERT_EQ(broker.call<FindCoordinatorResponse>(find, 4)->coordinators.at(0).error_code, ErrorCode::NONE);
  for (int i = 0; i < 3; ++i) broker.produce("t", 0, {"a", "b"});

  OffsetCommitRequest commit;
  commit.group_id = "g";
  commit.generation_id_or_member_epoch = -1;
  auto& committed_topic = commit.topics.emplace_back();
  committed_topic.name = "t";
  auto& committed = committed_topic.partitions.emplace_back();
  committed.partition_index = 0;
  committed.committed_offset = 2;
  ASSERT_EQ(broker.call<OffsetCommitResponse>(commit, 8)->topics.at(0).partitions.at(0).error_code, ErrorCode::NONE);

  auto log = broker->partitions().find("t", PartitionId{0})->log();
  const TimestampMs later{broker.clock().now().value + 3'600'000};
  EXPECT_EQ(log->config().retention_ms_source, storage::SettingSource::topic);
  EXPECT_EQ(log->config().retention_bytes_source, storage::SettingSource::default_value);
  ASSERT_EQ(log->apply_retention(later).value().size(), 1U);

  OffsetFetchRequest fetch;
  auto& group = fetch.groups.emplace_back();
  group.group_id = "g";
  group.topics.emplace();
  auto& fetched = group.topics->emplace_back();
  fetched.name = "t";
  fetched.partition_indexes = {0};
  EXPECT_EQ(broker.call<OffsetFetchResponse>(fetch, 8)->groups.at(0).topics.at(0).partitions.at(0).committed_offset, 2);

  ListOffsetsRequest list;
  list.replica_id = -1;
  list.topics.emplace_back().name = "t";
  list.topics[0].partitions.push_back({0, -1, -2});
  const auto earliest = broker.call<ListOffsetsResponse>(list, 7);
  EXPECT_EQ(earliest->topics.at(0).partitions.at(0).offset, 6);
}

}  // namespace
}  // namespace cordwood::broker::groups
