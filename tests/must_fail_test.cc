// The one test that must fail: ctest expects it to (WILL_FAIL), so a harness that swallows failures is found.
#include <gtest/gtest.h>

TEST(Harness, SeesAFailure) { EXPECT_EQ(1, 2) << "this failure is expected"; }
