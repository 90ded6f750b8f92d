#include "broker/fetch_session.h"

#include <gtest/gtest.h>

#include <limits>

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using Kind = FetchPlan::Kind;

FetchPartition partition(const std::string& topic, std::int32_t index, std::int64_t offset = 0) {
  return {{kZeroUuid, topic, PartitionId{index}}, offset, 1000, -1, -1};
}

FetchVerdict unchanged(std::int64_t high_watermark = 10) {
  FetchVerdict verdict;
  verdict.high_watermark = high_watermark;
  verdict.log_start_offset = 0;
  return verdict;
}
FetchVerdict with_records(std::int64_t high_watermark = 10) {
  FetchVerdict verdict = unchanged(high_watermark);
  verdict.has_records = true;
  return verdict;
}
FetchVerdict failed(ErrorCode error) {
  FetchVerdict verdict;
  verdict.error = error;
  return verdict;
}

class FetchSessionTest : public ::testing::Test {
 protected:
  FetchPlan begin(std::int32_t id, std::int32_t epoch, std::vector<FetchPartition> partitions = {},
                  std::vector<FetchKey> forgotten = {}) {
    FetchSessionCache::Request request;
    request.session_id = id;
    request.epoch = epoch;
    request.partitions = std::move(partitions);
    request.forgotten = std::move(forgotten);
    return cache_.begin(std::move(request));
  }
  std::int32_t open(std::vector<FetchPartition> partitions) {
    FetchPlan plan = begin(0, 0, std::move(partitions));
    return cache_.finish(plan, std::vector(plan.partitions.size(), unchanged())).session_id;
  }
  std::vector<bool> answer(std::int32_t id, std::int32_t epoch, std::vector<FetchVerdict> verdicts) {
    FetchPlan plan = begin(id, epoch);
    EXPECT_EQ(plan.error, ErrorCode::NONE);
    auto conclusion = cache_.finish(plan, verdicts);
    EXPECT_EQ(conclusion.session_id, id);
    return conclusion.include;
  }

  ManualClock clock_;
  SeededRandom random_{7};
  FetchSessionCache cache_{2, random_, clock_};
};

TEST_F(FetchSessionTest, FullFetchWithoutSessionListsEverything) {
  FetchPlan plan = begin(0, -1, {partition("a", 0), partition("a", 1)});
  EXPECT_EQ(plan.kind, Kind::sessionless);
  auto conclusion = cache_.finish(plan, std::vector{unchanged(), unchanged()});
  EXPECT_EQ(conclusion.session_id, 0);
  EXPECT_EQ(conclusion.include, (std::vector{true, true}));
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_F(FetchSessionTest, PartitionNamedTwiceCountsAsNamedLast) {
  FetchPlan few = begin(0, -1, {partition("a", 0, 1), partition("b", 0, 2), partition("a", 0, 3)});
  EXPECT_EQ(few.partitions.size(), 2u);
  EXPECT_EQ(few.partitions[0].key.topic, "a");
  EXPECT_EQ(few.partitions[0].fetch_offset, 3);

  std::vector<FetchPartition> many;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) many.push_back(partition("a", i, round));
  }
  FetchPlan plan = begin(0, -1, many);
  ASSERT_EQ(plan.partitions.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(plan.partitions[static_cast<std::size_t>(i)].key.partition.value, i);
    EXPECT_EQ(plan.partitions[static_cast<std::size_t>(i)].fetch_offset, 1);
  }
}

TEST_F(FetchSessionTest, NewSessionHasPositiveIdAlsoWithoutTopics) {
  EXPECT_GT(open({}), 0);
  EXPECT_GT(open({partition("a", 0)}), 0);
  EXPECT_EQ(cache_.size(), 2u);
}

