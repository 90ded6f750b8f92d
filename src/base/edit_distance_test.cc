#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace cordwood {
namespace {

TEST(EditDistance, CountsLetters) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("topic", "topic"), 0u);
  EXPECT_EQ(edit_distance("", "topic"), 5u);
  EXPECT_EQ(edit_distance("topic", ""), 5u);
  EXPECT_EQ(edit_distance("topic", "topics"), 1u);
  EXPECT_EQ(edit_distance("tpoic", "topic"), 2u);
  EXPECT_EQ(edit_distance("group", "topic"), 5u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

}  // namespace
}  // namespace cordwood
