#include "broker/producer_ids.h"

#include <gtest/gtest.h>

#include <vector>

namespace cordwood::broker {
namespace {

class ProducerIdTest : public ::testing::Test {
 protected:
  std::vector<std::function<void(Result<ProducerIdAllocator::Block>)>> asked_;
  std::vector<std::int64_t> ids_;
  std::vector<std::string> errors_;
  ProducerIdAllocator allocator_{[this](auto done) { asked_.push_back(std::move(done)); }};

  void allocate(int count) {
    for (int i = 0; i < count; ++i) {
      allocator_.allocate([this](Result<std::int64_t> id) {
        if (id) {
          ids_.push_back(*id);
        } else {
          errors_.push_back(id.error().what);
        }
      });
    }
  }
  void bring(std::size_t which, ProducerIdAllocator::Block block) { asked_.at(which)(block); }
};

TEST_F(ProducerIdTest, WaitsForTheFirstBlockAndCountsUp) {
  allocate(3);
  EXPECT_TRUE(ids_.empty());
  EXPECT_EQ(asked_.size(), 1u);
  bring(0, {5000, 1000});
  EXPECT_EQ(ids_, (std::vector<std::int64_t>{5000, 5001, 5002}));
  allocate(1);
  EXPECT_EQ(ids_.back(), 5003);
}

TEST_F(ProducerIdTest, AsksForTheNextBlockBeforeTheFirstIsUsedUp) {
  allocate(1);
  bring(0, {0, 1000});
  allocate(898);
  EXPECT_EQ(asked_.size(), 1u);
  allocate(1);
  EXPECT_EQ(asked_.size(), 2u);
  bring(1, {1000, 1000});
  allocate(101);
  EXPECT_EQ(ids_.size(), 1001u);
  EXPECT_EQ(ids_.back(), 1000);
}

TEST_F(ProducerIdTest, BlockSmallerThanTheQueueIsFollowedByAnother) {
  allocate(3);
  bring(0, {10, 2});
  EXPECT_EQ(ids_, (std::vector<std::int64_t>{10, 11}));
  ASSERT_EQ(asked_.size(), 2u);
  bring(1, {20, 2});
  EXPECT_EQ(ids_, (std::vector<std::int64_t>{10, 11, 20}));
}

TEST_F(ProducerIdTest, FailureGoesToAllWhoWaitAndIsTriedAgain) {
  allocate(2);
  asked_.at(0)(Error{Errc::closed, "no controller"});
  EXPECT_EQ(errors_, (std::vector<std::string>{"no controller", "no controller"}));
  allocate(1);
  ASSERT_EQ(asked_.size(), 2u);
  bring(1, {0, 1000});
  EXPECT_EQ(ids_, (std::vector<std::int64_t>{0}));
}

TEST(ProducerIds, BlockThatComesAfterTheEndIsDropped) {
  std::function<void(Result<ProducerIdAllocator::Block>)> late;
  bool called = false;
  {
    ProducerIdAllocator allocator([&](auto done) { late = std::move(done); });
    allocator.allocate([&](Result<std::int64_t>) { called = true; });
  }
  late(ProducerIdAllocator::Block{0, 1000});
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace cordwood::broker