TEST_F(FetchSessionTest, IncrementalAnswerHoldsOnlyWhatChanged) {
  std::int32_t id = open({partition("a", 0), partition("a", 1), partition("a", 2)});
  EXPECT_EQ(answer(id, 1, {unchanged(), unchanged(), unchanged()}), (std::vector{false, false, false}));
  EXPECT_EQ(answer(id, 2, {unchanged(11), unchanged(), unchanged()}), (std::vector{true, false, false}));
  FetchVerdict start_moved = unchanged();
  start_moved.log_start_offset = 5;
  EXPECT_EQ(answer(id, 3, {unchanged(11), start_moved, unchanged()}), (std::vector{false, true, false}));
  FetchVerdict diverging = unchanged();
  diverging.has_diverging_epoch = true;
  EXPECT_EQ(answer(id, 4, {unchanged(11), start_moved, diverging}), (std::vector{false, false, true}));
}

TEST_F(FetchSessionTest, DataIsSentAgainAsLongAsTheOffsetStays) {
  std::int32_t id = open({partition("a", 0)});
  EXPECT_EQ(answer(id, 1, {with_records()}), (std::vector{true}));
  EXPECT_EQ(answer(id, 2, {with_records()}), (std::vector{true}));
}

TEST_F(FetchSessionTest, ErrorIsSentAgainAndItsEndIsTold) {
  std::int32_t id = open({partition("a", 0)});
  EXPECT_EQ(answer(id, 1, {failed(ErrorCode::NOT_LEADER_OR_FOLLOWER)}), (std::vector{true}));
  EXPECT_EQ(answer(id, 2, {failed(ErrorCode::NOT_LEADER_OR_FOLLOWER)}), (std::vector{true}));
  EXPECT_EQ(answer(id, 3, {unchanged()}), (std::vector{true}));
  EXPECT_EQ(answer(id, 4, {unchanged()}), (std::vector{false}));
}

TEST_F(FetchSessionTest, PartitionInErrorAtTheFullFetchIsToldAgain) {
  FetchPlan plan = begin(0, 0, {partition("a", 0)});
  std::int32_t id = cache_.finish(plan, std::vector{failed(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)}).session_id;
  EXPECT_EQ(answer(id, 1, {unchanged()}), (std::vector{true}));
}

TEST_F(FetchSessionTest, PartitionsWithRecordsMoveToTheEnd) {
  std::int32_t id = open({partition("a", 0), partition("a", 1), partition("a", 2)});
  answer(id, 1, {with_records(), unchanged(), unchanged()});
  FetchPlan plan = begin(id, 2);
  ASSERT_EQ(plan.partitions.size(), 3u);
  EXPECT_EQ(plan.partitions[0].key.partition.value, 1);
  EXPECT_EQ(plan.partitions[1].key.partition.value, 2);
  EXPECT_EQ(plan.partitions[2].key.partition.value, 0);
}

TEST_F(FetchSessionTest, AddsChangesAndForgets) {
  std::int32_t id = open({partition("a", 0), partition("a", 1)});
  FetchPlan plan = begin(id, 1, {partition("a", 0, 7), partition("b", 0)},
                         {{kZeroUuid, "a", PartitionId{1}}, {kZeroUuid, "unknown", PartitionId{9}}});
  ASSERT_EQ(plan.partitions.size(), 2u);
  EXPECT_EQ(plan.partitions[0].fetch_offset, 7);
  EXPECT_EQ(plan.partitions[1].key.topic, "b");
  // A partition that is new in the session is in the answer whatever it holds.
  EXPECT_EQ(cache_.finish(plan, std::vector{unchanged(), unchanged(0)}).include, (std::vector{false, true}));
}

TEST_F(FetchSessionTest, ForgettingTheLastPartitionEndsTheSession) {
  std::int32_t id = open({partition("a", 0)});
  FetchPlan plan = begin(id, 1, {}, {{kZeroUuid, "a", PartitionId{0}}});
  EXPECT_EQ(plan.error, ErrorCode::NONE);
  EXPECT_EQ(cache_.finish(plan, {}).session_id, 0);
  EXPECT_EQ(begin(id, 2).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
}

TEST_F(FetchSessionTest, UnknownIds) {
  EXPECT_EQ(begin(77, 1).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(begin(0, 5).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(begin(77, 0).kind, Kind::new_session);
  EXPECT_EQ(begin(77, -1).kind, Kind::sessionless);
}

TEST_F(FetchSessionTest, WrongEpochLeavesTheSessionAsItWas) {
  std::int32_t id = open({partition("a", 0)});
  answer(id, 1, {unchanged()});
  for (std::int32_t epoch : {1, 3, -2, std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_EQ(begin(id, epoch).error, ErrorCode::INVALID_FETCH_SESSION_EPOCH) << epoch;
  }
  EXPECT_EQ(begin(id, 2).error, ErrorCode::NONE);
}

TEST_F(FetchSessionTest, EpochOvertakenWhileWaiting) {
  std::int32_t id = open({partition("a", 0)});
  FetchPlan first = begin(id, 1);
  FetchPlan second = begin(id, 2);
  EXPECT_EQ(cache_.finish(first, std::vector{unchanged()}).error, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(cache_.finish(second, std::vector{unchanged()}).error, ErrorCode::NONE);
}

TEST_F(FetchSessionTest, ClosingById) {
  std::int32_t id = open({partition("a", 0)});
  FetchPlan plan = begin(id, 0, {partition("a", 0)});
  std::int32_t next = cache_.finish(plan, std::vector{unchanged()}).session_id;
  EXPECT_NE(next, id);
  EXPECT_EQ(begin(id, 1).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(cache_.finish(begin(next, -1, {partition("a", 0)}), std::vector{unchanged()}).session_id, 0);
  EXPECT_EQ(begin(next, 1).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
}

TEST_F(FetchSessionTest, NamesAndIdsDoNotMix) {
  std::int32_t id = open({partition("a", 0)});
  FetchSessionCache::Request request;
  request.session_id = id;
  request.epoch = 1;
  request.uses_topic_ids = true;
  EXPECT_EQ(cache_.begin(request).error, ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
  EXPECT_EQ(begin(id, 1).error, ErrorCode::NONE);
}

TEST_F(FetchSessionTest, FullCacheDeclinesUntilASessionIsIdleForLong) {
  std::int32_t first = open({partition("a", 0)});
  std::int32_t second = open({partition("a", 0)});
  EXPECT_EQ(open({partition("a", 0)}), 0);
  clock_.advance({60'000});
  answer(first, 1, {unchanged()});
  clock_.advance({60'001});
  std::int32_t third = open({partition("a", 0)});
  EXPECT_GT(third, 0);
  EXPECT_EQ(begin(second, 1).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(begin(first, 2).error, ErrorCode::NONE);
}

TEST_F(FetchSessionTest, LargerSessionTakesTheSlotOfASmallerOldOne) {
  std::int32_t small = open({partition("a", 0)});
  std::int32_t large = open({partition("a", 0), partition("a", 1)});
  clock_.advance({120'001});
  answer(small, 1, {unchanged()});
  answer(large, 1, {unchanged(), unchanged()});
  EXPECT_EQ(open({partition("a", 0)}), 0);
  EXPECT_GT(open({partition("a", 0), partition("a", 1), partition("a", 2)}), 0);
  EXPECT_EQ(begin(small, 2).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(begin(large, 2).error, ErrorCode::NONE);
}

TEST_F(FetchSessionTest, FollowerTakesTheSlotOfAConsumer) {
  open({partition("a", 0)});
  open({partition("a", 0)});
  FetchSessionCache::Request request;
  request.epoch = 0;
  request.privileged = true;
  EXPECT_GT(cache_.finish(cache_.begin(request), {}).session_id, 0);
  EXPECT_GT(cache_.finish(cache_.begin(request), {}).session_id, 0);
  // Followers do not displace each other.
  EXPECT_EQ(cache_.finish(cache_.begin(request), {}).session_id, 0);
}

}  // namespace
}  // namespace cordwood::broker
